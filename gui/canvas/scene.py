"""`Scene`: a drawing with what an analysis says of it, ready to be painted. View and picture share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import compress, count
from operator import ne
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gui.canvas.container_painter import short_name
from gui.canvas.curves import Curves, route_steps
from gui.canvas.far_layout import FarLayout, lay_out_far
from gui.canvas.far_painter import tier_words
from gui.canvas.far_plan import (
    FarPlan,
    TileLoads,
    gpus_in_groups,
    plan_far,
    tile_loads,
    tile_weights,
    with_states,
)
from gui.canvas.folding import Folding, fold
from gui.canvas.gpu_look import GpuLook, gpu_look
from gui.canvas.legend import LegendKey, link_capacities
from gui.canvas.levels import Level
from gui.canvas.port_numbers import Ports, ports_of_links
from gui.canvas.scene_index import (
    DEVICE_KINDS,
    FloatArray,
    IntArray,
    SceneIndex,
)
from gui.canvas.strands import (
    OPEN_TRAY_ZOOM,
    Opened,
    StrandLoads,
    Strands,
    build_strands,
    dead_strands,
    end_boxes,
    load_strands,
)
from gui.canvas.texts import Texts
from gui.context import LAYERS
from model.document.document import Change, Document
from model.job.exchange import dimension_name
from model.placement.types import Dimension
from model.step.report import Analysis, StepReport

LinkMode = Literal["now", "peak", "mean"]
AT_ONCE = 8000
"""Of more links the strands are derived in steps, while the last picture stays."""
MOST_STATES = 48
"""A frame that comes late shows the last so many states of the traffic, not to come later still."""


class Scene:
    """One document and, where there is one, the report on it.

    `utilisation` and `ratio` (m, 2): per link what a sends and what b sends, in the chosen mode at the chosen
    time. `usable` (m,) bytes/s; `row_in_report` (m,) or -1. `worst` (m, 2): the oversubscription of the whole
    step; `cost` (m, 2): seconds of the step. `loads_version` and `gpus_version` count changes of what links
    carry and of what GPUs show.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.index = SceneIndex(document)
        self.report: StepReport | None = None
        self.dimension: Dimension = "tp"
        self.mode: LinkMode = "now"
        self.time_s = 0.0
        self.layers: Set[str] = frozenset(LAYERS)
        self.loads_version = 0
        self.gpus_version = 0
        self._states: tuple[int, ...] = ()
        self._texts_of = -1
        self._drawn_key: tuple[object, ...] = ()
        self._drawn_places: tuple[object, ...] = ()
        self.opened: Opened | None = None
        self._take_view()
        self._fold_key: tuple[object, ...] = ()
        self._plan_key: tuple[object, ...] = ()
        self._far_key: tuple[object, ...] = ()
        self._tiles_key: tuple[object, ...] = ()
        self._weights_key: tuple[object, ...] = ()
        self._spare_key: tuple[object, ...] = ()
        self._capacities_of = self._ports_of = -1
        self.report_version = 0
        self._map_report()
        self.refresh_gpus()

    # What changes

    def set_document(self, document: Document) -> None:
        """Show another document."""
        self.document = document
        self.opened = None
        self._take_view()
        self.index.rebuild(document)
        self._map_report()
        self.refresh_gpus()

    def apply(self, change: Change) -> None:
        """Follow an edit of the document."""
        if change.view:
            self._take_view()
        came_or_went = self.index.patch(self.document, change)
        if came_or_went:
            self._map_report()
        if came_or_went or change.paint:
            self.refresh_gpus()

    def set_analysis(self, analysis: Analysis | None) -> None:
        """Take over a result; an analysis of an illegal job keeps the last traffic."""
        if analysis is None or analysis.report is not None:
            self.set_report(None if analysis is None else analysis.report)

    def set_report(self, report: StepReport | None, time_s: float | None = None) -> None:
        """Show another step, or the traffic of one dimension of it; at `time_s`, where the moment changes."""
        self.report = report
        self.time_s = self.time_s if time_s is None else time_s
        self._map_report()
        self.refresh_gpus()

    def show(self, mode: LinkMode, time_s: float, since_s: float | None = None) -> bool:
        """Choose what links show; gives whether anything differs from before.

        With `since_s`, "now" is the most that each link carried since then, so that exchanges which are
        shorter than a frame are seen; a time before `since_s` is one of the next step.
        """
        states = self._states_between(time_s if since_s is None else since_s, time_s)
        same = mode == self.mode and (mode != "now" or states == self._states)
        self.mode, self.time_s = mode, time_s
        if same:
            return False
        self._states = states
        self._read_loads()
        return True

    def _take_view(self) -> None:
        """How the document is looked at: pins, containers drawn as one box, the style of links."""
        view = self.document.view
        self.pins, self.folded, self.link_style = view.pins, view.folds, view.links

    @property
    def folding(self) -> Folding:
        """What folded containers stand for."""
        key = (self.index.wiring, self.folded)
        if key != self._fold_key:
            self._folding, self._fold_key = fold(self.index, self.folded), key
        return self._folding

    def toggle_open(self, strands: Strands, strand: int) -> bool:
        """Draw the links of a bundle one by one, the lanes of a link, or as before; whether there was any."""
        members, ids = strands.members(strand).tolist(), self.index.link_ids
        chosen = frozenset(ids[row] for row in members)
        now = self.opened or Opened()
        if len(members) > 1:
            self.opened = replace(now, apart=now.apart | chosen)
        elif chosen <= now.lanes:
            self.opened = replace(now, lanes=now.lanes - chosen)
        elif int(strands.cables[strand]) > 1:
            self.opened = replace(now, lanes=now.lanes | chosen)
        elif chosen <= now.apart:
            same = np.flatnonzero((strands.end == strands.end[strand]).all(axis=1))
            beside = frozenset(ids[row] for one in same.tolist() for row in strands.members(one).tolist())
            self.opened = replace(now, apart=now.apart - beside)
        else:
            return False
        return True

    def set_dimension(self, dimension: Dimension) -> None:
        """Choose the dimension that fills the GPUs."""
        self.dimension = dimension
        self.refresh_gpus()

    def refresh_gpus(self) -> None:
        """Derive the look of the GPUs anew."""
        self.gpus_version += 1
        placement = self.report.placement if self.report is not None else None
        self.gpus: GpuLook = gpu_look(self.index, placement, self.document.paint, self.dimension)

    # Loads of links

    def _map_report(self) -> None:
        """Where each link of the drawing stands in the report (ids, because an edit may be newer than it)."""
        count = len(self.index.links)
        if self.report is None:
            self.row_in_report = np.full(count, -1, dtype=np.int64)
        elif self.report.fabric.link_ids == tuple(self.index.link_ids):
            self.row_in_report = np.arange(count)
        else:
            self.row_in_report = rows_in(self.index.link_ids, self.report.fabric.link_ids)
        self._known = self.report is not None and bool((self.row_in_report == np.arange(count)).all())
        self._known &= self.report is not None and count == len(self.report.fabric.link_ids)
        self.report_version += 1
        none = np.zeros((count, 2))
        report = self.report
        self.worst = none if report is None else self._of_links(report.oversubscription)
        self.cost = none if report is None else self._of_links(report.cost_s)
        unknown = np.zeros(count)
        usable = unknown if report is None else np.append(report.fabric.usable, 0.0)[self.row_in_report]
        self.usable: FloatArray = usable
        capacity = unknown if report is None else np.append(report.fabric.capacity, 0.0)[self.row_in_report]
        self._per_usable = np.divide(1.0, usable, out=np.zeros(count), where=usable > 0)[:, None]
        self._per_capacity = np.divide(1.0, capacity, out=np.zeros(count), where=capacity > 0)[:, None]
        self._peak = none if report is None else self._of_links(report.peak_utilisation)
        self._mean = none if report is None else self._of_links(report.mean_utilisation)
        self._states = self._states_between(self.time_s, self.time_s)
        self._read_loads()

    def _of_links(self, directed: np.ndarray) -> FloatArray:
        """(m, 2) from a report's array over directed links; 0 where the report does not know the link."""
        if self._known:
            return np.asarray(directed, dtype=np.float64).reshape(-1, 2)
        pairs = np.vstack((np.asarray(directed, dtype=np.float64).reshape(-1, 2), (0.0, 0.0)))
        return pairs[self.row_in_report]

    def _states_between(self, since_s: float, time_s: float) -> tuple[int, ...]:
        """The states of the traffic that a span of the step passes through; none without a step."""
        if self.report is None or not len(self.report.segments.state):
            return ()
        segments = self.report.segments
        moments = np.array((since_s, time_s)) + 1e-12
        first, last = np.maximum(np.searchsorted(segments.start_s, moments, side="right") - 1, 0).tolist()
        if first <= last:
            passed = segments.state[first : last + 1]
        else:
            passed = np.concatenate((segments.state[first:], segments.state[: last + 1]))
        return tuple(np.unique(passed[-MOST_STATES:]).tolist())

    def _read_loads(self) -> None:
        self.loads_version += 1
        report = self.report
        count = len(self.index.links)
        if report is None:
            self.utilisation = self.ratio = np.zeros((count, 2))
        elif self.mode == "peak":
            self.utilisation, self.ratio = self._peak, self.worst
        elif self.mode == "mean":
            self.utilisation, self.ratio = self._mean, self.worst
        elif not self._states:
            self.utilisation = self.ratio = np.zeros((count, 2))
        else:
            self.utilisation = self._of_links(report.segments.rates.most(self._states)) * self._per_usable
            self.ratio = self._of_links(report.segments.offered.most(self._states)) * self._per_capacity

    def loads(self, strands: Strands, rows: IntArray | None = None) -> StrandLoads:
        """What strands carry in the chosen mode; only some `rows` of them where given."""
        return load_strands(strands, self.index.capacity, self.utilisation, self.ratio, rows)

    def findings(self, strands: Strands, rows: IntArray | None = None) -> StrandLoads:
        """The peak of the step on strands; its ratios are the badges that never disappear."""
        return load_strands(strands, self.index.capacity, self._peak, self.worst, rows)

    # Strands

    def far(self, level: Level, zoom: float) -> tuple[FarPlan, FarLayout]:
        """What is drawn below 12 % and where it stands at a zoom."""
        index = self.index
        self._know_plan()
        key = (self._plan_key, index.version, level, zoom, self.folded, self.link_style)
        if key != self._far_key:
            layout = lay_out_far(index, self._plan, zoom, level, self.folding.container, self.link_style)
            boxes = np.vstack((layout.tier, layout.field, index.rects()))
            self._ribbons = replace(self._plan.ribbons, box=boxes[self._plan.ribbons.end].reshape(-1, 2, 4))
            self._far, self._far_key = layout, key
        return self._plan, self._far

    def _know_plan(self) -> None:
        index, plan_key = self.index, (self.index.wiring, self.layers)
        if plan_key != self._plan_key:
            self._plan, self._plan_key = plan_far(index, self.layers), plan_key
            self.group_gpus = gpus_in_groups(self._plan)
            self._plan_states = index.structure
        elif self._plan_states != index.structure:
            self._plan, self._plan_states = with_states(index, self._plan), index.structure

    @property
    def plan(self) -> FarPlan:
        """The plan that was drawn last."""
        return self._plan

    @property
    def peak(self) -> FloatArray:
        """(m, 2): the highest utilisation of each direction over the step."""
        return self._peak

    def tile_loads(self, plan: FarPlan) -> TileLoads:
        """What the links at the tiles of a plan carry in the chosen mode; the worst is of the whole step."""
        key = (self._plan_key, self._plan_states, self.loads_version)
        if key != self._tiles_key:
            if key[:2] + (self.report_version,) != self._weights_key:
                self._weights = tile_weights(plan, self.index.capacity, self.worst, self._peak)
                self._weights_key = (*key[:2], self.report_version)
            self._tiles = tile_loads(plan, self._weights, self.utilisation)
            self._tiles_key = key
        return self._tiles

    def strands(self, level: Level, zoom: float) -> tuple[Strands, Curves]:
        """The strands at a level of detail and where they run; kept until drawing or level change."""
        if level <= Level.TILES:
            _plan, layout = self.far(level, zoom)
            return self._ribbons, layout.curves
        for _step in self.strands_steps(level, zoom):
            pass
        return self._drawn, self._curves

    def strands_known(self, level: Level, zoom: float) -> bool:
        """Whether `strands` has little to do; else `strands_steps` does it piece by piece."""
        if not self.many_links:
            return True
        if level <= Level.TILES:
            return self._plan_key == (self.index.wiring, self.layers)
        places = (self.index.places, self.link_style)
        return self._strands_key(level, zoom) == self._drawn_key and places == self._drawn_places

    def strands_steps(self, level: Level, zoom: float) -> Iterator[None]:
        """Derive the strands, or the plan of tiles, in steps of some ten milliseconds; ends early when the
        drawing changes meanwhile.
        """
        if level <= Level.TILES:
            self._know_plan()
            yield
            return
        index, version, wiring = self.index, self.index.version, self._strands_key(level, zoom)
        if wiring != self._drawn_key:
            into = self.folding.device if self.folded else None
            self._drawn = build_strands(index, level, zoom, self.layers, into, wiring[-1])
            self._drawn_key = wiring
            self._drawn_states = index.structure
            self._drawn_places = ()
            yield
            if index.version != version:
                return
        if self._drawn_states != index.structure:
            strands = self._drawn
            self._drawn = replace(strands, down=dead_strands(index, strands.links, strands.start))
            self._drawn_states = index.structure
        places = (index.places, self.link_style)
        if self._drawn_places != places:
            box = end_boxes(index)[self._drawn.end].reshape(-1, 2, 4)
            drawn = replace(self._drawn, box=box)
            steps = route_steps(drawn, index.rects(), self.link_style)
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    self._drawn, self._curves, self._drawn_places = drawn, end.value, places
                    return
                yield
                if index.version != version or self._drawn_key != wiring:
                    return

    def _strands_key(
        self, level: Level, zoom: float
    ) -> tuple[int, Level, bool, Set[str], Set[str], Opened | None]:
        opened = self.opened if level is Level.PORTS else None
        return self.index.wiring, level, zoom >= OPEN_TRAY_ZOOM, self.layers, self.folded, opened

    def extent(
        self, box: tuple[float, float, float, float], level: Level, zoom: float
    ) -> tuple[float, float, float, float]:
        """What is drawn of everything at a zoom; `box` is that of all devices and containers."""
        if level <= Level.TILES:
            return self.far(level, zoom)[1].bounds()
        curves = self.strands(level, zoom)[1]
        if not len(curves.control):
            return box
        points = np.vstack((curves.point(0.5), curves.control[:, 0], curves.control[:, 3]))
        low, high = points.min(axis=0), points.max(axis=0)
        x0, y0, x1, y1 = box
        return (
            float(min(x0, low[0])), float(min(y0, low[1])), float(max(x1, high[0])), float(max(y1, high[1])),
        )  # fmt: skip

    # Words

    @property
    def ports(self) -> Ports:
        """The ports that links take at their ends."""
        self.know_ports()
        return self._ports

    def know_ports(self) -> None:
        """Work `ports` out, where the wiring is another."""
        if self._ports_of != self.index.wiring:
            self._ports, self._ports_of = ports_of_links(self.index), self.index.wiring

    @property
    def many_links(self) -> bool:
        """Whether there are so many that what they need is worked out in steps."""
        return len(self.index.links) > AT_ONCE

    @property
    def ports_known(self) -> bool:
        """Whether asking for `ports` or `texts` takes no time."""
        return not self.many_links or self._ports_of == self.index.wiring

    @property
    def legend(self) -> LegendKey:
        """What a legend has to explain."""
        if self._capacities_of != self.index.wiring:
            self._capacities, self._capacities_of = link_capacities(self.index), self.index.wiring
        return LegendKey(self.gpus, self.traffic_name, self._capacities)

    @property
    def traffic_name(self) -> str:
        """The dimension whose traffic alone is shown: "DP"; empty where all is."""
        dimensions = () if self.report is None else tuple(self.report.bytes_by_dimension)
        return dimension_name(dimensions[0]) if len(dimensions) == 1 else ""

    @property
    def texts(self) -> Texts:
        """What stands on devices and containers."""
        if self._texts_of != self.index.structure:
            self._texts, self._texts_of = Texts(self.index, self.ports), self.index.structure
        return self._texts

    def strand_name(self, strands: Strands, strand: int, half: int) -> str:
        """The direction that a half shows: "leaf5 → spine2"."""
        name = self._far_end if self._is_far(strands) else self.end_name
        first, second = (name(int(end)) for end in strands.end[strand])
        return f"{first} → {second}" if half == 0 else f"{second} → {first}"

    def spare_tiles(self, plan: FarPlan) -> NDArray[np.bool_]:
        """Tiles whose GPUs all have no place in the job, once a job has a result."""
        key = (self._plan_key, self.gpus_version)
        if key != self._spare_key:
            placed = np.append(0, np.cumsum(self.gpus.group[plan.gpu_place] >= 0))
            start = plan.gpu_start
            spare = (np.diff(start) > 0) & (placed[start[1:]] == placed[start[:-1]])
            self._spare, self._spare_key = spare & (self.report is not None), key
        return self._spare

    def strand_keys(self, strands: Strands, rows: IntArray) -> list[str]:
        """What tells strands apart, also after others came or went: the first link of each."""
        first = strands.links[strands.start[rows]].tolist()
        ids = self.index.link_ids
        if strands.lane is None:
            return [ids[link] for link in first]
        lanes = strands.lane[rows].tolist()
        return [
            ids[link] if lane < 0 else f"{ids[link]}#{lane}" for link, lane in zip(first, lanes, strict=True)
        ]

    def _is_far(self, strands: Strands) -> bool:
        return bool(self._plan_key) and strands.links is self._plan.ribbons.links

    def end_name(self, end: int) -> str:
        """The name of a strand's end: a device, or the tray that a bundle leaves from."""
        if end >= len(self.index.devices):
            container = self.index.containers[end - len(self.index.devices)]
            return container.label or container.id
        return self.index.device_ids[end]

    def _far_end(self, end: int) -> str:
        """The name of a ribbon's end: a tier, the racks of a group, or a device."""
        plan = self._plan
        tiers, groups = len(plan.tier_kind), len(plan.groups)
        if end >= tiers + groups:
            return self.index.device_ids[end - tiers - groups]
        if end >= tiers:
            group = end - tiers
            return self.container_name(int(plan.groups[group])) if group else "nodes"
        return self.tier_name(plan, end)

    def tier_name(self, plan: FarPlan, tier: int) -> str:
        """ "64 leaves of pod05"."""
        words = tier_words(DEVICE_KINDS[plan.tier_kind[tier]], int(plan.tier_size[tier]))
        group = int(plan.tier_group[tier])
        return f"{words} of {self.container_name(int(plan.groups[group]))}" if group else words

    def container_name(self, row: int) -> str:
        """The label of a container, or its id."""
        container = self.index.containers[row]
        return container.label or short_name(container.id, container.parent)

    def members_of(self, strands: Strands, ids: Set[str]) -> IntArray:
        """Rows of strands that are chosen, hold a chosen link, or end at a chosen device or tray."""
        index = self.index
        if not ids or not len(strands):
            return np.zeros(0, dtype=np.int32)
        devices = len(index.devices)
        ends = [index.device_row[ident] for ident in ids if ident in index.device_row]
        ends += [devices + index.container_row[ident] for ident in ids if ident in index.container_row]
        chosen = np.zeros(len(index.links), dtype=bool)
        chosen[[index.link_row[ident] for ident in ids if ident in index.link_row]] = True
        by_link = np.maximum.reduceat(chosen[strands.links], strands.start[:-1])
        if self._is_far(strands):
            return np.flatnonzero(by_link).astype(np.int32)
        return np.flatnonzero(by_link | np.isin(strands.end, ends).any(axis=1)).astype(np.int32)


def rows_in(ids: Sequence[str], others: Sequence[str]) -> NDArray[np.int64]:
    """(n,): the place of each of `ids` among `others`, or -1. An edit changes few of many, in one place: what
    both begin and end with need not be looked up.
    """
    most = min(len(ids), len(others))
    first = next(compress(count(), map(ne, ids, others)), most)
    last = min(next(compress(count(), map(ne, reversed(ids), reversed(others))), most), most - first)
    found = np.arange(len(ids), dtype=np.int64)
    found[len(ids) - last :] += len(others) - len(ids)
    place = {others[row]: row for row in range(first, len(others) - last)}
    found[first : len(ids) - last] = [place.get(ident, -1) for ident in ids[first : len(ids) - last]]
    return found
