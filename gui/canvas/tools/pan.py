"""Pan: drag the drawing under the viewport."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt

from gui.canvas.tools.base import Pointer, Tool


class PanTool(Tool):
    """Left drag pans."""

    cursor = Qt.CursorShape.OpenHandCursor
    _last: QPointF | None = None

    @property
    def active(self) -> bool:
        return self._last is not None

    def press(self, at: Pointer) -> None:
        self._last = at.view

    def move(self, at: Pointer) -> None:
        if self._last is not None:
            step = at.view - self._last
            self.view.pan_by(step.x(), step.y())
            self._last = at.view

    def release(self, at: Pointer) -> None:
        self._last = None

    def cancel(self) -> None:
        self._last = None

    def cursor_at(self, at: Pointer) -> Qt.CursorShape:
        return Qt.CursorShape.ClosedHandCursor if self.active else Qt.CursorShape.OpenHandCursor
