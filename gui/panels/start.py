"""The start page: a new drawing, a file, one of the recent files, or a template."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.recent import forget, recent_files
from gui.widgets.elided import ElidedLabel
from gui.widgets.flow import FlowLayout
from gui.widgets.style import label, separator, set_font

if TYPE_CHECKING:
    from gui.context import AppContext
    from topology_templates.registry import Template

LEFT_WIDTH = 360
ROW_HEIGHT = 40
CARD_PICTURE = 110
MOST_COLUMNS = 4


def when_text(changed: datetime, today: date) -> str:
    """When a file changed: "today 09:12", "yesterday", "26 Nov", "3 Mar 2025"."""
    days = (today - changed.date()).days
    if days == 0:
        return f"today {changed:%H:%M}"
    if days == 1:
        return "yesterday"
    text = f"{changed.day} {changed:%b}"
    return text if changed.year == today.year else f"{text} {changed.year}"


class RecentRow(QToolButton):
    """One recent file: name, folder, when it changed."""

    def __init__(self, path: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self.setAccessibleName(f"Open {path.name}")
        self.setToolTip(str(path))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(ROW_HEIGHT)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 4, 8, 4)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(ElidedLabel(path.stem.removesuffix(".json"), 12, 600))
        folder = ElidedLabel(str(path.parent), 11, 400, "2")
        folder.elide_mode = Qt.TextElideMode.ElideMiddle
        words.addWidget(folder)
        row.addLayout(words, 1)
        changed = datetime.fromtimestamp(path.stat().st_mtime)
        row.addWidget(label(when_text(changed, date.today()), 11, 400, "3"))
        for child in self.findChildren(QWidget):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)


class StartPage(QWidget):
    """What the window shows before a drawing is open. The templates come when they are loaded."""

    new_requested = Signal()
    open_requested = Signal()
    recent_requested = Signal(object)
    template_requested = Signal(str)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setAccessibleName("Start page")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._left())
        row.addWidget(separator(vertical=True))
        row.addWidget(self._right(), 1)
        context.theme.changed.connect(self._show_icon)
        self.refresh()

    def _left(self) -> QWidget:
        left = QWidget()
        left.setProperty("role", "panel")
        left.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        left.setFixedWidth(LEFT_WIDTH)
        column = QVBoxLayout(left)
        column.setContentsMargins(36, 38, 28, 20)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(12)
        self._icon = QLabel()
        head.addWidget(self._icon)
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(label("Railsketch", 22, 700))
        names.addWidget(label("Draw the cluster. See what training does to it.", 11, 400, "2"))
        head.addLayout(names, 1)
        column.addLayout(head)
        column.addSpacing(22)
        self.new_button = self._button("New empty drawing", "Ctrl+N", primary=True)
        self.new_button.clicked.connect(self.new_requested)
        self.open_button = self._button("Open…", "Ctrl+O")
        self.open_button.clicked.connect(self.open_requested)
        column.addWidget(self.new_button)
        column.addWidget(self.open_button)
        column.addSpacing(14)
        titles = QHBoxLayout()
        self._recent_title = label("Recent", 12, 600)
        titles.addWidget(self._recent_title)
        titles.addStretch(1)
        self.clear_button = QPushButton("Clear list")
        self.clear_button.setProperty("role", "link")
        set_font(self.clear_button, 11, 500)
        self.clear_button.clicked.connect(self._clear)
        titles.addWidget(self.clear_button)
        column.addLayout(titles)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(2)
        column.addLayout(self._recent)
        self._no_recent = label("Drawings that you save or open are listed here.", 11, 400, "3", wrap=True)
        column.addWidget(self._no_recent)
        column.addStretch(1)
        column.addWidget(label("Tip: F1 on any number shows how it was worked out", 11, 400, "3"))
        self._show_icon()
        return left

    def _button(self, text: str, keys: str, *, primary: bool = False) -> QPushButton:
        button = QPushButton(text)
        button.setProperty("scale", "large")
        button.setAccessibleName(text.rstrip("…"))
        if primary:
            button.setProperty("role", "primary")
        set_font(button, 12, 600)
        row = QHBoxLayout(button)
        row.setContentsMargins(0, 0, 14, 0)
        row.addStretch(1)
        hint = label(keys, 11, 500, "on-accent" if primary else "3")
        hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        row.addWidget(hint)
        return button

    def _right(self) -> QWidget:
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(38, 30, 38, 30)
        column.setSpacing(14)
        head = QHBoxLayout()
        head.addWidget(label("Start from a template", 18, 600))
        head.addStretch(1)
        head.addWidget(label("Set counts and speeds before anything is placed", 11, 400, "3"))
        column.addLayout(head)
        self._groups = QVBoxLayout()
        self._groups.setSpacing(10)
        column.addLayout(self._groups)
        column.addStretch(1)
        area.setWidget(inner)
        return area

    def set_templates(self, templates: Sequence[Template]) -> None:
        """Show the templates as cards."""
        from gui.panels.templates import picture_content
        from gui.widgets.template_tile import TemplateTile

        self._empty(self._groups)
        columns = max(2, min(MOST_COLUMNS, len(templates)))
        for group, members in groupby(templates, lambda template: template.group):
            self._groups.addWidget(label(group, 12, 600, "2"))
            grid = QWidget()
            flow = FlowLayout(grid, spacing=16, columns=columns)
            for template in members:
                card = TemplateTile(self._context.theme, template, picture_height=CARD_PICTURE)
                card.picture.set_source(partial(picture_content, template.id))
                card.chosen.connect(self.template_requested)
                flow.addWidget(card)
            self._groups.addWidget(grid)
            self._groups.addSpacing(10)

    def _empty(self, layout: QVBoxLayout) -> None:
        while (item := layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()

    def refresh(self) -> None:
        """Show the recent files as they are now."""
        self._empty(self._recent)
        files = recent_files()
        for path in files:
            row = RecentRow(path)
            row.clicked.connect(lambda _checked=False, chosen=path: self.recent_requested.emit(chosen))
            self._recent.addWidget(row)
        self.clear_button.setVisible(bool(files))
        self._no_recent.setVisible(not files)

    def _clear(self) -> None:
        forget()
        self.refresh()

    def _show_icon(self) -> None:
        theme = self._context.theme.current
        self._icon.setPixmap(theme.pixmap("app", 40, self.devicePixelRatioF(), theme.color("accent")))
