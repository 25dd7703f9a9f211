"""Where racks and their U are on the rack elevation, in the scroll area's own pixels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF

from gui.panels.rack_rows import RackFloor

SMALLEST_U, USUAL_U, LARGEST_U = 3.0, 15.0, 30.0
DETAIL_U = 10.0  # px of a U from which on names and figures fit
MARGIN, GAP, PAD = 12.0, 14.0, 5.0
STRIP_TITLE = 22.0
UNPLACED_TITLE = 18.0
CHIP_GAP = 4.0


@dataclass(frozen=True, slots=True)
class RackBox:
    """A rack: the whole of it with its head, the hull, and the hull's inside, where the U are."""

    id: str
    whole: QRectF
    hull: QRectF
    inside: QRectF
    height_u: int

    def unit(self, u: int, count: int = 1) -> QRectF:
        """The room of `count` U from `u` up."""
        each = self.inside.height() / self.height_u
        top = self.inside.bottom() - (u - 1 + count) * each
        return QRectF(self.inside.left(), top, self.inside.width(), count * each)

    def u_at(self, y: float) -> int:
        """The U at a height; outside of the rack below 1 or above its last."""
        each = self.inside.height() / self.height_u
        return int((self.inside.bottom() - y) // each) + 1

    def unplaced(self, place: int) -> QRectF:
        """The room of the thing with this number among those without a place, below the hull."""
        each = max(14.0, self.inside.height() / self.height_u)
        top = self.hull.bottom() + UNPLACED_TITLE + place * (each + 2)
        return QRectF(self.inside.left(), top, self.inside.width(), each)


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of racks with its title; or, without racks, the things in no rack."""

    title: str
    area: QRectF
    racks: tuple[RackBox, ...]


class RackGeometry:
    """The places of everything for one floor, size of a U and width of the view."""

    def __init__(self, floor: RackFloor, u_px: float, width: float) -> None:
        self.u_px = u_px
        self.detailed = u_px >= DETAIL_U
        self.head = 34.0 if self.detailed else 18.0
        self.scale = 22.0 if self.detailed else 4.0
        self.rack_width = min(max(56.0, 17.5 * u_px), 320.0)
        self.strips: list[Strip] = []
        top = MARGIN
        right = 0.0
        for row in floor.rows:
            strip = self._strip(floor, row.title, row.racks, top)
            self.strips.append(strip)
            top = strip.area.bottom() + GAP
            right = max(right, strip.area.right())
        self._tops = [strip.area.top() for strip in self.strips]
        self.loose_columns = max(1, int((width - 2 * MARGIN + CHIP_GAP) // (self.rack_width + CHIP_GAP)))
        self.chip_height = max(16.0, min(22.0, u_px + 4))
        lines = -(-len(floor.loose) // self.loose_columns)
        height = STRIP_TITLE + max(1, lines) * (self.chip_height + CHIP_GAP)
        self.loose = QRectF(MARGIN, top, max(width, right) - 2 * MARGIN, height)
        self.size = QSizeF(max(right + MARGIN, 0.0), self.loose.bottom() + MARGIN)

    def _strip(self, floor: RackFloor, title: str, racks: tuple[str, ...], top: float) -> Strip:
        heights = [floor.height_u(rack) for rack in racks]
        tallest = max(heights)
        boxes = []
        under = 0.0
        left = MARGIN
        for rack, height_u in zip(racks, heights, strict=True):
            hull_top = top + STRIP_TITLE + self.head + (tallest - height_u) * self.u_px
            hull = QRectF(left + self.scale, hull_top, self.rack_width, height_u * self.u_px + 2 * PAD)
            inside = hull.adjusted(PAD, PAD, -PAD, -PAD)
            count = floor.unplaced(rack)
            below = UNPLACED_TITLE + count * (max(14.0, self.u_px) + 2) if count else 0.0
            under = max(under, below)
            whole = QRectF(
                left, hull_top - self.head, self.scale + self.rack_width, self.head + hull.height() + below
            )
            boxes.append(RackBox(rack, whole, hull, inside, height_u))
            left += self.scale + self.rack_width + GAP
        height = STRIP_TITLE + self.head + tallest * self.u_px + 2 * PAD + under
        return Strip(title, QRectF(MARGIN, top, left - GAP - MARGIN, height), tuple(boxes))

    def visible(self, area: QRectF) -> Iterator[Strip]:
        """The strips that an area meets, each with the racks that it meets."""
        first = max(0, bisect_right(self._tops, area.top()) - 1)
        for strip in self.strips[first:]:
            if strip.area.top() > area.bottom():
                return
            racks = tuple(box for box in strip.racks if box.whole.intersects(area))
            yield Strip(strip.title, strip.area, racks)

    def rack_at(self, point: QPointF) -> RackBox | None:
        """The rack under a point, its head and what is below it included."""
        around = QRectF(point.x() - GAP / 2, point.y(), GAP, 1.0)
        for strip in self.visible(around):
            for box in strip.racks:
                if box.whole.adjusted(-GAP / 2, 0, GAP / 2, 0).contains(point):
                    return box
        return None

    def rack(self, ident: str) -> RackBox | None:
        """The box of a rack."""
        return next((box for strip in self.strips for box in strip.racks if box.id == ident), None)

    def chip(self, place: int) -> QRectF:
        """The room of the thing with this number among those in no rack."""
        line, column = divmod(place, self.loose_columns)
        return QRectF(
            MARGIN + column * (self.rack_width + CHIP_GAP),
            self.loose.top() + STRIP_TITLE + line * (self.chip_height + CHIP_GAP),
            self.rack_width,
            self.chip_height,
        )

    def chips_in(self, area: QRectF, count: int) -> range:
        """Which of `count` things in no rack an area meets, by whole lines."""
        pitch = self.chip_height + CHIP_GAP
        top = area.top() - self.loose.top() - STRIP_TITLE
        first = max(0, int(top // pitch)) * self.loose_columns
        last = (max(-1, int((top + area.height()) // pitch)) + 1) * self.loose_columns
        return range(min(first, count), min(max(first, last), count))
