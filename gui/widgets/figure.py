"""A figure that can say how it was worked out, and the pop-up that says it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.style import label, set_font, set_style
from model.text import format_bytes, format_percent, format_rate, format_seconds, si, three_digits

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.step.report import Figure

_PLAIN_UNITS = frozenset({"%", "GPU", "GPUs", "tokens", "tokens/s"})
_ENDINGS = (
    ("_bytes_per_s", format_rate),
    ("_bytes", format_bytes),
    ("_flops_per_s", lambda value: si(value, "FLOP/s")),
    ("_s", format_seconds),
)
_CAPITALS = {name: name.upper() for name in ("tp", "cp", "ep", "pp", "dp", "hbm")} | {"gpus": "GPUs"}


def value_text(figure: Figure) -> str:
    """The value of a figure with its unit: (117440512, "B") → "117 MB"."""
    if figure.unit in ("", "1"):
        return format_percent(figure.value) if abs(figure.value) <= 1 else three_digits(figure.value)
    if figure.unit in _PLAIN_UNITS:
        return f"{three_digits(figure.value)} {figure.unit}"
    if figure.unit == "s":
        return format_seconds(figure.value)
    return si(figure.value, figure.unit)


def input_text(value: float | int | str) -> str:
    """An input of a figure: whole numbers in full, others with three digits."""
    if isinstance(value, bool | str):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    return three_digits(value) if 1e-3 <= abs(value) < 1e15 else f"{value:.4g}".replace("-", "−")


def input_row(name: str, value: float | int | str) -> tuple[str, str]:
    """An input in words, with the unit that its name ends in: ("time_s", 4.1) → ("time", "4.10 s")."""
    for ending, write in _ENDINGS:
        if name.endswith(ending) and not isinstance(value, str):
            return _words(name.removesuffix(ending)), write(value)
    if "flops" in name and not isinstance(value, str):
        return _words(name.replace("flops", "FLOPs")), si(value, "FLOP")
    return _words(name), input_text(value)


def _words(name: str) -> str:
    return " ".join(_CAPITALS.get(word, word) for word in name.split("_")).strip() or "value"


def derivation_html(title: str, figure: Figure) -> str:
    """How a figure was worked out, for a tool tip."""
    rows = "".join(
        f"<tr><td>{escape(name)}&nbsp;&nbsp;</td><td align='right'>{escape(value)}</td></tr>"
        for name, value in (input_row(*item) for item in figure.inputs.items())
    )
    source = f"<div>{escape(figure.source)}</div>" if figure.source else ""
    note = f"<div><i>{escape(figure.note)}</i></div>" if figure.note else ""
    return (
        f"<div><b>{escape(title)}</b> = {escape(value_text(figure))}</div>"
        f"<div>{escape(figure.formula)}</div><table>{rows}</table>{note}{source}"
    )


def figure_of(widget: QWidget | None, screen: QPoint | None) -> tuple[str, Figure] | None:
    """Title and figure that a widget, or what it lies in, shows at a point of the screen (None: at its
    current place). Widgets that paint figures have `figure_at(point of theirs or None)`.
    """
    while widget is not None:
        find = getattr(widget, "figure_at", None)
        if find is not None:
            area = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
            found: tuple[str, Figure] | None = find(
                area.mapFromGlobal(screen) if screen is not None else None
            )
            if found is not None:
                return found
        widget = widget.parentWidget()
    return None


class FigureLabel(QLabel):
    """A number with its derivation: on hover as a tool tip, with Enter or a click in a pop-up. F1 comes from
    the window, which looks under the pointer first.
    """

    def __init__(
        self,
        context: AppContext,
        title: str,
        px: float = 12,
        weight: int = 700,
        tone: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._title = title
        self._figure: Figure | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        set_font(self, px, weight)
        if tone:
            self.setProperty("tone", tone)
        self.setAccessibleName(title)

    @property
    def figure(self) -> Figure | None:
        """The derivation shown."""
        return self._figure

    def set_figure(self, text: str, figure: Figure | None, title: str | None = None) -> None:
        """Show `text`; without a figure there is nothing to explain."""
        if title is not None:
            self._title = title
        self._figure = figure
        self.setText(text)
        self.setAccessibleName(f"{self._title}: {text}")
        self.setToolTip(derivation_html(self._title, figure) if figure is not None else "")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if figure is not None else Qt.FocusPolicy.NoFocus)
        shape = Qt.CursorShape.WhatsThisCursor if figure is not None else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)

    def figure_at(self, _at: QPoint | None) -> tuple[str, Figure] | None:
        """What F1 explains: its own figure, wherever it is pointed at."""
        return (self._title, self._figure) if self._figure is not None else None

    def explain(self) -> None:
        """Open the pop-up."""
        if self._figure is not None:
            self._context.explain(self._title, self._figure)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.explain()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.explain()


class ExplainPopup(QFrame):
    """How a figure was worked out: formula in words, inputs, what is often said wrongly of it, source. Esc or
    a click elsewhere closes it.
    """

    def __init__(self, title: str, figure: Figure, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("role", "popup")
        self.setAccessibleName(f"How {title} was worked out")
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(label(title, 14, 600))
        head.addStretch(1)
        head.addWidget(label(value_text(figure), 14, 700))
        column.addLayout(head)
        formula = label(figure.formula, 12, 400, "2", wrap=True)
        formula.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        formula.setMinimumWidth(320)
        column.addWidget(formula)
        if figure.inputs:
            grid = QGridLayout()
            grid.setHorizontalSpacing(18)
            grid.setVerticalSpacing(3)
            for row, (name, value) in enumerate(input_row(*item) for item in figure.inputs.items()):
                grid.addWidget(label(name, 11, 400, "3"), row, 0)
                grid.addWidget(label(value, 11, 600), row, 1, Qt.AlignmentFlag.AlignRight)
            column.addLayout(grid)
        if figure.note:
            note = label(figure.note, 11, 500, "warning", wrap=True)
            set_style(note, soft="warning")
            column.addWidget(note)
        if figure.source:
            column.addWidget(label(figure.source, 10, 400, "3", wrap=True))
        close = QPushButton("Close")
        close.clicked.connect(self.close)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        close.setFocus()

    def show_at(self, point: QPoint) -> None:
        """Open near a point of the screen, wholly on it."""
        self.adjustSize()
        area = self.screen().availableGeometry()
        x = min(max(area.left() + 8, point.x()), area.right() - self.width() - 8)
        y = min(max(area.top() + 8, point.y()), area.bottom() - self.height() - 8)
        self.move(x, y)
        self.show()


def mark(widget: QWidget, severity: str) -> None:
    """Mark a field: "error", "warning" or "" (none)."""
    set_style(widget, mark=severity)
