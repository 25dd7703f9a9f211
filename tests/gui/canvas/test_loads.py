"""The one table of load and capacity: steps at their boundaries, widths, pattern above 1."""

from __future__ import annotations

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from gui.canvas.bulk_links import colour_table
from gui.canvas.loads import line_width, oversubscribed, steps_of
from gui.theme import theme_named


@pytest.mark.parametrize(
    ("utilisation", "step"),
    [
        (0.0, 0), (1e-9, 1), (0.0999, 1), (0.10, 2), (0.2499, 2), (0.25, 3), (0.4999, 3), (0.50, 4),
        (0.7499, 4), (0.75, 5), (0.8999, 5), (0.90, 6), (1.0, 6),
    ],
)  # fmt: skip
def test_a_value_on_a_boundary_goes_up(utilisation: float, step: int) -> None:
    assert steps_of(np.array([utilisation])).tolist() == [step]


def test_rates_of_single_precision_keep_their_step() -> None:
    boundaries = np.array([0.1, 0.25, 0.5, 0.75, 0.9], dtype=np.float32)
    assert steps_of(boundaries).tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("capacity", "width"),
    # 200G 1 · 400G 1.75 · 800G 2.5 · ×5 NVLink 2.7 · ×8 NVLink 5 4 · ×18 NVLink 4 4.1 · 900 GB/s 4.9
    [
        (25e9, 1.0),
        (50e9, 1.75),
        (100e9, 2.5),
        (125e9, 2.7),
        (400e9, 4.0),
        (450e9, 4.1),
        (900e9, 4.9),
        (1e9, 1.0),
    ],
)
def test_width_of_a_line(capacity: float, width: float) -> None:
    assert line_width(np.array([capacity]))[0] == pytest.approx(width, abs=0.05)


def test_a_link_that_carries_all_it_can_is_not_oversubscribed() -> None:
    assert oversubscribed(np.array([1.0, np.float32(1.0000001), 1.01, 0.5])).tolist() == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["light", "dark"])
def test_colours_of_the_bulk_painter_are_those_of_the_ramp(qtbot: QtBot, name: str) -> None:
    theme = theme_named(name)
    table = colour_table(theme)
    full = [f"#{int(color) & 0xFFFFFF:06x}" for color in table[:, 7]]
    assert full == [color.name() for color in theme.ramp_colors()] + [theme.color("over").name()]
    striped = [f"#{int(color) & 0xFFFFFF:06x}" for color in table[:, 15]]
    assert striped[:-1] == full[:-1]
    assert striped[-1] == theme.color("over-badge-text").name()
    alpha = (table >> 24)[:, 1:8].astype(int)
    assert (np.diff(alpha, axis=1) > 0).all()
