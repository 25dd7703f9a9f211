"""The network of storage, where it is not the network of the GPUs: a NIC in each host, leaves and spines."""

from __future__ import annotations

from collections.abc import Sequence

from model.catalog import catalog
from model.errors import InputError
from model.topology.types import DeviceKind, LinkKind
from topology_templates.content import Sketch
from topology_templates.fabric import FabricPlan, add_fabric, add_pods
from topology_templates.parameters import OwnStorage, StorageParameters, draws_hosts_in_full

NIC = "bf3-b3220"
SWITCH = "qm9700"


def on_compute(parameters: OwnStorage) -> int:
    """Storage nodes that stand on leaves of the compute fabric."""
    shared = isinstance(parameters, StorageParameters) and parameters.storage_fabric == "shared"
    return parameters.storage if shared else 0


def storage_plan(
    parameters: OwnStorage, hosts: int, prefix: str = "", parent: str | None = None
) -> FabricPlan | None:
    """The network of storage; None where there is none. Each host has a NIC with two ports of 200G, a storage
    node two of 400G; leaves have as many cables up as down. Raises InputError for hosts without CPUs."""
    if not parameters.storage or on_compute(parameters):
        return None
    if not draws_hosts_in_full(parameters):
        raise InputError(
            "host = plain does not work with storage on a network of its own, whose NICs hang on the CPUs; "
            "host = full does."
        )
    half = catalog().switches[SWITCH].ports // 2
    return FabricPlan(
        hosts=hosts,
        rails=1,
        kind="tor",
        downlinks=half,
        uplinks=half,
        storage=parameters.storage,
        switch=SWITCH,
        nic=NIC,
        cables=catalog().nics[NIC].ports,
        prefix=prefix,
        role="st-",
        parent=parent,
    )


def add_storage_fabric(sketch: Sketch, plan: FabricPlan | None, nics: Sequence[Sequence[str]]) -> None:
    """That network, and its NIC on the first CPU of each host; `nics` as of `add_fabric`."""
    if plan is None:
        return
    add_pods(sketch, plan)
    spec = catalog().nics[NIC]
    cpus = {device.id: device for device in sketch.devices if device.kind is DeviceKind.CPU}
    rows: list[list[str]] = []
    for row in nics:
        host = row[0].rpartition(".")[0]
        cpu = cpus[f"{host}.cpu0"]
        nic = sketch.device(f"{host}.storage-nic", DeviceKind.NIC, NIC, host)
        lane = min(spec.pcie_bytes_per_s, catalog().hosts[cpu.model].pcie_bytes_per_s)
        sketch.link(nic, cpu.id, LinkKind.PCIE, lane)
        rows.append([nic])
    add_fabric(sketch, plan, rows)
