"""Pictures of a whole drawing with its legend: PNG, SVG or PDF, with or without a screen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QPointF, QRectF, QSize, QSizeF
from PySide6.QtGui import (
    QGuiApplication,
    QImage,
    QImageWriter,
    QPageSize,
    QPainter,
    QPainterPath,
    QPdfWriter,
)
from PySide6.QtSvg import QSvgGenerator

from gui.canvas.camera import MIN_ZOOM, Camera
from gui.canvas.legend import legend_size, paint_legend
from gui.canvas.lettering import Lettering
from gui.canvas.levels import level_at
from gui.canvas.scene import Scene
from gui.canvas.scene_painter import Lit, ScenePainter
from gui.theme import Theme, theme_named
from model.document.document import Document
from model.errors import InputError
from model.placement.types import Dimension
from model.step.report import Analysis

SUFFIXES = (".png", ".svg", ".pdf")
_MARGIN = 32.0
_AROUND = 16.0  # of what surrounds a part of a drawing
_MOST_PX = 2400.0
_LEAST_PX = 640.0
_MOST_PIXELS = 120_000_000
_CHANGING = re.compile(
    rb"(?<=\(D:)\d{14}|/ID \[ ?<[0-9a-f]+> ?<[0-9a-f]+> ?\]|(?<=uuid:)[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[0-9:.]+"
)
_PREFERRED: tuple[Dimension, ...] = ("pp", "tp", "ep", "dp", "cp")


def write_picture(
    document: Document,
    analysis: Analysis | None,
    path: Path | str,
    theme: str | Theme = "light",
    scale: float = 2,
    size: tuple[int, int] | None = None,
    colour_by: Dimension | None = None,
) -> None:
    """Write the drawing with the peak loads of the step to `path` (.png, .svg or .pdf by its name).

    `size` is in pixels at 100 %; without it the drawing decides, up to 2,400 pixels wide. `scale` multiplies
    the pixels of a PNG. `colour_by` fills the GPUs; without it the first of PP, TP, EP, DP, CP above size 1.
    Raises InputError when the path cannot be written or names another kind of file.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(f"A picture is written as {', '.join(SUFFIXES)}, not as {target.name!r}.")
    data = picture_bytes(
        document, analysis, target.suffix.lower()[1:], theme, scale=scale, size=size, colour_by=colour_by
    )
    try:
        target.write_bytes(data)
    except OSError as error:
        raise InputError(f"The picture {target} cannot be written: {error.strerror or error}.") from error


def picture_bytes(
    document: Document,
    analysis: Analysis | None,
    kind: str,
    theme: str | Theme = "light",
    *,
    scale: float = 2,
    size: tuple[int, int] | None = None,
    colour_by: Dimension | None = None,
    ids: Collection[str] = (),
) -> bytes:
    """The picture as "png", "svg" or "pdf"; with `ids` the part of the drawing around these things.

    The rest is as in `write_picture`.
    """
    application = painting_application()
    scene = Scene(document)
    scene.set_analysis(analysis)
    scene.show("peak", 0.0)
    scene.set_dimension(colour_by or _dimension(scene))
    box = scene.index.bounds(ids) if ids else _extent(scene, size)
    picture = _Picture(
        scene, theme_named(theme) if isinstance(theme, str) else theme, size, box, cropped=bool(ids)
    )
    data = picture.encoded(f".{kind}", max(0.5, scale))
    del application
    return steady_pdf(data) if kind == "pdf" else data


def steady_pdf(data: bytes) -> bytes:
    """The same file with the dates and ids that Qt makes anew each time replaced by fixed ones of their
    length, so that the same drawing gives the same bytes.
    """

    def fixed(found: re.Match[bytes]) -> bytes:
        text = found.group()
        if text.isdigit():
            return b"20000101000000"
        if b"T" in text:
            return b"2000-01-01T00:00:00.000000"[: len(text)]
        return re.sub(rb"[0-9a-f]", b"0", text)

    return _CHANGING.sub(fixed, data)


def painting_application() -> QGuiApplication:
    """The running application, or one of our own that needs no screen."""
    running = QGuiApplication.instance()
    if isinstance(running, QGuiApplication):
        return running
    return QGuiApplication(["railsketch", "-platform", "offscreen"])


def _dimension(scene: Scene) -> Dimension:
    report = scene.report
    if report is None:
        return "tp"
    for dimension in _PREFERRED:
        coordinate = report.placement.coordinates.get(dimension)
        if coordinate is not None and coordinate.max(initial=0) > 0:
            return dimension
    return "tp"


def _extent(scene: Scene, size: tuple[int, int] | None) -> tuple[float, float, float, float] | None:
    """All that is drawn, with the arches of links over it; how high the far view is depends on its zoom."""
    box = scene.index.bounds()
    if box is None:
        return None
    for _ in range(3):
        zoom = _zoom(box, size)
        box = scene.extent(box, level_at(zoom), zoom)
    return box


def _zoom(box: tuple[float, float, float, float], size: tuple[int, int] | None) -> float:
    """The zoom at which a box is drawn: on a page of its own size, or on one of a size in pixels."""
    width, height = max(box[2] - box[0], 1.0), max(box[3] - box[1], 1.0)
    if size is None:
        return max(MIN_ZOOM, min(1.0, (_MOST_PX - 2 * _MARGIN) / max(width, height)))
    room = (size[0] - 2 * _MARGIN, size[1] - 3 * _MARGIN - legend_size(size[0] - 2 * _MARGIN).height())
    return max(MIN_ZOOM, min(1.0, room[0] / width, room[1] / height))


class _Picture:
    """One drawing on a page of its own size; `cropped`: there is more of it around the box."""

    def __init__(
        self,
        scene: Scene,
        theme: Theme,
        size: tuple[int, int] | None,
        box: tuple[float, float, float, float] | None,
        *,
        cropped: bool,
    ) -> None:
        self.scene, self.theme, self.cropped = scene, theme, cropped
        self.box = box or (0.0, 0.0, _LEAST_PX, _LEAST_PX / 2)
        width, height = self.box[2] - self.box[0], self.box[3] - self.box[1]
        if size is None:
            zoom = _zoom(self.box, None)
            page_width = max(_LEAST_PX, width * zoom + 2 * _MARGIN)
            self.legend = legend_size(page_width - 2 * _MARGIN)
            page = (page_width, height * zoom + 3 * _MARGIN + self.legend.height())
        else:
            page = (float(size[0]), float(size[1]))
            self.legend = legend_size(page[0] - 2 * _MARGIN)
        self.page = QSize(max(1, round(page[0])), max(1, round(page[1])))

    def encoded(self, suffix: str, scale: float) -> bytes:
        """The file's content."""
        if suffix == ".png":
            return self._png(scale)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if suffix == ".svg":
            generator = QSvgGenerator()
            generator.setOutputDevice(buffer)
            generator.setSize(self.page)
            generator.setViewBox(QRectF(0, 0, self.page.width(), self.page.height()))
            generator.setTitle(self.scene.document.name or "Railsketch drawing")
            with QPainter(generator) as painter:
                self._paint(painter, 2.0)
        else:
            writer = QPdfWriter(buffer)
            writer.setResolution(72)
            writer.setPageSize(QPageSize(QSizeF(self.page), QPageSize.Unit.Point))
            writer.setPageMargins(QMarginsF(0, 0, 0, 0))
            writer.setTitle(self.scene.document.name or "Railsketch drawing")
            with QPainter(writer) as painter:
                self._paint(painter, 2.0)
        buffer.close()
        return bytes(data.data())

    def _png(self, scale: float) -> bytes:
        pixels = self.page.width() * self.page.height()
        scale = min(scale, (_MOST_PIXELS / pixels) ** 0.5)
        size = QSize(round(self.page.width() * scale), round(self.page.height() * scale))
        image = QImage(size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        with QPainter(image) as painter:
            self._paint(painter, scale)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"png")).write(image)
        buffer.close()
        return bytes(data.data())

    def _paint(self, painter: QPainter, ratio: float) -> None:
        page = QRectF(0, 0, self.page.width(), self.page.height())
        area = page.adjusted(_MARGIN, _MARGIN, -_MARGIN, -2 * _MARGIN - self.legend.height())
        camera = Camera(1.0, 0.0, 0.0, self.page.width(), self.page.height(), ratio).fitted(self.box, area)
        scene_painter = ScenePainter(self.scene, self.theme, patient=True)
        scene_painter.prepare(camera, level_at(camera.zoom))
        painter.save()
        scene_painter.paint_all(painter, Lit(), grid=False)
        painter.restore()
        if self.cropped:
            self._cover_the_rest(painter, camera, scene_painter.badges)
        if self.scene.index.empty:
            lettering, middle = Lettering(self.theme), area.center()
            color = self.theme.color("text-2")
            lettering.centred(painter, "The drawing is empty", 16, 600, color, middle.x(), middle.y())
        corner = QRectF(
            _MARGIN, page.height() - _MARGIN - self.legend.height(), self.legend.width(), self.legend.height()
        )
        paint_legend(painter, self.theme, corner, self.scene.legend)

    def _cover_the_rest(self, painter: QPainter, camera: Camera, badges: Iterable[QRectF]) -> None:
        """Leave the box with some room around it, and badges at its edge whole. (SVG has no clipping.)"""
        left, top, right, bottom = self.box
        corners = camera.to_view(QPointF(left, top)), camera.to_view(QPointF(right, bottom))
        around = QRectF(*corners).adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND)
        part, rest = QPainterPath(), QPainterPath()
        part.addRect(around)
        for badge in badges:
            if badge.intersects(around):
                whole = QPainterPath()
                whole.addRoundedRect(badge, badge.height() / 2, badge.height() / 2)
                part = part.united(whole)
        rest.addRect(QRectF(-2, -2, self.page.width() + 4, self.page.height() + 4))
        painter.fillPath(rest.subtracted(part), self.theme.color("canvas"))
