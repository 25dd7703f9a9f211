"""What the canvas tells of a moment: badges, short exchanges while playing, what a panel lit, the legend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from gui.canvas.menu import canvas_menu
from gui.canvas.view import CanvasView
from model.topology.types import DeviceKind
from tests.gui.canvas.conftest import Hand
from tests.gui.canvas.test_view import analysed, colours, pictured, two_hosts

Put = Callable[..., str]


def moments(view: CanvasView) -> tuple[float, float]:
    """A time at which a link is oversubscribed, and one at which nothing flows."""
    report = view.scene_data.report
    assert report is not None
    segments, capacity = report.segments, np.repeat(report.fabric.capacity, 2)
    worst = [float((segments.offered[state] / capacity).max()) for state in segments.state.tolist()]
    middle = (segments.start_s + segments.end_s) / 2
    return float(middle[int(np.argmax(worst))]), float(middle[int(np.argmin(worst))])


def test_a_badge_is_filled_while_its_link_is_oversubscribed_and_hollow_else(
    view: CanvasView, put: Put
) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    view.context.set_link_mode("now")
    over, idle = moments(view)
    filled = view.theme.color("over-badge").name()
    view.context.playback.set_time(over)
    assert filled in colours(pictured(view))
    view.context.playback.set_time(idle)
    assert filled not in colours(pictured(view))
    assert view.painter.badges


def test_a_frame_shows_the_most_since_the_frame_before(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    scene = view.scene_data
    report = scene.report
    assert report is not None
    start, end = report.segments.start_s, report.segments.end_s
    every = np.array([report.segments.rates[state] for state in report.segments.state.tolist()])
    most = (every.max(axis=0).reshape(-1, 2) / report.fabric.usable[:, None])[scene.row_in_report]
    scene.show("now", float(end[-1]), float(start[0]))
    assert scene.utilisation == pytest.approx(most, abs=1e-6)
    scene.show("now", float(end[-1]))
    last = (every[-1].reshape(-1, 2) / report.fabric.usable[:, None])[scene.row_in_report]
    assert scene.utilisation == pytest.approx(last, abs=1e-6)
    # from the last segment over the end of the step into the first one
    scene.show("now", float(start[0]), float(start[-1]))
    around = every[[0, -1]].max(axis=0).reshape(-1, 2) / report.fabric.usable[:, None]
    assert scene.utilisation == pytest.approx(around[scene.row_in_report], abs=1e-6)


def test_pausing_shows_the_moment_alone(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    playback, scene = view.context.playback, view.scene_data
    over, idle = moments(view)
    playback.play()
    playback.set_time(over)
    playback.set_time(idle)
    assert scene.utilisation.max() > 0
    playback.pause()
    report = scene.report
    assert report is not None
    segment = int(np.searchsorted(report.segments.start_s, idle, side="right")) - 1
    rates = report.segments.rates[int(report.segments.state[segment])].reshape(-1, 2)
    expected = (rates / report.fabric.usable[:, None])[scene.row_in_report]
    assert scene.utilisation == pytest.approx(expected, abs=1e-6)


def test_what_a_panel_lit_goes_out_with_another_choice(view: CanvasView, hand: Hand, put: Put) -> None:
    two_hosts(view, put)
    context = view.context
    context.set_lit_links({"leaf0--leaf1"})
    context.set_selection(("leaf0--leaf1",))
    assert context.lit_links == {"leaf0--leaf1"}
    hand.click(hand.at("leaf0"))
    assert context.selection == {"leaf0"} and not context.lit_links
    context.set_lit_links({"leaf0--leaf1"})
    hand.click(QPoint(40, view.viewport().height() // 2))
    assert not context.selection and not context.lit_links


def test_the_first_device_does_not_lie_under_the_legend(view: CanvasView, put: Put) -> None:
    bottom = view.camera.to_scene(QPointF(view.viewport().rect().bottomLeft()))
    put("gpu0", DeviceKind.GPU, round(bottom.x()) + 100, round(bottom.y()) - 40)
    view.grab()
    _x, y = view.context.document.document.layout["gpu0"]
    low = y + 36
    assert view.camera.zoom * low + view.camera.y < view.overlay.legend.y()


def test_the_legend_folds_away_and_gives_its_room_back(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=4)
    legend, before = view.overlay.legend, view.overlay.insets()[1]
    assert legend.isVisible()
    QTest.mouseClick(view.overlay.legend_button, Qt.MouseButton.LeftButton)
    assert not legend.isVisible() and view.overlay.insets()[1] < before
    view.overlay.place()
    assert not legend.isVisible()
    QTest.mouseClick(view.overlay.legend_button, Qt.MouseButton.LeftButton)
    assert legend.isVisible() and view.overlay.insets()[1] == before


@pytest.mark.parametrize(
    ("chosen", "offered"),
    [(("leaf0",), False), (("node00",), False), (("node00.gpu0",), True), (("leaf0", "node00.gpu0"), True)],
)
def test_degraded_is_offered_only_where_it_means_something(
    view: CanvasView, load: Callable[..., None], chosen: tuple[str, ...], offered: bool
) -> None:
    load("hgx-h100", nodes=1)
    view.context.set_selection(chosen)
    texts = [action.text() for action in canvas_menu(view).actions()]
    assert ("Degraded" in texts) is offered
    assert ("Down" in texts) is (chosen != ("node00",))


@pytest.mark.parametrize("zoom", [0.14, 0.2, 0.3])
def test_a_click_at_a_gpu_that_is_drawn_as_a_cell_takes_it(
    view: CanvasView, hand: Hand, load: Callable[..., None], zoom: float
) -> None:
    load("hgx-h100", nodes=4)
    view.zoom_to(zoom)
    view.grab()
    beside = hand.at("node01.gpu0", dx=-22 / 2) - QPoint(2, 0)
    for at in (hand.at("node01.gpu0"), beside):
        view.context.set_selection(())
        hand.click(at)
        assert view.context.selection == {"node01.gpu0"}
    x0, y0, x1, y1 = view.scene_data.index.hull[view.scene_data.index.container_row["node01"]]
    hand.click(hand.pixel((float(x0 + x1) / 2, float(y1 if y1 > y0 else y0) - 8)))
    assert view.context.selection == {"node01"}


def test_badges_stand_off_devices(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=4)
    analysed(view, "parallel.tp=8")
    scene = view.scene_data
    scene.worst = np.full_like(scene.worst, 1.5)  # every link at its worst, so badges everywhere
    scene.report_version += 1
    pictured(view)
    badges = view.painter.badges
    boxes = view.camera.boxes(scene.index.rects()).tolist()
    covered = [
        badge
        for badge in badges
        if any(
            x0 < badge.right() and x1 > badge.left() and y0 < badge.bottom() and y1 > badge.top()
            for x0, y0, x1, y1 in boxes
        )
    ]
    assert len(badges) > 10
    assert len(covered) < len(badges) / 4
