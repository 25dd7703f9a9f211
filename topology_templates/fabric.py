"""The network between hosts: leaves and spines, in large clusters pods and cores.

Two tiers while all leaves fit under one set of spines; their number is the smallest that has the ports and
divides the uplinks of a leaf, so that every leaf has equally many cables to each. Three tiers above: pods, in
which a leaf has one cable to each spine of its half, and half of a spine's ports go up to one group of cores.
The lower rails are on one half of a pod and the upper on the other, and the halves meet nowhere in the
network; without rails a pod has one half only. Both reproduce NVIDIA's SuperPOD tables for H100 and B200.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from model.catalog import SwitchSpec, catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, numbered

FabricKind = Literal["rail", "tor"]

STORAGE_CABLES = 2


@dataclass(frozen=True, slots=True)
class FabricPlan:
    """How many switches and cables, and what is joined to what; all numbers from 0.

    `hosts` have one NIC on each of `rails` rails. Raises InputError from `plan_fabric` only.
    """

    hosts: int
    rails: int
    kind: FabricKind
    downlinks: int
    uplinks: int
    storage: int
    switch: str

    @property
    def spec(self) -> SwitchSpec:
        """The switch of all tiers."""
        return catalog().switches[self.switch]

    @property
    def hosts_per_unit(self) -> int:
        """Hosts that share a set of leaves."""
        return self.downlinks if self.kind == "rail" else self.downlinks // self.rails

    @property
    def leaves_per_unit(self) -> int:
        """Leaves of that set."""
        return self.rails if self.kind == "rail" else 1

    @property
    def host_leaves(self) -> int:
        """Leaves that hosts are joined to."""
        return math.ceil(self.hosts / self.hosts_per_unit) * self.leaves_per_unit

    @property
    def storage_cables(self) -> int:
        """Cables of one storage node, all to one leaf."""
        return min(STORAGE_CABLES, self.downlinks)

    @property
    def storage_per_leaf(self) -> int:
        """Storage nodes on one of the leaves that are theirs alone."""
        return self.downlinks // self.storage_cables

    @property
    def leaves(self) -> int:
        """All leaves; those of storage come last."""
        return self.host_leaves + math.ceil(self.storage / self.storage_per_leaf)

    @property
    def tiers(self) -> int:
        """2 (leaves and spines) or 3 (and cores)."""
        return 2 if self.leaves <= self.spec.ports else 3

    @property
    def halves(self) -> int:
        """Separate halves of a pod."""
        return 2 if self.kind == "rail" else 1

    @property
    def leaves_per_pod(self) -> int:
        """Leaves of a full pod: half of a spine's ports go down."""
        return self.halves * self.spec.ports // 2

    @property
    def pods(self) -> int:
        """Pods of three tiers; 0 with two."""
        return 0 if self.tiers == 2 else math.ceil(self.leaves / self.leaves_per_pod)

    @property
    def spines_per_pod(self) -> int:
        """Spines of one pod; with two tiers all of them."""
        if self.tiers == 3:
            return self.halves * self.uplinks
        least = math.ceil(self.leaves * self.uplinks / self.spec.ports)
        return next(spines for spines in divisors(self.uplinks) if spines >= least)

    @property
    def spines(self) -> int:
        """All spines."""
        return self.spines_per_pod * max(self.pods, 1)

    @property
    def leaf_spine_cables(self) -> int:
        """Cables between a leaf and a spine that are joined."""
        return 1 if self.tiers == 3 else self.uplinks // self.spines_per_pod

    @property
    def cores_per_group(self) -> int:
        """Cores that the spines of one number in all pods share."""
        if self.tiers == 2:
            return 0
        up = self.spec.ports // 2
        return next(cores for cores in divisors(up) if cores >= self.pods / 2)

    @property
    def cores(self) -> int:
        """All cores."""
        return self.cores_per_group * self.spines_per_pod

    @property
    def spine_core_cables(self) -> int:
        """Cables between a spine and a core that are joined."""
        return self.spec.ports // 2 // self.cores_per_group if self.cores else 0

    def leaf_of(self, host: int, rail: int) -> int:
        """The leaf of a host's NIC."""
        unit = host // self.hosts_per_unit
        return unit * self.leaves_per_unit + (rail if self.kind == "rail" else 0)

    def rail_of(self, leaf: int) -> int | None:
        """The rail of a leaf, None where it serves several."""
        if self.kind == "tor" or leaf >= self.host_leaves:
            return None
        return leaf % self.rails

    def pod_of_leaf(self, leaf: int) -> int:
        """The pod of a leaf."""
        return leaf // self.leaves_per_pod

    def pod_of_host(self, host: int) -> int:
        """The pod of a host."""
        return self.pod_of_leaf(self.leaf_of(host, 0))

    def spines_of(self, leaf: int) -> Sequence[int]:
        """The spines that a leaf is joined to. Leaves of storage reach both halves of their pod by turns."""
        if self.tiers == 2:
            return range(self.spines)
        start = self.pod_of_leaf(leaf) * self.spines_per_pod
        rail = self.rail_of(leaf)
        if rail is not None:
            start += self.uplinks if rail >= self.rails / 2 else 0
            return range(start, start + self.uplinks)
        return [start + (leaf + spine) % self.halves * self.uplinks + spine for spine in range(self.uplinks)]

    def cores_of(self, spine: int) -> range:
        """The cores that a spine is joined to."""
        group = spine % self.spines_per_pod
        return range(group * self.cores_per_group, (group + 1) * self.cores_per_group)


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def plan_fabric(
    *,
    hosts: int,
    rails: int,
    kind: FabricKind,
    downlinks: int,
    uplinks: int,
    storage: int,
    switch: str = "qm9700",
) -> FabricPlan:
    """The plan for these numbers. Raises InputError naming the parameter and the nearest value that works."""
    spec = catalog().switches[switch]
    if downlinks + uplinks > spec.ports:
        raise InputError(
            f"leaf_uplinks = {uplinks} does not fit: a leaf ({spec.name}) has {spec.ports} ports and "
            f"leaf_downlinks takes {downlinks}; at most {spec.ports - downlinks} uplinks are left."
        )
    if kind == "tor" and downlinks < rails:
        raise InputError(
            f"leaf_downlinks = {downlinks} is too few for fabric = tor: the {rails} NICs of a host all go to "
            f"one leaf; the least is {rails}."
        )
    plan = FabricPlan(hosts, rails, kind, downlinks, uplinks, storage, switch)
    if storage and plan.tiers == 3 and uplinks < plan.halves:
        raise InputError(
            f"leaf_uplinks = {uplinks} is too few with storage: its leaves reach two halves of a pod; "
            f"the least is {plan.halves}."
        )
    if plan.pods > spec.ports:
        for more in range(downlinks + 1, spec.ports - uplinks + 1):
            if FabricPlan(hosts, rails, kind, more, uplinks, storage, switch).pods <= spec.ports:
                raise InputError(
                    f"leaf_downlinks = {downlinks} needs {plan.pods} pods, but a core has ports for "
                    f"{spec.ports}; the least that works is {more}."
                )
        raise InputError(
            f"leaf_downlinks = {downlinks} needs {plan.pods} pods, but a core has ports for {spec.ports}; "
            f"it takes more downlinks and fewer than {uplinks} uplinks."
        )
    return plan


def pod_name(plan: FabricPlan, pod: int) -> str | None:
    """The container of a pod, None with two tiers."""
    return numbered("pod", pod, plan.pods - 1) if plan.pods else None


def add_pods(sketch: Sketch, plan: FabricPlan) -> None:
    """The containers of the pods."""
    for pod in range(plan.pods):
        name = pod_name(plan, pod)
        if name is not None:
            sketch.container(name, ContainerKind.POD)


def add_fabric(sketch: Sketch, plan: FabricPlan, nics: list[list[str]]) -> None:
    """Switches, storage and all cables; `nics[host][rail]` are the ids of the NICs."""
    lane = plan.spec.port_bytes_per_s
    kind = LinkKind(plan.spec.network)
    leaves = [
        sketch.device(
            f"leaf{leaf}",
            DeviceKind.LEAF,
            plan.switch,
            pod_name(plan, plan.pod_of_leaf(leaf)),
            plan.rail_of(leaf),
        )
        for leaf in range(plan.leaves)
    ]
    spines = [
        sketch.device(
            f"spine{spine}", DeviceKind.SPINE, plan.switch, pod_name(plan, spine // plan.spines_per_pod)
        )
        for spine in range(plan.spines)
    ]
    cores = [sketch.device(f"core{core}", DeviceKind.CORE, plan.switch) for core in range(plan.cores)]
    for host, row in enumerate(nics):
        for rail, nic in enumerate(row):
            sketch.link(nic, leaves[plan.leaf_of(host, rail)], kind, lane)
    for number in range(plan.storage):
        storage = sketch.device(f"storage{number}", DeviceKind.STORAGE, "storage")
        leaf = leaves[plan.host_leaves + number // plan.storage_per_leaf]
        sketch.link(storage, leaf, kind, lane, plan.storage_cables)
    for leaf_number, leaf in enumerate(leaves):
        for spine_number in plan.spines_of(leaf_number):
            sketch.link(leaf, spines[spine_number], kind, lane, plan.leaf_spine_cables)
    for spine_number, spine in enumerate(spines):
        for core_number in plan.cores_of(spine_number):
            sketch.link(spine, cores[core_number], kind, lane, plan.spine_core_cables)
