"""Cases of the canvas at 1,024 GPUs: software rendering on a viewport of 1,400 × 900 pixels.

Each goal is that of 30 frames a second; a case paints several frames, so its goal is that of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from benchmarks.engine import document
from benchmarks.measure import Case
from gui.canvas.view import CanvasView
from gui.context import AppContext
from model.analysis import analyse

SIZE = (1400, 900)
FRAMES = 10
FRAME_S = 1 / 30
FIRST_PICTURE_S = 2.0
HITS = 500
HIT_S = 0.002
FOLDED, NEAR = 0.3, 0.6


@lru_cache(maxsize=1)
def _application() -> QApplication:
    running = QApplication.instance()
    return running if isinstance(running, QApplication) else QApplication([])


def _paint(view: CanvasView) -> None:
    """One real paint of the viewport."""
    image = QImage(view.viewport().size(), QImage.Format.Format_RGB32)
    view.viewport().render(image, QPoint(0, 0))


@lru_cache(maxsize=1)
def _view() -> CanvasView:
    """A canvas with 1,024 analysed GPUs."""
    _application()
    context = AppContext()
    context.theme.apply()
    made = document()
    context.document.set_document(made)
    view = CanvasView(context)
    view.resize(*SIZE)
    view.show()
    context.set_analysis(replace(analyse(made), revision=context.document.revision))
    return view


def _at(zoom: float | None) -> CanvasView:
    """The whole drawing, or its middle at a zoom, painted and at rest."""
    view = _view()
    view.fit()
    if zoom is not None:
        view.zoom_to(zoom)
    view.come_to_rest()
    _paint(view)
    return view


def _first_picture(_nothing: object) -> int:
    _application()
    made = document()
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
    """The picture that follows when the hand rests."""
    view.pan_by(1, 0)
    view.come_to_rest()
    _paint(view)
    return len(view.painter.shown)


def _hits(view: CanvasView) -> int:
    found = 0
    for number in range(HITS):
        found += view.hit_at(QPointF(number * 37 % SIZE[0], number * 23 % SIZE[1])) is not None
    return found


def cases() -> list[Case]:
    """First picture, frames while playing, panning and zooming, the sharp picture after them, hit tests."""
    made = [Case("canvas: document → first picture", lambda: None, _first_picture, "links", FIRST_PICTURE_S)]
    for name, zoom in (("fitted", None), (f"at {FOLDED:.0%}", FOLDED), (f"at {NEAR:.0%}", NEAR)):
        work: tuple[tuple[str, Callable[[CanvasView], int], float], ...] = (
            (f"{FRAMES} frames of playing", _recolour, FRAMES * FRAME_S),
            (f"{FRAMES} frames of playing with dots", _dots, FRAMES * FRAME_S),
            (f"{FRAMES} frames of panning", _pan, FRAMES * FRAME_S),
            (f"{FRAMES} frames of zooming", _zoom, FRAMES * FRAME_S),
            ("the sharp picture after it", _sharp, 0.3),
        )
        for what, run, goal in work:
            made.append(Case(f"canvas {name}: {what}", partial(_at, zoom), run, "lines", goal))
    made.append(Case(f"canvas: {HITS} hit tests", partial(_at, NEAR), _hits, "hits", HITS * HIT_S))
    return made
