"""What runs on the small clusters: a placement, and exchanges of all kinds."""

from __future__ import annotations

import numpy as np

from model.job.exchange import Dedup, Exchange, Operation, When
from model.placement.types import Placement
from model.topology.graph import Topology
from model.topology.types import DeviceKind


def gpus_of(topology: Topology) -> tuple[str, ...]:
    """All GPUs in document order."""
    return tuple(device.id for device in topology.devices() if device.kind is DeviceKind.GPU)


def placement_of(topology: Topology) -> Placement:
    """Every GPU plays the rank of its place; traffic reads nothing else of a placement."""
    gpus = gpus_of(topology)
    return Placement(gpus, len(gpus), np.arange(len(gpus), dtype=np.int32), {}, {}, {}, ())


def exchange(
    operation: Operation,
    groups: list[list[int]],
    message: int,
    *,
    algorithm: str = "auto",
    count: int = 1,
    stages: list[int] | None = None,
    ident: str = "x",
    storage: tuple[str, ...] = (),
    dedup: Dedup | None = None,
) -> Exchange:
    """An exchange over places in the placement."""
    return Exchange(
        id=ident,
        dimension="tp",
        kind="tp.test",
        operation=operation,
        algorithm=algorithm,
        groups=np.array(groups, np.int32).reshape(len(groups), -1),
        stages=np.array(stages or [0] * len(groups), np.int32),
        group_key="tp",
        message_bytes=message,
        count_per_step=count,
        when=When.FORWARD,
        storage=storage,
        dedup=dedup,
    )


def job_on(gpus: int) -> list[Exchange]:
    """TP, PP, DP and EP exchanges of all kinds on `gpus` GPUs in world order."""
    every = list(range(gpus))
    pairs = [every[i : i + 2] for i in range(0, gpus - 1, 2)]
    half = gpus // 2
    strided = [[i, i + half] for i in range(half)]
    odd_even = [every[0::2][: gpus // 2], every[1::2]]
    mixed = [every[::-1]]
    reduce, gather, scatter = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER
    return [
        exchange(reduce, pairs, 1000, ident="tp.pairs", count=7, stages=[i % 2 for i in range(len(pairs))]),
        exchange(reduce, pairs, 1000, ident="tp.pairs.nvls", algorithm="nvls"),
        exchange(gather, [every[:half], every[gpus - half :]], 36_000, ident="tp.halves", stages=[0, 1]),
        exchange(reduce, [every[:half], every[gpus - half :]], 36_000, ident="tp.halves.auto"),
        exchange(reduce, [every], 840_000, ident="dp.all"),
        exchange(reduce, mixed, 840_000, ident="dp.all.reversed", algorithm="ring"),
        exchange(scatter, strided, 5000, ident="dp.strided"),
        exchange(gather, odd_even, 7000, ident="dp.odd-even"),
        exchange(Operation.SEND, strided, 12_345, ident="pp.forward", stages=[0] * half, count=3),
        exchange(Operation.SEND, [p[::-1] for p in strided], 12_345, ident="pp.backward"),
        exchange(Operation.ALL_TO_ALL, [every], 84_000, ident="ep.auto"),
        exchange(Operation.ALL_TO_ALL, mixed, 84_000, ident="ep.direct", algorithm="direct"),
        exchange(Operation.ALL_TO_ALL, mixed, 84_000, ident="ep.pxn", algorithm="pxn"),
        exchange(Operation.ALL_TO_ALL, odd_even, 84_000, ident="ep.odd-even", algorithm="pxn"),
    ]


def algorithms_on(topology: Topology) -> list[Exchange]:
    """Every other algorithm and operation, over groups of all sizes; expert counts are multiples of them."""
    gpus = len(gpus_of(topology))
    every, half = list(range(gpus)), gpus // 2
    reduce, broadcast, to_all = Operation.ALL_REDUCE, Operation.BROADCAST, Operation.ALL_TO_ALL
    groups = {
        "all": [every],
        "reversed": [every[::-1]],
        "halves": [every[:half], every[gpus - half :]],
        "strided": [[i, i + half] for i in range(half)],
        "fours": [every[:4]],
        "pairs": [every[2 * i : 2 * i + 2] for i in range(half)],
    }
    found = []
    for name, rows in groups.items():
        for algorithm in ("tree", "hierarchical", "halving-doubling", "sharp", "direct"):
            ident = f"{algorithm}.{name}"
            found.append(exchange(reduce, rows, 840_000, algorithm=algorithm, ident=ident))
        for operation in (Operation.ALL_GATHER, Operation.REDUCE_SCATTER):
            ident = f"direct.{operation}.{name}"
            found.append(exchange(operation, rows, 840_000, algorithm="direct", ident=ident))
        found.append(exchange(broadcast, rows, 840_000, ident=f"broadcast.{name}"))
        size = len(rows[0])
        for limit, combine in ((None, False), (1, True), (2, False)):
            dedup = Dedup(4 * size, min(3, 4 * size), limit, combine)
            ident = f"deduplicated.{name}.{limit}"
            found.append(exchange(to_all, rows, 840_000, algorithm="deduplicated", dedup=dedup, ident=ident))
    disks = [device.id for device in topology.devices() if device.kind is DeviceKind.STORAGE]
    for operation in (Operation.READ, Operation.WRITE) if disks else ():
        rows = [[gpu] for gpu in every for _ in disks]
        stored = tuple(disks * gpus)
        found.append(exchange(operation, rows, 7000, storage=stored, ident=operation.value))
    return found
