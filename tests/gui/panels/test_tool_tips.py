"""Tool tips by a filter: they show, and an error in painting beside them reaches the hook."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from gui.widgets.tool_tips import ToolTips


class Broken(QWidget):
    """Fails when it paints."""

    def paintEvent(self, event: QPaintEvent) -> None:
        list[int]().pop()


def test_the_tip_says_what_stands_at_the_point(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    tips = ToolTips(widget, lambda at: f"{at.x()} {at.y()}")
    widget.resize(50, 50)
    widget.show()
    event = QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(3, 4), widget.mapToGlobal(QPoint(3, 4)))
    assert tips.eventFilter(widget, event)
    assert QToolTip.text() == "3 4"


def test_an_error_in_painting_beside_tool_tips_reaches_the_hook(qtbot: QtBot) -> None:
    widget = Broken()
    qtbot.addWidget(widget)
    ToolTips(widget, lambda _at: "")
    with qtbot.captureExceptions() as caught:
        widget.show()
        QApplication.processEvents()
        qtbot.waitUntil(lambda: bool(caught))
        widget.hide()
    assert caught[0][0] is IndexError
