"""The context menu: what can be done with what is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from model.document.edits import Batch, Edit, SetFields
from model.errors import EditRefused
from model.text import plural
from model.topology.types import DeviceKind, State

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

DEGRADED_SHARE = 0.75
_STATE_WORDS = {State.UP: "Up", State.DEGRADED: "Degraded", State.DOWN: "Down"}


def canvas_menu(view: CanvasView) -> QMenu:
    """A menu that deletes itself when it closes."""
    menu = QMenu(view)
    menu.aboutToHide.connect(menu.deleteLater)
    context = view.context
    topology = context.document.document.topology
    devices = [ident for ident in context.selection if topology.has_device(ident)]
    if devices or any(topology.has_link(ident) for ident in context.selection):
        _states(view, menu)
        menu.addSeparator()
    if len(devices) == 1 and topology.device(devices[0]).kind is DeviceKind.GPU:
        shown = context.partners_of == devices[0]
        text = "Hide partners" if shown else "Show this GPU's partners"
        wanted = None if shown else devices[0]
        menu.addAction(text, lambda: context.set_partners_of(wanted))
        menu.addSeparator()
    if context.selection:
        if any(not topology.has_link(ident) for ident in context.selection):
            menu.addAction("Cut", view.edit.cut)
            menu.addAction("Copy", view.edit.copy)
            menu.addAction("Duplicate", view.edit.duplicate)
        menu.addAction("Delete", view.edit.delete)
        menu.addSeparator()
        menu.addAction("Fit selection", view.fit_selection)
    paste: QAction = menu.addAction("Paste", view.edit.paste)
    paste.setEnabled(context.clipboard is not None)
    if not view.scene_data.index.empty:
        menu.addAction("Select all", view.edit.select_all)
        menu.addAction("Fit all", view.fit)
    return menu


def _states(view: CanvasView, menu: QMenu) -> None:
    topology = view.context.document.document.topology
    chosen = view.context.selection
    current = {topology.device(ident).state for ident in chosen if topology.has_device(ident)}
    current |= {topology.link(ident).state for ident in chosen if topology.has_link(ident)}
    for state in State:
        action = menu.addAction(_STATE_WORDS[state])
        action.setCheckable(True)
        action.setChecked(current == {state})
        action.triggered.connect(lambda _checked=False, wanted=state: set_state(view, wanted))


def set_state(view: CanvasView, state: State) -> None:
    """Give the selected devices and links a state, as one undo step.

    A link or GPU that is to be degraded and still delivers everything gets three quarters of it.
    """
    topology = view.context.document.document.topology
    chosen = view.context.selection
    devices = tuple(sorted(ident for ident in chosen if topology.has_device(ident)))
    links = tuple(sorted(ident for ident in chosen if topology.has_link(ident)))
    edits: list[Edit] = []
    if devices:
        edits.append(SetFields("device", devices, {"state": state}))
    if links:
        edits.append(SetFields("link", links, {"state": state}))
    if state is State.DEGRADED:
        whole = tuple(ident for ident in links if topology.link(ident).share >= 1.0)
        if whole:
            edits.append(SetFields("link", whole, {"share": DEGRADED_SHARE}))
        gpus = tuple(
            ident
            for ident in devices
            if topology.device(ident).kind is DeviceKind.GPU and topology.device(ident).speed >= 1.0
        )
        if gpus:
            edits.append(SetFields("device", gpus, {"speed": DEGRADED_SHARE}))
    if not edits:
        return
    what = plural(len(devices) + len(links), "part")
    try:
        view.context.document.push(Batch(tuple(edits)), f"Set {what} {state.value}")
    except EditRefused as refused:
        view.context.say(str(refused))
