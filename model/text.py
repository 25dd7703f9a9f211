"""How figures are written for people: SI units, three digits, a typographic minus.

Every text that a user reads (command line, findings, window) formats its numbers here, so that the
same figure reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

_SI = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
)
_NOTHING_S = 1e-12


def three_digits(value: float) -> str:
    """`value` with three significant digits and no exponent: 1234 → "1,230", 0.01234 → "0.0123"."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 999.5:
        digits = len(str(round(magnitude))) - 3
        return f"{round(value, -digits):,.0f}".replace("-", "−")
    for limit, places in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3), (0.009995, 4)):
        if magnitude >= limit:
            return f"{value:.{places}f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


def si(value: float, unit: str) -> str:
    """`value` with an SI prefix: (117440512, "B") → "117 MB"."""
    for factor, prefix in _SI:
        if abs(value) >= 0.9995 * factor:
            return f"{three_digits(value / factor)} {prefix}{unit}"
    return f"{three_digits(value)} {unit}"


def format_bytes(value: float) -> str:
    """Bytes, decimal: 117440512 → "117 MB"."""
    return si(value, "B")


def format_rate(bytes_per_s: float) -> str:
    """A rate in bytes per second: 5e10 → "50.0 GB/s"."""
    return si(bytes_per_s, "B/s")


def format_port(bytes_per_s: float) -> str:
    """A network port speed the way people name it: 5e10 → "400G", 2.5e9 → "20G"."""
    return f"{bytes_per_s * 8 / 1e9:,.4g}G"


def format_seconds(value: float) -> str:
    """A duration: 0.0123 → "12.3 ms", 4.142 → "4.14 s"; what rounding left of nothing is "0 s"."""
    magnitude = abs(value)
    if magnitude < _NOTHING_S:
        return "0 s"
    if magnitude >= 0.9995:
        return f"{three_digits(value)} s"
    if magnitude >= 0.9995e-3:
        return f"{three_digits(value * 1e3)} ms"
    return f"{three_digits(value * 1e6)} µs"


def format_ratio(value: float) -> str:
    """A ratio with two decimals: 1.5 → "1.50×"."""
    return f"{value:,.2f}×"


def format_percent(fraction: float) -> str:
    """A fraction as percent: 0.319 → "31.9 %"."""
    return f"{three_digits(fraction * 100)} %"


def format_share(fraction: float) -> str:
    """A share as percent; what is there but less than two decimals show is "< 0.01 %"."""
    return "< 0.01 %" if 0 < fraction < 1e-4 else format_percent(fraction)


def format_power(watts: float) -> str:
    """Power in kilowatts: 10200 → "10.2 kW"."""
    return f"{three_digits(watts / 1000)} kW"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """A count with its noun: (1, "GPU") → "1 GPU", (2, "GPU") → "2 GPUs"."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def whole(value: int) -> str:
    """The value of a field in a sentence: four digits plain, as people type them, (1024) → "1024", more with
    separators, (131072) → "131,072".
    """
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def capital(text: str) -> str:
    """With a capital at the start: "stage 1" → "Stage 1"."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """With a capital at the start and a full stop: "stage 3 does not fit" → "Stage 3 does not fit."."""
    return capital(text).rstrip(".") + "."


def name_list(names: Sequence[str], most: int = 4) -> str:
    """Names for a sentence, cut after `most`: "a, b, c and 12 more"."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} more"
