"""The brushes of the placement panel and what each holds. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model.catalog.load import catalog
from model.document.document import Document
from model.job.chunks import chunks_per_rank, rank_of
from model.job.spec import JobSpec
from model.placement.resolve import displayed_groups
from model.placement.types import Dimension, Placement
from model.text import plural
from model.topology.types import DeviceKind, State

NAMES: dict[Dimension, str] = {"tp": "TP", "cp": "CP", "ep": "EP", "pp": "Stage", "dp": "Replica"}
MOST_COMPARED = 64
WORDS: dict[Dimension, str] = {
    "tp": "TP group",
    "cp": "CP group",
    "ep": "EP group",
    "pp": "stage",
    "dp": "replica",
}


def group_count(job: JobSpec, world_size: int, dimension: Dimension) -> int:
    """How many brushes a dimension has for a world of GPUs (rounded down where the sizes do not fit)."""
    parallel = job.parallel
    rest = max(1, world_size // (parallel.tp * parallel.cp * parallel.pp))
    replicas = parallel.dp or rest
    if dimension == "pp":
        return parallel.pp
    if dimension == "dp":
        return replicas
    ranks = parallel.tp * parallel.cp * parallel.pp * replicas
    return max(1, ranks // int(getattr(parallel, dimension)))


def world_size(document: Document) -> int:
    """How many GPUs take part (conventions 33): those that the job names, else all that are not down."""
    if document.job.world is not None:
        return len(document.job.world)
    return sum(
        device.kind is DeviceKind.GPU and device.state is not State.DOWN
        for device in document.topology.devices()
    )


@dataclass(frozen=True, slots=True)
class Brush:
    """One brush: its number, its name and what it holds."""

    number: int
    name: str
    holds: str
    gpus: int


class BrushTable:
    """The brushes of one dimension; texts are made for one brush at a time.

    `layers` has the transformer layers of each stage as ranges (pp only).
    """

    def __init__(
        self,
        dimension: Dimension,
        count: int,
        placement: Placement | None,
        layers: Sequence[str] = (),
    ) -> None:
        self.dimension = dimension
        self._count = count
        self._layers = layers
        self._placement = placement
        self._members: list[NDArray[np.signedinteger]] = []
        if placement is not None:
            own = displayed_groups(placement, dimension)
            order = np.argsort(own, kind="stable")
            cuts = np.searchsorted(own[order], np.arange(count + 1))
            self._members = [order[a:b] for a, b in pairwise(cuts)]

    def __len__(self) -> int:
        return self._count

    def brush(self, number: int) -> Brush:
        """The texts of one brush."""
        members = self.members(number)
        name = f"{NAMES[self.dimension]} {number}"
        if number < len(self._layers):
            holds = self._layers[number]
        else:
            holds = self._home(members) if self._placement is not None else "computing …"
        return Brush(number, name, holds, len(members))

    def members(self, number: int) -> tuple[str, ...]:
        """Ids of the GPUs with this colour."""
        if self._placement is None or number >= len(self._members):
            return ()
        gpus = self._placement.gpus
        return tuple(gpus[index] for index in self._members[number].tolist())

    @property
    def summary(self) -> str:
        """ "8 each": GPUs of a group.."""
        sizes = {len(members) for members in self._members}
        if not sizes:
            return plural(self._count, WORDS[self.dimension])
        if len(sizes) == 1:
            return f"{sizes.pop():,} each"
        return f"{min(sizes):,}–{max(sizes):,} each"

    def _home(self, members: tuple[str, ...]) -> str:
        """The GPU, the one container in whose name all members start ("node00"), or how many they are."""
        if len(members) <= 1:
            return members[0] if members else "no GPU"
        homes = {member.rpartition(".")[0] for member in members[:MOST_COMPARED]}
        return homes.pop() if len(homes) == 1 and "" not in homes else plural(len(members), "GPU")


def layer_count(job: JobSpec) -> int:
    """Transformer layers of the job's model; 0 for a preset that the catalogue lacks."""
    if not isinstance(job.model, str):
        return job.model.layers
    spec = catalog().models.get(job.model)
    return spec.layers if spec is not None else 0


def unplaced(placement: Placement) -> tuple[str, ...]:
    """GPUs of the world without a rank."""
    return tuple(placement.gpus[index] for index in np.flatnonzero(placement.rank < 0).tolist())


def stage_layers(layers: int, job: JobSpec) -> tuple[str, ...]:
    """The layers of each stage: "layers 0–7"; of several chunks "8 in 2 chunks" (conventions 24)."""
    stages, chunks = job.parallel.pp, chunks_per_rank(job)
    sizes = job.parallel.layers_per_stage or (layers // (stages * chunks),) * (stages * chunks)
    if len(sizes) != stages * chunks:
        return ()
    if chunks > 1:
        held = [0] * stages
        for position, size in enumerate(sizes):
            held[rank_of(job, position)] += size
        return tuple(f"{count:,} in {chunks} chunks" for count in held)
    ends = np.cumsum(sizes).tolist()
    return tuple(_span(end - size, size) for end, size in zip(ends, sizes, strict=True))


def _span(first: int, count: int) -> str:
    if count == 0:
        return "no layer"
    return f"layer {first}" if count == 1 else f"layers {first}–{first + count - 1}"
