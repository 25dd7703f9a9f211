"""What a template gives, and the builder that templates fill."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from model.catalog import catalog
from model.topology.layout import layout_parts
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind


@dataclass(frozen=True, slots=True)
class TemplateContent:
    """A whole drawing: parts in document order and the centre of every device in scene units."""

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    containers: tuple[Container, ...]
    positions: Mapping[str, tuple[float, float]]


@dataclass(slots=True)
class Sketch:
    """Parts collected in document order."""

    devices: list[Device] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)

    def device(
        self,
        ident: str,
        kind: DeviceKind,
        model: str,
        parent: str | None = None,
        rail: int | None = None,
        u: int | None = None,
    ) -> str:
        """Add a device, in a rack with its lowest U; gives its id."""
        self.devices.append(Device(ident, kind, model, parent=parent, rail=rail, u=u))
        return ident

    def link(self, a: str, b: str, kind: LinkKind, lane_bytes_per_s: float, count: int = 1) -> None:
        """Add a link, named after its ends."""
        self.links.append(Link(f"{a}--{b}", a, b, kind, lane_bytes_per_s, count))

    def line(
        self, a: str, b: str, lane_bytes_per_s: float, count: int, length_m: float, latency_s: float
    ) -> None:
        """Add long lines between sites."""
        self.links.append(
            Link(
                f"{a}--{b}",
                a,
                b,
                LinkKind.WAN,
                lane_bytes_per_s,
                count,
                latency_s=latency_s,
                length_m=length_m,
            )
        )

    def container(self, ident: str, kind: ContainerKind, parent: str | None = None) -> str:
        """Add a container; gives its id."""
        self.containers.append(Container(ident, kind, parent=parent))
        return ident

    def place(self, ident: str, u: int, height_u: float | None) -> int | None:
        """Stand the container added last but for its content, `ident`, at a U of its rack; gives the U above.

        Without a known height, or above the rack, its place stays open; then None.
        """
        if height_u is None or u - 1 + height_u > catalog().racks.height_u:
            return None
        at = next(n for n in range(len(self.containers) - 1, -1, -1) if self.containers[n].id == ident)
        self.containers[at] = replace(self.containers[at], u=u, height_u=height_u)
        return u + math.ceil(height_u)


def finished(sketch: Sketch, name: str) -> TemplateContent:
    """The content of a sketch, laid out by role."""
    devices, links, containers = tuple(sketch.devices), tuple(sketch.links), tuple(sketch.containers)
    positions = layout_parts(devices, links, containers)
    return TemplateContent(name, devices, links, containers, positions)


def numbered(prefix: str, number: int, last: int) -> str:
    """An id whose number has at least two digits, and as many as `last`: ("node", 7, 15) → "node07"."""
    return f"{prefix}{number:0{max(2, len(str(last)))}d}"
