"""`hgx-…` and `mi3…x`: hosts of eight GPUs with a NIC each, on rail leaves and spines.

All of them share one builder; what differs is in the catalogue (GPUs, NVLink switches or xGMI, NICs) and the
switch, in the table below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.topology.types import ContainerKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import FabricPlan, add_fabric, add_pods, check_plan, pod_name
from topology_templates.hosts import HOSTS_PER_RACK, add_host, host_counts, nic_of
from topology_templates.parameters import FabricParameters, OwnStorage, draws_hosts_in_full
from topology_templates.storage import add_storage_fabric, on_compute, storage_plan


class HostCluster(FabricParameters):
    """Parameters of a cluster of hosts."""

    nodes: int = Field(default=4, ge=1, le=2048, title="Nodes", description="Hosts of eight GPUs.")


class HdrCluster(HostCluster):
    """The same on switches of 40 ports."""

    leaf_downlinks: int = Field(
        default=20, ge=1, le=39, title="Downlinks per leaf", description="Cables from a leaf to hosts."
    )
    leaf_uplinks: int = Field(
        default=20,
        ge=1,
        le=39,
        title="Uplinks per leaf",
        description="Cables from a leaf to spines; fewer than downlinks oversubscribe it.",
    )


@dataclass(frozen=True, slots=True)
class HostVariant:
    """A platform of the catalogue, and the switch that its NICs are joined to."""

    title: str
    platform_id: str
    switch: str

    @property
    def platform(self) -> PlatformSpec:
        """What a host is."""
        return catalog().platforms[self.platform_id]

    def plan(self, parameters: HostCluster) -> FabricPlan:
        """The network. Raises InputError (see `check_plan`)."""
        return check_plan(
            FabricPlan(
                hosts=parameters.nodes,
                rails=self.platform.backend_nics,
                kind=parameters.fabric,
                downlinks=parameters.leaf_downlinks,
                uplinks=parameters.leaf_uplinks,
                storage=on_compute(parameters),
                switch=self.switch,
                nic=nic_of(self.platform),
            )
        )

    def build(self, parameters: HostCluster) -> TemplateContent:
        """The whole cluster; more than four hosts stand in racks. Raises InputError (see `check_plan`)."""
        return build_hosts(
            f"{self.title} × {parameters.nodes}", self.platform, [self.plan(parameters)], parameters
        )

    def counts(self, parameters: HostCluster) -> TemplateCounts:
        """What `build` would give, without building it. Raises InputError as `build` does."""
        return count_hosts(self.platform, [self.plan(parameters)], parameters)


def build_hosts(
    name: str,
    platform: PlatformSpec,
    plans: Sequence[FabricPlan],
    parameters: OwnStorage,
    *,
    hosts_per_rack: int = HOSTS_PER_RACK,
) -> TemplateContent:
    """Equal hosts on one network, or on several of which each has its share of the ports of every NIC."""
    storage = storage_plan(parameters, plans[0].hosts)
    sketch = Sketch()
    add_pods(sketch, plans[0])
    full = draws_hosts_in_full(parameters)
    nics = add_hosts(sketch, plans[0], platform, full=full, per_rack=hosts_per_rack)
    for plan in plans:
        add_fabric(sketch, plan, nics)
    add_storage_fabric(sketch, storage, nics)
    return finished(sketch, name)


def count_hosts(
    platform: PlatformSpec, plans: Sequence[FabricPlan], parameters: OwnStorage
) -> TemplateCounts:
    """The counts of that."""
    hosts = plans[0].hosts
    each = host_counts(platform, full=draws_hosts_in_full(parameters))
    return counts_of(hosts, each, plans, [storage_plan(parameters, hosts)])


def add_hosts(
    sketch: Sketch,
    plan: FabricPlan,
    platform: PlatformSpec,
    *,
    full: bool,
    per_rack: int = HOSTS_PER_RACK,
) -> list[list[str]]:
    """All hosts of a plan, in racks (from U 1 up) if these are several; gives their NICs by rail."""
    last_rack = (plan.hosts - 1) // per_rack
    nics: list[list[str]] = []
    rack: str | None = plan.parent
    u: int | None = None
    for node in range(plan.hosts):
        if node % per_rack == 0 and last_rack:
            name = numbered(f"{plan.prefix}rack", node // per_rack, last_rack)
            pod = pod_name(plan, plan.pod_of_host(node) if plan.pods else 0)
            rack, u = sketch.container(name, ContainerKind.RACK, pod), 1
        name = numbered(f"{plan.prefix}node", node, plan.hosts - 1)
        nics.append(add_host(sketch, platform, name, rack, full=full))
        u = None if u is None else sketch.place(name, u, platform.height_u)
    return nics


HGX_H100 = HostVariant("HGX H100", "hgx-h100-8", "qm9700")
HGX_H200 = HostVariant("HGX H200", "hgx-h200-8", "qm9700")
HGX_H800 = HostVariant("HGX H800", "hgx-h800-8", "qm9700")
HGX_A100 = HostVariant("HGX A100", "hgx-a100-8", "qm8700")
HGX_B200 = HostVariant("HGX B200", "hgx-b200-8", "qm9700")
HGX_B300 = HostVariant("HGX B300", "hgx-b300-8", "sn5600")
MI300X = HostVariant("MI300X", "mi300x-8", "qm9700")
MI325X = HostVariant("MI325X", "mi325x-8", "qm9700")
MI355X = HostVariant("MI355X", "mi355x-8", "th4")
