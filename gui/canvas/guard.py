"""Event handlers that no exception leaves: one that crosses Qt's own code on its way out ends the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from PySide6.QtCore import QTimer

Handler = TypeVar("Handler", bound=Callable[..., bool | None])


class Recovers(Protocol):
    """Something whose handlers can fail."""

    def recover(self) -> None:
        """Give up what was under way, after a handler failed."""


def guarded(handler: Handler) -> Handler:
    """A handler that reports what it raises to `sys.excepthook` and counts the event as done.

    Where Python called Qt and Qt calls a handler (`grab`, `super().event(…)`, a slot that moves a scroll
    bar), an exception that takes this way back ends the program before any hook sees it.
    """

    @wraps(handler)
    def run(owner: Recovers, *args: Any) -> bool | None:
        try:
            return handler(owner, *args)
        except Exception:
            error = sys.exc_info()
            owner.recover()
            _report(error)
            return True

    return cast(Handler, run)


def guarded_paint(handler: Handler) -> Handler:
    """As `guarded`, and reports after the painting: a message must not open while a picture is made."""

    @wraps(handler)
    def run(owner: Recovers, *args: Any) -> None:
        try:
            handler(owner, *args)
        except Exception:
            error = sys.exc_info()
            owner.recover()
            QTimer.singleShot(0, lambda: _report(error))

    return cast(Handler, run)


def _report(error: Any) -> None:
    sys.excepthook(*error)
