"""`hgx-h100`: hosts of 8 H100 with 4 NVLink switches and 8 NICs of 400G, on rail leaves and spines."""

from __future__ import annotations

from pydantic import Field

from model.catalog import catalog
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.types import ContainerKind
from topology_templates.content import Sketch, TemplateContent, numbered
from topology_templates.counts import TemplateCounts, fabric_counts
from topology_templates.fabric import FabricPlan, add_fabric, add_pods, plan_fabric, pod_name
from topology_templates.hgx import HOSTS_PER_RACK, add_host, host_counts
from topology_templates.parameters import FabricParameters

PLATFORM = "hgx-h100-8"


class HgxH100(FabricParameters):
    """Parameters of `hgx-h100`."""

    nodes: int = Field(default=4, ge=1, le=2048, title="Nodes", description="Hosts of eight GPUs.")


def _plan(parameters: HgxH100) -> FabricPlan:
    return plan_fabric(
        hosts=parameters.nodes,
        rails=catalog().platforms[PLATFORM].backend_nics,
        kind=parameters.fabric,
        downlinks=parameters.leaf_downlinks,
        uplinks=parameters.leaf_uplinks,
        storage=parameters.storage,
    )


def build(parameters: HgxH100) -> TemplateContent:
    """The whole cluster; more than four hosts stand in racks. Raises InputError (see `plan_fabric`)."""
    plan = _plan(parameters)
    platform = catalog().platforms[PLATFORM]
    sketch = Sketch()
    add_pods(sketch, plan)
    last_rack = (parameters.nodes - 1) // HOSTS_PER_RACK
    nics: list[list[str]] = []
    rack: str | None = None
    for node in range(parameters.nodes):
        if node % HOSTS_PER_RACK == 0 and parameters.nodes > HOSTS_PER_RACK:
            name = numbered("rack", node // HOSTS_PER_RACK, last_rack)
            rack = sketch.container(name, ContainerKind.RACK, pod_name(plan, plan.pod_of_host(node)))
        name = numbered("node", node, parameters.nodes - 1)
        nics.append(add_host(sketch, platform, name, rack, full=parameters.host == "full"))
    add_fabric(sketch, plan, nics)
    devices, links, containers = tuple(sketch.devices), tuple(sketch.links), tuple(sketch.containers)
    return TemplateContent(
        f"HGX H100 × {parameters.nodes}",
        devices,
        links,
        containers,
        layout_by_role(Topology(devices, links, containers)),
    )


def counts(parameters: HgxH100) -> TemplateCounts:
    """What `build` would give, without building it. Raises InputError as `build` does."""
    platform = catalog().platforms[PLATFORM]
    host = host_counts(platform, full=parameters.host == "full")
    return fabric_counts(_plan(parameters), parameters.nodes, host)
