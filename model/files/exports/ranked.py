"""Which host and which GPU plays each rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.errors import InputError, RailsketchError
from model.files.exporting import ExportSource
from model.files.exports.drawing import Host, host_of_device, hosts_of
from model.job.legality import refuse_illegal
from model.job.sizes import grid_of
from model.placement.resolve import resolve, world_of
from model.placement.types import Placement
from model.text import plural, sentence
from model.topology.types import Device, DeviceKind


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank and where it runs. `local` is the place of its GPU among all GPUs of the host, from 0."""

    rank: int
    gpu: Device
    host: Host
    local: int


def placement_of(source: ExportSource) -> Placement:
    """Who plays which rank. Raises `InputError` where the job cannot be placed at all."""
    document = source.document
    working = tuple(device.id for device in document.topology.working(DeviceKind.GPU))
    if not working:
        raise InputError("The drawing has no GPU that works, so there are no ranks.")
    try:
        world = world_of(document.job.world, working)
        refuse_illegal(document.job, len(world))
        return resolve(world, grid_of(document.job, len(world)), document.paint)
    except RailsketchError as error:
        raise InputError(sentence(f"there are no ranks, as the job does not fit: {error}")) from None


def ranks_of(source: ExportSource) -> tuple[Rank, ...]:
    """All ranks from 0 on. Raises `InputError` where the job does not fit or a rank has no GPU."""
    source.progress(0.0, "placing ranks")
    placement = placement_of(source)
    played = int((placement.rank >= 0).sum())
    if played < placement.world_size:
        missing = sorted(set(range(placement.world_size)) - set(placement.rank.tolist()))
        raise InputError(
            f"No GPU plays {plural(len(missing), 'rank')} of {placement.world_size:,} "
            f"(rank {missing[0]} is the first); resolve the conflicts of the placement."
        )
    topology = source.document.topology
    host_of = host_of_device(hosts_of(topology))
    local: dict[str, int] = {}
    for host in {host.id: host for host in host_of.values()}.values():
        local.update({gpu.id: place for place, gpu in enumerate(host.of_kind(DeviceKind.GPU))})
    found = []
    for place in np.argsort(placement.rank, kind="stable").tolist():
        if placement.rank[place] >= 0:
            gpu = topology.device(placement.gpus[place])
            found.append(Rank(int(placement.rank[place]), gpu, host_of[gpu.id], local[gpu.id]))
    return tuple(found)


def idle_gpus(source: ExportSource, ranks: tuple[Rank, ...]) -> tuple[str, ...]:
    """A sentence on GPUs that play no rank, if there are any."""
    topology = source.document.topology
    gpus = sum(1 for device in topology.devices() if device.kind is DeviceKind.GPU)
    idle = gpus - len(ranks)
    return (f"Left out: {plural(idle, 'GPU')} without a rank.",) if idle else ()
