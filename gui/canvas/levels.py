"""Which detail is drawn at which zoom."""

from __future__ import annotations

from enum import IntEnum

HYSTERESIS = 0.10


class Level(IntEnum):
    """Levels of detail, from far to near. Each begins at its zoom and goes up to the next."""

    SITES = 0  # below 3 %: pods as tiles
    TILES = 1  # 3–12 %: racks as tiles, switches as tiers, one bundle per tier
    NODES = 2  # 12–40 %: GPU fills without numbers, one bundle per node and leaf
    RANKS = 3  # 40–90 %: ranks, NICs, one line each in two halves
    PORTS = 4  # above 90 %: names at the ends, rates, arrowheads


STARTS = {Level.SITES: 0.0, Level.TILES: 0.03, Level.NODES: 0.12, Level.RANKS: 0.40, Level.PORTS: 0.90}


def level_at(zoom: float) -> Level:
    """The level that a zoom belongs to when nothing was drawn before."""
    return max(level for level, start in STARTS.items() if zoom >= start)


def next_level(current: Level, zoom: float) -> Level:
    """The level after zooming: it rises at its boundary, and falls only 10 % below it."""
    wanted = level_at(zoom)
    if wanted < current and zoom >= STARTS[current] * (1 - HYSTERESIS):
        return current
    return wanted
