"""Fabric, placement and lanes as arrays, for the way between processes.

A cluster of 16,384 GPUs has 150,000 ids and 50,000 groups. Pickled one by one they take a large part of a
second to read, in one go; from a few arrays they are made in many short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.placement.types import Placement
from model.step.report import Block, BlockKind, Lane
from model.traffic.types import Fabric

_AT_ONCE = 8192
_BETWEEN = "\n"
_KINDS = tuple(BlockKind)

Bytes = NDArray[np.uint8]
Packed = tuple[Callable[..., Any], tuple[Any, ...]]


def reduced(value: Any) -> Any:
    """How to make a value of one of these types again, as pickle wants it; NotImplemented for all others."""
    make = _REDUCE.get(type(value))
    return NotImplemented if make is None else make(value)


def _values(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


# Texts


def _texts(texts: Sequence[str]) -> list[Bytes] | tuple[str, ...]:
    """Texts as arrays of their letters; as they are where one has a line of its own."""
    parts = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
    joined = [_BETWEEN.join(part) for part in parts]
    if any(whole.count(_BETWEEN) != len(part) - 1 for whole, part in zip(joined, parts, strict=True)):
        return tuple(texts)
    return [np.frombuffer(whole.encode("utf-8", "surrogatepass"), dtype=np.uint8) for whole in joined]


def _texts_again(parts: list[Bytes] | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(parts, tuple):
        return parts
    found: list[str] = []
    for part in parts:
        found += part.tobytes().decode("utf-8", "surrogatepass").split(_BETWEEN)
    return tuple(found)


# Fabric


def _fabric(fabric: Fabric) -> Packed:
    values = _values(fabric)
    values.pop("device_index")
    for name in ("device_ids", "link_ids", "host_ids"):
        values[name] = _texts(values[name])
    return _fabric_again, (values,)


def _fabric_again(values: dict[str, Any]) -> Fabric:
    for name in ("device_ids", "link_ids", "host_ids"):
        values[name] = _texts_again(values[name])
    index = {ident: number for number, ident in enumerate(values["device_ids"])}
    return Fabric(device_index=index, **values)


# Placement


def _placement(placement: Placement) -> Packed:
    values = _values(placement)
    values["gpus"] = _texts(placement.gpus)
    values["groups"] = {key: _flat(groups) for key, groups in placement.groups.items()}
    return _placement_again, (values,)


def _flat(groups: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All groups behind each other, and where each one ends."""
    ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
    return (np.concatenate(groups) if groups else np.zeros(0, dtype=np.int32)), ends


def _placement_again(values: dict[str, Any]) -> Placement:
    values["gpus"] = _texts_again(values["gpus"])
    values["groups"] = _groups_again(values["groups"])
    return Placement(**values)


def _groups_again(flat: Mapping[str, tuple[NDArray[Any], NDArray[np.int64]]]) -> dict[str, Any]:
    found = {}
    for key, (members, ends) in flat.items():
        bounds = [0, *ends.tolist()]
        found[key] = tuple(
            [members[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]  # noqa: RUF007
        )
    return found


# Lanes


def _lane(lane: Lane) -> Packed:
    blocks = lane.blocks
    times = np.array([(one.start_s, one.end_s, one.exposed_s) for one in blocks]).reshape(-1, 3)
    names = np.array(
        [
            (
                _KINDS.index(one.what),
                -1 if one.microbatch is None else one.microbatch,
                -1 if one.chunk is None else one.chunk,
            )
            for one in blocks
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    return _lane_again, (lane.stage, lane.replica, lane.replicas, times, names)


def _lane_again(
    stage: int, replica: int, replicas: int, times: NDArray[np.float64], names: NDArray[np.int64]
) -> Lane:
    blocks = [
        Block(
            start,
            end,
            _KINDS[kind],
            None if microbatch < 0 else microbatch,
            exposed,
            None if chunk < 0 else chunk,
        )
        for (start, end, exposed), (kind, microbatch, chunk) in zip(
            times.tolist(), names.tolist(), strict=True
        )
    ]
    return Lane(stage, replica, replicas, tuple(blocks))


_REDUCE: Mapping[type, Callable[[Any], Packed]] = {Fabric: _fabric, Placement: _placement, Lane: _lane}
