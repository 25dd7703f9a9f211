"""`alibaba-hpn`: a pod of Alibaba's HPN 7: two planes, to each of which every NIC has a port of 200G.

A segment of up to 128 hosts has 16 leaves: one for each of 8 rails and 2 planes, with 128 × 200G down and
60 × 400G up (1.067 : 1). 15 segments have 240 leaves and 120 aggregation switches, 60 a plane, each with 120
cables down and 8 up to the cores (15 : 1). Fewer segments have as few aggregation switches as have the ports.
The cores are not published: here 8, a cable to each from every aggregation switch.
"""

from __future__ import annotations

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, TemplateContent, finished, numbered
from topology_templates.counts import TemplateCounts, counts_of
from topology_templates.fabric import divisors
from topology_templates.host_clusters import HGX_H800
from topology_templates.hosts import add_host, host_counts
from topology_templates.parameters import HostParameters, OwnStorage, draws_hosts_in_full
from topology_templates.storage import add_storage_fabric, storage_plan

SWITCH = "th5"
NIC = "bf3-b3220"
PLANES = 2
UPLINKS = 60
DOWN_OF_AGGREGATION = 120
CORES = 8


class AlibabaHpn(OwnStorage, HostParameters):
    """Parameters of `alibaba-hpn`."""

    segments: int = Field(
        default=2, ge=1, le=15, title="Segments", description="15 in the pod of 15,360 GPUs."
    )
    nodes_per_segment: int = Field(
        default=4,
        ge=1,
        le=128,
        title="Nodes per segment",
        description="Hosts of 8 H800; 128 in the original.",
    )
    cores: bool = Field(
        default=False, title="Cores", description="8 switches above, which join pods at 15 : 1."
    )


def _platform() -> PlatformSpec:
    return HGX_H800.platform.model_copy(update={"backend_nic": NIC})


def aggregations(parameters: AlibabaHpn) -> int:
    """Aggregation switches of one plane."""
    leaves = parameters.segments * _platform().backend_nics
    return next(number for number in divisors(UPLINKS) if leaves * UPLINKS <= number * DOWN_OF_AGGREGATION)


def build(parameters: AlibabaHpn) -> TemplateContent:
    """The whole pod. Raises InputError in one sentence."""
    hosts = parameters.segments * parameters.nodes_per_segment
    storage = storage_plan(parameters, hosts)
    sketch = Sketch()
    nics: list[list[str]] = []
    leaves: list[list[str]] = [[] for _ in range(PLANES)]
    for segment in range(parameters.segments):
        row, made = _add_segment(sketch, parameters, segment)
        nics.extend(row)
        for plane in range(PLANES):
            leaves[plane].extend(made[plane])
    lane = catalog().switches[SWITCH].port_bytes_per_s / 2
    each = aggregations(parameters)
    spines = [sketch.device(f"spine{number}", DeviceKind.SPINE, SWITCH) for number in range(PLANES * each)]
    for plane in range(PLANES):
        for leaf in leaves[plane]:
            for spine in spines[plane * each : (plane + 1) * each]:
                sketch.link(leaf, spine, LinkKind.ETHERNET, lane, UPLINKS // each)
    for core in range(CORES if parameters.cores else 0):
        name = sketch.device(f"core{core}", DeviceKind.CORE, SWITCH)
        for spine in spines:
            sketch.link(spine, name, LinkKind.ETHERNET, lane)
    add_storage_fabric(sketch, storage, nics)
    return finished(sketch, f"Alibaba HPN 7: {8 * hosts:,} H800")


def _add_segment(
    sketch: Sketch, parameters: AlibabaHpn, segment: int
) -> tuple[list[list[str]], list[list[str]]]:
    """One segment; gives the NICs of its hosts and its leaves by plane."""
    platform = _platform()
    name = sketch.container(numbered("segment", segment, parameters.segments - 1), ContainerKind.POD)
    rails = platform.backend_nics
    leaves = [
        [
            sketch.device(
                f"leaf{(segment * PLANES + plane) * rails + rail}", DeviceKind.LEAF, SWITCH, name, rail
            )
            for rail in range(rails)
        ]
        for plane in range(PLANES)
    ]
    lane = catalog().nics[NIC].port_bytes_per_s
    full = draws_hosts_in_full(parameters)
    nics: list[list[str]] = []
    for slot in range(parameters.nodes_per_segment):
        last = parameters.segments * parameters.nodes_per_segment - 1
        host = numbered("node", segment * parameters.nodes_per_segment + slot, last)
        nics.append(add_host(sketch, platform, host, name, full=full))
        for plane in range(PLANES):
            for rail, nic in enumerate(nics[-1]):
                sketch.link(nic, leaves[plane][rail], LinkKind.ETHERNET, lane)
    return nics, leaves


def counts(parameters: AlibabaHpn) -> TemplateCounts:
    """What `build` would give, without building it."""
    platform, each = _platform(), aggregations(parameters)
    hosts = parameters.segments * parameters.nodes_per_segment
    leaves, spines = parameters.segments * PLANES * platform.backend_nics, PLANES * each
    cores = CORES if parameters.cores else 0
    ports = hosts * PLANES * platform.backend_nics
    extra = {
        "leaf": leaves,
        "spine": spines,
        "core": cores,
        "links": ports + leaves * each + spines * cores,
        "host_leaf": ports,
        "leaf_spine": leaves * UPLINKS,
        "spine_core": spines * cores,
    }
    host = host_counts(platform, full=draws_hosts_in_full(parameters))
    return counts_of(hosts, host, [], [storage_plan(parameters, hosts)], extra)
