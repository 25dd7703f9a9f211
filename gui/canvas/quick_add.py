"""Quick add: double-click on empty canvas, type "8 h100", "leaf" or "hgx-h100", Enter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from gui.canvas.lettering import Lettering
from gui.canvas.tools.place import MOST_AT_ONCE, Placing, put_down
from gui.place_template import template_edit
from gui.widgets.style import set_font
from model.catalog import catalog
from model.document.edits import Load
from model.errors import RailsketchError
from model.text import format_port, format_rate
from model.topology.types import DeviceKind

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView
    from topology_templates.registry import Template

_WIDTH = 300
_ROW = 26
_MOST_ROWS = 6
_KIND_WORDS: dict[DeviceKind, tuple[str, ...]] = {
    DeviceKind.GPU: ("gpu",),
    DeviceKind.NVLINK_SWITCH: ("nvlink", "switch", "nvswitch", "nvs"),
    DeviceKind.NIC: ("nic",),
    DeviceKind.CPU: ("cpu", "host"),
    DeviceKind.PCIE_SWITCH: ("pcie", "switch"),
    DeviceKind.LEAF: ("leaf", "leaves", "switch"),
    DeviceKind.SPINE: ("spine", "switch"),
    DeviceKind.CORE: ("core", "switch"),
    DeviceKind.STORAGE: ("storage",),
    DeviceKind.SITE_GATEWAY: ("site", "gateway"),
}
_COUNTED = ("nodes", "racks", "hosts")
"""A count before the name of a template sets the first of these that it has."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that a text may mean: devices, or a template with its parameters."""

    text: str
    note: str
    icon: str
    placing: Placing | None = None
    template: str = ""
    parameters: tuple[tuple[str, int], ...] = ()


def offers(text: str) -> list[Offer]:
    """What a text may mean, the most likely first: "8 h100", "leaf", "2 hgx-h100"."""
    found = re.fullmatch(r"\s*(\d{1,6})?\s*[x×]?\s*(.*?)\s*", text)
    if found is None:
        return []
    count, words = int(found[1] or 1), re.split(r"[\s-]+", found[2].lower())
    words = [word for word in words if word]
    if not words or not 1 <= count <= MOST_AT_ONCE:
        return []
    ranked = [(_rank(words, names, whole), offer) for offer, names, whole in _all_offers(count)]
    return [offer for rank, offer in sorted(ranked, key=lambda pair: pair[0]) if rank < _NO][:_MOST_ROWS]


_NO = 9


def _rank(words: list[str], names: tuple[str, ...], whole: str) -> int:
    """How well words fit: 0 the whole name, 1 words of it, 2 beginnings of words; _NO not at all."""
    if "-".join(words) == whole:
        return 0
    if all(word in names for word in words):
        return 1
    if all(any(name.startswith(word) for name in names) for word in words):
        return 2
    return _NO


def _all_offers(count: int) -> list[tuple[Offer, tuple[str, ...], str]]:
    """Every device and template with the words that name it, and its whole name."""
    from topology_templates.registry import gallery

    made: list[tuple[Offer, tuple[str, ...], str]] = []
    for kind, kind_words in _KIND_WORDS.items():
        for place, model in enumerate(catalog().models_of(kind)):
            spec = catalog().device(kind, model)
            name = str(spec.name)
            words = (*kind_words, *re.split(r"[\s-]+", name.lower()), *model.lower().split("-"))
            title = f"{count} × {name}" if count > 1 else name
            offer = Offer(title, _rate(spec) or kind.value, kind.value, Placing(kind, model, count))
            made.append((offer, words, kind.value if place == 0 else model))
    made.extend(
        (_template_offer(template, count), _template_words(template), template.id)
        for template in gallery().values()
    )
    return made


def _template_words(template: Template) -> tuple[str, ...]:
    return (*template.id.lower().split("-"), *re.split(r"[\s-]+", template.name.lower()))


def _template_offer(template: Template, count: int) -> Offer:
    counted = next((name for name in _COUNTED if name in template.parameters.model_fields), "")
    title = f"{count} × {template.name}" if counted and count > 1 else template.name
    parameters = ((counted, count),) if counted else ()
    return Offer(title, "wired", "cpu", template=template.id, parameters=parameters)


def _rate(spec: object) -> str:
    lanes, lane = getattr(spec, "scale_up_links", None), getattr(spec, "scale_up_lane_bytes_per_s", None)
    if lanes and lane:
        return f"{format_rate(lanes * lane)}/dir"
    port = getattr(spec, "port_bytes_per_s", None)
    return f"{getattr(spec, 'ports', 1)} × {format_port(port)}" if port else ""


class QuickAdd(QFrame):
    """A field with what its text may mean below it; it belongs to a view and goes when it is left."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._canvas = view
        self._scene = QPointF()
        self.offers: list[Offer] = []
        self.chosen = 0
        self.error = ""
        self.setProperty("role", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(4)
        self.field = QLineEdit()
        self.field.setPlaceholderText("8 h100, leaf, hgx-h100")
        self.field.setAccessibleName("What to add here")
        set_font(self.field, 12)
        self.field.textChanged.connect(self._text_changed)
        self.field.installEventFilter(self)
        self._rows = _Rows(self, view)
        column.addWidget(self.field)
        column.addWidget(self._rows)
        self.hide()

    def open_at(self, view: QPointF, scene: QPointF) -> None:
        """Ask what to add at a point, given in pixels and in scene units."""
        self._scene = scene
        self.field.clear()
        self._text_changed("")
        room = self._canvas.viewport().size()
        most = self.field.sizeHint().height() + 20 + _MOST_ROWS * _ROW  # what is offered must be in sight
        x = max(0, min(round(view.x()), room.width() - self.width()))
        y = max(0, min(round(view.y()), room.height() - most))
        self.move(QPoint(x, y))
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_quietly(self) -> None:
        """Go, and give the keys back to the drawing."""
        if self.isVisible():
            self.hide()
            self._canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    def take(self, row: int) -> None:
        """Place what a row offers."""
        if not 0 <= row < len(self.offers):
            return
        offer = self.offers[row]
        try:
            if offer.placing is not None:
                put_down(self._canvas, offer.placing, self._scene)
            else:
                self._place_template(offer)
        except RailsketchError as refused:
            self._show_error(str(refused))
            return
        self.close_quietly()

    def _place_template(self, offer: Offer) -> None:
        document = self._canvas.context.document
        at = (self._scene.x(), self._scene.y())
        edit, text = template_edit(document.document, offer.template, dict(offer.parameters), at)
        document.push(edit, text)
        if not isinstance(edit, Load):
            change = document.document.last_change
            self._canvas.context.set_selection(change.devices | change.containers)

    def _text_changed(self, text: str) -> None:
        self.offers, self.chosen, self.error = offers(text), 0, ""
        if text.strip() and not self.offers:
            self._show_error(f"Nothing here is called “{text.strip()[:24]}”.")
        self._fit()

    def _show_error(self, text: str) -> None:
        self.error = text
        self._fit()

    def _fit(self) -> None:
        rows = len(self.offers) + bool(self.error)
        self._rows.setFixedHeight(rows * _ROW)
        self._rows.setVisible(rows > 0)
        self.resize(_WIDTH, 16 + self.field.sizeHint().height() + (4 + rows * _ROW if rows else 0))
        self._rows.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = event.key()
            if key == Qt.Key.Key_Escape:
                self.close_quietly()
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.take(self.chosen)
                return True
            if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.offers:
                step = 1 if key == Qt.Key.Key_Down else -1
                self.chosen = (self.chosen + step) % len(self.offers)
                self._rows.update()
                return True
        if watched is self.field and isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusOut:
            self.hide()
        return super().eventFilter(watched, event)


class _Rows(QWidget):
    """What is offered, a row each, with the chosen one on the accent's soft colour."""

    def __init__(self, owner: QuickAdd, view: CanvasView) -> None:
        super().__init__(owner)
        self._owner, self._canvas = owner, view
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH - 16, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._canvas.theme
        lettering = Lettering(theme)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for row, offer in enumerate(self._owner.offers):
                box = QRectF(0, row * _ROW, self.width(), _ROW)
                if row == self._owner.chosen:
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(theme.color("accent-soft"))
                    painter.drawRoundedRect(box, 5, 5)
                icon = theme.device_icon(offer.icon, 16, self.devicePixelRatioF())
                painter.drawPixmap(QPointF(6, box.center().y() - 8), icon)
                note = lettering.width(offer.note, 10, 400)
                lettering.right(
                    painter, offer.note, 10, 400, theme.color("text-2"), box.right() - 6, box.center().y()
                )
                text = lettering.cut(offer.text, 12, 600, box.width() - 44 - note)
                lettering.left(painter, text, 12, 600, theme.color("text"), 30, box.center().y())
            if self._owner.error:
                middle = (len(self._owner.offers) + 0.5) * _ROW
                text = lettering.cut(self._owner.error, 11, 400, self.width() - 12)
                lettering.left(painter, text, 11, 400, theme.color("error"), 6, middle)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        row = int(event.position().y()) // _ROW
        if 0 <= row < len(self._owner.offers) and row != self._owner.chosen:
            self._owner.chosen = row
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()  # the field keeps the focus

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._owner.take(int(event.position().y()) // _ROW)
