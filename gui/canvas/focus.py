"""`Focus`: what is left clear while a device's paths, or the route between two, are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QRectF, Signal

from gui.canvas.scene_painter import Clear
from model.topology.types import DeviceKind
from model.traffic.route import Route, RouteWay
from model.worker.messages import RouteAnswer

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

_ENDS = (DeviceKind.GPU, DeviceKind.STORAGE)


class Focus(QObject):
    """Asks the engine for the ways of what the context has in focus; `changed` when there is news.

    `route` is the answer, `reason` why there is none. Of a pair `way` is the one of its ways that is shown.
    A device that only passes bytes on shows its links and what stands at their other ends.
    """

    changed = Signal()

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._view = view
        self._context = view.context
        self.route: Route | None = None
        self.reason = ""
        self._chosen = 0
        self._clear: Clear | None = None
        self._context.focus_changed.connect(self._begin)
        self._context.route_answered.connect(self._take)
        self._context.analysis_changed.connect(self._ask)
        self._context.document.changed.connect(self._ask_if_passing)

    @property
    def clear(self) -> Clear | None:
        """What is not faded; None without a focus."""
        return self._clear

    @property
    def ways(self) -> tuple[RouteWay, ...]:
        """The ways of a pair, the one with most bytes first."""
        return self.route.ways if self.route is not None else ()

    @property
    def way(self) -> RouteWay | None:
        """The way of a pair that is shown."""
        return self.ways[self._chosen] if self._chosen < len(self.ways) else None

    def choose(self, number: int) -> None:
        """Show another way of a pair."""
        self._chosen = number
        self._say()

    def _begin(self) -> None:
        self.route, self.reason, self._chosen = None, "", 0
        self._ask()
        self._say()
        self._show()

    def _ask(self) -> None:
        ids = self._context.focus
        if not ids:
            return
        topology = self._context.document.document.topology
        if len(ids) == 1 and topology.device(ids[0]).kind not in _ENDS:
            self._say()
        elif self._context.engine is None:
            self.reason = "The engine is not ready yet."
            self._say()
        elif not self._context.engine.running:
            self.reason = "The engine has stopped; the next edit starts it again."
            self._say()
        else:
            self._context.ask_route(*ids)

    def _ask_if_passing(self) -> None:
        """Links of a device that only passes bytes on are known without the engine."""
        if self._context.focus and self.route is None:
            self._ask()

    def _take(self, answer: RouteAnswer) -> None:
        question = answer.question
        asked = (question.source,) if question.target is None else (question.source, question.target)
        if asked != self._context.focus:
            return
        first = self.route is None
        self.route = answer.result
        self.reason = answer.reason
        self._chosen = min(self._chosen, max(len(self.ways) - 1, 0))
        self._say()
        if first:
            self._show()

    def _show(self) -> None:
        """Fit what is clear where a part of it is out of sight or under the card."""
        view = self._view
        box = view.scene_data.index.bounds(self._clear.devices) if self._clear is not None else None
        if box is None:
            return
        x0, y0, x1, y1 = view.camera.boxes(np.array(box)).tolist()
        if not view.free_area().adjusted(-20, -20, 20, 20).contains(QRectF(x0, y0, x1 - x0, y1 - y0)):
            view.fit_to(box)

    def _say(self) -> None:
        self._clear = self._what_is_clear()
        self.changed.emit()
        self._view.refresh()

    def _what_is_clear(self) -> Clear | None:
        ids = self._context.focus
        if not ids:
            return None
        topology = self._context.document.document.topology
        way, route = self.way, self.route
        if way is not None:
            shares: dict[str, float] = {}
            for hop in way.hops:
                shares[hop.link] = max(hop.share, shares.get(hop.link, 0.0))
            ends = {end for hop in way.hops for end in (hop.source, hop.target)}
            return Clear(frozenset(shares), frozenset(ends | set(ids)), tuple(shares.items()))
        if route is not None:
            return Clear(frozenset(route.links), frozenset(route.devices))
        if len(ids) == 1 and topology.device(ids[0]).kind not in _ENDS:
            links = topology.links_of(ids[0])
            near = {link.other(ids[0]) for link in links}
            return Clear(frozenset(link.id for link in links), frozenset(near | {ids[0]}))
        return Clear(frozenset(), frozenset(ids))
