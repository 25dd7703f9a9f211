"""The process that does long work for the window: it knows no screen, and does one errand after the other."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from model.document.document import Content
from model.errors import RailsketchError
from model.worker.messages import LoadContent, LoadSlice, load_messages

_BETWEEN_S = 0.05  # a window shows no more than this many states of a progress bar


@dataclass(frozen=True, slots=True)
class Order:
    """A function of a module, and its arguments after `Progress`."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SentBefore:
    """Stands in an order for the content of a drawing, which came in slices before it."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Give up what is being done."""


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far it is (0 to 1), and at what."""

    share: float
    what: str


@dataclass(frozen=True, slots=True)
class Done:
    """What the function gave."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A sentence for the user; `details` where it is an error of the program."""

    text: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It was cancelled."""


class GiveUp(BaseException):
    """The window does not want it any more. No `Exception`, so that nothing on the way takes it for one."""


class Progress:
    """Said by a function while it works. Raises `GiveUp` once the window cancels."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last = 0.0

    def __call__(self, share: float, what: str) -> None:
        if self._connection.poll(0):
            message = pickle.loads(self._connection.recv_bytes())
            if isinstance(message, Cancel):
                raise GiveUp
        now = time.monotonic()
        if now - self._last >= _BETWEEN_S:
            self._last = now
            self._connection.send_bytes(pickle.dumps(Progressed(share, what)))


def serve(connection: Connection, module: str) -> None:
    """Do what comes through the pipe until its other end is closed, or the process there is gone.

    `module` is imported at once, so that the first order finds it ready.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    threading.Thread(target=_follow_parent, daemon=True).start()
    import_module(module)
    slices: list[LoadSlice] = []
    content: Content | None = None
    try:
        while True:
            message = pickle.loads(connection.recv_bytes())
            if isinstance(message, LoadSlice):
                slices.append(message)
            elif isinstance(message, LoadContent):
                content = _joined(slices, message.content)
                slices.clear()
            elif isinstance(message, Order):
                given = (content if isinstance(each, SentBefore) else each for each in message.arguments)
                connection.send_bytes(_answer(replace(message, arguments=tuple(given)), connection))
    except (EOFError, OSError):
        pass


def order_messages(order: Order) -> Iterator[object]:
    """An order as it is sent: a drawing goes in many short messages, so that pickling it blocks nobody."""
    for each in order.arguments:
        if isinstance(each, Content):
            yield from load_messages(0, each)
    given = tuple(SentBefore() if isinstance(each, Content) else each for each in order.arguments)
    yield replace(order, arguments=given)


def _joined(slices: Sequence[LoadSlice], content: Content) -> Content:
    devices = tuple(device for part in slices for device in part.devices)
    links = tuple(link for part in slices for link in part.links)
    return replace(content, parts=replace(content.parts, devices=devices, links=links))


def _answer(order: Order, connection: Connection) -> bytes:
    reply: Done | Failed | GivenUp
    try:
        reply = Done(order.function(Progress(connection), *order.arguments))
        return pickle.dumps(reply, protocol=5)
    except GiveUp:
        reply = GivenUp()
    except RailsketchError as error:
        reply = Failed(str(error))
    except MemoryError:
        reply = Failed("There is not enough memory for it.")
    except Exception:
        reply = Failed("Something went wrong in Railsketch; nothing was changed.", traceback.format_exc())
    return pickle.dumps(reply)


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)
