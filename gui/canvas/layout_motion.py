"""`LayoutMotion`: after a layout the drawing moves to its new places, so that one sees what went where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEasingCurve, QObject, QVariantAnimation

from gui.canvas.scene_index import FloatArray, IntArray
from model.document.document import Change

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

DURATION_MS = 300
MOST_MOVED = 1500
MOST_LINKS = 4000
"""More devices or links than these stand at their new places at once: moving them would hold the hand up."""


class LayoutMotion(QObject):
    """The document has the new places from the start, as one undo step; only the picture is on its way.

    `cancel` takes the step back. Whatever else happens to the document finishes the motion first.
    """

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._view = view
        self._rows: IntArray = np.zeros(0, dtype=np.int32)
        self._from = self._to = np.zeros((0, 2))
        self._step = 0
        self.animation = QVariantAnimation(self)
        self.animation.setStartValue(0.0)
        self.animation.setEndValue(1.0)
        self.animation.setDuration(DURATION_MS)
        self.animation.setEasingCurve(QEasingCurve.Type.OutCubic)
        self.animation.valueChanged.connect(self._move)

    @property
    def running(self) -> bool:
        """Whether the picture is on its way."""
        return bool(self.animation.state() is QVariantAnimation.State.Running)

    def places(self, change: Change) -> tuple[IntArray, FloatArray] | None:
        """Where what a layout moves stands before it; None where nothing is to be seen moving."""
        view, index = self._view, self._view.scene_data.index
        context = view.context
        if not context.arranging or context.preferences.reduce_motion or not view.isVisible():
            return None
        if len(change.layout) > MOST_MOVED or len(index.links) > MOST_LINKS or not view.quick:
            return None
        rows = index.device_rows(change.layout)
        return rows, index.centre[rows].copy()

    def begin(self, rows: IntArray, before: FloatArray) -> None:
        """Move from the places before to those that the drawing has now."""
        index = self._view.scene_data.index
        self._rows, self._from, self._to = rows, before, index.centre[rows].copy()
        if not len(rows) or np.array_equal(self._from, self._to):
            return
        self._step = self._view.context.document.undo_stack.index()
        index.place(rows, before)
        self.animation.start()

    def finish(self) -> None:
        """Stand at the new places at once."""
        if self.running:
            self.animation.stop()
            self._view.scene_data.index.place(self._rows, self._to)
            self._view.refresh()

    def drop(self) -> None:
        """Forget it: there is another drawing."""
        self.animation.stop()

    def cancel(self) -> None:
        """Take the layout back."""
        self.finish()
        stack = self._view.context.document.undo_stack
        if stack.index() == self._step:
            stack.undo()

    def _move(self, share: float) -> None:
        if self.running:
            self._view.scene_data.index.place(self._rows, self._from + (self._to - self._from) * share)
            self._view.overlay.minimap.update()
            self._view.refresh()
