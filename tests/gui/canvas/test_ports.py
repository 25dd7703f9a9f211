"""Near: ports with their numbers at the ends of links, bundles and lanes that a double-click opens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF

from gui.canvas.hover_card import card_text
from gui.canvas.levels import Level
from gui.canvas.marks import rate_place
from gui.canvas.port_numbers import ports_of_links
from gui.canvas.scene_index import SceneIndex
from gui.canvas.view import CanvasView
from model.document.document import Document
from model.document.edits import Move
from model.document.start import document_from
from model.topology.graph import Topology
from model.topology.ports import port_use
from model.topology.types import Device, DeviceKind, Link, LinkKind
from tests.gui.canvas.conftest import Hand
from tests.gui.canvas.test_folding import double_click
from topology_templates.registry import build


def test_split_ports_count_as_parts_on_every_switch() -> None:
    """As `ports.port_use` counts them, which findings and gestures go by."""
    document = document_from(build("alibaba-hpn", {}))
    index = SceneIndex(document)
    ports = ports_of_links(index)
    used = np.zeros(len(index.devices))
    for side in (0, 1):
        np.add.at(used, index.ends[:, side], ports.share[:, side] * index.cables)
    for row, device in enumerate(index.devices):
        if device.kind in (DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE):
            assert used[row] == port_use(document.topology, device.id)["network"]


def test_ports_are_counted_up_and_a_split_one_in_its_parts() -> None:
    devices = [Device("leaf", DeviceKind.LEAF, "qm9700")]
    devices += [Device(f"nic{number}", DeviceKind.NIC, "cx7-ndr") for number in range(4)]
    links = [
        Link("a", "leaf", "nic0", LinkKind.INFINIBAND, 50e9),
        Link("b", "nic1", "leaf", LinkKind.INFINIBAND, 25e9),
        Link("c", "leaf", "nic2", LinkKind.INFINIBAND, 25e9),
        Link("d", "leaf", "nic3", LinkKind.INFINIBAND, 50e9, 3),
    ]
    ports = ports_of_links(SceneIndex(Document(Topology(devices, links))))
    assert ports.name(0, 0, 1) == "1"
    assert ports.name(1, 1, 1) == "2/1" and ports.name(2, 0, 1) == "2/2"
    assert ports.name(3, 0, 3) == "3–5" and ports.name(3, 0, 3, lane=1) == "4"
    assert [ports.name(row, 1 - row % 2 if row == 1 else 1, 1) for row in (0, 2)] == ["1", "1"]


def near(view: CanvasView, load: Callable[..., None], zoom: float = 1.0) -> None:
    load("hgx-h100", nodes=1)
    view.bring_into_view(("node00.gpu0",))
    view.zoom_to(zoom)
    view.come_to_rest()
    assert view.level is Level.PORTS


def strand_of(view: CanvasView, link: str) -> list[int]:
    strands, row = view.painter.strands, view.scene_data.index.link_row[link]
    return [number for number in range(len(strands)) if row in strands.members(number).tolist()]


def on_line(view: CanvasView, strand: int, t: float = 0.35) -> QPoint:
    x, y = view.painter.curves.point(t)[strand].tolist()
    return view.camera.to_view(QPointF(x, y)).toPoint()


def test_a_double_click_opens_the_lanes_of_a_link_and_closes_them(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    near(view, load)
    topology = view.context.document.document.topology
    link = next(one for one in topology.links_of("node00.gpu0") if one.kind is LinkKind.NVLINK)
    (strand,) = strand_of(view, link.id)
    steps = view.context.document.undo_stack.index()
    double_click(hand, on_line(view, strand))
    lanes = strand_of(view, link.id)
    strands = view.painter.strands
    assert len(lanes) == link.count and sorted(map(strands.lane_of, lanes)) == list(range(link.count))
    assert strands.cables[lanes].tolist() == [1] * link.count
    assert (
        len({tuple(point) for point in view.painter.curves.control[lanes, 0].round(3).tolist()}) == link.count
    )
    assert view.context.document.undo_stack.index() == steps
    found = view.hit_at(QPointF(on_line(view, lanes[1])))
    assert found is not None
    text = card_text(view.scene_data, strands, found)
    assert text is not None and text.lines[0].startswith("Lane ") and text.lines[-1].startswith("Ports: ")
    double_click(hand, on_line(view, lanes[1]))
    assert len(strand_of(view, link.id)) == 1


def test_lanes_carry_the_load_of_their_link(analysed: CanvasView) -> None:
    analysed.bring_into_view(("node00.gpu0",))
    analysed.zoom_to(1.0)
    analysed.come_to_rest()
    scene, painter = analysed.scene_data, analysed.painter
    link = next(one for one in scene.index.links if one.kind is LinkKind.NVLINK)
    before = scene.loads(painter.strands).utilisation[strand_of(analysed, link.id)[0]]
    assert scene.toggle_open(painter.strands, strand_of(analysed, link.id)[0])
    lanes = strand_of(analysed, link.id)
    assert np.allclose(scene.loads(analysed.painter.strands).utilisation[lanes], before)


def test_a_bundle_at_a_folded_rack_opens_near(view: CanvasView, load: Callable[..., None]) -> None:
    load("leaf-spine")
    view.toggle_fold("rack00")
    view.zoom_to(1.0)
    view.come_to_rest()
    scene, painter = view.scene_data, view.painter
    own = len(scene.index.devices) + scene.index.container_row["rack00"]
    (bundle,) = np.flatnonzero((painter.strands.end == own).any(axis=1)).tolist()
    count = len(painter.strands.members(bundle))
    assert count > 1 and scene.toggle_open(painter.strands, bundle)
    strands = view.painter.strands
    singles = np.flatnonzero((strands.end == own).any(axis=1)).tolist()
    assert len(singles) == count
    assert scene.toggle_open(strands, singles[0])
    assert len(np.flatnonzero((view.painter.strands.end == own).any(axis=1))) == 1


def test_ports_are_painted_near_only_and_named_nearer(view: CanvasView, load: Callable[..., None]) -> None:
    near(view, load, 1.8)
    text = view.painter._ports._text(view.scene_data, view.painter.strands, 0, 0, 1.8)
    number, name = text.split(" ", 1)
    texts, devices = view.scene_data.texts, view.scene_data.index.devices
    assert number[0].isdigit() and name in {texts.name(row) for row in range(len(devices))}
    image = view.frame_cache.image(view.camera, view.level, view.lit())
    view.painter._ports.paint = lambda *args, **kwargs: None  # type: ignore[method-assign]
    view.context.document.push(Move({"leaf0": (0.0, -2000.0)}), "Move")
    view.context.document.undo_stack.undo()
    bare = view.frame_cache.image(view.camera, view.level, view.lit())
    assert image.size() == bare.size() and image != bare


def test_a_rate_stands_in_the_middle_of_its_half() -> None:
    straight = np.linspace((0.0, 0.0), (30.0, 90.0), 4)
    assert rate_place(straight) == pytest.approx((15.0, 45.0))
    bent = np.array([(0.0, 0.0), (0.0, 60.0), (20.0, 80.0), (40.0, 80.0)])  # de Casteljau at ½: (12.5, 62.5)
    assert rate_place(bent) == pytest.approx((12.5, 62.5))
