"""Commands that look over the whole drawing and work on many parts: find, select, replace, repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from model.errors import EditRefused

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.document.edits import Edit


class BulkCommands(QObject):
    """Opens the dialogs for work on many parts, on a context. Each edit is one undo step.

    `templates_changed` comes when the user's own templates are others.
    """

    templates_changed = Signal()

    def __init__(self, context: AppContext, window: QWidget) -> None:
        super().__init__(window)
        self._context = context
        self._window = window

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            "edit.find": self.find,
            "edit.select_by": self.select_by,
            "edit.replace_model": self.replace_model,
            "edit.duplicate_row": self.duplicate_row,
            "file.save_template": self.save_template,
        }

    def find(self) -> None:
        """Find something by what the user types, and go there."""
        from gui.dialogs.search import SearchDialog, search_index

        dialog = SearchDialog(self._context, search_index(self._context), self._window)
        dialog.exec()
        dialog.deleteLater()

    def select_by(self) -> None:
        """Select by what things have in common."""
        from gui.dialogs.search_select import SelectDialog

        dialog = SelectDialog(self._context, self._window)
        dialog.exec()
        dialog.deleteLater()

    def replace_model(self) -> None:
        """Put another model in place of devices, and light what then no longer fits."""
        from gui.dialogs.replace_model import ReplaceModelDialog

        dialog = ReplaceModelDialog(self._context, self._window)
        accepted = dialog.exec() == ReplaceModelDialog.DialogCode.Accepted
        plan = dialog.plan
        dialog.deleteLater()
        if not accepted or plan is None:
            return
        if self._push(plan.edit, dialog.text):
            self._context.set_lit_links(
                [ident for misfit in plan.misfits for ident in misfit.links],
                [ident for misfit in plan.misfits for ident in misfit.devices],
            )
            self._context.say(f"{dialog.text}.")

    def duplicate_row(self) -> None:
        """Make several copies of the selection along a row."""
        from gui.dialogs.duplicate import DuplicateDialog

        dialog = DuplicateDialog(self._context, self._window)
        accepted = dialog.exec() == DuplicateDialog.DialogCode.Accepted
        row = dialog.row
        dialog.deleteLater()
        if accepted and row is not None and self._push(row.edit, dialog.text):
            self._context.go_to(ident for names in row.names for ident in names)

    def save_template(self) -> None:
        """Save the selected devices, with the links among them, as a template of the user's own."""
        from gui import own_templates
        from gui.dialogs.save_template import SaveTemplateDialog
        from model.document.clipboard import copy

        fragment = copy(self._context.document.document, self._context.selection)
        if not fragment.devices:
            self._context.say("Select the devices that the template is to hold.")
            return
        dialog = SaveTemplateDialog(fragment, own_templates.folder(), self._window)
        accepted = dialog.exec() == SaveTemplateDialog.DialogCode.Accepted
        path = dialog.path
        dialog.deleteLater()
        if accepted and path is not None:
            own_templates.load()
            self.templates_changed.emit()
            self._context.say(f"Saved as a template: {path.name}. It is in the gallery.")

    def _push(self, edit: Edit, text: str) -> bool:
        try:
            self._context.document.push(edit, text)
        except EditRefused as refusal:
            self._context.say(str(refusal))
            return False
        return True
