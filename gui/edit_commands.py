"""What the edit menu does: copy, paste, duplicate, delete, select, tidy up. Each is one undo step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from model.errors import EditRefused
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.document.clipboard import Fragment
    from model.document.edits import Edit


class EditCommands(QObject):
    """The edit menu on the document and selection of a context. What is refused is said; nothing changes."""

    def __init__(self, context: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._pastes = 0
        context.clipboard_changed.connect(self._forget_pastes)

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        stack = self._context.document.undo_stack
        return {
            "edit.undo": stack.undo,
            "edit.redo": stack.redo,
            "edit.cut": self.cut,
            "edit.copy": self.copy,
            "edit.paste": self.paste,
            "edit.duplicate": self.duplicate,
            "edit.delete": self.delete,
            "edit.select_all": self.select_all,
            "edit.deselect": lambda: self._context.set_selection(()),
            "edit.group": self.group,
            **{f"edit.group_{kind}": partial(self.group, kind) for kind in ("tray", "rack", "pod", "site")},
            "edit.ungroup": self.ungroup,
            "edit.put_into_racks": self.put_into_racks,
            "view.tidy": self.tidy,
            "job.clear": self.clear_colours,
        }

    def push(self, edit: Edit, text: str) -> bool:
        """Do an edit as one undo step; a refusal is said in the window."""
        try:
            self._context.document.push(edit, text)
        except EditRefused as refusal:
            self._context.say(str(refusal))
            return False
        return True

    def copy(self) -> bool:
        """Keep the selected devices with the links among them."""
        from model.document.clipboard import copy

        fragment = copy(self._context.document.document, self._context.selection)
        if fragment.empty:
            self._context.say("Select devices to copy; links come along when both their ends do.")
            return False
        self._context.set_clipboard(fragment)
        self._context.say(
            f"Copied {plural(len(fragment.devices), 'device')} and {plural(len(fragment.links), 'link')}."
        )
        return True

    def cut(self) -> None:
        """Copy the selection, then take it away."""
        if self.copy():
            self._remove("Cut")

    def paste(self) -> None:
        """Add what was copied, beside it."""
        fragment = self._context.clipboard
        if fragment is not None:
            self._pastes += 1
            self._add(fragment, self._pastes, "Paste")

    def duplicate(self) -> None:
        """Add a copy of the selection beside it."""
        from model.document.clipboard import copy

        fragment = copy(self._context.document.document, self._context.selection)
        if not fragment.empty:
            self._add(fragment, 1, "Duplicate")

    def delete(self) -> None:
        """Take the selection away, with all links of its devices and all that its containers hold."""
        self._remove("Delete")

    def select_all(self) -> None:
        """Select every device and container."""
        topology = self._context.document.document.topology
        self._context.set_selection(
            [device.id for device in topology.devices()] + [box.id for box in topology.containers()]
        )

    def group(self, kind: str = "") -> None:
        """Put the selection into a new container, by default of the kind that one would put around it."""
        from model.document.rack_edits import free_name, group, group_kind, outermost
        from model.topology.types import ContainerKind

        document = self._context.document.document
        chosen = outermost(document.topology, self._context.selection)
        wanted = ContainerKind(kind) if kind else group_kind(document.topology, chosen)
        name = free_name(document.topology, wanted.value)
        try:
            edit = group(document, chosen, wanted, name)
        except EditRefused as refusal:
            self._context.say(str(refusal))
            return
        if self.push(edit, f"Group {plural(len(chosen), 'part')} as {name}"):
            self._context.set_selection({name})

    def ungroup(self) -> None:
        """Take the selected containers away and select what they held."""
        from model.document.rack_edits import ungroup

        document = self._context.document.document
        try:
            edit = ungroup(document, self._context.selection)
        except EditRefused as refusal:
            self._context.say(str(refusal))
            return
        topology = document.topology
        inside = {ident for box in edit.container_ids for ident in topology.children(box)}
        if self.push(edit, f"Ungroup {plural(len(edit.container_ids), 'container')}"):
            self._context.set_selection(ident for ident in inside if topology.has(ident))

    def put_into_racks(self) -> None:
        """Ask how to stand what is in no rack into racks."""
        from gui.dialogs.put_into_racks import PutIntoRacksDialog

        parent = self.parent()
        PutIntoRacksDialog(self._context, parent if isinstance(parent, QWidget) else None).open()

    def tidy(self) -> None:
        """Arrange all devices by role."""
        from model.document.pins import tidy_all

        self._context.push_layout(tidy_all(self._context.document.document), "Tidy up")

    def clear_colours(self) -> None:
        """Take the colours of all GPUs away."""
        from model.document.edits import ClearPaint

        if self._context.document.document.paint:
            self.push(ClearPaint(), "Take away all colours")

    def _forget_pastes(self) -> None:
        self._pastes = 0

    def _add(self, fragment: Fragment, times: int, text: str) -> None:
        from model.document.clipboard import paste
        from model.topology.footprint import CONTAINER_PADDING, FOOTPRINT, GRID

        kinds = {device.id: device.kind for device in fragment.devices}
        left = [x - FOOTPRINT[kinds[ident]][0] / 2 for ident, (x, _) in fragment.positions.items()]
        right = [x + FOOTPRINT[kinds[ident]][0] / 2 for ident, (x, _) in fragment.positions.items()]
        width = (max(right) - min(left)) if left else 0.0
        step = -(-(width + 2 * CONTAINER_PADDING + GRID) // GRID) * GRID
        edit = paste(self._context.document.document, fragment, (step * times, 0.0))
        if self.push(edit, f"{text} {plural(len(fragment.devices), 'device')}"):
            self._context.set_selection(
                [device.id for device in edit.devices] + [box.id for box in edit.containers]
            )

    def _remove(self, verb: str) -> None:
        from model.document.edits import RemoveParts

        topology = self._context.document.document.topology
        devices, links, containers = set[str](), set[str](), set[str]()
        for ident in self._context.selection:
            if topology.has_container(ident):
                containers.add(ident)
                for inner in topology.descendants(ident):
                    (containers if topology.has_container(inner) else devices).add(inner)
            elif topology.has_device(ident):
                devices.add(ident)
            elif topology.has_link(ident):
                links.add(ident)
        count = len(devices) + len(links) + len(containers)
        if count:
            edit = RemoveParts(tuple(sorted(devices)), tuple(sorted(links)), tuple(sorted(containers)))
            inside = len(devices | containers) - len((devices | containers) & self._context.selection)
            if self.push(edit, f"{verb} {plural(count, 'part')}") and verb == "Delete" and inside:
                self._context.say(
                    f"Deleted with {plural(inside, 'part')} inside; Ungroup keeps what is inside."
                )
