"""Whether there is anything to run: GPUs, and a legal job."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation, short
from model.job.rule import Violation
from model.job.spec import JobSpec
from model.step.report import Finding, Severity
from model.text import plural, sentence, whole
from model.topology.types import DeviceKind

_NAMES = {
    "parallel.tp": "TP",
    "parallel.cp": "CP",
    "parallel.ep": "EP",
    "parallel.etp": "Expert TP",
    "parallel.pp": "PP",
    "parallel.dp": "DP",
    "parallel.vpp": "VPP",
    "global_batch": "Batch",
    "microbatch": "Microbatch",
    "sequence_length": "Sequence length",
}


def check(situation: Situation) -> Iterator[Finding]:
    """No GPUs; broken rules; what else keeps the job from running."""
    if not situation.world and not situation.problems:
        yield _no_gpus(situation)
        return
    for number, violation in enumerate(situation.violations):
        yield Finding(
            id=f"job.{violation.rule.replace(' ', '-')}.{number}",
            severity=Severity.ERROR,
            title=_title(violation, situation),
            detail=sentence(violation.message),
            fix=_nearest(violation),
        )
    for number, text in enumerate(situation.problems):
        yield Finding(
            id=f"job.problem.{number}",
            severity=Severity.ERROR,
            title="The job cannot run on this drawing",
            detail=sentence(text),
        )


def _no_gpus(situation: Situation) -> Finding:
    gpus = [device.id for device in situation.topology.devices() if device.kind is DeviceKind.GPU]
    if gpus:
        return Finding(
            id="no-gpus",
            severity=Severity.INFO,
            title=f"{'All GPUs are' if len(gpus) > 1 else f'{gpus[0]} is'} down",
            detail=f"None of {plural(len(gpus), 'GPU')} works, so nothing is trained.",
            devices=tuple(gpus),
            fix="Set at least one of them to up.",
        )
    return Finding(
        id="no-gpus",
        severity=Severity.INFO,
        title="There are no GPUs",
        detail="A job needs at least one GPU.",
        fix="Drag one from the palette, or start from a template.",
    )


def _title(violation: Violation, situation: Situation) -> str:
    own = situation.job.parallel
    if violation.rule == "world":
        sizes = " × ".join(
            f"{name} {size}"
            for name, size in (("TP", own.tp), ("CP", own.cp), ("PP", own.pp), ("DP", own.dp or 1))
            if size > 1
        )
        return short(
            f"{plural(len(situation.world), 'GPU')} do not fit {sizes}", "The world does not fit the job"
        )
    if violation.rule == "batch":
        dp = own.dp or len(situation.world) // (own.tp * own.cp * own.pp)
        return short(
            f"Batch {whole(situation.job.global_batch)} cannot be cut by DP {dp:,}", "The batch cannot be cut"
        )
    name = _NAMES.get(violation.field, violation.field)
    value = _value(situation.job, violation.field)
    value = whole(value) if type(value) is int else value
    return short(f"{name} {value} does not fit", f"{name} does not fit")


def _value(job: JobSpec, path: str) -> object:
    value: object = job.to_json()
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _nearest(violation: Violation) -> str:
    if not violation.nearest or "nearest" in violation.message:
        return ""
    return f"Nearest: {', '.join(str(value) for value in violation.nearest)}."
