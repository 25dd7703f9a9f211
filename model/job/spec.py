"""The job as it is written in files: what is trained and how it is cut. Values and types only.

Whether the sizes fit each other and the world is `legality`; what they mean in bytes and seconds is
`shape`, `memory`, `compute` and `plan`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.catalog.shapes import AttentionShape, Count, MoeShape, Size, Width
from model.errors import InputError

# As of sizes: far beyond any cluster.
Batch = Annotated[int, Field(ge=1, le=10**12)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]

Algorithm = Literal[
    "auto", "ring", "tree", "hierarchical", "nvls", "sharp", "halving-doubling", "direct", "pxn"
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ModelObject(_Part):
    """A transformer given by its shape (conventions 34); None stands for "from the other fields"."""

    name: str = "own model"
    layers: Annotated[int, Field(ge=1, le=65_536)]
    hidden: Width
    heads: Width
    vocab: Annotated[int, Field(ge=1, le=2**27)]
    kv_heads: Width | None = None
    head_dim: Width | None = None
    ffn: Width | None = None
    seq: Annotated[int, Field(ge=1, le=2**26)] | None = None
    norm: Literal["rmsnorm", "layernorm"] = "rmsnorm"
    mlp: Literal["swiglu", "gelu"] = "swiglu"
    mlp_bias: bool = False
    tied_embeddings: bool = False
    learned_positions: bool = False
    attention: AttentionShape = AttentionShape()
    moe: MoeShape | None = None


class Parallel(_Part):
    """Parallel sizes and switches. `dp` None means "what is left".

    `zero3_unit`: what ZeRO-3 gathers and scatters in one operation: a layer (FSDP), a weight matrix
    (DeepSpeed), or a matrix handed over as a list of the parts of all ranks, each copied by a kernel of its
    own (DeepSpeed in 2021).
    """

    tp: Size = 1
    cp: Size = 1
    ep: Size = 1
    etp: Size = 1
    pp: Size = 1
    dp: Size | None = None
    vpp: Size = 1
    order: str = "tp-cp-ep-dp-pp"
    sequence_parallel: bool = True
    zero: Annotated[int, Field(ge=0, le=3)] = 1
    reshard: bool = True
    zero3_unit: Literal["layer", "matrix", "matrix-list"] = "layer"
    layers_per_stage: Annotated[tuple[Count, ...], Field(strict=False)] | None = None
    dp_shard: Size | None = None
    microbatch_group: Size | None = None
    cp_algorithm: Literal["ring", "all-gather", "ulysses"] = "ring"
    scatter_gather: bool = False


class Overlap(_Part):
    """Which communication may run beside compute."""

    gradients: bool = True
    parameters: bool = True
    pipeline: bool = False
    tensor: bool = False
    experts: bool = False
    bucket_bytes: Annotated[int, Field(ge=1, le=2**50)] | None = None
    sm_share: Annotated[float, Field(ge=0, lt=1)] = 0.0


class Experts(_Part):
    """How tokens go to experts."""

    imbalance: Annotated[float, Field(ge=1, le=1e4)] = 1.0
    dispatch: Literal["direct", "deduplicated", "all-gather"] = "direct"
    dispatch_precision: Literal["bf16", "fp8"] = "bf16"
    capacity_factor: Annotated[float, Field(gt=0, le=1e4)] | None = None
    node_limit: Size | None = None


class Collectives(_Part):
    """The algorithm of each dimension's collectives."""

    tp: Algorithm = "auto"
    cp: Algorithm = "auto"
    ep: Algorithm = "auto"
    dp: Algorithm = "auto"


class Routing(_Part):
    """How equal-cost paths are chosen."""

    policy: Literal["even", "hashed", "static"] = "even"
    queue_pairs: Annotated[int, Field(ge=1, le=4096)] = 1
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0


class Checkpoint(_Part):
    """When and where the state is written."""

    every_steps: Batch | None = None
    to: str | None = None


class Data(_Part):
    """What each token costs to read, and from where."""

    bytes_per_token: Annotated[int, Field(ge=0, le=2**32)] = 16
    source: str | None = Field(default=None, alias="from")


Bytes = Annotated[float, Field(ge=0, le=2.0**50)]

# Far below anything measured, and large enough that no time of a step overflows.
Efficiency = Annotated[float, Field(ge=1e-6, le=1, allow_inf_nan=False)]


class Memory(_Part):
    """What a GPU holds beside state and activations (`other_bytes`, conventions 27).

    `context_bytes` the runtime; `communicator_bytes` for each of tp, cp, ep, pp, dp above 1; `fragmentation`
    a share of the activations. `gathered_layers` layers of weights and `gathered_gradients` layers of
    gradients are held whole at once under ZeRO-3.
    """

    context_bytes: Bytes = 1.0e9
    communicator_bytes: Bytes = 0.3e9
    fragmentation: Annotated[float, Field(ge=0, le=10)] = 0.05
    gathered_layers: Annotated[int, Field(ge=0, le=65_536)] = 2
    gathered_gradients: Annotated[int, Field(ge=0, le=65_536)] = 1


class Calibration(_Part):
    """Measured values that replace modelled ones."""

    mfu: Efficiency | None = None
    layer_forward_s: Annotated[float, Field(ge=1e-9, le=1e6)] | None = None
    gemm_efficiency: Efficiency | None = None


class JobSpec(_Part):
    """One training job, with the fields, names and defaults of the job file."""

    model: Annotated[str, Field(min_length=1)] | ModelObject = "llama3-70b"
    sequence_length: Annotated[int, Field(ge=1, le=2**26)] = 8192
    global_batch: Batch = 1024
    microbatch: Annotated[int, Field(ge=1, le=2**14)] = 1
    precision: Literal["bf16", "fp16", "fp8", "fp4", "fp32"] = "bf16"
    gradient_precision: Literal["fp32", "bf16"] = "fp32"
    vocabulary_multiple: Annotated[int, Field(ge=1, le=2**20)] = 128
    parallel: Parallel = Parallel()
    schedule: Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"] = "1f1b"
    recompute: Literal["none", "selective", "full"] = "none"
    attention: Literal["flash", "core"] = "flash"
    overlap: Overlap = Overlap()
    experts: Experts = Experts()
    collectives: Collectives = Collectives()
    routing: Routing = Routing()
    checkpoint: Checkpoint = Checkpoint()
    data: Data = Data()
    memory: Memory = Memory()
    calibration: Calibration = Calibration()
    world: Annotated[tuple[str, ...], Field(strict=False)] | None = None

    def to_json(self) -> dict[str, Any]:
        """The job as plain JSON values; `parse_job` of it gives an equal job."""
        return self.model_dump(mode="json", by_alias=True)


def parse_job(data: object) -> JobSpec:
    """The job of a JSON value. Raises InputError with one sentence that names the field."""
    if not isinstance(data, Mapping):
        raise InputError(f"a job is a JSON object, not {_shown(data)}")
    try:
        return JobSpec.model_validate(data)
    except ValidationError as error:
        raise InputError(_sentence(error)) from None


def apply_set(job: JobSpec, assignment: str) -> JobSpec:
    """`job` with one field set by "path=value"; the value is JSON if it parses, else a string.

    Raises InputError when the path does not exist or the value does not fit.
    """
    path, equals, text = assignment.partition("=")
    names = path.strip().split(".")
    if not equals or not all(names):
        raise InputError(f"'{assignment}' is not of the form path=value, for example parallel.tp=8")
    data = job.to_json()
    target: Any = data
    for depth, name in enumerate(names):
        if not isinstance(target, dict):
            raise InputError(f"job field {'.'.join(names[:depth])} has no parts, so {path} cannot be set")
        if name not in target and names[0] != "model":  # a shape of one's own need not have every field
            fields = ", ".join(".".join([*names[:depth], each]) for each in target)
            raise InputError(f"the job has no field {'.'.join(names[: depth + 1])}; there are {fields}")
        if depth == len(names) - 1:
            target[name] = _value(text)
        else:
            target = target.setdefault(name, {})
    return parse_job(data)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _sentence(error: ValidationError) -> str:
    """The most telling error as one sentence. Of a union the branch of the value's own type counts."""
    details = error.errors(include_url=False)
    first = details[0]
    if first["loc"][0] == "model" and len(details) > 1:
        value = first["input"]
        branch = "ModelObject" if isinstance(value, Mapping) else "constrained-str"
        own = [detail for detail in details if branch in detail["loc"]]
        if not isinstance(value, (str, Mapping)):
            return f"job field model must be a preset id or an object with a shape, not {_shown(value)}"
        first = own[0] if own else first
    path = ".".join(str(part) for part in first["loc"] if part not in ("ModelObject", "constrained-str"))
    kind, context, value = first["type"], first.get("ctx", {}), first["input"]
    if kind == "extra_forbidden":
        return f"the job has no field {path}"
    if kind == "missing":
        return f"job field {path} is missing"
    wanted = {
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "finite_number": "a finite number",
        "bool_type": "true or false",
        "string_type": "a text",
        "string_too_short": "a text that is not empty",
        "tuple_type": "a list",
        "greater_than_equal": f"at least {context.get('ge')}",
        "greater_than": f"more than {context.get('gt')}",
        "less_than_equal": f"at most {context.get('le')}",
        "less_than": f"less than {context.get('lt')}",
        "literal_error": f"one of {context.get('expected')}",
    }.get(kind, "an object" if kind.startswith(("model_", "dict_")) else None)
    if wanted is None:
        return f"job field {path} cannot be {_shown(value)}: {first['msg']}"
    return f"job field {path} must be {wanted}, not {_shown(value)}"


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
