"""What lies over the finished picture and changes with the hand: selection, hover, partners."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen

from gui.canvas.gpu_look import LETTERS
from gui.canvas.hit import Hit
from gui.canvas.lettering import Lettering
from gui.canvas.levels import Level
from gui.canvas.link_painters import half_paths
from gui.canvas.scene_painter import Lit, ScenePainter
from gui.theme import Theme
from model.placement.resolve import partners

KEPT_FRAMES = 60
"""More frames around what is chosen than this are kept as a picture as long as the view stays."""


class Foreground:
    """Painted over the frame in pixels of the viewport."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)
        self._kept: QImage | None = None
        self._kept_of: tuple[object, ...] = ()

    def selection(self, out: QPainter, painter: ScenePainter, lit: Lit) -> None:
        """An accent frame with a soft halo around what is chosen; a frame around what a panel lights."""
        if len(lit.selection) + len(lit.devices) <= KEPT_FRAMES:
            self._frames(out, painter, lit)
            return
        key = (painter.prepared, lit.selection, lit.devices)
        if self._kept is None or key != self._kept_of:
            camera = painter.camera
            size = QSize(round(camera.width * camera.ratio), round(camera.height * camera.ratio))
            self._kept = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
            self._kept.setDevicePixelRatio(camera.ratio)
            self._kept.fill(Qt.GlobalColor.transparent)
            with QPainter(self._kept) as kept:
                kept.setRenderHint(QPainter.RenderHint.Antialiasing)
                self._frames(kept, painter, lit)
            self._kept_of = key
        out.drawImage(QPointF(0, 0), self._kept)

    def _frames(self, out: QPainter, painter: ScenePainter, lit: Lit) -> None:
        soft = self.theme.color("accent")
        soft.setAlphaF(0.28)
        view = QRectF(0, 0, painter.camera.width, painter.camera.height)
        out.setBrush(Qt.BrushStyle.NoBrush)
        many = len(lit.selection) + len(lit.devices) > 2000
        framed: set[tuple[float, float]] = set()
        for ident in painter.seen_of(lit.selection | lit.devices):
            box = painter.box_of(ident)
            if box is None or not box.intersects(view) or (box.left(), box.top()) in framed:
                continue
            framed.add((box.left(), box.top()))  # far out one box stands for many
            radius = 5.0 if ident in painter.scene.index.device_row else 8.0
            if not many and ident in lit.selection:
                out.setPen(QPen(soft, 4))
                out.drawRoundedRect(box.adjusted(-2.5, -2.5, 2.5, 2.5), radius + 2, radius + 2)
            out.setPen(QPen(self.theme.color("accent"), 1.8))
            out.drawRoundedRect(box.adjusted(-0.5, -0.5, 0.5, 0.5), radius, radius)

    def hover(self, out: QPainter, painter: ScenePainter, hovered: Hit, handles: bool) -> None:
        """A thin frame, or the whole line; devices show the handles that links are drawn from."""
        accent = self.theme.color("accent")
        if hovered.kind == "strand":
            if hovered.row >= len(painter.strands):
                return
            control = painter.camera.points(painter.curves.control[hovered.row : hovered.row + 1])
            halves = painter.curves.like(painter.curves.like(control).halves()[0])
            out.setBrush(Qt.BrushStyle.NoBrush)
            for half, path in enumerate(half_paths(halves)):
                halo = QColor(accent)
                halo.setAlphaF(0.45 if half == hovered.half else 0.18)
                width = float(painter.width[hovered.row]) + 4
                out.setPen(QPen(halo, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
                out.drawPath(path)
            return
        box = painter.box_of(hovered.ids[0])
        if box is None:
            return
        radius = 5.0 if hovered.kind == "device" else 8.0
        out.setBrush(Qt.BrushStyle.NoBrush)
        out.setPen(QPen(accent, 1.4))
        out.drawRoundedRect(box.adjusted(-0.5, -0.5, 0.5, 0.5), radius, radius)
        if hovered.kind == "device" and handles and painter.level >= Level.RANKS:
            out.setBrush(self.theme.color("panel"))
            middle = box.center()
            for point in (
                QPointF(middle.x(), box.top()),
                QPointF(middle.x(), box.bottom()),
                QPointF(box.left(), middle.y()),
                QPointF(box.right(), middle.y()),
            ):
                out.drawEllipse(point, 3.2, 3.2)

    def partners_of(self, out: QPainter, painter: ScenePainter, gpu: str, top: float) -> None:
        """Lines from a GPU to its partners, with the letters of the dimensions that they share, and at `top`
        what they stand for.
        """
        report = painter.scene.report
        index = painter.scene.index
        start = painter.box_of(gpu)
        if report is None or start is None:
            return
        letters: dict[str, str] = {}
        for dimension, members in partners(report.placement, gpu).items():
            for member in members:
                if member in index.device_row:
                    letters[member] = letters.get(member, "") + LETTERS[dimension]
        accent = self.theme.color("accent")
        line = QColor(accent)
        line.setAlphaF(0.55)
        out.setBrush(Qt.BrushStyle.NoBrush)
        out.setPen(QPen(line, 1.4))
        boxes = {member: painter.box_of(member) for member in letters}
        for box in boxes.values():
            if box is not None:
                out.drawPath(_bow(start.center(), box.center()))
        for member, box in boxes.items():
            if box is not None:
                self._halo(out, box)
                if box.width() >= 12:
                    self._tag(out, box, letters[member])
        out.setBrush(Qt.BrushStyle.NoBrush)
        out.setPen(QPen(accent, 3))
        out.drawRoundedRect(start.adjusted(-3, -3, 3, 3), 6, 6)
        self._letters(out, QPointF(painter.camera.width / 2, top + 18), gpu, set("".join(letters.values())))

    def _letters(self, out: QPainter, middle: QPointF, gpu: str, used: set[str]) -> None:
        names = [f"{letter} = {name.upper()}" for name, letter in LETTERS.items() if letter in used]
        said = ", ".join(names) if names else "none in this job"
        text = f"Partners of {gpu}: {said}"
        panel, ink = self.theme.color("panel"), self.theme.color("text")
        self.lettering.pill(
            out, text, middle, fill=panel, ink=ink, border=self.theme.color("accent"), px=11, height=24
        )

    def _halo(self, out: QPainter, box: QRectF) -> None:
        soft = self.theme.color("accent")
        soft.setAlphaF(0.35)
        out.setBrush(Qt.BrushStyle.NoBrush)
        out.setPen(QPen(soft, 4))
        out.drawRoundedRect(box.adjusted(-2.5, -2.5, 2.5, 2.5), 6, 6)

    def _tag(self, out: QPainter, box: QRectF, text: str) -> None:
        self.lettering.pill(
            out,
            text,
            QPointF(box.right() - 1, box.top() - 1),
            fill=self.theme.color("accent"),
            ink=self.theme.color("accent-on"),
            border=self.theme.color("canvas"),
            px=9,
            height=14,
        )


def _bow(start: QPointF, end: QPointF) -> QPainterPath:
    """A flat bow, so that lines in one row of GPUs do not lie on each other."""
    way = end - start
    lift = min(60.0, 12.0 + 0.12 * (way.x() ** 2 + way.y() ** 2) ** 0.5)
    middle = (start + end) / 2
    path = QPainterPath(start)
    path.quadTo(QPointF(middle.x(), middle.y() - lift), end)
    return path
