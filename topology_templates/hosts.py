"""Hosts of eight GPUs, wired as the catalogue says: HGX and DGX boards with NVLink switches, xGMI meshes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from model.catalog import PlatformSpec, catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch

HOSTS_PER_RACK = 4


def add_host(
    sketch: Sketch, platform: PlatformSpec, name: str, parent: str | None, *, full: bool
) -> list[str]:
    """One host; gives the ids of its NICs by rail. With `full` also CPUs and PCIe switches.

    GPU i and NIC i share a PCIe switch, which in ConnectX-8 is part of the NIC. Raises InputError where the
    catalogue does not say how the platform is wired.
    """
    nic_model = nic_of(platform)
    sketch.container(name, ContainerKind.TRAY, parent)
    gpus = [
        sketch.device(f"{name}.gpu{index}", DeviceKind.GPU, platform.gpu, name, index)
        for index in range(platform.gpus)
    ]
    nics = [
        sketch.device(f"{name}.nic{index}", DeviceKind.NIC, nic_model, name, index)
        for index in range(platform.backend_nics)
    ]
    _add_scale_up(sketch, platform, name, gpus)
    if full and not _switch_in_nic(platform):
        _add_pcie_switches(sketch, platform, name, gpus, nics)
        return nics
    nic = catalog().nics[nic_model]
    lane = min(catalog().gpus[platform.gpu].pcie_bytes_per_s, nic.pcie_bytes_per_s)
    for gpu_id, nic_id in zip(gpus, nics, strict=True):
        sketch.link(gpu_id, nic_id, LinkKind.PCIE, lane)
    if full:
        cpu_lane = min(nic.pcie_bytes_per_s, catalog().hosts["cpu"].pcie_bytes_per_s)
        _add_cpus(sketch, platform.cpus, name, nics, cpu_lane)
    return nics


def nic_of(platform: PlatformSpec) -> str:
    """The catalogue id of the NIC that each GPU of a platform has."""
    if platform.backend_nic is None or platform.backend_nics != platform.gpus:
        raise InputError(f"The catalogue does not give {platform.name} a NIC for each GPU.")
    return platform.backend_nic


def _switch_in_nic(platform: PlatformSpec) -> bool:
    return platform.host_pcie is not None and bool(platform.host_pcie.switch_is)


def _add_scale_up(sketch: Sketch, platform: PlatformSpec, name: str, gpus: Sequence[str]) -> None:
    lane = catalog().gpus[platform.gpu].scale_up_lane_bytes_per_s
    wiring, mesh = platform.nvlink_wiring, platform.mesh
    if mesh is not None:
        nvlink = catalog().gpus[platform.gpu].nvlink_generation is not None
        kind = LinkKind.NVLINK if nvlink else LinkKind.XGMI
        for first, second in combinations(gpus, 2):
            sketch.link(first, second, kind, lane, mesh.links_per_pair)
        return
    if wiring is None:
        raise InputError(f"The catalogue does not say how the GPUs of {platform.name} reach each other.")
    chips = [
        sketch.device(f"{name}.nvs{index}", DeviceKind.NVLINK_SWITCH, wiring.switch_chip, name)
        for index in range(wiring.switch_chips)
    ]
    for gpu in gpus:
        for chip, lanes in zip(chips, wiring.links_per_gpu_to_each_switch_chip, strict=True):
            sketch.link(gpu, chip, LinkKind.NVLINK, lane, lanes)


def _add_pcie_switches(
    sketch: Sketch, platform: PlatformSpec, name: str, gpus: Sequence[str], nics: Sequence[str]
) -> None:
    """PCIe switches shared out among the CPUs, GPU and NIC of a rail on one switch."""
    host = platform.host_pcie
    if host is None:
        raise InputError(f"The catalogue does not say how the GPUs of {platform.name} reach its CPUs.")
    hosts = catalog().hosts
    switch_spec = hosts["pcie-switch"]
    gpu_lane = min(catalog().gpus[platform.gpu].pcie_bytes_per_s, switch_spec.pcie_bytes_per_s)
    nic_lane = min(catalog().nics[nic_of(platform)].pcie_bytes_per_s, switch_spec.pcie_bytes_per_s)
    switches = [
        sketch.device(f"{name}.pcie{index}", DeviceKind.PCIE_SWITCH, switch_spec.id, name)
        for index in range(host.pcie_switches)
    ]
    for index, gpu_id in enumerate(gpus):
        sketch.link(gpu_id, switches[index // host.gpus_per_pcie_switch], LinkKind.PCIE, gpu_lane)
    for index, nic in enumerate(nics):
        sketch.link(nic, switches[index // host.nics_per_pcie_switch], LinkKind.PCIE, nic_lane)
    _add_cpus(sketch, host.cpu_sockets, name, switches, min(hosts["cpu"].pcie_bytes_per_s, gpu_lane))


def _add_cpus(sketch: Sketch, sockets: int, name: str, below: Sequence[str], lane: float) -> None:
    """CPUs joined to each other, with what is `below` them shared out in order."""
    spec = catalog().hosts["cpu"]
    cpus = [sketch.device(f"{name}.cpu{index}", DeviceKind.CPU, spec.id, name) for index in range(sockets)]
    for index, device in enumerate(below):
        sketch.link(device, cpus[index * len(cpus) // len(below)], LinkKind.PCIE, lane)
    for first, second in pairwise(cpus):
        sketch.link(first, second, LinkKind.C2C, spec.c2c_bytes_per_s)


def host_counts(platform: PlatformSpec, *, full: bool) -> dict[str, int]:
    """Devices of one host by kind, links (bundles) and NVLink lanes."""
    wiring, host, mesh = platform.nvlink_wiring, platform.host_pcie, platform.mesh
    chips = wiring.switch_chips if wiring else 0
    cpus = platform.cpus if full else 0
    switches = host.pcie_switches if host and full and not host.switch_is else 0
    lanes = (wiring.gpu_to_switch_links_total or 0) if wiring else 0
    if mesh and catalog().gpus[platform.gpu].nvlink_generation is not None:
        lanes = mesh.links_total
    bundles = platform.gpus * chips
    if mesh:
        bundles = platform.gpus * (platform.gpus - 1) // 2
    pcie = platform.gpus
    if full:
        pcie += platform.backend_nics + switches + cpus - 1
    return {
        "gpu": platform.gpus,
        "nic": platform.backend_nics,
        "nvlink-switch": chips,
        "cpu": cpus,
        "pcie-switch": switches,
        "links": bundles + pcie,
        "nvlink_lanes": lanes,
    }
