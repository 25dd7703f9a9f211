"""`FittedView`: a view that knows what is drawn, and shows all of it, a part, or what is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QWidget

from gui.canvas.camera import MAX_ZOOM
from gui.canvas.folding import around
from gui.canvas.levels import level_at
from gui.canvas.navigation import NavigableView
from gui.canvas.scene import Scene
from model.document.edits import SetFolds

if TYPE_CHECKING:
    from gui.canvas.overlay import Overlay
    from gui.context import AppContext

FIT_MARGIN = 28.0

Box = tuple[float, float, float, float]


class FittedView(NavigableView):
    """What of a drawing is looked at; the drawing and its controls come from the class below."""

    context: AppContext
    scene_data: Scene
    overlay: Overlay

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fit_when_shown = True

    def free_area(self) -> QRectF:
        """The part of the viewport that no overlay covers."""
        top, bottom = self.overlay.insets()
        return QRectF(self.viewport().rect()).adjusted(
            FIT_MARGIN,
            top + FIT_MARGIN / 2,
            -FIT_MARGIN - self.overlay.right_inset(),
            -bottom - FIT_MARGIN / 2,
        )

    def fit(self) -> None:
        """Show everything, with the arches of links over it."""
        box = self.scene_data.index.bounds()
        if box is None:
            self.fit_to(None)
            return
        camera = self.camera.fitted(box, self.free_area())
        for _ in range(3):  # how high the far view is depends on its zoom
            box = self.scene_data.extent(box, level_at(camera.zoom), camera.zoom)
            camera = self.camera.fitted(box, self.free_area())
        self.fit_to(box)

    def fit_selection(self) -> None:
        """Show what is selected, or everything."""
        self.fit_to(self.scene_data.index.bounds(self.context.selection or None))

    def fit_to(self, box: Box | None) -> None:
        """Show a box in scene units; without one the origin at 100 %."""
        area = self.free_area()
        if box is None:
            middle = area.center()
            self.set_camera(replace(self.camera, zoom=1.0, x=middle.x(), y=middle.y()))
            return
        camera = self.camera.fitted(box, area)
        self._level = level_at(camera.zoom)
        self.set_camera(camera)

    def fit_soon(self) -> None:
        """Fit now, or as soon as the view has its size."""
        if self.isVisible():
            self.fit()
        else:
            self.fit_when_shown = True

    def bring_into_view(self, ids: tuple[str, ...]) -> None:
        """Centre what is named; zoom only when it does not fit or would be too small to see."""
        scene = self.scene_data
        hiding = scene.folded & around(scene.index, ids)
        if hiding:
            self.context.document.show(SetFolds(unfold=hiding))
        box = scene.index.bounds(ids)
        if box is None:
            return
        camera, area = self.camera, self.free_area()
        fitted = camera.fitted(box, area.adjusted(40, 40, -40, -40), most=MAX_ZOOM)
        zoom = min(fitted.zoom, max(camera.zoom, 0.5))
        middle = area.center()
        x = middle.x() - (box[0] + box[2]) / 2 * zoom
        y = middle.y() - (box[1] + box[3]) / 2 * zoom
        self.set_camera(replace(camera, zoom=zoom, x=x, y=y))

    def clear_of_legend(self) -> None:
        """The first parts of a drawing must not lie under the legend that comes with them."""
        box = self.scene_data.index.bounds()
        if box is not None and self.isVisible():
            low = self.camera.to_view(QPointF(box[0], box[3])).y()
            hidden = low - self.free_area().bottom()
            if 0 < hidden < self.viewport().height():
                self.pan_by(0, -hidden)

    def all_visible(self) -> bool:
        """Whether no part of the drawing lies outside of the view."""
        box = self.scene_data.index.bounds()
        seen = self.camera.visible()
        return box is not None and (
            box[0] >= seen[0] and box[1] >= seen[1] and box[2] <= seen[2] and box[3] <= seen[3]
        )
