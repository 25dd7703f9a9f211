"""Racks whose trays share one NVLink domain: `gb200-nvl72`, `gb300-nvl72`, `gb200-nvl36x2`, `vr-nvl72`.

A tray has 4 GPUs and 2 CPUs. GB200 reaches its NICs through Grace (C2C, then PCIe); GB300 by PCIe straight to
the ConnectX-8, which has a port for Grace too. How Vera Rubin reaches its NICs is not published: it is drawn
as GB200, with two NICs for each GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import FabricPlan, add_fabric, add_pods, check_plan, pod_name
from topology_templates.parameters import (
    FabricParameters,
    FullFabricParameters,
    OwnStorage,
    draws_hosts_in_full,
)
from topology_templates.storage import add_storage_fabric, on_compute, storage_plan

FIRST_U = 12  # power shelves are below the trays, and above them
BELOW_SWITCHES = 8 / 18


class RackCluster(FabricParameters):
    """Parameters of racks of 72 GPUs."""

    racks: int = Field(default=1, ge=1, le=28, title="Racks", description="Racks of 72 GPUs in 18 trays.")


class RackPairs(FabricParameters):
    """Parameters of pairs of racks of 36 GPUs each."""

    pairs: int = Field(
        default=1, ge=1, le=28, title="Pairs of racks", description="Two racks of 36 GPUs, one NVLink domain."
    )


class AnnouncedRacks(FullFabricParameters):
    """Parameters of racks whose hosts are always drawn in full."""

    racks: int = Field(default=1, ge=1, le=28, title="Racks", description="Racks of 72 GPUs in 18 trays.")


RackParameters = RackCluster | RackPairs | AnnouncedRacks


@dataclass(frozen=True, slots=True)
class RackVariant:
    """A rack platform of the catalogue, its CPU, and the switch that its NICs are joined to."""

    title: str
    platform_id: str
    cpu: str
    switch: str

    @property
    def platform(self) -> PlatformSpec:
        """What a rack (or a pair of racks) is."""
        return catalog().platforms[self.platform_id]

    @property
    def trays(self) -> int:
        """Compute trays of one NVLink domain."""
        return self.platform.compute_trays or 0

    @property
    def gpus_per_tray(self) -> int:
        """GPUs of a compute tray."""
        return self.platform.gpus_per_tray or 0

    @property
    def nics_per_tray(self) -> int:
        """NICs of a compute tray, one or more for each GPU."""
        return self.platform.backend_nics_per_tray or 0

    @property
    def cpus_per_tray(self) -> int:
        """CPUs of a compute tray."""
        return self.platform.cpus // self.trays

    @property
    def nic(self) -> str:
        """The catalogue id of its NICs."""
        return self.platform.backend_nic or catalog().default_model("nic")

    @property
    def nic_is_switch(self) -> bool:
        """Whether GPU and CPU are both joined to the NIC, which has a PCIe switch and ports for both."""
        return catalog().nics[self.nic].pcie_lanes_total_with_switch is not None

    def plan(self, parameters: RackParameters) -> FabricPlan:
        """The network. Raises InputError (see `check_plan`)."""
        return check_plan(
            FabricPlan(
                hosts=_domains(parameters) * self.trays,
                rails=self.gpus_per_tray,
                kind=parameters.fabric,
                downlinks=parameters.leaf_downlinks,
                uplinks=parameters.leaf_uplinks,
                storage=on_compute(parameters),
                switch=self.switch,
                nic=self.nic,
                nics_per_rail=self.nics_per_tray // self.gpus_per_tray,
            )
        )

    def build(self, parameters: RackParameters) -> TemplateContent:
        """The whole cluster. Raises InputError (see `check_plan`)."""
        return self.build_plan(f"{self.title} × {_domains(parameters)}", self.plan(parameters), parameters)

    def counts(self, parameters: RackParameters) -> TemplateCounts:
        """What `build` would give, without building it. Raises InputError as `build` does."""
        return self.count_plan(self.plan(parameters), parameters)

    def build_plan(self, name: str, plan: FabricPlan, parameters: OwnStorage) -> TemplateContent:
        """The racks of a plan and its network."""
        storage = storage_plan(parameters, plan.hosts)
        sketch = Sketch()
        add_pods(sketch, plan)
        nics = self.add_domains(sketch, plan, full=draws_hosts_in_full(parameters))
        add_fabric(sketch, plan, nics)
        add_storage_fabric(sketch, storage, nics)
        return finished(sketch, name)

    def add_domains(self, sketch: Sketch, plan: FabricPlan, *, full: bool) -> list[list[str]]:
        """The racks of a plan; gives the NICs of each tray."""
        nics: list[list[str]] = []
        racks = self.platform.racks * plan.hosts // self.trays
        trays = self.trays // self.platform.racks
        chips: list[list[str]] = []
        for number in range(racks):
            pod = pod_name(plan, plan.pod_of_host(number * trays))
            name = numbered(f"{plan.prefix}rack", number + 1, racks)
            rack_nics, rack_chips = self._add_rack(sketch, name, pod, trays, full=full)
            nics.extend(rack_nics)
            chips.append(rack_chips)
        trunk = self.platform.nvlink_wiring.trunk_links_per_chip if self.platform.nvlink_wiring else None
        if trunk:
            lane = catalog().gpus[self.platform.gpu].scale_up_lane_bytes_per_s
            for left, right in zip(chips[::2], chips[1::2], strict=True):
                for chip, other in zip(left, right, strict=True):
                    sketch.link(chip, other, LinkKind.NVLINK, lane, trunk)
        return nics

    def _add_rack(
        self, sketch: Sketch, rack: str, pod: str | None, trays: int, *, full: bool
    ) -> tuple[list[list[str]], list[str]]:
        """One rack; gives the NICs of each tray and the NVLink switch chips."""
        wiring = self.platform.nvlink_wiring
        if wiring is None:
            raise InputError(f"The catalogue does not say how the GPUs of {self.platform.name} are joined.")
        sketch.container(rack, ContainerKind.RACK, pod)
        gpus: list[str] = []
        nics: list[list[str]] = []
        for tray in range(1, trays + 1):
            tray_gpus, tray_nics = self._add_tray(sketch, f"{rack}.tray{tray:02d}", rack, full=full)
            gpus.extend(tray_gpus)
            nics.append(tray_nics)
        chips: list[str] = []
        for tray in range(1, (self.platform.nvlink_switch_trays or 0) // self.platform.racks + 1):
            name = sketch.container(f"{rack}.nvsw{tray}", ContainerKind.TRAY, rack)
            chips.extend(
                sketch.device(f"{name}.c{chip}", DeviceKind.NVLINK_SWITCH, wiring.switch_chip, name)
                for chip in range(self.platform.switch_chips_per_tray or 0)
            )
        self._stack(sketch, rack, trays)
        # In a pair of racks the GPUs are joined to the chips of their own rack only, a link to each.
        lanes = wiring.links_per_gpu_to_each_switch_chip or (1,) * len(chips)
        lane = catalog().gpus[self.platform.gpu].scale_up_lane_bytes_per_s
        for gpu in gpus:
            for chip, count in zip(chips, lanes, strict=True):
                sketch.link(gpu, chip, LinkKind.NVLINK, lane, count)
        return nics, chips

    def _stack(self, sketch: Sketch, rack: str, trays: int) -> None:
        """The trays of a rack from the bottom up, with the NVLink switch trays in their middle."""
        spec = self.platform
        below = round(BELOW_SWITCHES * trays)
        compute = [(f"{rack}.tray{tray:02d}", spec.height_u) for tray in range(1, trays + 1)]
        switches = [
            (f"{rack}.nvsw{tray}", spec.switch_tray_height_u)
            for tray in range(1, (spec.nvlink_switch_trays or 0) // spec.racks + 1)
        ]
        u: int | None = FIRST_U
        for name, height_u in (*compute[:below], *switches, *compute[below:]):
            u = None if u is None else sketch.place(name, u, height_u)

    def _add_tray(self, sketch: Sketch, name: str, rack: str, *, full: bool) -> tuple[list[str], list[str]]:
        """One compute tray; gives its GPUs and NICs."""
        sketch.container(name, ContainerKind.TRAY, rack)
        gpus = [
            sketch.device(f"{name}.gpu{index}", DeviceKind.GPU, self.platform.gpu, name, index)
            for index in range(self.gpus_per_tray)
        ]
        per_gpu = self.nics_per_tray // self.gpus_per_tray
        nics = [
            sketch.device(f"{name}.nic{index}", DeviceKind.NIC, self.nic, name, index // per_gpu)
            for index in range(self.nics_per_tray)
        ]
        gpu, nic = catalog().gpus[self.platform.gpu], catalog().nics[self.nic]
        if not full or self.nic_is_switch:
            lane = min(gpu.pcie_bytes_per_s, nic.pcie_bytes_per_s)
            for gpu_id, nic_id in zip(gpus, nics, strict=True):
                sketch.link(gpu_id, nic_id, LinkKind.PCIE, lane)
        if full:
            self._add_cpus(sketch, name, gpus, nics)
        return gpus, nics

    def _add_cpus(self, sketch: Sketch, name: str, gpus: list[str], nics: list[str]) -> None:
        """CPUs with their GPUs (C2C) and NICs (PCIe), joined to each other."""
        gpu, nic, spec = (
            catalog().gpus[self.platform.gpu],
            catalog().nics[self.nic],
            catalog().hosts[self.cpu],
        )
        cpus = [
            sketch.device(f"{name}.cpu{index}", DeviceKind.CPU, self.cpu, name)
            for index in range(self.cpus_per_tray)
        ]
        for index, gpu_id in enumerate(gpus):
            sketch.link(gpu_id, cpus[index * len(cpus) // len(gpus)], LinkKind.C2C, gpu.c2c_bytes_per_s)
        lane = min(nic.pcie_bytes_per_s, spec.pcie_bytes_per_s)
        for index, nic_id in enumerate(nics):
            sketch.link(nic_id, cpus[index * len(cpus) // len(nics)], LinkKind.PCIE, lane)
        for first, second in pairwise(cpus):
            sketch.link(first, second, LinkKind.C2C, min(spec.c2c_bytes_per_s, gpu.c2c_bytes_per_s))

    def count_plan(self, plan: FabricPlan, parameters: OwnStorage) -> TemplateCounts:
        """The counts of that."""
        full = draws_hosts_in_full(parameters)
        gpus, nics, cpus = self.gpus_per_tray, self.nics_per_tray, self.cpus_per_tray if full else 0
        wiring, domains = self.platform.nvlink_wiring, plan.hosts // self.trays
        chips = wiring.switch_chips if wiring else 0
        direct = gpus if not full or self.nic_is_switch else 0
        trunks = (wiring.trunk_links_total or 0) if wiring else 0
        tray = {
            "gpu": gpus,
            "nic": nics,
            "cpu": cpus,
            "links": gpus * chips // self.platform.racks + direct + (gpus + nics + cpus - 1 if cpus else 0),
            "nvlink_lanes": gpus * catalog().gpus[self.platform.gpu].scale_up_links,
        }
        extra = {
            "nvlink-switch": domains * chips,
            "links": domains * chips // 2 if trunks else 0,
            "nvlink_lanes": domains * trunks,
        }
        return counts_of(plan.hosts, tray, [plan], [storage_plan(parameters, plan.hosts)], extra)


def _domains(parameters: RackParameters) -> int:
    return parameters.pairs if isinstance(parameters, RackPairs) else parameters.racks


GB200 = RackVariant("GB200 NVL72", "gb200-nvl72", "grace", "qm9700")
GB300 = RackVariant("GB300 NVL72", "gb300-nvl72", "grace", "sn5600")
NVL36X2 = RackVariant("GB200 NVL36×2", "gb200-nvl36x2", "grace", "qm9700")
VERA_RUBIN = RackVariant("Vera Rubin NVL72 (announced)", "vr-nvl72", "vera", "sn5600")
