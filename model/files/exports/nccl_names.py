"""What NCCL calls the network devices of a host: mlx5_0, mlx5_1 … in the order of the drawing."""

from __future__ import annotations

from dataclasses import dataclass

from model.catalog import NicSpec
from model.files.exporting import ExportOption, ExportSource
from model.files.exports.drawing import Host, works
from model.topology.graph import Topology
from model.topology.ports import spec_of
from model.topology.types import NETWORK_LINKS, Device, DeviceKind, Link

NAMES_OPTION = ExportOption(
    "nic_names",
    "Names of network devices",
    "mlx5",
    (("mlx5", "mlx5_0, mlx5_1 … in the order of the drawing"), ("drawing", "as in the drawing")),
)


@dataclass(frozen=True, slots=True)
class NetDevice:
    """A port of a NIC, as NCCL sees it. `number` counts those of the host, `port` those of the NIC from 1."""

    name: str
    number: int
    port: int
    bytes_per_s: float
    nic: Device
    cabled: bool
    infiniband: bool


def net_devices(source: ExportSource, topology: Topology, host: Host) -> tuple[NetDevice, ...]:
    """The network devices of a host that work: one for each cable of a NIC, its ports where it has none."""
    found: list[NetDevice] = []
    for nic in host.of_kind(DeviceKind.NIC):
        if not works(nic):
            continue
        ports = _ports(topology, nic)
        for port, (rate, cabled, infiniband) in enumerate(ports, 1):
            name = f"mlx5_{len(found)}"
            if source.chosen(NAMES_OPTION) == "drawing":
                name = host.local_name(nic) + (f"_{port}" if len(ports) > 1 else "")
            found.append(NetDevice(name, len(found), port, rate, nic, cabled, infiniband))
    return tuple(found)


def _ports(topology: Topology, nic: Device) -> list[tuple[float, bool, bool]]:
    """Rate, whether a cable that works is there, and whether it speaks InfiniBand; one for each port."""
    links = [link for link in topology.links_of(nic.id) if link.kind in NETWORK_LINKS]
    live = [link for link in links if works(link) and works(topology.device(link.other(nic.id)))]
    if live:
        return [
            (link.capacity_bytes_per_s / link.count, True, link.kind.value == "infiniband")
            for link in live
            for _ in range(link.count)
        ]
    spec = spec_of(nic)
    if not isinstance(spec, NicSpec):
        return [(0.0, False, True)]
    return [(spec.port_bytes_per_s, False, "infiniband" in spec.networks)] * spec.ports


def host_links(topology: Topology, host: Host, kinds: frozenset[object]) -> list[Link]:
    """The links of some kinds that touch a host's working devices, each once, in the order of the devices."""
    found: dict[str, Link] = {}
    for device in host.devices:
        if works(device):
            for link in topology.links_of(device.id):
                if link.kind in kinds and works(link) and works(topology.device(link.other(device.id))):
                    found.setdefault(link.id, link)
    return list(found.values())
