"""What all panels have in common: which report they show, and when they refresh."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

from gui.context import AppContext
from model.step.report import StepReport

PANEL_HZ = 10
MANY_GPUS = 4096
"""With more GPUs than this each panel takes a new report over in a turn of the event loop of its own."""


class Panel(QWidget):
    """A dock's content. It keeps the last legal report while the job is illegal.

    A panel overrides `show_report` (another report, or another job for it), `show_stale` and `show_theme`.
    """

    def __init__(self, context: AppContext, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.report: StepReport | None = None
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(name)
        context.analysis_changed.connect(self._analysis_changed)
        context.stale_changed.connect(self._stale_changed)
        context.theme.changed.connect(self.show_theme)
        self._take_report()

    @property
    def outdated(self) -> bool:
        """Whether the report is of another state: the new one is being worked out, or the job is illegal."""
        analysis = self.context.analysis
        return self.context.stale or (
            self.report is not None and analysis is not None and analysis.report is None
        )

    def show_report(self) -> None:
        """Draw `self.report` (None: the empty state)."""

    def show_stale(self) -> None:
        """Draw figures fainter or normal again."""
        self.update()

    def show_theme(self) -> None:
        """Take over new colours."""
        self.update()

    def existing(self, ids: frozenset[str]) -> frozenset[str]:
        """Those ids that the drawing still has."""
        topology = self.context.document.document.topology
        return frozenset(
            name
            for name in ids
            if topology.has_device(name) or topology.has_link(name) or topology.has_container(name)
        )

    def _take_report(self) -> None:
        self.report = self.context.last_report

    def report_steps(self) -> Iterator[None]:
        """`show_report` in steps, each for a turn of its own where the report is large."""
        self.show_report()
        return iter(())

    def _analysis_changed(self) -> None:
        report = self.context.last_report
        if report is not None and len(report.placement.gpus) > MANY_GPUS:
            self.context.turns.later(self._analysis_steps)
        else:
            self.context.turns.drop(self._analysis_steps)
            for _step in self._analysis_steps():
                pass

    def _analysis_steps(self) -> Iterator[None]:
        self._take_report()
        yield from self.report_steps()
        self.show_stale()

    def _stale_changed(self, _stale: bool) -> None:
        self.show_stale()


class Throttle(QObject):
    """Calls `work` at most `PANEL_HZ` times a second, and once more after the last request."""

    def __init__(self, work: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self._work = work
        self._again = False
        self._timer = QTimer(self)
        self._timer.setInterval(1000 // PANEL_HZ)
        self._timer.timeout.connect(self._due)

    def request(self) -> None:
        """Work now, or when the current interval is over."""
        if self._timer.isActive():
            self._again = True
            return
        self._timer.start()
        self._work()

    def _due(self) -> None:
        if not self._again:
            self._timer.stop()
            return
        self._again = False
        self._work()
