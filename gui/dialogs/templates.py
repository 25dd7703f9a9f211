"""The gallery: a template, its parameters, and what they give, before anything is placed."""

from __future__ import annotations

from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.dialogs.buttons import dialog_buttons
from gui.dialogs.parameter_form import ParameterForm
from gui.own_templates import broken_files
from gui.panels.templates import picture_content
from gui.widgets.section import SectionHeader
from gui.widgets.style import label, separator, set_font
from gui.widgets.template_picture import TemplatePicture
from model.errors import RailsketchError
from model.text import plural
from topology_templates.registry import build, counts, gallery

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gui.theme import ThemeManager

PICTURE_DELAY_MS = 120
LARGEST_PICTURE = 3000  # devices; a larger template keeps the picture of its defaults

_COUNT_NAMES = (
    ("gpu", "GPU", "GPUs"),
    ("nvlink-switch", "NVLink switch", "NVLink switches"),
    ("nic", "NIC", "NICs"),
    ("leaf", "leaf", "leaves"),
    ("spine", "spine", "spines"),
    ("core", "core", "cores"),
    ("cpu", "CPU", "CPUs"),
    ("pcie-switch", "PCIe switch", "PCIe switches"),
    ("storage", "storage node", "storage nodes"),
    ("site-gateway", "site gateway", "site gateways"),
)
_CABLE_NAMES = (
    ("nvlink_lanes", "NVLink lane", "NVLink lanes"),
    ("host_leaf", "cable to a leaf", "cables to leaves"),
    ("leaf_spine", "cable leaf to spine", "cables leaf to spine"),
    ("spine_core", "cable spine to core", "cables spine to core"),
    ("wan", "long-haul line", "long-haul lines"),
)


def counts_text(found: dict[str, int]) -> tuple[str, str]:
    """What a template would give: devices in one line, cables in another."""

    def line(names: tuple[tuple[str, str, str], ...]) -> str:
        return " · ".join(plural(found[key], one, many) for key, one, many in names if found.get(key))

    return line(_COUNT_NAMES), line(_CABLE_NAMES)


class TemplatesDialog(QDialog):
    """Choose a template and its parameters. After `accept`, `chosen` and `parameters` say what to build."""

    def __init__(self, theme: ThemeManager, chosen: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Templates")
        self.resize(860, 560)
        self._theme = theme
        self.parameters: BaseModel | None = None
        self._form: ParameterForm | None = None
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._make_list())
        row.addWidget(separator(vertical=True))
        row.addLayout(self._make_details(), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row, 1)
        column.addWidget(separator())
        buttons, self.place_button = dialog_buttons(self, "Place")
        column.addWidget(buttons)
        self._picture_timer = QTimer(self)
        self._picture_timer.setSingleShot(True)
        self._picture_timer.setInterval(PICTURE_DELAY_MS)
        self._picture_timer.timeout.connect(self._draw)
        self.list.currentItemChanged.connect(lambda _now, _before: self._show_template())
        self.list.setCurrentItem(self.rows[chosen if chosen in self.rows else next(iter(self.rows))])
        if chosen is not None and self._form is not None:
            next(iter(self._form.fields.values())).setFocus()

    def _make_list(self) -> QWidget:
        self.list = QListWidget()
        self.list.setAccessibleName("Templates")
        self.list.setFixedWidth(210)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setProperty("role", "choices")
        set_font(self.list, 12, 600)
        self.rows: dict[str, QListWidgetItem] = {}
        for group, templates in groupby(gallery().values(), lambda template: template.group):
            head = QListWidgetItem(group)
            head.setFlags(Qt.ItemFlag.NoItemFlags)
            head.setFont(self._theme.current.font(11, 500))
            self.list.addItem(head)
            for template in templates:
                item = QListWidgetItem(template.name)
                item.setData(Qt.ItemDataRole.UserRole, template.id)
                item.setToolTip(template.summary)
                self.list.addItem(item)
                self.rows[template.id] = item
        for broken in broken_files():
            item = QListWidgetItem(f"{broken.name} (broken)")
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            item.setToolTip(broken.reason)
            self.list.addItem(item)
        self.list.itemActivated.connect(lambda _item: self.accept())
        return self.list

    def _make_details(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setContentsMargins(16, 10, 16, 12)
        column.setSpacing(8)
        self.header = SectionHeader("")
        self.header.title.setFont(self._theme.current.font(14, 600))
        self._summary = label("", 12, 400, "2", wrap=True)
        self._picture = TemplatePicture(self._theme, 150)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.counts = label("", 12, 600, wrap=True)
        self.cables = label("", 11, 400, "2", wrap=True)
        self.error = label("", 12, 500, wrap=True)
        self.error.setProperty("soft", "error")
        column.addWidget(self.header)
        column.addWidget(self._summary)
        column.addWidget(self._picture)
        column.addWidget(self._scroll, 1)
        column.addWidget(self.counts)
        column.addWidget(self.cables)
        column.addWidget(self.error)
        return column

    @property
    def chosen(self) -> str:
        """The id of the template in view."""
        item = self.list.currentItem()
        return str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else next(iter(self.rows))

    @property
    def form(self) -> ParameterForm:
        """The parameters' fields."""
        if self._form is None:
            raise RuntimeError("no template is in view")
        return self._form

    def _show_template(self) -> None:
        template = gallery()[self.chosen]
        self.header.set_title(template.name)
        self._summary.setText(template.summary)
        self._form = ParameterForm(template.parameters)
        self._form.values_changed.connect(self._update)
        self._scroll.setWidget(self._form)
        self._picture.set_source(partial(picture_content, template.id))
        order = [self.list, *self._form.fields.values(), self.place_button]
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)
        self._update()

    def _update(self) -> None:
        self.parameters = self.form.check()
        problem = "" if self.parameters is not None else "A parameter is out of range."
        if self.parameters is not None:
            try:
                found = counts(self.chosen, self.parameters)
            except RailsketchError as error:
                self.parameters, problem = None, str(error)
            else:
                devices, cables = counts_text(found)
                self.counts.setText(devices)
                self.cables.setText(cables)
                self._small = found["devices"] <= LARGEST_PICTURE
                self._picture_timer.start()
        legal = self.parameters is not None
        self.error.setText(problem)
        self.error.setVisible(not legal)
        self.counts.setVisible(legal)
        self.cables.setVisible(legal)
        self.place_button.setEnabled(legal)

    def _draw(self) -> None:
        if self.parameters is not None and self._small:
            self._picture.set_source(partial(build, self.chosen, self.parameters))

    def accept(self) -> None:
        """Close, if the parameters are legal."""
        if self.parameters is not None:
            super().accept()
