"""Small helpers that give widgets their type, tone and icons."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QFrame, QLabel, QWidget

from gui.theme import ThemeManager, theme_named


def set_style(widget: QWidget, **properties: object) -> None:
    """Set properties that the style sheet asks for (role, tone, soft, mark) and let them take effect."""
    changed = False
    for name, value in properties.items():
        if widget.property(name) != value:
            widget.setProperty(name, value)
            changed = True
    if changed:
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        # Frames keep the padding of the old rule until they hear of the new one.
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
        widget.updateGeometry()
        widget.update()


def set_font(widget: QWidget, px: float, weight: int = 400) -> None:
    """Give a widget a size and a weight (fonts are the same in both themes)."""
    widget.setFont(theme_named("light").font(px, weight))


def pad_spin(spin: QAbstractSpinBox) -> None:
    """Set the figures of a spin box off its border, which its style sheet does not."""
    spin.lineEdit().setTextMargins(4, 0, 0, 0)


def label(text: str = "", px: float = 12, weight: int = 400, tone: str = "", *, wrap: bool = False) -> QLabel:
    """A plain-text label; `tone` is "2", "3", "accent", "ok", "warning" or "error"."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wrap)
    set_font(made, px, weight)
    if tone:
        made.setProperty("tone", tone)
    return made


def separator(*, vertical: bool = False) -> QFrame:
    """A line of one pixel."""
    line = QFrame()
    line.setProperty("role", "separator")
    if vertical:
        line.setFixedWidth(1)
    else:
        line.setFixedHeight(1)
    return line


class _ThemedIcon(QObject):
    """Keeps the icon of a button in the colours of the theme; lives and ends with the button."""

    def __init__(self, button: QAbstractButton, theme: ThemeManager) -> None:
        super().__init__(button)
        self._button = button
        self._theme = theme
        self.wanted = ("", "", "")
        theme.changed.connect(self.show)

    def show(self) -> None:
        self._button.setIcon(self._theme.current.icon(*self.wanted))


def themed_icon(
    button: QAbstractButton,
    theme: ThemeManager,
    name: str,
    *,
    token: str = "text-2",
    on_token: str = "accent",
    px: int = 16,
) -> None:
    """Give a button an icon that follows the theme; call again to change it."""
    button.setIconSize(QSize(px, px))
    keeper = button.findChild(_ThemedIcon, options=Qt.FindChildOption.FindDirectChildrenOnly)
    if keeper is None:
        keeper = _ThemedIcon(button, theme)
    keeper.wanted = (name, token, on_token)
    keeper.show()
