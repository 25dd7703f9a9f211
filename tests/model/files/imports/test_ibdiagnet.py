"""ibdiagnet .lst: one line a cable, hexadecimal numbers, adapters without a description."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from model.topology.types import State
from tests.model.files.imports.fabrics import cables, gbit, lines, link, opens, rails
from tests.model.files.imports.infiniband_text import ibdiagnet, ibnetdiscover, rail_fabric
from tests.model.files.imports.samples import drawing, imported, own, text


def test_small_file() -> None:
    source = own("ibdiagnet-lst/small.lst")
    assert [one.id for one in sniffed(source)] == ["ibdiagnet-lst"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 2
    assert link(one.result, "leaf-a", "gpu1.mlx5_0").lane_bytes_per_s == 50e9
    waiting = link(one.result, "leaf-a", "host-00020000.hca0")
    assert (waiting.state, waiting.lane_bytes_per_s) == (State.DOWN, 25e9)
    assert lines(one, "1 adapter without the name of a host") == (3,)
    assert {device.id: device.model for device in one.result.devices}["host-00020000.hca0"] == "cx6-hdr"
    opens(one.result)


def test_the_same_fabric_as_ibnetdiscover() -> None:
    made = rail_fabric(hosts=8, rails=4, spines=2, uplinks=3)
    first, second = drawing(text(ibdiagnet(made))), drawing(text(ibnetdiscover(made)))
    assert gbit(first) == gbit(second)
    assert rails(first) == rails(second)


def test_broken_and_cut_lines() -> None:
    good = ibdiagnet(rail_fabric(hosts=2, rails=1, spines=1))
    cut = imported(text(good + good.splitlines()[0][:200]))
    assert lines(cut, "The text ends in the middle of a line") == (4,)
    broken = text("{ CA Ports:01 NodeGUID:01 PN:zz } { SW Ports:01 NodeGUID:02 PN:01 }\n" + good)
    with pytest.raises(InputError, match="line 1: this line has an end without GUID and PN"):
        imported(broken)
    assert cables(drawing(text(good))) == cables(imported(broken, partial=True).result)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "gbits"),
    [("PHY=4x SPD=2.5", 10.0), ("PHY=1x SPD=EDR", 25.0), ("PHY=2x SPD=200", 400.0), ("PHY=4x SPD=14", 56.0)],
)
def test_speeds(said: str, gbits: float) -> None:
    line = "{ SW Ports:28 NodeGUID:01 {a} PN:0A } { SW Ports:28 NodeGUID:02 {b} PN:0B } "
    assert gbit(drawing(text(line + said))) == {frozenset("ab"): [(gbits, 1)]}
