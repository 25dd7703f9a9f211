"""How many devices and cables a template gives, reckoned without building it."""

from __future__ import annotations

from collections.abc import Mapping

from topology_templates.fabric import FabricPlan

TemplateCounts = dict[str, int]


def fabric_counts(plan: FabricPlan, hosts: int, each: Mapping[str, int]) -> TemplateCounts:
    """Counts of a cluster of `hosts` equal hosts (`each`: devices by kind, "links" and "nvlink_lanes").

    Keys: kinds of device, "devices", "links" (bundles), "nvlink_lanes", and cables "host_leaf",
    "leaf_spine", "spine_core" ("host_leaf" without those of storage).
    """
    kinds = ("gpu", "nic", "nvlink-switch", "cpu", "pcie-switch")
    counts = {kind: hosts * each[kind] for kind in kinds}
    counts |= {"leaf": plan.leaves, "spine": plan.spines, "core": plan.cores, "storage": plan.storage}
    devices = sum(counts.values())
    spines_per_leaf = plan.spines if plan.tiers == 2 else plan.uplinks
    leaf_spine = plan.leaves * spines_per_leaf
    spine_core = plan.spines * plan.cores_per_group
    counts["devices"] = devices
    counts["links"] = hosts * (each["links"] + plan.nics) + plan.storage + leaf_spine + spine_core
    counts["nvlink_lanes"] = hosts * each["nvlink_lanes"]
    counts["host_leaf"] = hosts * plan.nics
    counts["leaf_spine"] = leaf_spine * plan.leaf_spine_cables
    counts["spine_core"] = spine_core * plan.spine_core_cables
    return counts
