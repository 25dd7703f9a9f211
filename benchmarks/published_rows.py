"""From a published run to a job on a platform, by rules that are fixed before anything is run.

Usable is a row whose shape, batch, parallel sizes and GPU are known. Any other field that it lacks takes the
default of the table in `benchmarks/README.md`, which `Defaults` holds, and the row is marked completed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.published_reference import is_fit_row
from model.catalog import catalog

Data = Mapping[str, Any]
JobData = dict[str, Any]

GPUS: tuple[tuple[str, str, str], ...] = (
    # beginning of the file's spelling, GPU type of the groups, catalogue id
    ("A100-SXM4-40GB", "A100", "a100-sxm-40"),
    ("A100", "A100", "a100-sxm-80"),
    ("H100", "H100", "h100-sxm"),
    ("H800", "H800", "h800-sxm"),
    ("B200", "B200", "b200-sxm"),
    ("B300", "B300", "b300-sxm"),
    ("GB200", "GB200", "gb200"),
    ("GB300", "GB300", "gb300"),
)
PRESETS: tuple[tuple[str, str], ...] = (
    # beginning of a family's name, catalogue model that says what the row leaves out
    ("deepseek-v3", "deepseek-v3-671b"),
    ("deepseekv3", "deepseek-v3-671b"),
    ("gpt oss", "gpt-oss-120b"),
    ("qwen3", "qwen3-235b-a22b"),
    ("llama3-70b", "llama3-70b"),
    ("llama3-405b", "llama3-405b"),
    ("llama", "llama3-405b"),
)
DEEPSEEK_V2: Data = {
    # published configuration of DeepSeek-V2, which the catalogue does not have
    "hidden": 5120, "heads": 128, "kv_heads": 128, "head_dim": 192, "ffn": 12288, "vocab": 102400,
    "mlp": "swiglu", "norm": "rmsnorm",
    "attention": {
        "kind": "mla", "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128,
    },
    "moe": {"experts": 160, "top_k": 6, "expert_ffn": 1536, "shared_experts": 2, "first_dense_layers": 1},
}  # fmt: skip
OLD_STYLE = frozenset({"GPT", "BLOOM", "MPT"})
EARLY = ("narayanan21", "mtnlg", "korthikanti22", "vtrain", "bloom")
WITHOUT_OVERLAP = (*EARLY, "megascale-megatron", "simumax")
LISTS = "matrix-list"  # DeepSpeed in 2021: stage3.py and partition_parameters.py of its releases 0.3
NARROW_GRADIENTS = ("narayanan21", "mtnlg", "korthikanti22", "vtrain", "bloom", "mosaic")
DEDUPLICATED = ("mbridge", "deepseek-v3")
VOCABULARY = {"GPT": 51200, "MPT": 50368}
OTHER_BLOCKS = "megascale-megascale"


@dataclass(frozen=True, slots=True)
class Row:
    """One published run. `unusable` says why it is not run; `job` is then empty.

    `node_gbit_per_s` is what all NICs of a host carry where the row says it differs from the platform's.
    """

    ident: str
    gpu_type: str
    gpu: str
    gpus: int
    precision: str
    moe: bool
    vtrain: bool
    fit: bool
    job: JobData
    measured_s: float | None
    measured_gib: float | None
    activations_gib: tuple[float, float] | None
    node_gbit_per_s: float | None
    completed: tuple[str, ...]
    unusable: str = ""

    @property
    def group(self) -> str:
        """The group of the targets."""
        if self.moe:
            return "MoE"
        if self.gpu_type == "A100":
            return "vTrain" if self.vtrain else "A100 without vTrain"
        if self.gpu_type in ("GB200", "GB300", "B300"):
            return "GB200+GB300+B300"
        return self.gpu_type


class _Unusable(Exception):
    """Why a row cannot be run."""


def row_of(case: Data) -> Row:
    """The job of a published run, or why it has none."""
    ident = str(case["id"])
    completed: list[str] = []
    spelled = str(case["hardware"]["gpu"])
    gpu_type, gpu = next(((kind, name) for start, kind, name in GPUS if spelled.startswith(start)), ("", ""))
    job: JobData = {}
    measured: float | None = None
    unusable = ""
    try:
        if not gpu:
            raise _Unusable(f"GPU {spelled} is not in the catalogue")
        if ident.startswith(OTHER_BLOCKS):
            raise _Unusable(
                "shape not known: parallel blocks and a sliding attention window of unstated width"
            )
        job = _job(case, completed)
        measured = _measured_s(case["measured"])
        if measured is None:
            raise _Unusable("no single step time was published, and no throughput that gives one")
    except _Unusable as reason:
        job, unusable = {}, str(reason)
    measured_data = case["measured"]
    activations = None
    if "activations_gib_none" in measured_data:
        activations = (measured_data["activations_gib_none"], measured_data["activations_gib_seq_sel"])
    return Row(
        ident=ident,
        gpu_type=gpu_type,
        gpu=gpu,
        gpus=int(case["hardware"]["gpus"]),
        precision=_precision(case),
        moe=_is_moe(case["model"]),
        vtrain=ident.startswith("vtrain"),
        fit=is_fit_row(ident),
        job=job,
        measured_s=measured,
        measured_gib=measured_data.get("peak_alloc_gib"),
        activations_gib=activations,
        node_gbit_per_s=_node_gbit(case),
        completed=tuple(dict.fromkeys(completed)),
        unusable=unusable,
    )


def _measured_s(measured: Data) -> float | None:
    value = measured.get("step_time_s")
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def _precision(case: Data) -> str:
    """bf16 stands for both 16-bit formats, whose speeds are equal."""
    text = str(case.get("precision", "")).lower()
    if "fp4" in text:
        return "fp4"
    if "fp8" in text or case["id"].startswith("deepseek-v3-2048"):
        return "fp8"
    return "bf16"


def _node_gbit(case: Data) -> float | None:
    found = re.match(r"(\d+) Gb/s per node", str(case["hardware"].get("fabric", "")))
    return float(found.group(1)) if found else None


def _is_moe(model: Data) -> bool:
    family = str(model["family"]).lower()
    return "experts" in model or "deepseek" in family or "nemotron_3" in family


# The shape


def _shape(case: Data, completed: list[str]) -> JobData:
    model, family = case["model"], str(case["model"]["family"])
    preset = _preset(family)
    if "layers" not in model:
        raise _Unusable(f"shape not known: the file has no layers, width or heads of {family}")
    if "hidden" not in model and not preset:
        raise _Unusable(f"shape not known: the file has no width of {family}")
    shape: JobData = {"name": family, "layers": model["layers"]}

    def take(name: str, key: str) -> None:
        if model.get(key) is not None and not isinstance(model[key], str):
            shape[name] = model[key]
        elif name in preset:
            shape[name] = preset[name]
            completed.append(f"{key} of the family")

    take("hidden", "hidden")
    take("heads", "heads")
    take("kv_heads", "kv_heads")
    take("head_dim", "head_dim")
    take("ffn", "ffn")
    take("vocab", "vocab")
    if "dense_ffn" in model:
        shape["ffn"] = model["dense_ffn"]
    if "heads" not in shape:
        raise _Unusable(f"shape not known: the file has no heads of {family}")
    if "vocab" not in shape:
        shape["vocab"] = VOCABULARY.get(family, 51200)
        completed.append("vocabulary of the family")
    if preset:
        for name in ("norm", "mlp", "mlp_bias", "attention"):
            if name in preset:
                shape[name] = preset[name]
    else:
        shape |= _style(family, shape)
    moe = _moe(model, preset)
    if moe:
        if str(case["id"]).startswith("simumax"):
            moe["first_dense_layers"] = 1
            completed.append("1 dense layer, as its source says")
        shape["moe"] = moe
    return shape


def _style(family: str, shape: JobData) -> JobData:
    """Blocks of the families that have no preset."""
    if family not in OLD_STYLE:
        kind = "gqa" if shape.get("kv_heads") else "mha"
        return {"norm": "layernorm", "mlp": "gelu", "attention": {"kind": kind}}
    biases = family != "MPT"
    return {
        "norm": "layernorm",
        "mlp": "gelu",
        "mlp_bias": biases,
        "tied_embeddings": True,
        "learned_positions": family == "GPT",
        "attention": {"kind": "mha", "qkv_bias": biases, "out_bias": biases},
    }


def _preset(family: str) -> JobData:
    """The fields of the family's catalogue model, in the names of a job's model."""
    start = family.lower()
    if start.startswith("deepseek-v2"):
        return dict(DEEPSEEK_V2)
    name = next((ident for beginning, ident in PRESETS if start.startswith(beginning)), None)
    if name is None:
        return {}
    spec = catalog().models[name]
    kept = ("hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "norm", "mlp", "mlp_bias")
    found: JobData = {key: getattr(spec, key) for key in kept}
    found["attention"] = spec.attention.model_dump()
    if spec.moe is not None:
        found["moe"] = spec.moe.model_dump(exclude_none=True)
    return found


def _moe(model: Data, preset: JobData) -> JobData:
    given = preset.get("moe")
    if given is None and "experts" not in model:
        return {}
    moe: JobData = dict(given or {})
    names = {
        "experts": "experts", "topk": "top_k", "moe_ffn": "expert_ffn", "shared_experts": "shared_experts",
        "dense_layers": "first_dense_layers",
    }  # fmt: skip
    for key, name in names.items():
        if key in model:
            moe[name] = model[key]
    return moe


# How it is cut and run


def _job(case: Data, completed: list[str]) -> JobData:
    ident, parallel, batch = str(case["id"]), case["parallel"], case["batch"]
    shape = _shape(case, completed)
    early = ident.startswith(EARLY)
    if "tp" not in parallel:
        raise _Unusable("parallel sizes not known")
    microbatch = _microbatch(batch, completed)
    own = _parallel(case, completed, early=early, layers=shape["layers"])
    recompute = str(parallel.get("recompute", "none")).split()[0]
    if "recompute" not in parallel:
        completed.append("recompute none")
    attention = "core" if early and recompute in ("full", "selective") else "flash"
    completed.append(f"attention {attention}")
    hides = not ident.startswith(WITHOUT_OVERLAP)
    job = {
        "model": shape,
        "sequence_length": case["model"]["seq"],
        "global_batch": batch["gbs"],
        "microbatch": microbatch,
        "precision": _precision(case),
        "gradient_precision": "bf16" if ident.startswith(NARROW_GRADIENTS) else "fp32",
        "parallel": own,
        "schedule": _schedule(case, own),
        "recompute": recompute,
        "attention": attention,
        "overlap": {
            "gradients": hides,
            "parameters": hides,
            "pipeline": hides and own["vpp"] > 1,
            "tensor": hides and own["tp"] > 1 and own["sequence_parallel"],
            "experts": _schedule(case, own) == "dualpipe",
        },
    }
    if "moe" in shape:
        job["experts"] = _experts(case, completed)
    completed.append(f"overlap {'on' if hides else 'off'}")
    return job


def _experts(case: Data, completed: list[str]) -> JobData:
    """How tokens go to experts: as the source's framework sends them."""
    ident = str(case["id"])
    own: JobData = {"dispatch": "deduplicated" if ident.startswith(DEDUPLICATED) else "direct"}
    completed.append(f"{own['dispatch']} dispatch")
    if "tokendrop" in ident:
        own["capacity_factor"] = 1.0
        completed.append("capacity factor 1")
    if ident.startswith("deepseek-v3"):
        own |= {"dispatch_precision": "fp8", "node_limit": 4}
    return own


def _microbatch(batch: Data, completed: list[str]) -> int:
    given = batch.get("mbs")
    if isinstance(given, int):
        return given
    found = re.match(r"\d+", str(given or ""))
    completed.append("microbatch 1" if not found else "microbatch as assumed in the file")
    return int(found.group()) if found else 1


def _parallel(case: Data, completed: list[str], *, early: bool, layers: int) -> JobData:
    given, gpus = case["parallel"], int(case["hardware"]["gpus"])
    sizes = {name: int(given.get(name) or 1) for name in ("tp", "cp", "ep", "pp")}
    vpp = _chunks(given, sizes["pp"], layers, completed)
    dp = gpus // (sizes["tp"] * sizes["cp"] * sizes["pp"])
    if isinstance(given.get("dp"), int) and given["dp"] != dp:
        raise _Unusable(f"its sizes make {given['dp']} replicas of {gpus} GPUs, not {dp}")
    if "sp" not in given and sizes["tp"] > 1:
        completed.append(f"sequence parallelism {'off' if early else 'on'}")
    zero, reshard, shard = _zero(given, dp, completed)
    if zero == 3:
        completed.append(f"gathers by {'matrix, as lists' if early else 'layer'}")
    return {
        **sizes,
        "dp": dp,
        "vpp": vpp,
        "sequence_parallel": bool(given.get("sp", not early)),
        "zero": zero,
        "reshard": reshard,
        "zero3_unit": LISTS if early and zero == 3 else "layer",
        "dp_shard": shard,
        "layers_per_stage": _layers(layers, sizes["pp"] * vpp, completed),
        "scatter_gather": early and sizes["tp"] > 1 and sizes["pp"] > 1 and not given.get("sp"),
        "cp_algorithm": "ulysses" if sizes["cp"] > 1 and str(case["id"]).startswith("simumax") else "ring",
    }


def _chunks(given: Data, pp: int, layers: int, completed: list[str]) -> int:
    """Chunks of a stage. Sends that overlap need more than one: then of two layers each, or of one."""
    if pp == 1:
        return 1
    if given.get("vp"):
        return int(given["vp"])
    if "pp" in given.get("overlap", ()) and layers % pp == 0:
        each = 2 if layers // pp % 2 == 0 else 1
        completed.append(f"chunks of {each} layer{'s' * (each > 1)}")
        return layers // pp // each
    completed.append("one chunk a stage")
    return 1


def _zero(given: Data, dp: int, completed: list[str]) -> tuple[int, bool, int | None]:
    """(zero, reshard, replicas that one set of shards spans where these are not all)."""
    if given.get("fsdp"):
        shard = int(given["fsdp"])
        return 3, True, shard if shard < dp else None
    value = given.get("zero")
    if isinstance(value, int):
        return value, True, None
    if "no reshard" in str(value):
        return 3, False, None
    completed.append("ZeRO-1")
    return 1, True, None


def _layers(layers: int, chunks: int, completed: list[str]) -> list[int] | None:
    """None where layers divide; else embedding and head count as a layer each, or as even as can be."""
    if layers % chunks == 0:
        return None
    completed.append("uneven stages")
    if (layers + 2) % chunks == 0:
        each = (layers + 2) // chunks
        return [each - (chunk in (0, chunks - 1)) for chunk in range(chunks)]
    each, more = divmod(layers, chunks)
    first = (chunks - more) // 2
    return [each + (first <= chunk < first + more) for chunk in range(chunks)]


def _schedule(case: Data, own: JobData) -> str:
    if str(case["parallel"].get("schedule", "")).lower() == "dualpipe":
        return "dualpipe"
    return "interleaved" if own["vpp"] > 1 else "1f1b"
