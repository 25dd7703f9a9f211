"""Small clusters for the traffic tests, and what runs on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from model.job.exchange import Dedup, Exchange, Operation, When
from model.placement.types import Placement
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


def rail_optimised() -> Topology:
    """Two hosts of four GPUs, all that a good drawing has."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 4, (5, 4, 4, 5))
    rails(s, ["a", "b"], 4, spines=2)
    return s.topology()


def missing_nic() -> Topology:
    """Host b has no NIC for its last GPU; PCIe switches and CPUs let it reach the others'."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 4, nics=0)
        s.add(DeviceKind.CPU, f"{host}.cpu0", f"{host}.cpu1", parent=host)
        s.join(f"{host}.cpu0", f"{host}.cpu1", LinkKind.C2C, 1e11)
        for half in range(2):
            s.add(DeviceKind.PCIE_SWITCH, f"{host}.pcie{half}", parent=host)
            s.pcie(f"{host}.cpu{half}", f"{host}.pcie{half}")
        for g in range(4):
            s.pcie(f"{host}.gpu{g}", f"{host}.pcie{g // 2}")
            if (host, g) != ("b", 3):
                s.add(DeviceKind.NIC, f"{host}.nic{g}", rail=g, parent=host)
                s.pcie(f"{host}.nic{g}", f"{host}.pcie{g // 2}")
    for rail in range(4):
        s.add(DeviceKind.LEAF, f"leaf{rail}")
        for host in ("a", "b"):
            if (host, rail) != ("b", 3):
                s.net(f"{host}.nic{rail}", f"leaf{rail}")
    for spine in range(2):
        s.add(DeviceKind.SPINE, f"spine{spine}")
        for rail in range(4):
            s.net(f"leaf{rail}", f"spine{spine}")
    return s.topology()


def top_of_rack(dead: bool = False, unequal: bool = False) -> Topology:
    """Three hosts of two GPUs, each below its own leaf, two spines."""
    s = Sketch()
    for host in ("a", "b", "c"):
        s.host(host, 2, (9, 9))
        s.add(DeviceKind.LEAF, f"leaf-{host}")
        for g in range(2):
            s.net(f"{host}.nic{g}", f"leaf-{host}")
    for spine in range(2):
        s.add(DeviceKind.SPINE, f"spine{spine}")
        for host in ("a", "b", "c"):
            state = State.DOWN if dead and (host, spine) == ("b", 1) else State.UP
            count = 3 if unequal and spine == 0 else 1
            s.net(f"leaf-{host}", f"spine{spine}", count=count, state=state)
    return s.topology()


def dead_uplink() -> Topology:
    """One uplink of host b's leaf is down."""
    return top_of_rack(dead=True)


def unequal_uplinks() -> Topology:
    """Three cables to one spine, one to the other."""
    return top_of_rack(unequal=True)


def two_pieces() -> Topology:
    """Two hosts on leaves that nothing joins; inside each host all is well."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 2)
        s.add(DeviceKind.LEAF, f"leaf-{host}")
        for g in range(2):
            s.net(f"{host}.nic{g}", f"leaf-{host}")
    return s.topology()


def degraded() -> Topology:
    """A weak uplink, a weak NVLink, a dead NVLink bundle, and parallel bundles to one plane."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 4, (4, 4))
    s.add(DeviceKind.NVLINK_SWITCH, "a.sw2", parent="a")
    s.nvlink("a.gpu0", "a.sw2", 3)
    s.nvlink("a.gpu1", "a.sw2", 1, state=State.DEGRADED, share=0.5)
    s.nvlink("a.gpu1", "a.sw2", 1)
    s.nvlink("a.gpu2", "a.sw2", 2, state=State.DOWN)
    rails(s, ["a", "b"], 4)
    s.add(DeviceKind.SPINE, "spine1")
    for rail in range(4):
        if rail == 1:
            s.net(f"leaf{rail}", "spine1", state=State.DEGRADED, share=0.25)
        else:
            s.net(f"leaf{rail}", "spine1", count=2)
    return s.topology()


def dual_port() -> Topology:
    """NICs with ports to two planes of leaves and parallel cables; one host has lost a port."""
    s = Sketch()
    for host in ("a", "b", "c"):
        s.host(host, 2, (9,))
    s.add(DeviceKind.LEAF, "leaf-x", "leaf-y", "leaf-z")
    s.add(DeviceKind.SPINE, "spine-x", "spine-y")
    for host in ("a", "b"):
        for g in range(2):
            s.net(f"{host}.nic{g}", "leaf-x", PORT_400G)
            s.net(f"{host}.nic{g}", "leaf-y", PORT_200G)
            s.net(f"{host}.nic{g}", "leaf-y", PORT_200G, state=State.DEGRADED, share=0.5)
    s.net("c.nic0", "leaf-x", state=State.DOWN)
    s.net("c.nic0", "leaf-y")
    s.net("c.nic1", "leaf-x")
    s.net("c.nic1", "leaf-z")
    s.net("leaf-x", "spine-x", count=2)
    s.net("leaf-z", "spine-x")
    s.net("leaf-z", "spine-y")
    s.net("leaf-y", "spine-y", PORT_200G)
    s.net("leaf-y", "spine-y", PORT_200G, count=3)
    return s.topology()


def lost_nvlink() -> Topology:
    """GPU 2 of host a has no NVLink: its peers reach it over PCIe, with two equal ways at the top."""
    s = Sketch()
    s.host("a", 2, nics=0)
    s.add(DeviceKind.GPU, "a.gpu2", rail=2, parent="a")
    s.add(DeviceKind.CPU, "a.cpu0", "a.cpu1", parent="a")
    for half in range(2):
        s.add(DeviceKind.PCIE_SWITCH, f"a.pcie{half}", parent="a")
        for cpu in range(2):
            s.pcie(f"a.pcie{half}", f"a.cpu{cpu}")
    s.pcie("a.pcie0", "a.cpu0")
    for g in range(3):
        s.pcie(f"a.gpu{g}", f"a.pcie{g // 2}")
        s.add(DeviceKind.NIC, f"a.nic{g}", rail=g, parent="a")
        s.pcie(f"a.nic{g}", f"a.pcie{g // 2}")
    s.host("b", 3)
    rails(s, ["a", "b"], 3)
    return s.topology()


def nvlink_pairs() -> Topology:
    """A PCIe box of four GPUs, bridged two by two (one bridge of two bundles), and a triangle chain."""
    s = Sketch()
    for g in range(6):
        s.add(DeviceKind.GPU, f"gpu{g}", rail=g, model="a100-sxm-80")
        s.add(DeviceKind.NIC, f"nic{g}", rail=g)
        s.pcie(f"gpu{g}", f"nic{g}")
    s.add(DeviceKind.CPU, "cpu")
    for g in range(4):
        s.pcie(f"gpu{g}", "cpu")
    s.nvlink("gpu0", "gpu1", 4)
    s.nvlink("gpu0", "gpu1", 2)
    s.nvlink("gpu2", "gpu3", 4)
    s.nvlink("gpu3", "gpu4", 4)
    s.nvlink("gpu4", "gpu5", 4)
    s.add(DeviceKind.LEAF, "leaf")
    for g in range(6):
        s.net(f"nic{g}", "leaf")
    return s.topology()


def rack_scale() -> Topology:
    """A small NVL72: trays of two GPUs, six planes, and a lone host behind the same leaves."""
    s = Sketch()
    for plane in range(6):
        s.add(DeviceKind.NVLINK_SWITCH, f"chip{plane}", model="nvlink5-switch")
    for tray in range(3):
        s.add(DeviceKind.CPU, f"t{tray}.cpu")
        for g in range(2):
            s.add(DeviceKind.GPU, f"t{tray}.gpu{g}", model="gb200", rail=g)
            s.add(DeviceKind.NIC, f"t{tray}.nic{g}", rail=g)
            s.join(f"t{tray}.gpu{g}", f"t{tray}.cpu", LinkKind.C2C, 450e9)
            s.pcie(f"t{tray}.nic{g}", f"t{tray}.cpu")
            for plane in range(6):
                s.nvlink(f"t{tray}.gpu{g}", f"chip{plane}")
    s.host("z", 2)
    rails(s, ["t0", "t1", "t2", "z"], 2)
    return s.topology()


def few_nics() -> Topology:
    """Four GPUs and two NICs a host, all on one CPU; the rails of GPUs 2 and 3 have no NIC."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 4, nics=0)
        s.add(DeviceKind.CPU, f"{host}.cpu")
        for g in range(4):
            s.pcie(f"{host}.gpu{g}", f"{host}.cpu")
        for g in range(2):
            s.add(DeviceKind.NIC, f"{host}.nic{g}", rail=g)
            s.pcie(f"{host}.nic{g}", f"{host}.cpu")
    rails(s, ["a", "b"], 2)
    return s.topology()


def nic_down() -> Topology:
    """A NIC, a NIC's cable and a switch plane that are down, and management NICs without a rail."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 3, (6, 6), nics=0)
        s.add(DeviceKind.CPU, f"{host}.cpu")
        s.add(DeviceKind.NIC, f"{host}.mgmt")
        s.pcie(f"{host}.mgmt", f"{host}.cpu")
        for g in range(3):
            down = State.DOWN if (host, g) == ("a", 0) else State.UP
            s.add(DeviceKind.NIC, f"{host}.nic{g}", rail=g, state=down)
            s.pcie(f"{host}.gpu{g}", f"{host}.cpu")
            s.pcie(f"{host}.nic{g}", f"{host}.cpu")
    s.add(DeviceKind.LEAF, "leaf", "office")
    for host in ("a", "b"):
        s.net(f"{host}.mgmt", "office")
        for g in range(3):
            s.net(f"{host}.nic{g}", "leaf", state=State.DOWN if (host, g) == ("b", 1) else State.UP)
    s.add(DeviceKind.NVLINK_SWITCH, "b.sw9", state=State.DOWN)
    s.nvlink("b.gpu0", "b.sw9")
    s.nvlink("b.gpu1", "b.sw9")
    return s.topology()


def mixed_domains() -> Topology:
    """Domains of four, two and one GPU, switches of two generations, a GPU that is down."""
    s = Sketch()
    s.host("a", 4)
    s.host("b", 2, (3, 2))
    for g in range(3):
        s.add(DeviceKind.GPU, f"c.gpu{g}", rail=g, state=State.DOWN if g == 2 else State.UP)
        s.add(DeviceKind.NIC, f"c.nic{g}", rail=g)
        s.pcie(f"c.gpu{g}", f"c.nic{g}")
    s.add(DeviceKind.NVLINK_SWITCH, "a.old", model="nvswitch2")
    for g in range(2):
        s.nvlink(f"a.gpu{g}", "a.old")
    s.add(DeviceKind.LEAF, "leaf")
    for nic in ("a.nic0", "a.nic1", "a.nic2", "a.nic3", "b.nic0", "b.nic1", "c.nic0", "c.nic1", "c.nic2"):
        s.net(nic, "leaf")
    return s.topology()


def switch_trunks() -> Topology:
    """Two racks whose NVLink switches are joined by trunks, and two NICs joined by a bare cable."""
    s = Sketch()
    for half in ("l", "r"):
        s.host(half, 2, (2, 1))
    s.nvlink("l.sw0", "r.sw0", 4)
    s.nvlink("l.sw0", "r.sw1", 2)
    s.nvlink("l.sw1", "r.sw1", 3)
    for name in ("x", "y"):
        s.add(DeviceKind.GPU, f"{name}.gpu")
        s.add(DeviceKind.NIC, f"{name}.nic")
        s.pcie(f"{name}.gpu", f"{name}.nic")
    s.net("x.nic", "y.nic")
    s.net("x.nic", "y.nic", PORT_200G)
    s.add(DeviceKind.LEAF, "leaf")
    for nic in ("l.nic0", "l.nic1", "r.nic0", "r.nic1", "x.nic"):
        s.net(nic, "leaf")
    return s.topology()


def storage_network() -> Topology:
    """Storage on its own leaf, on two leaves, with one cable down, and on nothing; two spines."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 2)
    rails(s, ["a", "b"], 2, spines=2)
    s.add(DeviceKind.LEAF, "leaf-s", "leaf-t")
    for leaf, spine in (("leaf-s", "spine0"), ("leaf-s", "spine1"), ("leaf-t", "spine1")):
        s.net(leaf, spine, count=2)
    s.add(DeviceKind.STORAGE, "disk0", "disk1", "disk2", "disk3", model="storage")
    s.net("disk0", "leaf-s", count=2)
    s.net("disk1", "leaf-s")
    s.net("disk1", "leaf-t", PORT_200G)
    s.net("disk2", "leaf-t")
    s.net("disk2", "leaf-s", state=State.DOWN)
    return s.topology()


def two_networks() -> Topology:
    """Storage on a network that only NICs without a rail reach (of three, GPU b.gpu1 has two nearest), and
    storage on a leaf of the GPUs.
    """
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 2)
        s.add(DeviceKind.CPU, f"{host}.cpu0", f"{host}.cpu1", parent=host)
        s.join(f"{host}.cpu0", f"{host}.cpu1", LinkKind.C2C, 1e11)
        for g in range(2):
            s.pcie(f"{host}.gpu{g}", f"{host}.cpu{g}")
    rails(s, ["a", "b"], 2)
    s.add(DeviceKind.LEAF, "st-leaf")
    s.add(DeviceKind.STORAGE, "disk", "near", model="storage")
    s.net("disk", "st-leaf")
    s.net("near", "leaf1")
    for name, cpu in (("a.st0", "a.cpu0"), ("b.st0", "b.cpu0"), ("b.st1", "b.cpu1"), ("b.st2", "b.cpu1")):
        s.add(DeviceKind.NIC, name, parent=name[0])
        s.pcie(name, cpu)
        s.net(name, "st-leaf")
    s.add(DeviceKind.NIC, "a.mgmt", parent="a")
    s.pcie("a.mgmt", "a.cpu1")
    s.add(DeviceKind.LEAF, "office")
    s.net("a.mgmt", "office")
    return s.topology()


def shared_nics() -> Topology:
    """Hosts of two GPUs without NVLink that share a NIC; Ethernet switches beside those that reduce."""
    s = Sketch()
    for host in ("a", "b", "c"):
        s.host(host, 2, (), nics=0)
        s.add(DeviceKind.PCIE_SWITCH, f"{host}.pcie", parent=host)
        s.add(DeviceKind.NIC, f"{host}.nic0", parent=host)
        for end in ("gpu0", "gpu1", "nic0"):
            s.pcie(f"{host}.{end}", f"{host}.pcie")
    s.add(DeviceKind.LEAF, "leaf0", "leaf1")
    s.add(DeviceKind.LEAF, "plain", model="th5")
    for host in ("a", "b", "c"):
        s.net(f"{host}.nic0", "leaf0" if host == "a" else "leaf1")
        s.net(f"{host}.nic0", "plain")
    s.add(DeviceKind.SPINE, "spine0", "spine1")
    for leaf in ("leaf0", "leaf1"):
        s.net(leaf, "spine0")
        s.net(leaf, "spine1", PORT_200G)
        s.net(leaf, "spine1", count=2)
    return s.topology()


def two_planes() -> Topology:
    """Two NICs a GPU, on a fast and a slow plane that meet at the top; host c has lost a NIC."""
    s = Sketch()
    for plane, rate in (("x", PORT_400G), ("y", PORT_200G)):
        s.add(DeviceKind.LEAF, *(f"leaf-{plane}{rail}" for rail in range(2)))
        s.add(DeviceKind.SPINE, f"spine-{plane}0", f"spine-{plane}1")
        for rail in range(2):
            for spine in range(2):
                s.net(f"leaf-{plane}{rail}", f"spine-{plane}{spine}", rate, count=1 + spine)
    s.add(DeviceKind.CORE, "core")
    for spine in ("spine-x0", "spine-x1", "spine-y0", "spine-y1"):
        s.net(spine, "core", count=3)
    for host in ("a", "b", "c"):
        s.host(host, 2, (9, 9), nics=0)
        for g in range(2):
            for plane, rate in (("x", PORT_400G), ("y", PORT_200G)):
                down = State.DOWN if (host, g, plane) == ("c", 1, "y") else State.UP
                s.add(DeviceKind.NIC, f"{host}.nic{g}{plane}", rail=g, state=down, parent=host)
                s.pcie(f"{host}.gpu{g}", f"{host}.nic{g}{plane}")
                s.net(f"{host}.nic{g}{plane}", f"leaf-{plane}{g}", rate)
    return s.topology()


DRAWINGS: dict[str, Callable[[], Topology]] = {
    make.__name__: make
    for make in (
        rail_optimised,
        missing_nic,
        dead_uplink,
        unequal_uplinks,
        two_pieces,
        degraded,
        dual_port,
        lost_nvlink,
        nvlink_pairs,
        rack_scale,
        few_nics,
        nic_down,
        mixed_domains,
        switch_trunks,
        storage_network,
        shared_nics,
        two_networks,
        two_planes,
    )
}


def gpus_of(topology: Topology) -> tuple[str, ...]:
    """All GPUs in document order."""
    return tuple(device.id for device in topology.devices() if device.kind is DeviceKind.GPU)


def placement_of(topology: Topology) -> Placement:
    """Every GPU plays the rank of its place; traffic reads nothing else of a placement."""
    gpus = gpus_of(topology)
    return Placement(gpus, len(gpus), np.arange(len(gpus), dtype=np.int32), {}, {}, {}, ())


def exchange(
    operation: Operation,
    groups: list[list[int]],
    message: int,
    *,
    algorithm: str = "auto",
    count: int = 1,
    stages: list[int] | None = None,
    ident: str = "x",
    storage: tuple[str, ...] = (),
    dedup: Dedup | None = None,
) -> Exchange:
    """An exchange over places in the placement."""
    return Exchange(
        id=ident,
        dimension="tp",
        kind="tp.test",
        operation=operation,
        algorithm=algorithm,
        groups=np.array(groups, np.int32).reshape(len(groups), -1),
        stages=np.array(stages or [0] * len(groups), np.int32),
        group_key="tp",
        message_bytes=message,
        count_per_step=count,
        when=When.FORWARD,
        storage=storage,
        dedup=dedup,
    )


def job_on(gpus: int) -> list[Exchange]:
    """TP, PP, DP and EP exchanges of all kinds on `gpus` GPUs in world order."""
    every = list(range(gpus))
    pairs = [every[i : i + 2] for i in range(0, gpus - 1, 2)]
    half = gpus // 2
    strided = [[i, i + half] for i in range(half)]
    odd_even = [every[0::2][: gpus // 2], every[1::2]]
    mixed = [every[::-1]]
    reduce, gather, scatter = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER
    return [
        exchange(reduce, pairs, 1000, ident="tp.pairs", count=7, stages=[i % 2 for i in range(len(pairs))]),
        exchange(reduce, pairs, 1000, ident="tp.pairs.nvls", algorithm="nvls"),
        exchange(gather, [every[:half], every[gpus - half :]], 36_000, ident="tp.halves", stages=[0, 1]),
        exchange(reduce, [every[:half], every[gpus - half :]], 36_000, ident="tp.halves.auto"),
        exchange(reduce, [every], 840_000, ident="dp.all"),
        exchange(reduce, mixed, 840_000, ident="dp.all.reversed", algorithm="ring"),
        exchange(scatter, strided, 5000, ident="dp.strided"),
        exchange(gather, odd_even, 7000, ident="dp.odd-even"),
        exchange(Operation.SEND, strided, 12_345, ident="pp.forward", stages=[0] * half, count=3),
        exchange(Operation.SEND, [p[::-1] for p in strided], 12_345, ident="pp.backward"),
        exchange(Operation.ALL_TO_ALL, [every], 84_000, ident="ep.auto"),
        exchange(Operation.ALL_TO_ALL, mixed, 84_000, ident="ep.direct", algorithm="direct"),
        exchange(Operation.ALL_TO_ALL, mixed, 84_000, ident="ep.pxn", algorithm="pxn"),
        exchange(Operation.ALL_TO_ALL, odd_even, 84_000, ident="ep.odd-even", algorithm="pxn"),
    ]


def algorithms_on(topology: Topology) -> list[Exchange]:
    """Every other algorithm and operation, over groups of all sizes; expert counts are multiples of them."""
    gpus = len(gpus_of(topology))
    every, half = list(range(gpus)), gpus // 2
    reduce, broadcast, to_all = Operation.ALL_REDUCE, Operation.BROADCAST, Operation.ALL_TO_ALL
    groups = {
        "all": [every],
        "reversed": [every[::-1]],
        "halves": [every[:half], every[gpus - half :]],
        "strided": [[i, i + half] for i in range(half)],
        "fours": [every[:4]],
        "pairs": [every[2 * i : 2 * i + 2] for i in range(half)],
    }
    found = []
    for name, rows in groups.items():
        for algorithm in ("tree", "hierarchical", "halving-doubling", "sharp"):
            ident = f"{algorithm}.{name}"
            found.append(exchange(reduce, rows, 840_000, algorithm=algorithm, ident=ident))
        found.append(exchange(broadcast, rows, 840_000, ident=f"broadcast.{name}"))
        size = len(rows[0])
        for limit, combine in ((None, False), (1, True), (2, False)):
            dedup = Dedup(4 * size, min(3, 4 * size), limit, combine)
            ident = f"deduplicated.{name}.{limit}"
            found.append(exchange(to_all, rows, 840_000, algorithm="deduplicated", dedup=dedup, ident=ident))
    disks = [device.id for device in topology.devices() if device.kind is DeviceKind.STORAGE]
    for operation in (Operation.READ, Operation.WRITE) if disks else ():
        rows = [[gpu] for gpu in every for _ in disks]
        stored = tuple(disks * gpus)
        found.append(exchange(operation, rows, 7000, storage=stored, ident=operation.value))
    return found
