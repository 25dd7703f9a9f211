"""Checkpoints that have nowhere to go."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation
from model.step.report import Finding, Severity
from model.topology.types import DeviceKind


def check(situation: Situation) -> Iterator[Finding]:
    """A job that writes checkpoints on a drawing without a storage device that is up."""
    every = situation.job.checkpoint.every_steps
    if every is None or situation.topology.working(DeviceKind.STORAGE):
        return
    yield Finding(
        id="storage.none",
        severity=Severity.INFO,
        title="Checkpoints are not in the traffic",
        detail=f"The job writes one every {every} steps, and the drawing has no storage device that is up.",
        fix="Draw a storage device, or set the storage of a template above 0.",
    )
