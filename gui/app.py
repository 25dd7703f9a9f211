"""Starts the window. Only QtWidgets is imported before the first paint; the rest comes right after it."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from gui.context import AppContext
from gui.settings import APPLICATION, ORGANISATION
from gui.window import MainWindow
from model.errors import RailsketchError

logger = logging.getLogger("railsketch")


class _AfterFirstPaint(QObject):
    """Calls back once, when the window has been painted for the first time."""

    def __init__(self, window: MainWindow, run: Callable[[], object]) -> None:
        super().__init__(window)
        self._window = window
        self._run = run
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self._run)
        return False


class ExceptionHook:
    """Shows an unexpected error as a message, and leaves the drawing and the window as they are."""

    def __init__(self, window: MainWindow | None = None) -> None:
        self._window = window
        self._open = False

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        if isinstance(error, RailsketchError):
            if self._window is not None:
                self._window.context.say(str(error))
            return
        details = "".join(traceback.format_exception(kind, error, trace))
        logger.error("unexpected error\n%s", details)
        if self._open:
            return  # one message is enough while the same thing goes wrong again and again
        self._open = True
        try:
            box = QMessageBox(self._window)
            box.setIcon(QMessageBox.Icon.Warning)
            box.setWindowTitle("Something went wrong")
            box.setText("Something went wrong in Railsketch. Your drawing is still open and unharmed.")
            box.setInformativeText("Save it under another name, then go on. The details help to mend it.")
            box.setDetailedText(details)
            box.exec()
        finally:
            self._open = False


def application() -> QApplication:
    """The one QApplication, with our names."""
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName(APPLICATION)
    app.setOrganizationName(ORGANISATION)
    app.setDesktopFileName("railsketch")
    app.setStyle("Fusion")
    return app


def finish_start(window: MainWindow, path: Path | None) -> None:
    """Bring the heavy parts, the engine, and the file of the command line."""
    window.load()
    from gui.engine import Engine

    engine = Engine(window.context)
    window.context.attach_engine(engine)
    engine.start()
    if path is not None:
        window.open_path(path)


def close_on_interrupt(window: MainWindow) -> QSocketNotifier:
    """Ctrl+C in the terminal closes the window, which asks about unsaved work, also while nothing happens.

    Python handles signals between its own steps; the notifier gives it one when a signal arrives.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.fileno())
    notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(lambda: reading.recv(64))
    signal.signal(signal.SIGINT, lambda *_: window.close())

    def clear() -> None:
        signal.set_wakeup_fd(-1)
        reading.close()
        writing.close()

    notifier.destroyed.connect(clear)
    return notifier


def run_window(path: Path | str | None) -> int:
    """Show the window, with a file if one is given, and run until it is closed. Gives the exit code."""
    app = application()
    context = AppContext()
    context.theme.apply()
    window = MainWindow(context, deferred=True)
    window.restore_geometry()
    sys.excepthook = ExceptionHook(window)
    _AfterFirstPaint(window, lambda: finish_start(window, Path(path) if path is not None else None))
    window.show()
    waker = close_on_interrupt(window)
    code = app.exec()
    waker.setEnabled(False)
    if context.engine is not None:
        context.engine.stop()
    return code
