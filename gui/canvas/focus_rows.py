"""What the card of a focus lists: the hops of a way, or the partners of a device. No widgets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gui.canvas.container_painter import short_name
from gui.canvas.scene import Scene
from model.job.exchange import EXCHANGE_DIMENSIONS, dimension_name
from model.text import (
    format_bytes,
    format_percent,
    format_port,
    format_rate,
    format_seconds,
    name_list,
    plural,
)
from model.topology.names import LINK_NAMES
from model.topology.types import NETWORK_LINKS
from model.traffic.route import Hop, Partner, Route, RouteWay

MOST_CHILDREN = 100
_POLICIES = {
    "even": "split evenly over equal paths",
    "hashed": "hashed flow by flow",
    "static": "one path by destination",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: cells, the ids it selects, lines below it."""

    cells: tuple[str, ...]
    ids: tuple[str, ...] = ()
    children: tuple[Row, ...] = field(default=())


def way_name(way: RouteWay) -> str:
    """What to call a way beside others: the dimensions that lead bytes on it."""
    dimensions = dict.fromkeys(kind.split(".")[0] for kind in way.exchanges)
    return " ".join(dimension_name(one) for one in dimensions) or "plain"


def way_text(way: RouteWay, policy: str) -> str:
    """What goes on a way, over what, and who hands on."""
    what = "No exchange sends on it in this step"
    if way.exchanges:
        kinds = name_list([_kind_name(kind) for kind in way.exchanges])
        what = f"{kinds}: {format_bytes(way.bytes_per_step)} a step"
    over = " and ".join(dict.fromkeys(leg[2] for leg in way.legs))
    relay = f", handed on by {way.legs[0][1]} (PXN)" if len(way.legs) > 1 else ""
    delay = sum(max(hop.latency_s for hop in hops) for hops in _stages(way).values())
    late = f"; {format_seconds(delay)} on the links" if delay > 0 else ""
    return f"{what}. By {over}{relay}; {_POLICIES[policy]}{late}."


def _kind_name(kind: str) -> str:
    """ "PP activation" of pp.activation."""
    dimension, _, rest = kind.partition(".")
    return f"{dimension_name(dimension)} {rest.replace('-', ' ')}".rstrip()


def hop_rows(way: RouteWay, scene: Scene) -> list[Row]:
    """(hop, share, capacity, load) of every stage, with its links below it where they are several."""
    found = []
    for stage, hops in _stages(way).items():
        children = tuple(_hop_row(hop, scene, "") for hop in hops)
        if len(hops) == 1:
            found.append(_hop_row(hops[0], scene, f"{stage + 1}  "))
            continue
        sources, targets = ({getattr(hop, end) for hop in hops} for end in ("source", "target"))
        name = f"{stage + 1}  {_ends(sources)} → {_ends(targets)}"
        ids = tuple(hop.link for hop in hops)
        capacity = format_rate(sum(hop.capacity_bytes_per_s for hop in hops))
        used = max((_load(hop, scene) for hop in hops), default=0.0)
        cells = (name, f"×{len(hops)}", capacity, format_percent(used) if scene.report is not None else "—")
        found.append(Row(cells, ids, _cut(children)))
    return found


def partner_rows(route: Route) -> list[Row]:
    """(partner, sent, received) by dimension, with the partners below."""
    by_dimension: dict[str, list[Partner]] = defaultdict(list)
    for partner in route.partners:
        by_dimension[partner.dimension].append(partner)
    found = []
    for dimension in EXCHANGE_DIMENSIONS:
        partners = by_dimension.get(dimension)
        if not partners:
            continue
        children = tuple(
            Row((one.device, format_bytes(one.sent_bytes), format_bytes(one.received_bytes)), (one.device,))
            for one in partners
        )
        sums = [sum(getattr(one, way) for one in partners) for way in ("sent_bytes", "received_bytes")]
        cells = (
            f"{dimension_name(dimension)} · {plural(len(partners), 'partner')}",
            *map(format_bytes, sums),
        )
        found.append(Row(cells, tuple(one.device for one in partners), _cut(children)))
    return found


def neighbour_rows(scene: Scene, device: str) -> list[Row]:
    """(other end, capacity, load out, load in) of the links of a device that passes bytes on."""
    index = scene.index
    if device not in index.device_row:
        return []
    own, found = index.device_row[device], []
    for row in index.links_of(own).tolist():
        link = index.links[row]
        out = 0 if link.a == device else 1
        loads = [format_percent(float(scene.utilisation[row, way])) for way in (out, 1 - out)]
        if scene.report is None:
            loads = ["—", "—"]
        found.append(Row((link.other(device), format_rate(link.capacity_bytes_per_s), *loads), (link.id,)))
    return list(_cut(tuple(found)))


def _stages(way: RouteWay) -> dict[int, list[Hop]]:
    stages: dict[int, list[Hop]] = defaultdict(list)
    for hop in way.hops:
        stages[hop.stage].append(hop)
    return dict(sorted(stages.items()))


def _hop_row(hop: Hop, scene: Scene, number: str) -> Row:
    index = scene.index
    home = hop.source.rpartition(".")[0]
    name = f"{number}{hop.source} → {short_name(hop.target, home or None)}"
    capacity, load = format_rate(hop.capacity_bytes_per_s), "—"
    if hop.link in index.link_row:
        link = index.links[index.link_row[hop.link]]
        speed = format_port(link.lane_bytes_per_s) if link.kind in NETWORK_LINKS else LINK_NAMES[link.kind]
        capacity = f"{speed} ×{link.count} · {capacity}" if link.count > 1 else f"{speed} · {capacity}"
        if scene.report is not None:
            load = format_percent(_load(hop, scene))
    return Row((name, format_percent(hop.share), capacity, load), (hop.link,))


def _load(hop: Hop, scene: Scene) -> float:
    """The utilisation of a hop's direction in the mode of the view."""
    row = scene.index.link_row.get(hop.link)
    return 0.0 if row is None else float(scene.utilisation[row, int(hop.backwards)])


def _ends(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"{min(names)} … {max(names)}"


def _cut(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The first of many, and a line that counts the rest."""
    if len(rows) <= MOST_CHILDREN:
        return rows
    rest = rows[MOST_CHILDREN:]
    ids = tuple(ident for row in rest for ident in row.ids)
    return (*rows[:MOST_CHILDREN], Row((f"and {len(rest):,} more",), ids))
