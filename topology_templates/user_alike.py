"""Which parts of a drawing are alike, so that a template can make any number of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.document.clipboard import Fragment
from model.topology.types import Container, Device, Link


@dataclass(frozen=True, slots=True)
class Alike:
    """Parts of equal content that are wired to the rest in the same way; the first stands for all.

    `members` are containers or devices, `inside` all ids that each of them holds (itself too).
    """

    members: tuple[str, ...]
    inside: Mapping[str, tuple[str, ...]]

    @property
    def stem(self) -> str:
        """What the parts are called without their number: "node00" → "node"."""
        return self.members[0].rpartition(".")[2].rstrip("0123456789").strip("-_ ") or "part"


def alike(fragment: Fragment) -> tuple[Alike, ...]:
    """The groups of two or more outermost parts that are alike, in document order."""
    inside = _inside(fragment)
    owner = {ident: part for part, ids in inside.items() for ident in ids}
    wires: dict[str, list[Link]] = {part: [] for part in inside}
    for link in fragment.links:
        for part in {owner[link.a], owner[link.b]}:
            wires[part].append(link)
    what: dict[str, tuple[object, ...]] = {box.id: (box.kind,) for box in fragment.containers}
    what.update((each.id, (each.kind, each.model, each.rail, each.state)) for each in fragment.devices)
    groups: dict[tuple[object, ...], list[str]] = {}
    for part, ids in inside.items():
        groups.setdefault(_signature(ids, wires[part], what), []).append(part)
    return tuple(
        Alike(tuple(members), {part: inside[part] for part in members})
        for members in groups.values()
        if len(members) > 1
    )


def joined(first: Alike, second: Alike, links: Iterable[Link]) -> bool:
    """Whether links run between two groups, so that only one of them can be a count."""
    one = {ident for ids in first.inside.values() for ident in ids}
    other = {ident for ids in second.inside.values() for ident in ids}
    return any((link.a in one and link.b in other) or (link.b in one and link.a in other) for link in links)


def without_copies(fragment: Fragment, groups: Iterable[Alike]) -> Fragment:
    """The fragment with only the first part of each group."""
    gone = {ident for group in groups for part in group.members[1:] for ident in group.inside[part]}
    return Fragment(
        tuple(device for device in fragment.devices if device.id not in gone),
        tuple(link for link in fragment.links if link.a not in gone and link.b not in gone),
        tuple(box for box in fragment.containers if box.id not in gone),
        {ident: at for ident, at in fragment.positions.items() if ident not in gone},
    )


def _inside(fragment: Fragment) -> dict[str, tuple[str, ...]]:
    """All ids in each outermost container or device, itself first."""
    boxes = {box.id: box.parent for box in fragment.containers}

    def outermost(ident: str, parent: str | None) -> str:
        while parent is not None and parent in boxes:
            ident, parent = parent, boxes[parent]
        return ident

    found: dict[str, list[str]] = {}
    things: tuple[Container | Device, ...] = (*fragment.containers, *fragment.devices)
    for thing in things:
        found.setdefault(outermost(thing.id, thing.parent), []).append(thing.id)
    return {part: tuple(ids) for part, ids in found.items()}


def _signature(
    ids: tuple[str, ...], links: Iterable[Link], what: Mapping[str, tuple[object, ...]]
) -> tuple[object, ...]:
    """Equal for parts that are alike: what is inside, in order, and each wire by its ends."""
    place = {ident: number for number, ident in enumerate(ids)}
    wires = []
    for link in links:
        ends = sorted(str(place[end]) if end in place else f"to {end}" for end in (link.a, link.b))
        wires.append((*ends, link.kind, link.lane_bytes_per_s, link.count, link.state, link.share))
    return (tuple(what[ident] for ident in ids), tuple(sorted(wires)))
