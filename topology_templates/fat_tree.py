"""`fat-tree`: the k-ary fat tree of equal switches: k²/2 NICs in two tiers, k³/4 in three, non-blocking.

Two tiers have k leaves and k/2 spines; three tiers k pods of k/2 leaves and k/2 spines, and k²/4 cores.
Hosts have 1, 2, 4 or 8 H100 with a NIC each: 2 and 4 are joined directly by NVLink (18 and 6 to each other
GPU), 8 over NVLink switches. All NICs of a host go to one leaf.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from model.catalog import PlatformSpec, catalog
from model.catalog.specs import HostPcie, MeshWiring
from model.errors import InputError
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.fabric import FabricPlan
from topology_templates.host_clusters import HGX_H100, build_hosts, count_hosts
from topology_templates.hosts import nic_of
from topology_templates.parameters import HostParameters, OwnStorage

HOST_SIZES = (1, 2, 4, 8)
MOST_GPUS = 16_384


class FatTree(OwnStorage, HostParameters):
    """Parameters of `fat-tree`."""

    radix: int = Field(
        default=8, ge=4, le=64, title="Radix", description="Ports of each switch that are used; even."
    )
    tiers: Literal["two", "three"] = Field(
        default="two", title="Tiers", description="two: leaves and spines. three: pods, and cores above them."
    )
    gpus_per_host: int = Field(
        default=4, ge=1, le=8, title="GPUs per host", description="1, 2, 4 or 8; a divisor of half the radix."
    )


def host_platform(gpus: int) -> PlatformSpec:
    """A host of 1, 2, 4 or 8 H100."""
    board = HGX_H100.platform
    if gpus == board.gpus:
        return board
    spec = catalog().gpus[board.gpu]
    lanes = spec.scale_up_links // max(1, gpus - 1)
    mesh = MeshWiring(
        kind="full_mesh",
        links_per_pair=lanes,
        links_total=gpus * (gpus - 1) // 2 * lanes,
        gbytes_per_s_per_link_per_direction=spec.scale_up_lane_bytes_per_s / 1e9,
    )
    sockets, shared = (2, 2) if gpus == 4 else (1, gpus)
    pcie = HostPcie(
        generation=5,
        cpu_sockets=sockets,
        pcie_switches=gpus // shared,
        gpus_per_pcie_switch=shared,
        nics_per_pcie_switch=shared,
    )
    change = {
        "gpus": gpus,
        "backend_nics": gpus,
        "cpus": sockets,
        "nvlink_wiring": None,
        "mesh": mesh,
        "host_pcie": pcie,
        "height_u": None,
        "power_w": None,
    }
    return board.model_copy(update=change)


def _plan(parameters: FatTree) -> FabricPlan:
    radix, gpus = parameters.radix, parameters.gpus_per_host
    if radix % 2:
        raise InputError(
            f"radix = {radix} does not work: as many ports go up as down; the nearest is {radix - 1}."
        )
    fitting = [size for size in HOST_SIZES if radix // 2 % size == 0]
    if gpus not in fitting:
        nearest = min(fitting, key=lambda size: (abs(size - gpus), size))
        raise InputError(
            f"gpus_per_host = {gpus} does not work: a host has 1, 2, 4 or 8 GPUs, and whole hosts fill the "
            f"{radix // 2} downlinks of a leaf; the nearest is {nearest}."
        )
    ends = radix**2 // 2 if parameters.tiers == "two" else radix**3 // 4
    if ends > MOST_GPUS:
        most = max(k for k in range(4, 65, 2) if k**3 // 4 <= MOST_GPUS and k // 2 % gpus == 0)
        raise InputError(
            f"radix = {radix} with tiers = three would have {ends:,} GPUs; up to {MOST_GPUS:,} are drawn, "
            f"and the nearest radix for that is {most}."
        )
    platform = host_platform(gpus)
    return FabricPlan(
        hosts=ends // gpus,
        rails=gpus,
        kind="tor",
        downlinks=radix // 2,
        uplinks=radix // 2,
        storage=0,
        switch=HGX_H100.switch,
        nic=nic_of(platform),
        radix=radix,
    )


def build(parameters: FatTree) -> TemplateContent:
    """The whole tree. Raises InputError in one sentence."""
    name = f"Fat tree of radix {parameters.radix}, {parameters.tiers} tiers"
    plan = _plan(parameters)
    host = host_platform(parameters.gpus_per_host)
    return build_hosts(name, host, [plan], parameters, hosts_per_rack=plan.hosts_per_unit)


def counts(parameters: FatTree) -> TemplateCounts:
    """What `build` would give, without building it."""
    return count_hosts(host_platform(parameters.gpus_per_host), [_plan(parameters)], parameters)
