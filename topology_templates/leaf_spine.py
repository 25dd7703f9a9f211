"""`leaf-spine`: a leaf for all NICs of a rack, with as many uplinks as the oversubscription asks for."""

from __future__ import annotations

import math

from pydantic import Field

from model.errors import InputError
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.fabric import FabricPlan, check_plan
from topology_templates.host_clusters import HGX_H100, build_hosts, count_hosts
from topology_templates.hosts import nic_of
from topology_templates.parameters import HostParameters, StorageParameters
from topology_templates.storage import on_compute


class LeafSpine(StorageParameters, HostParameters):
    """Parameters of `leaf-spine`."""

    nodes: int = Field(default=8, ge=1, le=2048, title="Nodes", description="Hosts of eight GPUs.")
    nodes_per_rack: int = Field(
        default=4,
        ge=1,
        le=7,
        title="Nodes per rack",
        description="All their NICs go to the leaf of the rack.",
    )
    oversubscription: float = Field(
        default=2.0,
        ge=1.0,
        le=56.0,
        title="Oversubscription",
        description="Downlinks ÷ uplinks of a leaf, at most: 1 is non-blocking.",
    )


def _plan(parameters: LeafSpine) -> FabricPlan:
    platform = HGX_H100.platform
    down = parameters.nodes_per_rack * platform.backend_nics
    # The small allowance keeps 48 ÷ 1.6 = 30.000…4 at 30.
    up = max(1, math.ceil(down / parameters.oversubscription - 1e-9))
    plan = FabricPlan(
        hosts=parameters.nodes,
        rails=platform.backend_nics,
        kind="tor",
        downlinks=down,
        uplinks=up,
        storage=on_compute(parameters),
        switch=HGX_H100.switch,
        nic=nic_of(platform),
        least_spines=2,
    )
    left = plan.ports - down
    if up > left:
        raise InputError(
            f"oversubscription = {parameters.oversubscription:g} does not work: a leaf with {down} downlinks "
            f"({plan.spec.name}) has {left} ports left for uplinks, not {up}; the least that works is "
            f"{math.ceil(1000 * down / left) / 1000:g}."
        )
    return check_plan(plan)


def build(parameters: LeafSpine) -> TemplateContent:
    """The whole cluster. Raises InputError in one sentence."""
    name = f"Leaf-spine {parameters.oversubscription:g} : 1 × {parameters.nodes}"
    plan = _plan(parameters)
    return build_hosts(name, HGX_H100.platform, [plan], parameters, hosts_per_rack=parameters.nodes_per_rack)


def counts(parameters: LeafSpine) -> TemplateCounts:
    """What `build` would give, without building it."""
    return count_hosts(HGX_H100.platform, [_plan(parameters)], parameters)
