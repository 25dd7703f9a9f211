"""One thing that the groups of a pipeline stage exchange, before it is known which GPUs form them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.job.exchange import Dedup, ExchangeDimension, Operation, When, Window
from model.placement.grid import GroupKey

Members = Literal["group", "ring", "shards", "replicas"]


@dataclass(frozen=True, slots=True)
class Need:
    """One collective that every group of `group_key` at `stage` runs `count` times a step.

    `members` says what is made of the groups: "group" the group itself, "ring" a send from each member to
    the next (cyclic), "shards" the parts of a data-parallel group that each hold all shards (HSDP),
    "replicas" the holders of the same shard in those parts. `listed`: the part of every member in every unit
    is copied by a kernel of its own. The rest is as in `Exchange`.
    """

    name: str
    kind: str
    dimension: ExchangeDimension
    group_key: GroupKey
    operation: Operation
    stage: int
    message_bytes: int
    count: int
    when: When
    window: Window = Window.NONE
    time_factor: float = 1.0
    members: Members = "group"
    buckets: int = 1
    units: int = 1
    listed: bool = False
    chunk: int | None = None
    dedup: Dedup | None = None
