"""`Preferences`: how this user likes the program to behave, on every drawing and in every run."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gui.settings import settings

_DEFAULTS = {"reduce_motion": False, "snap_to_grid": True, "snap_to_parts": True}


class Preferences(QObject):
    """Switches that the settings keep; `changed` comes after one is another.

    `reduce_motion`: nothing moves but the playhead. `snap_to_grid`, `snap_to_parts`: what a dragged part
    catches on.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        stored = settings()
        self._values = {
            name: stored.value(f"preferences/{name}", default, type=bool)
            for name, default in _DEFAULTS.items()
        }

    @property
    def reduce_motion(self) -> bool:
        """Whether nothing moves but the playhead."""
        return bool(self._values["reduce_motion"])

    @property
    def snap_to_grid(self) -> bool:
        """Whether what is dragged stands on the grid."""
        return bool(self._values["snap_to_grid"])

    @property
    def snap_to_parts(self) -> bool:
        """Whether what is dragged catches on edges, centres and gaps of what is near."""
        return bool(self._values["snap_to_parts"])

    def set(self, name: str, value: bool) -> None:
        """Switch one of them; the settings keep it."""
        if self._values[name] != value:
            self._values[name] = value
            settings().setValue(f"preferences/{name}", value)
            self.changed.emit()
