"""What every tool answers to. The view hands it pointer and keys; it paints its ghosts over the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

DRAG_START_PX = 4.0


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where the pointer is, in pixels of the viewport and in scene units, and what is held down with it."""

    view: QPointF
    scene: QPointF
    modifiers: Qt.KeyboardModifier
    buttons: Qt.MouseButton

    def has(self, modifier: Qt.KeyboardModifier) -> bool:
        """Whether a modifier key is down."""
        return bool(self.modifiers & modifier)

    def far_from(self, other: Pointer) -> bool:
        """Whether it moved far enough to be a drag."""
        return (self.view - other.view).manhattanLength() > DRAG_START_PX


class Tool:
    """A tool that does nothing. `active` says whether a gesture is under way."""

    cursor = Qt.CursorShape.ArrowCursor

    def __init__(self, view: CanvasView) -> None:
        self.view = view
        self.context = view.context

    @property
    def active(self) -> bool:
        """Whether Esc has something to cancel."""
        return False

    def press(self, at: Pointer) -> None:
        """The left button went down."""

    def move(self, at: Pointer) -> None:
        """The pointer moved, with or without a button."""

    def release(self, at: Pointer) -> None:
        """The left button came up."""

    def cancel(self) -> None:
        """Leave everything as it was before the gesture."""

    def paint(self, painter: QPainter) -> None:
        """Ghosts, in pixels of the viewport."""

    def cursor_at(self, at: Pointer) -> Qt.CursorShape:
        """The cursor to show."""
        return self.cursor
