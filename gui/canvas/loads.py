"""The one table of how load and capacity look; painters and legend both read it.

Seven flat steps of utilisation, the width of a line by its capacity, and when a link is oversubscribed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
StepArray = NDArray[np.uint8]

STEP_COUNT = 7
STEP_BOUNDS = (0.10, 0.25, 0.50, 0.75, 0.90)
STEP_LABELS = ("0", "10", "25", "50", "75", "90", "100")
IDLE_STEP = 0
OVER_STEP = STEP_COUNT

_SLACK = 1e-6  # rates come as float32; 0.9 must not fall below its boundary by rounding
_BOUNDS = np.array(STEP_BOUNDS) - _SLACK

REFERENCE_BYTES_PER_S = 25e9
TRAY_FACTOR = 0.5
FABRIC_FACTOR = 0.9
CABLES_FACTOR = 0.6
BUNDLE_FACTOR = 0.42
BUNDLE_LIMIT = 10.0
OVER_EXTRA = 3.0
STRIPE = (2.2, 5.2)
"""A white cross stripe of 2.2 px in every 7.4 px."""


def steps_of(utilisation: NDArray[np.floating]) -> StepArray:
    """The step (0 idle … 6 for 90–100 %) of each utilisation; a value on a boundary goes up."""
    steps = np.searchsorted(_BOUNDS, utilisation, side="right").astype(np.uint8) + 1
    steps[~(np.asarray(utilisation) > 0)] = IDLE_STEP
    return steps


def line_width(capacity_bytes_per_s: NDArray[np.floating]) -> FloatArray:
    """Width in px of one direction: max(1, 1 + 0.75·log2(capacity ÷ 25 GB/s)); a dead link gets 1."""
    share = np.maximum(np.asarray(capacity_bytes_per_s, dtype=np.float64), 1.0) / REFERENCE_BYTES_PER_S
    return np.maximum(1.0, 1.0 + 0.75 * np.log2(share))


def oversubscribed(ratio: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Where offered ÷ capacity is above 1 (rounding of float32 aside)."""
    return np.asarray(ratio) > 1.0 + _SLACK
