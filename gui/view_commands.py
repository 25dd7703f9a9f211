"""How a drawing is looked at and laid out: pins, folds, the style of links, paths in focus, snapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from model.errors import EditRefused
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext

LINK_STYLES = ("curved", "straight", "orthogonal")
FOLDED_KINDS = ("tray", "rack", "pod", "site")
SWITCHES = ("snap_to_grid", "snap_to_parts", "reduce_motion")


class ViewCommands(QObject):
    """The commands of a context; `checks_changed` comes when one of the checked ones is another."""

    checks_changed = Signal()

    def __init__(self, context: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        context.preferences.changed.connect(self.checks_changed)
        context.document.changed.connect(self.checks_changed)
        context.document.reset.connect(self.checks_changed)

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            **{f"view.links_{style}": partial(self.set_link_style, style) for style in LINK_STYLES},
            **{f"view.{name}": partial(self.switch, name) for name in SWITCHES},
            "arrange.pin": self.toggle_pins,
            "view.fold": self.toggle_folds,
            **{f"view.fold_{kind}s": partial(self.fold_kind, kind) for kind in FOLDED_KINDS},
            "view.unfold_all": self.unfold_all,
            "view.focus": self.toggle_focus,
        }

    def checks(self) -> Mapping[str, bool]:
        """Which of the checkable actions hold now."""
        preferences, links = self._context.preferences, self._context.document.document.view.links
        return {
            **{f"view.links_{style}": links == style for style in LINK_STYLES},
            **{f"view.{name}": getattr(preferences, name) for name in SWITCHES},
        }

    def switch(self, name: str) -> None:
        """Turn a preference on or off."""
        preferences = self._context.preferences
        preferences.set(name, not getattr(preferences, name))

    def set_link_style(self, style: str) -> None:
        """Let links run curved, straight or with corners; as a look of the drawing it is no undo step."""
        from model.document.edits import SetLinkStyle
        from model.document.view_state import LinkStyle

        if self._context.document.document.view.links != style:
            self._context.document.show(SetLinkStyle(LinkStyle(style)))

    # Pins

    def toggle_pins(self) -> None:
        """Pin the selected devices and containers where they are; where all are pinned, let them go."""
        from model.document.edits import SetPins

        document = self._context.document
        topology, pins = document.document.topology, document.document.view.pins
        chosen = frozenset(ident for ident in self._context.selection if not topology.has_link(ident))
        if not chosen:
            self._context.say("Select devices or containers to pin them.")
            return
        free = chosen - pins
        verb = "Pin" if free else "Unpin"
        edit = SetPins(pin=free) if free else SetPins(unpin=chosen)
        document.push(edit, f"{verb} {plural(len(free or chosen), 'part')}")

    # Folds

    def toggle_folds(self) -> None:
        """Draw the selected containers as one box each; where all are, open them."""
        topology = self._context.document.document.topology
        chosen = frozenset(ident for ident in self._context.selection if topology.has_container(ident))
        if not chosen:
            self._context.say("Select trays, racks, pods or sites to fold them.")
            return
        open_ones = chosen - self._context.document.document.view.folds
        self._fold(open_ones, frozenset() if open_ones else chosen)

    def fold_kind(self, kind: str) -> None:
        """Fold every container of a kind."""
        boxes = self._context.document.document.topology.containers()
        chosen = frozenset(box.id for box in boxes if box.kind == kind)
        if chosen:
            self._fold(chosen, frozenset())
        else:
            self._context.say(f"There is no {kind} on this drawing.")

    def unfold_all(self) -> None:
        """Open every container."""
        self._fold(frozenset(), self._context.document.document.view.folds)

    def _fold(self, fold: frozenset[str], unfold: frozenset[str]) -> None:
        from model.document.edits import SetFolds

        try:
            self._context.document.show(SetFolds(fold, unfold))
        except EditRefused as refusal:
            self._context.say(str(refusal))

    # Focus

    def toggle_focus(self) -> None:
        """Show the paths of the one selected device, or the route between two; again leaves it."""
        context = self._context
        topology = context.document.document.topology
        chosen = tuple(ident for ident in context.ordered_selection() if topology.has_device(ident))
        if context.focus and (not chosen or set(chosen) == set(context.focus)):
            context.set_focus(())
        elif len(chosen) in (1, 2):
            context.set_focus(chosen)
        else:
            context.say("Select one device to see its paths, or two to see the route between them.")
