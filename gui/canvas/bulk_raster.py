"""Lines rastered with numpy alone into a buffer of keys; what a key means: `link_painters.BulkLinks`."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from gui.canvas.loads import STRIPE
from gui.canvas.scene_index import FloatArray

COVERAGES = 8
KEYS_A_HALF = 2 * COVERAGES
_CHUNK = 120_000  # pixels of one pass, so that scratch arrays stay small and a pass takes few milliseconds
_STEEPEST = 2**0.5


def raster_halves(
    flat: FloatArray, width: FloatArray, size: tuple[int, int], *, smooth: bool
) -> NDArray[np.int32]:
    """Raster strands in their order, later ones on top, into a flat buffer of `size` = (columns, rows).

    `flat` (s, 2k + 1, 2) are points in device pixels and `width` (s,) line widths. Half h of strand i has
    number 2·i + h; its keys are number · 16 + stripe · 8 + coverage. Without `smooth` lines are whole pixels.
    """
    steps = raster_steps(flat, width, size, smooth=smooth)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            buffer: NDArray[np.int32] = end.value
            return buffer


def raster_steps(
    flat: FloatArray, width: FloatArray, size: tuple[int, int], *, smooth: bool
) -> Generator[None, None, NDArray[np.int32]]:
    """`raster_halves` in passes of a few milliseconds; returns the buffer."""
    columns, rows = size
    begin, end, half, offset, wide = _clipped(*_pieces(flat, width), size)
    edges = np.zeros(columns * rows, dtype=np.int32)
    cores = np.zeros(columns * rows, dtype=np.int32)
    # Lines of one thickness at a time, so that thin ones do not pay for thick ones. The larger key lies on
    # top, and an edge never cuts into the body of another line.
    bands = np.maximum(np.ceil(wide * _STEEPEST).astype(np.int64) + (1 if smooth else 0), 1)
    for count in np.unique(bands).tolist():
        chosen = np.flatnonzero(bands == count)
        lengths = np.ceil(np.abs(end[chosen] - begin[chosen]).max(axis=1))
        parts = np.cumsum(np.maximum(lengths, 1)) // (_CHUNK // count)
        for part in np.split(chosen, np.flatnonzero(np.diff(parts)) + 1):
            yield
            for where, key in _pixels(
                begin[part], end[part], half[part], offset[part], wide[part], int(count), size, smooth
            ):
                solid = (key & (COVERAGES - 1)) >= COVERAGES // 2
                _raise(edges, where[~solid], key[~solid])
                _raise(cores, where[solid], key[solid])
    return np.where(cores > 0, cores, edges)


def _raise(buffer: NDArray[np.int32], where: NDArray[np.int64], key: NDArray[np.int32]) -> None:
    """Write keys where they are larger; they come in ascending order, so the last at one place is largest."""
    higher = key > buffer[where]
    buffer[where[higher]] = key[higher]


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
    bands: int,
    size: tuple[int, int],
    smooth: bool,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Pixel numbers and keys of some pieces, in their order; one of `bands` lines of pixels at a time."""
    way = end - begin
    flatter = np.abs(way[:, 0]) >= np.abs(way[:, 1])
    longer = np.abs(way).max(axis=1)
    lengths = np.maximum(np.ceil(longer), 1).astype(np.int64)
    run = np.hypot(way[:, 0], way[:, 1])
    # per piece: where it begins and how it goes, along its longer side and across
    along_at, along_by = np.where(flatter, begin[:, 0], begin[:, 1]), np.where(flatter, way[:, 0], way[:, 1])
    cross_at, cross_by = np.where(flatter, begin[:, 1], begin[:, 0]), np.where(flatter, way[:, 1], way[:, 0])
    reach = wide * run / np.maximum(longer, 1e-9) / 2
    piece = np.repeat(np.arange(len(half)), lengths)
    number = np.arange(len(piece)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    t = (number + 0.5) / lengths[piece]
    along = np.floor(along_at[piece] + along_by[piece] * t).astype(np.int64)
    cross = cross_at[piece] + cross_by[piece] * t
    stripe = ((offset[piece] + t * run[piece]) % sum(STRIPE)) < STRIPE[0]
    base = half[piece] * KEYS_A_HALF + stripe * COVERAGES
    side = reach[piece]
    lies_flat = flatter[piece]
    first = np.floor(cross - side + (0.0 if smooth else 0.5)).astype(np.int64)
    thick = np.maximum(np.rint(2 * side), 1)
    for band in range(bands):
        pixel = first + band
        if smooth:
            cover = np.minimum(pixel + 1, cross + side) - np.maximum(pixel, cross - side)
            level = np.clip(np.rint(cover * (COVERAGES - 1)), 0, COVERAGES - 1).astype(np.int64)
        else:
            level = np.where(band < thick, COVERAGES - 1, 0)
        x, y = np.where(lies_flat, along, pixel), np.where(lies_flat, pixel, along)
        inside = (level > 0) & (x >= 0) & (y >= 0) & (x < size[0]) & (y < size[1])
        yield (y * size[0] + x)[inside], (base + level)[inside].astype(np.int32)
