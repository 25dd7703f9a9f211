"""The rows of the groups table: one per exchange of the plan. No Qt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.job.exchange import Exchange, dimension_name
from model.step.report import StepReport
from model.text import capital, format_bytes, format_rate, format_ratio, format_seconds, plural, three_digits

SECONDS_AN_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One kind of exchange: what runs, how large, how often, and what the step waits for.

    `times_*` count the operations of one group. `sent_bytes_per_gpu` is per step (conventions 22). `remarks`:
    what to know of its algorithm and paths: a fallback (conventions 18), how unevenly hashed flows fell.
    """

    exchange: int
    id: str
    dimension: str
    kind: str
    operation: str
    algorithm: str
    group_size: int
    group_count: int
    message_bytes: int
    times_a_step: int
    times_a_second: float
    times_an_hour: float
    sent_bytes_per_gpu: float
    blocking: bool
    time_s: float
    exposed_s: float
    remarks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """ "TP forward" from the kind `tp.forward`."""
        dimension, _, reason = self.kind.partition(".")
        return capital(f"{dimension_name(dimension)} {reason.replace('-', ' ')}".strip())

    @property
    def what(self) -> str:
        """Operation, algorithm and the groups that run it."""
        members = "pairs" if self.operation == "send" else f"{self.group_size} GPUs"
        name = self.operation
        if self.algorithm and self.algorithm != self.operation:
            name = f"{self.operation}, {self.algorithm}"
        return f"{name} · {self.group_count:,} × {members}"

    @property
    def how_often(self) -> str:
        """Bytes a message, and how many times a step, a second and an hour."""
        often = f"{_count(self.times_a_second)}/s"
        if 0 < self.times_a_second < 1:
            often = f"once in {format_seconds(1 / self.times_a_second)}"
        return (
            f"{format_bytes(self.message_bytes)} × {_count(self.times_a_step)} a step · {often} · "
            f"{_count(self.times_an_hour)}/hour"
        )

    @property
    def how_much(self) -> str:
        """Bytes of one GPU a step, a second and an hour."""
        sent, verb = self.sent_bytes_per_gpu, "sends"
        if sent <= 0:
            sent, verb = float(self.message_bytes * self.times_a_step), "moves"
        a_second = sent * self.times_a_second / self.times_a_step if self.times_a_step else 0.0
        return (
            f"GPU {verb} {format_bytes(sent)} a step · {format_rate(a_second)} · "
            f"{format_bytes(a_second * SECONDS_AN_HOUR)}/hour"
        )

    @property
    def remark(self) -> str:
        """The remarks in a line."""
        return "; ".join(self.remarks)

    @property
    def waiting(self) -> str:
        """Whether compute waits for it."""
        if self.blocking:
            return "blocking"
        return "hidden" if self.exposed_s <= 0 else "partly hidden"

    @property
    def hover(self) -> str:
        """Everything of the row in words."""
        return "\n".join(
            (
                f"{self.title}: {self.operation}, algorithm {self.algorithm}",
                f"{plural(self.group_count, 'group')} of {plural(self.group_size, 'GPU')}",
                f"{format_bytes(self.message_bytes)} a message, {_count(self.times_a_step)} times a step, "
                f"{_count(self.times_a_second)} a second, {_count(self.times_an_hour)} an hour",
                self.how_much,
                f"{format_seconds(self.time_s)} on the wire, {format_seconds(self.exposed_s)} exposed "
                f"(mean over all GPUs), {self.waiting}",
                *self.remarks,
            )
        )


def group_rows(report: StepReport) -> tuple[GroupRow, ...]:
    """One row per exchange, the one that exposes most time first."""
    step = report.totals.time_s
    rows = []
    for index, (exchange, time) in enumerate(zip(report.exchanges, report.exchange_times, strict=True)):
        a_second = exchange.count_per_step / step if step > 0 else 0.0
        rows.append(
            GroupRow(
                exchange=index,
                id=exchange.id,
                dimension=exchange.dimension,
                kind=exchange.kind,
                operation=exchange.operation.value,
                algorithm=report.traffic.algorithms[index],
                group_size=exchange.group_size,
                group_count=len(exchange.groups),
                message_bytes=exchange.message_bytes,
                times_a_step=exchange.count_per_step,
                times_a_second=a_second,
                times_an_hour=a_second * SECONDS_AN_HOUR,
                sent_bytes_per_gpu=float(report.traffic.sent_bytes_per_gpu[index]),
                blocking=exchange.blocking,
                time_s=time.time_s,
                exposed_s=time.exposed_s,
                remarks=(*_fallbacks(report, exchange), *_hashing(report, exchange)),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.exposed_s, -row.time_s, row.id)))


def _fallbacks(report: StepReport, exchange: Exchange) -> Iterator[str]:
    """The notes of the traffic on the algorithm of an exchange."""
    head = f"{exchange.kind} ({exchange.operation}) "
    for note in report.traffic.notes:
        if note.startswith(head):
            yield note.removeprefix(head).rstrip(".")


def _hashing(report: StepReport, exchange: Exchange) -> Iterator[str]:
    """How full the worst cable of each tier is beside its even load, and how full one would expect it."""
    for tier in report.traffic.ecmp:
        if tier.exchange_id == exchange.id:
            yield (
                f"hashed {tier.from_kind} → {tier.to_kind}: worst cable {format_ratio(tier.drawn)} even, "
                f"{format_ratio(tier.expected)} expected ({plural(tier.flows, 'flow')} on "
                f"{plural(tier.cables, 'cable')})"
            )


def links_of_exchange(report: StepReport, exchange: int) -> frozenset[str]:
    """Ids of the links that carry bytes of an exchange."""
    instances = np.flatnonzero(report.traffic.instance_exchange == exchange)
    loads = report.traffic.loads[instances]
    links = np.unique(loads.indices[loads.data > 0] // 2)
    ids = report.fabric.link_ids
    return frozenset(ids[link] for link in links.tolist())


def devices_of_exchange(report: StepReport, exchange: int) -> frozenset[str]:
    """Ids of the GPUs that take part in an exchange."""
    members = np.unique(report.exchanges[exchange].groups)
    gpus = report.placement.gpus
    return frozenset(gpus[member] for member in members.tolist() if member >= 0)


def _count(value: float) -> str:
    """A count for a narrow row: 12,288 below a million, then "44.2 million"."""
    if value >= 999_500:
        return f"{three_digits(value / 1e6)} million"
    if value >= 99.95 or value == int(value):
        return f"{round(value):,}"
    return three_digits(value)
