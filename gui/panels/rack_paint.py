"""Paints racks: hull, U scale, free U, and a bar for each tray and switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.panels.panel_paint import draw_text, ramp_step
from gui.panels.rack_geometry import RackBox, RackGeometry, Strip
from gui.panels.rack_rows import (
    Bar,
    RackFace,
    RackFloor,
    load_text,
    power_text,
    total_power,
    total_weight,
)
from gui.theme import Theme
from model.text import plural

RIGHT = Qt.AlignmentFlag.AlignRight
CENTRE = Qt.AlignmentFlag.AlignHCenter
_TWO_LINES = 34.0  # px of a bar from which on it has two lines
_MOST_PIPS = 24


@dataclass(slots=True)
class Look:
    """What bars show beside the drawing itself. `faint`: the figures are of an earlier state."""

    loads: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    holds_chosen: frozenset[str] = frozenset()
    faint: bool = False


class RackPainter:
    """Paints one floor with a theme."""

    def __init__(
        self, theme: Theme, floor: RackFloor, geometry: RackGeometry, look: Look, ratio: float
    ) -> None:
        self._theme, self._floor, self._geometry, self._look = theme, floor, geometry, look
        self._ratio = ratio
        self._px = min(11.0, max(8.0, geometry.u_px - 4.5))

    def strip(self, painter: QPainter, strip: Strip, left: float) -> None:
        """A row of racks; its title keeps to the left edge of the view."""
        theme = self._theme
        room = QRectF(max(strip.area.left(), left + 12), strip.area.top(), 400, 18)
        draw_text(painter, room, strip.title, theme.font(11, 600), theme.color("text-2"))
        for box in strip.racks:
            self.rack(painter, box)

    def rack(self, painter: QPainter, box: RackBox) -> None:
        """A rack with its head, scale, U and bars."""
        face = self._floor.face(box.id)
        theme = self._theme
        chosen = box.id in self._look.chosen
        self._head(painter, box, face)
        painter.setBrush(theme.color("node"))
        painter.setPen(QPen(theme.color("accent" if chosen else "strong"), 2.0 if chosen else 1.2))
        painter.drawRoundedRect(box.hull, 6, 6)
        if self._geometry.detailed:
            self._scale(painter, box)
        self._free(painter, box, face)
        for bar in face.placed:
            self.bar(painter, box.unit(bar.units[0], len(bar.units)).adjusted(0, 0.5, 0, -0.5), bar)
        if face.unplaced:
            text = f"at no U: {len(face.unplaced)}"
            room = QRectF(box.hull.left(), box.hull.bottom() + 2, box.hull.width(), 15)
            draw_text(painter, room, text, theme.font(10), theme.color("text-3"))
            for place, bar in enumerate(face.unplaced):
                self.bar(painter, box.unplaced(place), bar, dashed=True)

    def loose(self, painter: QPainter, area: QRectF, left: float) -> None:
        """The things in no rack."""
        theme, geometry = self._theme, self._geometry
        if not geometry.loose.intersects(area):
            return
        names = self._floor.loose
        text = (
            f"In no rack: {len(names):,}"
            if names
            else "In no rack: drop a tray or switch here to take it out"
        )
        room = QRectF(max(geometry.loose.left(), left + 12), geometry.loose.top(), 420, 18)
        draw_text(painter, room, text, theme.font(11, 600), theme.color("text-2"))
        for place in geometry.chips_in(area, len(names)):
            self.bar(painter, geometry.chip(place), self._floor.bar(names[place]), dashed=True)

    def bar(self, painter: QPainter, room: QRectF, bar: Bar, *, dashed: bool = False) -> None:
        """A tray or device."""
        theme, look = self._theme, self._look
        chosen, holds = bar.id in look.chosen, bar.id in look.holds_chosen
        edge = "accent" if chosen or holds else "error" if bar.devices_down else "device-line"
        painter.setBrush(theme.color("accent-soft") if chosen else theme.color("device"))
        pen = QPen(theme.color(edge), 2.0 if chosen else 1.4 if holds else 1.0)
        if dashed and not chosen:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        if room.height() < 9 or not self._geometry.detailed:
            self._small(painter, room.adjusted(4, 2, -4, -2), bar)
            return
        inner = room.adjusted(6, 0, -6, 0)
        if room.height() >= _TWO_LINES:
            middle = room.center().y()
            self._name(painter, QRectF(inner.left(), middle - 16, inner.width(), 15), bar, wide=True)
            self._figures(painter, QRectF(inner.left(), middle + 1, inner.width(), 15), bar, names=False)
        else:
            self._figures(painter, inner, bar, names=True)

    # Parts of a rack

    def _head(self, painter: QPainter, box: RackBox, face: RackFace) -> None:
        theme = self._theme
        room = QRectF(box.hull.left(), box.hull.top() - self._geometry.head, box.hull.width(), 16)
        if not self._geometry.detailed:
            draw_text(painter, room, box.id, theme.font(9, 600), theme.color("text"), CENTRE)
            return
        power = total_power(face.totals)
        tone = "error" if face.totals.over_limit else "text"
        width = draw_text(painter, room, power, theme.font(11, 600), theme.color(tone), RIGHT)
        name = room.adjusted(0, 0, -width - 6, 0)
        draw_text(painter, name, box.id, theme.font(12, 700), theme.color("text"))
        room.translate(0, 15)
        weight = total_weight(face.totals)
        width = draw_text(painter, room, weight, theme.font(10), theme.color("text-3"), RIGHT)
        free = f"{face.totals.free_u} of {face.height_u} U free"
        draw_text(painter, room.adjusted(0, 0, -width - 6, 0), free, theme.font(10), theme.color("text-3"))

    def _scale(self, painter: QPainter, box: RackBox) -> None:
        theme = self._theme
        step = 4 if self._geometry.u_px < 22 else 2
        for u in (1, *range(step, box.height_u + 1, step)):
            room = box.unit(u)
            line = QRectF(box.whole.left(), room.center().y() - 7, self._geometry.scale - 4, 14)
            draw_text(painter, line, str(u), theme.font(9), theme.color("text-3"), RIGHT)

    def _free(self, painter: QPainter, box: RackBox, face: RackFace) -> None:
        """Lines between free U."""
        if self._geometry.u_px < 6:
            return
        taken = {u for bar in face.placed for u in bar.units}
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for u in range(1, box.height_u + 1):
            if u not in taken:
                painter.drawRect(box.unit(u).adjusted(0.5, 1, -0.5, -1))

    # Parts of a bar

    def _small(self, painter: QPainter, room: QRectF, bar: Bar) -> None:
        """Squares alone, with the name above and the load below where there is the height for them."""
        theme, load = self._theme, self._look.loads.get(bar.id)
        named = room.height() >= 24
        if named:
            name = QRectF(room.left(), room.top(), room.width(), 12)
            draw_text(
                painter, name, bar.id.rpartition(".")[2], theme.font(9, 600), theme.color("text"), CENTRE
            )
        if load is not None and room.height() >= 18:
            self._load(painter, QRectF(room.left(), room.bottom() - 3, room.width(), 3), load)
        middle = QRectF(room.left(), room.top() + (12 if named else 0), room.width(), room.height())
        middle.setBottom(room.bottom() - (4 if room.height() >= 18 else 0))
        self._squares(painter, middle, bar, middle.height() - 2)

    def _name(self, painter: QPainter, room: QRectF, bar: Bar, *, wide: bool) -> float:
        """Icon and name; gives the x after them."""
        theme = self._theme
        size = int(min(13, room.height() - 1))
        color = theme.color("error") if bar.devices_down else None
        icon = theme.device_icon(bar.kind, size, self._ratio, color)
        painter.drawPixmap(QPointF(room.left(), room.center().y() - size / 2), icon)
        left = room.left() + size + 4
        most = room.right() - left if wide else max(30.0, room.width() * 0.32)
        if wide:
            power = power_text(bar.figures)
            font = theme.font(self._px)
            most -= draw_text(painter, room, power, font, self._tone("text-2"), RIGHT) + 6
        cell = QRectF(left, room.top(), most, room.height())
        short = bar.id.rpartition(".")[2]
        name = bar.id if wide else short
        return left + draw_text(painter, cell, name, theme.font(self._px, 600), theme.color("text"))

    def _figures(self, painter: QPainter, room: QRectF, bar: Bar, *, names: bool) -> None:
        """Name, GPUs or ports, load and power in one line."""
        theme = self._theme
        left, right = room.left(), room.right()
        if names:
            left = max(self._name(painter, room, bar, wide=False), room.left() + room.width() * 0.24) + 8
            if room.width() > 150:
                power = QRectF(right - 46, room.top(), 46, room.height())
                text = power_text(bar.figures).removeprefix("GPUs ")
                draw_text(painter, power, text, theme.font(self._px), self._tone("text-2"), RIGHT)
                right = power.left() - 2
        load = self._look.loads.get(bar.id)
        text = f"{bar.devices_down} down" if bar.devices_down else load_text(load)
        if text and room.width() > 100:
            cell = QRectF(right - 36, room.top(), 36, room.height())
            tone = theme.color("error") if bar.devices_down else self._tone("text")
            draw_text(painter, cell, text, theme.font(self._px, 600), tone, RIGHT)
            right = cell.left() - 4
        if load is not None and right - left > 70:
            track = QRectF(max(right - 42, left + 30), room.center().y() - 2, 0, 4)
            track.setRight(right)
            self._load(painter, track, load)
            right = track.left() - 4
        self._squares(painter, QRectF(left, room.top(), right - left, room.height()), bar, room.height() - 5)

    def _load(self, painter: QPainter, track: QRectF, load: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("line"))
        painter.drawRoundedRect(track, 2, 2)
        if load >= 0.005:
            track.setWidth(max(2.0, track.width() * min(load, 1.0)))
            painter.setBrush(self._theme.ramp(ramp_step(load)))
            painter.drawRoundedRect(track, 2, 2)

    def _squares(self, painter: QPainter, room: QRectF, bar: Bar, height: float) -> None:
        """The GPUs in the colours of their groups, or the ports of a switch."""
        height = min(height, 11.0)
        if height < 1.5 or room.width() < 8:
            return
        if bar.gpus:
            self._gpus(painter, room, bar, height)
        elif bar.ports[1]:
            self._pips(painter, room, bar, height)

    def _gpus(self, painter: QPainter, room: QRectF, bar: Bar, height: float) -> None:
        theme = self._theme
        pitch = min(height + 3, room.width() / len(bar.gpus))
        for place, gpu in enumerate(bar.gpus):
            cell = QRectF(
                room.left() + place * pitch, room.center().y() - height / 2, max(1.5, pitch - 2), height
            )
            group = self._look.groups.get(gpu, -1)
            if group < 0:
                painter.setBrush(theme.color("raised"))
                painter.setPen(QPen(theme.color("strong"), 1, Qt.PenStyle.DotLine))
            else:
                painter.setBrush(theme.group_color(group))
                painter.setPen(QPen(theme.group_border(group), 1))
            painter.drawRoundedRect(cell, 2, 2)
            if group >= theme.group_count():
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.group_border(group))
                painter.drawRect(QRectF(cell.left() + 1, cell.center().y() - 0.75, cell.width() - 2, 1.5))

    def _pips(self, painter: QPainter, room: QRectF, bar: Bar, height: float) -> None:
        """Ports as short strokes: those with a cable in the hue of the kind."""
        used, total = bar.ports
        count = min(_MOST_PIPS, total, int(room.width() // 3))
        if count < 1:
            return
        lit = round(count * min(1.0, used / total))
        color = self._theme.kind_color(bar.kind) if not bar.devices_down else self._theme.color("error")
        tall = min(height, 6.0)
        for place in range(count):
            pip = QRectF(room.left() + 3 * place, room.center().y() - tall / 2, 1.6, tall)
            painter.fillRect(pip, color if place < lit else self._theme.color("strong"))

    def _tone(self, token: str) -> QColor:
        return self._theme.color("text-3" if self._look.faint else token)


def described(bar: Bar) -> str:
    """A bar in words for a screen reader."""
    gpus = f", {plural(len(bar.gpus), 'GPU')}" if bar.gpus else ""
    place = f" at U {bar.units[0]}" if bar.units else ""
    return f"{bar.id}{place}{gpus}"
