"""`Camera`: from scene units to pixels of the viewport, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF

from gui.canvas.scene_index import FloatArray

MIN_ZOOM = 0.005
MAX_ZOOM = 4.0


@dataclass(frozen=True, slots=True)
class Camera:
    """`zoom` pixels per scene unit; the scene's origin is at (`x`, `y`) of a viewport.

    `width` and `height` of the viewport are in pixels, `ratio` is device pixels per pixel.
    """

    zoom: float
    x: float
    y: float
    width: int
    height: int
    ratio: float = 1.0

    def points(self, scene: FloatArray) -> FloatArray:
        """Pixels of points given as (…, 2) in scene units."""
        return scene * self.zoom + (self.x, self.y)

    def boxes(self, scene: FloatArray) -> FloatArray:
        """Pixels of boxes given as (…, 4) in scene units."""
        return scene * self.zoom + (self.x, self.y, self.x, self.y)

    def to_scene(self, point: QPointF) -> QPointF:
        """Scene units of a pixel."""
        return QPointF((point.x() - self.x) / self.zoom, (point.y() - self.y) / self.zoom)

    def to_view(self, point: QPointF) -> QPointF:
        """The pixel of a point in scene units."""
        return QPointF(point.x() * self.zoom + self.x, point.y() * self.zoom + self.y)

    def visible(self, margin: float = 0.0) -> tuple[float, float, float, float]:
        """What can be seen, in scene units, with `margin` pixels around it."""
        return (
            (-margin - self.x) / self.zoom,
            (-margin - self.y) / self.zoom,
            (self.width + margin - self.x) / self.zoom,
            (self.height + margin - self.y) / self.zoom,
        )

    def zoomed(self, factor: float, at: QPointF) -> Camera:
        """Zoomed so that the point under `at` stays where it is."""
        zoom = min(MAX_ZOOM, max(MIN_ZOOM, self.zoom * factor))
        scene = self.to_scene(at)
        return replace(self, zoom=zoom, x=at.x() - scene.x() * zoom, y=at.y() - scene.y() * zoom)

    def moved(self, dx: float, dy: float) -> Camera:
        """Shifted by pixels."""
        return replace(self, x=self.x + dx, y=self.y + dy)

    def fitted(
        self,
        box: tuple[float, float, float, float],
        area: QRectF,
        *,
        most: float = 1.0,
        least: float = MIN_ZOOM,
    ) -> Camera:
        """Zoomed and centred so that a box in scene units fills `area`, at a zoom of `least` to `most`."""
        width, height = max(box[2] - box[0], 1.0), max(box[3] - box[1], 1.0)
        zoom = min(most, max(least, min(area.width() / width, area.height() / height)))
        middle = area.center()
        x = middle.x() - (box[0] + box[2]) / 2 * zoom
        y = middle.y() - (box[1] + box[3]) / 2 * zoom
        return replace(self, zoom=zoom, x=x, y=y)
