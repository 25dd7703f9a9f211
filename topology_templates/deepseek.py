"""`deepseek-v3`: hosts of 8 H800 on eight planes: NIC i only in plane i, a fat tree of two tiers.

What goes to another plane crosses NVLink inside a host. With switches of 64 ports eight planes end at 16,384
GPUs on 768 switches; DeepSeek-V3 was trained on 2,048 GPUs of such a fabric.
"""

from __future__ import annotations

from pydantic import Field

from topology_templates.content import Sketch, TemplateContent, finished
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import FabricPlan, add_fabric, check_plan
from topology_templates.host_clusters import HGX_H800, add_hosts
from topology_templates.hosts import host_counts, nic_of
from topology_templates.parameters import HostParameters, OwnStorage, draws_hosts_in_full
from topology_templates.storage import add_storage_fabric, storage_plan

LINKS = 32


class DeepSeek(OwnStorage, HostParameters):
    """Parameters of `deepseek-v3`."""

    nodes: int = Field(
        default=8, ge=1, le=2048, title="Nodes", description="Hosts of 8 H800; 256 trained DeepSeek-V3."
    )


def _planes(parameters: DeepSeek) -> list[FabricPlan]:
    platform = HGX_H800.platform
    return [
        check_plan(
            FabricPlan(
                hosts=parameters.nodes,
                rails=1,
                kind="rail",
                downlinks=LINKS,
                uplinks=LINKS,
                storage=0,
                switch=HGX_H800.switch,
                nic=nic_of(platform),
                first_rail=plane,
                role=f"p{plane}-",
            )
        )
        for plane in range(platform.backend_nics)
    ]


def build(parameters: DeepSeek) -> TemplateContent:
    """The whole cluster. Raises InputError in one sentence."""
    planes, storage = _planes(parameters), storage_plan(parameters, parameters.nodes)
    sketch = Sketch()
    nics = add_hosts(sketch, planes[0], HGX_H800.platform, full=draws_hosts_in_full(parameters))
    for number, plane in enumerate(planes):
        add_fabric(sketch, plane, [row[number : number + 1] for row in nics])
    add_storage_fabric(sketch, storage, nics)
    return finished(sketch, f"DeepSeek-V3 fabric × {parameters.nodes}")


def counts(parameters: DeepSeek) -> TemplateCounts:
    """What `build` would give, without building it."""
    host = host_counts(HGX_H800.platform, full=draws_hosts_in_full(parameters))
    storage = storage_plan(parameters, parameters.nodes)
    return counts_of(parameters.nodes, host, _planes(parameters), [storage])
