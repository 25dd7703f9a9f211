"""The rack elevation: racks from the front, the same document, selection and colours as the drawing."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.dialogs.put_into_racks import PutIntoRacksDialog
from gui.panels.panel_kit import Panel, Throttle
from gui.panels.rack_paint import Look
from gui.panels.rack_rows import RackFloor, ThingLoads, gpu_groups
from gui.panels.rack_view import ZOOM_STEP, RackView
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label, set_font, themed_icon
from model.document.document import Change
from model.text import plural

WIDTH = 420


class RackElevationPanel(Panel):
    """Racks side by side with what stands in them; trays and switches move between U and racks."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Rack elevation", parent)
        self._loads: ThingLoads | None = None
        self._dirty = True
        self.view = RackView(context)
        self.header = SectionHeader("Rack elevation")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(2)
        column.addLayout(self._head())
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self._empty_state())
        column.addWidget(self.stack, 1)
        self._ticks = Throttle(self._show_look, self)
        self.view.put_into_racks_requested.connect(self.put_into_racks)
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._document_reset)
        context.selection_changed.connect(self._selection_changed)
        context.colour_by_changed.connect(self._ticks.request)
        context.link_mode_changed.connect(self._ticks.request)
        context.playback.time_changed.connect(self._time_changed)
        self.refresh()

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(PADDING, 0, PADDING, 0)
        row.setSpacing(4)
        row.addWidget(self.header, 1)
        self.put = QPushButton("Put into racks…")
        self.put.setAutoDefault(False)
        self.put.setToolTip("Stand trays and switches that are in no rack into new racks")
        set_font(self.put, 11, 500)
        self.put.setMinimumWidth(self.put.sizeHint().width())
        self.put.clicked.connect(self.put_into_racks)
        row.addWidget(self.put)
        self.zoom_out = self._button(
            "minus", "Smaller", lambda: self.view.set_zoom(self.view.u_px / ZOOM_STEP)
        )
        self.zoom_in = self._button("plus", "Larger", lambda: self.view.set_zoom(self.view.u_px * ZOOM_STEP))
        self.fit = self._button("fit", "Whole racks in view", self.view.fit)
        for button in (self.zoom_out, self.zoom_in, self.fit):
            row.addWidget(button)
        return row

    def _button(self, icon: str, text: str, run: object) -> QToolButton:
        button = QToolButton()
        button.setAccessibleName(text)
        button.setToolTip(text)
        button.setFixedSize(24, 24)
        themed_icon(button, self.context.theme, icon)
        button.clicked.connect(run)
        return button

    def _empty_state(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(PADDING, PADDING, PADDING, PADDING)
        column.setSpacing(8)
        column.addStretch(1)
        self._empty_title = label("Racks are shown here from the front.", 13, 600, wrap=True)
        self._empty_text = label("", 12, 400, "2", wrap=True)
        for text in (self._empty_title, self._empty_text):
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(text)
        self.begin = QPushButton("Put into racks…")
        self.begin.clicked.connect(self.put_into_racks)
        column.addWidget(self.begin, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)
        return page

    # --- showing -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the racks as they are now; while hidden, when the panel is shown next."""
        if not self.isVisible():
            self._dirty = True
            return
        self._dirty = False
        topology = self.context.document.document.topology
        floor = RackFloor(topology)
        racks = len(floor.racks)
        self.view.show_floor(floor)
        self.stack.setCurrentIndex(0 if racks else 1)
        self.header.set_note(f"{plural(racks, 'rack')} in {plural(len(floor.rows), 'row')}" if racks else "")
        self.put.setVisible(bool(racks and floor.loose))
        for button in (self.zoom_in, self.zoom_out, self.fit):
            button.setVisible(bool(racks))
        self.begin.setVisible(bool(floor.loose))
        self._empty_text.setText(
            "Stand the trays and switches of the drawing into racks, or group some with Ctrl+G."
            if floor.loose
            else "Draw nodes or start from a template: what stands in a rack gets a U, a power and a weight."
        )
        self._loads = None
        self._show_look()

    def show_report(self) -> None:
        self._loads = None
        self._ticks.request()

    def show_stale(self) -> None:
        self._ticks.request()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._dirty:
            self.refresh()

    def _show_look(self) -> None:
        if not self.isVisible():
            self._dirty = True
            return
        context, report = self.context, self.report
        loads: dict[str, float] = {}
        if report is not None:
            if self._loads is None:
                self._loads = ThingLoads(self.view.floor, report)
            loads = self._loads.at(context.link_mode, context.playback.time_s)
        placement = None if report is None else report.placement
        owners = {self.view.floor.owner_of(ident) for ident in context.selection} - {None}
        look = Look(
            loads,
            gpu_groups(placement, context.document.document.paint, context.colour_by),
            context.selection,
            frozenset(owner for owner in owners if owner is not None) - context.selection,
            self.outdated,
        )
        self.view.show_look(look)
        self.view.viewport().setAccessibleDescription(self.view.current_text())

    def _document_changed(self, change: Change) -> None:
        if change.devices or change.links or change.containers or change.whole:
            self.refresh()
        elif change.paint:
            self._ticks.request()

    def _document_reset(self) -> None:
        self.report = None
        self.refresh()

    def _selection_changed(self) -> None:
        self._show_look()
        if self.isVisible() and self.view.drag is None and not self.view.choosing:
            first = next(
                (ident for ident in sorted(self.context.selection) if self.view.room_of(ident)), None
            )
            if first is not None:
                self.view.reveal(first)

    def _time_changed(self, _time_s: float) -> None:
        if self.isVisible() and self.context.link_mode == "now":
            self._ticks.request()

    def take_focus(self) -> None:
        """Give the racks the focus; without any, what begins them."""
        (self.view if self.stack.currentWidget() is self.view else self.begin).setFocus()

    def has_focus(self) -> bool:
        """Whether the focus is in here."""
        focus = self.window().focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    # --- doing ---------------------------------------------------------------------------------------------

    def put_into_racks(self) -> None:
        """Ask how, and stand what is in no rack into new racks."""
        dialog = PutIntoRacksDialog(self.context, self.window())
        dialog.open()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 480)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, 160)
