"""Who plays which rank: the result of placing a job on the GPUs of a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Dimension = Literal["tp", "cp", "ep", "pp", "dp"]
DIMENSIONS: tuple[Dimension, ...] = ("tp", "cp", "ep", "pp", "dp")

IntArray = NDArray[np.int32]


ConflictKind = Literal["no such colour", "contradiction", "place taken", "group too full", "rank empty"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something inconsistent in the colours, with the GPUs that it concerns."""

    kind: ConflictKind
    title: str
    detail: str
    gpus: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The coordinates of every GPU of the world.

    `gpus` are the device ids in world order; every array below has one entry per GPU in that order, and
    -1 where the GPU has no rank (a conflict, or more GPUs than ranks). `coordinates` has the keys
    tp, cp, dp, pp (dense grid) and etp, ep, edp (expert grid). `groups` maps tp, cp, ep, pp, dp, dp-cp,
    edp, etp to lists of communicators, each an array of indices into `gpus` in communicator order
    (members that nobody plays are left out). `group_of` gives for the same keys the index of each GPU's
    group. `shown` is what `resolve.displayed_groups` reads: the colour of each GPU per dimension (of pp the
    stage, of dp the replica), the painted one even where it is in conflict.
    """

    gpus: tuple[str, ...]
    world_size: int
    rank: IntArray
    coordinates: Mapping[str, IntArray]
    groups: Mapping[str, tuple[IntArray, ...]]
    group_of: Mapping[str, IntArray]
    conflicts: tuple[Conflict, ...]
    shown: Mapping[Dimension, IntArray] = field(default_factory=dict)
