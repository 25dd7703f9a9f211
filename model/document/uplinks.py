"""Links from the NICs of hosts to the network: spread over NICs that are new, or made rail by rail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from model.document.merge import Names, by_rail, full_speed
from model.document.replace import Misfit
from model.text import format_port, name_list, plural
from model.topology.ports import family_of, link_kinds, ports_of
from model.topology.types import NETWORK_LINKS, NETWORK_SWITCHES, Device, Link, LinkKind


@dataclass(frozen=True, slots=True)
class Host:
    """The NICs of a tray. `plain`: before, it had one NIC that stood for all (conventions 44)."""

    tray: str
    nics: tuple[Device, ...]
    plain: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """All links as they will be, sentences on what is new, and what stays without a link."""

    links: list[Link]
    done: tuple[str, ...]
    misfits: tuple[Misfit, ...]


def join(devices: Sequence[Device], links: Sequence[Link], hosts: Sequence[Host], names: Names) -> Joined:
    """Give NICs without a network link one, on the switches of their host, rail by rail, while ports last.

    NICs without a rail beside others that have one (management) get none. A host without any link to a
    switch stays as it is. New links are no faster than those that their host has.
    """
    work = _Joining(devices, links, names)
    for host in hosts:
        if host.plain:
            work.spread(host)
    wanting = [work.wanting(host) for host in hosts]
    for place in range(max(map(len, wanting), default=0)):
        for host, nics in zip(hosts, wanting, strict=True):
            if place < len(nics):
                work.connect(host, nics[place])
    return Joined(work.links, tuple(work.done()), tuple(work.misfits()))


@dataclass(slots=True)
class _Home:
    """The switches that a host is joined to, with how many links, their kind, and the fastest lane."""

    switches: list[Device] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    kind: LinkKind | None = None
    lane_bytes_per_s: float = 0.0


class _Joining:
    def __init__(self, devices: Sequence[Device], links: Sequence[Link], names: Names) -> None:
        self._devices = {device.id: device for device in devices}
        self.links = list(links)
        self._names = names
        self._of: dict[str, list[int]] = {}  # places in `links` of the network links of a device
        self._used: dict[str, float] = {}
        for place, link in enumerate(self.links):
            self._count(place, link)
        self._leaves: dict[tuple[int, str | None], list[Device]] = {}
        for device in devices:
            if device.kind in NETWORK_SWITCHES and device.rail is not None:
                self._leaves.setdefault((device.rail, device.parent), []).append(device)
        self._homes: dict[str, _Home] = {}
        self._refused: dict[str, list[str]] = {}
        self._new = self._spread = 0

    def _count(self, place: int, link: Link) -> None:
        if link.kind not in NETWORK_LINKS:
            return
        for end in (link.a, link.b):
            self._of.setdefault(end, []).append(place)
            self._used[end] = self._used.get(end, 0.0) + self._ports(end, link)

    def _ports(self, ident: str, link: Link) -> float:
        group = next((each for each in ports_of(self._devices[ident]) if each.family == "network"), None)
        return link.count * (group.ports_per_lane(link.lane_bytes_per_s) if group else 1.0)

    def spread(self, host: Host) -> None:
        """Share the links of the one NIC of a plain host among its NICs, by rail where switches have one."""
        nics = _fabric_nics(host.nics)
        holders = [nic for nic in nics if self._of.get(nic.id)]
        if len(nics) < 2 or len(holders) != 1:
            return
        holder = holders[0]
        lanes = [place for place in self._of[holder.id] for _ in range(self.links[place].count)]
        if len(lanes) < 2:
            return
        given = self._shared_out(nics, [self._devices[self.links[place].other(holder.id)] for place in lanes])
        shares: dict[tuple[int, str], int] = {}
        for place, nic in zip(lanes, given, strict=True):
            shares[place, nic] = shares.get((place, nic), 0) + 1
        self._of[holder.id] = []
        seen: set[int] = set()
        for (place, nic), count in shares.items():
            old = self.links[place]
            moved = self._moved(old, holder, self._devices[nic], count, first=place not in seen)
            if place in seen:
                self.links.append(moved)
                self._of.setdefault(nic, []).append(len(self.links) - 1)
                self._of[moved.other(nic)].append(len(self.links) - 1)
            else:
                seen.add(place)
                self.links[place] = moved
                self._of.setdefault(nic, []).append(place)
        self._spread += 1

    def _shared_out(self, nics: Sequence[Device], far: Sequence[Device]) -> list[str]:
        """The NIC of each lane: the one of its switch's rail, else the next that has fewest."""
        load = {nic.id: 0 for nic in nics}
        by_number = {nic.rail: nic.id for nic in reversed(nics) if nic.rail is not None}
        given: list[str] = []
        for switch in far:
            least = min(load, key=load.__getitem__)
            nic = by_number.get(switch.rail, least) if switch.rail is not None else least
            load[nic] += 1
            given.append(nic)
        return given

    def _moved(self, link: Link, holder: Device, nic: Device, count: int, *, first: bool) -> Link:
        a, b = (nic.id, link.b) if link.a == holder.id else (link.a, nic.id)
        fastest = full_speed(link.kind, self._devices[a], self._devices[b])
        lane = min(link.lane_bytes_per_s, fastest) if fastest > 0 else link.lane_bytes_per_s
        ident = link.id if first else self._names.take(f"{a}--{b}")
        return replace(link, id=ident, a=a, b=b, count=count, lane_bytes_per_s=lane)

    def wanting(self, host: Host) -> list[Device]:
        """The NICs of a host that get a link, by rail; none where the host has no link at all."""
        home = _Home()
        for nic in host.nics:
            for place in self._of.get(nic.id, ()):
                link = self.links[place]
                far = self._devices[link.other(nic.id)]
                if far.kind not in NETWORK_SWITCHES:
                    continue
                if far.id not in home.links:
                    home.switches.append(far)
                    home.kind = home.kind or link.kind
                home.links[far.id] = home.links.get(far.id, 0) + link.count
                home.lane_bytes_per_s = max(home.lane_bytes_per_s, link.lane_bytes_per_s)
        self._homes[host.tray] = home
        if not home.switches:
            return []
        return [nic for nic in _fabric_nics(host.nics) if not self._of.get(nic.id)]

    def connect(self, host: Host, nic: Device) -> None:
        """One link of a NIC, to the first switch that has room."""
        home = self._homes[host.tray]
        reason = f"no switch of its host carries rail {nic.rail}"
        for number, switch in enumerate(self._candidates(home, nic)):
            kinds = link_kinds(nic, switch)
            kind = home.kind if home.kind in kinds else next(iter(kinds), None)
            why = self._add(nic, switch, kind, home.lane_bytes_per_s)
            if not why:
                home.links[switch.id] = home.links.get(switch.id, 0) + 1
                return
            reason = why if number == 0 else reason
        self._refused.setdefault(reason, []).append(nic.id)

    def _candidates(self, home: _Home, nic: Device) -> list[Device]:
        """The switches of its rail, then those of no rail: first those with the fewest links of its host."""
        same = [switch for switch in home.switches if switch.rail is not None and switch.rail == nic.rail]
        if not same and nic.rail is not None and any(switch.rail is not None for switch in home.switches):
            around = dict.fromkeys(switch.parent for switch in home.switches)
            same = [leaf for parent in around for leaf in self._leaves.get((nic.rail, parent), ())]
        others = [switch for switch in home.switches if switch.rail is None or nic.rail is None]
        others.sort(key=lambda switch: home.links.get(switch.id, 0))
        return same + others

    def _add(self, nic: Device, switch: Device, kind: LinkKind | None, most: float) -> str:
        """Add a link, no faster than `most` (bytes/s); or say why not, as a part of a sentence."""
        if kind is None:
            return f"{switch.id} does not speak what the NICs speak"
        group = next((each for each in ports_of(switch) if each.family == family_of(kind)), None)
        lane = min(full_speed(kind, nic, switch), most)
        if group is None or lane <= 0:
            return f"the ports of {switch.id} or of the NICs are not known"
        used, wanted = self._used.get(switch.id, 0.0), group.ports_per_lane(lane)
        if used + wanted > group.count + 1e-9:
            port = format_port(group.lane_bytes_per_s)
            return f"{switch.id} has no free {port} port ({used:,g} of {group.count} used)"
        link = Link(self._names.take(f"{nic.id}--{switch.id}"), nic.id, switch.id, kind, lane)
        self.links.append(link)
        self._count(len(self.links) - 1, link)
        self._new += 1
        return ""

    def done(self) -> Iterable[str]:
        if self._spread:
            yield f"The links of {plural(self._spread, 'plain host')} are shared out among its NICs."
        if self._new:
            verb = "is" if self._new == 1 else "are"
            yield f"{plural(self._new, 'link')} from NICs to switches {verb} new."

    def misfits(self) -> Iterable[Misfit]:
        for reason, nics in self._refused.items():
            yield Misfit(
                f"{plural(len(nics), 'NIC')} {'stays' if len(nics) == 1 else 'stay'} without a link",
                f"{name_list(nics)}: {reason}.",
                tuple(nics),
                (),
            )


def _fabric_nics(nics: Sequence[Device]) -> list[Device]:
    """The NICs that carry the fabric, by rail: those with a rail where any has one."""
    railed = [nic for nic in nics if nic.rail is not None]
    return by_rail(railed or nics)
