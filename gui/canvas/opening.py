"""What a double-click opens: containers, what stands for many far out, bundles, and the lanes of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from gui.canvas.hit import Hit
from gui.canvas.levels import STARTS, Level
from gui.canvas.strands import OPEN_TRAY_ZOOM

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

_STEPS = (STARTS[Level.NODES], STARTS[Level.RANKS], OPEN_TRAY_ZOOM)
_BEYOND = 1.02


def open_under(view: CanvasView, found: Hit, at: QPointF) -> bool:
    """Open what is under a pixel; whether there was something to open."""
    far = view.painter.far
    if found.kind == "container" and (far is None or found.row not in far.plan.tiles):
        view.toggle_fold(found.ids[0])
        return True
    if found.kind in ("container", "tier"):
        view.fit_to(view.scene_data.index.bounds(found.ids))
        return True
    if found.kind == "strand":
        if view.level is Level.PORTS and view.scene_data.toggle_open(view.painter.strands, found.row):
            view.leave_hover()
            view.refresh()
            return True
        if len(found.ids) > 1 and view.zoom < OPEN_TRAY_ZOOM:
            wanted = next(step for step in _STEPS if step > view.zoom)
            view.zoom_at(at, wanted * _BEYOND / view.zoom)
            return True
    return False
