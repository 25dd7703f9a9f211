"""Drawings in which something is missing, down or weaker."""

from __future__ import annotations

from model.topology.graph import Topology
from model.topology.types import DeviceKind, LinkKind, State
from tests.model.traffic.drawings_networks import top_of_rack
from tests.model.traffic.sketch import Sketch, rails


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
