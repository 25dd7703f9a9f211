"""Small clusters by name: devices and links collected into a topology."""

from __future__ import annotations

from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State

NVLINK = 25e9
PCIE = 63e9
PORT_400G = 50e9
PORT_200G = 25e9

MODELS = {
    DeviceKind.GPU: "h100-sxm",
    DeviceKind.NVLINK_SWITCH: "nvswitch3",
    DeviceKind.NIC: "cx7-ndr",
    DeviceKind.LEAF: "qm9700",
    DeviceKind.SPINE: "qm9700",
    DeviceKind.CORE: "qm9700",
    DeviceKind.CPU: "cpu",
    DeviceKind.PCIE_SWITCH: "pcie-switch",
}


class Sketch:
    """Collects devices and links, then makes a `Topology`."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.links: list[Link] = []
        self.containers: list[Container] = []

    def add(
        self,
        kind: DeviceKind,
        *names: str,
        model: str | None = None,
        rail: int | None = None,
        state: State = State.UP,
        parent: str | None = None,
    ) -> None:
        for name in names:
            self.devices.append(
                Device(name, kind, model or MODELS[kind], rail=rail, state=state, parent=parent)
            )

    def join(
        self,
        a: str,
        b: str,
        kind: LinkKind,
        rate: float,
        *,
        count: int = 1,
        state: State = State.UP,
        share: float = 1.0,
        ident: str = "",
    ) -> None:
        name = ident or f"{a}-{b}.{len(self.links)}"
        self.links.append(Link(name, a, b, kind, rate, count, share, state))

    def nvlink(self, a: str, b: str, count: int = 1, **more: State | float | str) -> None:
        self.join(a, b, LinkKind.NVLINK, NVLINK, count=count, **more)  # type: ignore[arg-type]

    def pcie(self, a: str, b: str, **more: State | float | str) -> None:
        self.join(a, b, LinkKind.PCIE, PCIE, **more)  # type: ignore[arg-type]

    def net(self, a: str, b: str, rate: float = PORT_400G, **more: int | State | float | str) -> None:
        self.join(a, b, LinkKind.INFINIBAND, rate, **more)  # type: ignore[arg-type]

    def host(self, name: str, gpus: int, planes: tuple[int, ...] = (4, 4), nics: int | None = None) -> None:
        """A host: GPUs behind NVLink planes, each on PCIe with a NIC of its own rail."""
        self.containers.append(Container(name, ContainerKind.TRAY))
        for plane in range(len(planes)):
            self.add(DeviceKind.NVLINK_SWITCH, f"{name}.sw{plane}", parent=name)
        for g in range(gpus):
            self.add(DeviceKind.GPU, f"{name}.gpu{g}", rail=g, parent=name)
            for plane, count in enumerate(planes):
                self.nvlink(f"{name}.gpu{g}", f"{name}.sw{plane}", count)
        for g in range(gpus if nics is None else nics):
            self.add(DeviceKind.NIC, f"{name}.nic{g}", rail=g, parent=name)
            self.pcie(f"{name}.gpu{g}", f"{name}.nic{g}")

    def topology(self) -> Topology:
        return Topology(self.devices, self.links, self.containers)


def rails(sketch: Sketch, hosts: list[str], gpus: int, spines: int = 1) -> None:
    """A leaf per rail, joined by spines."""
    for rail in range(gpus):
        sketch.add(DeviceKind.LEAF, f"leaf{rail}", rail=rail)
        for host in hosts:
            sketch.net(f"{host}.nic{rail}", f"leaf{rail}")
    for spine in range(spines):
        sketch.add(DeviceKind.SPINE, f"spine{spine}")
        for rail in range(gpus):
            sketch.net(f"leaf{rail}", f"spine{spine}")
