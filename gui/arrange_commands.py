"""What the arrange menu does with the selection. Each is one undo step; a refusal is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from model.errors import EditRefused

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.document.pins import Arranged

EDGES = ("left", "centre", "right", "top", "middle", "bottom")
AXES = ("across", "down")


class ArrangeCommands(QObject):
    """Align, distribute and tidy the selection of a context."""

    def __init__(self, context: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            **{f"arrange.{edge}": partial(self.align, edge) for edge in EDGES},
            **{f"arrange.{axis}": partial(self.distribute, axis) for axis in AXES},
            "arrange.tidy": self.tidy,
        }

    def align(self, edge: str) -> None:
        """Bring the selection to one line."""
        from model.document.arrange import Edge, align

        ids, document = self._context.selection, self._context.document.document
        self._push(lambda: align(document, ids, Edge(edge)), "Align")

    def distribute(self, axis: str) -> None:
        """Make the gaps between what is selected equal."""
        from model.document.arrange import Axis, distribute

        ids, document = self._context.selection, self._context.document.document
        self._push(lambda: distribute(document, ids, Axis(axis)), "Distribute")

    def tidy(self) -> None:
        """Arrange the selected devices by role; the rest stays where it is."""
        from model.document.arrange import tidy

        ids, document = self._context.selection, self._context.document.document
        self._push(lambda: tidy(document, ids), "Tidy up the selection")

    def _push(self, make: Callable[[], Arranged], text: str) -> None:
        try:
            self._context.push_layout(make(), text)
        except EditRefused as refusal:
            self._context.say(str(refusal))
