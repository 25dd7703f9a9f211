"""The open document: the only place where the window changes the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

if TYPE_CHECKING:
    from model.document.document import Change, Document
    from model.document.edits import Edit


class _EditCommand(QUndoCommand):
    """One edit that is already applied; undo and redo swap it with the edit that takes it back."""

    def __init__(self, owner: DocumentModel, inverse: Edit, text: str) -> None:
        super().__init__(text)
        self._owner = owner
        self._other = inverse
        self._done = False

    def redo(self) -> None:
        if self._done:
            self._swap()
        self._done = True

    def undo(self) -> None:
        self._swap()

    def _swap(self) -> None:
        self._other = self._owner._apply(self._other)
        self._owner._announce()


class DocumentModel(QObject):
    """A document, its undo stack and its file.

    Signals, each after the state is consistent: `applied(edit)` for whoever replays the edits (also on undo
    and redo), `changed(Change)` once per command, `reset()` when another document took this one's place,
    `saved()`, and `title_changed()` when name, path or unsaved state changed.
    `revision` counts every change and every reset; an analysis names the revision that it is of.
    """

    applied = Signal(object)
    changed = Signal(object)
    reset = Signal()
    saved = Signal()
    title_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document: Document | None = None
        self._path: Path | None = None
        self._stamp: tuple[int, int] | None = None
        self._revision = 0
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(0)
        self.undo_stack.cleanChanged.connect(self._clean_changed)

    @property
    def document(self) -> Document:
        """The open document; an empty one from the start. Read it, never write it."""
        if self._document is None:
            from model.document.document import Document

            self._document = Document()
        return self._document

    @property
    def path(self) -> Path | None:
        """The file that the document was read from or last saved to."""
        return self._path

    @property
    def revision(self) -> int:
        """How often the document changed since the program started."""
        return self._revision

    @property
    def unsaved(self) -> bool:
        """Whether there are changes that no file has."""
        return not self.undo_stack.isClean()

    @property
    def name(self) -> str:
        """What to call the document in a title."""
        return self._path.name if self._path is not None else "Untitled"

    @property
    def changed_on_disk(self) -> bool:
        """Whether the file is another one than was read or last saved here."""
        return self._path is not None and self._stamp != _stamp(self._path)

    def push(self, edit: Edit, text: str) -> None:
        """Apply an edit as one undo step called `text`.

        Raises EditRefused, and changes nothing, when the edit is illegal.
        """
        inverse = self._apply(edit)
        self.undo_stack.push(_EditCommand(self, inverse, text))
        self._announce()

    def show(self, edit: Edit) -> None:
        """Apply an edit of how the drawing is looked at (folds, style of links): it is written with the next
        save, but is no undo step and does not make the file one that has to be saved.

        Raises EditRefused, and changes nothing, when the edit is illegal.
        """
        self._apply(edit)
        self._announce()

    def set_document(self, document: Document, path: Path | None = None) -> None:
        """Put another document in this one's place; its history starts here."""
        self._document = document
        self._path = path
        self._stamp = _stamp(path)
        self._revision += 1
        self.undo_stack.clear()
        self.undo_stack.setClean()
        self.reset.emit()
        self.title_changed.emit()

    def save(self, path: Path) -> None:
        """Write the project file. Raises InputError, and keeps the old file, when that is not possible."""
        from model.files.project import save_project

        save_project(self.document, path)
        self._path = path
        self._stamp = _stamp(path)
        self.undo_stack.setClean()
        self.saved.emit()
        self.title_changed.emit()

    def _clean_changed(self, _clean: bool) -> None:
        self.title_changed.emit()

    def _apply(self, edit: Edit) -> Edit:
        inverse = edit.apply(self.document)
        self._revision += 1
        self.applied.emit(edit)
        return inverse

    def _announce(self) -> None:
        change: Change = self.document.last_change
        self.changed.emit(change)


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """What tells one version of a file from another; None when there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found is not None else None
