"""`superpod-…`: NVIDIA's DGX SuperPOD by scalable units, in two tiers or three.

H100: a unit is 32 slots on 8 rail leaves, one slot is lost to the fabric manager (31, 63, 95, 127 … nodes).
B200: 32 nodes a unit. B300 on Quantum-X800: 72 nodes a unit and switches of 144 ports; on Spectrum-4: 64
nodes a unit, above 4 units in two planes, to each of which a NIC has one port of 400G. GB300: 8 racks a unit,
two leaves for each of 4 rails. NVIDIA's counts for GB200 (8 racks a unit) are not sourced: its leaves and
spines follow the rule of the others, with whole leaves for each unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.errors import InputError
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.fabric import FabricPlan, check_plan
from topology_templates.host_clusters import build_hosts, count_hosts
from topology_templates.hosts import nic_of
from topology_templates.nvl72 import GB200, GB300, RackVariant
from topology_templates.parameters import HostParameters, StorageParameters
from topology_templates.storage import on_compute

RACKS_PER_UNIT = 8
ETHERNET_UNITS = 16
ONE_PLANE_UNITS = 4


class NdrUnits(StorageParameters, HostParameters):
    """Parameters of a SuperPOD on switches of 64 ports."""

    units: int = Field(
        default=1, ge=1, le=64, title="Scalable units", description="Of 32 nodes; three tiers above 8 units."
    )


class B300Units(StorageParameters, HostParameters):
    """Parameters of a SuperPOD of B300."""

    units: int = Field(
        default=1,
        ge=1,
        le=18,
        title="Scalable units",
        description="Of 72 nodes on InfiniBand, 64 on Ethernet.",
    )
    network: Literal["infiniband", "ethernet"] = Field(
        default="infiniband",
        title="Network",
        description="infiniband: Quantum-X800. ethernet: Spectrum-4, above 4 units in two planes.",
    )


class RackUnits(StorageParameters, HostParameters):
    """Parameters of a SuperPOD of NVL72 racks."""

    units: int = Field(
        default=1, ge=1, le=16, title="Scalable units", description="Of 8 racks: 576 GPUs in 144 trays."
    )


def _plan(platform: PlatformSpec, hosts: int, switch: str, links: int, storage: int) -> FabricPlan:
    return FabricPlan(
        hosts=hosts,
        rails=platform.backend_nics,
        kind="rail",
        downlinks=links,
        uplinks=links,
        storage=storage,
        switch=switch,
        nic=nic_of(platform),
    )


@dataclass(frozen=True, slots=True)
class NodePod:
    """A SuperPOD of H100 or B200 nodes; `lost` slots hold no node."""

    title: str
    platform_id: str
    lost: int

    @property
    def platform(self) -> PlatformSpec:
        """What a node is."""
        return catalog().platforms[self.platform_id]

    def plan(self, parameters: NdrUnits) -> FabricPlan:
        """The network. Raises InputError (see `check_plan`)."""
        hosts = 32 * parameters.units - self.lost
        return check_plan(_plan(self.platform, hosts, "qm9700", 32, on_compute(parameters)))

    def build(self, parameters: NdrUnits) -> TemplateContent:
        """The whole pod. Raises InputError (see `check_plan`)."""
        name = f"{self.title} × {parameters.units}"
        return build_hosts(name, self.platform, [self.plan(parameters)], parameters)

    def counts(self, parameters: NdrUnits) -> TemplateCounts:
        """What `build` would give."""
        return count_hosts(self.platform, [self.plan(parameters)], parameters)


H100 = NodePod("SuperPOD H100", "hgx-h100-8", 1)
B200 = NodePod("SuperPOD B200", "hgx-b200-8", 0)


def _b300(parameters: B300Units) -> tuple[PlatformSpec, Sequence[FabricPlan]]:
    platform = catalog().platforms["hgx-b300-8"]
    storage, units = on_compute(parameters), parameters.units
    if parameters.network == "infiniband":
        return platform, [check_plan(_plan(platform, 72 * units, "q3400", 72, storage))]
    if units > ETHERNET_UNITS:
        raise InputError(
            f"units = {units} does not work with network = ethernet: two tiers of split ports end at "
            f"{ETHERNET_UNITS} units, the nearest that works."
        )
    if units <= ONE_PLANE_UNITS:
        return platform, [check_plan(_plan(platform, 64 * units, "sn5600", 32, storage))]
    platform = platform.model_copy(update={"backend_nic": "cx8-2x400"})
    planes = []
    for plane in range(2):
        # Storage hangs on the first plane only.
        plan = _plan(platform, 64 * units, "sn5600", 64, 0 if plane else storage)
        planes.append(check_plan(replace(plan, split=2, role=f"p{plane}-")))
    return platform, planes


def build_b300(parameters: B300Units) -> TemplateContent:
    """The whole pod of B300. Raises InputError in one sentence."""
    platform, plans = _b300(parameters)
    return build_hosts(f"SuperPOD B300 × {parameters.units}", platform, plans, parameters)


def count_b300(parameters: B300Units) -> TemplateCounts:
    """What `build_b300` would give. Of two planes each cable counts, so there are two for each GPU."""
    platform, plans = _b300(parameters)
    return count_hosts(platform, plans, parameters)


@dataclass(frozen=True, slots=True)
class RackPod:
    """A SuperPOD of NVL72 racks, each unit with whole leaves of its own."""

    title: str
    racks: RackVariant
    switch: str
    links: int

    def plan(self, parameters: RackUnits) -> FabricPlan:
        """The network. Raises InputError (see `check_plan`)."""
        block = RACKS_PER_UNIT * self.racks.trays
        return check_plan(
            FabricPlan(
                hosts=block * parameters.units,
                rails=self.racks.gpus_per_tray,
                kind="rail",
                downlinks=self.links,
                uplinks=self.links,
                storage=on_compute(parameters),
                switch=self.switch,
                nic=self.racks.nic,
                block=block,
            )
        )

    def build(self, parameters: RackUnits) -> TemplateContent:
        """The whole pod. Raises InputError (see `check_plan`)."""
        name = f"{self.title} × {parameters.units}"
        return self.racks.build_plan(name, self.plan(parameters), parameters)

    def counts(self, parameters: RackUnits) -> TemplateCounts:
        """What `build` would give."""
        return self.racks.count_plan(self.plan(parameters), parameters)


GB200_POD = RackPod("SuperPOD GB200", GB200, "qm9700", 32)
GB300_POD = RackPod("SuperPOD GB300", GB300, "q3400", 72)
