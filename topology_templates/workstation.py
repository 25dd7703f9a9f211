"""`pcie-workstation`: machines with PCIe cards, with or without NVLink bridges between pairs, and one NIC.

A socket has up to four cards; without bridges they reach each other over PCIe and the CPUs. Several machines
hang on one leaf.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from pydantic import Field

from model.catalog import catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import FabricPlan, add_fabric
from topology_templates.parameters import OwnStorage
from topology_templates.storage import add_storage_fabric, storage_plan

GPU, NIC, CPU, SWITCH = "h100-pcie", "cx7-ndr", "cpu", "qm9700"
CARDS_PER_SOCKET = 4


class Workstation(OwnStorage):
    """Parameters of `pcie-workstation`."""

    machines: int = Field(
        default=1, ge=1, le=64, title="Machines", description="Several are joined by a leaf."
    )
    gpus: int = Field(default=4, ge=1, le=8, title="GPUs", description="H100 PCIe cards in each machine.")
    bridges: Literal["none", "pairs"] = Field(
        default="pairs", title="NVLink bridges", description="pairs: cards 0 and 1, 2 and 3 … are bridged."
    )


def _plan(parameters: Workstation) -> FabricPlan | None:
    if parameters.machines == 1:
        return None
    ports = catalog().switches[SWITCH].ports
    return FabricPlan(
        hosts=parameters.machines,
        rails=1,
        kind="tor",
        downlinks=ports,
        uplinks=0,
        storage=0,
        switch=SWITCH,
        nic=NIC,
    )


def _pairs(parameters: Workstation) -> int:
    if parameters.bridges == "none":
        return 0
    if parameters.gpus < 2:
        raise InputError(
            "bridges = pairs does not work with gpus = 1: a bridge joins two cards; bridges = none does."
        )
    return parameters.gpus // 2


def _sockets(parameters: Workstation) -> int:
    return 1 if parameters.gpus <= CARDS_PER_SOCKET else 2


def build(parameters: Workstation) -> TemplateContent:
    """The machines. Raises InputError in one sentence."""
    pairs, plan = _pairs(parameters), _plan(parameters)
    storage = storage_plan(parameters, parameters.machines)
    sketch = Sketch()
    nics: list[list[str]] = []
    for number in range(parameters.machines):
        name = numbered("node", number, parameters.machines - 1)
        nics.append([_add_machine(sketch, name, parameters.gpus, pairs, _sockets(parameters))])
    if plan is not None:
        add_fabric(sketch, plan, nics)
    add_storage_fabric(sketch, storage, nics)
    return finished(sketch, f"PCIe workstation × {parameters.machines}")


def _add_machine(sketch: Sketch, name: str, cards: int, pairs: int, sockets: int) -> str:
    """One machine; gives its NIC, which all GPUs share. Its rail tells it from a NIC of storage."""
    gpu, nic, cpu = catalog().gpus[GPU], catalog().nics[NIC], catalog().hosts[CPU]
    sketch.container(name, ContainerKind.TRAY)
    gpus = [sketch.device(f"{name}.gpu{index}", DeviceKind.GPU, GPU, name, index) for index in range(cards)]
    made = sketch.device(f"{name}.nic0", DeviceKind.NIC, NIC, name, 0)
    cpus = [sketch.device(f"{name}.cpu{index}", DeviceKind.CPU, CPU, name) for index in range(sockets)]
    for pair in range(pairs):
        lane = gpu.scale_up_lane_bytes_per_s
        sketch.link(gpus[2 * pair], gpus[2 * pair + 1], LinkKind.NVLINK, lane, gpu.scale_up_links)
    for index, card in enumerate(gpus):
        lane = min(gpu.pcie_bytes_per_s, cpu.pcie_bytes_per_s)
        sketch.link(card, cpus[index * sockets // cards], LinkKind.PCIE, lane)
    sketch.link(made, cpus[0], LinkKind.PCIE, min(nic.pcie_bytes_per_s, cpu.pcie_bytes_per_s))
    for first, second in pairwise(cpus):
        sketch.link(first, second, LinkKind.C2C, cpu.c2c_bytes_per_s)
    return made


def counts(parameters: Workstation) -> TemplateCounts:
    """What `build` would give, without building it. Raises InputError as `build` does."""
    pairs, sockets, plan = _pairs(parameters), _sockets(parameters), _plan(parameters)
    machine = {
        "gpu": parameters.gpus,
        "nic": 1,
        "cpu": sockets,
        "links": pairs + parameters.gpus + 1 + sockets - 1,
        "nvlink_lanes": pairs * catalog().gpus[GPU].scale_up_links,
    }
    storage = storage_plan(parameters, parameters.machines)
    return counts_of(parameters.machines, machine, [plan] if plan else [], [storage])
