"""Connect: drag from device to device. Ends that fit glow; why one does not fit stands at the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from gui.canvas.lettering import Lettering
from gui.canvas.tools.base import Pointer, Tool
from model.document.edits import Connect, Edit, SetFields
from model.errors import EditRefused
from model.text import format_port, format_rate
from model.topology.names import LINK_NAMES
from model.topology.ports import Allowed, Refusal, check_connect, new_link
from model.topology.types import NETWORK_LINKS, State

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

GLOW_LIMIT = 600
Answer = Allowed | Refusal


class ConnectTool(Tool):
    """Press on a device, release on another. Shift takes all free lanes; a second drag adds a cable."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._from: str | None = None
        self._at: Pointer | None = None
        self._over: str | None = None
        self._answers: dict[str, Answer] = {}

    @property
    def active(self) -> bool:
        return self._from is not None

    def press(self, at: Pointer) -> None:
        hit = self.view.hit_at(at.view)
        if hit is not None and hit.kind == "device":
            self.begin(hit.ids[0], at)

    def begin(self, device_id: str, at: Pointer) -> None:
        """Start from a device."""
        self._from, self._at, self._over = device_id, at, None
        self._answers = {}
        self.view.refresh()

    def move(self, at: Pointer) -> None:
        if self._from is None:
            return
        self._at = at
        hit = self.view.hit_at(at.view)
        over = hit.ids[0] if hit is not None and hit.kind == "device" else None
        self._over = over if over != self._from else None
        self.view.refresh()

    def release(self, at: Pointer) -> None:
        self.move(at)
        source, target = self._from, self._over
        self.cancel()
        if source is None or target is None:
            return
        answer = self.answer(source, target)
        if isinstance(answer, Refusal):
            self.context.say(answer.reason)
            return
        self._connect(source, target, answer, at.has(Qt.KeyboardModifier.ShiftModifier))

    def _connect(self, source: str, target: str, answer: Allowed, all_lanes: bool) -> None:
        document = self.context.document
        topology = document.document.topology
        count = max(1, answer.most) if all_lanes else 1
        same = [
            link
            for link in topology.links_between(source, target)
            if link.kind is answer.kind
            and link.state is State.UP
            and link.lane_bytes_per_s == answer.lane_bytes_per_s
        ]
        edit: Edit
        if same:
            edit = SetFields("link", (same[0].id,), {"count": same[0].count + count})
            text, chosen, cables = f"Add a cable to {same[0].id}", same[0].id, same[0].count + count
        else:
            link = new_link(topology, source, target, answer, count)
            edit = Connect(link)
            text, chosen, cables = f"Connect {source} and {target}", link.id, count
        try:
            document.push(edit, text)
        except EditRefused as refused:
            self.context.say(str(refused))
            return
        self.context.set_selection((chosen,))
        more = f"; {answer.most - count} more fit, drag again or hold Shift" if answer.most > count else ""
        self.context.say(f"{source} – {target}: {cables} × {_speed(answer)}{more}")

    def cancel(self) -> None:
        self._from = self._at = self._over = None
        self._answers = {}
        self.view.refresh()

    def answer(self, source: str, target: str) -> Answer:
        """What the model says of this pair; asked once per gesture."""
        if target not in self._answers:
            topology = self.context.document.document.topology
            self._answers[target] = check_connect(topology, source, target)
        return self._answers[target]

    def paint(self, painter: QPainter) -> None:
        if self._from is None or self._at is None:
            return
        self._glow(painter, self._from)
        index, camera, theme = self.view.scene_data.index, self.view.camera, self.view.theme
        start = camera.to_view(QPointF(*index.centre[index.device_row[self._from]]))
        end = self._at.view
        answer = self.answer(self._from, self._over) if self._over is not None else None
        color = theme.color("error" if isinstance(answer, Refusal) else "accent")
        bend = (end.y() - start.y()) / 2
        path = QPainterPath(start)
        path.cubicTo(start + QPointF(0, bend), end - QPointF(0, bend), end)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawPath(path)
        painter.setBrush(color)
        painter.drawEllipse(end, 4, 4)
        if isinstance(answer, Refusal):
            self.note(painter, end, answer.reason, refused=True)
        elif isinstance(answer, Allowed):
            self.note(painter, end, f"{_speed(answer)} · {answer.most} free", refused=False)

    def note(self, painter: QPainter, at: QPointF, text: str, *, refused: bool) -> None:
        """A line of text at the pointer."""
        theme = self.view.theme
        lettering = Lettering(theme)
        width = lettering.width(text, 11, 500) + 20
        left = min(at.x() + 14, self.view.viewport().width() - width - 6)
        top = min(at.y() + 14, self.view.viewport().height() - 32)
        painter.setBrush(theme.color("error-soft" if refused else "panel"))
        painter.setPen(QPen(theme.color("error" if refused else "accent"), 1))
        painter.drawRoundedRect(QRectF(left, top, width, 26), 6, 6)
        ink = theme.color("error" if refused else "text")
        lettering.left(painter, text, 11, 500, ink, left + 10, top + 13)

    def _glow(self, painter: QPainter, source: str) -> None:
        """A halo around the visible devices that fit; the nearest ones where there are very many."""
        view = self.view
        index, camera, theme = view.scene_data.index, view.camera, view.theme
        rows = view.painter.visible_devices()
        if len(rows) > GLOW_LIMIT and self._at is not None:
            away = np.hypot(*(index.centre[rows] - (self._at.scene.x(), self._at.scene.y())).T)
            rows = rows[np.argsort(away)[:GLOW_LIMIT]]
        halo = theme.color("ok")
        for row in rows.tolist():
            ident = index.device_ids[row]
            if ident == source or isinstance(self.answer(source, ident), Refusal):
                continue
            (x, y), (w, h) = index.centre[row], index.half[row]
            corner = camera.to_view(QPointF(x - w, y - h))
            rect = QRectF(corner.x(), corner.y(), 2 * w * camera.zoom, 2 * h * camera.zoom)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for spread, alpha in ((4.0, 0.25), (1.5, 0.9)):
                halo.setAlphaF(alpha)
                painter.setPen(QPen(halo, 2 if alpha > 0.5 else 4))
                painter.drawRoundedRect(rect.adjusted(-spread, -spread, spread, spread), 6, 6)


def _speed(answer: Allowed) -> str:
    if answer.kind in NETWORK_LINKS:
        return format_port(answer.lane_bytes_per_s)
    return f"{LINK_NAMES[answer.kind]} {format_rate(answer.lane_bytes_per_s)}"
