"""The part of the inspector for trays, racks, pods and sites, and for what stands in a rack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gui.panels.facts import KIND_NAMES
from gui.panels.inspector_form import Form
from gui.panels.inspector_values import Selected, common
from gui.panels.rack_rows import UNKNOWN, height_text, power_text, weight_text
from gui.widgets.fields import AmountField, ChoiceField
from model.catalog import catalog
from model.document.edits import Batch, Edit, SetFields
from model.document.membership import into_container
from model.errors import EditRefused
from model.text import plural
from model.topology.equipment import Equipment, equipment, equipment_sources, mountable
from model.topology.graph import Topology
from model.topology.nesting import nesting_refusal
from model.topology.racks import Thing
from model.topology.types import Container, ContainerKind, Device

if TYPE_CHECKING:
    from gui.context import AppContext

KINDS = tuple((kind.value, KIND_NAMES[kind.value]) for kind in ContainerKind)
OUTSIDE = ""
_MOST_PARENTS = 400


class RackForm(Form):
    """Kind, place, height, power and weight.

    `edited` hands over an edit with its text, `refused` a reason.
    """

    edited = Signal(object, str)
    refused = Signal(str)

    def __init__(self, context: AppContext) -> None:
        super().__init__("Container and rack")
        self._context = context
        self._boxes: tuple[Container, ...] = ()
        self._things: tuple[Thing, ...] = ()
        self.kind = ChoiceField("Kind")
        self.kind.set_options(KINDS)
        self.parent_ = ChoiceField("Lies in")
        self.u = AmountField("Lowest U", "", whole=True)
        self.height_ = AmountField("Height", "U")
        self.power = AmountField("Power", "kW", factor=1000.0)
        self.weight = AmountField("Weight", "kg")
        self.row = AmountField("Row", "", whole=True)
        self.column = AmountField("Column", "", whole=True)
        for text, field in (
            ("Kind", self.kind),
            ("In", self.parent_),
            ("U", self.u),
            ("Height", self.height_),
            ("Power", self.power),
            ("Weight", self.weight),
            ("Row", self.row),
            ("Column", self.column),
        ):
            self.add(text, field)
        self.kind.committed.connect(lambda kind: self._set({"kind": kind}))
        self.parent_.committed.connect(self._move)
        for field, name in (
            (self.u, "u"),
            (self.height_, "height_u"),
            (self.power, "power_w"),
            (self.weight, "weight_kg"),
            (self.row, "row"),
            (self.column, "column"),
        ):
            field.committed.connect(self._setter(name))
            field.refused.connect(self.refused)

    def _setter(self, name: str) -> Callable[[object], None]:
        # Rows and columns are counted from 1 in the window.
        shift = 1 if name in ("row", "column") else 0
        return lambda value: self._set({name: value - shift if isinstance(value, int) else value})

    def show_for(self, what: Selected) -> bool:
        """Show the selection; False, and nothing, where it has no place, height, power or weight."""
        topology = self._context.document.document.topology
        loose = [device for device in what.devices if self._stands(topology, device)]
        if what.links or len(loose) != len(what.devices):
            return False
        things: tuple[Thing, ...] = (*what.containers, *loose)
        if not things:
            return False
        self._boxes, self._things = what.containers, things
        all_boxes = len(what.containers) == len(things)
        kinds = {box.kind for box in what.containers}
        racks = all_boxes and kinds == {ContainerKind.RACK}
        standing = all(mountable(topology, thing.id) for thing in things)
        self.show_row(self.kind, all_boxes)
        self.kind.set_value(common(box.kind.value for box in what.containers))
        self._show_parents(topology)
        in_racks = standing and all(self._in_rack(topology, thing) for thing in things)
        self.show_row(self.u, in_racks)
        self._show(self.u, [thing.u for thing in things], UNKNOWN)
        for field in (self.height_, self.power, self.weight):
            self.show_row(field, racks or standing)
        for field in (self.row, self.column):
            self.show_row(field, racks)
        if racks:
            self._show_racks(what.containers)
        elif standing:
            self._show_figures([equipment(topology, thing) for thing in things])
        return True

    def _show_racks(self, racks: Iterable[Container]) -> None:
        racks = tuple(racks)
        self.height_.setToolTip("")
        self.power.setToolTip("What the rack can supply")
        self.weight.setToolTip("Of the rack without what stands in it")
        default = height_text(catalog().racks.height_u)
        self._show(self.height_, [rack.height_u for rack in racks], default)
        self._show(self.power, [rack.power_w for rack in racks], UNKNOWN)
        self._show(self.weight, [rack.weight_kg for rack in racks], UNKNOWN)
        for field, values in (
            (self.row, [rack.row for rack in racks]),
            (self.column, [rack.column for rack in racks]),
        ):
            self._show(field, [None if value is None else value + 1 for value in values], "in order")

    def _show_figures(self, known: list[Equipment]) -> None:
        """Own values; where there is none, faintly what the catalogue says."""
        topology = self._context.document.document.topology
        sources = equipment_sources(topology, self._things[0]) if len(self._things) == 1 else ("", "", "")
        fields = (self.height_, self.power, self.weight)
        words = ("U that it takes", "The most that it draws", "Its weight")
        for field, word, source in zip(fields, words, sources, strict=True):
            field.setToolTip(f"{word}. Catalogue: {source}" if source else f"{word}.")
        for field, own, by_catalogue in (
            (self.height_, [one.height_u for one in self._things], {height_text(x.height_u) for x in known}),
            (self.power, [one.power_w for one in self._things], {power_text(x) for x in known}),
            (self.weight, [one.weight_kg for one in self._things], {weight_text(x.weight_kg) for x in known}),
        ):
            otherwise = by_catalogue.pop() if len(by_catalogue) == 1 else "mixed"
            self._show(field, own, otherwise)

    def _show(
        self, field: AmountField, values: list[float | None] | list[int | None], otherwise: str
    ) -> None:
        found = set(values)
        value = found.pop() if len(found) == 1 else None
        field.set_value(value, otherwise=otherwise, mixed=bool(found))

    def _show_parents(self, topology: Topology) -> None:
        chosen = {thing.id for thing in self._things}
        options = [(OUTSIDE, "the drawing")]
        for box in topology.containers():
            if len(options) > _MOST_PARENTS:
                break
            if box.id not in chosen and self._holds(topology, box):
                options.append((box.id, box.id))
        current = common(thing.parent or OUTSIDE for thing in self._things)
        if current is not None and current not in {ident for ident, _ in options}:
            options.append((current, current))
        self.parent_.set_options(options)
        self.parent_.set_value(current)

    def _holds(self, topology: Topology, box: Container) -> bool:
        """Whether all that is selected can lie in a container."""
        inside: str | None = box.parent
        while inside is not None:
            if any(thing.id == inside for thing in self._things):
                return False
            inside = topology.container(inside).parent
        return all(
            box.kind is not ContainerKind.TRAY
            if isinstance(thing, Device)
            else not nesting_refusal(thing, box)
            for thing in self._things
        )

    @staticmethod
    def _stands(topology: Topology, device: Device) -> bool:
        if not mountable(topology, device.id):
            return False
        return device.parent is None or topology.container(device.parent).kind is not ContainerKind.TRAY

    @staticmethod
    def _in_rack(topology: Topology, thing: Thing) -> bool:
        return thing.parent is not None and topology.container(thing.parent).kind is ContainerKind.RACK

    # --- changing ------------------------------------------------------------------------------------------

    def _set(self, fields: dict[str, object]) -> None:
        name = next(iter(fields))
        words = {"u": "U", "height_u": "height", "power_w": "power", "weight_kg": "weight"}
        self._edit([(thing.id, fields) for thing in self._things], f"Set {words.get(name, name)}")

    def _move(self, parent: str) -> None:
        """Into another container; into a rack at the lowest free U."""
        document = self._context.document.document
        ids = [thing.id for thing in self._things]
        text = f"Move {ids[0] if len(ids) == 1 else plural(len(ids), 'thing')} into {parent or 'the drawing'}"
        try:
            self.edited.emit(into_container(document, ids, parent or None), text)
        except EditRefused as refusal:
            self.refused.emit(str(refusal))

    def _edit(self, changes: list[tuple[str, dict[str, object]]], text: str) -> None:
        fields = changes[0][1]
        boxes = {box.id for box in self._boxes}
        edits: list[Edit] = []
        for target, ids in (
            ("container", tuple(ident for ident, _ in changes if ident in boxes)),
            ("device", tuple(ident for ident, _ in changes if ident not in boxes)),
        ):
            if ids:
                edits.append(SetFields("container" if target == "container" else "device", ids, fields))
        suffix = "" if text.startswith("Move") else f" of {plural(len(changes), 'thing')}"
        self.edited.emit(edits[0] if len(edits) == 1 else Batch(tuple(edits)), text + suffix)
