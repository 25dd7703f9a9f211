"""The whole step in a strip, with the window that the lanes show."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.context import AppContext
from gui.panels.panel_paint import draw_text
from gui.panels.timeline_lanes import NAME_WIDTH, lane_image, lane_palette
from gui.panels.timeline_rows import LaneArrays, lane_columns
from gui.theme import Theme


class TimelineOverview(QWidget):
    """The whole step in a strip; the window that the lanes show moves and stretches by dragging."""

    window_changed = Signal(float, float)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._lanes: Sequence[LaneArrays] = ()
        self._left = NAME_WIDTH
        self._until_s, self._start_s, self._end_s, self._time_s = 0.0, 0.0, 0.0, 0.0
        self._grip = ""
        self._grab = 0.0
        self._picture: QImage | None = None
        self._picture_key: tuple[object, ...] = ()
        self.setFixedHeight(26)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Window of the timeline within the whole step")

    def set_lanes(self, lanes: Sequence[LaneArrays], until_s: float, name_width: int = NAME_WIDTH) -> None:
        """Show other lanes; the strip begins where their track does."""
        self._lanes, self._until_s, self._picture = lanes, until_s, None
        self._left = name_width
        self.update()

    def set_window(self, start_s: float, end_s: float) -> None:
        """What the lanes show."""
        self._start_s, self._end_s = start_s, end_s
        self.update()

    def set_time(self, time_s: float) -> None:
        """Move the playhead."""
        self._time_s = time_s
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._context.theme.current
        with QPainter(self) as painter:
            draw_text(
                painter,
                QRectF(0, 0, self._left, self.height()),
                "whole step",
                theme.font(10),
                theme.color("text-3"),
            )
            if self._until_s <= 0:
                return
            ratio = self.devicePixelRatioF()
            key = (self.size(), ratio, theme.name)
            if self._picture is None or key != self._picture_key:
                self._picture, self._picture_key = self._draw(theme, ratio), key
            painter.drawImage(
                QRectF(self._left, 3, self.width() - self._left, self.height() - 6), self._picture
            )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            left, right = self._x(self._start_s), self._x(self._end_s)
            shade = theme.color("accent")
            shade.setAlpha(28)
            painter.setBrush(shade)
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawRoundedRect(QRectF(left + 1, 1, max(4.0, right - left - 2), self.height() - 2), 4, 4)
            painter.setPen(QPen(theme.color("accent"), 1.5))
            x = self._x(self._time_s)
            painter.drawLine(QPointF(x, 2), QPointF(x, self.height() - 2))

    def _draw(self, theme: Theme, ratio: float) -> QImage:
        width = max(1, round((self.width() - self._left) * ratio))
        height = max(1, round((self.height() - 6) * ratio))
        image = QImage(width, height, QImage.Format.Format_ARGB32)
        image.fill(theme.color("panel"))
        if not self._lanes:
            return image
        palette = lane_palette(theme, width, height, ratio)
        # At most as many lanes as have two pixels; of more, evenly spread ones stand for all.
        shown = self._lanes[:: -(-len(self._lanes) // max(1, height // 2))]
        each = height / len(shown)
        with QPainter(image) as painter:
            for row, lane in enumerate(shown):
                columns = lane_columns(lane, 0.0, self._until_s, width)
                top, bottom = round(row * each), round((row + 1) * each) - (1 if each >= 4 else 0)
                pixels = lane_image(columns, max(1, bottom - top), palette)
                strip = QImage(pixels.data, width, pixels.shape[0], width * 4, QImage.Format.Format_ARGB32)
                painter.drawImage(0, top, strip)
        return image

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._until_s <= 0:
            return
        x = event.position().x()
        self._grip = self._grip_at(x)
        self._grab = self._time_at(x) - self._start_s
        if self._grip == "outside":
            self._grip, self._grab = "move", (self._end_s - self._start_s) / 2
            self._drag(x)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._grip:
            self._drag(event.position().x())
            return
        shape = {
            "start": Qt.CursorShape.SizeHorCursor,
            "end": Qt.CursorShape.SizeHorCursor,
            "move": Qt.CursorShape.OpenHandCursor,
        }.get(self._grip_at(event.position().x()), Qt.CursorShape.ArrowCursor)
        self.setCursor(shape)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grip = ""

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.window_changed.emit(0.0, self._until_s)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        span = self._end_s - self._start_s
        moves = {Qt.Key.Key_Left: -0.25, Qt.Key.Key_Right: 0.25}
        if event.key() in moves:
            self._slide(self._start_s + moves[Qt.Key(event.key())] * span)
        elif event.key() == Qt.Key.Key_Home:
            self.window_changed.emit(0.0, self._until_s)
        else:
            super().keyPressEvent(event)

    def _drag(self, x: float) -> None:
        time_s, least = self._time_at(x), self._until_s * 1e-4
        if self._grip == "start":
            self.window_changed.emit(min(time_s, self._end_s - least), self._end_s)
        elif self._grip == "end":
            self.window_changed.emit(self._start_s, max(time_s, self._start_s + least))
        else:
            self._slide(time_s - self._grab)

    def _slide(self, start_s: float) -> None:
        span = self._end_s - self._start_s
        start = min(max(0.0, start_s), max(0.0, self._until_s - span))
        self.window_changed.emit(start, start + span)

    def _grip_at(self, x: float) -> str:
        left, right = self._x(self._start_s), self._x(self._end_s)
        if abs(x - left) <= 5:
            return "start"
        if abs(x - right) <= 5:
            return "end"
        return "move" if left < x < right else "outside"

    def _x(self, time_s: float) -> float:
        return self._left + time_s / self._until_s * (self.width() - self._left) if self._until_s > 0 else 0.0

    def _time_at(self, x: float) -> float:
        share = (x - self._left) / max(1, self.width() - self._left)
        return min(max(0.0, share), 1.0) * self._until_s
