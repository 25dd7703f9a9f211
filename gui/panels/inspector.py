"""The properties of what is selected. Every change is one undo step; what differs is shown as "mixed"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.panels.facts import KIND_NAMES
from gui.panels.inspector_form import Form
from gui.panels.inspector_racks import RackForm
from gui.panels.inspector_values import (
    Selected,
    common,
    container_lines,
    device_lines,
    length_text,
    link_lines,
    selected,
    set_share,
    speed_options,
    title,
)
from gui.part_states import degradable, state_edits
from gui.widgets.fields import MIXED, AmountField, ChoiceField, NumberField, ShareField, TextField
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label
from model.catalog import catalog
from model.document.edits import Batch, Edit, Rename, SetFields
from model.errors import EditRefused
from model.text import plural
from model.topology.cables import cable_length_m
from model.topology.graph import ThingKind
from model.topology.types import DeviceKind, State

if TYPE_CHECKING:
    from gui.context import AppContext

STATES = (("up", "Up"), ("degraded", "Degraded"), ("down", "Down"))
MOST_RAILS = 4095
MOST_LANES = 1_000_000
_MOST_MEASURED = 200


_UNIT = re.compile(r"(?<=\d) (?=%|[GMkT]?B\b|ms\b|µs\b|s\b)")  # a figure and its unit stay in one line


class InspectorPanel(QWidget):
    """Name, model, state, rail and speed of devices; speed, count, state and share of links."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._what = Selected((), (), ())
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Properties")
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, 6, PADDING, 10)
        column.setSpacing(6)
        self._icon = QLabel()
        self._icon.setFixedWidth(20)
        self.header = SectionHeader("Properties")
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self._icon)
        head.addWidget(self.header, 1)
        column.addLayout(head)
        self.name = TextField("Name")
        self._lines = label("", 10, 400, "2", wrap=True)
        self._lines.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._error = label("", 11, 500, wrap=True)
        self._error.setProperty("soft", "error")
        names = Form("Name")
        names.add("Name", self.name)
        self._names = names
        column.addWidget(names)
        self._devices = self._device_form()
        self._links = self._link_form()
        self.racks = RackForm(context)
        self.racks.edited.connect(self._push)
        self.racks.refused.connect(self._refuse)
        for form in (self._devices, self._links, self.racks):
            column.addWidget(form)
        column.addWidget(self._error)
        column.addWidget(self._lines)
        column.addStretch(1)
        self.name.committed.connect(self._rename)
        context.selection_changed.connect(self.refresh)
        context.document.changed.connect(self.refresh)
        context.document.reset.connect(self.refresh)
        context.analysis_changed.connect(self.refresh)
        context.theme.changed.connect(self._show_icon)
        self.refresh()

    def _device_form(self) -> Form:
        form = Form("Device")
        self.model = ChoiceField("Model")
        self.state = ChoiceField("State")
        self.state.set_options(STATES)
        self.rail = NumberField(0, MOST_RAILS, "Rail", empty="none")
        self.speed = ShareField("Share of compute")
        form.add("Model", self.model)
        form.add("State", self.state)
        form.add("Compute", self.speed)
        form.add("Rail", self.rail)
        self.model.committed.connect(self._set_model)
        self.state.committed.connect(lambda state: self._set_state("device", state))
        self.speed.committed.connect(lambda share: self._push(set_share("device", self._gpus(), share)))
        self.rail.committed.connect(
            lambda rail: self._push(SetFields("device", self._ids("device"), {"rail": rail}))
        )
        return form

    def _link_form(self) -> Form:
        form = Form("Link")
        self.lane = ChoiceField("Speed of one cable or lane")
        self.count = NumberField(1, MOST_LANES, "Cables or lanes")
        self.link_state = ChoiceField("Link state")
        self.link_state.set_options(STATES)
        self.share = ShareField("Share of capacity")
        form.add("Speed", self.lane)
        form.add("Count", self.count)
        form.add("State", self.link_state)
        self.length = AmountField("Length of a cable", "m")
        form.add("Capacity", self.share)
        form.add("Length", self.length)
        self.length.committed.connect(
            lambda length: self._push(
                SetFields("link", self._ids("link"), {"length_m": length}), "Set length"
            )
        )
        self.length.refused.connect(self._refuse)
        self.lane.committed.connect(
            lambda speed: self._push(SetFields("link", self._ids("link"), {"lane_bytes_per_s": float(speed)}))
        )
        self.count.committed.connect(
            lambda count: self._push(SetFields("link", self._ids("link"), {"count": count}))
        )
        self.link_state.committed.connect(lambda state: self._set_state("link", state))
        self.share.committed.connect(lambda share: self._push(set_share("link", self._ids("link"), share)))
        return form

    # --- showing -------------------------------------------------------------------------------------------

    def refresh(self, *_changed: object) -> None:
        """Show the selection as it is now."""
        document = self._context.document.document
        self._what = what = selected(document, self._context.selection)
        self._error.hide()
        self._names.setVisible(what.count == 1)
        self._devices.setVisible(bool(what.devices))
        self._links.setVisible(bool(what.links))
        self.racks.setVisible(self.racks.show_for(what))
        if what.empty:
            self.header.set_title("Properties")
            self.header.set_note("")
            self._lines.setText("Select a device or a link to see and change what it is.")
            self._icon.hide()
            return
        heading, note = title(what)
        self.header.set_title(heading)
        self.header.set_note(note)
        if what.count == 1:
            self.name.set_value(what.ids[0])
        if what.devices:
            self._show_devices(what)
        if what.links:
            self._show_links(what)
        self._show_lines(what)
        self._show_icon()

    def _show_devices(self, what: Selected) -> None:
        kind = common(device.kind for device in what.devices)
        self._devices.show_row(self.model, kind is not None)
        if kind is not None:
            products = catalog().of_kind(kind)
            model = common(device.model for device in what.devices)
            options = [(ident, spec.name) for ident, spec in products.items()]
            if model is not None and model not in products:
                options.append((model, model))
            self.model.set_options(options)
            self.model.set_value(model)
            self.model.setToolTip(self.model.currentText())
        topology = self._context.document.document.topology
        slows = any(
            degradable(topology, device.id) or device.state is State.DEGRADED for device in what.devices
        )
        self.state.set_options(STATES if slows else [state for state in STATES if state[0] != "degraded"])
        self.state.set_value(common(device.state.value for device in what.devices))
        self._devices.show_row(self.speed, kind is DeviceKind.GPU)
        self.speed.set_value(common(device.speed for device in what.devices))
        rails = {device.rail for device in what.devices}
        self._devices.show_row(self.rail, kind in (DeviceKind.GPU, DeviceKind.NIC, DeviceKind.LEAF))
        self.rail.set_empty("none" if rails == {None} else "mixed")
        self.rail.set_value(rails.pop() if len(rails) == 1 else None)

    def _show_links(self, what: Selected) -> None:
        self.lane.set_options(speed_options(what.links))
        speed = common(link.lane_bytes_per_s for link in what.links)
        self.lane.set_value(repr(speed) if speed is not None else None)
        self.count.set_value(common(link.count for link in what.links))
        self.link_state.set_value(common(link.state.value for link in what.links))
        self.share.set_value(common(link.share for link in what.links))
        topology = self._context.document.document.topology
        lengths = {link.length_m for link in what.links}
        by_racks = {length_text(cable_length_m(topology, link)) for link in what.links[:_MOST_MEASURED]}
        otherwise = by_racks.pop() if len(by_racks) == 1 else MIXED
        length = lengths.pop() if len(lengths) == 1 else None
        self.length.set_value(length, otherwise=otherwise, mixed=bool(lengths))

    def _show_lines(self, what: Selected) -> None:
        analysis = self._context.analysis
        lines: tuple[str, ...] = ()
        if what.count == 1:
            document = self._context.document.document
            if what.devices:
                lines = device_lines(document, what.devices[0], analysis)
            elif what.links:
                lines = link_lines(document.topology, what.links[0], analysis)
            else:
                lines = container_lines(document, what.containers[0])
        elif what.devices:
            kinds: dict[str, int] = {}
            for device in what.devices:
                kinds[device.kind] = kinds.get(device.kind, 0) + 1
            lines = (", ".join(f"{count:,} × {KIND_NAMES[kind]}" for kind, count in kinds.items()),)
        self._lines.setText(_UNIT.sub("\u00a0", "\n".join(lines)))
        self._lines.setVisible(bool(lines))

    def _show_icon(self) -> None:
        what = self._what
        kinds = {device.kind.value for device in what.devices} | {box.kind.value for box in what.containers}
        theme = self._context.theme.current
        if len(kinds) == 1 and not what.links:
            self._icon.setPixmap(theme.device_icon(kinds.pop(), 18, self.devicePixelRatioF()))
        else:
            name = "connect" if what.links and not kinds else "template"
            self._icon.setPixmap(theme.pixmap(name, 18, self.devicePixelRatioF(), theme.color("text-2")))
        self._icon.setVisible(not what.empty)

    # --- changing ------------------------------------------------------------------------------------------

    def _ids(self, target: str) -> tuple[str, ...]:
        things = self._what.links if target == "link" else self._what.devices
        return tuple(thing.id for thing in things)

    def _gpus(self) -> tuple[str, ...]:
        return tuple(device.id for device in self._what.devices if device.kind is DeviceKind.GPU)

    def _set_model(self, model: str) -> None:
        self._push(SetFields("device", self._ids("device"), {"model": model}))

    def _set_state(self, target: str, state: str) -> None:
        ids = self._ids(target)
        edits = state_edits(self._context.document.document.topology, ids, State(state))
        if edits:
            self._push(Batch(edits), f"Set state of {plural(len(ids), target)}")

    def _rename(self, name: str) -> None:
        what = self._what
        kind: ThingKind = "device" if what.devices else "link" if what.links else "container"
        old = what.ids[0]
        if self._push(Rename(kind, old, name), f"Rename {old}"):
            self._context.set_selection({name})

    def _push(self, edit: Edit, text: str | None = None) -> bool:
        if text is None and isinstance(edit, SetFields):
            field = next(iter(edit.fields)).replace("lane_bytes_per_s", "speed")
            text = f"Set {field} of {plural(len(edit.ids), edit.target)}"
        try:
            self._context.document.push(edit, text or "Change")
        except EditRefused as refusal:
            self.refresh()
            self._refuse(str(refusal))
            return False
        return True

    def _refuse(self, reason: str) -> None:
        self._error.setText(reason)
        self._error.show()

    def sizeHint(self) -> QSize:
        return QSize(226, 320)
