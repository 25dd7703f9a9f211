"""The card beside what the pointer is on: name, rate and capacity, what flows, what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.canvas.hit import Hit
from gui.canvas.lettering import Lettering
from gui.canvas.loads import oversubscribed
from gui.canvas.scene import Scene
from gui.canvas.scene_index import IntArray
from gui.canvas.strands import DOWN, Strands
from gui.canvas.texts import short_model
from model.job.exchange import dimension_name
from model.placement.types import DIMENSIONS
from model.text import (
    format_bytes,
    format_percent,
    format_port,
    format_rate,
    format_ratio,
    format_seconds,
    plural,
)
from model.topology.cables import cable_text
from model.topology.names import LINK_NAMES
from model.topology.types import NETWORK_LINKS, DeviceKind, State

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

_SHADOW = 6
_PAD = 14
_LINE = 18
_MOST_FLOWS = 3


@dataclass(frozen=True, slots=True)
class CardText:
    """What a card says. `cost` is the line in the colour of what it means."""

    title: str
    right: str
    lines: tuple[str, ...]
    cost: str = ""


class HoverCard(QWidget):
    """Painted over the view; the mouse goes through it."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._canvas = view
        self._text: CardText | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    @property
    def text(self) -> CardText | None:
        """What the card says while it is shown."""
        return self._text if self.isVisible() else None

    def show_for(self, found: Hit | None, at: QPointF) -> None:
        """Show the card of what was hit, beside the pointer and inside the view; nothing hides it."""
        self._text = (
            card_text(self._canvas.scene_data, self._canvas.painter.strands, found) if found else None
        )
        if self._text is None:
            self.hide()
            return
        size = self._size(self._text)
        self.resize(size)
        view = self._canvas.viewport().size()
        x = at.x() + 18 if at.x() + 18 + size.width() <= view.width() else at.x() - 18 - size.width()
        y = at.y() + 18 if at.y() + 18 + size.height() <= view.height() else at.y() - 18 - size.height()
        self.move(round(max(0.0, x)), round(max(0.0, y)))
        self.show()
        self.raise_()  # over the legend, which is placed anew when its size changes
        self.update()

    def _size(self, text: CardText) -> QSize:
        lettering = Lettering(self._canvas.theme)
        width = lettering.width(text.title, 13, 700) + 24 + lettering.width(text.right, 11, 400)
        width = max([width, *(lettering.width(line, 11, 400) for line in text.lines)])
        width = max(width, lettering.width(text.cost, 11, 600))
        rows = len(text.lines) + bool(text.cost)
        return QSize(
            round(width) + 2 * (_PAD + _SHADOW), 2 * _SHADOW + 38 + _LINE * rows + (4 if rows else 0)
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._text is None:
            return
        theme = self._canvas.theme
        lettering = Lettering(theme)
        card = QRectF(self.rect()).adjusted(_SHADOW, _SHADOW, -_SHADOW, -_SHADOW)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            shade = QColor(theme.color("shadow"))
            shade.setAlphaF(0.05)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(shade)
            for spread in range(1, _SHADOW):
                painter.drawRoundedRect(
                    card.adjusted(-spread, -spread + 1, spread, spread + 1), 8 + spread, 8 + spread
                )
            painter.setBrush(theme.color("panel"))
            painter.setPen(QPen(theme.color("strong"), 1))
            painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
            left, right, y = card.left() + _PAD, card.right() - _PAD, card.top() + 19
            lettering.left(painter, self._text.title, 13, 700, theme.color("text"), left, y)
            lettering.right(painter, self._text.right, 11, 400, theme.color("text-2"), right, y)
            y += 4
            for line in self._text.lines:
                y += _LINE
                lettering.left(painter, line, 11, 400, theme.color("text-2"), left, y)
            if self._text.cost:
                lettering.left(painter, self._text.cost, 11, 600, theme.color("error"), left, y + _LINE)


def card_text(scene: Scene, strands: Strands, found: Hit) -> CardText | None:
    """What to say of a device, a direction of a link or bundle, or a container."""
    if found.kind == "strand":
        return _strand_text(scene, strands, found)
    if found.kind == "device":
        return _device_text(scene, found.row)
    if found.kind == "tier":
        return _tier_text(scene, strands, found)
    container = scene.index.containers[found.row]
    devices = scene.index.devices_in(found.row)
    gpus = sum(scene.index.devices[row].kind is DeviceKind.GPU for row in devices.tolist())
    lines = [f"{plural(gpus, 'GPU')}, {plural(len(devices), 'device')}"]
    down = int((scene.index.state[devices] == DOWN).sum())
    if down:
        lines.append(f"{plural(down, 'device')} down")
    return CardText(
        container.label or container.id, container.kind.value, (*lines, *_mean_lines(scene, devices))
    )


def _mean_lines(scene: Scene, devices: IntArray) -> list[str]:
    """The mean and the highest load of all links at some devices."""
    if scene.report is None or not len(devices):
        return []
    inside = np.zeros(len(scene.index.devices), dtype=bool)
    inside[devices] = True
    links = inside[scene.index.ends].any(axis=1) & (scene.peak > 0).any(axis=1)
    weight = scene.index.capacity[links]
    if not weight.sum() > 0:
        return ["Carries nothing in this step"]
    used = scene.utilisation[links]
    mean = float((used.mean(axis=1) * weight).sum() / weight.sum())
    when = {"now": "now", "peak": "at their peaks", "mean": "on average"}[scene.mode]
    who = f" by {scene.traffic_name} alone" if scene.traffic_name else ""
    lines = [f"Links {when}{who}: mean {format_percent(mean)}, highest {format_percent(float(used.max()))}"]
    worst = float(scene.worst[links].max())
    if oversubscribed(np.array([worst])).any():
        lines.append(f"Worst link offered {format_ratio(worst)} what it can carry")
    return lines


def _tier_text(scene: Scene, strands: Strands, found: Hit) -> CardText:
    plan = scene.plan
    devices = np.flatnonzero(plan.tier_of == found.row).astype(np.int32)
    models = sorted({scene.index.devices[row].model for row in devices.tolist()})
    name = ", ".join(short_model(model) for model in models[:2])
    cables = int(strands.cables[(strands.end == found.row).any(axis=1)].sum())
    lines = (f"{plural(cables, 'cable')} to other tiers and nodes", *_mean_lines(scene, devices))
    return CardText(scene.tier_name(plan, found.row), name, lines)


def _strand_text(scene: Scene, strands: Strands, found: Hit) -> CardText:
    index = scene.index
    members = strands.members(found.row)
    flipped = strands.flipped[strands.start[found.row] : strands.start[found.row + 1]]
    direction = [int(flip) ^ found.half for flip in flipped.tolist()]
    links = members.tolist()
    capacity = float(index.capacity[members].sum())
    kind = index.links[links[0]].kind
    port = format_port(index.links[links[0]].lane_bytes_per_s)
    speed = port if kind in NETWORK_LINKS else LINK_NAMES[kind]
    cables = int(strands.cables[found.row])
    right = f"{f'{cables} × ' if cables > 1 else ''}{speed} · {format_rate(capacity)}"
    lines: list[str] = []
    lane = strands.lane_of(found.row)
    if lane >= 0:
        lines.append(f"Lane {lane + 1} of {index.links[links[0]].count:,}; figures are of all of them")
    states = {index.links[row].state for row in links}
    if states != {State.UP}:
        lines.append(
            "Down: carries nothing" if states == {State.DOWN} else f"Degraded: {format_rate(capacity)} left"
        )
    cable = cable_text(scene.document.topology, [index.links[row] for row in links])
    if cable:
        lines.append(f"{cables} × {cable}" if cables > 1 else cable)
    cost, ports = "", [_port_text(scene, links[0], lane)] if len(links) == 1 else []
    if scene.report is not None:
        lines += _load_lines(scene, links, direction, capacity)
        lines += _flow_lines(scene, links, direction)
        seconds = max(float(scene.cost[row, way]) for row, way in zip(links, direction, strict=True))
        if seconds > 0 and not scene.traffic_name:  # a cost belongs to no dimension
            cost = f"Costs {format_seconds(seconds)} of a {format_seconds(scene.report.totals.time_s)} step"
    return CardText(scene.strand_name(strands, found.row, found.half), right, (*lines, *ports), cost)


def _port_text(scene: Scene, row: int, lane: int) -> str:
    """The ports at both ends of a link, as they are counted on the drawing."""
    link, ports = scene.index.links[row], scene.ports
    named = [
        f"{ident} {ports.name(row, side, link.count, lane)}" for side, ident in enumerate((link.a, link.b))
    ]
    return f"Ports: {named[0]}, {named[1]}"


def _load_lines(scene: Scene, links: list[int], direction: list[int], capacity: float) -> list[str]:
    pairs = list(zip(links, direction, strict=True))
    usable = scene.usable[links]
    rate = sum(float(scene.utilisation[row, way]) * float(scene.usable[row]) for row, way in pairs)
    when = {"now": "now", "peak": "at its peak", "mean": "on average"}[scene.mode]
    share = rate / float(usable.sum()) if usable.sum() > 0 else 0.0
    who = f"{scene.traffic_name} alone: " if scene.traffic_name else ""
    lines = [
        f"{who}{format_rate(rate)} {when}, {format_percent(share)} of what it can use"
        if rate > 0
        else f"{who or 'Idle '}{'nothing ' if who else ''}{when}"
    ]
    worst = max(float(scene.worst[row, way]) for row, way in pairs)
    if oversubscribed(np.array([worst])).any():
        offered = max(float(scene.worst[row, way]) * float(scene.index.capacity[row]) for row, way in pairs)
        what, which = format_rate(offered), "one of them" if len(links) > 1 else "it"
        lines.insert(
            0,
            f"Offered {what} = {format_ratio(worst)} what {which} can carry",
        )
    return lines


def _flow_lines(scene: Scene, links: list[int], direction: list[int]) -> list[str]:
    """Bytes of a step by dimension, the largest first."""
    if scene.report is None:
        return []
    rows = [
        2 * int(scene.row_in_report[row]) + way
        for row, way in zip(links, direction, strict=True)
        if scene.row_in_report[row] >= 0
    ]
    sums = {name: float(values[rows].sum()) for name, values in scene.report.bytes_by_dimension.items()}
    largest = sorted((item for item in sums.items() if item[1] > 0), key=lambda item: -item[1])
    if not largest:
        return ["Carries nothing in this step"]
    return [
        " · ".join(f"{dimension_name(name)} {format_bytes(value)}" for name, value in largest[:_MOST_FLOWS])
        + " a step"
    ]


def _device_text(scene: Scene, row: int) -> CardText:
    device = scene.index.devices[row]
    lines: list[str] = []
    if device.state is not State.UP:
        lines.append(
            f"{device.state.value.capitalize()}"
            + (f", speed {format_percent(device.speed)}" if device.speed < 1 else "")
        )
    second = scene.texts.second_line(row)
    if second:
        lines.append(f"{second} ports")
    elif device.rail is not None:
        lines.append(f"Rail {device.rail}")
    if device.kind is DeviceKind.GPU:
        lines += _rank_lines(scene, device.id)
    links = len(scene.index.links_of(row))
    lines.append(plural(links, "link") if links else "Not connected yet")
    return CardText(device.id, short_model(device.model), tuple(lines))


def _rank_lines(scene: Scene, ident: str) -> list[str]:
    if scene.report is None:
        return []
    placement = scene.report.placement
    if ident not in placement.gpus:
        return ["Not placed"]
    place = placement.gpus.index(ident)
    rank = int(placement.rank[place])
    if rank < 0:
        return ["Not placed"]
    where = " · ".join(
        f"{dimension_name(name)} {int(placement.coordinates[name][place])}"
        for name in DIMENSIONS
        if name in placement.coordinates
    )
    return [f"Rank {rank}: {where}"]
