"""The engine process as the window sees it: edits go out, analyses come in, nothing blocks."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

if TYPE_CHECKING:
    from model.document.document import Document
    from model.document.edits import Edit
    from model.step.what_if import Subject

_MOST_DEATHS = 3
_DEATHS_WITHIN_S = 30.0
_PATIENCE_S = 0.5


class _Link:
    """One engine process with its pipe, a thread that writes into it and one that reads from it.

    Pickling and waiting for the pipe are the threads' work, so that the window never waits for the engine.
    """

    def __init__(self, deliver: Callable[[_Link, Any], None]) -> None:
        import multiprocessing

        from model.worker import serve

        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), name="railsketch-engine", daemon=True)
        self.process.start()
        theirs.close()
        self._deliver = deliver
        self._outbox: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="engine-writer", daemon=True)
        self._reader = threading.Thread(target=self._read, name="engine-reader", daemon=True)
        self._writer.start()
        self._reader.start()

    def put(self, messages: Callable[[], Any]) -> None:
        """Send the messages that `messages()` gives, in order, from the writing thread."""
        self._outbox.put(messages)

    def close(self) -> None:
        """End the process: it is asked to, then told to, then killed."""
        self._outbox.put(None)
        self._writer.join(_PATIENCE_S)
        self.process.join(_PATIENCE_S)
        self.process.terminate()
        self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._reader.join(_PATIENCE_S)
        self._connection.close()

    def _write(self) -> None:
        from model.worker.messages import Stop

        with contextlib.suppress(OSError):
            while (messages := self._outbox.get()) is not None:
                for message in messages():
                    self._connection.send_bytes(pickle.dumps(message, protocol=5))
            self._connection.send_bytes(pickle.dumps(Stop(), protocol=5))

    def _read(self) -> None:
        fetcher = None
        with contextlib.suppress(EOFError, OSError):
            while True:
                data = self._connection.recv_bytes()
                if fetcher is None:
                    from model.worker.fetching import Fetcher

                    fetcher = Fetcher()
                reply = fetcher.fetched(pickle.loads(data))
                if reply is not None:
                    self._deliver(self, reply)
        self._deliver(self, None)


class Engine(QObject):
    """Runs analyses in a process of its own and restarts it when it dies.

    Signals: `analysed(Analysis)`; `stage(str)` what the engine is at; `busy(bool)` whether the latest
    revision is still to come; `failed(str)` a sentence for the user; `checksum(int, str)` of a revision,
    `what_if(WhatIfAnswer)` and `route(RouteAnswer)`, when asked for.
    """

    analysed = Signal(object)
    stage = Signal(str)
    busy = Signal(bool)
    failed = Signal(str)
    checksum = Signal(int, str)
    what_if = Signal(object)
    route = Signal(object)
    _arrived = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link: _Link | None = None
        self._document: Document | None = None
        self._revision = 0
        self._started = False
        self._busy = False
        self._deaths: list[float] = []
        self._arrived.connect(self._receive, Qt.ConnectionType.QueuedConnection)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.stop)

    @property
    def running(self) -> bool:
        """Whether there is an engine process."""
        return self._link is not None and self._link.process.is_alive()

    @property
    def process_id(self) -> int | None:
        """The engine process, None when there is none."""
        return self._link.process.pid if self._link is not None else None

    def start(self) -> None:
        """Start the engine process, once the window has painted. A document loaded before is sent now."""
        self._started = True
        if self._link is None:
            self._link = _Link(self._deliver)
            self._send_document()

    def stop(self) -> None:
        """End the engine process. The engine can be started again."""
        self._started = False
        link, self._link = self._link, None
        if link is not None:
            link.close()
        self._set_busy(False)

    def load(self, document: Document, revision: int = 0) -> None:
        """Analyse another document. It is kept, and read again if the engine process has to be restarted."""
        self._document = document
        self._revision = revision
        self._deaths.clear()
        if self._started and self._link is None:
            self.start()
        else:
            self._send_document()

    def send(self, edit: Edit, revision: int) -> None:
        """Replay an edit that the loaded document has just seen, and analyse what it makes of it."""
        self._revision = revision
        if self._link is not None:
            from model.worker.messages import edit_messages

            self._link.put(lambda: edit_messages(revision, edit))
            self._set_busy(True)
        elif self._started:
            self._deaths.clear()
            self.start()

    def ask_checksum(self) -> None:
        """Have `checksum` say what the engine's copy of the document amounts to."""
        if self._link is not None:
            from model.worker.messages import AskChecksum

            self._link.put(lambda: (AskChecksum(),))

    def ask_what_if(self, subject: Subject, ids: tuple[str, ...]) -> None:
        """Have `what_if` say what links, exchanges or GPUs at twice their rate would bring."""
        if self._link is not None:
            from model.worker.messages import AskWhatIf

            self._link.put(lambda: (AskWhatIf(subject, ids),))

    def ask_route(self, source: str, target: str | None = None) -> None:
        """Have `route` say how bytes get from one device to another, or all that it exchanges."""
        if self._link is not None:
            from model.worker.messages import AskRoute

            self._link.put(lambda: (AskRoute(source, target),))

    def _send_document(self) -> None:
        if self._link is None or self._document is None:
            return
        from model.worker.messages import load_messages

        content, revision = self._document.content(), self._revision
        self._link.put(lambda: load_messages(revision, content))
        self._set_busy(True)

    def _deliver(self, link: _Link, reply: object) -> None:
        """Called by the reading thread; the window's own thread takes it from here."""
        # The engine's Qt half may be gone while the thread still reads.
        with contextlib.suppress(RuntimeError):
            self._arrived.emit(link, reply)

    def _receive(self, link: _Link, reply: object) -> None:
        if link is not self._link:
            return
        from model.step.report import Analysis
        from model.worker.messages import (
            Checksum,
            Failed,
            OutOfStep,
            RouteAnswer,
            Stage,
            Unchanged,
            WhatIfAnswer,
        )

        if reply is None:
            self._restart()
        elif isinstance(reply, Analysis):
            self.analysed.emit(reply)
            self._settle(reply.revision)
        elif isinstance(reply, Stage):
            self.stage.emit(reply.text)
        elif isinstance(reply, Unchanged):
            self._settle(reply.revision)
        elif isinstance(reply, Failed):
            self.failed.emit(reply.text)
            self._settle(reply.revision)
        elif isinstance(reply, OutOfStep):
            self._send_document()
        elif isinstance(reply, Checksum):
            self.checksum.emit(reply.revision, reply.digest)
        elif isinstance(reply, WhatIfAnswer):
            self.what_if.emit(reply)
        elif isinstance(reply, RouteAnswer):
            self.route.emit(reply)

    def _settle(self, revision: int) -> None:
        """A revision is dealt with."""
        if revision >= self._revision:
            self._set_busy(False)

    def _restart(self) -> None:
        """The process has ended by itself. A drawing that ends it again and again is left alone until an
        edit.
        """
        link, self._link = self._link, None
        if link is not None:
            link.close()
        now = time.monotonic()
        self._deaths = [death for death in self._deaths if now - death < _DEATHS_WITHIN_S] + [now]
        if len(self._deaths) >= _MOST_DEATHS:
            self._set_busy(False)
            self.failed.emit(
                "The engine stopped several times on this drawing; undo the last edit or reload it."
            )
        else:
            self.start()

    def _set_busy(self, busy: bool) -> None:
        if busy != self._busy:
            self._busy = busy
            self.busy.emit(busy)
