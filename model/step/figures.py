"""How every total came about: value, formula in words, inputs, source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from model.job.exchange import Exchange, dimension_name
from model.job.memory import StageMemory
from model.step.account import Arithmetic, Step
from model.step.notes import exchange_note, figure_note
from model.step.report import ExchangeTime, Figure, StepTotals
from model.text import format_bytes, plural
from model.traffic.types import Traffic

_CONVENTION_46 = "seconds are means over all GPUs of the job and add up to the step"
_PEAK = "dense peak of the data sheets, without sparsity"


def figures_of(
    step: Step,
    arithmetic: Arithmetic,
    memory: Sequence[StageMemory],
    exchanges: Sequence[Exchange],
    traffic: Traffic,
) -> Mapping[str, Figure]:
    """Figures by readable names: step.…, memory.stage<n>.…, exchange.<id>.…"""
    named = dict(_second_figures(step.totals, _waited_for(exchanges, step.exchange_times)))
    for name, figure in _rate_figures(step.totals, arithmetic):
        named[name] = replace(figure, note=_missing_note(arithmetic))
    for name, figure in named.items():
        named[name] = replace(figure, note=" ".join(filter(None, (figure.note, figure_note(name)))))
    for stage in memory:
        named.update(_memory_figures(stage))
    for number, (exchange, time) in enumerate(zip(exchanges, step.exchange_times, strict=True)):
        named.update(
            _exchange_figures(exchange, time, float(traffic.sent_bytes_per_gpu[number]), step.totals)
        )
    return named


def _missing_note(arithmetic: Arithmetic) -> str:
    """What ranks without a GPU mean for a figure that counts work; "" where all are played."""
    if not arithmetic.missing:
        return ""
    have = "rank has" if arithmetic.missing == 1 else "ranks have"
    are = "is" if arithmetic.broken == 1 else "are"
    return (
        f"{arithmetic.missing:,} {have} no GPU, so {arithmetic.broken:,} of "
        f"{plural(arithmetic.replicas, 'replica')} {are} not whole and counted as doing no work; all GPUs of "
        "the job count as there."
    )


def _waited_for(exchanges: Sequence[Exchange], times: Sequence[ExchangeTime]) -> dict[str, dict[str, float]]:
    """Exposed seconds by dimension and by kind of exchange, as inputs of figures."""
    found: dict[str, dict[str, float]] = {}
    for exchange, time in zip(exchanges, times, strict=True):
        kinds, name = found.setdefault(exchange.dimension, {}), f"{exchange.kind}_s"
        kinds[name] = kinds.get(name, 0.0) + time.exposed_s
    return found


def _second_figures(
    totals: StepTotals, waited_for: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, Figure]]:
    """The step and what it consists of."""
    time: dict[str, float | int | str] = {"time_s": totals.time_s}
    parts = {"compute_s": totals.compute_s, "optimizer_s": totals.optimizer_s, "bubble_s": totals.bubble_s}
    exposed = {f"exposed_{name}_s": seconds for name, seconds in totals.exposed_s.items()}
    yield (
        "step.time_s",
        Figure(
            totals.time_s,
            "s",
            "compute + optimizer + bubble + exposed communication",
            {**parts, **exposed},
            "event simulation of the schedule on max-min fairly shared links",
        ),
    )
    formulas = {
        "compute_s": "forward and backward of all microbatches, each GPU at its own pace",
        "optimizer_s": "bytes of the optimizer state moved ÷ memory bandwidth",
        "bubble_s": "step time − compute − optimizer − exposed communication",
    }
    rest = {key: seconds for key, seconds in (parts | exposed).items() if key != "bubble_s"}
    for name, seconds in parts.items():
        inputs = {**time, **rest} if name == "bubble_s" else time
        yield f"step.{name}", Figure(seconds, "s", formulas[name], inputs, _CONVENTION_46)
    for name, seconds in totals.exposed_s.items():
        text = f"sum over the {dimension_name(name)} exchanges of the time in which GPUs wait for them"
        yield f"step.exposed_s.{name}", Figure(seconds, "s", text, waited_for.get(name, {}), _CONVENTION_46)
    yield (
        "step.bubble_fraction",
        Figure(
            totals.bubble_fraction,
            "",
            "1 − mean busy time of the stages ÷ length of the pipeline part",
            time,
            "waiting for sends counts as bubble here; gradient sync and optimizer are outside",
        ),
    )


def _rate_figures(totals: StepTotals, arithmetic: Arithmetic) -> Iterator[tuple[str, Figure]]:
    """Work, and work a second and GPU."""
    time: dict[str, float | int | str] = {"time_s": totals.time_s}
    peak: dict[str, float | int | str] = {"peak_of_all_gpus_flops_per_s": arithmetic.peak_flops}
    model, hardware = arithmetic.model_flops, arithmetic.hardware_flops
    per_peak = "÷ (peak FLOP/s of all GPUs × step time)"
    rows: tuple[tuple[str, float, str, str, Mapping[str, float | int | str], str], ...] = (
        (
            "model_flops",
            totals.model_flops,
            "FLOP",
            "(6 × matrix parameters + causal attention) of a token × tokens",
            {"flops_per_token": model / max(arithmetic.tokens, 1.0), "tokens": arithmetic.tokens},
            "Megatron-Core, training/training.py: forward once, backward twice; no recompute",
        ),
        ("mfu", totals.mfu, "", f"model FLOPs {per_peak}", {"model_flops": model, **peak, **time}, _PEAK),
        (
            "hfu",
            totals.hfu,
            "",
            f"(model FLOPs + recomputed FLOPs) {per_peak}",
            {"hardware_flops": hardware, **peak, **time},
            _PEAK,
        ),
        (
            "tokens_per_s_per_gpu",
            totals.tokens_per_s_per_gpu,
            "tokens/s",
            "tokens of a step ÷ step time ÷ GPUs",
            {"tokens": arithmetic.tokens, **time, "gpus": arithmetic.gpus},
            "sequences of the batch × their length; all GPUs of the job",
        ),
    )
    for name, value, unit, formula, inputs, source in rows:
        yield f"step.{name}", Figure(value, unit, formula, inputs, source)


def _memory_figures(stage: StageMemory) -> Iterator[tuple[str, Figure]]:
    state = "(dense parameters ÷ shards{experts}) × bytes each, {what}"
    experts = " + expert parameters ÷ shards" if "expert_shards" in stage.inputs["weights_bytes"] else ""
    formulas = {
        "weights_bytes": state.format(experts=experts, what="sharded by ZeRO-3"),
        "gradients_bytes": state.format(experts=experts, what="sharded from ZeRO-2 on"),
        "optimizer_bytes": state.format(
            experts=experts, what="the master copy and two moments, sharded from ZeRO-1 on"
        ),
        "activations_bytes": "what the layers in flight keep, and the ends of the model where they are here",
        "other_bytes": "runtime, communicators, fragmentation and gather buffers, by the memory settings",
    }
    for name, formula in formulas.items():
        yield (
            f"memory.stage{stage.stage}.{name}",
            Figure(
                float(getattr(stage, name)),
                "B",
                formula,
                stage.inputs[name],
                "Megatron-Core, theoretical_memory_usage.py",
            ),
        )
    yield (
        f"memory.stage{stage.stage}.total_bytes",
        Figure(
            stage.total_bytes,
            "B",
            "weights + gradients + optimizer + activations + other",
            {name: float(getattr(stage, name)) for name in formulas},
            "the fullest moment of the schedule",
            f"The GPU has {format_bytes(stage.hbm_bytes)}; of several models the one that has least.",
        ),
    )


def _exchange_figures(
    exchange: Exchange, time: ExchangeTime, sent: float, totals: StepTotals
) -> Iterator[tuple[str, Figure]]:
    name = f"exchange.{exchange.id}"
    size: dict[str, float | int | str] = {
        "message_bytes": exchange.message_bytes,
        "count_per_step": exchange.count_per_step,
        "group_size": exchange.group_size,
    }
    yield (
        f"{name}.message_bytes",
        Figure(
            float(exchange.message_bytes),
            "B",
            f"the whole tensor of one {exchange.operation} of {exchange.kind}",
            {"group_size": exchange.group_size},
            "the bytes on a link follow from it by the algorithm",
            exchange_note(exchange, "message_bytes"),
        ),
    )
    yield (
        f"{name}.sent_bytes_per_gpu_per_step",
        Figure(
            sent,
            "B",
            "bytes that leave a GPU of the groups, relays included, × count",
            size,
            "edges of the algorithm, summed over the GPUs of the groups and divided by their number",
            exchange_note(exchange, "sent_bytes_per_gpu_per_step"),
        ),
    )
    yield (
        f"{name}.time_s",
        Figure(
            time.time_s,
            "s",
            "latency of its steps, then bytes at the fair share of the slowest link, × count",
            {**size, "time_factor": exchange.time_factor},
            "time on the wire of a mean GPU that takes part",
        ),
    )
    yield (
        f"{name}.exposed_s",
        Figure(
            time.exposed_s,
            "s",
            "the part of it that a mean GPU of the job waits for",
            {"time_s": time.time_s, "step_time_s": totals.time_s},
            _CONVENTION_46,
        ),
    )
