"""The engine process over a pipe: replay, latest wins, nothing left behind."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import pytest

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import Connect, Edit, Load, Move, SetFields, SetJob
from model.topology.types import Link, LinkKind, State
from model.worker import serve
from model.worker.fetching import Fetcher
from model.worker.messages import (
    Analysed,
    ApplyEdit,
    AskChecksum,
    AskRoute,
    AskWhatIf,
    Checksum,
    OutOfStep,
    RouteAnswer,
    SharedFabric,
    Stage,
    Stop,
    Unchanged,
    WhatIfAnswer,
    edit_messages,
    load_messages,
)
from model.worker.shared_arrays import discard, pack, unpack
from tests.model.analysis.drawings import cluster, job


class Window:
    """The other end of the pipe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.fetcher = Fetcher()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, messages: Any) -> None:
        for message in messages:
            self.connection.send_bytes(pickle.dumps(message))

    def receive(self, *kinds: type) -> Any:
        """The next reply of one of these kinds; others are dropped."""
        while True:
            assert self.connection.poll(30), "the engine says nothing"
            reply = pickle.loads(self.connection.recv_bytes())
            if isinstance(reply, SharedFabric):
                assert self.fetcher.fetched(reply) is None
                continue
            if isinstance(reply, kinds):
                return reply
            assert isinstance(reply, (Stage, Unchanged, Analysed))
            if isinstance(reply, Analysed):
                discard(reply.parcel)

    def analysis(self, revision: int) -> Any:
        """The analysis of a revision; older ones are dropped."""
        while True:
            reply = self.receive(Analysed)
            if reply.revision == revision:
                return self.fetcher.fetched(reply)
            discard(reply.parcel)


@pytest.fixture
def window() -> Iterator[Window]:
    made = Window()
    yield made
    made.process.kill()
    made.process.join()


def edits(document: Document) -> list[Edit]:
    """Edits of every kind that matters, applied to `document`."""
    made: list[Edit] = [
        SetJob(job("parallel.tp=2")),
        SetFields("link", ("n0.k0-l",), {"state": State.DEGRADED, "share": 0.5}),
        Connect(Link("extra", "n0.k0", "leaf0", LinkKind.INFINIBAND, 50e9)),
        Move({"n0.g0": (100.0, 20.0)}),
    ]
    for edit in made:
        edit.apply(document)
    return made


def test_replayed_edits_give_the_same_document_and_the_same_analysis(window: Window) -> None:
    document = cluster()
    window.send(load_messages(1, document.content()))
    for number, edit in enumerate(edits(document)):
        window.send(edit_messages(2 + number, edit))
    window.send([AskChecksum()])
    answer = window.receive(Checksum)
    assert (answer.revision, answer.digest) == (5, document.checksum())

    ours = analyse(document)
    window.send(edit_messages(6, SetJob(document.job)))
    theirs = window.analysis(6)
    assert ours.report is not None and theirs.report is not None
    assert theirs.findings == ours.findings
    assert theirs.report.totals == ours.report.totals
    assert theirs.report.lanes == ours.report.lanes
    assert theirs.report.figures == ours.report.figures
    for name in ("cost_s", "oversubscription", "peak_utilisation"):
        assert np.array_equal(getattr(theirs.report, name), getattr(ours.report, name))
    last = int(ours.report.segments.state[-1])
    assert np.array_equal(theirs.report.segments.rates[last], ours.report.segments.rates[last])


def test_a_loaded_content_replaces_the_one_before(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    other = cluster(nodes=4, spec=job("parallel.pp=2"))
    window.send(edit_messages(2, Load(other)))
    analysis = window.analysis(2)
    assert len(analysis.report.placement.gpus) == 8
    window.send([AskChecksum()])
    assert window.receive(Checksum).digest == other.checksum()


def test_a_job_edit_sends_the_fabric_no_second_time(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    first = window.analysis(1)
    window.send(edit_messages(2, SetJob(job("parallel.tp=2"))))
    second = window.analysis(2)
    assert second.report.fabric is first.report.fabric
    window.send(edit_messages(3, SetFields("link", ("n0.k0-l",), {"state": State.DOWN})))
    third = window.analysis(3)
    assert third.report.fabric is not first.report.fabric
    assert (third.report.fabric.capacity == 0).sum() == 1


def test_moving_devices_needs_no_analysis(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    window.analysis(1)
    window.send(edit_messages(2, Move({"n0.g0": (5.0, 5.0)})))
    assert window.receive(Unchanged, Analysed) == Unchanged(2)


def test_only_the_latest_of_many_edits_is_analysed(window: Window) -> None:
    window.send(load_messages(1, cluster(nodes=4).content()))
    window.analysis(1)
    for revision in range(2, 42):
        window.send(edit_messages(revision, SetJob(job(global_batch=16 * revision))))
    seen = []
    while not seen or seen[-1] != 41:
        reply = window.receive(Analysed)
        seen.append(reply.revision)
        discard(reply.parcel)
    assert len(seen) < 20


def test_an_edit_that_does_not_apply_asks_for_the_document_anew(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    window.send([ApplyEdit(2, SetFields("link", ("not-there",), {"share": 0.5}))])
    assert isinstance(window.receive(OutOfStep), OutOfStep)
    document = cluster(nodes=1)
    window.send(load_messages(3, document.content()))
    assert window.analysis(3).report is not None


def test_it_ends_when_it_is_told_to_and_removes_what_was_not_fetched(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    reply = window.receive(Analysed)
    window.send([Stop()])
    window.process.join(10)
    assert window.process.exitcode == 0
    with pytest.raises(FileNotFoundError):
        SharedMemory(name=reply.parcel.name)


def test_it_ends_when_the_pipe_closes(window: Window) -> None:
    window.send(load_messages(1, cluster().content()))
    reply = window.receive(Analysed)
    window.connection.close()
    window.process.join(10)
    assert window.process.exitcode == 0
    with pytest.raises(FileNotFoundError):
        SharedMemory(name=reply.parcel.name)


def test_fabric_placement_and_lanes_come_out_as_they_went_in() -> None:
    from dataclasses import fields

    report = analyse(cluster(nodes=4, spec=job("parallel.tp=2", "parallel.pp=2"))).report
    assert report is not None
    back = unpack(pack((report.fabric, report.placement, report.lanes)))
    assert back[2] == report.lanes
    for there, here in zip(back[:2], (report.fabric, report.placement), strict=True):
        for field in fields(here):
            mine, theirs = getattr(here, field.name), getattr(there, field.name)
            if isinstance(mine, np.ndarray):
                assert np.array_equal(mine, theirs), field.name
            elif field.name == "groups":
                assert mine.keys() == theirs.keys()
                for key, groups in mine.items():
                    assert all(map(np.array_equal, groups, theirs[key])), key
            elif field.name not in ("routes", "coordinates", "group_of", "shown"):
                assert mine == theirs, field.name


def test_arrays_outlive_the_block_that_they_came_in() -> None:
    back = unpack(pack(np.arange(100_000.0)))
    unpack(pack(np.arange(100_000.0)))  # closes what nobody looks into any more
    assert back[-1] == 99_999.0 and back.flags.writeable
    back[0] = 7.0
    assert back[0] == 7.0


def test_arrays_survive_the_way_and_the_block_is_gone() -> None:
    value = {"large": np.arange(100_000.0), "small": np.arange(3), "text": "×", "empty": np.zeros(0)}
    parcel = pack(value)
    back = unpack(parcel)
    assert back["text"] == "×" and all(
        np.array_equal(back[name], value[name]) for name in ("large", "small", "empty")
    )
    with pytest.raises(FileNotFoundError):
        unpack(parcel)
    discard(parcel)


def test_a_question_neither_stops_an_analysis_nor_is_answered_before_it(window: Window) -> None:
    document = cluster(spec=job("parallel.tp=2"))
    question = AskWhatIf("gpu", ("n0.g0",))
    window.send(load_messages(1, document.content()))
    window.send([AskWhatIf("gpu", ("nobody",)), question])
    analysed = window.receive(Analysed)
    assert analysed.revision == 1
    analysis = window.fetcher.fetched(analysed)
    answer = window.receive(WhatIfAnswer)
    assert answer.question == question and answer.revision == 1
    assert answer.result is not None and answer.result.before_s == analysis.report.totals.time_s
    # Without a legal job there is nothing to ask about.
    window.send(edit_messages(2, SetJob(job("parallel.tp=3"))))
    window.send([question])
    answer = window.receive(WhatIfAnswer)
    assert answer.result is None and "no step" in answer.reason


def test_a_way_is_answered_from_the_fabric_with_and_without_a_legal_job(window: Window) -> None:
    document = cluster(spec=job("parallel.tp=2"))
    window.send(load_messages(1, document.content()))
    window.send([AskRoute("n0.g0", "n0.g1"), AskRoute("n0.g0")])
    window.receive(Analysed)
    answer = window.receive(RouteAnswer)
    assert answer.question == AskRoute("n0.g0") and answer.revision == 1
    assert [partner.dimension for partner in answer.result.partners].count("tp") == 1
    window.send([AskRoute("n0.g0", "n0.g1")])
    (way,) = window.receive(RouteAnswer).result.ways
    assert way.exchanges and way.bytes_per_step > 0
    window.send(edit_messages(2, SetJob(job("parallel.tp=3"))))
    window.send([AskRoute("n0.g0", "n0.g1")])
    (way,) = window.receive(RouteAnswer).result.ways
    assert way.exchanges == () and way.hops
    window.send([AskRoute("n0.g0", "nobody")])
    answer = window.receive(RouteAnswer)
    assert answer.result is None and "no device nobody" in answer.reason
