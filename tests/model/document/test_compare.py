"""A fabric as built against its design: what was done to it is what is found, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.document.compare import Comparison, DifferenceKind, compare
from model.document.document import Document
from model.document.start import document_from
from model.errors import EditRefused
from model.files.importing import Drawing
from model.topology.types import (
    NETWORK_LINKS,
    Container,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)
from topology_templates.registry import build

DESIGN = build("hgx-h100", {"nodes": 4, "fabric": "rail"})


def design() -> Document:
    return document_from(DESIGN)


def as_built(links: dict[str, Link | None] | None = None, drop: tuple[str, ...] = ()) -> Drawing:
    """The network of the design, with other links (None: without) and without some devices."""
    kinds = {DeviceKind.NIC, DeviceKind.LEAF, DeviceKind.SPINE}
    devices = tuple(each for each in DESIGN.devices if each.kind in kinds and each.id not in drop)
    known = {device.id for device in devices}
    found = [
        (links or {}).get(link.id, link)
        for link in DESIGN.links
        if link.kind in NETWORK_LINKS and {link.a, link.b} <= known
    ]
    return Drawing("built", devices, tuple(each for each in found if each is not None), DESIGN.containers)


def cables() -> list[Link]:
    return [link for link in DESIGN.links if link.kind in NETWORK_LINKS]


def kinds(comparison: Comparison) -> list[DifferenceKind]:
    return [each.kind for each in comparison.differences]


def test_the_design_itself_has_no_difference() -> None:
    comparison = compare(design(), as_built())
    assert comparison.differences == ()
    assert comparison.cables == sum(link.count for link in cables())
    assert comparison.devices == len(as_built().devices)


def test_two_swapped_cables_of_a_host() -> None:
    """The classic: two NICs of one host in each other's leaf."""
    first = next(link for link in cables() if "node02.nic1" in (link.a, link.b))
    second = next(link for link in cables() if "node02.nic4" in (link.a, link.b))
    changed = {first.id: replace(first, b=second.b), second.id: replace(second, b=first.b)}
    comparison = compare(design(), as_built(changed))
    swapped = comparison.of(DifferenceKind.SWAPPED)
    assert [set(each.links) for each in swapped] == [{first.id, second.id}]
    (rails,) = comparison.of(DifferenceKind.WRONG_RAIL)
    assert rails.text.startswith("node02: node02.nic1 (rail 1) on ")
    assert set(rails.devices) == {"node02.nic1", "node02.nic4", first.b, second.b}
    assert len(comparison.differences) == 2


def test_missing_extra_moved_slower_and_fewer() -> None:
    up = next(link for link in cables() if link.count > 1)
    nic0, nic1, nic2 = (
        next(link for link in cables() if f"node00.nic{n}" in (link.a, link.b)) for n in range(3)
    )
    moved = replace(nic1, b=nic2.b)
    changed = {
        up.id: replace(up, count=up.count - 1),
        nic0.id: None,
        nic1.id: moved,
        nic2.id: replace(nic2, lane_bytes_per_s=25e9),
    }
    comparison = compare(design(), as_built(changed))
    assert kinds(comparison) == [
        DifferenceKind.MOVED,
        DifferenceKind.WRONG_RAIL,
        DifferenceKind.MISSING_CABLE,
        DifferenceKind.OTHER_COUNT,
        DifferenceKind.OTHER_SPEED,
    ]
    found = {each.kind: each for each in comparison.differences}
    assert found[DifferenceKind.MOVED].text == f"node00.nic1 is cabled to {nic2.b} instead of {nic1.b}."
    assert found[DifferenceKind.MISSING_CABLE].links == (nic0.id,)
    assert found[DifferenceKind.OTHER_COUNT].links == (up.id,)
    assert "400G in the design, 200G built" in found[DifferenceKind.OTHER_SPEED].text
    slower = {up.id: None, nic2.id: replace(nic2, lane_bytes_per_s=25e9)}
    silent = compare(design(), as_built(slower), speeds=False)
    assert kinds(silent) == [DifferenceKind.MISSING_CABLE]
    assert "Speeds are not compared" in silent.notes[0]


def test_swapped_bundles_are_one_difference() -> None:
    up = [link for link in cables() if link.count > 1]
    first = up[0]
    second = next(link for link in up if not {link.a, link.b} & {first.a, first.b})
    changed = {first.id: replace(first, b=second.b), second.id: replace(second, b=first.b)}
    built = as_built(changed)
    extra = {(first.a, second.b), (second.a, first.b)}
    there = tuple(link for link in built.links if link.id in changed or (link.a, link.b) not in extra)
    bare = document_from(
        replace(DESIGN, links=tuple(each for each in DESIGN.links if (each.a, each.b) not in extra))
    )
    (difference,) = compare(bare, replace(built, links=there)).differences
    assert difference.kind is DifferenceKind.SWAPPED
    assert difference.text.endswith(f"({first.count} cables).")
    assert set(difference.links) == {first.id, second.id}


def test_missing_and_extra_devices_are_named_by_host() -> None:
    gone = tuple(device.id for device in DESIGN.devices if device.parent == "node03")
    built = as_built(drop=gone)
    more = replace(
        built,
        devices=(*built.devices, Device("x.nic", DeviceKind.NIC, "cx7-ndr", parent="x")),
        containers=(*built.containers, Container("x", ContainerKind.TRAY)),
    )
    comparison = compare(design(), more)
    assert kinds(comparison) == [DifferenceKind.MISSING_DEVICE, DifferenceKind.EXTRA_DEVICE]
    assert comparison.differences[0].text.startswith("node03 is missing (node03.nic0, ")
    assert comparison.differences[1].built == ("x.nic",)


def test_other_names_of_nics_and_a_missing_one() -> None:
    """As `ibnetdiscover` has them: NICs called mlx5_N, no rails; the third is dead."""
    renamed = {
        device.id: f"NODE-{device.id[4:6]}.dc1 mlx5_{device.id[-1]}"
        if device.kind is DeviceKind.NIC
        else device.id
        for device in as_built().devices
    }
    trays = {box.id: f"NODE-{box.id[4:6]}.dc1" for box in DESIGN.containers}
    whole = as_built(drop=("node01.nic2",))
    built = Drawing(
        "fabric",
        tuple(
            replace(each, id=renamed[each.id], parent=trays.get(each.parent or ""), rail=None)
            for each in whole.devices
        ),
        tuple(replace(link, a=renamed[link.a], b=renamed[link.b]) for link in whole.links),
        tuple(replace(box, id=trays[box.id]) for box in DESIGN.containers),
    )
    comparison = compare(design(), built)
    assert [(each.kind, each.devices) for each in comparison.differences] == [
        (DifferenceKind.MISSING_DEVICE, ("node01.nic2",))
    ]
    assert comparison.differences[0].text == "node01 is there without nic2 (in the design cabled to leaf2)."


def test_a_host_with_one_nic_for_all_cables_is_compared_as_one() -> None:
    """As LLDP importers draw hosts (conventions 44)."""
    whole = as_built()
    nic_of = {device.id: f"{device.parent}.nic0" for device in whole.devices if device.kind is DeviceKind.NIC}
    kept = tuple(each for each in whole.devices if nic_of.get(each.id, each.id) == each.id)
    links = tuple(
        replace(link, a=nic_of.get(link.a, link.a), b=nic_of.get(link.b, link.b)) for link in whole.links
    )
    plain = Drawing("lldp", kept, links, DESIGN.containers)
    assert compare(design(), plain).differences == ()
    comparison = compare(design(), replace(plain, links=links[1:]))
    (missing,) = comparison.differences
    assert missing.kind is DifferenceKind.MISSING_CABLE
    assert missing.links == (cables()[0].id,)
    assert any("one NIC for all their cables" in note for note in comparison.notes)


def test_ports_in_the_ids_of_links() -> None:
    devices = tuple(Device(name, DeviceKind.LEAF, "sn5600") for name in ("a", "b"))

    def drawing(*ports: tuple[str, str]) -> Drawing:
        links = [Link(f"a:{x}--b:{y}", "a", "b", LinkKind.ETHERNET, 50e9) for x, y in ports]
        return Drawing("", devices, tuple(links))

    document = document_from(drawing(("swp1", "swp7"), ("swp2", "swp8")))
    assert compare(document, drawing(("swp2", "swp8"), ("swp1", "swp7"))).differences == ()
    comparison = compare(document, drawing(("swp1", "swp8"), ("swp2", "swp7")))
    assert kinds(comparison) == [DifferenceKind.OTHER_PORT, DifferenceKind.OTHER_PORT]
    assert comparison.differences[0].text == "a:swp1 – b:swp7 in the design is a:swp1 – b:swp8 as built."


def test_nothing_in_common_is_refused() -> None:
    other = Drawing("other", (Device("z", DeviceKind.LEAF, "qm9700"),), ())
    with pytest.raises(EditRefused, match="cannot be compared"):
        compare(design(), other)


@st.composite
def fabrics(draw: st.DrawFn) -> tuple[Drawing, list[tuple[int, int]]]:
    """Switches joined at random, and pairs of cables to exchange an end, no device in two of them."""
    count = draw(st.integers(4, 24))
    devices = tuple(Device(f"s{n}", DeviceKind.LEAF, "sn5600") for n in range(count))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    ends = draw(st.lists(pairs, min_size=2, max_size=60))
    links = tuple(
        Link(f"l{n}", f"s{a}", f"s{b}", LinkKind.ETHERNET, 50e9, draw(st.integers(1, 3)))
        for n, (a, b) in enumerate(ends)
    )
    joined = {frozenset((link.a, link.b)) for link in links}
    swaps: list[tuple[int, int]] = []
    used: set[str] = set()
    for first in draw(st.permutations(range(len(links)))):
        for second in range(len(links)):
            four = {links[first].a, links[first].b, links[second].a, links[second].b}
            new = ({links[first].a, links[second].b}, {links[second].a, links[first].b})
            if len(four) == 4 and not four & used and not any(frozenset(each) in joined for each in new):
                swaps.append((first, second))
                used |= four
                break
    return Drawing("random", devices, links), swaps[: draw(st.integers(0, 6))]


@given(fabrics())
def test_swapped_cables_are_found_as_exactly_those(case: tuple[Drawing, list[tuple[int, int]]]) -> None:
    """One cable of each of two bundles changed its end: found as that swap, whatever else there is."""
    drawing, swaps = case
    links = list(drawing.links)
    added: list[Link] = []
    for number, (first, second) in enumerate(swaps):
        one, two = links[first], links[second]
        added.append(replace(one, id=f"x{number}", b=two.b, count=1))
        added.append(replace(two, id=f"y{number}", b=one.b, count=1))
        links[first], links[second] = replace(one, count=one.count - 1), replace(two, count=two.count - 1)
    built = replace(drawing, links=(*(link for link in links if link.count), *added))
    comparison = compare(document_from(drawing), built)
    wanted = {frozenset((drawing.links[a].id, drawing.links[b].id)) for a, b in swaps}
    by_pair = {link.id: frozenset((link.a, link.b)) for link in drawing.links}
    found = {frozenset(by_pair[ident] for ident in each.links) for each in comparison.differences}
    assert found == {frozenset(by_pair[ident] for ident in pair) for pair in wanted}
    assert set(kinds(comparison)) <= {DifferenceKind.SWAPPED}
    assert len(comparison.differences) == len(swaps)
