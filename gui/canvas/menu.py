"""The context menu: what can be done with what is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from gui.part_states import degradable, state_edits
from model.document.edits import Batch, SetFields
from model.errors import EditRefused
from model.text import plural
from model.topology.types import DeviceKind, State

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

_STATE_WORDS = {State.UP: "Up", State.DEGRADED: "Degraded", State.DOWN: "Down"}


def canvas_menu(view: CanvasView, at: QPointF | None = None) -> QMenu:
    """A menu that deletes itself when it closes; `at` is the pixel that it is asked for at."""
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
    if devices and len(devices) <= 2:
        same = set(devices) == set(context.focus)
        paths = "its paths" if len(devices) == 1 else "the route between them"
        menu.addAction("Leave the focus" if same else f"Focus on {paths}", view.commands.toggle_focus)
    if menu.actions() and not menu.actions()[-1].isSeparator():
        menu.addSeparator()
    _pins_and_folds(view, menu)
    if context.selection:
        if any(not topology.has_link(ident) for ident in context.selection):
            menu.addAction("Cut", view.edit.cut)
            menu.addAction("Copy", view.edit.copy)
            menu.addAction("Duplicate", view.edit.duplicate)
            menu.addAction("Group", view.edit.group)
            if any(topology.has_container(ident) for ident in context.selection):
                menu.addAction("Ungroup", view.edit.ungroup)
        menu.addAction("Delete", view.edit.delete)
        menu.addSeparator()
        menu.addAction("Fit selection", view.fit_selection)
    elif at is not None:
        menu.addAction("Add here…", lambda: view.quick_add.open_at(at, view.camera.to_scene(at)))
    paste: QAction = menu.addAction("Paste", view.edit.paste)
    paste.setEnabled(context.clipboard is not None)
    if not view.scene_data.index.empty:
        menu.addAction("Select all", view.edit.select_all)
        menu.addAction("Fit all", view.fit)
    return menu


def _pins_and_folds(view: CanvasView, menu: QMenu) -> None:
    """Pin what is selected, and fold the containers among it."""
    document, chosen = view.context.document.document, view.context.selection
    placed = [ident for ident in chosen if not document.topology.has_link(ident)]
    boxes = {ident for ident in chosen if document.topology.has_container(ident)}
    if placed:
        pinned = document.view.pins.issuperset(placed)
        menu.addAction("Unpin" if pinned else "Pin in place", view.commands.toggle_pins)
    if boxes:
        menu.addAction("Unfold" if boxes <= document.view.folds else "Fold", view.commands.toggle_folds)
    if placed:
        menu.addSeparator()


def _states(view: CanvasView, menu: QMenu) -> None:
    """The states that at least one selected part can have."""
    topology = view.context.document.document.topology
    chosen = view.context.selection
    current = {topology.device(ident).state for ident in chosen if topology.has_device(ident)}
    current |= {topology.link(ident).state for ident in chosen if topology.has_link(ident)}
    for state in State:
        if state is State.DEGRADED and not any(degradable(topology, ident) for ident in chosen):
            continue
        action = menu.addAction(_STATE_WORDS[state])
        action.setCheckable(True)
        action.setChecked(current == {state})
        action.triggered.connect(lambda _checked=False, wanted=state: set_state(view, wanted))


def set_state(view: CanvasView, state: State) -> None:
    """Give the selected devices and links a state, as one undo step."""
    chosen = view.context.selection
    topology = view.context.document.document.topology
    edits = state_edits(topology, chosen, state)
    if not edits:
        return
    parts = {ident for edit in edits if isinstance(edit, SetFields) for ident in edit.ids}
    try:
        view.context.document.push(Batch(edits), f"Set {plural(len(parts), 'part')} {state.value}")
    except EditRefused as refused:
        view.context.say(str(refused))
