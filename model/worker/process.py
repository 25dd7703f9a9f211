"""The loop of the engine process: it holds its own copy of the document, replays edits on it, analyses the
latest.

Messages go through one pipe as pickled values. What the window sends is applied in order; several edits that
wait together are applied before one analysis, and an analysis that a newer edit overtakes is given up.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.edits import Edit, Load
from model.errors import RailsketchError
from model.step.report import Analysis
from model.step.what_if import what_if
from model.traffic.route import Routing, route_between, routes_from
from model.traffic.types import Fabric
from model.worker.messages import (
    Analysed,
    ApplyEdit,
    AskChecksum,
    AskRoute,
    AskWhatIf,
    Checksum,
    Failed,
    LoadContent,
    LoadSlice,
    OutOfStep,
    Reply,
    Request,
    RouteAnswer,
    SharedFabric,
    Stage,
    Unchanged,
    WhatIfAnswer,
)
from model.worker.shared_arrays import Parcel, discard, pack


def run(connection: Connection) -> None:
    """Run the engine until the other end of the pipe is closed, or the process there is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    worker = Worker(connection)
    threading.Thread(target=_follow_parent, args=(worker,), daemon=True).start()
    try:
        worker.run()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        worker.clean_up()


def _follow_parent(worker: Worker) -> None:
    """End with the window, however it ended and whatever the worker is at."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        worker.clean_up()
        os._exit(0)


class _OvertakenError(Exception):
    """A newer edit makes the analysis under way useless."""


class Worker:
    """The loop of the engine process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._document = Document()
        self._cache = AnalysisCache()
        self._revision = 0
        self._waiting: list[Request] = []
        self._slices: list[LoadSlice] = []
        self._sent: list[Parcel] = []
        self._question: AskWhatIf | None = None
        self._route: AskRoute | None = None
        self._fabric: Fabric | None = None
        self._token = 0
        self._stale = False
        self._in_step = True

    def run(self) -> None:
        """Apply what waits, analyse, and wait for more. Raises EOFError when the pipe is closed."""
        while True:
            self._receive(block=not self._waiting)
            while self._waiting:
                self._take(self._waiting.pop(0))
                self._receive(block=False)
            if self._slices or not self._in_step:
                continue
            if self._stale:
                self._analyse()
            else:
                self._send(Unchanged(self._revision))
            self._answer()
            self._answer_route()

    def clean_up(self) -> None:
        """Remove the blocks of shared memory that nobody fetched."""
        while self._sent:
            discard(self._sent.pop())

    def _receive(self, *, block: bool) -> None:
        while block or self._connection.poll(0):
            self._waiting.append(pickle.loads(self._connection.recv_bytes()))
            block = False

    def _take(self, request: Request) -> None:
        if isinstance(request, LoadSlice):
            self._slices.append(request)
        elif isinstance(request, LoadContent):
            self._load(request)
        elif isinstance(request, ApplyEdit):
            self._apply(request)
        elif isinstance(request, AskChecksum):
            self._send(Checksum(self._revision, self._document.checksum()))
        elif isinstance(request, AskWhatIf):
            self._question = request
        elif isinstance(request, AskRoute):
            self._route = request
        else:
            sys.exit(0)

    def _load(self, request: LoadContent) -> None:
        devices = tuple(device for part in self._slices for device in part.devices)
        links = tuple(link for part in self._slices for link in part.links)
        self._slices.clear()
        parts = replace(request.content.parts, devices=devices, links=links)
        self._in_step = True
        self._replay(Load(replace(request.content, parts=parts)), request.revision)
        # What is loaded stays: no garbage collection needs to walk through it.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _apply(self, request: ApplyEdit) -> None:
        if self._in_step:
            self._replay(request.edit, request.revision)

    def _replay(self, edit: Edit, revision: int) -> None:
        self._revision = revision
        try:
            edit.apply(self._document)
        except RailsketchError as error:
            self._in_step = False
            self._send(OutOfStep(revision, str(error)))
            return
        change = self._document.last_change
        self._stale = self._stale or change.topology_changed or change.job or bool(change.paint)

    def _analyse(self) -> None:
        revision = self._revision
        try:
            analysis = analyse(self._document, self._cache, self._progress)
            fabric = self._shared_fabric(analysis)
            parcel = pack(replace(analysis, revision=revision), fabric)
        except _OvertakenError:
            return
        except (EOFError, OSError):
            raise
        except Exception as error:  # whatever goes wrong here must not end the engine, nor go unsaid
            self._stale = False
            self._send(
                Failed(revision, f"This drawing could not be analysed ({type(error).__name__}: {error}).")
            )
            return
        self._stale = False
        self._keep(parcel)
        self._send(Analysed(revision, parcel))

    def _shared_fabric(self, analysis: Analysis) -> dict[int, Fabric]:
        """The fabric that the window has already, by its token; it is sent where it is another one."""
        if analysis.report is None:
            return {}
        if analysis.report.fabric is not self._fabric:
            self._fabric, self._token = analysis.report.fabric, self._token + 1
            parcel = pack(self._fabric)
            self._keep(parcel)
            self._send(SharedFabric(self._token, parcel))
        return {self._token: analysis.report.fabric}

    def _keep(self, parcel: Parcel) -> None:
        """Remember the latest parcels, in case nobody fetches them."""
        self._sent = [*self._sent[-7:], parcel]

    def _answer(self) -> None:
        """Answer the question that waits, once nothing newer has to be analysed first."""
        question = self._question
        if question is None or self._stale or self._waiting:
            return
        self._question = None
        if self._cache.last is None:
            reason = "there is no step of a legal job to ask about"
            self._send(WhatIfAnswer(self._revision, question, None, reason))
            return
        try:
            result = what_if(self._cache.last, question.subject, question.ids)
        except RailsketchError as error:
            self._send(WhatIfAnswer(self._revision, question, None, str(error)))
        else:
            self._send(WhatIfAnswer(self._revision, question, result))

    def _answer_route(self) -> None:
        """Answer the question of a way that waits, from the compiled fabric."""
        question = self._route
        if question is None or self._stale or self._waiting:
            return
        self._route = None
        last, compiled = self._cache.last, self._cache.compiled
        if compiled is None:
            self._send(RouteAnswer(self._revision, question, None, "there is no drawing to find a way in"))
            return
        routing = Routing(compiled.fabric, self._document.job.routing)
        if last is not None:
            routing = replace(routing, placement=last.inputs.placement, exchanges=last.inputs.exchanges)
        try:
            if question.target is None:
                result = routes_from(routing, question.source)
            else:
                result = route_between(routing, question.source, question.target)
        except RailsketchError as error:
            self._send(RouteAnswer(self._revision, question, None, str(error)))
        else:
            self._send(RouteAnswer(self._revision, question, result))

    def _progress(self, text: str) -> None:
        self._receive(block=False)
        if any(not isinstance(request, AskWhatIf | AskRoute) for request in self._waiting):
            raise _OvertakenError
        self._send(Stage(self._revision, text))

    def _send(self, reply: Reply) -> None:
        self._connection.send_bytes(pickle.dumps(reply, protocol=5))
