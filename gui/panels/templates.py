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
from topology_templates.registry import build, gallery

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
        self._context = context
        self._header = SectionHeader("Templates")
        column.addWidget(self._header)
        grid = QWidget()
        self._flow = FlowLayout(grid, spacing=6, columns=2)
        self.tiles: dict[str, TemplateTile] = {}
        column.addWidget(grid)
        column.addStretch(1)
        self.refresh()

    def refresh(self) -> None:
        """Show the templates that there are now: those of the program, then the user's own."""
        while self._flow.takeAt(0) is not None:
            pass
        for tile in self.tiles.values():
            tile.hide()
            tile.deleteLater()
        self.tiles.clear()
        picture_content.cache_clear()
        for ident, template in gallery().items():
            tile = TemplateTile(self._context.theme, template, draggable=True)
            tile.setToolTip(f"{template.summary}. Double-click or drag it onto the drawing.")
            tile.picture.set_source(partial(picture_content, ident))
            tile.chosen.connect(self.chosen)
            self._flow.addWidget(tile)
            self.tiles[ident] = tile
        self._header.set_note(str(len(self.tiles)))

    def filter(self, text: str) -> None:
        """Show the templates that hold a text."""
        for tile in self.tiles.values():
            tile.setVisible(text.casefold() in tile.words.casefold())
        self._flow.invalidate()
