"""The findings: worst first, and where each is."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gui.context import AppContext
from gui.panels.findings_rows import SEVERITIES, cost_text, counts, detail_text, ordered, short_title, targets
from gui.panels.panel_kit import Panel
from gui.panels.panel_paint import draw_text
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label
from model.step.report import Finding, Severity
from model.text import plural

Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT = 40
LINE_HEIGHT = 15
ROOMY_WIDTH = 300  # from here on title and cost share a line
MOST_LINES = 6
_RIGHT = Qt.AlignmentFlag.AlignRight
_WRAP = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
_TONE = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "accent"}
_ICON = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
_NOUN = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class FindingListModel(QAbstractListModel):
    """Findings in order."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.findings: tuple[Finding, ...] = ()

    def set_findings(self, findings: tuple[Finding, ...]) -> None:
        """Show others; they are put in order here."""
        self.beginResetModel()
        self.findings = ordered(findings)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.findings)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        finding = self.findings[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return finding.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{finding.title}\n{detail_text(finding)}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{_NOUN[finding.severity]}: {finding.title}. {detail_text(finding)} {cost_text(finding)}"
        return None


class FindingDelegate(QStyledItemDelegate):
    """Icon, title and detail left, cost and the way there right. The current row shows its whole detail."""

    def __init__(self, context: AppContext, view: QListView) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = self._view.viewport().width()
        lines = self._lines(index, width) if self._view.currentIndex() == index else 1
        return QSize(width, ROW_HEIGHT + (lines - 1) * LINE_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        theme, finding = self._context.theme.current, self._finding(index)
        current = self._view.currentIndex() == index
        tone = _TONE[finding.severity]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        soft = {"error": "error-soft", "warning": "warning-soft", "accent": "accent-soft"}[tone]
        token = soft if current else "raised" if state & QStyle.StateFlag.State_MouseOver else ""
        if token:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color(token))
            painter.drawRoundedRect(rect, 5, 5)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        ratio = self._view.devicePixelRatioF()
        icon = theme.pixmap(_ICON[finding.severity], 16, ratio, theme.color(tone))
        painter.drawPixmap(rect.left() + 6, rect.top() + 5, icon)
        text = self._text_rect(rect)
        line = QRect(text.left(), rect.top() + 4, rect.right() - 6 - text.left(), 17)
        bold, tint = theme.font(12, 600), theme.color("text-3" if self._context.stale else "text")
        below = line.translated(0, 17)
        if rect.width() >= ROOMY_WIDTH:
            used = draw_text(painter, line, cost_text(finding), bold, tint, _RIGHT)
            if targets(finding):
                draw_text(painter, below, "Show", theme.font(11, 600), theme.color("accent"), _RIGHT)
            line = line.adjusted(0, 0, -int(used) - 8, 0)
        else:  # the title needs the line for itself
            small = theme.font(11, 600)
            draw_text(painter, below, cost_text(finding), small, tint, _RIGHT)
        draw_text(painter, line, short_title(finding), bold, theme.color("text"))
        painter.setFont(theme.font(11))
        painter.setPen(theme.color("text-2" if current else "text-3"))
        if current:
            painter.drawText(text, _WRAP, detail_text(finding))
        else:
            line = QRect(text.left(), rect.top() + 21, text.width(), 15)
            draw_text(painter, line, detail_text(finding), theme.font(11), theme.color("text-3"))
        painter.restore()

    def _finding(self, index: Index) -> Finding:
        model = index.model()
        if not isinstance(model, FindingListModel):
            raise TypeError("this delegate paints findings")
        return model.findings[index.row()]

    @staticmethod
    def _text_rect(rect: QRect) -> QRect:
        return rect.adjusted(30, 21, -52, -3)

    def _lines(self, index: Index, width: int) -> int:
        metrics = QFontMetrics(self._context.theme.current.font(11))
        text = self._text_rect(QRect(0, 0, width, 10_000))
        height = metrics.boundingRect(text, _WRAP, detail_text(self._finding(index))).height()
        return min(MOST_LINES, max(1, -(-height // LINE_HEIGHT)))


class FindingList(QListView):
    """The list; a click or Enter goes to what the finding names."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = FindingListModel(self)
        self.setModel(self.rows)
        self.setItemDelegate(FindingDelegate(context, self))
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Findings, worst first")

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.scheduleDelayedItemsLayout()


class FindingsPanel(Panel):
    """Counts by severity, and the list. N and Shift+N walk through it."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Findings", parent)
        self.header = SectionHeader("Findings", "worst first")
        self._counts = {severity: label("", 12, 600, _TONE[severity]) for severity in SEVERITIES}
        self._icons = {severity: label() for severity in SEVERITIES}
        strip = QWidget()
        line = QHBoxLayout(strip)
        line.setContentsMargins(6, 0, 0, 0)
        line.setSpacing(4)
        for severity in SEVERITIES:
            line.addWidget(self._icons[severity])
            line.addWidget(self._counts[severity])
            line.addSpacing(6)
        self.strip = strip
        self.header.layout().insertWidget(1, strip)  # type: ignore[union-attr]
        self.list = FindingList(context)
        self.list.clicked.connect(self.go)
        self.list.activated.connect(self.go)
        self.empty = label("", 12, 400, "2", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PADDING, 6, 6, 8)
        layout.setSpacing(4)
        layout.addWidget(self.header)
        layout.addWidget(self.empty)
        layout.addWidget(self.list, 1)
        layout.addStretch(0)
        context.went_to.connect(self._follow)
        context.document.reset.connect(self._drawing_changed)
        context.document.changed.connect(self._drawing_changed)
        self.show_report()
        self.show_theme()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order shown."""
        return self.list.rows.findings

    def show_report(self) -> None:
        analysis = self.context.analysis
        keep = self._current_id()
        drawn = self.context.document.document.topology.devices()
        found = analysis.findings if analysis is not None and drawn else ()
        self.list.rows.set_findings(found)
        for row, finding in enumerate(self.findings):
            if finding.id == keep:
                self.list.setCurrentIndex(self.list.rows.index(row))
        numbers = counts(found)
        for severity in SEVERITIES:
            self._counts[severity].setText(str(numbers[severity]))
            self._counts[severity].setAccessibleName(plural(numbers[severity], _NOUN[severity]))
            for widget in (self._counts[severity], self._icons[severity]):
                widget.setVisible(numbers[severity] > 0)
                widget.setToolTip(plural(numbers[severity], _NOUN[severity]))
        self.empty.setText(self._empty_text())
        self.empty.setVisible(not found)
        self.list.setVisible(bool(found))
        self.header.set_note("worst first" if found else "")

    def _drawing_changed(self, *_change: object) -> None:
        """Before the first analysis it is the drawing that says what there is to tell."""
        if self.context.analysis is None:
            self.empty.setText(self._empty_text())

    def show_stale(self) -> None:
        self.list.viewport().update()

    def show_theme(self) -> None:
        theme, ratio = self.context.theme.current, self.devicePixelRatioF()
        for severity, icon in self._icons.items():
            icon.setPixmap(theme.pixmap(_ICON[severity], 14, ratio, theme.color(_TONE[severity])))
        self.list.viewport().update()

    def go(self, index: QModelIndex) -> None:
        """Go to what a finding names, and light it."""
        finding = self.findings[index.row()]
        links, devices = self.existing(frozenset(finding.links)), self.existing(frozenset(finding.devices))
        self.context.set_lit_links(links, devices)
        ids = tuple(name for name in targets(finding) if name in links or name in devices)
        if ids:
            self.context.go_to(ids)

    def next_finding(self, step: int = 1) -> None:
        """Choose the next (−1: the previous) finding and go there; after the last comes the first."""
        if not self.findings:
            return
        current = self.list.currentIndex()
        row = (
            (current.row() + step) % len(self.findings)
            if current.isValid()
            else (0 if step > 0 else -1) % len(self.findings)
        )
        index = self.list.rows.index(row)
        self.list.setCurrentIndex(index)
        self.list.scrollTo(index)
        self.go(index)
        self.context.say(self.findings[row].title)

    def _follow(self, ids: tuple[str, ...]) -> None:
        """Choose the finding that someone else went to."""
        current, wanted = self.list.currentIndex(), set(ids)
        if current.isValid() and set(targets(self.findings[current.row()])) == wanted:
            return
        for row, finding in enumerate(self.findings):
            if targets(finding) and set(targets(finding)) == wanted:
                self.list.setCurrentIndex(self.list.rows.index(row))
                self.list.scrollTo(self.list.rows.index(row))
                return

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_N:
            self.next_finding(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def _current_id(self) -> str:
        index = self.list.currentIndex()
        return self.findings[index.row()].id if index.isValid() and index.row() < len(self.findings) else ""

    def _empty_text(self) -> str:
        if not self.context.document.document.topology.devices():
            return "None: the drawing is empty."
        if self.context.analysis is None:
            return "Computing …"
        return "None: everything drawn takes part, and nothing asks for more than a link or a GPU has."
