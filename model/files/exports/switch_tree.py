"""A network as a tree with one parent for each switch, as schedulers want it.

A network that is such a tree stays as it is. In any other (leaves with several spines, hosts on a leaf for
each rail) the switches of a tier that share hosts or lower switches become one virtual switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from model.files.exporting import ExportSource
from model.files.exports.drawing import TIERS, Host, Sets, hosts_of, works
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, Device, DeviceKind


@dataclass(slots=True)
class TreeSwitch:
    """A switch of the tree; `stands_for` names those of the drawing that it is. It has hosts or switches."""

    name: str
    stands_for: tuple[str, ...]
    below: list[TreeSwitch] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)

    def walk(self) -> Iterator[TreeSwitch]:
        """Itself and all below, from the top."""
        yield self
        for switch in self.below:
            yield from switch.walk()

    def all_hosts(self) -> list[str]:
        """Hosts below it, at any depth."""
        return [host for switch in self.walk() for host in switch.hosts]


@dataclass(frozen=True, slots=True)
class SwitchTree:
    """`roots` of one tree each; `loose`: hosts without a way to a switch. `exact`: nothing was merged."""

    roots: tuple[TreeSwitch, ...]
    loose: tuple[Host, ...]
    exact: bool

    def walk(self) -> Iterator[TreeSwitch]:
        """All switches, from the top of each tree."""
        for root in self.roots:
            yield from root.walk()

    def merged(self) -> tuple[TreeSwitch, ...]:
        """The switches that stand for several of the drawing."""
        return tuple(switch for switch in self.walk() if len(switch.stands_for) > 1)


class _Network:
    """Who has a working cable to whom: hosts and switches by id, in document order.

    NICs without a rail do not count where their host has others: they lead to storage and management.
    """

    def __init__(self, topology: Topology) -> None:
        hosts = [host for host in hosts_of(topology) if not _only_chips(host)]
        host_of = {nic.id: host.id for host in hosts for nic in _nics_in_use(host)}
        self.hosts = {host.id: host for host in hosts}
        self.tier = {
            device.id: TIERS[device.kind]
            for device in topology.devices()
            if device.kind in TIERS and works(device)
        }
        self.near: dict[str, dict[str, None]] = {ident: {} for ident in (*self.hosts, *self.tier)}
        for link in topology.links():
            if link.kind not in NETWORK_LINKS or not works(link):
                continue
            a, b = (host_of.get(end, end) for end in (link.a, link.b))
            if a in self.near and b in self.near and a != b:
                self.near[a][b] = None
                self.near[b][a] = None

    def switches_near(self, ident: str) -> list[str]:
        return [other for other in self.near[ident] if other in self.tier]


def _nics_in_use(host: Host) -> list[Device]:
    working = [nic for nic in host.of_kind(DeviceKind.NIC) if works(nic)]
    return [nic for nic in working if nic.rail is not None] or working


def _only_chips(host: Host) -> bool:
    return not (host.of_kind(DeviceKind.GPU) or host.of_kind(DeviceKind.NIC))


def switch_tree(source: ExportSource) -> SwitchTree:
    """The tree of all hosts. It has no roots where no host reaches a switch."""
    source.progress(0.1, "building the tree of switches")
    network = _Network(source.document.topology)
    loose = tuple(host for host in network.hosts.values() if not network.switches_near(host.id))
    exact = _is_forest(network)
    source.progress(0.3, "building the tree of switches")
    roots = _exact_roots(network) if exact else _merged_roots(network)
    tree = SwitchTree(tuple(root for root in roots if root.all_hosts()), loose, exact)
    _name_apart(network, tree)
    return tree


def _name_apart(network: _Network, tree: SwitchTree) -> None:
    """Give virtual switches names that nothing else has."""
    taken = set(network.near)
    for switch in tree.walk():
        if switch.name in network.tier and switch.stands_for == (switch.name,):
            continue
        while switch.name in taken:
            switch.name += "-switch"
        taken.add(switch.name)


def _is_forest(network: _Network) -> bool:
    """Whether every host has at most one switch, hosts have switches or hosts below, and there is no ring."""
    if any(len(network.switches_near(host)) > 1 for host in network.hosts):
        return False
    if any(network.near[host].keys() & network.hosts.keys() for host in network.hosts):
        return False
    sets = Sets()
    for switch in network.tier:
        for other in network.switches_near(switch):
            if switch < other:
                if sets.root(switch) == sets.root(other):
                    return False
                sets.join(switch, other)
    return True


def _exact_roots(network: _Network) -> list[TreeSwitch]:
    """Each tree from its top: the switch of the highest tier, of these the farthest from hosts."""
    distance = _distances(network)
    order = sorted(network.tier, key=lambda ident: (-network.tier[ident], -distance[ident]))
    seen: set[str] = set()
    roots = []
    for top in order:
        if top in seen:
            continue
        root = TreeSwitch(top, (top,))
        seen.add(top)
        stack = [root]
        while stack:
            switch = stack.pop()
            for other in network.near[switch.name]:
                if other in network.hosts:
                    switch.hosts.append(other)
                elif other not in seen:
                    seen.add(other)
                    below = TreeSwitch(other, (other,))
                    switch.below.append(below)
                    stack.append(below)
        roots.append(root)
    return [_parted(root) for root in roots]


def _distances(network: _Network) -> dict[str, int]:
    """Hops from each switch to its nearest host; large where there is none."""
    distance = dict.fromkeys(network.tier, len(network.tier))
    front = [switch for switch in network.tier if network.near[switch].keys() & network.hosts.keys()]
    hops = 0
    while front:
        for switch in front:
            distance[switch] = min(distance[switch], hops)
        hops += 1
        front = [
            other
            for switch in front
            for other in network.switches_near(switch)
            if distance[other] == len(network.tier)
        ]
    return distance


def _parted(root: TreeSwitch) -> TreeSwitch:
    """With a switch of their own for hosts that are beside switches, and without switches above nothing."""
    for switch in list(root.walk()):
        switch.below = [below for below in switch.below if below.all_hosts()]
        if switch.below and switch.hosts:
            switch.below.append(TreeSwitch(f"{switch.name}-hosts", switch.stands_for, hosts=switch.hosts))
            switch.hosts = []
    return root


def _merged_roots(network: _Network) -> list[TreeSwitch]:
    """Tier by tier, what is connected with the switches up to that tier is one switch."""
    sets = Sets()
    current: dict[str, TreeSwitch] = {}
    for tier in sorted(set(network.tier.values())):
        added = [switch for switch in network.tier if network.tier[switch] == tier]
        for switch in added:
            sets.root(switch)
            for other in network.near[switch]:
                if other in network.hosts or network.tier[other] <= tier:
                    sets.join(switch, other)
        current = _next_tier(network, sets, added, current)
    placed = {host for switch in current.values() for host in switch.all_hosts()}
    return [_parted(switch) for switch in current.values() if placed]


def _next_tier(
    network: _Network,
    sets: Sets,
    added: Sequence[str],
    current: dict[str, TreeSwitch],
) -> dict[str, TreeSwitch]:
    """The switches of the next tier by the root of their set; those that nothing joins to it stay."""
    members: dict[str, list[str]] = {}
    for name in added:
        members.setdefault(sets.root(name), []).append(name)
    found = {root: TreeSwitch(_name_of(names), tuple(names)) for root, names in members.items()}
    for old, switch in current.items():
        root = sets.root(old)
        if root in found:
            found[root].below.append(switch)
        else:
            found[root] = switch
    under = {host for switch in current.values() for host in switch.all_hosts()}
    for host in network.hosts:
        root = sets.root(host)
        if host not in under and root in found and network.switches_near(host):
            found[root].hosts.append(host)
    return found


def _name_of(switches: Sequence[str]) -> str:
    return switches[0] if len(switches) == 1 else f"{switches[0]}-to-{switches[-1]}"
