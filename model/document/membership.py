"""Moving things into a container and out of it, as a hand does that drags them there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model.document.document import Document
from model.document.edits import Batch, Edit
from model.document.rack_edits import into_rack, with_parent
from model.topology.equipment import mountable
from model.topology.graph import Topology
from model.topology.nesting import nesting_refusal
from model.topology.types import ContainerKind


def can_hold(topology: Topology, container: str, ids: Iterable[str]) -> bool:
    """Whether all these devices and containers could lie directly in a container."""
    outer = topology.container(container)
    boxes = (topology.container(ident) for ident in ids if topology.has_container(ident))
    return all(nesting_refusal(box, outer) is None for box in boxes)


def into_container(document: Document, ids: Sequence[str], container: str | None) -> Batch:
    """The edit that puts devices and containers into a container, or with None into nothing.

    In a rack each takes the lowest U that is free for it; what cannot stand in a rack by itself, or finds no
    room, is in it at no U.
    """
    topology = document.topology
    edits: list[Edit] = []
    standing: tuple[str, ...] = ()
    if container is not None and topology.container(container).kind is ContainerKind.RACK:
        standing = tuple(ident for ident in ids if mountable(topology, ident))
    if container is not None and standing:
        edits.append(into_rack(document, standing, container))
    edits.extend(with_parent(topology, (ident for ident in ids if ident not in standing), container))
    return Batch(tuple(edits))
