"""`Turns`: work that is done piece by piece, each in a turn of the event loop of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Turns(QObject):
    """What is asked for twice before its turn is done once. Between two pieces the hand gets its turn."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._next)

    def later(self, work: Callable[[], object]) -> None:
        """Do some work in a turn to come, after all that waits already."""
        if work not in self._waiting:
            self._waiting.append(work)
        self._timer.start()

    def drop(self, work: Callable[[], object]) -> None:
        """Leave out what waits; for what is about to be deleted, or was done in another way."""
        if work in self._waiting:
            self._waiting.remove(work)

    def _next(self) -> None:
        if not self._waiting:
            return
        work = self._waiting.popleft()
        if self._waiting:
            self._timer.start()
        work()
