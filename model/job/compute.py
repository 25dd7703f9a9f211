"""Compute time of each pipeline stage (traffic_model §9)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageCompute:
    """Seconds of compute of one stage at full GPU speed, without any communication.

    `forward_s` and `backward_s` are of one microbatch (backward with recompute; head and loss are in the last
    stage). `dgrad_s` and `wgrad_s` are the parts of `backward_s` in input-gradient and weight-gradient GEMMs,
    the windows that can hide TP traffic. `optimizer_s` is once a step.
    """

    stage: int
    forward_s: float
    backward_s: float
    dgrad_s: float
    wgrad_s: float
    optimizer_s: float
