"""Values with large arrays, handed from one process to another through shared memory.

A value is pickled with its large buffers beside it; both lie in one block. The sender lets go of the block
at once; the receiver copies it out and removes it, so that nothing stays behind. What the receiver never
fetched (it was killed) the sender removes, and if both are gone the resource tracker of multiprocessing does.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_SMALLEST = 4096


@dataclass(frozen=True, slots=True)
class Parcel:
    """Where a packed value lies: name of the block, its size, and the lengths of pickle and buffers in it."""

    name: str
    size: int
    lengths: tuple[int, ...]


def pack(value: Any) -> Parcel:
    """Put `value` into a new block of shared memory. Arrays below 4 KiB stay in the pickle."""
    buffers: list[pickle.PickleBuffer] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        if buffer.raw().nbytes < _SMALLEST:
            return True
        buffers.append(buffer)
        return False

    data = pickle.dumps(value, protocol=5, buffer_callback=keep_inside)
    parts = [memoryview(data), *(buffer.raw() for buffer in buffers)]
    starts, size = _places([part.nbytes for part in parts])
    block = SharedMemory(create=True, size=max(size, 1))
    try:
        for start, part in zip(starts, parts, strict=True):
            np.copyto(
                _bytes_of(block, size)[start : start + part.nbytes], np.frombuffer(part, dtype=np.uint8)
            )
        return Parcel(block.name, size, tuple(part.nbytes for part in parts))
    finally:
        block.close()


def unpack(parcel: Parcel) -> Any:
    """The packed value; the block is removed. Raises FileNotFoundError where it is gone already."""
    block = SharedMemory(name=parcel.name)
    try:
        content = np.empty(parcel.size, dtype=np.uint8)
        np.copyto(content, _bytes_of(block, parcel.size))
    finally:
        block.close()
        block.unlink()
    starts, _ = _places(parcel.lengths)
    parts = [content[start : start + length] for start, length in zip(starts, parcel.lengths, strict=True)]
    return pickle.loads(parts[0].data, buffers=parts[1:])


def discard(parcel: Parcel) -> None:
    """Remove a block that may never have been fetched."""
    with suppress(FileNotFoundError):
        block = SharedMemory(name=parcel.name)
        block.close()
        block.unlink()


def _bytes_of(block: SharedMemory, size: int) -> NDArray[np.uint8]:
    """The block as an array; it must be let go before the block is closed."""
    return np.ndarray(size, dtype=np.uint8, buffer=block.buf)


def _places(lengths: Sequence[int]) -> tuple[list[int], int]:
    """Where parts of these lengths start, and how long they are together."""
    starts, at = [], 0
    for length in lengths:
        starts.append(at)
        at += -(-length // _ALIGNMENT) * _ALIGNMENT
    return starts, at
