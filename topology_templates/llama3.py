"""`llama3-24k`: the Ethernet fabric that Llama 3 was trained on: 8 pods of 3,072 H100, 7 : 1 above them.

A rack has 2 hosts and a leaf (Minipack2) with 16 cables down and, doubled, 32 up to the spines of its pod
(Arista 7800); 192 racks are a pod with full bisection. The number of spines and of cores is not published:
here as few spines as have the ports, and the fewest uplinks of a spine that keep the oversubscription, which
with whole cables is 6.86 : 1 in the full size (16 spines with 28 uplinks a pod, 7 cores).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field

from model.catalog import catalog
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import divisors
from topology_templates.host_clusters import HGX_H100
from topology_templates.hosts import add_host, host_counts
from topology_templates.parameters import HostParameters, OwnStorage, draws_hosts_in_full
from topology_templates.storage import add_storage_fabric, storage_plan

LEAF, SPINE, CORE = "th4", "7816r3", "7816r3"
HOSTS_PER_RACK = 2
UPLINKS = 32
LEAF_U = 44


class Llama3(OwnStorage, HostParameters):
    """Parameters of `llama3-24k`."""

    pods: int = Field(default=2, ge=1, le=8, title="Pods", description="8 in the cluster of 24,576 GPUs.")
    racks_per_pod: int = Field(
        default=4,
        ge=1,
        le=192,
        title="Racks per pod",
        description="Of two hosts and a leaf; 192 in the original.",
    )
    oversubscription: float = Field(
        default=7.0,
        ge=1.0,
        le=64.0,
        title="Above the pods",
        description="Bandwidth of a pod's hosts ÷ that to the cores, at most.",
    )


@dataclass(frozen=True, slots=True)
class Llama3Plan:
    """How many switches and cables."""

    pods: int
    racks: int
    down: int
    spines: int
    spine_uplinks: int
    cores: int

    @property
    def hosts(self) -> int:
        """All hosts."""
        return self.pods * self.racks * HOSTS_PER_RACK

    @property
    def leaf_spine_cables(self) -> int:
        """Cables from a leaf to each spine of its pod."""
        return UPLINKS // self.spines

    @property
    def spine_core_cables(self) -> int:
        """Cables from a spine to each core."""
        return self.spine_uplinks // self.cores if self.cores else 0


def plan_of(parameters: Llama3) -> Llama3Plan:
    """The network."""
    down = HOSTS_PER_RACK * HGX_H100.platform.backend_nics
    racks, pods = parameters.racks_per_pod, parameters.pods
    ports = catalog().switches[SPINE].ports
    for spines in divisors(UPLINKS)[1:]:
        up = math.ceil(racks * down / (parameters.oversubscription * spines) - 1e-9) if pods > 1 else 0
        if racks * UPLINKS // spines + up <= ports:
            break
    least = max(min(2, up), math.ceil(pods * spines * up / catalog().switches[CORE].ports))
    cores = next(cores for cores in divisors(up) if cores >= least) if up else 0
    return Llama3Plan(pods, racks, down, spines, up, cores)


def build(parameters: Llama3) -> TemplateContent:
    """The whole cluster. Raises InputError in one sentence."""
    plan = plan_of(parameters)
    storage = storage_plan(parameters, plan.hosts)
    sketch = Sketch()
    full = draws_hosts_in_full(parameters)
    lane = catalog().switches[LEAF].port_bytes_per_s
    nics: list[list[str]] = []
    spines: list[list[str]] = []
    for pod in range(plan.pods):
        name = sketch.container(numbered("pod", pod, plan.pods - 1), ContainerKind.POD)
        spines.append(
            [
                sketch.device(f"{name}.spine{spine}", DeviceKind.SPINE, SPINE, name)
                for spine in range(plan.spines)
            ]
        )
        for number in range(plan.racks):
            rack = pod * plan.racks + number
            nics.extend(_add_rack(sketch, plan, rack, name, spines[-1], full=full))
    cores = [sketch.device(f"core{core}", DeviceKind.CORE, CORE) for core in range(plan.cores)]
    for row in spines:
        for spine in row:
            for core in cores:
                sketch.link(spine, core, LinkKind.ETHERNET, lane, plan.spine_core_cables)
    add_storage_fabric(sketch, storage, nics)
    return finished(sketch, f"Llama 3 fabric: {8 * plan.hosts:,} H100")


def _add_rack(
    sketch: Sketch, plan: Llama3Plan, number: int, pod: str, spines: list[str], *, full: bool
) -> list[list[str]]:
    """A rack with its leaf; gives the NICs of its hosts."""
    lane = catalog().switches[LEAF].port_bytes_per_s
    last = plan.pods * plan.racks - 1
    rack = sketch.container(numbered("rack", number, last), ContainerKind.RACK, pod)
    leaf = sketch.device(f"leaf{number}", DeviceKind.LEAF, LEAF, rack, u=LEAF_U)
    nics: list[list[str]] = []
    u: int | None = 1
    for slot in range(HOSTS_PER_RACK):
        name = numbered("node", number * HOSTS_PER_RACK + slot, plan.hosts - 1)
        nics.append(add_host(sketch, HGX_H100.platform, name, rack, full=full))
        u = None if u is None else sketch.place(name, u, HGX_H100.platform.height_u)
        for nic in nics[-1]:
            sketch.link(nic, leaf, LinkKind.ETHERNET, lane)
    for spine in spines:
        sketch.link(leaf, spine, LinkKind.ETHERNET, lane, plan.leaf_spine_cables)
    return nics


def counts(parameters: Llama3) -> TemplateCounts:
    """What `build` would give, without building it."""
    plan = plan_of(parameters)
    leaves, spines = plan.pods * plan.racks, plan.pods * plan.spines
    host = host_counts(HGX_H100.platform, full=draws_hosts_in_full(parameters))
    extra = {
        "leaf": leaves,
        "spine": spines,
        "core": plan.cores,
        "links": leaves * (plan.down + plan.spines) + spines * plan.cores,
        "host_leaf": leaves * plan.down,
        "leaf_spine": leaves * UPLINKS,
        "spine_core": spines * plan.spine_uplinks,
    }
    return counts_of(plan.hosts, host, [], [storage_plan(parameters, plan.hosts)], extra)
