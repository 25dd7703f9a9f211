"""Long work beside the window: reading, comparing and writing files happen in a process of their own.

A thread would not do: Python code in it makes the window stutter, and nothing can end it.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal

logger = logging.getLogger("railsketch")
GRACE_MS = 500  # in which a cancelled errand may end by itself
IDLE_MS = 120_000  # after which a process that has nothing to do is ended


class Errand(QObject):
    """One piece of work. Either `done(value)` or `failed(sentence)` comes, or neither when cancelled."""

    progressed = Signal(float, str)
    done = Signal(object)
    failed = Signal(str)

    def __init__(self, owner: Background, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        super().__init__(owner)
        self._owner = owner
        self.function, self.arguments = function, arguments
        self.cancelled = False

    def cancel(self) -> None:
        """Give it up; no signal comes any more."""
        if not self.cancelled:
            self.cancelled = True
            self._owner._cancel(self)


class _Link:
    """The process, a thread that writes to it and one that reads from it."""

    def __init__(self, module: str, deliver: Callable[[_Link, Any], None]) -> None:
        import multiprocessing

        from gui.background_process import serve

        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, module), name="railsketch-files", daemon=True
        )
        self.process.start()
        theirs.close()
        self._deliver = deliver
        self._outbox: SimpleQueue[object] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="files-writer", daemon=True)
        self._reader = threading.Thread(target=self._read, name="files-reader", daemon=True)
        self._writer.start()
        self._reader.start()

    def put(self, message: object) -> None:
        """Send a message from the writing thread."""
        self._outbox.put(message)

    def close(self) -> None:
        """End the process at once; it holds nothing that is worth waiting for."""
        self._outbox.put(None)
        self.process.kill()
        self.process.join()
        self._writer.join()
        self._reader.join()
        self._connection.close()

    def _write(self) -> None:
        from gui.background_process import Order, order_messages

        with contextlib.suppress(OSError):
            while (message := self._outbox.get()) is not None:
                for part in order_messages(message) if isinstance(message, Order) else (message,):
                    self._connection.send_bytes(pickle.dumps(part, protocol=5))

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._deliver(self, pickle.loads(self._connection.recv_bytes()))
        self._deliver(self, None)


class Background(QObject):
    """Does errands one after the other. The process begins with the first, and ends when nothing comes.

    `module` is where most of its errands are: the process imports it while it waits.
    """

    _arrived = Signal(object, object)

    def __init__(self, module: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._module = module
        self._links: list[_Link] = []  # at most one; a list, so that it can be closed after this is gone
        self._waiting: deque[Errand] = deque()
        self._current: Errand | None = None
        self._arrived.connect(self._receive, Qt.ConnectionType.QueuedConnection)
        self._grace = self._timer(GRACE_MS, self._end_cancelled)
        self._idle = self._timer(IDLE_MS, self.stop)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.stop)
        links = self._links
        self.destroyed.connect(lambda: _close_all(links))

    def _timer(self, interval: int, run: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval)
        timer.timeout.connect(run)
        return timer

    @property
    def process_id(self) -> int | None:
        """The process, None when there is none."""
        return self._links[0].process.pid if self._links else None

    @property
    def busy(self) -> bool:
        """Whether an errand is under way or waits."""
        return self._current is not None or bool(self._waiting)

    def warm_up(self) -> None:
        """Begin the process, since there will be work soon."""
        if not self._links:
            self._links.append(_Link(self._module, self._deliver))
        self._idle.start()

    def run(self, function: Callable[..., Any], *arguments: Any) -> Errand:
        """Call `function(progress, *arguments)` there; both go there as pickled values."""
        errand = Errand(self, function, arguments)
        self._waiting.append(errand)
        self._next()
        return errand

    def stop(self) -> None:
        """End the process. What was to be done is given up."""
        self._waiting.clear()
        self._current = None
        self._grace.stop()
        self._idle.stop()
        _close_all(self._links)

    def _next(self) -> None:
        if self._current is not None or not self._waiting:
            if not self.busy:
                self._idle.start()
            return
        from gui.background_process import Order

        self.warm_up()
        self._idle.stop()
        self._current = self._waiting.popleft()
        self._links[0].put(Order(self._current.function, self._current.arguments))

    def _cancel(self, errand: Errand) -> None:
        if errand is self._current:
            from gui.background_process import Cancel

            self._links[0].put(Cancel())
            self._grace.start()
        elif errand in self._waiting:
            self._waiting.remove(errand)
            errand.deleteLater()

    def _end_cancelled(self) -> None:
        """What was cancelled does not listen: its process goes, and the next errand gets a new one."""
        _close_all(self._links)
        self._settle()

    def _settle(self) -> Errand | None:
        errand, self._current = self._current, None
        self._grace.stop()
        if errand is not None:
            errand.deleteLater()
        self._next()
        return None if errand is None or errand.cancelled else errand

    def _deliver(self, link: _Link, reply: object) -> None:
        """Called by the reading thread; the window's own thread takes it from here."""
        with contextlib.suppress(RuntimeError):  # the Qt half may be gone while the thread still reads
            self._arrived.emit(link, reply)

    def _receive(self, link: _Link, reply: object) -> None:
        if link not in self._links:
            return
        from gui.background_process import Done, Failed, Progressed

        if isinstance(reply, Progressed):
            if self._current is not None and not self._current.cancelled:
                self._current.progressed.emit(reply.share, reply.what)
            return
        if reply is None:
            _close_all(self._links)
            reply = Failed("It stopped before it was done; perhaps there was not enough memory for it.")
        errand = self._settle()
        if isinstance(reply, Failed) and reply.details:
            logger.error("unexpected error in the background\n%s", reply.details)
        if errand is None:
            return
        if isinstance(reply, Done):
            errand.done.emit(reply.value)
        elif isinstance(reply, Failed):
            errand.failed.emit(reply.text)


def _close_all(links: list[_Link]) -> None:
    while links:
        links.pop().close()
