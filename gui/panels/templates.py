"""The templates below the device palette, and the small contents that their pictures are drawn from."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.widgets.flow import FlowLayout
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.template_tile import TemplateTile
from topology_templates.content import TemplateContent
from topology_templates.registry import TEMPLATES, build

if TYPE_CHECKING:
    from gui.context import AppContext


@cache
def picture_content(ident: str) -> TemplateContent:
    """What the picture of a template shows: it with its default parameters."""
    return build(ident)


class TemplatesPanel(QWidget):
    """A tile for each template: double-click or Enter sets it up, dragging it onto the drawing too."""

    chosen = Signal(str)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Templates")
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, 6, PADDING, 10)
        column.setSpacing(6)
        column.addWidget(SectionHeader("Templates", str(len(TEMPLATES))))
        grid = QWidget()
        self._flow = FlowLayout(grid, spacing=6, columns=2)
        self.tiles: dict[str, TemplateTile] = {}
        for ident, template in TEMPLATES.items():
            tile = TemplateTile(context.theme, template, draggable=True)
            tile.setToolTip(f"{template.summary}. Double-click or drag it onto the drawing.")
            tile.picture.set_source(partial(picture_content, ident))
            tile.chosen.connect(self.chosen)
            self._flow.addWidget(tile)
            self.tiles[ident] = tile
        column.addWidget(grid)
        column.addStretch(1)

    def filter(self, text: str) -> None:
        """Show the templates that hold a text."""
        for tile in self.tiles.values():
            tile.setVisible(text.casefold() in tile.words.casefold())
        self._flow.invalidate()
