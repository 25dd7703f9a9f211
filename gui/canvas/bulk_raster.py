"""Lines rastered into a buffer of keys with numpy alone; see `link_painters.BulkLinks` for what a key means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gui.canvas.loads import STRIPE
from gui.canvas.scene_index import FloatArray

COVERAGES = 8
KEYS_A_HALF = 2 * COVERAGES
_CHUNK = 400_000  # pixels of one pass, so that scratch arrays stay small


def raster_halves(
    flat: FloatArray, width: FloatArray, size: tuple[int, int], *, smooth: bool
) -> NDArray[np.int32]:
    """Raster strands in their order, later ones on top, into a flat buffer of `size` = (columns, rows) pixels.

    `flat` (s, 2k + 1, 2) are points in device pixels and `width` (s,) line widths. Half h of strand i has number
    2·i + h; its keys are number · 16 + stripe · 8 + coverage. Without `smooth` lines are whole pixels.
    """
    columns, rows = size
    buffer = np.zeros(columns * rows, dtype=np.int32)
    begin, end, half, offset, wide = _pieces(flat, width)
    begin, end, half, offset, wide = _clipped(begin, end, half, offset, wide, size)
    if not len(half):
        return buffer
    major = np.abs(end - begin).argmax(axis=1)
    lengths = np.maximum(np.ceil(np.abs(end - begin).max(axis=1)), 1).astype(np.int64)
    bands = int(np.ceil(wide.max() * 1.42)) + (2 if smooth else 0)
    bands = max(1, bands)
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(_CHUNK, int(lengths.sum()) + _CHUNK, _CHUNK)) + 1
    edges: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    cores: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    start = 0
    for stop in cuts.tolist():
        part = slice(start, stop)
        start = stop
        if part.start >= len(half):
            break
        where, key = _pixels(begin[part], end[part], half[part], offset[part], wide[part], major[part],
                             lengths[part], bands, size, smooth)  # fmt: skip
        core = (key & (COVERAGES - 1)) >= COVERAGES // 2
        edges.append((where[~core], key[~core]))
        cores.append((where[core], key[core]))
    # faint edges first, so that no edge of a line cuts into the body of another
    for where, key in (*edges, *cores):
        buffer[where] = key
    return buffer


def _pieces(
    flat: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray, FloatArray]:
    """Straight pieces with the half they belong to and how far along their strand they begin."""
    strands, points = flat.shape[:2]
    begin, end = flat[:, :-1], flat[:, 1:]
    length = np.hypot(*np.moveaxis(end - begin, 2, 0))
    offset = np.cumsum(length, axis=1) - length
    second = np.arange(points - 1) >= (points - 1) // 2
    half = 2 * np.arange(strands)[:, None] + second[None, :]
    wide = np.repeat(width, points - 1)
    return begin.reshape(-1, 2), end.reshape(-1, 2), half.ravel(), offset.ravel(), wide


def _clipped(
    begin: FloatArray,
    end: FloatArray,
    half: NDArray[np.int64],
    offset: FloatArray,
    wide: FloatArray,
    size: tuple[int, int],
) -> tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray, FloatArray]:
    """Only pieces that may touch the picture."""
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    seen = (high[:, 0] >= -8) & (high[:, 1] >= -8) & (low[:, 0] <= size[0] + 8) & (low[:, 1] <= size[1] + 8)
    return begin[seen], end[seen], half[seen], offset[seen], wide[seen]


def _pixels(
    begin: FloatArray,
    end: FloatArray,
    half: NDArray[np.int64],
    offset: FloatArray,
    wide: FloatArray,
    major: NDArray[np.int64],
    lengths: NDArray[np.int64],
    bands: int,
    size: tuple[int, int],
    smooth: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Flat pixel numbers and keys of some pieces, in their order."""
    piece = np.repeat(np.arange(len(half)), lengths)
    along = np.arange(len(piece)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    t = (along + 0.5) / lengths[piece]
    point = begin[piece] + (end - begin)[piece] * t[:, None]
    lengthwise = major[piece]
    rows = np.arange(len(piece))
    across = point[rows, 1 - lengthwise]
    step = np.floor(point[rows, lengthwise])
    run = np.hypot(*(end - begin).T)
    slope = (run / np.maximum(np.abs(end - begin).max(axis=1), 1e-9))[piece]
    reach = wide[piece] * slope / 2
    arc = offset[piece] + t * run[piece]
    stripe = (arc % sum(STRIPE)) < STRIPE[0]
    first = np.floor(across - reach) if smooth else np.floor(across - reach + 0.5)
    pixel = first[:, None] + np.arange(bands)
    cover = np.minimum(pixel + 1, (across + reach)[:, None]) - np.maximum(pixel, (across - reach)[:, None])
    if smooth:
        level = np.clip(np.rint(cover * (COVERAGES - 1)), 0, COVERAGES - 1).astype(np.int64)
    else:
        thick = np.maximum(np.rint(2 * reach), 1)
        level = np.where(np.arange(bands) < thick[:, None], COVERAGES - 1, 0)
    x = np.where((lengthwise == 0)[:, None], step[:, None], pixel)
    y = np.where((lengthwise == 0)[:, None], pixel, step[:, None])
    inside = (level > 0) & (x >= 0) & (y >= 0) & (x < size[0]) & (y < size[1])
    key = (half[piece] * KEYS_A_HALF + stripe * COVERAGES)[:, None] + level
    where = (y * size[0] + x)[inside].astype(np.int64)
    return where, key[inside].astype(np.int32)
