"""How many devices and cables a template gives, reckoned without building it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from model.topology.types import DeviceKind
from topology_templates.fabric import FabricPlan

TemplateCounts = dict[str, int]

_CABLES = ("nvlink_lanes", "host_leaf", "leaf_spine", "spine_core", "wan")


def counts_of(
    hosts: int,
    each: Mapping[str, int],
    plans: Iterable[FabricPlan],
    storage: Iterable[FabricPlan | None] = (),
    extra: Mapping[str, int] | None = None,
) -> TemplateCounts:
    """Counts of a cluster of `hosts` equal hosts (`each`: devices by kind, "links" and "nvlink_lanes") on the
    networks of `plans` and those of `storage`, and what is `extra`.

    Keys: kinds of device, "devices", "links" (bundles), "nvlink_lanes", and cables "host_leaf",
    "leaf_spine", "spine_core", "wan" ("host_leaf" without those of storage nodes).
    """
    kinds = [kind.value for kind in DeviceKind]
    found = dict.fromkeys((*kinds, "links", *_CABLES), 0)
    for key, number in each.items():
        found[key] += hosts * number
    for plan in plans:
        _add_network(found, plan)
    for plan in filter(None, storage):
        _add_network(found, plan)
        found["nic"] += plan.hosts
        found["links"] += plan.hosts  # from those NICs to the CPUs
    for key, number in (extra or {}).items():
        found[key] += number
    return {**found, "devices": sum(found[kind] for kind in kinds)}


def _add_network(found: TemplateCounts, plan: FabricPlan) -> None:
    leaf_spine = plan.leaves * (plan.uplinks if plan.tiers == 3 else plan.spines)
    spine_core = plan.spines * plan.cores_per_group
    found["leaf"] += plan.leaves
    found["spine"] += plan.spines
    found["core"] += plan.cores
    found["storage"] += plan.storage
    found["links"] += plan.hosts * plan.nics + plan.storage + leaf_spine + spine_core
    found["host_leaf"] += plan.hosts * plan.nics * plan.cables
    found["leaf_spine"] += leaf_spine * plan.leaf_spine_cables
    found["spine_core"] += spine_core * plan.spine_core_cables
