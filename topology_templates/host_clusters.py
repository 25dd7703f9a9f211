"""`hgx-…` and `mi3…x`: hosts of eight GPUs with a NIC each, on rail leaves and spines.

All of them share one builder; what differs is in the catalogue (GPUs, NVLink switches or xGMI, NICs) and the
switch, in the table below.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.topology.types import ContainerKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, fabric_counts
from topology_templates.fabric import FabricPlan, add_fabric, add_pods, check_plan, pod_name
from topology_templates.hosts import HOSTS_PER_RACK, add_host, host_counts, nic_of
from topology_templates.parameters import FabricParameters


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
                storage=parameters.storage,
                switch=self.switch,
                nic=nic_of(self.platform),
            )
        )

    def build(self, parameters: HostCluster) -> TemplateContent:
        """The whole cluster; more than four hosts stand in racks. Raises InputError (see `check_plan`)."""
        plan = self.plan(parameters)
        sketch = Sketch()
        add_pods(sketch, plan)
        nics = add_hosts(sketch, plan, self.platform, full=parameters.host == "full")
        add_fabric(sketch, plan, nics)
        return finished(sketch, f"{self.title} × {parameters.nodes}")

    def counts(self, parameters: HostCluster) -> TemplateCounts:
        """What `build` would give, without building it. Raises InputError as `build` does."""
        host = host_counts(self.platform, full=parameters.host == "full")
        return fabric_counts(self.plan(parameters), parameters.nodes, host)


def add_hosts(sketch: Sketch, plan: FabricPlan, platform: PlatformSpec, *, full: bool) -> list[list[str]]:
    """All hosts of a plan, in racks of four where there are more; gives their NICs by rail."""
    last_rack = (plan.hosts - 1) // HOSTS_PER_RACK
    nics: list[list[str]] = []
    rack: str | None = None
    for node in range(plan.hosts):
        if node % HOSTS_PER_RACK == 0 and plan.hosts > HOSTS_PER_RACK:
            name = numbered(f"{plan.prefix}rack", node // HOSTS_PER_RACK, last_rack)
            rack = sketch.container(name, ContainerKind.RACK, pod_name(plan, plan.pod_of_host(node)))
        name = numbered(f"{plan.prefix}node", node, plan.hosts - 1)
        nics.append(add_host(sketch, platform, name, rack, full=full))
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
