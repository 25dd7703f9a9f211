"""`Turns`: work that is done piece by piece, each in a turn of the event loop of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer

MOST_WAYS = 3
"""So often in a row a piece waits for pictures; then it has its turn beside one."""


class Turns(QObject):
    """What is asked for twice before its turn is done once. Between two pieces the hand gets its turn.

    Work that returns an iterator is gone on with in the turns that follow, one step each. A picture that is
    played makes way for a piece, and a piece for a picture, so that the two never add up (`due`,
    `give_way`).
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._begun: Iterator[object] | None = None
        self._begun_by: Callable[[], object] | None = None
        self._gave_way = False
        self._served = False
        self._waited = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._next)

    def later(self, work: Callable[[], object]) -> None:
        """Do some work in a turn to come, after all that waits already; what has begun begins anew."""
        if work == self._begun_by:
            self._begun = self._begun_by = None
        if work not in self._waiting:
            self._waiting.append(work)
        self._timer.start()

    def drop(self, work: Callable[[], object]) -> None:
        """Leave out what waits; for what is about to be deleted, or was done in another way."""
        if work == self._begun_by:
            self._begun = self._begun_by = None
        if work in self._waiting:
            self._waiting.remove(work)

    @property
    def due(self) -> bool:
        """Whether a piece is to be done before the next picture of what plays."""
        return bool(self._waiting or self._begun) and not self._served

    def give_way(self) -> None:
        """A picture is made in this turn of the loop: the next piece waits for another one."""
        self._gave_way, self._served = True, False

    def _next(self) -> None:
        if self._begun is None and not self._waiting:
            return
        if self._gave_way and self._waited < MOST_WAYS:
            self._gave_way = False
            self._waited += 1
            self._timer.start()
            return
        self._gave_way, self._waited, self._served = False, 0, True
        try:
            self._do_piece()
        finally:
            if self._waiting or self._begun is not None:
                self._timer.start()

    def _do_piece(self) -> None:
        steps = self._begun
        if steps is None:
            work = self._waiting.popleft()
            begun = work()
            if isinstance(begun, Iterator):
                self._begun, self._begun_by = begun, work
        elif next(steps, self) is self and self._begun is steps:
            self._begun = self._begun_by = None
