"""Controls over the drawing: colour by, now/peak/mean, layers, zoom; the legend below."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from gui.canvas.focus_card import FocusCard
from gui.canvas.legend import legend_size, paint_legend
from gui.canvas.link_layers import layer_of_links
from gui.canvas.minimap import Minimap
from gui.canvas.scene import LinkMode
from gui.canvas.traffic_chip import TrafficChip
from gui.context import LAYERS
from gui.widgets.chip import LayerChip
from gui.widgets.segmented import SegmentedControl
from gui.widgets.style import label, set_font, themed_icon
from model.placement.types import DIMENSIONS, Dimension

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

INSET = 12
ROW = 28
_GAP = 12
_LEGEND_LEAST_HEIGHT = 380
_FLAT_BELOW = 560
_MODES: tuple[tuple[LinkMode, str], ...] = (("now", "Now"), ("peak", "Peak"), ("mean", "Mean"))
_LAYER_NAMES = {
    "scale-up": "Scale-up",
    "pcie": "PCIe",
    "fabric": "Fabric",
    "storage": "Storage",
    "management": "Management",
}


class Overlay:
    """Places the controls over a view and keeps them in step with the shared state."""

    def __init__(self, view: CanvasView) -> None:
        self._view = view
        context = view.context
        self.colour_by = SegmentedControl([(one, one.upper()) for one in DIMENSIONS], "GPU colours")
        self.colour_by.chosen.connect(lambda value: context.set_colour_by(cast(Dimension, value)))
        self.mode = SegmentedControl(list(_MODES), "What links show")
        self.mode.chosen.connect(lambda value: context.set_link_mode(cast(LinkMode, value)))
        self.layers: dict[str, LayerChip] = {}
        groups: list[QWidget] = [
            _labelled(view, "GPUs", self.colour_by),
            _labelled(view, "Links", self.mode),
        ]
        self.traffic = TrafficChip(context)
        groups.append(_row(view, [self.traffic], 0))
        for name, words in _LAYER_NAMES.items():
            chip = LayerChip(context.theme, words)
            chip.clicked.connect(self._layers_clicked)
            self.layers[name] = chip
        groups.append(_row(view, list(self.layers.values()), 6))
        self._groups = groups
        self.zoom = ZoomBar(view)
        self.legend = Legend(view)
        self.legend_folded = False
        self.legend_button = _legend_button(view)
        self.legend_button.clicked.connect(self._fold_legend)
        self.minimap = Minimap(view)
        self.focus_card = FocusCard(view, view.focus)
        view.zoom_changed.connect(self.zoom.show_zoom)
        self._top = INSET + ROW
        self.update_state()
        self.show_layers()

    def insets(self) -> tuple[float, float]:
        """How much of the view is covered at the top and at the bottom."""
        lowest: QWidget = self.legend_button if self.legend_folded else self.legend
        shown = lowest.isVisibleTo(self._view)
        return float(self._top), float(lowest.height() + INSET if shown else 0)

    def right_inset(self) -> float:
        """How much of the view is covered at the right, where that leaves enough of it."""
        card = self.focus_card
        covered = card.width() + INSET if card.isVisibleTo(self._view) else 0
        return float(covered if covered < self._view.width() / 2 else 0)

    def update_state(self) -> None:
        """Show the shared state."""
        context = self._view.context
        self.colour_by.set_value(context.colour_by)
        self.mode.set_value(context.link_mode)
        for name, chip in self.layers.items():
            chip.setChecked(name in context.layers)
        self.traffic.show_state()
        self.update_pictures()

    def update_pictures(self) -> None:
        """Paint legend and minimap anew: dimensions, theme, drawing or view changed."""
        self.legend.update()
        self.minimap.update()

    def show_layers(self) -> None:
        """Offer the layer of management where the drawing has such a network."""
        chip, index = self.layers["management"], self._view.scene_data.index
        there = bool((layer_of_links(index) == LAYERS.index("management")).any())
        if there == chip.isHidden():
            chip.setVisible(there)
            self.place()

    def place(self) -> None:
        """Lay the controls out in one row, or in two where the view is narrow; the zoom at the right."""
        width, height = self._view.width(), self._view.height()
        self.zoom.resize(self.zoom.sizeHint())
        zoom_left = width - INSET - self.zoom.width()
        self.zoom.move(zoom_left, INSET)
        x, y = INSET, INSET
        for group in self._groups:
            if (row := group.layout()) is not None:
                row.activate()
            size = group.sizeHint()
            limit = zoom_left - _GAP if y == INSET else width - INSET
            if x > INSET and x + size.width() > limit:
                x, y = INSET, y + ROW + 4
            group.setGeometry(x, y, size.width(), ROW)
            group.show()
            x += size.width() + _GAP + 6
        self._top = y + ROW
        size = legend_size(width - 2 * INSET, flat=height < _FLAT_BELOW).toSize()
        self.legend.resize(size)
        self.legend.move(INSET, height - INSET - size.height())
        wanted = height >= _LEGEND_LEAST_HEIGHT and not self._view.scene_data.index.empty
        self.legend.setVisible(wanted and not self.legend_folded)
        self._place_button(wanted)
        self.minimap.move(width - INSET - self.minimap.width(), height - INSET - self.minimap.height())
        room = self.legend.geometry().right() + _GAP < self.minimap.x()
        self.minimap.setVisible(wanted and not self.legend_folded and room)
        low = self.minimap.y() if self.minimap.isVisibleTo(self._view) else height
        self.focus_card.place(width - INSET, self._top + _GAP, low - _GAP)
        self.focus_card.raise_()
        self.zoom.show()

    def _place_button(self, wanted: bool) -> None:
        """In the corner of the legend, or instead of it where it is folded."""
        button, folded = self.legend_button, self.legend_folded
        button.setText("Legend" if folded else "")
        style = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon if folded else Qt.ToolButtonStyle.ToolButtonIconOnly
        )
        button.setToolButtonStyle(style)
        themed_icon(button, self._view.context.theme, "chevron-up" if folded else "chevron-down", px=12)
        button.setToolTip("Show the legend and the overview" if folded else "Fold legend and overview away")
        button.setAccessibleName(button.toolTip())
        size = button.sizeHint() if folded else QSize(24, 22)
        button.resize(size)
        corner = self.legend.geometry().topRight()
        bottom = self._view.height() - INSET - size.height()
        button.move(*((INSET, bottom) if folded else (corner.x() - 26, corner.y() + 3)))
        button.setVisible(wanted)
        button.raise_()

    def _fold_legend(self) -> None:
        self.legend_folded = not self.legend_folded
        self.place()

    def _layers_clicked(self) -> None:
        self._view.context.set_layers(name for name, chip in self.layers.items() if chip.isChecked())


class Legend(QWidget):
    """The legend as a card that lets the mouse through."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._canvas = view
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Legend: utilisation, capacity and GPU tiles")

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            paint_legend(painter, self._canvas.theme, QRectF(self.rect()), self._canvas.scene_data.legend)


class ZoomBar(QFrame):
    """− 72 % + and fit."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self.setProperty("role", "card")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 1, 2, 1)
        row.setSpacing(0)
        self._percent = QToolButton()
        self._percent.setText("100 %")
        self._percent.setFixedWidth(52)
        self._percent.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        set_font(self._percent, 11, 600)
        self._percent.setToolTip("Zoom to 100 % (Ctrl+1)")
        self._percent.clicked.connect(lambda: view.zoom_to(1.0))
        for name, tip, slot in (
            ("minus", "Zoom out (Ctrl+−)", view.zoom_out),
            ("", "", None),
            ("plus", "Zoom in (Ctrl++)", view.zoom_in),
            ("fit", "Fit all (F)", view.fit),
        ):
            if slot is None:
                row.addWidget(self._percent)
                continue
            button = QToolButton()
            themed_icon(button, view.context.theme, name, px=14)
            button.setFixedSize(26, 24)
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(slot)
            row.addWidget(button)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), ROW)

    def show_zoom(self, zoom: float) -> None:
        """Show the zoom in percent."""
        self._percent.setText(f"{zoom * 100:.0f} %")

    @property
    def text(self) -> str:
        """What it shows."""
        return self._percent.text()


class _Plate(QWidget):
    """A patch of canvas under controls, so that no link runs through their words."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._canvas = view

    def paintEvent(self, event: QPaintEvent) -> None:
        color = self._canvas.theme.color("canvas")
        color.setAlphaF(0.88)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawRoundedRect(QRectF(self.rect()), 7, 7)


def _legend_button(view: CanvasView) -> QToolButton:
    button = QToolButton(view)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    set_font(button, 11, 600)
    return button


def _labelled(view: CanvasView, text: str, control: QWidget) -> QWidget:
    caption: QLabel = label(text, 11, 500, "2")
    return _row(view, [caption, control], 8)


def _row(view: CanvasView, widgets: list[QWidget], gap: int) -> QWidget:
    holder = _Plate(view)
    line = QHBoxLayout(holder)
    line.setContentsMargins(2, 0, 2, 0)
    line.setSpacing(gap)
    for widget in widgets:
        line.addWidget(widget)
    return holder
