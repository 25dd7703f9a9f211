"""What the canvas shows: loads, badges, levels, hover, themes, partners; painting is safe and cheap."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.levels import Level
from gui.canvas.scene import Scene
from gui.canvas.view import CanvasView
from model.analysis import analyse
from model.document.edits import Connect, Move, RemoveParts, SetFields, SetJob
from model.job.spec import apply_set
from model.topology.types import DeviceKind, Link, LinkKind, State
from tests.gui.canvas.conftest import Hand

Put = Callable[..., str]


def pictured(view: CanvasView) -> QImage:
    """The viewport alone, without overlays."""
    image = QImage(view.viewport().size(), QImage.Format.Format_RGB32)
    view.viewport().render(image, QPoint(0, 0))
    return image


def colours(image: QImage) -> set[str]:
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32).reshape(image.height(), -1)
    return {f"#{value & 0xFFFFFF:06x}" for value in np.unique(pixels).tolist()}


def analysed(view: CanvasView, *sets: str) -> None:
    document = view.context.document
    job = document.document.job
    for assignment in sets:
        job = apply_set(job, assignment)
    if sets:
        document.push(SetJob(job), "Set job")
    view.context.set_analysis(replace(analyse(document.document), revision=document.revision))


def two_hosts(view: CanvasView, put: Put) -> None:
    """Two hosts of two GPUs, two NICs and a leaf each; the leaves joined by one 400G cable."""
    links = []
    for host in (0, 1):
        x = host * 460.0
        put(f"leaf{host}", DeviceKind.LEAF, x, -200)
        put(f"nvs{host}", DeviceKind.NVLINK_SWITCH, x, 140)
        for place in (0, 1):
            gpu, nic = f"gpu{2 * host + place}", f"nic{2 * host + place}"
            put(gpu, DeviceKind.GPU, x - 60 + 120 * place, 20)
            put(nic, DeviceKind.NIC, x - 60 + 120 * place, -80)
            links.append(Link(f"{gpu}--{nic}", gpu, nic, LinkKind.PCIE, 64e9))
            links.append(Link(f"{nic}--leaf{host}", nic, f"leaf{host}", LinkKind.INFINIBAND, 50e9))
            links.append(Link(f"{gpu}--nvs{host}", gpu, f"nvs{host}", LinkKind.NVLINK, 25e9, 18))
    links.append(Link("leaf0--leaf1", "leaf0", "leaf1", LinkKind.INFINIBAND, 50e9))
    for link in links:
        view.context.document.push(Connect(link), f"Connect {link.id}")
    view.fit()


def test_two_nics_on_one_cable_show_the_pattern_and_two_times(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    view.context.set_link_mode("peak")
    index = view.scene_data.index
    cable = index.link_row["leaf0--leaf1"]
    # two NICs of 50 GB/s offered to one cable of 50 GB/s
    assert view.scene_data.worst[cable].tolist() == pytest.approx([2.0, 2.0])
    now = view.scene_data.loads(view.painter.strands)
    strand = next(
        row for row in range(len(view.painter.strands)) if cable in view.painter.strands.members(row)
    )
    assert now.over[strand].tolist() == [True, True]
    theme = view.theme
    assert {theme.color("over").name(), theme.color("over-badge").name()} <= colours(pictured(view))
    view.context.set_link_mode("mean")
    assert theme.color("over-badge").name() in colours(pictured(view))


def test_playing_recolours_links_by_the_rates_of_the_moment(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    view.context.set_link_mode("now")
    report = view.scene_data.report
    assert report is not None
    seen = set()
    segments = report.segments
    for state in np.unique(segments.state)[:12].tolist():
        segment = int(np.flatnonzero(segments.state == state)[0])
        view.context.playback.set_time(float(segments.start_s[segment] + segments.end_s[segment]) / 2)
        rates = report.segments.rates[state].reshape(-1, 2)
        usable = report.fabric.usable[:, None]
        rows = [view.scene_data.index.link_row[ident] for ident in report.fabric.link_ids]
        assert np.allclose(view.scene_data.utilisation[rows], rates / usable, atol=1e-6)
        seen.add(pictured(view).constBits().tobytes())
    assert len(seen) > 1


def test_playing_repaints_only_when_something_moves(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=1)
    analysed(view)
    pictured(view)
    before = view.frame_cache.paints
    for _ in range(5):
        pictured(view)
    assert view.frame_cache.paints == before
    view.context.set_selection(("leaf0",))
    pictured(view)
    assert view.frame_cache.paints == before + 1


def test_dots_run_along_loaded_links_and_are_capped(view: CanvasView, load: Callable[..., None]) -> None:
    from gui.canvas.dots import DOT_LIMIT, Dots

    load("hgx-h100", nodes=2)
    analysed(view, "parallel.tp=8")
    view.context.set_link_mode("peak")
    dots = Dots(view.theme)
    image = QImage(view.viewport().size(), QImage.Format.Format_RGB32)
    from PySide6.QtGui import QPainter

    with QPainter(image) as painter:
        count = dots.paint(painter, view.painter, 1.0)
    assert 0 < count <= DOT_LIMIT
    loaded = int((view.scene_data.loads(view.painter.strands).utilisation > 0).sum())
    assert count >= min(loaded, DOT_LIMIT)


def test_unknown_links_are_idle_until_the_analysis_comes(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    view.context.set_link_mode("peak")
    put("leaf9", DeviceKind.LEAF, 230, -400)
    view.context.document.push(Connect(Link("new", "leaf0", "leaf9", LinkKind.INFINIBAND, 50e9)), "Connect")
    row = view.scene_data.index.link_row["new"]
    assert view.scene_data.utilisation[row].tolist() == [0.0, 0.0]
    cable = view.scene_data.index.link_row["leaf0--leaf1"]
    assert view.scene_data.worst[cable].max() == pytest.approx(2.0)
    pictured(view)


def test_hover_says_name_rate_and_cost(view: CanvasView, hand: Hand, put: Put) -> None:
    two_hosts(view, put)
    analysed(view, "parallel.tp=2")
    view.context.set_link_mode("peak")
    (x0, y0), (x1, _) = (view.context.document.document.layout[name] for name in ("leaf0", "leaf1"))
    QTest.mouseMove(view.viewport(), hand.pixel((x0 + (x1 - x0) * 0.3, y0)))
    text = view.hover_card.text
    assert text is not None
    assert text.title == "leaf0 → leaf1"
    assert text.right == "400G · 50.0 GB/s"
    assert text.lines[0] == "Offered 100 GB/s = 2.00× what it can carry"
    QTest.mouseMove(view.viewport(), hand.pixel((x0 + (x1 - x0) * 0.7, y0)))
    assert view.hover_card.text is not None and view.hover_card.text.title == "leaf1 → leaf0"
    QTest.mouseMove(view.viewport(), hand.at("gpu3"))
    assert view.hover_card.text is not None and view.hover_card.text.lines[0].startswith("Rank 3: TP 1")
    QTest.mouseMove(view.viewport(), hand.pixel((230, 60)))
    assert view.hover_card.text is None


def test_detail_follows_zoom_and_a_rest_makes_it_sharp(
    view: CanvasView, qtbot: QtBot, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=16)
    for zoom, level in ((0.1, Level.TILES), (0.2, Level.NODES), (0.6, Level.RANKS), (1.2, Level.PORTS)):
        view.zoom_to(zoom)
        qtbot.waitUntil(lambda wanted=level: view.level is wanted)
        assert len(colours(pictured(view))) > 4


def test_colour_by_fills_the_gpus_of_a_group_alike(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=2)
    analysed(view, "parallel.tp=8", "parallel.pp=2")
    view.context.set_colour_by("pp")
    look = view.scene_data.gpus
    assert look.group.tolist() == [0] * 8 + [1] * 8
    assert look.rank.tolist() == list(range(16))
    assert look.second_dimension == "tp"
    assert look.second.tolist() == list(range(8)) * 2
    seen = colours(pictured(view))
    assert {view.theme.group_color(0).name(), view.theme.group_color(1).name()} <= seen
    assert view.theme.group_color(2).name() not in seen


def test_both_themes_paint_their_own_canvas(view: CanvasView, load: Callable[..., None]) -> None:
    load("gb200-nvl72", racks=1)
    for name in ("dark", "light"):
        view.context.theme.set_choice(name)
        image = pictured(view)
        assert image.pixelColor(2, image.height() // 2) in (
            view.theme.color("canvas"), view.theme.color("grid"),
        )  # fmt: skip
        assert view.theme.color("node").name() in colours(image)


def test_layers_hide_links(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=1)
    with_all = len(view.painter.strands)
    view.overlay.layers["scale-up"].click()
    assert view.context.layers == {"pcie", "fabric", "storage", "management"}
    assert len(view.painter.strands) == with_all - 32


def test_overlay_follows_and_sets_the_shared_state(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=1)
    QTest.mouseClick(view.overlay.colour_by.button("ep"), Qt.MouseButton.LeftButton)
    assert view.context.colour_by == "ep"
    view.context.set_link_mode("mean")
    assert view.overlay.mode.value == "mean"
    view.zoom_to(0.5)
    assert view.overlay.zoom.text == "50 %"


def test_partners_of_a_gpu_are_marked(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=2)
    analysed(view, "parallel.tp=8")
    plain = pictured(view)
    view.context.set_partners_of("node00.gpu0")
    marked = pictured(view)
    accent = view.theme.color("accent").name()
    x, y = view.context.document.document.layout["node01.gpu0"]
    corner = view.camera.to_view(QPointF(x + 18, y - 35)).toPoint()
    area = [QPoint(corner.x() + dx, corner.y() + dy) for dx in range(-8, 9) for dy in range(-8, 9)]
    assert any(QColor(marked.pixel(point)).name() == accent for point in area)
    assert not any(QColor(plain.pixel(point)).name() == accent for point in area)


def test_a_device_that_is_down_is_crossed_out_and_its_links_are_dashed(view: CanvasView, put: Put) -> None:
    two_hosts(view, put)
    view.context.document.push(SetFields("device", ("leaf1",), {"state": State.DOWN}), "Down")
    strands = view.painter.strands
    index = view.scene_data.index
    down = {index.link_ids[link] for row in np.flatnonzero(strands.down) for link in strands.members(row)}
    assert down == {"nic2--leaf1", "nic3--leaf1", "leaf0--leaf1"}
    assert view.theme.color("error").name() in colours(pictured(view))


def test_the_empty_canvas_says_what_to_do(view: CanvasView, put: Put) -> None:
    empty = pictured(view)
    assert view.theme.color("accent").name() in colours(empty)
    assert not view.overlay.legend.isVisible()
    put("leaf0", DeviceKind.LEAF, 0, 0)
    assert view.theme.color("accent").name() not in colours(pictured(view))
    assert view.overlay.legend.isVisible()


def test_narrow_windows_keep_all_controls_inside(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=1)
    view.resize(640, 480)
    view.grab()
    inside = view.rect()
    controls = [view.overlay.colour_by, view.overlay.mode, *view.overlay.layers.values(), view.overlay.zoom]
    controls = [control for control in controls if control.isVisible()]
    assert len(controls) == 7  # without the layer of management, of which there is none
    boxes = []
    for control in controls:
        corner = control.mapTo(view, QPoint(0, 0))
        box = control.rect().translated(corner)
        assert inside.contains(box)
        assert not any(box.intersects(other) for other in boxes)
        boxes.append(box)


@pytest.mark.slow
def test_thirty_thousand_real_paints_do_not_crash(view: CanvasView, put: Put, qtbot: QtBot) -> None:
    """A binding that loses a reference per virtual call aborts after some thousand paints."""
    put("leaf0", DeviceKind.LEAF, 0, 0)
    view.resize(330, 250)
    painted = 0
    original = view.drawForeground

    class Counting:
        count = 0

    def counted(painter: object, rect: object) -> None:
        Counting.count += 1
        original(painter, rect)  # type: ignore[arg-type]

    view.drawForeground = counted  # type: ignore[method-assign, assignment]
    while painted < 30_000:
        view.viewport().repaint()
        painted += 1
        if painted % 1000 == 0:
            qtbot.wait(0)
    assert Counting.count >= 30_000


def test_a_new_drawing_is_coloured_by_a_dimension_that_cuts_the_job(
    view: CanvasView, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=2)
    analysed(view, "parallel.tp=1", "parallel.pp=2")
    assert view.context.colour_by == "pp"
    view.context.set_colour_by("dp")
    analysed(view, "parallel.pp=4")
    assert view.context.colour_by == "dp"


def test_a_sharp_picture_of_many_links_comes_in_slices(
    view: CanvasView, qtbot: QtBot, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=64)
    analysed(view, "parallel.tp=8")
    view.zoom_to(0.3)
    view.come_to_rest()
    frame = view.frame_cache
    frame.image(view.camera, view.level, view.lit())
    assert not frame.quick(view.camera, view.level)
    sharp = pictured(view)
    view.pan_by(40, 0)
    assert view.moving
    view.come_to_rest()
    before = frame.paints
    shifted = pictured(view)  # the last picture, moved, while the next is worked on
    assert frame.paints == before and shifted != sharp
    costs = []
    while True:
        start = time.thread_time()
        done = frame.go_on(0.0)  # one step
        costs.append(time.thread_time() - start)
        if done:
            break
    pictured(view)
    assert frame.paints == before + 1
    assert len(costs) > 8
    assert statistics.median(costs) < 0.016
    qtbot.waitUntil(lambda: not view.busy)


def test_edits_show_while_a_picture_is_on_its_way(
    view: CanvasView, qtbot: QtBot, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=64)
    view.zoom_to(0.3)
    view.come_to_rest()
    view.frame_cache.image(view.camera, view.level, view.lit())
    error = view.theme.color("error").name()
    assert error not in colours(pictured(view))
    index = view.scene_data.index
    gpu = next(index.device_ids[row] for row in view.painter.visible_devices() if row in index.gpu_rows)
    view.context.document.push(SetFields("device", (gpu,), {"state": State.DOWN}), "Down")
    pictured(view)
    view.context.document.undo_stack.undo()
    view.context.document.undo_stack.redo()
    qtbot.waitUntil(lambda: view.frame_cache.ready(view.camera, view.level) and not view.busy)
    assert error in colours(pictured(view))


def test_a_large_report_is_taken_over_in_a_turn_of_its_own_and_once(
    view: CanvasView, qtbot: QtBot, load: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("hgx-h100", nodes=2)
    analysed(view, "parallel.tp=8")
    context, scene = view.context, view.scene_data
    monkeypatch.setattr("gui.canvas.following.MANY_GPUS", 0)
    before, analysis = scene.report, context.analysis
    assert before is not None and analysis is not None
    version = scene.report_version
    context.set_analysis(replace(analysis, report=replace(before)))
    assert scene.report is before
    qtbot.waitUntil(lambda: scene.report is context.last_report)
    assert scene.report is not before
    assert scene.report_version == version + 1
    context.set_analysis(replace(analysis, report=scene.report))  # nothing new to read
    qtbot.waitUntil(lambda: not context.turns.due)
    assert scene.report_version == version + 1


def test_strands_of_many_links_come_step_by_step_and_as_at_once(
    view: CanvasView, qtbot: QtBot, load: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("hgx-h100", nodes=64)
    view.zoom_to(0.3)
    view.come_to_rest()
    frame, scene = view.frame_cache, view.scene_data
    frame.image(view.camera, view.level, view.lit())
    monkeypatch.setattr("gui.canvas.scene.AT_ONCE", 0)
    index, prepared = scene.index, view.painter.prepared
    gpu = next(index.device_ids[row] for row in view.painter.visible_devices() if row in index.gpu_rows)
    view.context.document.push(RemoveParts((gpu,)), "Remove")
    before = pictured(view)  # the last picture stays
    assert not frame.prepared(view.camera, view.level)
    assert frame.painter.prepared == prepared
    steps = list(scene.strands_steps(view.level, view.zoom))
    assert len(steps) == 5  # built, what stands between, where ends lead, their order, anchors
    assert list(scene.strands_steps(view.level, view.zoom)) == []
    strands, curves = scene.strands(view.level, view.zoom)
    fresh = Scene(view.context.document.document)
    anew, ways = fresh.strands(view.level, view.zoom)
    assert np.array_equal(strands.end, anew.end) and np.array_equal(strands.box, anew.box)
    assert np.array_equal(curves.control, ways.control)
    qtbot.waitUntil(lambda: frame.ready(view.camera, view.level) and not view.busy)
    assert pictured(view) != before


def test_the_plan_of_many_tiles_comes_in_a_step_of_its_own(
    view: CanvasView, load: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("hgx-h100", nodes=64)
    view.zoom_to(0.05)
    view.come_to_rest()
    frame, scene = view.frame_cache, view.scene_data
    frame.image(view.camera, view.level, view.lit())
    monkeypatch.setattr("gui.canvas.scene.AT_ONCE", 0)
    before = pictured(view)
    view.context.document.push(RemoveParts((), (), (scene.index.container_ids[0],)), "Remove")
    assert pictured(view) == before  # the last picture stays
    assert not frame.prepared(view.camera, view.level)
    assert len(list(scene.strands_steps(view.level, view.zoom))) == 1
    assert frame.prepared(view.camera, view.level)
    plan = Scene(view.context.document.document).far(view.level, view.zoom)[0]
    assert np.array_equal(scene.plan.tiles, plan.tiles)
    assert np.array_equal(scene.plan.ribbons.links, plan.ribbons.links)


def test_steps_of_strands_end_when_the_drawing_changes(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=64)
    scene, document = view.scene_data, view.context.document
    gpus = [scene.index.device_ids[row] for row in scene.index.gpu_rows.tolist()]
    document.push(RemoveParts((gpus[0],)), "Remove")
    steps = scene.strands_steps(Level.NODES, 0.3)
    next(steps)
    document.push(RemoveParts(tuple(gpus[8:16])), "Remove")
    assert list(steps) == []
    assert scene.strands(Level.NODES, 0.3)[0].end.max() < len(scene.index.devices) + len(
        scene.index.containers
    )


def test_a_patched_raster_equals_one_made_anew(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=64)
    view.zoom_to(0.3)
    view.come_to_rest()
    document = view.context.document
    index = view.scene_data.index
    row = next(row for row in view.painter.visible_devices() if row in index.gpu_rows)
    gpu = index.device_ids[row]
    x, y = document.document.layout[gpu]

    def drawn() -> bytes:
        return view.frame_cache.image(view.camera, view.level, view.lit()).constBits().tobytes()

    drawn()
    for edit in (Move({gpu: (x + 20, y + 40)}), RemoveParts((gpu,))):
        document.push(edit, "Edit")
        patched = drawn()
        view.frame_cache.set_theme(view.theme)
        fresh = drawn()
        different = np.frombuffer(patched, np.uint32) != np.frombuffer(fresh, np.uint32)
        assert different.mean() < 0.0005  # which of two equal lines lies on top may differ
    document.undo_stack.undo()
    assert drawn() is not None
