"""Near, the ports that links take: a plug at each end, its number, and nearer what it leads to."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from gui.canvas.camera import Camera
from gui.canvas.curves import Curves
from gui.canvas.lettering import Lettering, Occupancy
from gui.canvas.scene import Scene
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import Strands
from gui.theme import Theme

PLUG_LIMIT = 1600
NAME_LIMIT = 240
NAMED_ZOOM = 1.6
"""From here on a port also says what is at the other end."""
_PLUG = 5.0


class PortPainter:
    """Paints ports in pixels of the viewport."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)

    def paint(
        self,
        painter: QPainter,
        scene: Scene,
        strands: Strands,
        curves: Curves,
        *,
        shown: IntArray,
        camera: Camera,
        occupied: Occupancy,
    ) -> None:
        """Paint the ports of the strands `shown`; where there are too many none, and names only of some."""
        if not 0 < len(shown) <= PLUG_LIMIT:
            return
        control = camera.points(curves.control[shown])
        ends, leaving = control[:, (0, 3)], control[:, (1, 2)]
        view = QRectF(0, 0, camera.width, camera.height)
        side = _PLUG * min(1.6, camera.zoom)
        plugs = [QRectF(x - side / 2, y - side / 2, side, side) for x, y in ends.reshape(-1, 2).tolist()]
        painter.setPen(QPen(self.theme.color("device-line"), 1))
        painter.setBrush(self.theme.color("panel"))
        painter.drawRects([plug for plug in plugs if plug.intersects(view)])
        self._names(painter, scene, strands, shown, ends, leaving, camera, occupied)

    def _names(
        self,
        painter: QPainter,
        scene: Scene,
        strands: Strands,
        shown: IntArray,
        ends: FloatArray,
        leaving: FloatArray,
        camera: Camera,
        occupied: Occupancy,
    ) -> None:
        view, written = QRectF(0, 0, camera.width, camera.height), 0
        paper, ink = QColor(self.theme.color("canvas")), self.theme.color("text-2")
        paper.setAlphaF(0.85)
        px = 8.0 * min(1.25, max(1.0, camera.zoom / 1.2))
        for number, strand in enumerate(shown.tolist()):
            if strands.start[strand + 1] - strands.start[strand] > 1:
                continue  # a bundle has many ports at each end
            for end in (0, 1):
                text = self._text(scene, strands, strand, end, camera.zoom)
                box = self._beside(text, ends[number, end], leaving[number, end], px)
                if not view.contains(box) or not occupied.take(box):
                    continue
                painter.setPen(QPen(paper, 0))
                painter.fillRect(box, paper)
                self.lettering.centred(painter, text, px, 500, ink, box.center().x(), box.center().y())
                written += 1
                if written == NAME_LIMIT:
                    return

    @staticmethod
    def _text(scene: Scene, strands: Strands, strand: int, end: int, zoom: float) -> str:
        """The ports at an end of a strand of one link, near with the name of the other end."""
        first = int(strands.start[strand])
        row = int(strands.links[first])
        side = end ^ int(strands.flipped[first])
        index = scene.index
        name = scene.ports.name(row, side, int(index.cables[row]), strands.lane_of(strand))
        if zoom < NAMED_ZOOM:
            return name
        return f"{name} {scene.texts.name(int(index.ends[row, 1 - side]))}"

    def _beside(self, text: str, at: FloatArray, onward: FloatArray, px: float) -> QRectF:
        """The box of a name just outside of the device, on the side to which the line leaves."""
        wide, tall = self.lettering.width(text, px, 500) + 3, px + 3
        dx, dy = (onward - at).tolist()
        x, y = at.tolist()
        away = _PLUG / 2 + 3
        if abs(dy) >= abs(dx):
            middle = y + np.sign(dy) * (away + tall / 2)
            return QRectF(x - wide / 2, middle - tall / 2, wide, tall)
        middle = x + np.sign(dx) * (away + wide / 2)
        return QRectF(middle - wide / 2, y - tall / 2, wide, tall)
