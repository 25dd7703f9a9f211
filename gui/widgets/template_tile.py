"""A template as a card: picture, name, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QMimeData, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QDrag, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from gui.widgets.elided import ElidedLabel
from gui.widgets.template_picture import TemplatePicture

if TYPE_CHECKING:
    from gui.theme import ThemeManager
    from topology_templates.registry import Template

TEMPLATE_MIME = "application/x-railsketch-template"


def template_mime(ident: str) -> QMimeData:
    """What a dragged template carries: its id."""
    data = QMimeData()
    data.setData(TEMPLATE_MIME, QByteArray(ident.encode()))
    return data


class TemplateTile(QToolButton):
    """Click or Enter says `chosen`; with `draggable`, a double-click does, and the tile can be dragged."""

    chosen = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        template: Template,
        parent: QWidget | None = None,
        *,
        picture_height: int = 62,
        draggable: bool = False,
    ) -> None:
        super().__init__(parent)
        self.ident = template.id
        self.words = f"{template.name} {template.summary}"
        self._theme = theme
        self._draggable = draggable
        self._pressed_at: QPoint | None = None
        large = picture_height > 80
        self.setProperty("role", "tile")
        self.setAccessibleName(template.name)
        self.setAccessibleDescription(template.summary)
        self.setToolTip(template.summary)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        column = QVBoxLayout(self)
        edge = 10 if large else 5
        column.setContentsMargins(edge, edge, edge, edge)
        column.setSpacing(3)
        self.picture = TemplatePicture(theme, picture_height)
        column.addWidget(self.picture)
        column.addWidget(ElidedLabel(template.name, 14 if large else 11, 600))
        column.addWidget(ElidedLabel(template.summary, 11 if large else 10, 400, "2"))
        for child in self.findChildren(QWidget):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._height = picture_height + (56 if large else 44)
        if not draggable:
            self.clicked.connect(lambda: self.chosen.emit(self.ident))

    def sizeHint(self) -> QSize:
        return QSize(96, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._height)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed_at = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        start = self._pressed_at
        if self._draggable and start is not None and event.buttons() & Qt.MouseButton.LeftButton:
            if (event.position().toPoint() - start).manhattanLength() >= QApplication.startDragDistance():
                self._pressed_at = None
                self.setDown(False)
                drag = QDrag(self)
                drag.setMimeData(template_mime(self.ident))
                drag.setPixmap(self.picture.grab())
                drag.exec(Qt.DropAction.CopyAction)
            return
        super().mouseMoveEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._draggable:
            self.chosen.emit(self.ident)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit(self.ident)
        else:
            super().keyPressEvent(event)
