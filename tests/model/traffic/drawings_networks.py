"""Drawings that differ in their network."""

from __future__ import annotations

from model.topology.graph import Topology
from model.topology.types import DeviceKind, LinkKind, State
from tests.model.traffic.sketch import PORT_200G, PORT_400G, Sketch, rails


def rail_optimised() -> Topology:
    """Two hosts of four GPUs, all that a good drawing has."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 4, (5, 4, 4, 5))
    rails(s, ["a", "b"], 4, spines=2)
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
