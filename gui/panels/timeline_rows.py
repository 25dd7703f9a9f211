"""The lanes of the timeline as arrays, and what each pixel column of a lane shows. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from model.step.report import BlockKind, Lane

FloatArray = NDArray[np.float64]

NARROWEST_PX = 2.0
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Piece(IntEnum):
    """What a stretch of a lane shows; the order is that of the legend."""

    FORWARD = 0
    BACKWARD = 1
    WEIGHT = 2
    EXPOSED = 3
    BUBBLE = 4
    DP_SYNC = 5
    OPTIMIZER = 6


COMPUTE = (Piece.FORWARD, Piece.BACKWARD, Piece.WEIGHT)
PIECE_OF_BLOCK = {
    BlockKind.FORWARD: Piece.FORWARD,
    BlockKind.BACKWARD: Piece.BACKWARD,
    BlockKind.WEIGHT_GRADIENT: Piece.WEIGHT,
    BlockKind.OPTIMIZER: Piece.OPTIMIZER,
    BlockKind.GRADIENT_SYNC: Piece.DP_SYNC,
    BlockKind.PARAMETER_GATHER: Piece.DP_SYNC,
    BlockKind.IDLE: Piece.BUBBLE,
}


@dataclass(frozen=True, slots=True)
class LaneArrays:
    """One lane cut into pieces without a hole from 0 to the end of the step.

    `edges` (n + 1,) seconds; `piece` (n,) values of `Piece`; `band` (n,) whether it computes for an odd model
    chunk; `cumulated` (n + 1, pieces) seconds of each piece from 0 to each edge. Of the blocks with a
    microbatch: `label_start`, `label_end` (k,) the compute part in seconds, `label` (k,) its number,
    `label_piece` (k,) its piece, `label_chunk` (k,) its model chunk, -1 where the stage has one.
    """

    stage: int
    replica: int
    replicas: int
    edges: FloatArray
    piece: NDArray[np.uint8]
    band: NDArray[np.bool_]
    cumulated: FloatArray
    label_start: FloatArray
    label_end: FloatArray
    label: NDArray[np.int32]
    label_piece: NDArray[np.uint8]
    label_chunk: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LaneColumns:
    """What each pixel column of a lane shows.

    `piece` (width,) where one piece fills the column. `lumped` (width,) marks columns that hold pieces below
    two pixels; `shares` (width, pieces) is how much of such a column each takes (zero elsewhere). `first`
    (width,) marks the first column of a piece, `band` (width,) the columns of an odd model chunk.
    """

    piece: NDArray[np.uint8]
    band: NDArray[np.bool_]
    lumped: NDArray[np.bool_]
    shares: FloatArray
    first: NDArray[np.bool_]


def lane_arrays(lane: Lane, until_s: float) -> LaneArrays:
    """The lane as arrays; what no block covers is bubble."""
    edges: list[float] = [0.0]
    pieces: list[Piece] = []
    bands: list[bool] = []
    labels: list[tuple[float, float, int, int, int]] = []
    for block in sorted(lane.blocks, key=lambda block: block.start_s):
        kind = PIECE_OF_BLOCK[block.what]
        if block.start_s > edges[-1]:
            edges.append(block.start_s)
            pieces.append(Piece.BUBBLE)
            bands.append(False)
        exposed = (
            0.0
            if kind in (Piece.DP_SYNC, Piece.BUBBLE)
            else min(block.exposed_s, block.end_s - block.start_s)
        )
        computed = block.end_s - exposed
        for end, piece in ((computed, kind), (block.end_s, Piece.EXPOSED)):
            if end > edges[-1]:
                edges.append(end)
                pieces.append(piece)
                bands.append(piece in COMPUTE and bool(block.chunk and block.chunk % 2))
        if block.microbatch is not None:
            chunk = -1 if block.chunk is None else block.chunk
            labels.append((block.start_s, computed, block.microbatch, kind, chunk))
    if until_s > edges[-1] or not pieces:
        edges.append(max(until_s, edges[-1]))
        pieces.append(Piece.BUBBLE)
        bands.append(False)
    times, kinds = np.array(edges), np.array(pieces, dtype=np.uint8)
    cumulated = np.zeros((len(times), len(Piece)))
    cumulated[np.arange(1, len(times)), kinds] = np.diff(times)
    numbers = np.array(labels, dtype=np.float64).reshape(-1, 5)
    return LaneArrays(
        stage=lane.stage,
        replica=lane.replica,
        replicas=lane.replicas,
        edges=times,
        piece=kinds,
        band=np.array(bands, dtype=np.bool_),
        cumulated=np.cumsum(cumulated, axis=0),
        label_start=numbers[:, 0],
        label_end=numbers[:, 1],
        label=numbers[:, 2].astype(np.int32),
        label_piece=numbers[:, 3].astype(np.uint8),
        label_chunk=numbers[:, 4].astype(np.int32),
    )


def lane_columns(lane: LaneArrays, start_s: float, end_s: float, width: int) -> LaneColumns:
    """The columns of `width` pixels that show `start_s` … `end_s` of a lane."""
    columns = np.linspace(start_s, end_s, width + 1)
    centres = (columns[:-1] + columns[1:]) / 2
    at = np.clip(np.searchsorted(lane.edges, centres, side="right") - 1, 0, len(lane.piece) - 1)
    durations = np.diff(lane.edges)
    narrow = durations < NARROWEST_PX * (end_s - start_s) / width
    shares = np.zeros((width, len(Piece)))
    lumped = np.zeros(width, dtype=np.bool_)
    if narrow.any():
        narrow_s = np.concatenate(([0.0], np.cumsum(np.where(narrow, durations, 0.0))))
        lumped = np.diff(np.interp(columns, lane.edges, narrow_s)) > 1e-6 * (end_s - start_s) / width
        for piece in range(len(Piece)):
            inside = np.diff(np.interp(columns, lane.edges, lane.cumulated[:, piece]))
            shares[lumped, piece] = inside[lumped]
        totals = shares.sum(axis=1, keepdims=True)
        np.divide(shares, totals, out=shares, where=totals > 0)
    first = np.concatenate(([True], np.diff(at) != 0))
    return LaneColumns(
        piece=lane.piece[at], band=lane.band[at] & ~lumped, lumped=lumped, shares=shares, first=first
    )


def label_text(number: int, chunk: int, *, both_ways: bool) -> str:
    """What stands on a block: the microbatch, and its model chunk as an index or, where microbatches enter at
    both ends, the way that it goes through the stages.
    """
    if chunk < 0:
        return str(number)
    if both_ways:
        return f"{number}{'↑' if chunk else '↓'}"
    return str(number) + str(chunk).translate(_LOWERED)


def axis_ticks(start_s: float, end_s: float, most: int) -> tuple[tuple[float, ...], int, float]:
    """Round times within a window, the decimals they need, and their unit in seconds (1, 1e-3 or 1e-6)."""
    span = end_s - start_s
    if span <= 0 or most < 1:
        return (), 0, 1.0
    rough = span / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999))
    unit = 1.0 if end_s >= 1.0 else (1e-3 if end_s >= 1e-3 else 1e-6)
    decimals = max(0, int(-np.floor(np.log10(step / unit) + 1e-9)))
    first = int(np.ceil(start_s / step - 1e-9))
    ticks = tuple(step * k for k in range(first, int(np.floor(end_s / step + 1e-9)) + 1))
    return ticks, decimals, unit
