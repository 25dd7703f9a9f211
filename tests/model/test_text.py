"""How figures read: SI units, three digits, a typographic minus (worked out by hand)."""

from __future__ import annotations

import pytest

from model.text import (
    capital,
    format_bytes,
    format_percent,
    format_port,
    format_ratio,
    format_seconds,
    name_list,
    plural,
    sentence,
    three_digits,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234, "1,230"), (999.6, "1,000"), (99.95, "100"), (9.994, "9.99"), (0.01234, "0.0123"),
     (-2.5, "−2.50"), (-1234567, "−1,230,000")],
)  # fmt: skip
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 s"), (-3e-16, "0 s"), (4.142, "4.14 s"), (0.0123, "12.3 ms"), (0.9996, "1.00 s"),
     (25e-6, "25.0 µs"), (-0.002, "−2.00 ms")],
)  # fmt: skip
def test_seconds(value: float, text: str) -> None:
    assert format_seconds(value) == text


def test_units_carry_to_the_next_prefix() -> None:
    assert format_bytes(117_440_512) == "117 MB"
    assert format_bytes(999_600_000) == "1.00 GB"
    assert format_port(5e10) == "400G"
    assert format_ratio(1.5) == "1.50×"
    assert format_percent(0.319) == "31.9 %"


def test_words() -> None:
    assert [plural(1, "GPU"), plural(1200, "GPU"), plural(2, "leaf", "leaves")] == [
        "1 GPU",
        "1,200 GPUs",
        "2 leaves",
    ]
    assert name_list(list("abcd")) == "a, b, c, d"
    assert name_list([str(number) for number in range(15)]) == "0, 1, 2 and 12 more"
    assert capital("stage 1 is full") == "Stage 1 is full"
    assert sentence("tp 3 does not fit") == sentence("Tp 3 does not fit.") == "Tp 3 does not fit."
