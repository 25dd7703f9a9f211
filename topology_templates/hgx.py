"""Hosts with their own NVLink switches: HGX and DGX boards of eight GPUs, wired as the catalogue says."""

from __future__ import annotations

from itertools import pairwise

from model.catalog import PlatformSpec, catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch

HOSTS_PER_RACK = 4


def add_host(
    sketch: Sketch, platform: PlatformSpec, name: str, parent: str | None, *, full: bool
) -> list[str]:
    """One host; gives the ids of its NICs by rail. With `full` also CPUs and PCIe switches."""
    wiring = platform.nvlink_wiring
    if wiring is None or platform.backend_nic is None:
        raise InputError(f"{platform.name} is not wired over NVLink switches with a NIC for each GPU.")
    gpu = catalog().gpus[platform.gpu]
    sketch.container(name, ContainerKind.TRAY, parent)
    gpus = [
        sketch.device(f"{name}.gpu{index}", DeviceKind.GPU, platform.gpu, name, index)
        for index in range(platform.gpus)
    ]
    nics = [
        sketch.device(f"{name}.nic{index}", DeviceKind.NIC, platform.backend_nic, name, index)
        for index in range(platform.backend_nics)
    ]
    chips = [
        sketch.device(f"{name}.nvs{index}", DeviceKind.NVLINK_SWITCH, wiring.switch_chip, name)
        for index in range(wiring.switch_chips)
    ]
    for gpu_id in gpus:
        for chip, lanes in zip(chips, wiring.links_per_gpu_to_each_switch_chip, strict=True):
            sketch.link(gpu_id, chip, LinkKind.NVLINK, gpu.scale_up_lane_bytes_per_s, lanes)
    if full:
        _add_pcie_tree(sketch, platform, name, gpus, nics)
    else:
        lane = min(gpu.pcie_bytes_per_s, catalog().nics[platform.backend_nic].pcie_bytes_per_s)
        for gpu_id, nic in zip(gpus, nics, strict=True):
            sketch.link(gpu_id, nic, LinkKind.PCIE, lane)
    return nics


def _add_pcie_tree(
    sketch: Sketch, platform: PlatformSpec, name: str, gpus: list[str], nics: list[str]
) -> None:
    """CPUs joined to each other, PCIe switches shared out among them, GPU and NIC of a rail on one switch."""
    host = platform.host_pcie
    if host is None or platform.backend_nic is None:
        raise InputError(f"The catalogue does not say how the GPUs of {platform.name} reach its CPUs.")
    hosts = catalog().hosts
    cpu_spec, switch_spec = hosts["cpu"], hosts["pcie-switch"]
    gpu_lane = min(catalog().gpus[platform.gpu].pcie_bytes_per_s, switch_spec.pcie_bytes_per_s)
    nic_lane = min(catalog().nics[platform.backend_nic].pcie_bytes_per_s, switch_spec.pcie_bytes_per_s)
    cpu_lane = min(cpu_spec.pcie_bytes_per_s, switch_spec.pcie_bytes_per_s, gpu_lane)
    cpus = [
        sketch.device(f"{name}.cpu{index}", DeviceKind.CPU, cpu_spec.id, name)
        for index in range(host.cpu_sockets)
    ]
    switches = [
        sketch.device(f"{name}.pcie{index}", DeviceKind.PCIE_SWITCH, switch_spec.id, name)
        for index in range(host.pcie_switches)
    ]
    for index, gpu_id in enumerate(gpus):
        sketch.link(gpu_id, switches[index // host.gpus_per_pcie_switch], LinkKind.PCIE, gpu_lane)
    for index, nic in enumerate(nics):
        sketch.link(nic, switches[index // host.nics_per_pcie_switch], LinkKind.PCIE, nic_lane)
    for index, switch in enumerate(switches):
        sketch.link(switch, cpus[index * len(cpus) // len(switches)], LinkKind.PCIE, cpu_lane)
    for first, second in pairwise(cpus):
        sketch.link(first, second, LinkKind.C2C, cpu_spec.c2c_bytes_per_s)


def host_counts(platform: PlatformSpec, *, full: bool) -> dict[str, int]:
    """Devices of one host by kind, links (bundles) and NVLink lanes."""
    wiring, host = platform.nvlink_wiring, platform.host_pcie
    chips = wiring.switch_chips if wiring else 0
    cpus = host.cpu_sockets if host and full else 0
    switches = host.pcie_switches if host and full else 0
    pcie = platform.gpus + platform.backend_nics + switches + cpus - 1 if full else platform.gpus
    return {
        "gpu": platform.gpus,
        "nic": platform.backend_nics,
        "nvlink-switch": chips,
        "cpu": cpus,
        "pcie-switch": switches,
        "links": platform.gpus * chips + pcie,
        "nvlink_lanes": (wiring.gpu_to_switch_links_total or 0) if wiring else 0,
    }
