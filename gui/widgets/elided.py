"""A label that cuts its text with an ellipsis and shows the whole of it on hover."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

from gui.widgets.style import set_font


class ElidedLabel(QLabel):
    """One line of plain text that never asks for more room than it gets."""

    def __init__(
        self, text: str = "", px: float = 12, weight: int = 400, tone: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.elide_mode = Qt.TextElideMode.ElideRight
        set_font(self, px, weight)
        if tone:
            self.setProperty("tone", tone)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._update_tip()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_tip()

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOption()
        option.initFrom(self)
        with QPainter(self) as painter:
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
            painter.setPen(self.palette().color(self.foregroundRole()))
            area = self.contentsRect()
            text = self.fontMetrics().elidedText(self.text(), self.elide_mode, area.width())
            painter.drawText(area, int(self.alignment()), text)

    def _update_tip(self) -> None:
        cut = self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()
        self.setToolTip(self.text() if cut else "")
