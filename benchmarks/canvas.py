"""Cases of the canvas at 1,024 and 16,384 GPUs: software rendering on a viewport of 1,400 × 900 pixels.

A case that paints several frames has the goal of all of them. Edits are measured to the sharp picture with
the old loads; what an analysis costs is in `engine`.
"""

from __future__ import annotations

from atexit import register
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from benchmarks.engine import JOB, document, job_with
from benchmarks.measure import Case
from gui.canvas.view import CanvasView
from gui.context import AppContext
from model.analysis import analyse
from model.document.document import Document
from model.document.edits import Edit, Load, Move, RemoveParts, SetFields
from model.document.start import document_from
from model.files.opening import open_any
from model.files.project import save_project
from model.topology.types import State
from topology_templates.registry import build

SIZE = (1400, 900)
FRAMES = 10
FRAME_S = 1 / 30
FAST_FRAME_S = 1 / 60
FIRST_PICTURE_S = 2.0
LARGE_PICTURE_S = 3.0
EDIT_S = 0.15
UNDO_S = 0.2
SAVE_S = 1.5
HITS = 500
HIT_S = 0.002
MOVED = 1000
FAR, FOLDED, NEAR = 0.08, 0.3, 0.6
LARGE = 2048


@lru_cache(maxsize=1)
def _application() -> QApplication:
    running = QApplication.instance()
    return running if isinstance(running, QApplication) else QApplication([])


def _paint(view: CanvasView) -> None:
    """One real paint of the viewport."""
    image = QImage(view.viewport().size(), QImage.Format.Format_RGB32)
    view.viewport().render(image, QPoint(0, 0))


def _sharpen(view: CanvasView) -> None:
    """The sharp picture, without waiting for the event loop."""
    view.come_to_rest()
    view.frame_cache.image(view.camera, view.level, view.lit())
    _paint(view)


def _large() -> Document:
    """16,384 H100 with Llama 3 70B on them: TP 8, PP 4, DP 512."""
    content = build("hgx-h100", {"nodes": LARGE})
    made = document_from(content)
    made.job = job_with(made.job, JOB)
    return made


@lru_cache(maxsize=2)
def _view(large: bool) -> CanvasView:
    """A canvas with analysed GPUs."""
    _application()
    context = AppContext()
    context.theme.apply()
    made = _large() if large else document()
    context.document.set_document(made)
    view = CanvasView(context)
    view.resize(*SIZE)
    view.show()
    context.set_analysis(replace(analyse(made), revision=context.document.revision))
    return view


def _at(large: bool, zoom: float | None) -> CanvasView:
    """The whole drawing, or its middle at a zoom, painted and at rest."""
    view = _view(large)
    view.fit()
    if zoom is not None:
        view.zoom_to(zoom)
    _sharpen(view)
    return view


def _same(make: Callable[[], Document]) -> Callable[[], Document]:
    return make


def _first_picture(make: Callable[[], Document]) -> int:
    """From the template to the first picture."""
    _application()
    made = make()
    context = AppContext()
    context.document.set_document(made)
    view = CanvasView(context)
    view.resize(*SIZE)
    view.fit()
    _paint(view)
    view.deleteLater()
    return len(made.topology.links())


def _recolour(view: CanvasView) -> int:
    """Frames with the loads of different moments, at least as many as segments differ."""
    report = view.scene_data.report
    if report is None:
        return 0
    view.context.set_link_mode("now")
    segments = report.segments
    for frame in range(FRAMES):
        segment = frame * len(segments.start_s) // FRAMES
        view.context.playback.set_time(float(segments.start_s[segment] + segments.end_s[segment]) / 2)
        view.scene_data.loads_version += 1  # every frame counts, also where two moments look alike
        _paint(view)
    return len(view.painter.shown)


def _dots(view: CanvasView) -> int:
    view.context.playback.play()
    view.context.playback.set_visible(False)  # this case is the clock
    shown = _recolour(view)
    view.context.playback.pause()
    view.context.playback.set_visible(True)
    return shown


def _pan(view: CanvasView) -> int:
    for _ in range(FRAMES):
        view.pan_by(7, 3)
        _paint(view)
    return len(view.painter.shown)


def _zoom(view: CanvasView) -> int:
    for _ in range(FRAMES):
        view.zoom_at(QPointF(500, 400), 1.03)
        _paint(view)
    return len(view.painter.shown)


def _sharp(view: CanvasView) -> int:
    """The picture that follows when the hand rests; it comes in slices of 8 ms."""
    view.pan_by(1, 0)
    _sharpen(view)
    return len(view.painter.shown)


def _hits(view: CanvasView) -> int:
    found = 0
    for number in range(HITS):
        found += view.hit_at(QPointF(number * 37 % SIZE[0], number * 23 % SIZE[1])) is not None
    return found


def _edited(edit: Callable[[CanvasView], Edit], view: CanvasView) -> int:
    """An edit, and the sharp picture after it."""
    view.context.document.push(edit(view), "Edit")
    _sharpen(view)
    return len(view.painter.shown)


def _a_gpu(view: CanvasView) -> str:
    index = view.scene_data.index
    return index.device_ids[int(index.gpu_rows[len(index.gpu_rows) // 2])]


def _move(view: CanvasView) -> Edit:
    gpu = _a_gpu(view)
    x, y = view.context.document.document.layout[gpu]
    return Move({gpu: (x, y + 20)})


def _toggle(view: CanvasView) -> Edit:
    gpu = _a_gpu(view)
    down = view.context.document.document.topology.device(gpu).state is State.DOWN
    return SetFields("device", (gpu,), {"state": State.UP if down else State.DOWN})


def _remove(view: CanvasView) -> Edit:
    return RemoveParts((_a_gpu(view),))


def _drag(view: CanvasView) -> int:
    """Frames of dragging many devices by one that is in view; Esc puts them back."""
    index, port = view.scene_data.index, view.viewport()
    seen = np.intersect1d(index.gpu_rows, view.painter.drawn)
    grabbed = int(seen[len(seen) // 2])
    names = {index.device_ids[row] for row in index.gpu_rows[:MOVED].tolist()} | {index.device_ids[grabbed]}
    view.context.set_selection(names)
    at = view.camera.to_view(QPointF(*index.centre[grabbed].tolist())).toPoint()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=at)
    for step in range(FRAMES):
        QTest.mouseMove(port, at + QPoint(8 * step + 8, 8))
        _paint(view)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=at)
    view.context.set_selection(())
    return len(names)


def _only_undo(view: CanvasView) -> int:
    view.context.document.undo_stack.undo()
    _paint(view)
    return len(view.scene_data.index.devices)


def _undone(large: bool) -> CanvasView:
    view = _filled(large)
    _only_undo(view)
    return view


def _redo(view: CanvasView) -> int:
    view.context.document.undo_stack.redo()
    view.fit()
    _paint(view)
    return len(view.scene_data.index.devices)


def _move_many(view: CanvasView) -> int:
    """The edit at the end of a drag, and the first picture after it."""
    index = view.scene_data.index
    rows = index.gpu_rows[:MOVED]
    places = (index.centre[rows] + (0.0, 20.0)).tolist()
    names = [index.device_ids[row] for row in rows.tolist()]
    view.context.document.push(Move(dict(zip(names, map(tuple, places), strict=True))), "Move")
    _paint(view)
    return len(names)


def _file(large: bool) -> Path:
    """Where a project of a size is saved, for as long as the benchmark runs."""
    return Path(_folder()) / f"{'large' if large else 'small'}.json"


@lru_cache(maxsize=1)
def _folder() -> str:
    folder = mkdtemp(prefix="railsketch-benchmark-")
    register(rmtree, folder, ignore_errors=True)
    return folder


def _save(view: CanvasView) -> int:
    path = _file(len(view.scene_data.index.gpu_rows) > 1024)
    save_project(view.context.document.document, path)
    return path.stat().st_size


def _saved(large: bool) -> Path:
    path = _file(large)
    if not path.exists():
        save_project(_large() if large else document(), path)
    return path


def _open(path: Path) -> int:
    return _first_picture(partial(open_any, path))


def _filled(large: bool) -> CanvasView:
    """A canvas whose last edit brought everything."""
    _application()
    context = AppContext()
    view = CanvasView(context)
    view.resize(*SIZE)
    view.show()
    made = _large() if large else document()
    context.document.push(Load(made), "Place")
    _sharpen(view)
    return view


def cases() -> list[Case]:
    """First picture, frames, the sharp picture after them, edits, undo and hit tests."""
    made: list[Case] = []
    for large, gpus, make in ((False, "1,024", document), (True, "16,384", _large)):
        first = LARGE_PICTURE_S if large else FIRST_PICTURE_S
        frame = FRAME_S if large else FAST_FRAME_S
        name = f"canvas {gpus}"
        made.append(
            Case(f"{name}: template → first picture", partial(_same, make), _first_picture, "links", first)
        )
        for where, zoom in (
            ("fitted", None),
            (f"{FAR:.0%}", FAR),
            (f"{FOLDED:.0%}", FOLDED),
            (f"{NEAR:.0%}", NEAR),
        ):
            work: tuple[tuple[str, Callable[[CanvasView], int], float], ...] = (
                (f"{FRAMES} frames of playing", _recolour, FRAMES * frame),
                (f"{FRAMES} frames of playing with dots", _dots, FRAMES * frame),
                (f"{FRAMES} frames of panning", _pan, FRAMES * frame),
                (f"{FRAMES} frames of zooming", _zoom, FRAMES * frame),
                ("the sharp picture after it", _sharp, 0.3),
            )
            at = partial(_at, large, zoom)
            made.extend(Case(f"{name}, {where}: {what}", at, run, "lines", goal) for what, run, goal in work)
            if not large:
                made.extend(
                    Case(f"{name}, {where}: {what}", at, partial(_edited, edit), "lines", EDIT_S)
                    for what, edit in (("move a GPU", _move), ("its state", _toggle), ("remove it", _remove))
                )
        made.append(Case(f"{name}: {HITS} hit tests", partial(_at, large, None), _hits, "hits", HITS * HIT_S))
        made.append(
            Case(
                f"{name}: {FRAMES} frames of dragging",
                partial(_at, large, NEAR),
                _drag,
                "devices",
                FRAMES * FRAME_S,
            )
        )
        made.extend(_whole(name, large, first))
    return made


def _whole(name: str, large: bool, first: float) -> list[Case]:
    """The biggest edits, and files."""
    return [
        Case(f"{name}: move {MOVED:,} devices", partial(_at, large, NEAR), _move_many, "devices", EDIT_S),
        Case(f"{name}: undo of all", partial(_filled, large), _only_undo, "devices", UNDO_S),
        Case(f"{name}: redo of all → first picture", partial(_undone, large), _redo, "devices", first),
        Case(f"{name}: save", partial(_view, large), _save, "bytes", SAVE_S),
        Case(f"{name}: open → first picture", partial(_saved, large), _open, "links", first),
    ]
