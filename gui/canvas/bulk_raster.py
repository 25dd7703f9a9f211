"""Lines rastered with numpy alone into a buffer of keys; what a key means: `BulkLinks`."""

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
_SHORT = 48.0  # pixels; strands that are not longer get a point in _FEWER only
_FEWER = 4


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


def _raise(buffer: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.int32]) -> None:
    """Write keys where they are larger; they come in ascending order, so the last at one place is largest."""
    higher = key > buffer[where]
    buffer[where[higher]] = key[higher]


def _pieces(
    flat: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray, FloatArray]:
    """Straight pieces with the half they belong to and how far along their strand they begin.

    Short strands need fewer pieces. Those of one half stand together, halves in their order.
    """
    extent = np.ptp(flat, axis=1).max(axis=1) if len(flat) else np.zeros(0)
    found = []
    for rows, step in ((np.flatnonzero(extent < _SHORT), _FEWER), (np.flatnonzero(extent >= _SHORT), 1)):
        points = flat[rows][:, ::step]
        begin, end = points[:, :-1], points[:, 1:]
        length = np.hypot(*np.moveaxis(end - begin, 2, 0))
        offset = np.cumsum(length, axis=1) - length
        pieces = points.shape[1] - 1
        second = np.arange(pieces) >= pieces // 2
        half = 2 * rows[:, None] + second[None, :]
        wide = np.repeat(width[rows], pieces)
        found.append((begin.reshape(-1, 2), end.reshape(-1, 2), half.ravel(), offset.ravel(), wide))
    begin, end, half, offset, wide = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(half, kind="stable")
    return begin[order], end[order], half[order], offset[order], wide[order]


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
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Pixel numbers and keys of some pieces, in their order; one of `bands` lines of pixels at a time."""
    way = end - begin
    flatter = np.abs(way[:, 0]) >= np.abs(way[:, 1])
    for chosen, along, across in ((flatter, 0, 1), (~flatter, 1, 0)):
        if chosen.any():
            parts = (begin[chosen], way[chosen], half[chosen], offset[chosen], wide[chosen])
            yield from _slanted(*parts, (along, across), bands, size, smooth)


def _slanted(
    begin: FloatArray,
    way: FloatArray,
    half: NDArray[np.int64],
    offset: FloatArray,
    wide: FloatArray,
    axes: tuple[int, int],
    bands: int,
    size: tuple[int, int],
    smooth: bool,
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """`_pixels` of pieces that all run more along the first axis than across it."""
    first_axis, second_axis = axes
    longer = np.abs(way[:, first_axis])
    lengths = np.maximum(np.ceil(longer), 1).astype(np.int32)
    run = np.hypot(way[:, 0], way[:, 1])
    total = int(lengths.sum())
    starts = np.cumsum(lengths) - lengths
    step = (1.0 / lengths).astype(np.float32)

    def spread(values: NDArray[np.floating]) -> NDArray[np.float32]:
        return np.repeat(values.astype(np.float32), lengths)

    t = np.arange(total, dtype=np.int32) - np.repeat(starts.astype(np.int32), lengths) + np.float32(0.5)
    t = t.astype(np.float32) * np.repeat(step, lengths)
    along = np.floor(spread(begin[:, first_axis]) + spread(way[:, first_axis]) * t).astype(np.int32)
    cross = spread(begin[:, second_axis]) + spread(way[:, second_axis]) * t
    period = float(sum(STRIPE))
    phase = spread((offset / period) % 1.0) + spread(run / period) * t
    phase -= np.floor(phase)
    base = np.repeat((half * KEYS_A_HALF).astype(np.int32), lengths)
    base += (phase < STRIPE[0] / period).astype(np.int32) * COVERAGES
    side = spread(wide * run / np.maximum(longer, 1e-9) / 2)
    seen = (along >= 0) & (along < size[first_axis])
    if not seen.all():
        along, cross, base, side = along[seen], cross[seen], base[seen], side[seen]
    low, high = cross - side, cross + side
    first = np.floor(low if smooth else low + np.float32(0.5)).astype(np.int32)
    thick = np.maximum(np.rint(2 * side), 1)
    strides = (1, size[0]) if first_axis == 0 else (size[0], 1)
    place = along * np.int32(strides[0]) + first * np.int32(strides[1])
    for band in range(bands):
        pixel = first + np.int32(band)
        if smooth:
            edge = pixel.astype(np.float32)
            cover = np.minimum(edge + np.float32(1.0), high) - np.maximum(edge, low)
            level = (cover * np.float32(COVERAGES - 1) + np.float32(0.5)).astype(np.int32)
            inside = (cover > 0.5 / (COVERAGES - 1)) & (pixel >= 0) & (pixel < size[second_axis])
        else:
            level = np.full(len(pixel), COVERAGES - 1, dtype=np.int32)
            inside = (band < thick) & (pixel >= 0) & (pixel < size[second_axis])
        yield place[inside] + np.int32(band * strides[1]), (base + level)[inside]
