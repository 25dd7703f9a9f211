"""Marks on links: the pattern and badge of oversubscription, chosen links, bundle counts, degraded speeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF, qRgba

from gui.canvas.bulk_raster import raster_halves
from gui.canvas.camera import Camera
from gui.canvas.curves import Curves
from gui.canvas.far_layout import GAP_PX
from gui.canvas.lettering import Lettering, Occupancy
from gui.canvas.levels import Level
from gui.canvas.link_painters import flat_pen, half_paths, middle_arrow
from gui.canvas.loads import BUNDLE_FACTOR, BUNDLE_LIMIT, FABRIC_FACTOR, OVER_EXTRA, STRIPE
from gui.canvas.scene import Scene
from gui.canvas.scene_index import STATE_CODE, FloatArray, IntArray
from gui.canvas.strands import StrandLoads, Strands
from gui.theme import Theme
from model.text import format_port, format_rate, format_ratio
from model.topology.types import NETWORK_LINKS, State

PATTERN_LIMIT = 400
"""So many oversubscribed directions are stroked; the rest keep the stripes of the bulk painter."""
CROWD = 32
"""From so many on halo, arrow and half of the extra width go, and stripes become rare and faint: where dozens
of lines cross, full ones would run together into white."""
CROWD_STRIPE = (2.2, 15.0)
CROWD_WHITE = 0.6
BADGE_LIMIT = 60
BADGE_SPACING_PX = 120.0
"""A badge speaks for its neighbours whose ratio is not above its own."""
STROKED_LIMIT = 160
"""So many chosen links are stroked one by one; more get a haze, rastered once."""
CHOSEN_LIMIT = 6000
"""Where more than so many links are chosen, the frames around their devices tell enough."""
_HALO_PX, _HALO_ALPHA = 5.0, 0.22
_BADGE_AT = (0.5, 0.25, 0.75)
"""Where along its half a badge may stand, the best first."""
SOLID_LIMIT = 4000
"""Among more devices than this, badges do not look where they stand."""
COUNT_LIMIT = 60
RATE_LIMIT = 160


class MarkPainter:
    """Paints marks in pixels of the viewport, above links and devices."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)
        self.badges: list[QRectF] = []
        self._haze_of: IntArray | None = None

    def paint(
        self,
        painter: QPainter,
        scene: Scene,
        strands: Strands,
        curves: Curves,
        width: FloatArray,
        now_and_worst: tuple[StrandLoads, StrandLoads],
        *,
        shown: IntArray,
        chosen: IntArray,
        camera: Camera,
        level: Level,
    ) -> None:
        """Paint the marks of the strands `shown`; those in `chosen` stand out."""
        loads = now_and_worst[0]
        occupied = Occupancy()
        control = np.empty_like(curves.control)
        control[shown] = camera.points(curves.control[shown])
        some = curves.like(control)
        if 0 < len(chosen) <= STROKED_LIMIT:
            self._chosen(painter, strands, some, width, loads, chosen)
        elif STROKED_LIMIT < len(chosen) <= CHOSEN_LIMIT:
            self._haze(painter, some, width, chosen, camera)
        view = QRectF(0, 0, camera.width, camera.height)
        solid = _device_boxes(scene, camera, level)
        self._badges(painter, some, now_and_worst, shown, level, view, (occupied, solid))
        self._degraded(painter, scene, strands, some, shown, level, occupied)
        folds = _at_folds(scene, strands) if level >= Level.NODES else None
        self._counts(painter, strands, some, shown, chosen, level, camera.zoom, occupied, folds)
        if level >= Level.PORTS:
            self._rates(painter, scene, strands, some, loads, shown, occupied)

    def patterns(
        self,
        painter: QPainter,
        curves: Curves,
        width: FloatArray,
        loads: StrandLoads,
        *,
        rows: IntArray,
        shown: IntArray,
        camera: Camera,
    ) -> None:
        """The pattern on the oversubscribed directions of the strands `rows`, right above their lines. How
        many of all `shown` there are decides how loud it is.
        """
        found = np.argwhere(loads.over[rows])
        if not len(found):
            return
        total = int(loads.over[shown].sum())
        if total > PATTERN_LIMIT:
            least = np.partition(loads.ratio[shown][loads.over[shown]], -PATTERN_LIMIT)[-PATTERN_LIMIT]
            found = found[loads.ratio[rows][found[:, 0], found[:, 1]] >= least]
        ratio = loads.ratio[rows][found[:, 0], found[:, 1]]
        found = found[np.argsort(-ratio, kind="stable")][:PATTERN_LIMIT][::-1]
        some = curves.like(camera.points(curves.control[rows[found[:, 0]]]))
        both = np.all(loads.over[rows[found[:, 0]]], axis=1)
        self._oversubscribed(painter, some, width[rows[found[:, 0]]], found[:, 1], both, total > CROWD)

    # Chosen links

    def _chosen(
        self,
        painter: QPainter,
        strands: Strands,
        curves: Curves,
        width: FloatArray,
        loads: StrandLoads,
        chosen: IntArray,
    ) -> None:
        halo = QColor(self.theme.color("accent"))
        halo.setAlphaF(_HALO_ALPHA)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        paths = half_paths(curves.like(curves.taken(chosen).halves().reshape(-1, 4, 2)))
        wide = np.where(
            strands.bundled[chosen], width[chosen] * FABRIC_FACTOR / BUNDLE_FACTOR, width[chosen] + 0.6
        )
        for number, path in enumerate(paths):
            painter.setPen(
                QPen(halo, float(wide[number // 2]) + _HALO_PX, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
            )
            painter.drawPath(path)
        steps = loads.step[chosen].ravel()
        for number in np.argsort(steps, kind="stable").tolist():
            painter.setPen(flat_pen(self.theme, int(steps[number]), float(wide[number // 2])))
            painter.drawPath(paths[number])

    def _haze(
        self, painter: QPainter, curves: Curves, width: FloatArray, chosen: IntArray, camera: Camera
    ) -> None:
        """A band of the accent over many chosen links, whose colours shine through."""
        columns, rows = round(camera.width * camera.ratio), round(camera.height * camera.ratio)
        if self._haze_of is not chosen:
            flat = curves.taken(chosen).flat() * camera.ratio
            wide = (width[chosen] + _HALO_PX) * camera.ratio
            covered = raster_halves(flat, wide, (columns, rows), smooth=False) > 0
            ink, alpha = self.theme.color("accent"), 2 * _HALO_ALPHA
            red, green, blue = (round(part * alpha) for part in (ink.red(), ink.green(), ink.blue()))
            color = np.uint32(qRgba(red, green, blue, round(255 * alpha)))
            self._haze_pixels = np.where(covered, color, np.uint32(0))
            self._haze_of = chosen
        image = QImage(
            self._haze_pixels.data,
            columns,
            rows,
            4 * columns,
            QImage.Format.Format_ARGB32_Premultiplied,
        )
        image.setDevicePixelRatio(camera.ratio)
        painter.drawImage(QPointF(0, 0), image)

    # Oversubscription

    def _oversubscribed(
        self,
        painter: QPainter,
        curves: Curves,
        width: FloatArray,
        end: NDArray[np.int64],
        both: NDArray[np.bool_],
        crowd: bool,
    ) -> None:
        """The halves at `end` of some curves in pixels; an arrowhead where not `both` are oversubscribed."""
        halves = curves.halves()[np.arange(len(end)), end]
        wide = (np.maximum(width, 1.0) + (OVER_EXTRA / 2 if crowd else OVER_EXTRA)).tolist()
        self._pattern(painter, half_paths(curves.like(halves)), wide, crowd)
        if crowd:
            return
        painter.setPen(QPen(self.theme.color("canvas"), 1.2))
        painter.setBrush(self.theme.color("over"))
        for half, thick, no_arrow in zip(halves, wide, both.tolist(), strict=True):
            if not no_arrow:  # two heads would stand on each other
                painter.drawPolygon(QPolygonF(middle_arrow(half, thick + 5.0)))

    def _pattern(self, painter: QPainter, paths: list[QPainterPath], wide: list[float], crowd: bool) -> None:
        """Halo, gap, line, white cross stripes; each for all lines before the next, so none hides another."""
        over = self.theme.color("over")
        halo = QColor(over)
        halo.setAlphaF(0.16)
        white = QColor(self.theme.color("over-badge-text"))
        white.setAlphaF(CROWD_WHITE if crowd else 1.0)
        stripe, gap = CROWD_STRIPE if crowd else STRIPE
        painter.setBrush(Qt.BrushStyle.NoBrush)
        passes = [
            (halo, 9.0, False),
            (self.theme.color("canvas"), 3.0, False),
            (over, 0.0, False),
            (white, 0.0, True),
        ]
        for color, extra, striped in passes[crowd:]:
            for path, thick in zip(paths, wide, strict=True):
                pen = QPen(color, thick + extra, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
                if striped:
                    pen.setDashPattern([stripe / thick, gap / thick])
                    pen.setDashOffset(-gap / thick / 2)
                painter.setPen(pen)
                painter.drawPath(path)

    def _badges(
        self,
        painter: QPainter,
        curves: Curves,
        now_and_worst: tuple[StrandLoads, StrandLoads],
        shown: IntArray,
        level: Level,
        view: QRectF,
        taken: tuple[Occupancy, FloatArray],
    ) -> None:
        """The ratio beside directions that are oversubscribed now, and hollow beside those that are so at
        another time of the step; the worst first. `badges` are where they are, off the boxes of devices
        where there is room.
        """
        self.badges = []
        now, worst = now_and_worst
        found = np.argwhere(worst.over[shown])
        if not len(found):
            return
        strand, end = shown[found[:, 0]], found[:, 1]
        over_now = now.over[strand, end]
        ratio = np.where(over_now, now.ratio[strand, end], worst.ratio[strand, end])
        order = np.lexsort((-np.round(ratio, 2), ~over_now))
        halves = curves.taken(shown[found[:, 0]]).halves()[np.arange(len(found)), found[:, 1]]
        points = np.stack([curves.like(halves).point(along) for along in _BADGE_AT], axis=1)
        px = 12.0 if level >= Level.RANKS else 10.0
        spoken: list[tuple[float, float]] = []
        for number in order.tolist():
            x, y = points[number, 0].tolist()
            if any((x - a) ** 2 + (y - b) ** 2 < BADGE_SPACING_PX**2 for a, b in spoken):
                continue
            text = format_ratio(float(ratio[number]))
            at = self._badge_place(points[number], text, px, view, taken)
            if at is None:
                continue
            spoken.append((x, y))
            self.badges.append(self.lettering.pill_box(text, at, px, 700, px + 8))
            self.lettering.pill(
                painter,
                text,
                at,
                fill=self.theme.color("over-badge" if over_now[number] else "panel"),
                ink=self.theme.color("over-badge-text" if over_now[number] else "error"),
                border=self.theme.color("canvas" if over_now[number] else "error"),
                px=px,
                height=px + 8,
                border_width=2 if over_now[number] else 1.2,
            )
            if len(spoken) == BADGE_LIMIT:
                return

    def _badge_place(
        self, points: FloatArray, text: str, px: float, view: QRectF, taken: tuple[Occupancy, FloatArray]
    ) -> QPointF | None:
        """Beside one of the points (n, 2) of a line, on a side that is free; on a device only if need be."""
        occupied, solid = taken
        inside: QPointF | None = None
        for x, y in points.tolist():
            for at, box in self._beside_line(x, y, text, px):
                if not view.contains(box) and view.contains(QPointF(x, y)):
                    continue
                if not _covers(solid, box):
                    if occupied.take(box):
                        return at
                elif inside is None and occupied.free(box):
                    inside = at
        if inside is not None:
            occupied.take(self.lettering.pill_box(text, inside, px, 700, px + 8))
        return inside

    def _beside_line(self, x: float, y: float, text: str, px: float) -> Iterator[tuple[QPointF, QRectF]]:
        away = self.lettering.pill_box(text, QPointF(0, 0), px, 700, px + 8).width() / 2 + 11
        lift = px + 10
        for dx, dy in (
            (-away, 0.0),
            (away, 0.0),
            (-away, -lift),
            (away, -lift),
            (-away, lift),
            (away, lift),
        ):
            at = QPointF(x + dx, y + dy)
            yield at, self.lettering.pill_box(text, at, px, 700, px + 8)

    # Small labels

    def _degraded(
        self,
        painter: QPainter,
        scene: Scene,
        strands: Strands,
        curves: Curves,
        shown: IntArray,
        level: Level,
        occupied: Occupancy,
    ) -> None:
        """What is left of a degraded link ("300G ▾"), and × on a link that is down."""
        index = scene.index
        if level < Level.RANKS or not len(shown):
            return
        broken = index.link_state != STATE_CODE[State.UP]
        if not broken.any():
            return
        marked = shown[
            np.maximum.reduceat(broken[strands.links].astype(np.int8), strands.start[:-1])[shown] > 0
        ]
        for strand, middle in zip(marked.tolist(), curves.taken(marked).point(0.5).tolist(), strict=True):
            members = strands.members(strand)
            states = index.link_state[members]
            at = QPointF(*middle)
            if (states == STATE_CODE[State.DOWN]).all():
                self._cross(painter, at)
                continue
            kind = index.links[int(members[0])].kind
            left = float(index.capacity[members].sum())
            text = f"{format_port(left) if kind in NETWORK_LINKS else format_rate(left)} ▾"
            if occupied.take(self.lettering.pill_box(text, at, 10, 700, 17)):
                self.lettering.pill(
                    painter,
                    text,
                    at,
                    fill=self.theme.color("panel"),
                    ink=self.theme.color("text"),
                    border=self.theme.color("error"),
                    border_width=1.4,
                )

    def _cross(self, painter: QPainter, at: QPointF) -> None:
        for color, thick in ((self.theme.color("canvas"), 5.0), (self.theme.color("error"), 2.0)):
            painter.setPen(QPen(color, thick, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawLine(at + QPointF(-4, -4), at + QPointF(4, 4))
            painter.drawLine(at + QPointF(-4, 4), at + QPointF(4, -4))

    def _counts(
        self,
        painter: QPainter,
        strands: Strands,
        curves: Curves,
        shown: IntArray,
        chosen: IntArray,
        level: Level,
        zoom: float,
        occupied: Occupancy,
        at_folds: NDArray[np.bool_] | None,
    ) -> None:
        """×8 on bundles: the chosen ones, or all if they are few; near, on every link of several cables, and
        always (`at_folds`) on those that leave a folded container.
        """
        several: NDArray[np.bool_] = strands.cables > 1
        bundles = shown[(strands.bundled & several)[shown]]
        if len(chosen):
            wanted = chosen[(strands.bundled & several)[chosen]]
        elif len(bundles) <= COUNT_LIMIT:
            wanted = bundles
        else:
            wanted = bundles[:0]
        if level >= Level.PORTS:
            wanted = np.union1d(wanted, shown[(several & ~strands.inside)[shown]])
        elif at_folds is not None:
            wanted = np.union1d(wanted, bundles[at_folds[bundles]])
        if len(wanted) > 4 * COUNT_LIMIT:
            return
        points = curves.taken(wanted).point(0.5).tolist()
        room = (strands.box[wanted, :, 2] - strands.box[wanted, :, 0]).min(axis=1, initial=np.inf) * zoom
        for strand, point, free in zip(wanted.tolist(), points, room.tolist(), strict=True):
            text, at = f"×{int(strands.cables[strand]):,}", QPointF(*point)
            box = self.lettering.pill_box(text, at, 10, 700, 17)
            if level <= Level.TILES:
                at = self._beside(curves.control[strand], free, box.width())
                box = self.lettering.pill_box(text, at, 10, 700, 17)
            if occupied.take(box):
                self.lettering.pill(
                    painter,
                    text,
                    at,
                    fill=self.theme.color("panel"),
                    ink=self.theme.color("text"),
                    border=self.theme.color("strong"),
                )

    @staticmethod
    def _beside(control: FloatArray, room: float, wide: float) -> QPointF:
        """Where the count of a ribbon stands: below its upper end, beside it where there is room."""
        upper = control[0] if control[0, 1] <= control[3, 1] else control[3]
        down = min(GAP_PX / 2, float(np.ptp(control[:, 1])) / 2)
        aside = BUNDLE_LIMIT / 2 + 5 + wide / 2
        fits = aside + wide / 2 <= room / 2
        return QPointF(float(upper[0]) + (aside if fits else 0.0), float(upper[1]) + down)

    def _rates(
        self,
        painter: QPainter,
        scene: Scene,
        strands: Strands,
        curves: Curves,
        loads: StrandLoads,
        shown: IntArray,
        occupied: Occupancy,
    ) -> None:
        """Near, the rate of each loaded direction beside the end that sends it, where there is room."""
        outside = shown[~strands.inside[shown]]
        halves = curves.taken(outside).halves()
        sent = np.argwhere(loads.utilisation[outside] > 0)[:RATE_LIMIT]
        paper, ink = QColor(self.theme.color("canvas")), self.theme.color("text-2")
        paper.setAlphaF(0.85)
        for number, end in sent.tolist():
            strand = int(outside[number])
            usable = float(scene.usable[strands.members(strand)].sum())
            if strands.lane_of(strand) >= 0:
                usable /= int(scene.index.cables[strands.members(strand)[0]])
            text = format_rate(float(loads.utilisation[strand, end]) * usable)
            x, y = rate_place(halves[number, end])
            box = QRectF(x + 5, y - 7, self.lettering.width(text, 9, 500) + 6, 14)
            if occupied.take(box):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(paper)
                painter.drawRoundedRect(box, 3, 3)
                self.lettering.left(painter, text, 9, 500, ink, box.left() + 3, box.center().y())


def rate_place(half: FloatArray) -> tuple[float, float]:
    """Where the rate of a half (4, 2) of a link stands: at its middle, clear of the port at its end."""
    x, y = (half * np.array([[1.0], [3.0], [3.0], [1.0]])).sum(axis=0) / 8
    return float(x), float(y)


def _at_folds(scene: Scene, strands: Strands) -> NDArray[np.bool_] | None:
    """Which strands end at a folded container; None where none is."""
    if not scene.folded:
        return None
    devices, containers = len(scene.index.devices), scene.folding.container
    folded = np.append(np.zeros(devices, dtype=bool), containers == np.arange(len(containers)))
    return np.asarray(folded[strands.end].any(axis=1))


def _device_boxes(scene: Scene, camera: Camera, level: Level) -> FloatArray:
    """The boxes (n, 4) in pixels of the devices in view, where they are drawn one by one and not too many."""
    index = scene.index
    if level < Level.NODES or len(index.devices) > SOLID_LIMIT:
        return np.zeros((0, 4))
    boxes = camera.boxes(index.rects())
    seen = (
        (boxes[:, 0] < camera.width) & (boxes[:, 2] > 0) & (boxes[:, 1] < camera.height) & (boxes[:, 3] > 0)
    )
    return np.asarray(boxes[seen])


def _covers(solid: FloatArray, box: QRectF) -> bool:
    """Whether a box lies over one of some boxes."""
    over = (solid[:, 0] < box.right()) & (solid[:, 2] > box.left())
    return bool((over & (solid[:, 1] < box.bottom()) & (solid[:, 3] > box.top())).any())
