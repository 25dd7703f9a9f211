"""Which container can lie in which: a site holds pods, a pod racks, a rack trays."""

from __future__ import annotations

from collections.abc import Sequence

from model.errors import EditRefused
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind

_ORDER = tuple(ContainerKind)  # the smallest first
_HOLDS = {
    ContainerKind.SITE: "pods, racks and trays",
    ContainerKind.POD: "racks and trays",
    ContainerKind.RACK: "trays",
    ContainerKind.TRAY: "devices only",
}


def nesting_refusal(inner: Container, outer: Container) -> str | None:
    """Why one container cannot lie in another, None when it can."""
    if _ORDER.index(inner.kind) < _ORDER.index(outer.kind):
        return None
    return (
        f'{inner.kind} "{inner.id}" cannot lie in {outer.kind} "{outer.id}": '
        f"a {outer.kind} holds {_HOLDS[outer.kind]}"
    )


def check_nesting(topology: Topology, boxes: Sequence[Container]) -> None:
    """Raise `EditRefused` where new or changed containers cannot lie in what is around them, or cannot hold
    what is in them. A file may hold other nests: they are drawn, and edits of other things leave them alone.
    """
    new = {box.id: box for box in boxes}
    pairs: list[tuple[Container, Container]] = []
    for box in boxes:
        if box.parent is not None and (box.parent in new or topology.has_container(box.parent)):
            pairs.append((box, new.get(box.parent) or topology.container(box.parent)))
        if topology.has_container(box.id):
            inside = (ident for ident in topology.children(box.id) if topology.has_container(ident))
            pairs.extend((topology.container(ident), box) for ident in inside if ident not in new)
    for inner, outer in pairs:
        why = nesting_refusal(inner, outer)
        # A container inside itself has a refusal of its own, by the topology.
        if why and not _inside(topology, outer.id, inner.id):
            raise EditRefused(f"{why}.")


def _inside(topology: Topology, ident: str, outer: str) -> bool:
    around: str | None = ident
    while around is not None and topology.has_container(around):
        if around == outer:
            return True
        around = topology.container(around).parent
    return False
