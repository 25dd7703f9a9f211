"""`two-sites`: two equal clusters of HGX H100 joined by long lines between gateways.

Each spine has a cable to each gateway of its site; gateway i of one site has lines to gateway i of the other.
A line takes 5 ns a metre.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from model.catalog import catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, finished
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import FabricPlan, add_fabric, check_plan
from topology_templates.host_clusters import HGX_H100, add_hosts
from topology_templates.hosts import host_counts, nic_of
from topology_templates.parameters import HostParameters, StorageParameters, draws_hosts_in_full
from topology_templates.storage import add_storage_fabric, on_compute, storage_plan

SITES = ("a", "b")
LINKS = 32
GATEWAY = "site-gateway"


class TwoSites(StorageParameters, HostParameters):
    """Parameters of `two-sites`."""

    nodes: int = Field(
        default=4, ge=1, le=192, title="Nodes per site", description="Hosts of eight H100 at each site."
    )
    distance_km: float = Field(
        default=40.0, ge=0.1, le=20000.0, title="Distance (km)", description="Of the lines, at 5 ns a metre."
    )
    gateways: int = Field(
        default=2, ge=1, le=8, title="Gateways per site", description="Each has a cable to every spine."
    )
    lines: int = Field(
        default=4, ge=1, le=32, title="Lines per gateway", description="Of 400G, to the other site."
    )


def _site(parameters: TwoSites, site: str) -> FabricPlan:
    """The network of one site, its spines with a port free for each gateway."""
    platform = HGX_H100.platform
    plan = FabricPlan(
        hosts=parameters.nodes,
        rails=platform.backend_nics,
        kind="rail",
        downlinks=LINKS,
        uplinks=LINKS,
        storage=on_compute(parameters),
        switch=HGX_H100.switch,
        nic=nic_of(platform),
        reserve=parameters.gateways,
        prefix=f"{site}-",
        parent=f"site-{site}",
    )
    if plan.tiers == 3:
        most = max(number for number in range(parameters.storage) if replace(plan, storage=number).tiers == 2)
        raise InputError(
            f"storage = {parameters.storage} does not work: {plan.leaves} leaves make three tiers, and "
            f"gateways hang on spines; the nearest that works is {most}."
        )
    return check_plan(plan)


def build(parameters: TwoSites) -> TemplateContent:
    """Both sites. Raises InputError in one sentence."""
    sketch = Sketch()
    full = draws_hosts_in_full(parameters)
    gateways: list[list[str]] = []
    for site in SITES:
        plan = _site(parameters, site)
        storage = storage_plan(parameters, plan.hosts, plan.prefix, plan.parent)
        sketch.container(f"site-{site}", ContainerKind.SITE)
        nics = add_hosts(sketch, plan, HGX_H100.platform, full=full)
        made = add_fabric(sketch, plan, nics)
        gateways.append(
            [
                sketch.device(f"{site}-gw{number}", DeviceKind.SITE_GATEWAY, GATEWAY, plan.parent)
                for number in range(parameters.gateways)
            ]
        )
        lane = min(plan.lane, catalog().hosts[GATEWAY].port_bytes_per_s)
        for spine in made.spines:
            for gateway in gateways[-1]:
                sketch.link(spine, gateway, LinkKind(plan.spec.network), lane)
        add_storage_fabric(sketch, storage, nics)
    metres = parameters.distance_km * 1000.0
    lane = catalog().hosts[GATEWAY].port_bytes_per_s
    for near, far in zip(*gateways, strict=True):
        sketch.line(near, far, lane, parameters.lines, metres, metres * catalog().cables.seconds_per_metre)
    return finished(sketch, f"Two sites of {parameters.nodes}, {parameters.distance_km:g} km apart")


def counts(parameters: TwoSites) -> TemplateCounts:
    """What `build` would give, without building it. "wan" counts the long lines."""
    plans = [_site(parameters, site) for site in SITES]
    host = host_counts(HGX_H100.platform, full=draws_hosts_in_full(parameters))
    pairs = parameters.gateways
    extra = {
        "site-gateway": len(SITES) * pairs,
        "links": sum(plan.spines for plan in plans) * pairs + pairs,
        "wan": pairs * parameters.lines,
    }
    storages = (storage_plan(parameters, plan.hosts, plan.prefix, plan.parent) for plan in plans)
    return counts_of(len(SITES) * parameters.nodes, host, plans, storages, extra)
