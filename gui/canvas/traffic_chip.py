"""The chip that says whose traffic links show, and lets one choose: all, or that of one dimension."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from gui.widgets.style import set_font, set_style
from model.job.exchange import EXCHANGE_DIMENSIONS, dimension_name

if TYPE_CHECKING:
    from gui.context import AppContext


class TrafficChip(QToolButton):
    """ "All traffic ▾" or "Only DP ▾" with a menu of the dimensions that the step has."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setProperty("role", "button")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(24)
        set_font(self, 11, 600)
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        self.show_state()

    def show_state(self) -> None:
        """Say what is shown; where it is not all, in the colour of what is chosen."""
        of = self._context.traffic_of
        self.setText("All traffic ▾" if of is None else f"Only {dimension_name(of)} ▾")
        self.setToolTip("Show the traffic of one dimension alone" if of is None else "Show all traffic (Esc)")
        self.setAccessibleName(f"Traffic shown: {self.text().rstrip(' ▾')}")
        set_style(self, tone="" if of is None else "accent")

    def _fill(self) -> None:
        """The dimensions that put bytes on links in this step."""
        menu, context = self.menu(), self._context
        menu.clear()
        everything = menu.addAction("All traffic", lambda: context.set_traffic_of(None))
        everything.setCheckable(True)
        everything.setChecked(context.traffic_of is None)
        menu.addSeparator()
        analysis = context.analysis
        report = analysis.report if analysis is not None else None
        for dimension in EXCHANGE_DIMENSIONS:
            action = menu.addAction(
                f"Only {dimension_name(dimension)}",
                partial(context.set_traffic_of, dimension),
            )
            action.setCheckable(True)
            action.setChecked(context.traffic_of == dimension)
            loads = {} if report is None else report.bytes_by_dimension
            action.setEnabled(dimension in loads and bool(loads[dimension].any()))
