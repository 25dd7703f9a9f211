"""Parts that are down, degraded or slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.checks.situation import Situation
from model.step.report import Finding, Severity
from model.text import format_percent, name_list, plural
from model.topology.types import Device, DeviceKind, Link, State

_LIMIT = 0.05


def check(situation: Situation) -> Iterator[Finding]:
    """One finding per kind of trouble."""
    devices, links = situation.topology.devices(), situation.topology.links()
    for state, word in ((State.DOWN, "down"), (State.DEGRADED, "degraded")):
        bad_devices = [device for device in devices if device.state is state]
        bad_links = [link for link in links if link.state is state]
        if bad_devices:
            yield _finding(f"states.devices.{word}", word, "device", devices=bad_devices)
        if bad_links:
            yield _finding(
                f"states.links.{word}", word, "link", links=bad_links, cost_s=_link_cost(situation, bad_links)
            )
    slow = [device for device in devices if device.kind is DeviceKind.GPU and device.speed < 1]
    if slow:
        yield _slow(situation, slow)


def _finding(
    ident: str,
    word: str,
    noun: str,
    *,
    devices: Sequence[Device] = (),
    links: Sequence[Link] = (),
    cost_s: float | None = None,
) -> Finding:
    ids = [device.id for device in devices] + [link.id for link in links]
    are = "is" if len(ids) == 1 else "are"
    why = "Traffic goes around what is down." if word == "down" else "Less gets through than was built for."
    return Finding(
        id=ident,
        severity=Severity.INFO,
        title=f"{plural(len(ids), noun)} {are} {word}",
        detail=f"{name_list(ids)}. {why}",
        devices=tuple(device.id for device in devices),
        links=tuple(link.id for link in links),
        cost_s=cost_s,
    )


def _link_cost(situation: Situation, links: Sequence[Link]) -> float | None:
    """The longest time that one of these links held the step back."""
    report = situation.report
    if report is None:
        return None
    wanted = {link.id for link in links}
    rows = [number for number, ident in enumerate(report.fabric.link_ids) if ident in wanted]
    cost = float(report.cost_s.reshape(-1, 2)[rows].max()) if rows else 0.0
    return cost if cost > 0 else None


def _slow(situation: Situation, slow: Sequence[Device]) -> Finding:
    """Stragglers: the stage of the slowest one computes at its speed."""
    slowest = min(slow, key=lambda device: device.speed)
    report, lost = situation.report, 0.0
    stages: set[int] = set()
    if report is not None:
        stage_of = dict(zip(report.placement.gpus, report.stage_of_gpu.tolist(), strict=True))
        stages = {stage_of[device.id] for device in slow if stage_of.get(device.id, -1) >= 0}
        if stages:
            lost = (1 - slowest.speed) * _longest_compute(situation, stages)
    share = lost / report.totals.time_s if report is not None and report.totals.time_s > 0 else 0.0
    stage_list = name_list([str(stage) for stage in sorted(stages)])
    holds = f" All GPUs of stage {stage_list} wait for it." if stages else ""
    return Finding(
        id="states.slow",
        severity=Severity.WARNING if share > _LIMIT else Severity.INFO,
        title=f"{plural(len(slow), 'GPU')} {'is' if len(slow) == 1 else 'are'} slow",
        detail=f"{slowest.id} computes at {format_percent(slowest.speed)} of its speed.{holds}",
        devices=tuple(device.id for device in slow),
        cost_s=lost if lost > 0 else None,
        fix="Replace it, or leave it out of the job.",
    )


def _longest_compute(situation: Situation, stages: set[int]) -> float:
    """Seconds that a lane of these stages computes; the longest."""
    report = situation.report
    if report is None:
        return 0.0
    sums = [
        sum(
            block.end_s - block.start_s - block.exposed_s
            for block in lane.blocks
            if block.microbatch is not None
        )
        for lane in report.lanes
        if lane.stage in stages
    ]
    return float(np.max(sums, initial=0.0))
