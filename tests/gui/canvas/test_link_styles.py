"""Links that run curved, straight or with corners: where they are, what hits them, how they are painted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPointF

from gui.canvas.curves import Curves, nearest
from gui.canvas.far_layout import ribbon_curves
from gui.canvas.levels import Level
from gui.canvas.view import CanvasView
from gui.context import AppContext
from model.document.edits import SetLinkStyle
from model.document.view_state import LinkStyle
from model.topology.types import DeviceKind
from tests.gui.canvas.conftest import Hand

Put = Callable[..., str]


def two_switches(view: CanvasView, put: Put, style: LinkStyle) -> None:
    from model.document.edits import Connect
    from model.topology.ports import Allowed, check_connect, new_link

    put("leaf0", DeviceKind.LEAF, 0, 0)
    put("spine0", DeviceKind.SPINE, 400, -300)
    topology = view.context.document.document.topology
    allowed = check_connect(topology, "leaf0", "spine0")
    assert isinstance(allowed, Allowed)
    view.context.document.push(Connect(new_link(topology, "leaf0", "spine0", allowed)), "Connect")
    view.context.document.show(SetLinkStyle(style))
    view.fit()


def test_corners_and_the_middle_are_among_the_points_of_a_cornered_line() -> None:
    control = np.array([[(0, 0), (0, -90), (200, -90), (200, -300)]], dtype=float)
    curves = Curves(control, cornered=True)
    flat = curves.flat()[0]
    assert len(flat) == 17
    for corner in control[0]:
        assert (np.abs(flat - corner).max(axis=1) < 1e-9).any()
    assert flat[8].tolist() == [100, -90]
    assert curves.point(0.5).tolist() == [[100, -90]]
    assert curves.halves()[0, :, 3].tolist() == [[100, -90], [100, -90]]


@pytest.mark.parametrize("style", list(LinkStyle))
def test_a_link_is_hit_where_it_runs_and_nowhere_else(
    view: CanvasView, hand: Hand, put: Put, style: LinkStyle
) -> None:
    two_switches(view, put, style)
    start, end = view.painter.curves.control[0, 0], view.painter.curves.control[0, 3]
    quarter = {
        LinkStyle.STRAIGHT: start + (end - start) / 4,
        LinkStyle.ORTHOGONAL: (start[0], start[1] * 0.75 + end[1] * 0.25),
    }
    for one, (x, y) in quarter.items():
        found = view.hit_at(view.camera.to_view(QPointF(float(x), float(y))))
        assert (found is not None and found.kind == "strand") == (one is style)
    assert nearest(view.painter.seen, *view.painter.curves.point(0.5)[0].tolist(), 1.0) is not None


def _rows(view: CanvasView, kind: DeviceKind) -> list[int]:
    return [row for row, device in enumerate(view.scene_data.index.devices) if device.kind is kind]


def test_ribbons_of_the_far_view_follow_the_style() -> None:
    box = np.array([[(0, 0, 100, 20), (300, 200, 400, 220)]], dtype=float)
    straight = ribbon_curves(box, 1.0, LinkStyle.STRAIGHT)
    assert straight.point(1 / 2).tolist() == [[200, 110]]
    assert np.allclose(straight.control[0, 1], (150, 80))
    corners = ribbon_curves(box, 1.0, LinkStyle.ORTHOGONAL)
    assert corners.control.tolist() == [[[50, 20], [50, 110], [350, 110], [350, 200]]] and corners.cornered
    assert not ribbon_curves(box, 1.0, LinkStyle.CURVED).cornered


def test_lines_with_corners_run_along_at_different_heights(
    view: CanvasView, load: Callable[..., None]
) -> None:
    load("fat-tree", radix=4, gpus_per_host=2)
    view.context.document.show(SetLinkStyle(LinkStyle.ORTHOGONAL))
    strands, curves = view.scene_data.strands(Level.RANKS, 0.6)
    assert curves.cornered
    control = curves.control
    way = np.abs(np.diff(control, axis=1))
    assert (way.min(axis=2) < 1e-9).all()  # every piece runs up, down or across
    leaves = np.flatnonzero(np.isin(strands.end, _rows(view, DeviceKind.SPINE)).any(axis=1))
    assert len(np.unique(np.round(control[leaves, 1, 1], 3))) > 2


@pytest.mark.parametrize("zoom", [0.25, 0.6, 1.2])
def test_every_style_is_another_picture_near_and_far(
    view: CanvasView, load: Callable[..., None], zoom: float
) -> None:
    load("leaf-spine")
    view.zoom_to(zoom)
    view.come_to_rest()
    pictures = set()
    for style in LinkStyle:
        view.context.document.show(SetLinkStyle(style))
        image = view.frame_cache.image(view.camera, view.level, view.lit())
        pictures.add(bytes(image.constBits()))
    assert len(pictures) == 3


def test_the_style_is_a_look_of_the_drawing_and_no_undo_step(context: AppContext, view: CanvasView) -> None:
    context.document.show(SetLinkStyle(LinkStyle.STRAIGHT))
    assert context.document.document.view.links is LinkStyle.STRAIGHT
    assert context.document.undo_stack.count() == 0 and not context.document.unsaved
    assert view.scene_data.link_style is LinkStyle.STRAIGHT
