"""Drawings that differ in their hosts and scale-up domains."""

from __future__ import annotations

from model.topology.graph import Topology
from model.topology.types import DeviceKind, LinkKind, State
from tests.model.traffic.sketch import PORT_200G, Sketch, rails


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
