"""`rail-only`: a leaf for each rail and no spine: what crosses rails goes over NVLink inside a host first."""

from __future__ import annotations

from pydantic import Field

from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.fabric import FabricPlan
from topology_templates.host_clusters import HGX_H100, build_hosts, count_hosts
from topology_templates.hosts import nic_of
from topology_templates.parameters import HostParameters, OwnStorage


class RailOnly(OwnStorage, HostParameters):
    """Parameters of `rail-only`: as many hosts as a leaf has ports."""

    nodes: int = Field(default=8, ge=1, le=64, title="Nodes", description="Hosts of eight GPUs.")


def _plan(parameters: RailOnly) -> FabricPlan:
    platform = HGX_H100.platform
    return FabricPlan(
        hosts=parameters.nodes,
        rails=platform.backend_nics,
        kind="rail",
        downlinks=64,
        uplinks=0,
        storage=0,
        switch=HGX_H100.switch,
        nic=nic_of(platform),
    )


def build(parameters: RailOnly) -> TemplateContent:
    """The whole cluster. Raises InputError in one sentence."""
    name = f"Rail-only × {parameters.nodes}"
    return build_hosts(name, HGX_H100.platform, [_plan(parameters)], parameters)


def counts(parameters: RailOnly) -> TemplateCounts:
    """What `build` would give, without building it."""
    return count_hosts(HGX_H100.platform, [_plan(parameters)], parameters)
