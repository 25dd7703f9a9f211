"""The fields behind "More": their names, how they are edited, and when they have an effect. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from model.errors import RailsketchError
from model.job.exchange import Operation
from model.job.shape import model_shape
from model.job.sizes import uses_sequence_parallelism
from model.job.spec import JobSpec

Kind = Literal[
    "choice", "flag", "number", "count", "counts", "decimal", "share", "bytes", "seconds", "storage",
    "algorithm",
]  # fmt: skip
Effect = Callable[[JobSpec], bool]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One row: the path of the job field, its name for people, and how it is edited.

    `empty` is what None reads as. `low` is the smallest whole number. `when` says for which jobs the field
    has an effect; for others it is left out while it has its usual value.
    """

    path: str
    text: str
    kind: Kind
    tip: str = ""
    empty: str = ""
    low: int = 1
    when: Effect = lambda _job: True


@dataclass(frozen=True, slots=True)
class Group:
    """A head and its rows."""

    text: str
    fields: tuple[FieldSpec, ...]


def _experts(job: JobSpec) -> bool:
    try:
        return model_shape(job).moe is not None
    except RailsketchError:
        return False


def _pipeline(job: JobSpec) -> bool:
    return job.parallel.pp > 1


def _chunked(job: JobSpec) -> bool:
    return _pipeline(job) and (job.schedule in ("1f1b", "interleaved") or job.parallel.vpp > 1)


def _sharded(job: JobSpec) -> bool:
    return job.parallel.zero > 0 and job.parallel.dp != 1


def _hashed(job: JobSpec) -> bool:
    return job.routing.policy == "hashed"


def _larger(name: str) -> Effect:
    return lambda job: bool(getattr(job.parallel, name) > 1)


GROUPS: tuple[Group, ...] = (
    Group(
        "State and activations",
        (
            FieldSpec("parallel.zero", "ZeRO", "choice", "What is sharded over the replicas"),
            FieldSpec("parallel.dp_shard", "Shard over", "choice",
                      "Ranks of DP that share one copy of the state; the others hold copies (HSDP)",
                      "all of DP", when=_sharded),
            FieldSpec("parallel.reshard", "Gather weights again for backward", "flag",
                      "ZeRO-3 lets the gathered weights go after forward",
                      when=lambda job: job.parallel.zero == 3),
            FieldSpec("parallel.zero3_unit", "Gathered at once", "choice",
                      "What ZeRO-3 gathers and scatters in one operation, each with its own latency",
                      when=lambda job: job.parallel.zero == 3),
            FieldSpec("gradient_precision", "Gradients in", "choice", "Precision in which they are reduced"),
            FieldSpec("recompute", "Recompute", "choice", "What the backward works out again"),
            FieldSpec("attention", "Attention", "choice"),
            FieldSpec("parallel.sequence_parallel", "Sequence parallel", "flag", "Norms cut over TP",
                      when=_larger("tp")),
            FieldSpec("vocabulary_multiple", "Vocabulary multiple", "number",
                      "The vocabulary is padded to a multiple of this × TP"),
        ),
    ),
    Group(
        "Pipeline",
        (
            FieldSpec("parallel.vpp", "Chunks a stage", "choice", "Model chunks that a stage holds",
                      when=_chunked),
            FieldSpec("parallel.microbatch_group", "Microbatch group", "choice",
                      "Microbatches that run through a chunk before the next chunk", "PP",
                      when=lambda job: _pipeline(job) and job.parallel.vpp > 1),
            FieldSpec("parallel.layers_per_stage", "Layers a stage", "counts",
                      "One number a stage, or a chunk: 7, 9, 9, 7", "all equal", when=_pipeline),
            FieldSpec("parallel.scatter_gather", "Scatter sends over TP", "flag",
                      "Without sequence parallelism each TP rank sends its part, and gathers it behind",
                      when=lambda job: _pipeline(job) and job.parallel.tp > 1
                      and not uses_sequence_parallelism(job)),
        ),
    ),
    Group(
        "Ranks",
        (
            FieldSpec("parallel.order", "Order", "choice", "From the smallest stride to the largest"),
            FieldSpec("parallel.dp", "DP", "choice", "Derived from what is left, or fixed", "derived"),
            FieldSpec("parallel.cp_algorithm", "Context parallel by", "choice",
                      "How keys and values get to the other ranks", when=_larger("cp")),
        ),
    ),
    Group(
        "Experts",
        (
            FieldSpec("parallel.etp", "Expert TP", "choice", "TP inside an expert", when=_experts),
            FieldSpec("experts.imbalance", "Imbalance", "decimal", "Most loaded expert rank ÷ mean",
                      when=_experts),
            FieldSpec("experts.capacity_factor", "Capacity", "decimal",
                      "Tokens an expert takes ÷ its even share; more are dropped", "dropless", when=_experts),
            FieldSpec("experts.dispatch", "Dispatch", "choice", "How tokens get to their experts",
                      when=_experts),
            FieldSpec("experts.node_limit", "Nodes a token", "count", "At most so many nodes a token",
                      "no limit",
                      when=lambda job: _experts(job) and job.experts.dispatch == "deduplicated"),
            FieldSpec("experts.dispatch_precision", "Dispatch in", "choice", "Precision on the wire",
                      when=_experts),
        ),
    ),
    Group(
        "Overlap with compute",
        (
            FieldSpec("overlap.gradients", "Gradients", "flag"),
            FieldSpec("overlap.parameters", "Parameters", "flag"),
            FieldSpec("overlap.pipeline", "Pipeline sends", "flag", when=_pipeline),
            FieldSpec("overlap.tensor", "Tensor parallel", "flag", when=_larger("tp")),
            FieldSpec("overlap.experts", "Experts", "flag", when=_experts),
            FieldSpec("overlap.bucket_bytes", "Bucket", "bytes", "Gradients and parameters go in parts of it",
                      "from the model"),
            FieldSpec("overlap.sm_share", "SMs for communication", "share",
                      "The share of a GPU's compute that overlapped exchanges take", "0 %"),
        ),
    ),
    Group(
        "Collective algorithm",
        (
            FieldSpec("collectives.tp", "TP", "algorithm", when=_larger("tp")),
            FieldSpec("collectives.cp", "CP", "algorithm", when=_larger("cp")),
            FieldSpec("collectives.ep", "EP", "algorithm", when=_larger("ep")),
            FieldSpec("collectives.dp", "DP", "algorithm", when=lambda job: job.parallel.dp != 1),
        ),
    ),
    Group(
        "Routing",
        (
            FieldSpec("routing.policy", "Equal paths", "choice", "How flows take one of several equal paths"),
            FieldSpec("routing.queue_pairs", "Queue pairs", "number", "Flows a pair of NICs", when=_hashed),
            FieldSpec("routing.seed", "Seed", "number", "Another draw of the paths", low=0, when=_hashed),
        ),
    ),
    Group(
        "Storage",
        (
            FieldSpec("data.from", "Data from", "storage", "A storage device of the drawing", "not counted"),
            FieldSpec("data.bytes_per_token", "Bytes a token", "number", low=0,
                      when=lambda job: job.data.source is not None),
            FieldSpec("checkpoint.every_steps", "Checkpoint every", "count", "Steps between checkpoints",
                      "never"),
            FieldSpec("checkpoint.to", "Checkpoint to", "storage", "A storage device of the drawing",
                      "all storage", when=lambda job: job.checkpoint.every_steps is not None),
        ),
    ),
    Group(
        "Memory beside state and activations",
        (
            FieldSpec("memory.context_bytes", "Runtime", "bytes", "Context and libraries on each GPU"),
            FieldSpec("memory.communicator_bytes", "Communicators", "bytes",
                      "Buffers for each of TP, CP, EP, PP and DP above 1"),
            FieldSpec("memory.fragmentation", "Fragmentation", "share",
                      "Of the activations, what the allocator cannot use"),
            FieldSpec("memory.gathered_layers", "Layers gathered", "number",
                      "Layers whose weights ZeRO-3 holds whole at once", low=0,
                      when=lambda job: job.parallel.zero == 3),
            FieldSpec("memory.gathered_gradients", "Layers of gradients", "number",
                      "Layers whose gradients ZeRO-3 holds whole at once", low=0,
                      when=lambda job: job.parallel.zero == 3),
        ),
    ),
    Group(
        "Measured values in place of ours",
        (
            FieldSpec("calibration.mfu", "MFU", "share", "Of compute alone, as measured", "modelled"),
            FieldSpec("calibration.layer_forward_s", "Layer forward", "seconds",
                      "Seconds of one layer and microbatch, as measured", "modelled"),
            FieldSpec("calibration.gemm_efficiency", "GEMM efficiency", "share",
                      "Of large matrix multiplications, as measured", "from the GPU"),
        ),
    ),
)  # fmt: skip

WORDS: Mapping[str, Mapping[object, str]] = {
    "parallel.zero": {0: "0: nothing sharded", 1: "1: optimizer", 2: "2: + gradients", 3: "3: + weights"},
    "parallel.zero3_unit": {
        "layer": "A layer",
        "matrix": "A matrix",
        "matrix-list": "A matrix, as a list",
    },
    "recompute": {"none": "None", "selective": "Selective", "full": "Full"},
    "attention": {"flash": "Flash", "core": "Core"},
    "parallel.cp_algorithm": {"ring": "Ring", "all-gather": "All-gather", "ulysses": "Ulysses"},
    "experts.dispatch": {
        "direct": "Direct, to experts",
        "deduplicated": "Deduplicated",
        "all-gather": "All-gather",
    },
    "routing.policy": {
        "even": "Even (adaptive)",
        "hashed": "Hashed, per flow",
        "static": "Static",
    },
}
_ALGORITHM_WORDS = {
    "auto": "Automatic", "ring": "Ring", "tree": "Tree", "hierarchical": "Hierarchical", "nvls": "NVLS",
    "sharp": "SHARP", "halving-doubling": "Halving-doubling", "direct": "Direct", "pxn": "PXN",
}  # fmt: skip
_FITTING: Mapping[Operation, tuple[str, ...]] = {
    Operation.ALL_REDUCE: ("ring", "tree", "hierarchical", "nvls", "sharp", "halving-doubling", "direct"),
    Operation.ALL_GATHER: ("ring", "direct"),
    Operation.REDUCE_SCATTER: ("ring", "direct"),
    Operation.ALL_TO_ALL: ("direct", "pxn"),
}
_USUAL = JobSpec()


def value_at(job: JobSpec, path: str) -> Any:
    """The value of a job field as in the job file."""
    value: Any = job.to_json()
    for name in path.split("."):
        value = value[name]
    return value


def has_effect(spec: FieldSpec, job: JobSpec) -> bool:
    """Whether a field is worth a row: it does something, or somebody has set it."""
    return spec.when(job) or value_at(job, spec.path) != value_at(_USUAL, spec.path)


def fitting_algorithms(operations: Iterable[Operation]) -> tuple[str, ...]:
    """The algorithms that suit any of the operations of a dimension, "auto" first; all when none is known."""
    known = list(operations) or list(_FITTING)
    return ("auto", *dict.fromkeys(name for one in known for name in _FITTING.get(one, ())))


def choice_text(spec: FieldSpec, value: object) -> str:
    """A value of a choice for people."""
    if value is None:
        return spec.empty or "none"
    words = _ALGORITHM_WORDS if spec.kind == "algorithm" else WORDS.get(spec.path, {})
    known: Mapping[Any, str] = words
    if value in known:
        return known[value]
    return value.upper() if isinstance(value, str) and value in ("bf16", "fp8", "fp32") else str(value)


def storage_choices(devices: Sequence[str]) -> tuple[str | None, ...]:
    """What storage fields offer."""
    return (None, *devices)
