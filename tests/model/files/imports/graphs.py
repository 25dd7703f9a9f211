"""What tests of importers of graphs and simulators look at."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

from model.analysis import analyse
from model.document.start import document_from
from model.files.importing import Drawing
from model.files.traffic_json import traffic_to_json
from model.topology.types import Device, DeviceKind, Link, LinkKind

_PARTS = ("tp", "cp", "ep", "pp", "dp", "storage")


def kinds(drawing: Drawing) -> dict[str, int]:
    """How many devices there are of each kind."""
    return dict(Counter(device.kind.value for device in drawing.devices))


def boxes(drawing: Drawing) -> dict[str, int]:
    """How many containers there are of each kind."""
    return dict(Counter(container.kind.value for container in drawing.containers))


def speeds(drawing: Drawing, *kind: LinkKind) -> dict[float, int]:
    """How many links of some kinds have which Gb/s, all of their cables together."""
    return dict(
        Counter(round(link.nominal_bytes_per_s * 8 / 1e9, 6) for link in drawing.links if link.kind in kind)
    )


def device(drawing: Drawing, ident: str) -> Device:
    """The device with this id."""
    return next(one for one in drawing.devices if one.id == ident)


def between(drawing: Drawing, a: str, b: str) -> list[Link]:
    """The links that join two devices."""
    return [link for link in drawing.links if {link.a, link.b} == {a, b}]


def neighbours(drawing: Drawing, ident: str) -> set[str]:
    """What is joined to a device."""
    return {link.other(ident) for link in drawing.links if ident in (link.a, link.b)}


def check_traffic(drawing: Drawing, *, unreachable: int = 0) -> dict[str, Any]:
    """Run the default job and check the invariants of its traffic; gives the export.

    Each total is the sum of its parts, and what leaves the GPUs is what the exchanges say that they send.
    """
    document = document_from(drawing)
    analysis = analyse(document)
    assert analysis.report is not None, [finding.title for finding in analysis.findings]
    assert sum(analysis.report.traffic.unreachable_pairs) == unreachable
    data = traffic_to_json(analysis)
    gpus = {one.id for one in drawing.devices if one.kind is DeviceKind.GPU}
    assert {entry["gpu"] for entry in data["placement"]} == gpus
    leaving: dict[str, float] = defaultdict(float)
    for link in data["links"]:
        for end, direction in ((link["a"], "a_to_b"), (link["b"], "b_to_a")):
            parts = link[direction]["bytes_per_step"]
            assert parts["total"] == pytest.approx(sum(parts[name] for name in _PARTS), rel=1e-12)
            for name in _PARTS:
                leaving[name] += parts[name] if end in gpus else 0.0
    if not unreachable:
        for name in ("tp", "pp", "dp"):
            sent = sum(
                exchange["sent_bytes_per_gpu_per_step"]
                * len({gpu for group in exchange["groups"] for gpu in group})
                for exchange in data["exchanges"]
                if exchange["dimension"] == name
            )
            assert leaving[name] == pytest.approx(sent, rel=1e-9)
    assert any(leaving.values()) or len(gpus) == 1
    return data
