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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from model.catalog import SwitchSpec, catalog
from model.errors import InputError
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from topology_templates.content import Sketch, numbered

FabricKind = Literal["rail", "tor"]

STORAGE_CABLES = 2


@dataclass(frozen=True)
class FabricPlan:
    """How many switches and cables, and what is joined to what; all numbers from 0.

    `hosts` have `nics_per_rail` NICs of the model `nic` on each of `rails` rails. Ports of the switches are
    used in `split` parts each, `radix` of them (0: all), `reserve` on each spine stay free; in two tiers
    there are at least `least_spines`. A NIC has `cables` to its leaf. With `block`, that many hosts (a
    scalable unit) start with leaves of their own, and no block lies in two pods. Without uplinks there are
    leaves only. `parent` is the container around all of it, `prefix` and `role` name its parts. Raises
    InputError from `check_plan` only.
    """

    hosts: int
    rails: int
    kind: FabricKind
    downlinks: int
    uplinks: int
    storage: int
    switch: str
    nic: str
    nics_per_rail: int = 1
    split: int = 1
    cables: int = 1
    block: int = 0
    radix: int = 0
    reserve: int = 0
    least_spines: int = 1
    first_rail: int = 0
    prefix: str = ""
    role: str = ""
    parent: str | None = None

    @cached_property
    def spec(self) -> SwitchSpec:
        """The switch of all tiers."""
        return catalog().switches[self.switch]

    @cached_property
    def ports(self) -> int:
        """Ports of a switch that are used, each part of a split one counted."""
        return self.radix or self.spec.ports * self.split

    @property
    def lane(self) -> float:
        """Bytes/s of a cable between switches."""
        return self.spec.port_bytes_per_s / self.split

    @property
    def nics(self) -> int:
        """NICs of a host."""
        return self.rails * self.nics_per_rail

    @cached_property
    def hosts_per_unit(self) -> int:
        """Hosts that share a set of leaves."""
        return self.downlinks // (self.nics_per_rail if self.kind == "rail" else self.nics)

    @property
    def leaves_per_unit(self) -> int:
        """Leaves of that set."""
        return self.rails if self.kind == "rail" else 1

    @cached_property
    def units_per_block(self) -> int:
        """Sets of leaves of one block; without blocks of all hosts."""
        return math.ceil((self.block or self.hosts) / self.hosts_per_unit)

    @cached_property
    def host_leaves(self) -> int:
        """Leaves that hosts are joined to."""
        return (self.unit_of(self.hosts - 1) + 1) * self.leaves_per_unit

    @property
    def storage_cables(self) -> int:
        """Cables of one storage node, all to one leaf."""
        return min(STORAGE_CABLES, self.downlinks)

    @property
    def storage_per_leaf(self) -> int:
        """Storage nodes on one of the leaves that are theirs alone."""
        return self.downlinks // self.storage_cables

    @cached_property
    def leaves(self) -> int:
        """All leaves; those of storage come last."""
        return self.host_leaves + math.ceil(self.storage / self.storage_per_leaf)

    @cached_property
    def tiers(self) -> int:
        """1 (leaves only), 2 (leaves and spines) or 3 (and cores)."""
        if not self.uplinks:
            return 1
        return 2 if self.leaves <= self.ports - self.reserve else 3

    @property
    def halves(self) -> int:
        """Separate halves of a pod."""
        return 2 if self.kind == "rail" else 1

    @cached_property
    def leaves_per_pod(self) -> int:
        """Leaves of a full pod: half of a spine's ports go down; with blocks, whole ones only."""
        most = self.halves * self.ports // 2
        block = self.units_per_block * self.leaves_per_unit
        return most // block * block if self.block else most

    @cached_property
    def pods(self) -> int:
        """Pods of three tiers; 0 with fewer."""
        return 0 if self.tiers < 3 else math.ceil(self.leaves / self.leaves_per_pod)

    @cached_property
    def spines_per_pod(self) -> int:
        """Spines of one pod; with two tiers all of them."""
        if self.tiers == 3:
            return self.halves * self.uplinks
        if self.tiers == 1:
            return 0
        least = math.ceil(self.leaves * self.uplinks / (self.ports - self.reserve))
        least = max(least, min(self.least_spines, self.uplinks))
        return next(spines for spines in divisors(self.uplinks) if spines >= least)

    @property
    def spines(self) -> int:
        """All spines."""
        return self.spines_per_pod * max(self.pods, 1)

    @property
    def leaf_spine_cables(self) -> int:
        """Cables between a leaf and a spine that are joined."""
        return self.uplinks // self.spines_per_pod if self.tiers == 2 else 1

    @cached_property
    def cores_per_group(self) -> int:
        """Cores that the spines of one number in all pods share."""
        if self.tiers < 3:
            return 0
        up = self.ports // 2
        return next(cores for cores in divisors(up) if cores >= self.pods / 2)

    @property
    def cores(self) -> int:
        """All cores."""
        return self.cores_per_group * self.spines_per_pod

    @property
    def spine_core_cables(self) -> int:
        """Cables between a spine and a core that are joined."""
        return self.ports // 2 // self.cores_per_group if self.cores else 0

    def unit_of(self, host: int) -> int:
        """The set of leaves of a host."""
        if not self.block:
            return host // self.hosts_per_unit
        return host // self.block * self.units_per_block + host % self.block // self.hosts_per_unit

    def leaf_of(self, host: int, nic: int) -> int:
        """The leaf of a host's NIC."""
        rail = nic // self.nics_per_rail if self.kind == "rail" else 0
        return self.unit_of(host) * self.leaves_per_unit + rail

    def rail_of(self, leaf: int) -> int | None:
        """The rail of a leaf, None where it serves several."""
        if self.kind == "tor" or leaf >= self.host_leaves:
            return None
        return self.first_rail + leaf % self.rails

    def pod_of_leaf(self, leaf: int) -> int:
        """The pod of a leaf."""
        return leaf // self.leaves_per_pod

    def pod_of_host(self, host: int) -> int:
        """The pod of a host."""
        return self.pod_of_leaf(self.leaf_of(host, 0))

    def spines_of(self, leaf: int) -> Sequence[int]:
        """The spines that a leaf is joined to. Leaves of storage reach both halves of their pod by turns."""
        if self.tiers < 3:
            return range(self.spines)
        start = self.pod_of_leaf(leaf) * self.spines_per_pod
        rail = self.rail_of(leaf)
        if rail is not None:
            start += self.uplinks if rail - self.first_rail >= self.rails / 2 else 0
            return range(start, start + self.uplinks)
        return [start + (leaf + spine) % self.halves * self.uplinks + spine for spine in range(self.uplinks)]

    def cores_of(self, spine: int) -> range:
        """The cores that a spine is joined to."""
        group = spine % self.spines_per_pod
        return range(group * self.cores_per_group, (group + 1) * self.cores_per_group)


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def check_plan(plan: FabricPlan) -> FabricPlan:
    """The plan, if it can be built. Raises InputError naming the parameter and what would work."""
    downlinks, uplinks, ports = plan.downlinks, plan.uplinks, plan.ports
    if downlinks + uplinks > ports:
        if downlinks >= ports:
            raise InputError(
                f"leaf_downlinks = {downlinks} does not fit: a leaf ({plan.spec.name}) has {ports} ports, "
                f"and one must be left for an uplink; at most {ports - 1} downlinks are possible."
            )
        raise InputError(
            f"leaf_uplinks = {uplinks} does not fit: a leaf ({plan.spec.name}) has {ports} ports and "
            f"leaf_downlinks takes {downlinks}; at most {ports - downlinks} uplinks are left."
        )
    least = plan.nics_per_rail if plan.kind == "rail" else plan.nics
    if downlinks < least:
        raise InputError(
            f"leaf_downlinks = {downlinks} is too few for fabric = {plan.kind}: {least} NICs of a host go to "
            f"one leaf; the least is {least}."
        )
    if plan.storage and plan.tiers == 3 and uplinks < plan.halves:
        raise InputError(
            f"leaf_uplinks = {uplinks} is too few with storage: its leaves reach two halves of a pod; "
            f"the least is {plan.halves}."
        )
    if plan.tiers == 3 and not plan.leaves_per_pod:
        raise InputError(
            f"leaf_downlinks = {downlinks} is too few: a scalable unit would have "
            f"{plan.units_per_block * plan.leaves_per_unit} leaves and does not fit into one pod."
        )
    if plan.pods > ports:
        for more in range(downlinks + 1, ports - uplinks + 1):
            if replace(plan, downlinks=more).pods <= ports:
                raise InputError(
                    f"leaf_downlinks = {downlinks} needs {plan.pods} pods, but a core has ports for {ports}; "
                    f"the least that works is {more}."
                )
        raise InputError(
            f"leaf_downlinks = {downlinks} needs {plan.pods} pods, but a core has ports for {ports}; "
            f"it takes more downlinks and fewer than {uplinks} uplinks."
        )
    return plan


def pod_name(plan: FabricPlan, pod: int) -> str | None:
    """The container of a pod; with fewer than three tiers the one around all."""
    return numbered(f"{plan.prefix}{plan.role}pod", pod, plan.pods - 1) if plan.pods else plan.parent


def add_pods(sketch: Sketch, plan: FabricPlan) -> None:
    """The containers of the pods."""
    for pod in range(plan.pods):
        sketch.container(f"{pod_name(plan, pod)}", ContainerKind.POD, plan.parent)


@dataclass(frozen=True, slots=True)
class Switches:
    """Ids of the switches of a network."""

    leaves: list[str]
    spines: list[str]
    cores: list[str]


def add_fabric(sketch: Sketch, plan: FabricPlan, nics: Sequence[Sequence[str]]) -> Switches:
    """Switches, storage and all cables; `nics[host]` are the ids of the NICs of a host, rail by rail."""
    kind = LinkKind(plan.spec.network)
    made = _add_switches(sketch, plan)
    lane = min(plan.lane, catalog().nics[plan.nic].port_bytes_per_s)
    for host, row in enumerate(nics):
        for number, nic in enumerate(row):
            sketch.link(nic, made.leaves[plan.leaf_of(host, number)], kind, lane, plan.cables)
    lane = min(plan.lane, catalog().hosts["storage"].port_bytes_per_s)
    for number in range(plan.storage):
        storage = sketch.device(f"{plan.prefix}storage{number}", DeviceKind.STORAGE, "storage", plan.parent)
        leaf = made.leaves[plan.host_leaves + number // plan.storage_per_leaf]
        sketch.link(storage, leaf, kind, lane, plan.storage_cables)
    for leaf_number, leaf in enumerate(made.leaves):
        for spine in plan.spines_of(leaf_number):
            sketch.link(leaf, made.spines[spine], kind, plan.lane, plan.leaf_spine_cables)
    for spine_number, spine_id in enumerate(made.spines):
        for core in plan.cores_of(spine_number):
            sketch.link(spine_id, made.cores[core], kind, plan.lane, plan.spine_core_cables)
    return made


def _add_switches(sketch: Sketch, plan: FabricPlan) -> Switches:
    name = f"{plan.prefix}{plan.role}"
    pods = [pod_name(plan, pod) for pod in range(max(plan.pods, 1))]
    pod = plan.pod_of_leaf if plan.pods else lambda _leaf: 0
    return Switches(
        [
            sketch.device(
                f"{name}leaf{leaf}", DeviceKind.LEAF, plan.switch, pods[pod(leaf)], plan.rail_of(leaf)
            )
            for leaf in range(plan.leaves)
        ],
        [
            sketch.device(
                f"{name}spine{spine}", DeviceKind.SPINE, plan.switch, pods[spine // plan.spines_per_pod]
            )
            for spine in range(plan.spines)
        ],
        [
            sketch.device(f"{name}core{core}", DeviceKind.CORE, plan.switch, plan.parent)
            for core in range(plan.cores)
        ],
    )
