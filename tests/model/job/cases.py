"""Jobs of the worked examples, and a plan for a job on GPUs that play their own ranks."""

from __future__ import annotations

from typing import Any

from model.job.memory import StageMemory, stage_memory
from model.job.plan import Plan, plan
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import JobSpec, parse_job
from model.placement.paint import Paint
from model.placement.resolve import resolve

HBM = 80e9


def job(model: str | dict[str, Any], parallel: dict[str, Any] | None = None, **fields: Any) -> JobSpec:
    """A job with its vocabulary not padded further than tp asks, as T2–T7 have it."""
    return parse_job({"model": model, "vocabulary_multiple": 1, "parallel": parallel or {}, **fields})


def llama_t3(parallel: dict[str, Any] | None = None, **fields: Any) -> JobSpec:
    """T3: Llama-3-70B, TP8 PP4 DP32 on 1,024 GPUs, s 8192, b 1, B 1024."""
    return job("llama3-70b", {"tp": 8, "pp": 4, **(parallel or {})}, **fields)


def gpt3_t8(**fields: Any) -> JobSpec:
    """T8: GPT-3 175B with a vocabulary of 51,200, s 2048, TP8 PP8 b1 B64 on 64 GPUs."""
    parallel = {"tp": 8, "pp": 8, **fields.pop("parallel", {})}
    return job("megatron-175b", parallel, sequence_length=2048, global_batch=64, **fields)


def planned(own: JobSpec, world: int, paint: Paint | None = None) -> Plan:
    """The plan on GPUs g0, g1, … in world order."""
    placement = resolve([f"g{i}" for i in range(world)], grid_of(own, world), paint or Paint())
    return plan(own, placement, model_shape(own))


def memory(own: JobSpec, world: int) -> tuple[StageMemory, ...]:
    """Memory of every stage on GPUs with 80 GB."""
    return stage_memory(own, model_shape(own), grid_of(own, world), [HBM] * own.parallel.pp)
