"""What the job panel says of each size, of the model and of the whole job. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from model.errors import RailsketchError
from model.job.choices import legal_values
from model.job.legality import violations
from model.job.parameters import active_parameters, model_parameters
from model.job.rule import Violation
from model.job.shape import ModelShape, model_shape
from model.job.spec import JobSpec
from model.text import plural, three_digits
from model.traffic.domains import Spans

Mark = Literal["ok", "warning", "error", "off"]
SIZES = ("tp", "cp", "ep", "pp", "dp")
_MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One parallel size: its value (None without GPUs), a mark, the reason beside it, what would be legal."""

    name: str
    value: int | None
    mark: Mark
    text: str
    legal: tuple[int, ...]
    editable: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one line below the sizes. `mark` is "off" where there is nothing to judge."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class JobView:
    """What the panel says of a job on a number of GPUs. `broken` maps fields to their first reason."""

    sizes: tuple[SizeRow, ...]
    verdict: Verdict
    model_text: str
    microbatches: int | None
    microbatch_text: str
    broken: Mapping[str, str]


def job_view(job: JobSpec, world: int, spans: Spans) -> JobView:
    """What the panel says; `spans` without entries where it is not known yet how far groups reach."""
    try:
        shape = model_shape(job)
        found = violations(job, world) if world else ()
    except RailsketchError as error:
        off = tuple(SizeRow(name, _size(job, name, world), "off", "", (), False) for name in SIZES)
        return JobView(off, Verdict("error", capital(str(error))), "", None, "", {"model": str(error)})
    broken: dict[str, str] = {}
    for one in found:
        broken.setdefault(one.field, one.nearest_first)
    count, text = _microbatches(job, world)
    return JobView(
        sizes=tuple(_row(name, job, world, shape, broken, spans) for name in SIZES),
        verdict=_verdict(job, world, found),
        model_text=f"{shape.name} · {parameters_text(shape)}",
        microbatches=count,
        microbatch_text=text,
        broken=broken,
    )


def parameters_text(shape: ModelShape) -> str:
    """ "46.7 B, 12.9 B active"."""
    total, active = model_parameters(shape), active_parameters(shape)
    return f"{_short(total)}, {_short(active)} active" if active < total else _short(total)


def _row(
    name: str,
    job: JobSpec,
    world: int,
    shape: ModelShape,
    broken: Mapping[str, str],
    spans: Spans,
) -> SizeRow:
    value, path = _size(job, name, world), f"parallel.{name}"
    no_experts = name == "ep" and shape.moe is None
    if world == 0:
        return SizeRow(name, None, "off", "", (), False)
    legal = tuple(
        choice.value
        for choice in legal_values(job, world, path)
        if choice.legal and isinstance(choice.value, int)
    )
    editable = name != "dp" and not (value == 1 and no_experts)
    reason = broken.get(path) or (broken.get("world") if name == "dp" else None)
    if reason:
        return SizeRow(name, value, "error", capital(reason), legal, editable)
    if no_experts:
        return SizeRow(name, value, "off", "this model has no experts", legal, editable)
    texts = {
        "tp": lambda: f"{shape.heads} heads, {shape.kv_heads} KV heads: {_listed(legal)}",
        "cp": lambda: (
            f"off; 2 × CP must divide {job.sequence_length:,}"
            if value == 1
            else f"of {job.sequence_length:,} tokens: {_listed(legal)}"
        ),
        "ep": lambda: f"{shape.moe.experts if shape.moe else 0} experts: {_listed(legal)}",
        "pp": lambda: _stage_text(job, shape),
        "dp": lambda: _replica_text(job, world),
    }
    across = spans.of.get(name, 1)
    if value > 1 and across > 1:
        reach = f"spans {plural(across, spans.name)}"
        head = f"{shape.moe.experts} experts; " if name == "ep" and shape.moe else "group "
        return SizeRow(name, value, "warning", head + reach, legal, editable)
    return SizeRow(name, value, "ok", texts[name](), legal, editable)


def _verdict(job: JobSpec, world: int, found: tuple[Violation, ...]) -> Verdict:
    if world == 0:
        return Verdict("off", "No GPUs yet. Place some: the sizes fill themselves in and stay legal.")
    if found:
        more = f" And {plural(len(found) - 1, 'more rule')}." if len(found) > 1 else ""
        return Verdict("error", capital(found[0].message) + "." + more)
    own = job.parallel
    dp = _size(job, "dp", world)
    return Verdict(
        "ok", f"Legal: TP {own.tp} × CP {own.cp} × PP {own.pp} × DP {dp:,} = {plural(world, 'GPU')}"
    )


def _microbatches(job: JobSpec, world: int) -> tuple[int | None, str]:
    dp = _size(job, "dp", world)
    each = job.microbatch * dp
    if world == 0 or each == 0:
        return None, ""
    rest = f"{job.global_batch:,} ÷ {dp:,}" + (f" ÷ {job.microbatch:,}" if job.microbatch > 1 else "")
    return (
        (job.global_batch // each, f"= {rest}")
        if job.global_batch % each == 0
        else (None, f"{rest} is not whole")
    )


def _size(job: JobSpec, name: str, world: int) -> int:
    own = job.parallel
    if name != "dp":
        return int(getattr(own, name))
    return own.dp or world // (own.tp * own.cp * own.pp)


def _stage_text(job: JobSpec, shape: ModelShape) -> str:
    own = job.parallel
    layers = plural(shape.layers, "layer")
    if own.pp * own.vpp == 1:
        return f"off: all {layers} on every GPU"
    if own.layers_per_stage is not None:
        return f"{layers} → {'-'.join(str(count) for count in own.layers_per_stage)}"
    if own.vpp > 1:
        return f"{layers} → {own.vpp} chunks of {shape.layers // (own.pp * own.vpp)} a stage"
    return f"{layers} → {shape.layers // own.pp} a stage"


def _replica_text(job: JobSpec, world: int) -> str:
    own = job.parallel
    if own.dp is not None:
        return "given in the job"
    return f"derived: {plural(world, 'GPU')} ÷ ({own.tp} × {own.cp} × {own.pp})"


def _listed(values: tuple[int, ...]) -> str:
    if len(values) > _MOST_SHOWN:
        return f"{' '.join(str(value) for value in values[: _MOST_SHOWN - 1])} … {values[-1]}"
    return f"{' '.join(str(value) for value in values) or 'none'} legal"


def _short(count: int) -> str:
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if count >= 0.9995 * unit:
            return f"{three_digits(count / unit)} {name}"
    return f"{count:,}"


def capital(text: str) -> str:
    """A sentence with a capital; the name of a field at its beginning stays as it is."""
    first = text.split(" ", 1)[0]
    return text if "_" in first or "." in first else text[:1].upper() + text[1:]
