"""Containers put down by hand: around what is under the pointer or selected, else an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.canvas.hit import hit, tray_at
from model.document.document import Position
from model.document.edits import AddParts, Batch, Edit, SetSpots
from model.document.rack_edits import free_name, group, standing
from model.errors import RailsketchError
from model.text import plural
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData, QPointF

    from gui.canvas.view import CanvasView

CONTAINER_MIME = "application/x-railsketch-container"
_ORDER = tuple(ContainerKind)


def container_kind(data: QMimeData) -> ContainerKind | None:
    """What a drag from the palette carries; None when it is not understood."""
    text = bytes(data.data(CONTAINER_MIME).data()).decode(errors="replace")
    return ContainerKind(text) if text in tuple(ContainerKind) else None


def drop_container(view: CanvasView, kind: ContainerKind, scene: QPointF) -> None:
    """Put a container around what is at a point, or around the selection when that is a part of it; an empty
    one where nothing is that it could hold."""
    topology = view.context.document.document.topology
    found = hit(view.painter, scene.x(), scene.y())
    at = tray_at(view.painter, scene.x(), scene.y())
    if found is not None and found.kind == "device":
        at = view.scene_data.index.device_ids[found.row]
    inner = _held_by(topology, at, kind)
    ids: frozenset[str] = frozenset() if inner is None else frozenset({inner})
    if inner is not None and view.context.selection.intersection(_around(topology, at)):
        ids = view.context.selection
    put_container(view, kind, ids, at, (scene.x(), scene.y()))


def put_container(
    view: CanvasView,
    kind: ContainerKind,
    ids: frozenset[str],
    at: str | None = None,
    spot: Position | None = None,
) -> None:
    """Put a container around things, or without any an empty one at `spot` into what is around `at`, as one
    step."""
    document = view.context.document.document
    name = free_name(document.topology, kind.value)
    edit: Edit
    try:
        if ids:
            edit = group(document, ids, kind, name)
            text = f"Group {plural(len(ids), 'part')} as {name}"
        else:
            around = next(
                (box for box in _around(document.topology, at) if _larger(document.topology, box, kind)), None
            )
            boxes: tuple[Container, ...] = (Container(name, kind, parent=around),)
            if around is not None and document.topology.container(around).kind is ContainerKind.RACK:
                boxes = standing(document.topology, boxes, around)
            edit = AddParts(containers=boxes)
            if spot is not None:
                edit = Batch((edit, SetSpots({name: spot})))
            text = f"Add {name}"
        view.context.document.push(edit, text)
    except RailsketchError as refused:
        view.context.say(str(refused))
        return
    view.context.set_selection({name})
    if not ids:
        view.context.say(f"{name} is empty: drop devices into it, or choose it as the place of others.")


def _around(topology: Topology, ident: str | None) -> list[str]:
    """A thing and the containers around it, from the inside out."""
    path: list[str] = []
    while ident is not None:
        path.append(ident)
        thing = topology.container(ident) if topology.has_container(ident) else topology.device(ident)
        ident = thing.parent
    return path


def _larger(topology: Topology, ident: str, kind: ContainerKind) -> bool:
    return topology.has_container(ident) and _ORDER.index(topology.container(ident).kind) > _ORDER.index(kind)


def _held_by(topology: Topology, ident: str | None, kind: ContainerKind) -> str | None:
    """The outermost thing at `ident` that a container of a kind could hold: of a GPU in a host in a rack, for
    a rack the host. None where there is one of the kind already."""
    path = _around(topology, ident)
    if any(topology.has_container(one) and topology.container(one).kind is kind for one in path):
        return None
    fitting = [one for one in path if not _larger(topology, one, kind)]
    return fitting[-1] if fitting else None
