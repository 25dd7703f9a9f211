"""Which container things are in once they have been dragged somewhere.

They go into the frame that the pointer enters, and out of each frame that they are dropped wholly outside of.
A frame in which nothing would stay comes along instead. With Shift held things only move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.canvas.lettering import Lettering
from gui.canvas.scene_index import FloatArray
from model.document.edits import Edit
from model.document.membership import can_hold, into_container
from model.document.rack_edits import outermost, thing_of

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView


@dataclass(frozen=True, slots=True)
class NewHome:
    """Things that would go into another container (None: into nothing), and the frame that shows it."""

    ids: tuple[str, ...]
    container: str | None
    frame: str

    @property
    def text(self) -> str:
        """ "into rack0", "out of rack0"."""
        return f"into {self.frame}" if self.container == self.frame else f"out of {self.frame}"


class Rehousing:
    """One drag. Frames count as they were when it began: one that stretches would be left by nothing."""

    def __init__(self, view: CanvasView, pressed: QPointF) -> None:
        self._view = view
        self._topology = view.context.document.document.topology
        index = view.scene_data.index
        self._hull, self._rects = index.hull.copy(), index.rects()
        self._row, self._device_row = index.container_row, index.device_row
        self._moved = outermost(self._topology, view.context.selection)
        self._holds: dict[str, bool] = {}
        self._coming: dict[str, tuple[str, ...]] = {}
        self._open = self._open_frames()
        self._from = set(self._frames_at(pressed))
        by_parent: dict[str, list[str]] = {}
        for ident in self._moved:
            parent = thing_of(self._topology, ident).parent
            if parent is not None:
                by_parent.setdefault(parent, []).append(ident)
        self._leaving = [
            (parent, tuple(ids), self._box(ids))
            for parent, ids in by_parent.items()
            if len(ids) < len(self._topology.children(parent))
        ]

    def _open_frames(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(c,) frames that are drawn and do not move themselves."""
        index, scene = self._view.scene_data.index, self._view.scene_data
        moving = np.zeros(len(index.containers) + 1, dtype=bool)
        moving[[self._row[ident] for ident in self._moved if ident in self._row]] = True
        for depth in range(1, int(index.depth.max(initial=0)) + 1):
            level = np.flatnonzero(index.depth == depth)
            moving[level] |= moving[index.container_parent[level]]
        return ~moving[:-1] & ~scene.folding.hidden

    def _frames_at(self, at: QPointF) -> list[str]:
        """The frames around a point, from the inside out."""
        hull, index = self._hull, self._view.scene_data.index
        x, y = at.x(), at.y()
        inside = (hull[:, 0] <= x) & (x <= hull[:, 2]) & (hull[:, 1] <= y) & (y <= hull[:, 3])
        rows = np.flatnonzero(inside & self._open)
        order = np.argsort(-index.depth[rows], kind="stable")
        return [index.container_ids[row] for row in rows[order].tolist()]

    def homes(self, at: QPointF, shift: tuple[float, float]) -> tuple[NewHome, ...]:
        """What a drop here would change: the pointer at `at`, things moved by `shift` scene units."""
        entered = next(filter(self._takes, self._frames_at(at)), None)
        if entered is not None and entered not in self._from:
            coming = self._outside(entered)
            return (NewHome(coming, entered, entered),) if coming else ()
        found = []
        for parent, ids, box in self._leaving:
            left = self._left(parent, box + np.tile(shift, 2))
            if left is not None:
                found.append(NewHome(ids, self._topology.container(left).parent, left))
        return tuple(found)

    def _takes(self, frame: str) -> bool:
        if frame not in self._holds:
            self._holds[frame] = can_hold(self._topology, frame, self._moved)
        return self._holds[frame]

    def _outside(self, frame: str) -> tuple[str, ...]:
        """What moves and is not in a frame yet."""
        if frame not in self._coming:
            inside = set(self._topology.descendants(frame))
            self._coming[frame] = tuple(ident for ident in self._moved if ident not in inside)
        return self._coming[frame]

    def _left(self, parent: str, box: FloatArray) -> str | None:
        """The outermost frame around `parent` that a box lies wholly outside of, as do those between."""
        left: str | None = None
        frame: str | None = parent
        while frame is not None:
            low, high = self._hull[self._row[frame], :2], self._hull[self._row[frame], 2:]
            if ((box[:2] <= high) & (box[2:] >= low)).all():
                break
            left, frame = frame, self._topology.container(frame).parent
        return left

    def _box(self, ids: Sequence[str]) -> FloatArray:
        boxes = np.array(
            [
                self._hull[self._row[ident]] if ident in self._row else self._rects[self._device_row[ident]]
                for ident in ids
            ]
        )
        return np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))

    def edits(self, homes: tuple[NewHome, ...]) -> tuple[Edit, ...]:
        """What makes it so."""
        document = self._view.context.document.document
        return tuple(into_container(document, home.ids, home.container) for home in homes)

    def paint(self, painter: QPainter, homes: tuple[NewHome, ...], at: QPointF) -> None:
        """The frame that takes them; those that they leave, dashed; what happens, at the pointer."""
        theme, camera = self._view.theme, self._view.camera
        for home in homes:
            x0, y0, x1, y1 = camera.boxes(self._hull[self._row[home.frame]]).tolist()
            enters = home.container == home.frame
            soft = theme.color("accent")
            soft.setAlphaF(0.08)
            painter.setBrush(soft if enters else Qt.BrushStyle.NoBrush)
            style = Qt.PenStyle.SolidLine if enters else Qt.PenStyle.DashLine
            painter.setPen(QPen(theme.color("accent" if enters else "strong"), 2.5 if enters else 1.5, style))
            painter.drawRoundedRect(QRectF(QPointF(x0, y0), QPointF(x1, y1)).adjusted(-2, -2, 2, 2), 8, 8)
        if homes:
            above, text = at + QPointF(0, -22), homes_text(homes)
            panel, ink, accent = (theme.color(token) for token in ("panel", "text", "accent"))
            Lettering(theme).pill(painter, text, above, fill=panel, ink=ink, border=accent, px=11, height=22)


def homes_text(homes: tuple[NewHome, ...]) -> str:
    """ "into rack0", "out of rack0", "out of 3 containers"."""
    return homes[0].text if len(homes) == 1 else f"out of {len(homes)} containers"


def rehousing(view: CanvasView, pressed: QPointF) -> Rehousing | None:
    """None where frames are not drawn where they are: far out tiles stand for them."""
    return None if view.painter.far is not None else Rehousing(view, pressed)
