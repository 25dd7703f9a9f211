"""Themes: all tokens in both, contrast as promised, four weights of one variable font, all icons."""

from __future__ import annotations

from importlib import resources

import pytest
from PySide6.QtGui import QColor, QFontMetricsF
from PySide6.QtWidgets import QApplication, QLabel

from gui.actions import ACTIONS
from gui.context import AppContext
from gui.theme import Theme, ThemeManager, mix, theme_named
from model.topology.types import ContainerKind, DeviceKind

# Contrast ratios by WCAG 2.2 (relative luminance) of a token on another, as the look's colour table has them.
CONTRAST = [
    ("light", "text", "panel", 16.4), ("light", "text", "canvas", 15.9),
    ("light", "text-2", "panel", 7.9), ("light", "text-2", "canvas", 7.6),
    ("light", "text-3", "panel", 5.7), ("light", "text-3", "canvas", 5.5),
    ("dark", "text", "panel", 14.5), ("dark", "text", "canvas", 15.6),
    ("dark", "text-2", "panel", 9.1), ("dark", "text-2", "canvas", 9.7),
    ("dark", "text-3", "panel", 5.9), ("dark", "text-3", "canvas", 6.3),
    ("light", "accent", "panel", 6.4), ("dark", "accent", "panel", 7.1),
    ("light", "accent-on", "accent", 6.4), ("dark", "accent-on", "accent", 7.6),
    ("light", "ok", "ok-soft", 4.6), ("dark", "ok", "ok-soft", 6.9),
    ("light", "warning", "warning-soft", 5.1), ("dark", "warning", "warning-soft", 7.7),
    ("light", "error", "error-soft", 5.8), ("dark", "error", "error-soft", 5.7),
    ("light", "over-badge-text", "over-badge", 6.3), ("dark", "over-badge-text", "over-badge", 5.0),
    ("light", "device-line", "canvas", 2.4), ("dark", "device-line", "canvas", 3.3),
    ("light", "grid", "canvas", 1.25), ("dark", "grid", "canvas", 1.29),
]  # fmt: skip
RAMP = {
    "light": (1.6, 2.0, 3.3, 4.7, 3.0, 5.1, 9.2),
    "dark": (2.0, 2.8, 5.3, 7.3, 13.1, 6.4, 4.6),
}
THEMES = ("light", "dark")


def luminance(color: QColor) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(value) for value in (color.redF(), color.greenF(), color.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: QColor, second: QColor) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_formula_on_its_ends() -> None:
    assert contrast(QColor("white"), QColor("black")) == pytest.approx(21.0)


@pytest.mark.parametrize(("name", "token", "on", "ratio"), CONTRAST)
def test_contrast_of_tokens(qapp: QApplication, name: str, token: str, on: str, ratio: float) -> None:
    theme = theme_named(name)
    assert contrast(theme.color(token), theme.color(on)) == pytest.approx(ratio, abs=0.06)


@pytest.mark.parametrize("name", THEMES)
def test_both_themes_have_the_same_names(qapp: QApplication, name: str) -> None:
    light, theme = theme_named("light"), theme_named(name)
    assert theme.tokens().keys() == light.tokens().keys()
    assert len(theme.ramp_colors()) == 7 and len(theme.heat()) == 5 and theme.group_count() == 18
    assert all(color.isValid() for color in theme.tokens().values())


@pytest.mark.parametrize("name", THEMES)
def test_ramp_contrast_on_the_canvas(qapp: QApplication, name: str) -> None:
    theme = theme_named(name)
    found = [contrast(color, theme.color("canvas")) for color in theme.ramp_colors()]
    assert found == pytest.approx(RAMP[name], abs=0.06)


@pytest.mark.parametrize("name", THEMES)
def test_numbers_on_groups_can_be_read(qapp: QApplication, name: str) -> None:
    theme = theme_named(name)
    border = 3.35 if name == "light" else 5.45
    for index in range(18):
        assert contrast(theme.group_text(index), theme.group_color(index)) >= 4.45, index
        assert contrast(theme.group_border(index), theme.color("canvas")) >= border, index


@pytest.mark.parametrize("name", THEMES)
def test_kinds_can_be_told_from_the_panel(qapp: QApplication, name: str) -> None:
    theme = theme_named(name)
    for kind in DeviceKind:
        least = 3.75 if (name, kind) == ("light", DeviceKind.NVLINK_SWITCH) else 4.45
        assert contrast(theme.kind_color(kind), theme.color("panel")) >= least, kind


def test_groups_above_the_eighteenth_repeat_with_a_pattern(qapp: QApplication) -> None:
    theme = theme_named("light")
    assert theme.group_color(18) == theme.group_color(0)
    assert len({theme.group_pattern(index) for index in (0, 18, 36)}) == 3


def test_mixing_takes_the_share_of_the_first(qapp: QApplication) -> None:
    assert mix(QColor(200, 100, 0), QColor(0, 0, 0), 0.5).getRgb()[:3] == (100, 50, 0)


def test_unknown_token_is_an_error(qapp: QApplication) -> None:
    with pytest.raises(KeyError):
        theme_named("light").color("no such token")


def test_weights_differ_in_advance(qapp: QApplication) -> None:
    theme = theme_named("light")
    text = "leaf5 to spine2 carries 75.0 GB/s"
    widths = [
        QFontMetricsF(theme.font(24, weight)).horizontalAdvance(text) for weight in (400, 500, 600, 700)
    ]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4


def test_figures_are_tabular(qapp: QApplication) -> None:
    metrics = QFontMetricsF(theme_named("light").font(24, 600))
    assert metrics.horizontalAdvance("1111") == pytest.approx(metrics.horizontalAdvance("8888"))


def test_style_sheet_keeps_the_weight_of_a_widget(context: AppContext) -> None:
    text = "leaf5 to spine2"
    widths = []
    for weight in (400, 700):
        label = QLabel(text)
        label.setFont(context.theme.current.font(24, weight))
        label.ensurePolished()
        widths.append(QFontMetricsF(label.font()).horizontalAdvance(text))
    assert widths[0] < widths[1]


@pytest.mark.parametrize("name", THEMES)
def test_every_kind_and_action_has_an_icon(qapp: QApplication, name: str) -> None:
    theme = Theme(name)
    for kind in (*DeviceKind, *ContainerKind):
        image = theme.device_icon(kind, 24).toImage()
        middle = [image.pixelColor(x, y) for x in range(24) for y in range(24)]
        assert any(color.alpha() > 200 and color.rgb() == theme.kind_color(kind).rgb() for color in middle), (
            kind
        )
    for spec in ACTIONS.values():
        if spec.icon:
            assert not theme.icon(spec.icon).isNull(), spec.id


def test_no_literal_colour_outside_the_theme_files() -> None:
    import re

    text = (resources.files("resources") / "themes" / "window.qss").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", text)
    assert "font" not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def test_choice_is_kept_and_announced(qapp: QApplication) -> None:
    manager = ThemeManager()
    manager.set_choice("light")
    seen: list[str] = []
    manager.changed.connect(lambda: seen.append(manager.current.name))
    manager.toggle()
    manager.set_choice("dark")
    assert seen == ["dark"]
    assert ThemeManager().current.name == "dark"
    with pytest.raises(ValueError, match="light"):
        manager.set_choice("sepia")


def test_application_takes_the_theme(context: AppContext) -> None:
    for choice in THEMES:
        context.theme.set_choice(choice)
        palette = QApplication.palette()
        assert palette.window().color() == context.theme.current.color("panel")
        assert context.theme.current.color("accent").name() in QApplication.instance().styleSheet()  # type: ignore[union-attr]
