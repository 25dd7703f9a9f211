"""Tool tips of widgets that paint their own contents."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget


class ToolTips(QObject):
    """Shows what `text_at` says of the point under the pointer.

    A filter and not an override of `event`: an error in a handler that Qt calls from inside an override ends
    the program before any hook sees it.
    """

    def __init__(self, widget: QWidget, text_at: Callable[[QPoint], str]) -> None:
        super().__init__(widget)
        self._widget = widget
        self._text_at = text_at
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return False
        QToolTip.showText(event.globalPos(), self._text_at(event.pos()), self._widget)
        return True
