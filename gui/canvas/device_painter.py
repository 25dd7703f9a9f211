"""Devices: GPU tiles and boxes with icon and name near, plain tiles far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.canvas.camera import Camera
from gui.canvas.gpu_look import LETTERS, TICK_SLOTS, GpuLook, TickRow
from gui.canvas.lettering import Lettering, Occupancy
from gui.canvas.levels import Level
from gui.canvas.scene_index import DEVICE_KINDS, GPU, NIC, STATE_CODE, FloatArray, IntArray, SceneIndex
from gui.canvas.texts import Texts
from gui.theme import Theme, mix
from model.topology.types import State

DOWN = STATE_CODE[State.DOWN]
DEGRADED = STATE_CODE[State.DEGRADED]
_LEAST_RANK = 6.5


class DevicePainter:
    """Paints devices in pixels of the viewport."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)

    def paint(
        self,
        painter: QPainter,
        index: SceneIndex,
        look: GpuLook,
        texts: Texts,
        *,
        camera: Camera,
        level: Level,
        rows: IntArray,
        occupied: Occupancy,
    ) -> None:
        """Paint the devices `rows`; `occupied` by other names."""
        boxes = camera.boxes(
            np.hstack((index.centre[rows] - index.half[rows], index.centre[rows] + index.half[rows]))
        )
        gpu = index.kind[rows] == GPU
        place = np.searchsorted(index.gpu_rows, rows)
        tile = (rows[gpu], boxes[gpu], place[gpu])
        if level >= Level.RANKS:
            self._gpu_tiles(painter, index, look, camera.zoom, *tile)
        else:
            self._gpu_fills(painter, index, look, *tile)
        self._boxes(painter, index, rows[~gpu], boxes[~gpu], level)
        for row, box in zip(rows[~gpu].tolist(), boxes[~gpu].tolist(), strict=True):
            rect = QRectF(box[0], box[1], box[2] - box[0], box[3] - box[1])
            if level >= Level.RANKS:
                self._inscribe(painter, index, row, rect, texts.name(row), texts.second_line(row), camera)
            elif index.kind[row] in _NAMED_FAR and level is Level.NODES:
                self._name_far(painter, row, rect, texts.name(row), index, camera, occupied)
        self._states(painter, index, rows, boxes)

    # GPUs

    def _gpu_fills(
        self,
        painter: QPainter,
        index: SceneIndex,
        look: GpuLook,
        rows: IntArray,
        boxes: FloatArray,
        places: IntArray,
    ) -> None:
        """All tiles of one group at once; the number comes back nearer."""
        groups = look.group[places]
        for group in np.unique(groups).tolist():
            of_group = boxes[groups == group]
            inset = min(0.5, float(of_group[0, 2] - of_group[0, 0]) * 0.1)
            rects = [QRectF(x0 + inset, y0 + inset, x1 - x0 - 2 * inset, y1 - y0 - 2 * inset)
                     for x0, y0, x1, y1 in of_group.tolist()]  # fmt: skip
            self._set_group(painter, group)
            radius = min(3.0, (of_group[0, 2] - of_group[0, 0]) * 0.12)
            if len(rects) > 3000 or radius < 1.0:
                painter.drawRects(rects)
            else:
                for rect in rects:
                    painter.drawRoundedRect(rect, radius, radius)

    def _set_group(self, painter: QPainter, group: int) -> None:
        theme = self.theme
        if group < 0:
            painter.setBrush(theme.color("raised"))
            painter.setPen(QPen(theme.color("strong"), 1, Qt.PenStyle.DashLine))
            return
        painter.setBrush(theme.group_color(group))
        painter.setPen(QPen(theme.group_border(group), 1))

    def _gpu_tiles(
        self,
        painter: QPainter,
        index: SceneIndex,
        look: GpuLook,
        zoom: float,
        rows: IntArray,
        boxes: FloatArray,
        places: IntArray,
    ) -> None:
        ticks: dict[str, list[QRectF]] = defaultdict(list)
        widest = "0" * len(str(int(look.rank.max(initial=0))))  # all ranks of a drawing in one size
        radius = min(4.0, 4.0 * zoom + 1)
        for box, place in zip(boxes.tolist(), places.tolist(), strict=True):
            group = int(look.group[place])
            rect = QRectF(box[0] + 0.5, box[1] + 0.5, box[2] - box[0] - 1, box[3] - box[1] - 1)
            self._set_group(painter, group)
            painter.drawRoundedRect(rect, radius, radius)
            self._pattern(painter, group, rect, radius)
            ink = self.theme.color("text-3") if group < 0 else self.theme.group_text(group)
            self._rank(painter, look, place, rect, ink, widest)
            if group >= 0 and rect.height() >= 33:
                self._ticks(ticks, look, place, rect, ink)
        painter.setPen(Qt.PenStyle.NoPen)
        for color, rects in ticks.items():
            painter.setBrush(QColor(color))
            painter.drawRects(rects)

    def _pattern(self, painter: QPainter, group: int, rect: QRectF, radius: float) -> None:
        if group < self.theme.group_count():
            return
        ink = self.theme.group_text(group)
        ink.setAlphaF(0.45)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        brush = painter.brush()
        brush.setStyle(self.theme.group_pattern(group))
        painter.setBrush(brush)
        painter.drawRoundedRect(rect, radius, radius)

    def _rank(
        self, painter: QPainter, look: GpuLook, place: int, rect: QRectF, ink: QColor, widest: str
    ) -> None:
        rank = int(look.rank[place])
        if rank < 0:
            return
        tall = rect.height() >= 30
        most = 12 * max(1.0, rect.width() / 36)
        px = _rounded(min(most, max(7.0, rect.height() * (0.24 if tall else 0.5))))
        size = self.lettering.fitting(widest, px, 700, rect.width() - 3, _LEAST_RANK)
        middle = rect.top() + rect.height() * (0.22 if tall else 0.5)
        if size is not None:
            self.lettering.centred(painter, str(rank), size, 700, ink, rect.center().x(), middle)
        second = int(look.second[place])
        if look.second_dimension is None or second < 0 or not tall:
            return
        text = f"{LETTERS[look.second_dimension]}{second}"
        size = self.lettering.fitting(text, _rounded(px * 0.75), 600, rect.width() - 3, _LEAST_RANK)
        if size is not None:
            self.lettering.centred(
                painter, text, size, 600, ink, rect.center().x(), rect.top() + rect.height() * 0.5
            )

    def _ticks(
        self, ticks: dict[str, list[QRectF]], look: GpuLook, place: int, rect: QRectF, ink: QColor
    ) -> None:
        """Two rows: the place in each of two more dimensions, as one slot of up to 8 or as a bar."""
        faint = QColor(ink)
        faint.setAlphaF(0.28)
        solid, weak = ink.name(QColor.NameFormat.HexArgb), faint.name(QColor.NameFormat.HexArgb)
        left, room = rect.left() + rect.width() * 0.12, rect.width() * 0.76
        height = rect.height() * 0.075
        for line, row in enumerate(look.ticks):
            place_in = int(row.place[place])
            if place_in < 0:
                continue
            top = rect.top() + rect.height() * (0.68 + 0.145 * line)
            self._tick_row(ticks, row, place_in, QRectF(left, top, room, height), (solid, weak))

    def _tick_row(
        self,
        ticks: dict[str, list[QRectF]],
        row: TickRow,
        place: int,
        area: QRectF,
        colors: tuple[str, str],
    ) -> None:
        solid, weak = colors
        if row.size > TICK_SLOTS:
            filled = area.width() * (place + 1) / row.size
            ticks[weak].append(area)
            ticks[solid].append(QRectF(area.left(), area.top(), filled, area.height()))
            return
        slot = area.width() / row.size
        gap = min(1.0, slot * 0.25)
        for number in range(row.size):
            cell = QRectF(area.left() + number * slot, area.top(), slot - gap, area.height())
            ticks[solid if number == place else weak].append(cell)

    # Other devices

    def _boxes(
        self, painter: QPainter, index: SceneIndex, rows: IntArray, boxes: FloatArray, level: Level
    ) -> None:
        theme = self.theme
        painter.setBrush(theme.color("device"))
        painter.setPen(QPen(theme.color("device-line"), 1))
        radius = 5.0 if level >= Level.RANKS else 2.0
        for row, (x0, y0, x1, y1) in zip(rows.tolist(), boxes.tolist(), strict=True):
            corner = min(3.0 if index.kind[row] == NIC else radius, (y1 - y0) / 5)
            painter.drawRoundedRect(QRectF(x0 + 0.5, y0 + 0.5, x1 - x0 - 1, y1 - y0 - 1), corner, corner)

    def _inscribe(
        self,
        painter: QPainter,
        index: SceneIndex,
        row: int,
        rect: QRectF,
        name: str,
        second: str,
        camera: Camera,
    ) -> None:
        """Icon, name and second line, as far as there is room."""
        kind = DEVICE_KINDS[index.kind[row]]
        lettering, theme = self.lettering, self.theme
        down = index.state[row] == DOWN
        size = int(min(18.0, rect.height() - (6 if rect.height() < 28 else 10), rect.width() - 4))
        if size < 6:
            return
        color = theme.color("error") if down else None
        icon = theme.device_icon(kind, size, camera.ratio, color)
        inset = max(3.0, min(7.0, (rect.height() - size) / 2))
        text_left = rect.left() + inset + size + max(3.0, inset * 0.7)
        room = rect.right() - 3 - text_left
        grown = _rounded(min(1.35, max(1.0, camera.zoom)) * 4) / 4
        big = rect.height() >= 28 and rect.width() > 76
        px = _rounded((12 if big else 10) * grown)
        text = lettering.cut(name, px, 700 if big else 500, room) if room > 12 else ""
        if text != name and not big and room > 12:
            smaller = lettering.fitting(name, px, 500, room, 7.5)
            px, text = (smaller, name) if smaller is not None else (px, "")
        left = rect.left() + inset if text else rect.center().x() - size / 2
        painter.drawPixmap(QPointF(left, rect.center().y() - size / 2), icon)
        if not text:
            return
        middle = rect.center().y()
        if big and second:
            shown = (
                second if lettering.fitting(second, 9 * grown, 400, room, 8.0) else second.split(" · ")[-1]
            )
            below = lettering.fitting(shown, 9 * grown, 400, room, 7.5) or 7.5
            shown = lettering.cut(shown, below, 400, room)
            lettering.left(painter, shown, below, 400, theme.color("text-2"), text_left, middle + 7 * grown)
            middle -= 6.5 * grown
        lettering.left(painter, text, px, 700 if big else 500, theme.color("text"), text_left, middle)

    def _name_far(
        self,
        painter: QPainter,
        row: int,
        rect: QRectF,
        name: str,
        index: SceneIndex,
        camera: Camera,
        occupied: Occupancy,
    ) -> None:
        """Far out names keep their size: in the box where they fit, else above it where there is room."""
        lettering = self.lettering
        wide = lettering.width(name, 9, 600)
        if wide <= rect.width() - 4 and rect.height() >= 10:
            lettering.centred(
                painter, name, 9, 600, self.theme.color("text"), rect.center().x(), rect.center().y()
            )
            return
        middle = rect.top() - 7
        if occupied.take(QRectF(rect.center().x() - wide / 2 - 2, middle - 6, wide + 4, 12)):
            lettering.centred(painter, name, 9, 600, self.theme.color("text-2"), rect.center().x(), middle)

    def _states(self, painter: QPainter, index: SceneIndex, rows: IntArray, boxes: FloatArray) -> None:
        """× over what is down; an error border and the share left on what is degraded."""
        error = self.theme.color("error")
        for place in np.flatnonzero(index.state[rows] != 0).tolist():
            x0, y0, x1, y1 = boxes[place].tolist()
            rect = QRectF(x0 + 0.5, y0 + 0.5, x1 - x0 - 1, y1 - y0 - 1)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(error, 1.5))
            painter.drawRoundedRect(rect, 4, 4)
            if index.state[rows[place]] == DOWN:
                veil = mix(self.theme.color("canvas"), error, 0.9)
                veil.setAlphaF(0.72)
                painter.fillRect(rect, veil)
                self._cross(painter, rect, error)
                continue
            speed = index.devices[int(rows[place])].speed
            if speed < 1.0 and rect.width() >= 20:
                self.lettering.pill(
                    painter,
                    f"{speed * 100:.0f} % ▾",
                    QPointF(rect.center().x(), rect.top() - 3),
                    fill=self.theme.color("panel"),
                    ink=self.theme.color("text"),
                    border=error,
                    px=9,
                    height=14,
                )

    def pins(self, painter: QPainter, boxes: Sequence[QRectF]) -> None:
        """A pin on the upper left corner of what layouts leave where it is."""
        paper = QPen(self.theme.color("canvas"), 4.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
        for box in boxes:
            foot = box.topLeft() + QPointF(5.0, 5.0)
            head = foot + QPointF(-6.0, -8.0)
            painter.setPen(paper)
            painter.drawLine(foot, head)
            painter.setPen(
                QPen(self.theme.color("text"), 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
            )
            painter.drawLine(foot, head)
            painter.setPen(QPen(self.theme.color("canvas"), 1.4))
            painter.setBrush(self.theme.color("accent"))
            painter.drawEllipse(head, 4.2, 4.2)

    @staticmethod
    def _cross(painter: QPainter, rect: QRectF, color: QColor) -> None:
        reach = min(rect.width(), rect.height()) * 0.32
        centre = rect.center()
        painter.setPen(QPen(color, max(1.5, reach * 0.22), Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(centre + QPointF(-reach, -reach), centre + QPointF(reach, reach))
        painter.drawLine(centre + QPointF(-reach, reach), centre + QPointF(reach, -reach))


def _rounded(px: float) -> float:
    """Half pixels, so that a zoom does not fill the cache of fonts."""
    return round(px * 2) / 2


_NAMED_FAR = frozenset(
    code
    for code, kind in enumerate(DEVICE_KINDS)
    if kind in ("leaf", "spine", "core", "storage", "site-gateway")
)
