"""NCCL's own estimate of a collective (its tuning.cc, protocol Simple), to compare with; no part of a step.

time = latency + S ÷ algbw, where algbw = busbw × n ÷ steps and busbw is what NCCL's search finds for channels
times rate. Latencies are the catalogue's (`alpha.json`); rates are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.catalog.load import catalog
from model.job.exchange import Operation

# Over several nodes NCCL takes the latency of large ring all-reduces 1.4 times (compute capability 8.0 on),
# large being this many bytes for every channel and member.
_LONGER = 1.4
_LARGE_BYTES = 64
# What a ring step inside a node costs at least when the group has several nodes: 3 × 1 µs (Intel hosts).
_LEAST_STEP_S = 3e-6
_TREE_SHARE = 0.92


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one operation: its latency, and its bytes at NCCL's rate."""

    latency_s: float
    bytes_s: float

    @property
    def time_s(self) -> float:
        """Both together."""
        return self.latency_s + self.bytes_s


def ring_estimate(
    operation: Operation, size: float, *, members: int, nodes: int, busbw: float, channels: int = 1
) -> Estimate:
    """A ring over `members` GPUs in `nodes` nodes; `busbw` bytes/s, `size` the full tensor S."""
    turns = 2 if operation is Operation.ALL_REDUCE else 1
    steps, between = turns * (members - 1), turns * (nodes - 1)
    alpha = catalog().alpha
    inside_s = alpha.hop_s("ring", "nvlink")
    if nodes > 1:
        inside_s = max(inside_s, _LEAST_STEP_S)
    family: Literal["ring", "tree"] = "tree" if members == nodes else "ring"
    latency = alpha.base_s("ring") + (steps - between) * inside_s + between * alpha.hop_s(family, "network")
    if turns == 2 and nodes > 1 and size / (channels * members) >= _LARGE_BYTES:
        latency *= _LONGER
    return Estimate(latency, size * steps / (members * busbw))


def tree_estimate(size: float, *, members: int, nodes: int, busbw: float) -> Estimate:
    """An all-reduce over a double tree of nodes, a power of two; without NCCL's correction by size."""
    alpha = catalog().alpha
    levels = nodes.bit_length() - 1
    chain = (members // nodes - 1) * alpha.hop_s("tree", "nvlink")
    latency = alpha.base_s("tree") + 2 * (chain + levels * alpha.hop_s("tree", "network"))
    return Estimate(latency, size / (0.5 * _TREE_SHARE * busbw))


def nvls_estimate(
    size: float, *, members: int, channels: int, intra: float, generation: Literal["hopper", "blackwell"]
) -> Estimate:
    """An all-reduce in the NVLink switches; `intra` is channels × rate of a channel, bytes/s."""
    alpha = catalog().alpha
    busbw = 2 * intra * alpha.nvls_efficiency[generation] * (channels - 1) / channels
    return Estimate(alpha.nvls_hop_s("nvlink"), size * 2 * (members - 1) / (members * busbw))
