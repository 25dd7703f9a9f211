"""`gb200-nvl72`: racks of 72 GPUs in one NVLink domain: 18 trays of 4 GPUs, 2 Grace and 4 NICs of 400G."""

from __future__ import annotations

from itertools import pairwise

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.errors import InputError
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, numbered
from topology_templates.counts import TemplateCounts, fabric_counts
from topology_templates.fabric import FabricPlan, add_fabric, add_pods, plan_fabric, pod_name
from topology_templates.parameters import FabricParameters

PLATFORM = "gb200-nvl72"
CPU = "grace"


class Gb200Nvl72(FabricParameters):
    """Parameters of `gb200-nvl72`."""

    racks: int = Field(default=1, ge=1, le=28, title="Racks", description="Racks of 72 GPUs in 18 trays.")


def _trays(platform: PlatformSpec) -> int:
    return platform.compute_trays or 0


def _plan(parameters: Gb200Nvl72) -> FabricPlan:
    platform = catalog().platforms[PLATFORM]
    return plan_fabric(
        hosts=parameters.racks * _trays(platform),
        rails=platform.backend_nics_per_tray or 0,
        kind=parameters.fabric,
        downlinks=parameters.leaf_downlinks,
        uplinks=parameters.leaf_uplinks,
        storage=parameters.storage,
    )


def build(parameters: Gb200Nvl72) -> TemplateContent:
    """The whole cluster. Raises InputError (see `plan_fabric`)."""
    plan = _plan(parameters)
    platform = catalog().platforms[PLATFORM]
    trays = _trays(platform)
    sketch = Sketch()
    add_pods(sketch, plan)
    nics: list[list[str]] = []
    for number in range(parameters.racks):
        pod = pod_name(plan, plan.pod_of_host(number * trays))
        rack = sketch.container(numbered("rack", number + 1, parameters.racks), ContainerKind.RACK, pod)
        nics.extend(_add_rack(sketch, platform, rack, full=parameters.host == "full"))
    add_fabric(sketch, plan, nics)
    devices, links, containers = tuple(sketch.devices), tuple(sketch.links), tuple(sketch.containers)
    return TemplateContent(
        f"GB200 NVL72 × {parameters.racks}",
        devices,
        links,
        containers,
        layout_by_role(Topology(devices, links, containers)),
    )


def _add_rack(sketch: Sketch, platform: PlatformSpec, rack: str, *, full: bool) -> list[list[str]]:
    """One rack; gives the NICs of each tray by rail. Every GPU has one NVLink to each switch chip."""
    wiring = platform.nvlink_wiring
    if wiring is None:
        raise InputError(f"The catalogue does not say how the GPUs of {platform.name} reach its switches.")
    gpus: list[str] = []
    nics: list[list[str]] = []
    for tray in range(1, _trays(platform) + 1):
        tray_gpus, tray_nics = _add_tray(sketch, platform, f"{rack}.tray{tray:02d}", rack, full=full)
        gpus.extend(tray_gpus)
        nics.append(tray_nics)
    chips: list[str] = []
    for tray in range(1, (platform.nvlink_switch_trays or 0) + 1):
        name = sketch.container(f"{rack}.nvsw{tray}", ContainerKind.TRAY, rack)
        chips.extend(
            sketch.device(f"{name}.c{chip}", DeviceKind.NVLINK_SWITCH, wiring.switch_chip, name)
            for chip in range(platform.switch_chips_per_tray or 0)
        )
    lane = catalog().gpus[platform.gpu].scale_up_lane_bytes_per_s
    for gpu in gpus:
        for chip, lanes in zip(chips, wiring.links_per_gpu_to_each_switch_chip, strict=True):
            sketch.link(gpu, chip, LinkKind.NVLINK, lane, lanes)
    return nics


def _add_tray(
    sketch: Sketch, platform: PlatformSpec, name: str, rack: str, *, full: bool
) -> tuple[list[str], list[str]]:
    """One compute tray; gives its GPUs and NICs. With `full`, each Grace has two of both (C2C, PCIe)."""
    sketch.container(name, ContainerKind.TRAY, rack)
    nic_model = platform.backend_nic or catalog().default_model("nic")
    gpus = [
        sketch.device(f"{name}.gpu{index}", DeviceKind.GPU, platform.gpu, name, index)
        for index in range(platform.gpus_per_tray or 0)
    ]
    nics = [
        sketch.device(f"{name}.nic{index}", DeviceKind.NIC, nic_model, name, index)
        for index in range(platform.backend_nics_per_tray or 0)
    ]
    gpu_spec, nic_spec, cpu_spec = (
        catalog().gpus[platform.gpu],
        catalog().nics[nic_model],
        catalog().hosts[CPU],
    )
    if not full:
        for gpu, nic in zip(gpus, nics, strict=True):
            sketch.link(gpu, nic, LinkKind.PCIE, min(gpu_spec.pcie_bytes_per_s, nic_spec.pcie_bytes_per_s))
        return gpus, nics
    cpus = [
        sketch.device(f"{name}.cpu{index}", DeviceKind.CPU, CPU, name)
        for index in range(platform.cpus_per_tray or 0)
    ]
    for index, gpu in enumerate(gpus):
        sketch.link(gpu, cpus[index * len(cpus) // len(gpus)], LinkKind.C2C, gpu_spec.c2c_bytes_per_s)
    for index, nic in enumerate(nics):
        lane = min(nic_spec.pcie_bytes_per_s, cpu_spec.pcie_bytes_per_s)
        sketch.link(nic, cpus[index * len(cpus) // len(nics)], LinkKind.PCIE, lane)
    for first, second in pairwise(cpus):
        sketch.link(first, second, LinkKind.C2C, cpu_spec.c2c_bytes_per_s)
    return gpus, nics


def counts(parameters: Gb200Nvl72) -> TemplateCounts:
    """What `build` would give, without building it. Raises InputError as `build` does."""
    platform = catalog().platforms[PLATFORM]
    wiring, trays = platform.nvlink_wiring, _trays(platform)
    chips = wiring.switch_chips if wiring else 0
    gpus, nics = platform.gpus_per_tray or 0, platform.backend_nics_per_tray or 0
    cpus = (platform.cpus_per_tray or 0) if parameters.host == "full" else 0
    tray = {
        "gpu": gpus,
        "nic": nics,
        "nvlink-switch": 0,
        "cpu": cpus,
        "pcie-switch": 0,
        "links": gpus * chips + (gpus + nics + cpus - 1 if cpus else gpus),
        "nvlink_lanes": ((wiring.gpu_to_switch_links_total or 0) if wiring else 0) // trays,
    }
    found = fabric_counts(_plan(parameters), parameters.racks * trays, tray)
    found["nvlink-switch"] = parameters.racks * chips
    found["devices"] += found["nvlink-switch"]
    return found
