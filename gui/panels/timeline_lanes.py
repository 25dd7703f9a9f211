"""The lanes of the timeline: painted from arrays once per window, the playhead over the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.context import AppContext
from gui.panels.panel_paint import draw_text, hatch
from gui.panels.timeline_rows import (
    LaneArrays,
    LaneColumns,
    Piece,
    axis_ticks,
    label_text,
    lane_columns,
)
from gui.theme import Theme
from gui.widgets.chip import paint_group
from model.text import format_seconds, plural

NAME_WIDTH = 62
REPLICA_WIDTH = 92  # where lanes name their replicas
AXIS_HEIGHT = 20
LANE_GAP = 2
TAG_WIDTH = 60
LOWEST_LANE, HIGHEST_LANE = 14, 40
NARROWEST_LABEL = 16
ROOMY_LABEL = 24  # holds the model chunk too
MOST_LABELS = 300
_COLOUR = {
    Piece.FORWARD: "forward",
    Piece.BACKWARD: "backward",
    Piece.WEIGHT: "weight-gradient",
    Piece.EXPOSED: "exposed",
    Piece.BUBBLE: "bubble",
    Piece.DP_SYNC: "dp-sync",
    Piece.OPTIMIZER: "optimizer",
}
_HATCH = {Piece.WEIGHT: "forward", Piece.EXPOSED: "exposed-hatch", Piece.BUBBLE: "bubble-hatch"}
_LABEL_ON = {Piece.FORWARD: "text", Piece.BACKWARD: "accent-on", Piece.WEIGHT: "accent-on"}
BAND = (0.76, 0.86)  # of a lane's height: the line in blocks of an odd model chunk


@dataclass(frozen=True, slots=True)
class LanePalette:
    """What pieces look like on lanes of one size, worked out once for all of them.

    `fill` and `lines` (pieces,): fill and hatch colour as 0xAARRGGBB; `hatches` maps the pieces with a hatch
    to where its stripes are, (height, width). `gap` is the colour between neighbouring blocks, `band`
    (pieces,) that of the line in blocks of an odd model chunk.
    """

    fill: NDArray[np.uint32]
    lines: NDArray[np.uint32]
    hatches: Mapping[Piece, NDArray[np.bool_]]
    gap: int
    band: NDArray[np.uint32]


def lane_palette(theme: Theme, width: int, height: int, ratio: float) -> LanePalette:
    """The palette for lanes of `width` × `height` device pixels, of which `ratio` make a pixel."""
    across = np.arange(width)[None, :] + np.arange(height)[:, None]
    falling = np.arange(width)[None, :] - np.arange(height)[:, None]
    return LanePalette(
        fill=np.array([theme.color(_COLOUR[piece]).rgba() for piece in Piece], dtype=np.uint32),
        lines=np.array(
            [theme.color(_HATCH.get(piece, _COLOUR[piece])).rgba() for piece in Piece], dtype=np.uint32
        ),
        hatches={
            Piece.WEIGHT: falling % round(6 * ratio) < max(1, round(ratio)),
            Piece.EXPOSED: across % round(4 * ratio) < max(1, round(1.6 * ratio)),
            Piece.BUBBLE: across % round(8 * ratio) < max(1, round(ratio)),
        },
        gap=theme.color("panel").rgba(),
        band=np.array([theme.color(_LABEL_ON.get(piece, "text")).rgba() for piece in Piece], dtype=np.uint32),
    )


def lane_image(columns: LaneColumns, height: int, palette: LanePalette) -> NDArray[np.uint32]:
    """The pixels (height, width) of a lane; a column of lumped pieces is split by their shares."""
    pixels = np.tile(palette.fill[columns.piece], (height, 1))
    lumped = np.flatnonzero(columns.lumped)
    ends = np.cumsum(columns.shares[lumped], axis=1)
    middles = (np.arange(height) + 0.5) / height
    stacked = (middles[:, None, None] >= ends[None, :, :-1]).sum(axis=2)
    pixels[:, lumped] = palette.fill[stacked]
    for piece, stripes in palette.hatches.items():
        whole = np.flatnonzero((columns.piece == piece) & ~columns.lumped)
        part = pixels[:, whole]
        part[stripes[:height, whole]] = palette.lines[piece]
        pixels[:, whole] = part
        part = pixels[:, lumped]
        part[stripes[:height, lumped] & (stacked == piece)] = palette.lines[piece]
        pixels[:, lumped] = part
    banded = np.flatnonzero(columns.band)
    top = round(BAND[0] * height)
    bottom = max(top + 1, round(BAND[1] * height))
    pixels[top:bottom, banded] = palette.band[columns.piece[banded]]
    starts = np.flatnonzero(columns.first & ~columns.lumped)
    widths = np.diff(starts, append=len(columns.piece))
    pixels[:, starts[(widths > 4) & (starts > 0)]] = palette.gap
    return pixels


class TimelineLanes(QWidget):
    """Stages × time within a window of the step. Dragging scrubs, the wheel zooms, Shift+wheel pans."""

    scrubbed = Signal(float)
    window_changed = Signal(float, float)
    resized = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._lanes: Sequence[LaneArrays] = ()
        self._start_s, self._end_s, self._until_s, self._time_s = 0.0, 0.0, 0.0, 0.0
        self._first = 0
        self._one_lane_a_stage = True
        self._picture: QImage | None = None
        self._picture_key: tuple[object, ...] = ()
        self._tick_labels: list[QRectF] = []
        self.paints = 0
        self.both_ways = False  # microbatches enter at both ends of the pipeline
        self.of_older_job = False  # hatched: the job has become illegal since
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Lanes of the pipeline stages over time")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(AXIS_HEIGHT + 2 * LOWEST_LANE)

    def set_lanes(self, lanes: Sequence[LaneArrays], until_s: float) -> None:
        """Show other lanes, of a step that lasts `until_s`."""
        self._lanes, self._until_s, self._first = lanes, until_s, 0
        self._one_lane_a_stage = len({lane.stage for lane in lanes}) == len(lanes)
        self.changed()

    def set_window(self, start_s: float, end_s: float) -> None:
        """The stretch of time that is shown."""
        self._start_s, self._end_s = start_s, end_s
        self.changed()

    def set_time(self, time_s: float) -> None:
        """Move the playhead."""
        before, self._time_s = self._time_s, time_s
        for moment in (before, time_s):
            x = int(self._x(moment))
            self.update(QRect(x - TAG_WIDTH - 4, 0, 2 * TAG_WIDTH + 8, self.height()))

    def changed(self) -> None:
        """Draw the picture anew at the next paint."""
        self._picture = None
        self.update()

    @property
    def name_width(self) -> int:
        """Pixels left of the track, for the names of the lanes."""
        return NAME_WIDTH if self._one_lane_a_stage else REPLICA_WIDTH

    @property
    def time_s(self) -> float:
        """Where the playhead is."""
        return self._time_s

    @property
    def lane_height(self) -> int:
        """Pixels of a lane, without its gap."""
        room = self.height() - AXIS_HEIGHT
        return min(HIGHEST_LANE, max(LOWEST_LANE, room // max(1, len(self._lanes)) - LANE_GAP))

    @property
    def fitting(self) -> int:
        """How many lanes fit."""
        return max(1, (self.height() - AXIS_HEIGHT) // (self.lane_height + LANE_GAP))

    def set_first(self, lane: int) -> None:
        """The topmost lane, when not all fit."""
        self._first = min(max(0, lane), max(0, len(self._lanes) - self.fitting))
        self.changed()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._first = min(self._first, max(0, len(self._lanes) - self.fitting))
        self.resized.emit()

    # --- painting ------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        with QPainter(self) as painter:
            if self._end_s <= self._start_s:
                return
            ratio = self.devicePixelRatioF()
            key = (self.size(), ratio, self._context.theme.current.name, self._start_s, self._end_s)
            if self._picture is None or key != self._picture_key:
                self._picture, self._picture_key = self._draw(ratio), key
            painter.drawImage(0, 0, self._picture)
            if self.of_older_job:
                track = QRectF(self.name_width, AXIS_HEIGHT, self._track_width, self.height() - AXIS_HEIGHT)
                painter.fillRect(track, hatch(self._context.theme.current.color("panel")))
            self._playhead(painter)

    def _draw(self, ratio: float) -> QImage:
        theme = self._context.theme.current
        image = QImage(self.size() * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(ratio)
        image.fill(theme.color("panel"))
        with QPainter(image) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._axis(painter, theme)
            width = max(1, round(self._track_width * ratio))
            height = self.lane_height
            tall = max(1, round(height * ratio))
            palette = lane_palette(theme, width, tall, ratio)
            shown = self._lanes[self._first : self._first + self.fitting]
            for row, lane in enumerate(shown):
                top = AXIS_HEIGHT + row * (height + LANE_GAP)
                columns = lane_columns(lane, self._start_s, self._end_s, width)
                pixels = lane_image(columns, tall, palette)
                strip = QImage(pixels.data, width, pixels.shape[0], width * 4, QImage.Format.Format_ARGB32)
                painter.drawImage(QRectF(self.name_width, top, self._track_width, height), strip)
                self._name(painter, theme, lane, top, height)
            self._labels(painter, theme, shown, height)
        return image

    def _name(self, painter: QPainter, theme: Theme, lane: LaneArrays, top: int, height: int) -> None:
        side = min(16, height)
        chip = QRectF(0, top + (height - side) / 2, max(side, 8 + 7 * len(str(lane.stage))), side)
        paint_group(painter, theme, chip, lane.stage, str(lane.stage))
        text = "stage"
        if not self._one_lane_a_stage:
            text = f"{lane.replicas:,} replicas" if lane.replicas > 1 else f"replica {lane.replica}"
        rect = QRectF(chip.right() + 5, top, self.name_width - chip.right() - 8, height)
        draw_text(painter, rect, text, theme.font(11), theme.color("text-2"))

    def _labels(self, painter: QPainter, theme: Theme, lanes: Sequence[LaneArrays], height: int) -> None:
        """The microbatch numbers, of every second or third microbatch where there are too many."""
        found: list[tuple[float, int, float, int, int, int]] = []
        for row, lane in enumerate(lanes):
            left = np.maximum(self._xs(lane.label_start), self.name_width)
            right = np.minimum(self._xs(lane.label_end), self.name_width + self._track_width)
            found.extend(
                (
                    float(right[k] - left[k]),
                    row,
                    float(left[k]),
                    int(lane.label[k]),
                    int(lane.label_piece[k]),
                    int(lane.label_chunk[k]),
                )
                for k in np.flatnonzero(right - left >= NARROWEST_LABEL).tolist()
            )
        every = -(-len(found) // MOST_LABELS)
        found = [one for one in found if one[3] % every == 0] if every > 1 else found
        painter.setFont(theme.font(11 if height >= 18 else 10, 600))
        for width, row, start, number, piece, chunk in found:
            painter.setPen(theme.color(_LABEL_ON.get(Piece(piece), "text")))
            rect = QRectF(start, AXIS_HEIGHT + row * (height + LANE_GAP), width, height)
            text = label_text(number, chunk if width >= ROOMY_LABEL else -1, both_ways=self.both_ways)
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), text)

    def _axis(self, painter: QPainter, theme: Theme) -> None:
        ticks, decimals, unit = axis_ticks(self._start_s, self._end_s, max(1, int(self._track_width // 110)))
        name = {1.0: "s", 1e-3: "ms"}.get(unit, "µs")
        painter.setFont(theme.font(10))
        self._tick_labels = []
        for tick in ticks:
            x = self._x(tick)
            painter.setPen(QPen(theme.color("line"), 1))
            painter.drawLine(QPointF(x, AXIS_HEIGHT - 3), QPointF(x, self.height()))
            painter.setPen(theme.color("text-3"))
            rect = QRectF(x - 50, 0, 100, AXIS_HEIGHT - 3)
            if rect.center().x() - 24 < self.name_width - 12 or rect.center().x() + 24 > self.width():
                continue
            text, centred = f"{tick / unit:,.{decimals}f} {name}", int(Qt.AlignmentFlag.AlignCenter)
            painter.drawText(rect, centred, text)
            self._tick_labels.append(painter.boundingRect(rect, centred, text).adjusted(-1, 0, 1, 0))

    def _playhead(self, painter: QPainter) -> None:
        x = self._x(self._time_s)
        if not self.name_width - 1 <= x <= self.name_width + self._track_width + 1:
            return
        theme = self._context.theme.current
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("accent"), 2))
        painter.drawLine(QPointF(x, AXIS_HEIGHT - 4), QPointF(x, self.height()))
        left = min(max(x - TAG_WIDTH / 2, self.name_width - 20), self.width() - TAG_WIDTH - 1)
        tag = QRectF(left, 0, TAG_WIDTH, AXIS_HEIGHT - 4)
        for cut in self._tick_labels:  # half a label beside the tag would read as part of it
            if cut.intersects(tag):
                painter.fillRect(cut, theme.color("panel"))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("accent"))
        painter.drawRoundedRect(tag, 4, 4)
        painter.drawPolygon(
            QPolygonF(
                [QPointF(x - 4, tag.bottom()), QPointF(x + 4, tag.bottom()), QPointF(x, tag.bottom() + 4)]
            )
        )
        painter.setFont(theme.font(10, 700))
        painter.setPen(theme.color("accent-on"))
        painter.drawText(tag, int(Qt.AlignmentFlag.AlignCenter), clock_text(self._time_s, self._until_s))

    # --- hand ----------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.scrubbed.emit(self._time_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.scrubbed.emit(self._time_at(event.position().x()))
        else:
            self.setToolTip(self._hover(event.position()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        angle = event.angleDelta().y() or event.angleDelta().x()
        span = self._end_s - self._start_s
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or not event.angleDelta().y():
            self._move_to(self._start_s - angle / 120 * span * 0.15, span)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier or len(self._lanes) <= self.fitting:
            self._zoom(0.8 ** (angle / 120), self._time_at(event.position().x()))
        else:
            self.set_first(self._first - (1 if angle > 0 else -1))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        span = self._end_s - self._start_s
        key = event.key()
        if key == Qt.Key.Key_Left:
            self.scrubbed.emit(max(0.0, self._time_s - span / 100))
        elif key == Qt.Key.Key_Right:
            self.scrubbed.emit(min(self._until_s, self._time_s + span / 100))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom(0.8, self._time_s)
        elif key == Qt.Key.Key_Minus:
            self._zoom(1.25, self._time_s)
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.set_first(self._first + (self.fitting if key == Qt.Key.Key_PageDown else -self.fitting))
        else:
            super().keyPressEvent(event)

    def _zoom(self, factor: float, around_s: float) -> None:
        span = self._end_s - self._start_s
        wanted = min(self._until_s, max(span * factor, self._until_s * 1e-5))
        if span > 0:
            self._move_to(around_s - (around_s - self._start_s) * wanted / span, wanted)

    def _move_to(self, start_s: float, span_s: float) -> None:
        start = min(max(0.0, start_s), max(0.0, self._until_s - span_s))
        self.window_changed.emit(start, start + span_s)

    def _hover(self, at: QPointF) -> str:
        row = int((at.y() - AXIS_HEIGHT) // (self.lane_height + LANE_GAP)) + self._first
        if at.y() < AXIS_HEIGHT or at.x() < self.name_width or not 0 <= row < len(self._lanes):
            return ""
        lane, time_s = self._lanes[row], self._time_at(at.x())
        index = int(np.clip(np.searchsorted(lane.edges, time_s, side="right") - 1, 0, len(lane.piece) - 1))
        start, end = float(lane.edges[index]), float(lane.edges[index + 1])
        words = {
            Piece.FORWARD: "forward", Piece.BACKWARD: "backward", Piece.WEIGHT: "gradients of the weights",
            Piece.EXPOSED: "waiting for an exchange",
            Piece.BUBBLE: "bubble: nothing to do",
            Piece.DP_SYNC: "gradient or parameter sync", Piece.OPTIMIZER: "optimizer",
        }  # fmt: skip
        inside = np.flatnonzero((lane.label_start <= time_s) & (time_s < lane.label_end))
        batch = self._batch_text(lane, int(inside[0])) if len(inside) else ""
        who = f"Stage {lane.stage}"
        if not self._one_lane_a_stage and lane.replicas == 1:
            who += f", replica {lane.replica}"
        elif lane.replicas > 1:
            who += f", {plural(lane.replicas, 'equal replica')}"
        what = words[Piece(int(lane.piece[index]))]
        return f"{who}: {what}{batch}, {format_seconds(end - start)} from {format_seconds(start)}"

    def _batch_text(self, lane: LaneArrays, label: int) -> str:
        chunk = int(lane.label_chunk[label])
        text = f" of microbatch {int(lane.label[label])}"
        if chunk < 0:
            return text
        if self.both_ways:
            return f"{text}, which enters at the {'last' if chunk else 'first'} stage"
        return f"{text}, model chunk {chunk}"

    @property
    def _track_width(self) -> float:
        return float(max(1, self.width() - self.name_width))

    def _x(self, time_s: float) -> float:
        span = self._end_s - self._start_s
        return (
            self.name_width + (time_s - self._start_s) / span * self._track_width
            if span > 0
            else float(self.name_width)
        )

    def _xs(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = (
            self.name_width + (times - self._start_s) / (self._end_s - self._start_s) * self._track_width
        )
        return result

    def _time_at(self, x: float) -> float:
        share = min(max(0.0, (x - self.name_width) / self._track_width), 1.0)
        return self._start_s + share * (self._end_s - self._start_s)


def clock_text(time_s: float, until_s: float) -> str:
    """A moment of the step with as many digits as its length deserves: "2.914 s", "12.3 ms"."""
    if until_s >= 1.0:
        return f"{time_s:,.3f} s"
    return f"{time_s * 1e3:,.3f} ms" if until_s < 0.1 else f"{time_s * 1e3:,.1f} ms"


def legend_color(theme: Theme, piece: Piece) -> tuple[QColor, QColor | None]:
    """Fill and hatch (None = plain) of a piece in the legend."""
    return theme.color(_COLOUR[piece]), theme.color(_HATCH[piece]) if piece in _HATCH else None
