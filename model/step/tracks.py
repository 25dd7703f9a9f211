"""Who moves in lockstep: replicas that are equal are one class, and a *track* is a class at a pipeline stage.

Track k · p + r is stage r of the replicas of class k; with one class tracks are stages. Exchanges are split
by the classes of their members before they are routed: `Tracks.split` gives each group a *label*, which
takes the place of the stage in `model.traffic.load`, so that an instance is one exchange at one label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.job.exchange import Exchange, When
from model.placement.types import Placement

IntArray = NDArray[np.int64]

PER_MICROBATCH = frozenset({When.FORWARD, When.BACKWARD, When.AFTER_FORWARD, When.AFTER_BACKWARD})
MOST_CLASSES = 60  # a set of classes is a mask in 64 bits


@dataclass(frozen=True, slots=True)
class Tracks:
    """`stages` p; `replicas` per class the numbers of its replicas, in rising order."""

    stages: int
    replicas: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """p × classes."""
        return self.stages * len(self.replicas)

    def class_of_replica(self) -> IntArray:
        """The class of every replica number."""
        found = np.zeros(1 + max((max(own) for own in self.replicas if own), default=0), dtype=np.int64)
        for number, own in enumerate(self.replicas):
            found[list(own)] = number
        return found

    def of_gpus(self, placement: Placement) -> IntArray:
        """The track of every GPU of the placement; -1 = plays no rank."""
        stage = placement.coordinates["pp"].astype(np.int64)
        replica = placement.coordinates["dp"].astype(np.int64)
        classes = self.class_of_replica()
        known = (stage >= 0) & (replica >= 0) & (replica < len(classes))
        return np.where(known, classes[np.where(known, replica, 0)] * self.stages + stage, -1)

    def split(
        self, exchanges: Sequence[Exchange], placement: Placement
    ) -> tuple[tuple[Exchange, ...], NDArray[np.int32]]:
        """The exchanges with labels in place of stages, and the stage of each label.

        What runs in every microbatch has the track of its first member as label. Other groups that join
        tracks of several classes have labels of their own, from `count` on.
        """
        labels = [track % self.stages for track in range(self.count)]
        if len(self.replicas) == 1:
            return tuple(exchanges), np.array(labels, dtype=np.int32)
        class_of_gpu = self.of_gpus(placement) // self.stages
        wide: dict[tuple[int, int], int] = {}
        found = []
        for exchange in exchanges:
            classes = class_of_gpu[exchange.groups]
            stages = exchange.stages.astype(np.int64)
            if exchange.when in PER_MICROBATCH:
                label = np.maximum(classes[:, 0], 0) * self.stages + stages
            else:
                label = self._joint_labels(np.maximum(classes, 0), stages, wide, labels)
            found.append(replace(exchange, stages=label.astype(np.int32)))
        return tuple(found), np.array(labels, dtype=np.int32)

    def _joint_labels(
        self,
        classes: IntArray,
        stages: IntArray,
        wide: dict[tuple[int, int], int],
        labels: list[int],
    ) -> IntArray:
        masks = np.bitwise_or.reduce(np.left_shift(np.int64(1), classes), axis=1)
        label = classes[:, 0] * self.stages + stages
        for row in np.flatnonzero(masks & (masks - 1)).tolist():
            key = (int(masks[row]), int(stages[row]))
            if key not in wide:
                wide[key] = len(labels)
                labels.append(key[1])
            label[row] = wide[key]
        return label


def one_class(stages: int, replicas: int) -> Tracks:
    """All replicas in lockstep."""
    return Tracks(stages, (tuple(range(replicas)),))
