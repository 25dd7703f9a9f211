"""The rows of the dearest links: order, equal ones grouped, and what flows on each. No Qt.

Everything that grows with the drawing is an array; texts are made for one row at a time, when it is shown.
A *directed link* is numbered as in `model.traffic.types`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from model.job.exchange import dimension_name
from model.step.report import Figure, StepReport
from model.text import format_percent, format_ratio

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class LinkOrder(StrEnum):
    """What the list is sorted by."""

    COST = "cost a step"
    OVERSUBSCRIPTION = "offered ÷ capacity"
    PEAK = "peak utilisation"
    BYTES = "bytes a step"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What a bar shows: utilisation (0–1) and offered ÷ capacity."""

    utilisation: float
    offered: float

    @property
    def oversubscribed(self) -> bool:
        """Whether more is offered than the link can carry (rounding kept out)."""
        return self.offered > 1.0 + 1e-6

    def text(self, *, now: bool) -> str:
        """The caption under the bar."""
        if self.oversubscribed:
            return format_ratio(self.offered)
        if self.utilisation <= 0:
            return "idle now" if now else "idle"
        return format_percent(self.utilisation)


class LinkTable:
    """The loaded directed links of a report, equal ones grouped, in a chosen order.

    Links count as equal when their ends have the same kinds, the same instances load them, and cost, peak,
    oversubscription, bytes and capacity agree in the first four digits.
    """

    def __init__(self, report: StepReport, order: LinkOrder = LinkOrder.COST) -> None:
        for _step in self._fill(report, order):
            pass

    @classmethod
    def steps(cls, report: StepReport, order: LinkOrder) -> Generator[None, None, LinkTable]:
        """Make a table in steps of some ten milliseconds; returns it."""
        table = cls.__new__(cls)
        yield from table._fill(report, order)
        return table

    def _fill(self, report: StepReport, order: LinkOrder) -> Iterator[None]:
        self.report = report
        self._by_link = csc_array(report.traffic.loads)
        yield
        self.total_bytes: FloatArray = np.zeros(2 * len(report.fabric.link_ids))
        for part in report.bytes_by_dimension.values():
            self.total_bytes += part
        loaded = np.flatnonzero(self.total_bytes > 0)
        signature = self._signature()[loaded]
        yield
        self._members = [loaded[group] for group in _group(signature)]
        self._first = np.array([group[0] for group in self._members], dtype=np.int64)
        self._group_of = np.full(len(self.total_bytes), -1, dtype=np.int64)
        for number, members in enumerate(self._members):
            self._group_of[members] = number
        self.sort(order)

    def __len__(self) -> int:
        return len(self._rank)

    def sort(self, order: LinkOrder) -> None:
        """Put the rows in another order."""
        self.order = order
        self._rank = self._ranked(order)

    def directed(self, row: int) -> int:
        """The directed link that stands for the row."""
        return int(self._first[self._rank[row]])

    def members(self, row: int) -> IntArray:
        """All directed links of the row."""
        return self._members[int(self._rank[row])]

    def link_ids(self, row: int) -> tuple[str, ...]:
        """Ids of the links of the row, each once."""
        ids = self.report.fabric.link_ids
        return tuple(ids[link] for link in np.unique(self.members(row) // 2).tolist())

    def row_of(self, link: int) -> int | None:
        """The first row that holds either direction of a link (its index in the fabric)."""
        groups = self._group_of[2 * link : 2 * link + 2]
        rows = np.flatnonzero(np.isin(self._rank, groups[groups >= 0]))
        return int(rows[0]) if len(rows) else None

    def title(self, row: int) -> str:
        """ "leaf5 → spine2", of the first member; without a container that all of the drawing lies in."""
        return direction_name(self.report, self.directed(row)).removeprefix(self._home)

    def count(self, row: int) -> int:
        """How many equal directed links the row stands for."""
        return len(self.members(row))

    def flows(self, row: int) -> str:
        """What flows: dimensions and operation by bytes, and the stages that send it."""
        return self._flow_text(self.directed(row))

    def cost_s(self, row: int) -> float:
        """Seconds a step that the link costs (conventions 47)."""
        return float(self.report.cost_s[self.directed(row)])

    def share(self, row: int) -> float:
        """Cost ÷ step time."""
        return self.cost_s(row) / self.report.totals.time_s if self.report.totals.time_s > 0 else 0.0

    def peak(self, row: int) -> LinkLoad:
        """The highest utilisation and offered ratio of the step."""
        link = self.directed(row)
        return LinkLoad(float(self.report.peak_utilisation[link]), float(self.report.oversubscription[link]))

    def mean(self, row: int) -> LinkLoad:
        """Mean utilisation over the step; no offered rate, which belongs to a moment."""
        return LinkLoad(float(self.report.mean_utilisation[self.directed(row)]), 0.0)

    def at(self, row: int, time_s: float) -> LinkLoad:
        """Utilisation and offered ratio at one moment."""
        return load_at(self.report, self.directed(row), time_s)

    @cached_property
    def bar_scale(self) -> float:
        """The load at the right end of every bar: capacity is then a tick at 1 ÷ scale."""
        most = float(self.report.oversubscription.max(initial=0.0))
        return min(max(1.5, most), 4.0)

    @cached_property
    def _home(self) -> str:
        inside = [name for name in self.report.fabric.device_ids if "." in name]
        return _shared_home(min(inside), max(inside)) if inside else ""

    @cached_property
    def _stage_count(self) -> int:
        return int(self.report.stage_of_gpu.max(initial=0)) + 1

    def _signature(self) -> NDArray[np.uint64]:
        """One number per directed link, equal for links that read the same."""
        report, fabric = self.report, self.report.fabric
        kinds = fabric.device_kind.astype(np.uint64)
        a, b = kinds[fabric.link_a], kinds[fabric.link_b]
        signature = np.empty(len(self.total_bytes), dtype=np.uint64)
        signature[0::2] = a * np.uint64(31) + b
        signature[1::2] = b * np.uint64(31) + a
        columns = (
            np.repeat(fabric.capacity, 2),
            self.total_bytes,
            report.cost_s,
            report.peak_utilisation,
            report.oversubscription,
        )
        for column in columns:
            signature = _mix(signature, _four_digits(column))
        return _mix(signature, self._instances_signature())

    def _instances_signature(self) -> NDArray[np.uint64]:
        loads = self._by_link
        numbers = np.arange(1, loads.shape[0] + 1, dtype=np.uint64)
        hashes = _mix(numbers, numbers * np.uint64(2654435761))
        sums = np.concatenate(([np.uint64(0)], np.cumsum(hashes[loads.indices], dtype=np.uint64)))
        difference: NDArray[np.uint64] = sums[loads.indptr[1:]] - sums[loads.indptr[:-1]]
        return difference

    def _ranked(self, order: LinkOrder) -> IntArray:
        first, report = self._first, self.report
        if not len(first):
            return np.empty(0, dtype=np.int64)
        if order is LinkOrder.NAME:
            names = [direction_name(report, int(link)) for link in first]
            return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        keys = {
            LinkOrder.COST: (report.cost_s, report.oversubscription, report.peak_utilisation),
            LinkOrder.OVERSUBSCRIPTION: (report.oversubscription, report.cost_s, report.peak_utilisation),
            LinkOrder.PEAK: (report.peak_utilisation, report.oversubscription, report.cost_s),
            LinkOrder.BYTES: (self.total_bytes, report.cost_s, report.peak_utilisation),
        }[order]
        return np.lexsort([first, *(-key[first] for key in reversed(keys))])

    def _flow_text(self, directed: int) -> str:
        report, loads = self.report, self._by_link
        span = slice(loads.indptr[directed], loads.indptr[directed + 1])
        instances, amounts = loads.indices[span], loads.data[span]
        by_name: dict[tuple[str, str], float] = {}
        for instance, amount in zip(instances.tolist(), amounts.tolist(), strict=True):
            exchange = report.exchanges[int(report.traffic.instance_exchange[instance])]
            key = (dimension_name(exchange.dimension), exchange.operation.value)
            by_name[key] = by_name.get(key, 0.0) + amount
        names = sorted(by_name, key=lambda key: -by_name[key])
        dimensions = list(dict.fromkeys(name[0] for name in names))
        text = " + ".join(dimensions[:3])
        if len(names) == 1:
            text += f" {names[0][1]}"
        stages = sorted(set(report.traffic.instance_stage[instances].tolist()))
        return f"{text} · {stage_text(stages)}" if self._stage_count > 1 else text


def link_figures(report: StepReport, directed: int) -> dict[str, Figure]:
    """How the figures of a directed link were worked out, by title; the first is what it costs."""
    link, fabric = directed // 2, report.fabric
    capacity, usable = float(fabric.capacity[link]), float(fabric.usable[link])
    peak, over = float(report.peak_utilisation[directed]), float(report.oversubscription[directed])
    sent = {
        f"{name}_bytes": float(part[directed])
        for name, part in report.bytes_by_dimension.items()
        if part[directed] > 0
    }
    rates: dict[str, float | int | str] = {"capacity_bytes_per_s": capacity, "usable_bytes_per_s": usable}
    figures = {
        "Cost a step": Figure(
            float(report.cost_s[directed]),
            "s",
            "time in which something waited for an exchange that this link limited",
            {"link": direction_name(report, directed), "step_time_s": report.totals.time_s},
            "a link that nothing waits for costs nothing, however busy it is",
        ),
        "Bytes a step": Figure(
            sum(sent.values()), "B", "sum over all exchanges whose paths take this direction", dict(sent)
        ),
        "Peak utilisation": Figure(
            peak, "", "highest rate of the step ÷ usable rate of this direction", rates,
            "usable = capacity × the share that is left to payload",
        ),
        "Mean utilisation": Figure(
            float(report.mean_utilisation[directed]), "", "bytes a step ÷ (usable rate × step time)",
            {**rates, **sent, "step_time_s": report.totals.time_s},
            note="A mean hides bursts: what makes others wait is the peak, and how long it lasts.",
        ),
    }  # fmt: skip
    if over > 0:
        figures["Offered ÷ capacity"] = Figure(
            over, "×", "highest rate of its flows if only their end points limited them ÷ capacity",
            {**rates, "offered_bytes_per_s": over * capacity},
            "above 1 the link is oversubscribed; what it carries never exceeds what it can",
        )  # fmt: skip
    return figures


def direction_name(report: StepReport, directed: int) -> str:
    """The two ends of a directed link, sender first."""
    source, target = report.fabric.ends_of(directed)
    return f"{source} → {_short(target, source)}"


def _short(name: str, other: str) -> str:
    """`name` without the containers that `other` already names: node00.nic4 after node00.gpu4 → nic4."""
    return name[len(_shared_home(name, other)) :]


def _shared_home(a: str, b: str) -> str:
    """The containers that two names begin with: "rack01." of rack01.nvsw1.c0 and rack01.tray01.gpu0."""
    shared = ""
    for one, other in zip(a.split(".")[:-1], b.split(".")[:-1], strict=False):
        if one != other:
            break
        shared += f"{one}."
    return shared


def stage_text(stages: list[int]) -> str:
    """ "stage 0", "stages 1, 3", "8 stages"."""
    if len(stages) == 1:
        return f"stage {stages[0]}"
    if len(stages) <= 3:
        return f"stages {', '.join(str(stage) for stage in stages)}"
    return f"{len(stages)} stages"


def state_at(report: StepReport, time_s: float) -> int | None:
    """The row of `Segments.rates` that holds at a moment; None outside every segment."""
    segments = report.segments
    index = int(np.searchsorted(segments.start_s, time_s, side="right")) - 1
    if index < 0 or time_s >= segments.end_s[index]:
        return None
    return int(segments.state[index])


def load_at(report: StepReport, directed: int, time_s: float) -> LinkLoad:
    """Utilisation (rate ÷ usable) and offered ÷ capacity of a directed link at a moment."""
    state = state_at(report, time_s)
    link = directed // 2
    usable, capacity = float(report.fabric.usable[link]), float(report.fabric.capacity[link])
    if state is None or usable <= 0 or capacity <= 0:
        return LinkLoad(0.0, 0.0)
    rate = float(report.segments.rates[state, directed])
    offered = float(report.segments.offered[state, directed])
    return LinkLoad(rate / usable, offered / capacity)


def load_summary(load: LinkLoad) -> str:
    """A load in one phrase, for hover texts."""
    text = f"{format_percent(load.utilisation)} of the usable rate"
    return f"{text}, offered {format_ratio(load.offered)}" if load.offered > 0 else text


def _four_digits(values: NDArray[np.floating]) -> NDArray[np.uint64]:
    """The leading 14 bits of each float, so that values which read the same compare equal."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded: NDArray[np.uint64] = ((bits.astype(np.uint64) + np.uint64(256)) >> np.uint64(9)).astype(
        np.uint64
    )
    return rounded


def _mix(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of pairs (the finaliser of splitmix64)."""
    mixed = (a ^ (b * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


def _group(signature: NDArray[np.uint64]) -> list[IntArray]:
    """Positions with equal signatures, each group ascending."""
    if not len(signature):
        return []
    order = np.argsort(signature, kind="stable")
    cuts = np.flatnonzero(np.diff(signature[order])) + 1
    return np.split(order, cuts)
