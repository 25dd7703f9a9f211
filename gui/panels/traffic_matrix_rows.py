"""The GPU × GPU matrix prepared for drawing: names of hosts, log levels, totals. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.job.exchange import dimension_name
from model.step.report import StepReport
from model.text import capital, format_bytes
from model.traffic.matrix import TrafficMatrix, gpu_matrix

LEVELS = 64


@dataclass(frozen=True, slots=True)
class MatrixView:
    """A traffic matrix with what its picture needs.

    `blocks` are (name, first row, last row + 1) of rows that belong together (a host), `cuts` the borders
    between them. `smallest` and `largest` are the bytes of the least and the most loaded pair that sends.
    """

    labels: tuple[str, ...]
    matrix: NDArray[np.float64]
    by_dimension: dict[str, float]
    crossing_hosts: float
    changing_rail: float
    blocks: tuple[tuple[str, int, int], ...]
    smallest: float
    largest: float

    def short_blocks(self, most: int) -> tuple[tuple[str, int, int], ...]:
        """The blocks with names of at most `most` letters: without what all begin with, else their ends."""
        names = [name for name, _, _ in self.blocks]
        if max(map(len, names), default=0) <= most:
            return self.blocks
        first_name, last_name = min(names), max(names)  # what these two share, all share
        same = [a == b for a, b in zip(first_name, last_name, strict=False)]
        shared = len(first_name[: (*same, False).index(False)].rstrip("0123456789")) if len(names) > 1 else 0
        return tuple((name[shared:][-most:], first, last) for name, first, last in self.blocks)

    @property
    def cuts(self) -> tuple[int, ...]:
        """Rows before which a new block starts."""
        return tuple(first for _, first, _ in self.blocks[1:])


def matrix_view(report: StepReport) -> MatrixView:
    """The matrix of a report; of one that is narrowed to a dimension only of that."""
    exchanges = [one for one in report.exchanges if one.dimension in report.bytes_by_dimension]
    found: TrafficMatrix = gpu_matrix(report.fabric, report.placement, exchanges)
    sent = found.matrix[found.matrix > 0]
    return MatrixView(
        labels=found.labels,
        matrix=found.matrix,
        by_dimension=found.by_dimension,
        crossing_hosts=found.crossing_hosts,
        changing_rail=found.changing_rail,
        blocks=blocks_of(found.labels),
        smallest=float(sent.min()) if len(sent) else 0.0,
        largest=float(sent.max()) if len(sent) else 0.0,
    )


def blocks_of(labels: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Runs of labels with the same part before their last dot; labels without a dot stand alone."""
    blocks: list[tuple[str, int, int]] = []
    for row, name in enumerate(labels):
        home = name.rpartition(".")[0] or name
        if blocks and blocks[-1][0] == home:
            blocks[-1] = (home, blocks[-1][1], row + 1)
        else:
            blocks.append((home, row, row + 1))
    return tuple(blocks)


def heat_levels(matrix: NDArray[np.float64]) -> NDArray[np.uint8]:
    """0 where nothing is sent, else 1 … `LEVELS` evenly over the logarithm of the bytes."""
    levels = np.zeros(matrix.shape, dtype=np.uint8)
    sent = matrix > 0
    if not sent.any():
        return levels
    logs = np.log(matrix[sent])
    low, high = float(logs.min()), float(logs.max())
    share = (logs - low) / (high - low) if high > low else np.ones_like(logs)
    levels[sent] = 1 + np.round(share * (LEVELS - 1)).astype(np.uint8)
    return levels


def heat_table(stops: tuple[int, ...]) -> NDArray[np.uint32]:
    """Colours 0xAARRGGBB of level 0 … `LEVELS`: the first stop for zero, the others mixed over the rest."""
    channels = np.array([[(stop >> shift) & 255 for shift in (16, 8, 0)] for stop in stops], dtype=np.float64)
    at = np.linspace(0, len(stops) - 2, LEVELS)
    mixed = np.stack([np.interp(at, np.arange(len(stops) - 1), channels[1:, c]) for c in range(3)], axis=1)
    table = np.vstack((channels[:1], mixed)).round().astype(np.uint32)
    packed: NDArray[np.uint32] = (
        np.uint32(0xFF000000) | (table[:, 0] << np.uint32(16)) | (table[:, 1] << np.uint32(8)) | table[:, 2]
    )
    return packed


def dimension_totals(view: MatrixView, gpus: int) -> list[tuple[str, str, str]]:
    """(dimension, all bytes, bytes a GPU) for each dimension that sends, the largest first."""
    rows = sorted(view.by_dimension.items(), key=lambda item: -item[1])
    return [
        (
            capital(dimension_name(name)),
            format_bytes(total),
            format_bytes(total / max(1, gpus)),
        )
        for name, total in rows
        if total > 0
    ]
