"""Record what SimGrid says of max-min sharing: `/usr/bin/python3 -m benchmarks.simgrid_record [--check]`.

SimGrid is an independent network simulator (Debian: python3-simgrid, which belongs to the system's own
python, so nothing but the standard library is imported here). Its fluid model shares links max-min fairly
once what it adds for TCP is off: the window limit (TCP-gamma), traffic of acknowledgements, and weights by
round-trip time. A flow that takes w times its rate on a link has that link w times in its route. Every flow
has more than 20 s of work; what has moved after one second is its rate.

The record is committed and `tests/model/traffic/test_sharing_simgrid.py` compares with it; `--check` runs
SimGrid again and compares with the record instead of writing it.
"""

from __future__ import annotations

import importlib
import json
import math
import random
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "tests/data/max_min_simgrid.json"
SIZE = 10**13
SETTINGS = {
    "network/model": "CM02",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/weight-S": "0",
    "network/bandwidth-factor": "1",
    "network/optim": "Full",
    "maxmin/precision": "1e-9",
}
FAMILIES = ("weights of one", "weights of one, own limits", "weights 1 to 4", "weights 1 to 4, own limits")
PER_FAMILY = 15


@dataclass(frozen=True)
class Flow:
    """A flow takes weight × its rate on each of its links, and moves at most `limit` bytes/s (None: free)."""

    links: tuple[tuple[int, int], ...]
    limit: float | None


@dataclass(frozen=True)
class Instance:
    """Flows on links of given capacities, bytes/s."""

    family: str
    capacities: tuple[float, ...]
    flows: tuple[Flow, ...]


def instances() -> list[Instance]:
    """The instances of the record, the same at every call: 3–30 flows on 3–40 links of 1–400 GB/s."""
    chosen = random.Random(20_260_101)
    return [_instance(chosen, family) for family in FAMILIES for _ in range(PER_FAMILY)]


def _instance(chosen: random.Random, family: str) -> Instance:
    links = chosen.randint(3, 40)
    capacities = tuple(float(chosen.randint(1, 400)) * 1e9 for _ in range(links))
    flows = []
    for _ in range(chosen.randint(3, 30)):
        path = chosen.sample(range(links), chosen.randint(1, min(links, 7)))
        weights = [chosen.randint(1, 4) if family.startswith("weights 1 to 4") else 1 for _ in path]
        limited = family.endswith("own limits") and chosen.random() < 0.4
        limit = float(chosen.randint(1, 60)) * 1e9 if limited else None
        flows.append(Flow(tuple(zip(path, weights)), limit))  # noqa: B905 (one weight is drawn per link)
    return Instance(family, capacities, tuple(flows))


def rates_by_simgrid(given: list[Instance]) -> list[list[float]]:
    """The rate of every flow, bytes/s. All instances lie side by side in one platform; they share no link."""
    simgrid: Any = importlib.import_module("simgrid")
    options = [f"--cfg={name}:{value}" for name, value in SETTINGS.items()]
    engine = simgrid.Engine(["record", "--log=xbt_cfg.thres:warning", *options])
    zone = simgrid.NetZone.create_full_zone("zone")
    rates = [[math.nan] * len(instance.flows) for instance in given]
    ends = []
    for number, instance in enumerate(given):
        links = [
            zone.create_link(f"link{number}-{index}", capacity).set_latency(0).seal()
            for index, capacity in enumerate(instance.capacities)
        ]
        for index, flow in enumerate(instance.flows):
            name = f"flow{number}-{index}"
            source, target = (zone.create_host(f"{name}-{end}", 1e9).seal() for end in ("from", "to"))
            route = [simgrid.LinkInRoute(links[link]) for link, weight in flow.links for _ in range(weight)]
            zone.add_route(source.netpoint, target.netpoint, None, None, route, False)
            ends.append((name, source, target, flow.limit, partial(rates[number].__setitem__, index)))
    zone.seal()
    for name, source, target, limit, store in ends:
        simgrid.Actor.create(name + "-in", target, partial(_receive, simgrid, name))
        simgrid.Actor.create(name + "-out", source, partial(_send, simgrid, name, limit, store))
    engine.run()
    return rates


def _receive(simgrid: Any, name: str) -> None:
    with suppress(simgrid.CancelException, simgrid.NetworkFailureException):
        simgrid.Mailbox.by_name(name).get()


def _send(simgrid: Any, name: str, limit: float | None, store: Any) -> None:
    flow = simgrid.Mailbox.by_name(name).put_init(name, SIZE)
    if limit is not None:
        flow.set_rate(limit)
    flow.start()
    simgrid.this_actor.sleep_for(1.0)
    store(SIZE - flow.remaining)
    flow.cancel()


def record(given: list[Instance], rates: list[list[float]]) -> dict[str, Any]:
    """What the file holds: per flow its links as [link, weight], its limit and SimGrid's rate."""
    simgrid: Any = importlib.import_module("simgrid")
    return {
        "from": "benchmarks/simgrid_record.py",
        "simgrid": str(simgrid.simgrid_version),
        "settings": SETTINGS,
        "instances": [
            {
                "family": instance.family,
                "capacities": instance.capacities,
                "flows": [
                    {"links": flow.links, "limit": flow.limit, "rate": round(rate, 1)}
                    for flow, rate in zip(instance.flows, found)  # noqa: B905 (a rate is found per flow)
                ],
            }
            for instance, found in zip(given, rates)  # noqa: B905 (found per instance)
        ],
    }


def _text(data: dict[str, Any]) -> str:
    """JSON with one instance a line."""
    head = {key: value for key, value in data.items() if key != "instances"}
    rows = ",\n".join(json.dumps(one, separators=(",", ":")) for one in data["instances"])
    return json.dumps(head, indent=1)[:-2] + ',\n "instances": [\n' + rows + "\n ]\n}\n"


def main(words: list[str]) -> int:
    """Write the record, or with --check compare with it: 1 when a rate differs by more than a millionth."""
    given = instances()
    data = record(given, rates_by_simgrid(given))
    flows = [flow for one in data["instances"] for flow in one["flows"]]
    said = f"{len(given)} instances, {len(flows)} flows, SimGrid {data['simgrid']}"
    if "--check" not in words:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(_text(data), "utf-8")
        print(f"{said}: written to {RECORD}")
        return 0
    kept = [flow for one in json.loads(RECORD.read_text("utf-8"))["instances"] for flow in one["flows"]]
    same = len(kept) == len(flows) and all(
        math.isclose(now["rate"], then["rate"], rel_tol=1e-6)
        for now, then in zip(flows, kept)  # noqa: B905 (equally long)
    )
    print(f"{said}: {'as recorded' if same else 'NOT as recorded'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
