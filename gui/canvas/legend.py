"""The legend, drawn from the same tables as links and tiles; view and picture show the same one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.canvas.gpu_look import LETTERS, NAMES, GpuLook
from gui.canvas.lettering import Lettering
from gui.canvas.loads import (
    CABLES_FACTOR,
    FABRIC_FACTOR,
    STEP_COUNT,
    STEP_LABELS,
    STRIPE,
    TRAY_FACTOR,
    line_width,
)
from gui.canvas.scene_index import LINK_CODE, LINK_KINDS, SceneIndex
from gui.theme import Theme
from model.text import format_port
from model.topology.names import LINK_NAMES
from model.topology.types import HOST_LINKS, NETWORK_LINKS

HEIGHT = 92.0
FLAT_HEIGHT = 54.0
"""Where the view is low, the legend is one line: ramp, oversubscription, direction."""
_RAMP_WIDTH = 292.0
_OVER_WIDTH = 168.0
_CAPACITY_WIDTH = 190.0
_TILE_WIDTH = 140.0
_HALF_WIDTH = 176.0
_MOST_CAPACITIES = 4
_SAMPLE_STEPS = (3, 4, 2)  # capacity samples, and both halves of "near half = sending"


@dataclass(frozen=True, slots=True)
class LegendKey:
    """What a legend explains: the tiles of GPUs, whose traffic links show ("DP", or all), and the capacities
    of links of the drawing: name and width in pixels.
    """

    look: GpuLook | None = None
    traffic: str = ""
    capacities: tuple[tuple[str, float], ...] = ()


def link_capacities(index: SceneIndex) -> tuple[tuple[str, float], ...]:
    """The commonest bundles of cables and lanes on a drawing, networks first, each with its width."""
    host = np.isin(index.link_kind, [LINK_CODE[kind] for kind in HOST_LINKS])
    rows = np.flatnonzero(~host & (index.nominal > 0))
    if not len(rows):
        return ()
    sort = index.nominal[rows] + 1j * (index.link_kind[rows] + len(LINK_KINDS) * index.cables[rows])
    _, first, count = np.unique(sort, return_index=True, return_counts=True)
    common = rows[first[np.argsort(-count, kind="stable")[:_MOST_CAPACITIES]]]
    found = []
    for row in sorted(common.tolist(), key=lambda one: (_inside(index, one), index.nominal[one])):
        kind, cables = LINK_KINDS[index.link_kind[row]], int(index.cables[row])
        nominal = float(index.nominal[row])
        name = format_port(nominal / cables) if kind in NETWORK_LINKS else LINK_NAMES[kind]
        bundle = CABLES_FACTOR if cables > 1 else FABRIC_FACTOR
        factor = TRAY_FACTOR if _inside(index, row) else bundle
        width = float(line_width(np.array([nominal]))[0]) * factor
        found.append((f"{name} ×{cables:,}" if cables > 1 else name, max(width, 0.75)))
    return tuple(found)


def _inside(index: SceneIndex, row: int) -> bool:
    """Whether a link is one of those that run inside trays."""
    return LINK_KINDS[index.link_kind[row]] not in NETWORK_LINKS


def legend_size(room: float, *, flat: bool = False) -> QSizeF:
    """How large the legend is where `room` pixels are free: the ramp, and the other sections as they fit."""
    width = _RAMP_WIDTH
    for more in (_OVER_WIDTH, _HALF_WIDTH) if flat else (_CAPACITY_WIDTH, _TILE_WIDTH):
        if width + more <= room:
            width += more
    return QSizeF(width, FLAT_HEIGHT if flat else HEIGHT)


def paint_legend(painter: QPainter, theme: Theme, box: QRectF, key: LegendKey) -> None:
    """The legend on a card of `legend_size`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.color("line"), 1))
    painter.setBrush(theme.color("panel"))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
    flat = box.height() < HEIGHT
    _ramp(painter, theme, box.left() + 14, box.top(), flat, key.traffic)
    sections: tuple[tuple[float, Callable[[float], None]], ...] = (
        (_CAPACITY_WIDTH, lambda left: _capacity(painter, theme, left, box.top(), key.capacities)),
        (_TILE_WIDTH, lambda left: _tile(painter, theme, left, box.top(), key.look)),
    )
    if flat:
        sections = (
            (_OVER_WIDTH, lambda left: _oversubscribed(painter, theme, left, box.center().y(), flat)),
            (_HALF_WIDTH, lambda left: _near_half(painter, theme, left, box.center().y())),
        )
    left = box.left() + _RAMP_WIDTH
    for width, section in sections:
        if left + width > box.right() + 1:
            break
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(QPointF(left - 10, box.top() + 12), QPointF(left - 10, box.bottom() - 12))
        section(left)
        left += width
    painter.restore()


def _ramp(painter: QPainter, theme: Theme, left: float, top: float, flat: bool, traffic: str) -> None:
    lettering = Lettering(theme)
    faint = theme.color("text-2")
    title = f"Utilisation by {traffic} alone, %" if traffic else "Utilisation of a direction, %"
    ink = theme.color("accent") if traffic else faint
    lettering.left(painter, title, 11, 600, ink, left, top + 16)
    width = 34.0
    for step in range(STEP_COUNT):
        painter.fillRect(QRectF(left + step * width, top + 27, width - 1, 8), theme.ramp(step))
    lettering.right(painter, "idle", 10, 400, faint, left + width - 6, top + 45)
    for number, mark in enumerate(STEP_LABELS):
        x = left + (number + 1) * width
        if number == len(STEP_LABELS) - 1:
            lettering.right(painter, mark, 10, 400, faint, x, top + 45)
        else:
            lettering.centred(painter, mark, 10, 400, faint, x, top + 45)
    if not flat:
        _oversubscribed(painter, theme, left, top + 70, flat)


def _oversubscribed(painter: QPainter, theme: Theme, left: float, middle: float, flat: bool) -> None:
    """The pattern and what it means; on two short lines where the legend is flat."""
    lettering = Lettering(theme)
    oversubscribed_sample(painter, theme, QPointF(left + 4, middle), 40)
    lines = ("Oversubscribed:", "offered ÷ capacity")
    if not flat:
        lines = ("Oversubscribed: offered above capacity", "offered ÷ capacity; hollow: not now")
    lettering.left(painter, lines[0], 10, 600, theme.color("text"), left + 56, middle - 6)
    lettering.left(painter, lines[1], 10, 400, theme.color("text-2"), left + 56, middle + 8)


def oversubscribed_sample(painter: QPainter, theme: Theme, at: QPointF, length: float) -> None:
    """A piece of an oversubscribed line: halo, line, white cross stripes."""
    halo = QColor(theme.color("over"))
    halo.setAlphaF(0.16)
    end = at + QPointF(length, 0)
    for color, width, cap in (
        (halo, 14.0, Qt.PenCapStyle.RoundCap),
        (theme.color("over"), 5.0, Qt.PenCapStyle.FlatCap),
    ):
        painter.setPen(QPen(color, width, Qt.PenStyle.SolidLine, cap))
        painter.drawLine(at, end)
    pen = QPen(theme.color("over-badge-text"), 5.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
    pen.setDashPattern([STRIPE[0] / 5.0, STRIPE[1] / 5.0])
    painter.setPen(pen)
    painter.drawLine(at + QPointF(STRIPE[1] / 2, 0), end)


def _capacity(
    painter: QPainter, theme: Theme, left: float, top: float, capacities: tuple[tuple[str, float], ...]
) -> None:
    lettering = Lettering(theme)
    faint = theme.color("text-2")
    lettering.left(painter, "Capacity, each direction", 11, 600, faint, left, top + 16)
    for number, (name, width) in enumerate(capacities):
        x, y = left + 88 * (number // 2), top + 35 + 17 * (number % 2)
        painter.setPen(
            QPen(theme.ramp(_SAMPLE_STEPS[0]), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        )
        painter.drawLine(QPointF(x, y), QPointF(x + 20, y))
        lettering.left(painter, lettering.cut(name, 10, 400, 60), 10, 400, faint, x + 26, y)
    if not capacities:
        lettering.left(painter, "no links yet", 10, 400, faint, left, top + 35)
    _near_half(painter, theme, left, top + 75)


def _near_half(painter: QPainter, theme: Theme, left: float, middle: float) -> None:
    """A link whose two directions carry different loads."""
    for number, step in enumerate(_SAMPLE_STEPS[1:]):
        painter.setPen(QPen(theme.ramp(step), 2.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        painter.drawLine(QPointF(left + 28 * number, middle), QPointF(left + 28 * (number + 1), middle))
    Lettering(theme).left(painter, "near half = sending", 10, 400, theme.color("text-2"), left + 64, middle)


def _tile(painter: QPainter, theme: Theme, left: float, top: float, look: GpuLook | None) -> None:
    lettering = Lettering(theme)
    faint = theme.color("text-2")
    lettering.left(painter, "On a GPU", 11, 600, faint, left, top + 16)
    box = QRectF(left, top + 27, 26, 50)
    painter.setPen(QPen(theme.group_border(1), 1))
    painter.setBrush(theme.group_color(1))
    painter.drawRoundedRect(box, 4, 4)
    ink = theme.group_text(1)
    lettering.centred(painter, "13", 12, 700, ink, box.center().x(), box.top() + 11)
    second = look.second_dimension if look is not None else None
    if second is not None:
        lettering.centred(painter, f"{LETTERS[second]}5", 9, 600, ink, box.center().x(), box.top() + 25)
    lines = [f"fill: {NAMES[look.dimension] if look is not None else 'group'}", "number: rank"]
    if second is not None:
        lines.append(f"{LETTERS[second]}: {second.upper()} rank")
    weak = QColor(ink)
    weak.setAlphaF(0.28)
    ticks = look.ticks if look is not None else ()
    for number, _row in enumerate(ticks):
        for slot in range(8):
            cell = QRectF(box.left() + 3 + slot * 2.5, box.top() + 34 + number * 7, 1.9, 4)
            painter.fillRect(cell, ink if slot == 5 - number * 3 else weak)
    if ticks:
        lines.append("ticks: " + ", then ".join(row.dimension.upper() for row in ticks))
    for number, line in enumerate(lines):
        lettering.left(painter, line, 10, 400, faint, left + 34, top + 34 + 14 * number)
