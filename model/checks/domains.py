"""Tensor-parallel and Ulysses groups that leave their scale-up domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.checks.situation import Situation, short
from model.job.choices import legal_values
from model.job.exchange import Exchange
from model.step.report import Finding, Severity, StepReport
from model.text import format_bytes, format_rate, plural
from model.traffic.domains import domain_name, domains_of


@dataclass(frozen=True, slots=True)
class _Spread:
    """Groups of more than one domain: their GPUs, and how many domains the worst one touches."""

    groups: int
    of: int
    gpus: NDArray[np.int64]
    most: int


def check(situation: Situation) -> Iterator[Finding]:
    """TP, expert-TP and Ulysses groups over several domains, with what their exchanges cost the step."""
    placement, report = situation.placement, situation.report
    if placement is None or report is None:
        return
    kinds = [("tp", "tp", "TP"), ("etp", "ep", "Expert TP")]
    if situation.job.parallel.cp_algorithm == "ulysses":
        kinds.append(("cp", "cp", "Ulysses CP"))
    for key, dimension, name in kinds:
        spread = _spread(placement.groups.get(key, ()), domains_of(situation.fabric, placement))
        if spread is None:
            continue
        size = max(len(group) for group in placement.groups[key])
        exchanges = [
            (number, exchange)
            for number, exchange in enumerate(report.exchanges)
            if exchange.dimension == dimension and exchange.group_key == key
        ]
        cost = sum(report.exchange_times[number].exposed_s for number, _ in exchanges)
        yield Finding(
            id=f"domains.{key}",
            severity=Severity.ERROR,
            title=short(
                f"{name} {size} spans {plural(spread.most, domain_name(situation.fabric))}",
                f"{name} {size} leaves its domain",
            ),
            detail=_detail(situation, report, spread, exchanges, name),
            devices=tuple(placement.gpus[index] for index in spread.gpus.tolist()),
            cost_s=cost if cost > 0 else None,
            fix=_fix(situation, key, name),
        )


def leaves_domain(situation: Situation, key: str) -> bool:
    """Whether a group of the placement, such as "tp", has GPUs of several scale-up domains."""
    placement = situation.placement
    return (
        placement is not None
        and _spread(placement.groups.get(key, ()), domains_of(situation.fabric, placement)) is not None
    )


def _spread(groups: Sequence[NDArray[np.int32]], domain: NDArray[np.int64]) -> _Spread | None:
    wide = [group for group in groups if len(group) > 1 and (domain[group] != domain[group[0]]).any()]
    if not wide:
        return None
    most = max(len(np.unique(domain[group])) for group in wide)
    return _Spread(len(wide), len(groups), np.unique(np.concatenate(wide)).astype(np.int64), most)


def _detail(
    situation: Situation,
    report: StepReport,
    spread: _Spread,
    exchanges: Sequence[tuple[int, Exchange]],
    name: str,
) -> str:
    text = f"{spread.groups:,} of {plural(spread.of, f'{name} group')}"
    if not exchanges:
        return f"{text} cross domains."
    number, exchange = max(exchanges, key=lambda entry: report.exchange_times[entry[0]].time_s)
    seconds = report.exchange_times[number].time_s
    runs = report.traffic.sent_bytes_per_gpu[number] / seconds if seconds > 0 else 0.0
    text += (
        f": each {exchange.operation} of {format_bytes(exchange.message_bytes)} sends at {format_rate(runs)}"
    )
    inside = _scale_up_rate(situation, spread)
    return f"{text}; inside a domain it could at {format_rate(inside)}." if inside > runs else f"{text}."


def _scale_up_rate(situation: Situation, spread: _Spread) -> float:
    """What the scale-up links of the first of these GPUs can carry together."""
    fabric, placement = situation.fabric, situation.placement
    if placement is None or not len(spread.gpus):
        return 0.0
    device = fabric.device_index[placement.gpus[int(spread.gpus[0])]]
    if fabric.domain[device] < 0:
        return 0.0
    own = (fabric.link_a == device) | (fabric.link_b == device)
    other = np.where(fabric.link_a == device, fabric.link_b, fabric.link_a)
    inside = own & (fabric.domain[other] == fabric.domain[device])
    return float(fabric.usable[inside].sum())


def _fix(situation: Situation, key: str, name: str) -> str:
    """The sizes that are legal and no larger than the domains there are."""
    fabric, placement = situation.fabric, situation.placement
    if placement is None:
        return ""
    devices = np.array([fabric.device_index[gpu] for gpu in placement.gpus], dtype=np.int64)
    domain = fabric.domain[devices]
    sizes = np.unique(domain[domain >= 0], return_counts=True)[1]
    largest = int(sizes.min()) if len(sizes) else 1
    legal = [
        choice.value
        for choice in legal_values(situation.job, len(situation.world), f"parallel.{key}")
        if choice.legal and isinstance(choice.value, int) and choice.value <= largest
    ]
    size = getattr(situation.job.parallel, key)
    if size <= largest:
        return "Paint each group inside one domain, or order the GPUs by domain."
    return f"Legal here: {name} {' '.join(str(value) for value in legal)}." if legal else ""
