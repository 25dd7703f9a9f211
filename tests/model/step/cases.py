"""Small hand-made steps: stages of a few GPUs, exchanges with given loads, links with given rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from model.job.exchange import Exchange, ExchangeDimension, Operation, When, Window
from model.placement.types import Placement
from model.step.account import Arithmetic, Inputs, Step, run_step
from model.step.orders import Direction
from model.step.orders import Operation as Piece
from model.step.schedule import Schedule, pipeline_schedule
from model.step.seconds import ChunkSeconds, TrackSeconds
from model.step.small import Small
from model.step.tracks import Tracks, one_class
from model.step.work import Choices
from model.traffic.types import Fabric, Traffic


@dataclass
class Case:
    """A job of `stages` stages with one GPU each, and links of `rates` bytes/s (both directions)."""

    stages: int = 1
    microbatches: int = 1
    rates: Sequence[float] = ()
    forward_s: float = 1.0
    backward_s: float = 2.0
    dgrad_s: float = 0.0
    wgrad_s: float = 0.0
    attention_s: float = 0.0
    optimizer_s: float = 0.0
    schedule: str = "1f1b"
    chunks: int = 1
    group: int | None = None
    choices: Choices = field(default_factory=Choices)
    payload_share: float = 1.0
    routed: int = 0
    issue_s: float = 0.0
    small: Small = field(default_factory=Small)
    exchanges: list[Exchange] = field(default_factory=list)
    instances: list[tuple[int, int]] = field(default_factory=list)
    loads: list[Mapping[int, float]] = field(default_factory=list)
    endpoints: list[Mapping[int, float]] = field(default_factory=list)
    alpha_s: list[float] = field(default_factory=list)

    def exchange(
        self,
        when: When,
        *,
        loads: Mapping[int, Mapping[int, float]],
        window: Window = Window.NONE,
        dimension: ExchangeDimension = "tp",
        alpha_s: float = 0.0,
        count: int = 1,
        groups: Sequence[Sequence[int]] | None = None,
        endpoints: Mapping[int, Mapping[int, float]] | None = None,
        time_factor: float = 1.0,
        **fields: Any,
    ) -> None:
        """Add an exchange with its loads: {stage: {directed link: bytes per step}}; `fields` are further ones
        of the exchange.
        """
        rows = groups if groups is not None else [[stage] for stage in loads]
        self.exchanges.append(
            Exchange(
                id=f"x{len(self.exchanges)}",
                dimension=dimension,
                kind=f"{dimension}.{when}",
                operation=fields.pop("operation", Operation.ALL_GATHER),
                algorithm="ring",
                groups=np.array(rows, dtype=np.int32),
                stages=np.array(list(loads), dtype=np.int32),
                group_key=dimension,
                message_bytes=1,
                count_per_step=count,
                when=when,
                window=window,
                time_factor=time_factor,
                **fields,
            )
        )
        for stage, bytes_on in loads.items():
            self.instances.append((len(self.exchanges) - 1, stage))
            self.loads.append(bytes_on)
            self.endpoints.append((endpoints or {}).get(stage, bytes_on))
            self.alpha_s.append(alpha_s)

    def fabric(self) -> Fabric:
        """A fabric that has only links."""
        rates = np.array(self.rates, dtype=np.float64)
        none = np.zeros(len(rates), dtype=np.int32)
        return Fabric(
            revision=0,
            device_ids=(),
            device_index={},
            device_kind=np.zeros(0, dtype=np.int8),
            device_up=np.zeros(0, dtype=np.bool_),
            link_ids=tuple(f"link{number}" for number in range(len(rates))),
            link_a=none,
            link_b=none,
            link_kind=none.astype(np.int8),
            link_count=none + 1,
            capacity=rates,
            usable=rates * self.payload_share,
            latency=np.zeros(len(rates)),
            gpu_devices=np.zeros(0, dtype=np.int32),
            domain=np.zeros(0, dtype=np.int32),
            rail=np.zeros(0, dtype=np.int32),
            host=np.zeros(0, dtype=np.int32),
            host_ids=(),
            routes=None,
        )

    def traffic(self) -> Traffic:
        """The loads as arrays; the largest edge of an instance is its largest load."""
        pairs = np.array(self.instances, dtype=np.int32).reshape(-1, 2)
        return Traffic(
            instance_exchange=pairs[:, 0],
            instance_stage=pairs[:, 1],
            loads=self._matrix(self.loads),
            endpoint_loads=self._matrix(self.endpoints),
            largest_edge_bytes=np.array([max(row.values(), default=0.0) for row in self.loads]),
            alpha_s=np.array(self.alpha_s),
            algorithms=("ring",) * len(self.exchanges),
            sent_bytes_per_gpu=np.zeros(len(self.exchanges)),
            unreachable=(),
            unreachable_pairs=np.zeros(len(self.exchanges), dtype=np.int32),
            notes=(),
        )

    def _matrix(self, rows: Sequence[Mapping[int, float]]) -> csr_array:
        dense = np.zeros((len(rows), 2 * len(self.rates)))
        for number, row in enumerate(rows):
            for link, amount in row.items():
                dense[number, link] = amount
        return csr_array(dense)

    def placement(self) -> Placement:
        """GPU r plays stage r."""
        stage = np.arange(self.stages, dtype=np.int32)
        zero = np.zeros(self.stages, dtype=np.int32)
        coordinates = dict.fromkeys(("tp", "cp", "dp", "etp", "ep", "edp"), zero) | {"pp": stage}
        return Placement(
            gpus=tuple(f"gpu{number}" for number in range(self.stages)),
            world_size=self.stages,
            rank=stage,
            coordinates=coordinates,
            groups={},
            group_of={},
            conflicts=(),
            shown={},
        )

    def seconds(self) -> tuple[TrackSeconds, ...]:
        """The same compute on every stage, shared evenly by its chunks; DualPipe has a whole copy in each."""
        copies = 2 if self.schedule == "dualpipe" and self.stages > 1 else 1
        chunks = self.pipeline().chunks
        one = ChunkSeconds(
            self.forward_s,
            self.backward_s,
            self.dgrad_s,
            self.wgrad_s,
            self.attention_s,
            routed=self.routed,
        ).paced(chunks / copies)
        return tuple(
            TrackSeconds(track % self.stages, (one,) * chunks, self.optimizer_s, issue_s=self.issue_s)
            for track in range(self.tracks().count)
        )

    def pipeline(self) -> Schedule:
        """The schedule that runs."""
        return pipeline_schedule(self.schedule, self.stages, self.microbatches, self.chunks, self.group)

    def tracks(self) -> Tracks:
        """One replica."""
        return one_class(self.stages, 1)

    def inputs(self) -> Inputs:
        """All of it together."""
        fabric = self.fabric()
        return Inputs(
            usable=np.repeat(fabric.usable, 2),
            capacity=np.repeat(fabric.capacity, 2),
            placement=self.placement(),
            exchanges=tuple(self.exchanges),
            traffic=self.traffic(),
            tracks=self.tracks(),
            seconds=self.seconds(),
            schedule=self.pipeline(),
            choices=self.choices,
            arithmetic=Arithmetic(1.0, 1.0, 1.0, 1.0, self.stages),
            small=self.small,
        )

    def run(self) -> Step:
        """Simulate it."""
        return run_step(self.inputs())


def sends(case: Case, seconds: float) -> None:
    """Give every pair of neighbouring stages a link each way that takes `seconds` for a microbatch."""
    case.rates = [1.0] * (case.stages - 1)
    amount = seconds * case.microbatches
    if case.stages > 1:
        case.exchange(
            When.AFTER_FORWARD,
            dimension="pp",
            loads={stage: {2 * stage: amount} for stage in range(case.stages - 1)},
            groups=[[stage, stage + 1] for stage in range(case.stages - 1)],
        )
        case.exchange(
            When.AFTER_BACKWARD,
            dimension="pp",
            loads={stage: {2 * stage - 1: amount} for stage in range(1, case.stages)},
            groups=[[stage, stage - 1] for stage in range(1, case.stages)],
        )


def moved(step: Step) -> np.ndarray:
    """Σ rates × duration per directed link."""
    segments = step.segments
    total = np.zeros(segments.rates.shape[1])
    for start, end, state in zip(segments.start_s, segments.end_s, segments.state, strict=True):
        total += segments.rates[state] * (end - start)
    return total


def most_in_flight(operations: Sequence[Piece]) -> int:
    """How many chunks of microbatches a rank holds at most: forwards whose gradients are not all done yet."""
    freed_late = {
        (one.microbatch, one.chunk) for one in operations if one.direction is Direction.WEIGHT_GRADIENT
    }
    held = most = 0
    for operation in operations:
        if operation.direction is Direction.FORWARD:
            held += 1
        elif operation.direction is Direction.WEIGHT_GRADIENT or (
            (operation.microbatch, operation.chunk) not in freed_late
        ):
            held -= 1
        most = max(most, held)
    return most
