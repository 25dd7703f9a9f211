"""Whether every stage fits into the memory of its GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from model.checks.situation import Situation
from model.job.memory import FILL_LIMIT, StageMemory
from model.step.report import Finding, Severity, StepReport
from model.text import format_bytes, format_percent


def check(situation: Situation) -> Iterator[Finding]:
    """Above 100 % an error, above the fill limit a warning; neighbours that need the same are one finding."""
    report = situation.report
    if report is None:
        return
    full = [(stage, _severity(stage)) for stage in report.memory]
    for severity, group in groupby(full, key=lambda entry: entry[1]):
        if severity is None:
            continue
        stages = [stage for stage, _ in group]
        yield _finding(report, stages, severity)


def _severity(stage: StageMemory) -> Severity | None:
    if stage.total_bytes > stage.hbm_bytes:
        return Severity.ERROR
    return Severity.WARNING if stage.total_bytes > FILL_LIMIT * stage.hbm_bytes else None


def _finding(report: StepReport, stages: list[StageMemory], severity: Severity) -> Finding:
    worst = max(stages, key=lambda stage: stage.total_bytes / stage.hbm_bytes)
    numbers = [stage.stage for stage in stages]
    who = f"Stage {numbers[0]} needs"
    if len(numbers) > 1:
        who = f"Stages {numbers[0]}–{numbers[-1]} need up to"
    needs = format_bytes(worst.total_bytes).removesuffix(" GB")
    state = worst.weights_bytes + worst.gradients_bytes + worst.optimizer_bytes
    over = (
        ""
        if severity is Severity.ERROR
        else (
            f" That is {format_percent(worst.total_bytes / worst.hbm_bytes)}, above the "
            f"{format_percent(FILL_LIMIT)} that runs can count on."
        )
    )
    on = np.isin(report.stage_of_gpu, numbers)
    return Finding(
        id=f"memory.stage{numbers[0]}",
        severity=severity,
        title=f"{who} {needs} of {format_bytes(worst.hbm_bytes)}",
        detail=f"{format_bytes(state)} weights, gradients and optimizer, "
        f"{format_bytes(worst.activations_bytes)} activations, "
        f"{format_bytes(worst.other_bytes)} other.{over}",
        devices=tuple(report.placement.gpus[index] for index in np.flatnonzero(on).tolist()),
        fix=(
            "Recompute, a smaller microbatch or more TP needs less."
            if worst.activations_bytes > state
            else "ZeRO, more PP or more TP needs less."
        ),
    )
