"""Parts that are down, degraded or slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.checks.cost import LIMIT
from model.checks.situation import Situation
from model.step.report import Finding, Severity
from model.text import format_percent, name_list, plural
from model.topology.types import Device, DeviceKind, Link, State


def check(situation: Situation) -> Iterator[Finding]:
    """One finding per kind of trouble; a warning where it costs more than `LIMIT` of the step."""
    for state in (State.DOWN, State.DEGRADED):
        devices = [device for device in situation.topology.devices() if device.state is state]
        links = [link for link in situation.topology.links() if link.state is state]
        if devices:
            ids = tuple(device.id for device in devices)
            lost = _lost_beside(situation, _links_of(situation, ids)) if state is State.DOWN else 0.0
            yield _finding(situation, state, "device", ids, lost)
        if links:
            ids = tuple(link.id for link in links)
            rows = _rows(situation, ids)
            lost = _lost_beside(situation, rows) if state is State.DOWN else _lost_on(situation, rows, links)
            whole = state is State.DEGRADED and all(link.share >= 1 for link in links)
            yield _finding(situation, state, "link", ids, lost, whole=whole)
    slow = [
        device
        for device in situation.topology.devices()
        if device.kind is DeviceKind.GPU and device.speed < 1
    ]
    if slow:
        yield _slow(situation, slow)


def _finding(
    situation: Situation, state: State, noun: str, ids: tuple[str, ...], lost: float, *, whole: bool = False
) -> Finding:
    are, them = ("is", "it") if len(ids) == 1 else ("are", "them")
    if state is State.DOWN:
        why = f"Traffic goes around {them}."
    elif noun == "device":
        why = "Its links carry their own share, a GPU computes at its own speed."
    elif whole:
        why = f"The share of {them} is still 100 %, so nothing is slower."
    else:
        why = "Less gets through than was built for."
    return Finding(
        id=f"states.{noun}s.{state.value}",
        severity=_severity(situation, lost),
        title=f"{plural(len(ids), noun)} {are} {state.value}",
        detail=f"{name_list(ids)}. {why}",
        devices=ids if noun == "device" else (),
        links=ids if noun == "link" else (),
        cost_s=lost if lost > 0 else None,
    )


def _severity(situation: Situation, lost: float) -> Severity:
    """Conventions 37."""
    report = situation.report
    dear = report is not None and lost > LIMIT * report.totals.time_s
    return Severity.WARNING if dear else Severity.INFO


def _rows(situation: Situation, ids: Sequence[str]) -> list[int]:
    """The numbers of links in the fabric."""
    wanted = set(ids)
    return [number for number, ident in enumerate(situation.fabric.link_ids) if ident in wanted]


def _links_of(situation: Situation, ids: Sequence[str]) -> list[int]:
    fabric = situation.fabric
    own = np.zeros(len(fabric.device_ids), dtype=np.bool_)
    own[[fabric.device_index[ident] for ident in ids]] = True
    rows: list[int] = np.flatnonzero(own[fabric.link_a] | own[fabric.link_b]).tolist()
    return rows


def _lost_on(situation: Situation, rows: Sequence[int], links: Sequence[Link]) -> float:
    """Seconds that degraded links hold the step back longer than they would whole; of the worst one.

    A link that limits an exchange for t seconds at a share s of its capacity would for t · s at all of it.
    """
    report = situation.report
    if report is None:
        return 0.0
    share = {link.id: link.share for link in links}
    cost = report.cost_s.reshape(-1, 2)
    return max(
        (float(cost[row].max()) * (1 - share[situation.fabric.link_ids[row]]) for row in rows), default=0.0
    )


def _lost_beside(situation: Situation, rows: Sequence[int]) -> float:
    """Seconds that the step is held back longer by what carries the bytes of links that are down.

    That is the links of the same end to devices of the same kind, which would share with the ones that are
    down by capacity: of t seconds at a live link, t · down ÷ (down + live) are theirs. The worst end counts.
    """
    report, fabric = situation.report, situation.fabric
    if report is None or not rows:
        return 0.0
    links = situation.topology.links()
    nominal = np.array([links[row].nominal_bytes_per_s for row in rows])
    kinds = len(DeviceKind)
    here, there = np.r_[fabric.link_a, fabric.link_b], np.r_[fabric.link_b, fabric.link_a]
    bundle = here.astype(np.int64) * kinds + fabric.device_kind[there]
    count = len(fabric.device_ids) * kinds
    live = np.bincount(bundle, np.r_[fabric.capacity, fabric.capacity], minlength=count)
    chosen = np.array(rows)
    both = np.r_[chosen, chosen + len(fabric.link_ids)]
    down = np.bincount(bundle[both], np.r_[nominal, nominal], minlength=count)
    dearest = np.zeros(count)
    cost = report.cost_s.reshape(-1, 2).max(axis=1)
    np.maximum.at(dearest, bundle, np.r_[cost, cost])
    share = np.divide(down, down + live, out=np.zeros(count), where=live > 0)
    return float((dearest * share).max())


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
    stage_list = name_list([str(stage) for stage in sorted(stages)])
    holds = f" All GPUs of stage {stage_list} wait for it." if stages else ""
    return Finding(
        id="states.slow",
        severity=_severity(situation, lost),
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
