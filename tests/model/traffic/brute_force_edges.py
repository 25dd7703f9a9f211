"""Collectives as edges between names, member by member, in exact fractions; see `brute_force`."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from model.job.exchange import Dedup

Edge = tuple[str, str, Fraction]
Parts = list[list[str]]


@dataclass(frozen=True)
class Flow:
    """Edges that are lost together, for a pair."""

    source: str
    target: str
    edges: list[Edge]


def chain_flow(chain: list[Edge]) -> Flow:
    """Edges one after the other."""
    return Flow(chain[0][0], chain[-1][1], chain)


def ring(parts: Parts, wire: Fraction, between: Fraction | None = None) -> list[Edge]:
    """`wire` on each inside hop; `between` (as much, if not given) from part to part on all channels."""
    edges: list[Edge] = []
    for part in parts:
        if len(part) > 1:
            edges += [(a, b, wire) for a, b in zip(part, part[1:] + part[:1], strict=True)]
    if len(parts) > 1:
        channels = min(len(part) for part in parts)
        total = wire if between is None else between
        for here, there in zip(parts, parts[1:] + parts[:1], strict=True):
            edges += [(here[c], there[c], total / channels) for c in range(channels)]
    return edges


def all_reduce(parts: Parts, group: list[str], algorithm: str, message: Fraction) -> list[Edge]:
    """What the algorithm asked for does, or the ring. "inside": only the scatter and gather in each part."""
    n, count, q = len(group), len(parts), len(parts[0])
    equal = all(len(part) == q for part in parts)
    if algorithm == "inside":
        return [edge for part in parts for edge in ring([part], 2 * message * (q - 1) / q)]
    if algorithm == "tree" and count > 1:
        return tree(parts, message)
    if algorithm == "hierarchical" and count > 1 and equal:
        return ring(parts, 2 * message * (q - 1) / q, 2 * message * (count - 1) / count)
    if algorithm == "halving-doubling" and n in (2, 4, 8, 16, 32, 64):
        edges = []
        for step in range(n.bit_length() - 1):
            for r, member in enumerate(group):
                partner = r + 2**step if r // 2**step % 2 == 0 else r - 2**step
                edges.append((member, group[partner], 2 * message / 2 ** (step + 1)))
        return edges
    if algorithm == "direct" and count == 1:
        return direct(group, 2 * message / n)
    return ring(parts, 2 * message * (n - 1) / n)


def direct(group: list[str], amount: Fraction) -> list[Edge]:
    return [(a, b, amount) for a, b in itertools.permutations(group, 2)]


def chain(part: list[str], channel: int) -> list[tuple[str, str]]:
    """The part's cycle from the channel's member on, not closed."""
    turned = part[channel:] + part[:channel]
    return list(itertools.pairwise(turned))


def tree(parts: Parts, message: Fraction) -> list[Edge]:
    channels = min(len(part) for part in parts)
    each, count = message / channels, len(parts)
    first = binary_tree(count)
    if count % 2:
        second = [((a + 1) % count, (b + 1) % count) for a, b in first]
    else:
        second = [(count - 1 - a, count - 1 - b) for a, b in first]
    edges: list[Edge] = []
    for channel in range(channels):
        for part in parts:
            for a, b in chain(part, channel):
                edges += [(a, b, each), (b, a, each)]
        for upper, lower in first + second:
            a, b = parts[upper][channel], parts[lower][channel]
            edges += [(a, b, each / 2), (b, a, each / 2)]
    return edges


def binary_tree(count: int) -> list[tuple[int, int]]:
    """(parent, child): 0 over the largest power of two below `count`; a node over the middles of the two
    stretches beside it, the right one halved until its middle exists (ncclGetBtree's drawing)."""
    if count < 2:
        return []
    top = 2 ** ((count - 1).bit_length() - 1)
    found, open_nodes = [(0, top)], [(top, top)]
    while open_nodes:
        node, reach = open_nodes.pop()
        if reach == 1:
            continue
        left, right = reach // 2, reach // 2
        found.append((node, node - left))
        open_nodes.append((node - left, left))
        while right and node + right >= count:
            right //= 2
        if right:
            found.append((node, node + right))
            open_nodes.append((node + right, right))
    return found


def broadcast(parts: Parts, message: Fraction) -> list[Edge]:
    """From the first member of the first part."""
    channels = min(len(part) for part in parts)
    edges = [(a, b, message) for a, b in chain(parts[0], 0)]
    for channel in range(channels):
        for part in parts[1:]:
            edges += [(a, b, message / channels) for a, b in chain(part, channel)]
        for here, there in itertools.pairwise(parts):
            edges.append((here[channel], there[channel], message / channels))
    return edges


def deduplicated(parts: Parts, message: Fraction, dedup: Dedup) -> list[Flow]:
    """One copy of each token per remote part, handed on to the GPUs of its experts."""
    n, k, experts = sum(len(part) for part in parts), dedup.copies_per_token, dedup.experts
    flows = []
    for mine in parts:
        for place, a in enumerate(mine):
            for there in parts:
                if there is mine:
                    flows += [Flow(a, b, [(a, b, message / n)]) for b in mine if b != a]
                    continue
                here = experts * len(there) // n
                chance = 1 - Fraction(math.comb(experts - here, k), math.comb(experts, k))
                if dedup.node_limit is not None:
                    chance = min(chance, Fraction(dedup.node_limit, len(parts)))
                landing = there[place % len(there)]
                onward = [(landing, b, message / n) for b in there if b != landing]
                flows.append(Flow(a, landing, [(a, landing, chance * message / k), *onward]))
    if dedup.combine:
        flows = [Flow(f.target, f.source, [(b, a, amount) for a, b, amount in f.edges]) for f in flows]
    return flows
