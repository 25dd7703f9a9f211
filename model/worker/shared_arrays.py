"""Values with large arrays, handed from one process to another through shared memory.

A value is pickled with its large buffers beside it; both lie in one block. The sender lets go of the block
at once; the receiver removes its name, so that nothing stays behind, and its arrays are the memory itself,
which is gone when the last of them is. What the receiver never fetched (it was killed) the sender removes,
and if both are gone the resource tracker of multiprocessing does.

Reading a pickle holds every other thread of the process up until it is through. So pickles are kept small:
ids and groups travel as arrays (`compact`), and what the receiver has already is only named.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.worker.compact import reduced

_ALIGNMENT = 64
_SMALLEST = 4096


@dataclass(frozen=True, slots=True)
class Parcel:
    """Where a packed value lies: name of the block, its size, and the lengths of pickle and buffers in it."""

    name: str
    size: int
    lengths: tuple[int, ...]


class _Pickler(pickle.Pickler):
    def __init__(
        self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], known: Mapping[int, Any]
    ) -> None:
        self._buffers = buffers
        self._token_of = {id(value): token for token, value in known.items()}
        super().__init__(file, protocol=5, buffer_callback=self._keep_inside)

    def _keep_inside(self, buffer: pickle.PickleBuffer) -> bool:
        if buffer.raw().nbytes < _SMALLEST:
            return True
        self._buffers.append(buffer)
        return False

    def persistent_id(self, value: Any) -> int | None:
        return self._token_of.get(id(value))

    def reducer_override(self, value: Any) -> Any:
        return reduced(value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: Sequence[Any], known: Mapping[int, Any]) -> None:
        self._known = known
        super().__init__(file, buffers=buffers)

    def persistent_load(self, token: Any) -> Any:
        return self._known[token]


def pack(value: Any, known: Mapping[int, Any] | None = None) -> Parcel:
    """Put `value` into a new block of shared memory. Arrays below 4 KiB stay in the pickle.

    `known`: objects that the receiver has already, by the token that takes their place.
    """
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _Pickler(file, buffers, known or {}).dump(value)
    parts = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
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


def unpack(parcel: Parcel, known: Mapping[int, Any] | None = None) -> Any:
    """The packed value; the block is removed. Raises FileNotFoundError where it is gone already, KeyError
    where it names something that `known` lacks.
    """
    _close_unused()
    block = _Attached(name=parcel.name)
    block.unlink()
    _attached.append(block)
    content = np.frombuffer(memoryview(block.buf or b""), dtype=np.uint8, count=parcel.size)
    starts, _ = _places(parcel.lengths)
    parts = [content[start : start + length] for start, length in zip(starts, parcel.lengths, strict=True)]
    return _Unpickler(io.BytesIO(parts[0].tobytes()), parts[1:], known or {}).load()


class _Attached(SharedMemory):
    """Memory that arrays may still look into when this is gone."""

    def __del__(self) -> None:
        with suppress(BufferError):
            super().__del__()


_attached: list[_Attached] = []


def _close_unused() -> None:
    """Let go of the blocks whose arrays are all gone."""
    for block in list(_attached):
        with suppress(BufferError):
            block.close()
            _attached.remove(block)


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
