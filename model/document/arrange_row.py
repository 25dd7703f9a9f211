"""Copies of a selection along a row, with names counted on and wired like the original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from model.document.arrange import Axis, Block, blocks
from model.document.clipboard import Fragment, copy, paste_all
from model.document.document import Document
from model.document.edits import AddParts
from model.errors import EditRefused
from model.text import name_list, plural
from model.topology.footprint import GRID
from model.topology.graph import Topology
from model.topology.ports import Family, family_of, port_use, ports_of
from model.topology.types import Link

MOST_COPIES = 1000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """What a row of copies would be. `names` are the outermost things of each copy; `left_out` says which
    links to the rest of the drawing find no port.
    """

    edit: AddParts
    names: tuple[tuple[str, ...], ...]
    left_out: str


def duplicate_row(
    document: Document,
    ids: Iterable[str],
    copies: int,
    *,
    axis: Axis = Axis.ACROSS,
    gap: float = GRID,
    wired: bool = True,
) -> Row:
    """`copies` copies of the selection beside each other, `gap` scene units apart.

    With `wired`, each copy also gets the links that the original has to the rest, as far as ports are free.
    Raises `EditRefused` for an empty selection or a number of copies out of range.
    """
    if not 1 <= copies <= MOST_COPIES:
        raise EditRefused(f"Make 1 to {MOST_COPIES:,} copies, not {copies:,}.")
    fragment = copy(document, ids)
    if fragment.empty:
        raise EditRefused("Select devices or containers to duplicate them.")
    outermost = _outermost(fragment)
    step = _size(blocks(document, outermost), axis) + gap
    step = -(-step // GRID) * GRID
    offsets = [
        (step * number, 0.0) if axis is Axis.ACROSS else (0.0, step * number)
        for number in range(1, copies + 1)
    ]
    edit, given = paste_all(document, fragment, offsets)
    links, left_out = _outer_links(document.topology, fragment, given) if wired else ((), "")
    names = tuple(tuple(new[ident] for ident in outermost) for new in given)
    return Row(replace(edit, links=(*edit.links, *links)), names, left_out)


def most_in_row(topology: Topology, ids: Iterable[str]) -> int:
    """How many things like the devices `ids` the rest has ports for, the original among them."""
    inside = set(ids)
    needed: dict[tuple[str, Family], float] = {}
    most = MOST_COPIES + 1
    for ident in inside:
        for link in topology.links_of(ident):
            if link.other(ident) in inside:
                continue
            end, family = topology.device(link.other(ident)), family_of(link.kind)
            group = next((each for each in ports_of(end) if each.family == family), None)
            if group is None:
                return 1
            key = (end.id, family)
            share = link.count * group.ports_per_lane(link.lane_bytes_per_s)
            needed[key] = needed.get(key, 0.0) + share
            free = group.count - port_use(topology, end.id).get(family, 0.0)
            most = min(most, 1 + max(0, int((free + _ROUNDING) / needed[key])))
    return most


def _outermost(fragment: Fragment) -> tuple[str, ...]:
    boxes = {box.id for box in fragment.containers}
    return (
        *(box.id for box in fragment.containers if box.parent not in boxes),
        *(device.id for device in fragment.devices if device.parent not in boxes),
    )


def _size(found: Sequence[Block], axis: Axis) -> float:
    spans = [block.span(axis) for block in found]
    return max(high for _, high in spans) - min(low for low, _ in spans) if spans else GRID


def _outer_links(
    topology: Topology, fragment: Fragment, given: Sequence[Mapping[str, str]]
) -> tuple[tuple[Link, ...], str]:
    """The links of the copies to what is not copied, and in words those that find no port."""
    inside = {device.id for device in fragment.devices}
    outer = [
        link
        for device in fragment.devices
        for link in topology.links_of(device.id)
        if (link.a in inside) != (link.b in inside)
    ]
    room: dict[tuple[str, Family], float] = {}
    made: list[Link] = []
    taken: set[str] = set()
    full: dict[str, None] = {}
    missing = 0
    for new in given:
        for link in outer:
            end = link.b if link.a in inside else link.a
            if not _takes_port(topology, link, end, room):
                missing += 1
                full[end] = None
                continue
            a, b = new.get(link.a, link.a), new.get(link.b, link.b)
            ident = _free_id(topology, f"{a}--{b}", taken)
            taken.add(ident)
            made.append(replace(link, id=ident, a=a, b=b))
    if not missing:
        return tuple(made), ""
    verb = "has" if len(full) == 1 else "have"
    return tuple(made), (
        f"{plural(missing, 'link')} of {missing + len(made):,} to the rest cannot be made: "
        f"{name_list(list(full))} {verb} no free port."
    )


def _takes_port(topology: Topology, link: Link, end: str, room: dict[tuple[str, Family], float]) -> bool:
    """Take the ports of one more such link at `end`, if they are free."""
    family = family_of(link.kind)
    group = next((each for each in ports_of(topology.device(end)) if each.family == family), None)
    if group is None:
        return False
    key = (end, family)
    if key not in room:
        room[key] = group.count - port_use(topology, end).get(family, 0.0)
    needed = link.count * group.ports_per_lane(link.lane_bytes_per_s)
    if needed > room[key] + _ROUNDING:
        return False
    room[key] -= needed
    return True


def _free_id(topology: Topology, wanted: str, taken: set[str]) -> str:
    ident, number = wanted, 2
    while topology.has(ident) or ident in taken:
        ident, number = f"{wanted}-{number}", number + 1
    return ident
