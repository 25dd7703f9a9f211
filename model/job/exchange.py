"""What a job sends: one `Exchange` per kind of collective, its groups, bytes and how often."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]

ExchangeDimension = Literal["tp", "cp", "ep", "pp", "dp", "storage"]
EXCHANGE_DIMENSIONS: tuple[ExchangeDimension, ...] = ("tp", "cp", "ep", "pp", "dp", "storage")


def dimension_name(dimension: str) -> str:
    """How a sentence names a dimension: "TP", "storage"."""
    return dimension if dimension == "storage" else dimension.upper()


class Operation(StrEnum):
    """Collective operations; the values are those of the traffic JSON."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"
    BROADCAST = "broadcast"
    READ = "read"
    WRITE = "write"


class When(StrEnum):
    """Where in the step an exchange runs."""

    FORWARD = "forward"  # in each forward chunk of the stage
    BACKWARD = "backward"  # in each backward chunk of the stage
    AFTER_FORWARD = "after-forward"  # handed on when a forward chunk ends (pipeline send)
    AFTER_BACKWARD = "after-backward"  # handed on when a backward chunk ends (pipeline send)
    PARAMETERS = "parameters"  # parameter gather: under the first forward, or after the optimizer
    GRADIENTS = "gradients"  # gradient sync: under and after the last backward
    BEFORE_OPTIMIZER = "before-optimizer"  # between gradient sync and optimizer


class Window(StrEnum):
    """The compute that may hide an exchange (traffic_model §7); NONE = everything waits for it."""

    NONE = "none"
    DGRAD = "dgrad"  # beside the input-gradient GEMMs of a backward chunk
    WGRAD = "wgrad"  # beside the weight-gradient GEMMs of a backward chunk
    LAYER = "layer"  # beside the compute of the same chunk (ZeRO-3 gathers and scatters)
    ATTENTION = "attention"  # beside core attention of the same chunk (the ring of context parallelism)
    MATRIX = "matrix"  # beside the GEMMs of the same chunk that feed on it, but for its first 1 ÷ group size
    LAST_BACKWARD = "last-backward"
    FIRST_FORWARD = "first-forward"


@dataclass(frozen=True, slots=True)
class Dedup:
    """What the algorithm "deduplicated" has to know of the tokens (traffic_model §3.4).

    Each token has `copies_per_token` (top-k) copies for as many of `experts` routed experts, and goes to at
    most `node_limit` nodes (None = no limit). `combine`: the way back, every edge turned around.
    """

    experts: int
    copies_per_token: int
    node_limit: int | None = None
    combine: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """One collective of one kind with all groups that run it with the same bytes and count.

    `groups` has shape (n, size): indices into `Placement.gpus` in communicator order; for `send` the rows
    are [from, to]. `stages` has shape (n,): the pipeline stage at which each group works (of a send: the
    sender's). `message_bytes` is the full logical tensor S of traffic_model §3 (all-to-all: one rank's send
    buffer). `count_per_step` counts the operations of one group in one step. `group_key` names the entry of
    `Placement.groups` whose members take part. `time_factor` (≥ 1) stretches time, not bytes (expert
    imbalance). `buckets`: the parts of one operation that follow each other as its window gets to them
    (gradient buckets, units of ZeRO-3). `units`: as many gathers or scatters it really is, each with its own
    latency (ZeRO-3); buckets of a gradient are one operation. `host_kernels`: what the host has to issue for
    one operation, all units together, before it moves. `chunk`: the model chunk of the stage (0 first)
    that it belongs to; None = all of them.

    `read` and `write`: each row of `groups` is one GPU and `storage` names the storage device that it reads
    from or writes to, one id a row; S is what that GPU moves, by its NICs (conventions 1, 2) or, to storage
    on a network of its own, by those that have no rail. `broadcast`: the first member of a row sends.
    `dedup` comes with the algorithm "deduplicated" of an all-to-all; S then still counts every copy.
    """

    id: str
    dimension: ExchangeDimension
    kind: str
    operation: Operation
    algorithm: str
    groups: IntArray
    stages: IntArray
    group_key: str
    message_bytes: int
    count_per_step: int
    when: When
    window: Window = Window.NONE
    time_factor: float = 1.0
    storage: tuple[str, ...] = ()
    dedup: Dedup | None = None
    buckets: int = 1
    units: int = 1
    host_kernels: int = 0
    chunk: int | None = None

    @property
    def blocking(self) -> bool:
        """Whether compute waits for all of it."""
        return self.window is Window.NONE

    @property
    def group_size(self) -> int:
        """Members of each group (2 for a send)."""
        return int(self.groups.shape[1])
