"""α of one operation, per group: NCCL's latencies, of the Simple protocol where none is named (§5.3).

The catalogue's step over the network stands for everything inside a site whose cables are not known. A link
that by itself takes longer (a fibre of more than about 3 km) adds its latency each time that data cross it,
and so does a network cable whose length follows from the racks at its ends: `long_links`.
"""

from __future__ import annotations

import numpy as np

from model.catalog.load import catalog
from model.traffic.arrays import BoolArray, FloatArray, IndexArray
from model.traffic.types import Fabric


def hop_s(inside: BoolArray) -> FloatArray:
    """One step, over NVLink where `inside`, else over the network: sends, all-to-all, storage."""
    alpha = catalog().alpha
    return np.where(inside, alpha.hop_s("ring", "nvlink"), alpha.hop_s("ring", "network"))


def ring_s(steps: int, between: IndexArray, protocol: str = "Simple") -> FloatArray:
    """Base latency, `steps` steps in all, `between` (groups,) of them over the network, the rest NVLink."""
    alpha = catalog().alpha
    inside = (steps - between) * alpha.hop_s("ring", "nvlink", protocol)
    over_network = between * alpha.hop_s("ring", "network", protocol)
    latency: FloatArray = alpha.base_s("ring", protocol) + inside + over_network
    return latency


def tree_s(largest: IndexArray, parts: IndexArray, protocol: str = "Simple") -> FloatArray:
    """Base, and up and down: the chain inside the largest part, log2 (rounded down) of the parts."""
    alpha = catalog().alpha
    levels = np.floor(np.log2(np.maximum(parts, 1)))
    inside = (largest - 1) * (2 * alpha.hop_s("tree", "nvlink", protocol))
    between = levels * (2 * alpha.hop_s("tree", "network", protocol))
    latency: FloatArray = alpha.base_s("tree", protocol) + inside + between
    return latency


def hierarchical_s(members: IndexArray, parts: IndexArray) -> FloatArray:
    """Three rings after each other (scatter and gather inside, all-reduce between), each with its base."""
    alpha = catalog().alpha
    inside = alpha.base_s("ring") + (members - 1) * alpha.hop_s("ring", "nvlink")
    between = alpha.base_s("ring") + 2 * (parts - 1) * alpha.hop_s("ring", "network")
    latency: FloatArray = np.where(members > 1, 2 * inside, 0.0) + np.where(parts > 1, between, 0.0)
    return latency


def halving_doubling_s(inside: BoolArray) -> FloatArray:
    """Base and two steps a round; `inside` (rounds, groups): rounds that stay in the parts go over NVLink."""
    rounds = np.asarray(hop_s(inside).sum(axis=0), np.float64)
    return catalog().alpha.base_s("ring") + 2 * rounds


def direct_s(steps: int) -> float:
    """Base, and a step over a scale-up link to scatter, to gather, or for each of both."""
    alpha = catalog().alpha
    return alpha.base_s("ring") + steps * alpha.hop_s("ring", "nvlink")


def sharp_s(members: IndexArray) -> FloatArray:
    """NCCL's CollNet chain: there and back inside the part, and its network latency once."""
    hop = catalog().alpha.collnet_chain_hop_us
    inside = (members - 1).astype(np.float64) * (2e-6 * hop["nvlink"])
    return inside + 1e-6 * hop["network"]


def deduplicated_s(several: BoolArray) -> FloatArray:
    """One step over the network and the hand-over in the part; inside one part only the latter."""
    return hop_s(np.ones(len(several), np.bool_)) + np.where(several, hop_s(~several), 0.0)


def long_links(fabric: Fabric) -> FloatArray:
    """(2 · links,): the latency of each directed link that takes longer than a catalogue step, or that is a
    cable between racks, else 0."""
    added = fabric.latency > catalog().alpha.hop_s("ring", "network")
    if len(fabric.in_racks):
        added |= fabric.in_racks
    return np.repeat(np.where(added, fabric.latency, 0.0), 2)
