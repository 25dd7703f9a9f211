"""The edit that puts a template on a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from model.document.clipboard import Fragment, paste
from model.document.document import Document
from model.document.edits import Edit, Load
from model.document.start import document_from
from model.topology.footprint import CONTAINER_PADDING, FOOTPRINT, GRID
from topology_templates.registry import build, template

if TYPE_CHECKING:
    from pydantic import BaseModel

GAP = 6 * GRID


def template_edit(
    document: Document,
    ident: str,
    parameters: BaseModel | Mapping[str, object] | None,
    at: tuple[float, float] | None = None,
) -> tuple[Edit, str]:
    """The edit and what to call it. Raises InputError when the parameters are impossible.

    On an empty drawing the template brings a job that fits it; else its upper left corner comes to stand at
    `at` (scene units), or right of what is there.
    """
    content = build(ident, parameters)
    text = f"Place {template(ident).name}"
    if not document.topology.devices() and not document.topology.containers():
        return Load(document_from(content)), text
    fragment = Fragment(content.devices, content.links, content.containers, content.positions)
    kinds = {device.id: device.kind for device in content.devices}
    left = min((x - FOOTPRINT[kinds[name]][0] / 2 for name, (x, _) in content.positions.items()), default=0.0)
    if at is not None:
        top = min(
            (y - FOOTPRINT[kinds[name]][1] / 2 for name, (_, y) in content.positions.items()), default=0.0
        )
        return paste(document, fragment, (_on_grid(at[0] - left), _on_grid(at[1] - top))), text
    right = max(
        (
            x + FOOTPRINT[document.topology.device(name).kind][0] / 2
            for name, (x, _) in document.layout.items()
        ),
        default=0.0,
    )
    return paste(document, fragment, (_on_grid(right + GAP + CONTAINER_PADDING - left), 0.0)), text


def _on_grid(value: float) -> float:
    return -(-value // GRID) * GRID
