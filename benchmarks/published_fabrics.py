"""The clusters that published runs ran on, as templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from model.analysis import AnalysisCache
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link
from topology_templates.registry import build

TEMPLATES = {
    "a100-sxm-80": "hgx-a100",
    "a100-sxm-40": "hgx-a100",
    "h100-sxm": "hgx-h100",
    "h800-sxm": "hgx-h800",
    "b200-sxm": "hgx-b200",
    "b300-sxm": "hgx-b300",
    "gb200": "gb200-nvl72",
    "gb300": "gb300-nvl72",
}
RACKS = ("gb200-nvl72", "gb300-nvl72")
GPUS_OF_A_HOST = 8
GPUS_OF_A_RACK = 72
USED_OF_A_RACK = 64  # groups of a power of two stay inside


@dataclass(frozen=True, slots=True)
class Cluster:
    """A drawing, the GPUs of the job in rank order, and a place for what compiling the drawing gives."""

    topology: Topology
    world: tuple[str, ...]
    cache: AnalysisCache


@lru_cache(maxsize=2)
def cluster(gpu: str, gpus: int, node_gbit_per_s: float | None) -> Cluster:
    """A cluster of whole hosts or racks with at least `gpus` GPUs.

    `node_gbit_per_s` is what all NICs of a host carry together, where it is not what the template draws.
    """
    template = TEMPLATES[gpu]
    if template in RACKS:
        content = build(template, {"racks": -(-gpus // USED_OF_A_RACK), "host": "plain"})
    else:
        content = build(template, {"nodes": -(-gpus // GPUS_OF_A_HOST), "host": "plain"})
    devices = tuple(
        replace(device, model=gpu) if device.kind is DeviceKind.GPU else device for device in content.devices
    )
    links = content.links
    if node_gbit_per_s is not None:
        links = tuple(_narrowed(content.links, devices, node_gbit_per_s * 1e9 / 8 / GPUS_OF_A_HOST))
    drawn = [device.id for device in devices if device.kind is DeviceKind.GPU]
    if template in RACKS:
        drawn = [ident for place, ident in enumerate(drawn) if place % GPUS_OF_A_RACK < USED_OF_A_RACK]
    return Cluster(Topology(devices, links, content.containers), tuple(drawn[:gpus]), AnalysisCache())


def _narrowed(links: tuple[Link, ...], devices: Sequence[Device], lane_bytes_per_s: float) -> list[Link]:
    """The links with those from NICs to leaves at another speed."""
    nics = {device.id for device in devices if device.kind is DeviceKind.NIC}
    leaves = {device.id for device in devices if device.kind is DeviceKind.LEAF}
    return [
        replace(link, lane_bytes_per_s=lane_bytes_per_s)
        if (link.a in nics and link.b in leaves) or (link.b in nics and link.a in leaves)
        else link
        for link in links
    ]
