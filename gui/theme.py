"""Colours, fonts and icons of the window, read from `resources/themes` and `resources/icons`.

No other module names a colour or a font. Sizes are pixels at 100 % text size.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, QTemporaryDir, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from gui.settings import settings

CHOICES = ("system", "light", "dark")
_ICON_SIZES = (16, 20, 24, 32, 40, 48, 96)


@cache
def _font_family() -> str:
    """Inter where it is installed, else the sans of the system."""
    spec = find_spec("fontpkg_inter")
    if spec is not None and spec.origin is not None:
        for path in sorted(Path(spec.origin).parent.glob("files/*.ttf")):
            if "Italic" in path.name:
                continue
            families = QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(path)))
            if families:
                return families[0]
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()


def text_scale() -> float:
    """How much larger than usual the system wants text (1.0 … 2.0)."""
    screen = QGuiApplication.primaryScreen()
    return min(2.0, max(1.0, screen.logicalDotsPerInch() / 96.0)) if screen is not None else 1.0


@cache
def _font(px: float, weight: int) -> QFont:
    font = QFont(_font_family())
    font.setPixelSize(max(1, round(px * text_scale())))
    # Inter is one variable file: setWeight alone paints 500 and 600 as 400 and fakes 700.
    font.setVariableAxis(QFont.Tag("wght"), float(weight))
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@cache
def _icon_text(name: str) -> str:
    return (resources.files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def mix(first: QColor, second: QColor, share: float) -> QColor:
    """`share` of `first` and the rest of `second`."""
    return QColor.fromRgbF(
        *(
            a * share + b * (1 - share)
            for a, b in zip(first.getRgbF()[:3], second.getRgbF()[:3], strict=True)  # type: ignore[index]
        )
    )


class Theme:
    """One set of colours. Raises KeyError for a name that no theme has."""

    def __init__(self, name: str) -> None:
        text = (resources.files("resources") / "themes" / f"{name}.json").read_text(encoding="utf-8")
        data: dict[str, Any] = json.loads(text)
        self.name: str = data["name"]
        self.dark: bool = data["dark"]
        self._colors = {token: QColor(value) for token, value in data["tokens"].items()}
        self._kinds = {kind: QColor(value) for kind, value in data["kinds"].items()}
        self._colors |= {f"kind:{kind}": color for kind, color in self._kinds.items()}
        for token, (first, second, share) in data["mixes"].items():
            self._colors[token] = mix(self._colors[first], self._colors[second], share)
        for token, other in data["same_as"].items():
            self._colors[token] = self._colors[other]
        self._groups = tuple(QColor(value) for value in data["groups"])
        self._white_on_groups = frozenset(data["white_on_groups"])
        self._group_text = tuple(QColor(value) for value in data["group_text"])
        self._ramp = tuple(QColor(value) for value in data["ramp"])
        self._heat = tuple(QColor(value) for value in data["heat"])
        self._icons: dict[tuple[str, str, str], QIcon] = {}
        self._pixmaps: dict[tuple[str, int, float, str], QPixmap] = {}

    # --- colours -------------------------------------------------------------------------------------------

    def color(self, token: str) -> QColor:
        """The colour of a token: "panel", "text-2", "accent-soft", "forward", "kind:gpu" …"""
        return QColor(self._colors[token])

    def tokens(self) -> dict[str, QColor]:
        """Every token with its colour."""
        return {token: QColor(color) for token, color in self._colors.items()}

    def kind_color(self, kind: str) -> QColor:
        """The hue of a kind of device or container, for its icon only."""
        return QColor(self._kinds[str(kind)])

    def group_color(self, index: int) -> QColor:
        """The fill of a group; it repeats after `group_count()` (then with `group_pattern`)."""
        return QColor(self._groups[index % len(self._groups)])

    def group_text(self, index: int) -> QColor:
        """The colour of a number on the fill of a group."""
        return QColor(self._group_text[0 if index % len(self._groups) in self._white_on_groups else 1])

    def group_border(self, index: int) -> QColor:
        """The border of a group's fill; a fill is never drawn without it."""
        return mix(self.group_color(index), self.color("text"), 0.45)

    def group_pattern(self, index: int) -> Qt.BrushStyle:
        """What lies over the fill: nothing, a diagonal hatch from the 19th group on, dots after that."""
        lap = index // len(self._groups)
        if lap == 0:
            return Qt.BrushStyle.SolidPattern
        return Qt.BrushStyle.BDiagPattern if lap % 2 else Qt.BrushStyle.Dense6Pattern

    def group_count(self) -> int:
        """How many fills differ."""
        return len(self._groups)

    def ramp(self, step: int) -> QColor:
        """The utilisation ramp: 0 idle, 1 up to 10 %, 2 to 25, 3 to 50, 4 to 75, 5 to 90, 6 to 100."""
        return QColor(self._ramp[step])

    def ramp_colors(self) -> tuple[QColor, ...]:
        """The seven steps of the utilisation ramp."""
        return self._ramp

    def heat(self) -> tuple[QColor, ...]:
        """The five stops of the matrix's log scale; the first is zero."""
        return self._heat

    # --- type ----------------------------------------------------------------------------------------------

    def font(self, px: float, weight: int = 400) -> QFont:
        """Inter with tabular figures; `weight` is 400, 500, 600 or 700."""
        return QFont(_font(px, weight))

    # --- icons ---------------------------------------------------------------------------------------------

    def icon(self, name: str, token: str = "text-2", on_token: str = "accent") -> QIcon:
        """An action icon in the colour of `token`, in that of `on_token` while switched on or chosen."""
        key = (name, token, on_token)
        if key not in self._icons:
            icon = QIcon()
            faint = mix(self.color("text-3"), self.color("panel"), 0.5)
            for size in _ICON_SIZES:
                for mode, state, color in (
                    (QIcon.Mode.Normal, QIcon.State.Off, self.color(token)),
                    (QIcon.Mode.Normal, QIcon.State.On, self.color(on_token)),
                    (QIcon.Mode.Disabled, QIcon.State.Off, faint),
                    (QIcon.Mode.Disabled, QIcon.State.On, faint),
                ):
                    icon.addPixmap(self._paint(name, size, 1.0, color), mode, state)
            self._icons[key] = icon
        return self._icons[key]

    def device_icon(self, kind: str, size: int, ratio: float = 1.0, color: QColor | None = None) -> QPixmap:
        """The icon of a kind of device, `size` logical pixels wide, in the kind's hue or in `color`."""
        return self.pixmap(str(kind), size, ratio, self.kind_color(kind) if color is None else color)

    def pixmap(self, name: str, size: int, ratio: float, color: QColor) -> QPixmap:
        """Any icon of `resources/icons` as a pixmap, `size` logical pixels wide."""
        key = (name, size, ratio, color.name())
        if key not in self._pixmaps:
            self._pixmaps[key] = self._paint(name, size, ratio, color)
        return self._pixmaps[key]

    def app_icon(self) -> QIcon:
        """The icon of the program."""
        icon = QIcon()
        for size in (16, 24, 32, 48, 64, 128, 256):
            icon.addPixmap(self._paint("app", size, 1.0, self.color("accent")))
        return icon

    def svg(self, name: str, color: QColor) -> str:
        """The text of an icon in `color`."""
        text = _icon_text(name).replace("currentColor", color.name())
        text = text.replace("cutColor", self.color("panel").name())
        text = text.replace('"accent-on"', f'"{self.color("accent-on").name()}"')
        return text.replace('"accent"', f'"{self.color("accent").name()}"')

    def _paint(self, name: str, size: int, ratio: float, color: QColor) -> QPixmap:
        renderer = QSvgRenderer(QByteArray(self.svg(name, color).encode()))
        pixmap = QPixmap(QSize(round(size * ratio), round(size * ratio)))
        pixmap.fill(Qt.GlobalColor.transparent)
        with QPainter(pixmap) as painter:
            renderer.render(painter, QRectF(pixmap.rect()))
        pixmap.setDevicePixelRatio(ratio)
        return pixmap

    # --- the application's style ---------------------------------------------------------------------------

    def palette(self) -> QPalette:
        """The palette for everything that the style sheet leaves alone."""
        palette = QPalette()
        role = QPalette.ColorRole
        faint = mix(self.color("text-3"), self.color("panel"), 0.6)
        for name, token in (
            (role.Window, "panel"), (role.WindowText, "text"), (role.Base, "raised"),
            (role.AlternateBase, "panel"), (role.Text, "text"), (role.Button, "raised"),
            (role.ButtonText, "text"), (role.BrightText, "accent-on"),
            (role.ToolTipBase, "panel"), (role.ToolTipText, "text"), (role.PlaceholderText, "text-3"),
            (role.Highlight, "accent"), (role.HighlightedText, "accent-on"), (role.Link, "accent"),
            (role.LinkVisited, "accent"), (role.Accent, "accent"), (role.Light, "panel"),
            (role.Midlight, "line"), (role.Mid, "line"), (role.Dark, "strong"), (role.Shadow, "strong"),
        ):  # fmt: skip
            palette.setColor(name, self.color(token))
        for name in (role.WindowText, role.Text, role.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, name, faint)
        return palette

    def style_sheet(self, image_folder: Path) -> str:
        """The application's style sheet; `image_folder` takes the few images that it names."""
        text = (resources.files("resources") / "themes" / "window.qss").read_text(encoding="utf-8")
        for name, token in re.findall(r"@image\((\S+) (\S+)\)", text):
            path = image_folder / f"{self.name}-{name}-{token}.svg"
            path.write_text(self.svg(name, self.color(token)), encoding="utf-8")
            text = text.replace(f"@image({name} {token})", f'url("{path.as_posix()}")')
        return re.sub(r"@([a-z][a-z0-9-]*)", lambda match: self.color(match[1]).name(), text)


@cache
def _image_folder() -> QTemporaryDir:
    """Holds the images of the style sheets, for as long as the program runs."""
    return QTemporaryDir()


@cache
def theme_named(name: str) -> Theme:
    """The theme "light" or "dark"."""
    return Theme(name)


class ThemeManager(QObject):
    """The theme in use. `choice` is "system", "light" or "dark" and survives the program."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        stored = str(settings().value("theme", "system"))
        self._choice = stored if stored in CHOICES else "system"
        self._current = self._wanted()
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._system_changed)

    @property
    def current(self) -> Theme:
        """The theme to draw with."""
        return self._current

    @property
    def choice(self) -> str:
        """What the user asked for."""
        return self._choice

    def set_choice(self, choice: str) -> None:
        """Follow the system, or stay light or dark."""
        if choice not in CHOICES:
            raise ValueError(f"the theme is one of {', '.join(CHOICES)}, not {choice!r}")
        self._choice = choice
        settings().setValue("theme", choice)
        self._use(self._wanted())

    def toggle(self) -> None:
        """From light to dark or back."""
        self.set_choice("light" if self._current.dark else "dark")

    def apply(self) -> None:
        """Give the application the font, palette and style sheet of the current theme."""
        application = cast(QApplication, QApplication.instance())
        application.setFont(self._current.font(12))
        application.setPalette(self._current.palette())
        sheet = self._current.style_sheet(Path(_image_folder().path()))
        if application.styleSheet() != sheet:  # setting it again would style every widget anew
            application.setStyleSheet(sheet)
        application.setWindowIcon(self._current.app_icon())

    def _wanted(self) -> Theme:
        if self._choice != "system":
            return theme_named(self._choice)
        dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return theme_named("dark" if dark else "light")

    def _system_changed(self) -> None:
        if self._choice == "system":
            self._use(self._wanted())

    def _use(self, theme: Theme) -> None:
        if theme is self._current:
            return
        self._current = theme
        self.apply()
        self.changed.emit()
