"""The step in tables and as a trace: sums are those of the report, and the trace follows its format."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from model.analysis import analyse
from model.document.document import Document
from model.errors import InputError
from model.job.spec import apply_set
from model.step.report import BlockKind, StepReport
from model.traffic.matrix import gpu_matrix
from tests.model.files.exports.drawings import drawings, export, pair, template, text_of

NUMBER = (int, float)


def report_of(document: Document) -> StepReport:
    report = analyse(document).report
    assert report is not None
    return report


def pipeline() -> Document:
    """Two hosts of four stages: TP 2 in a host is not needed for the trace, PP 4 over all GPUs is."""
    document = pair()
    for setting in ("parallel.tp=1", "parallel.pp=4", "global_batch=8"):
        document.job = apply_set(document.job, setting)
    return document


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_the_matrix_is_that_of_the_traffic_panel() -> None:
    document = pair()
    report = report_of(document)
    found = table(text_of(document, "traffic-matrix-csv"))
    wanted = gpu_matrix(report.fabric, report.placement, report.exchanges)
    assert found[0][1:] == list(report.placement.gpus) == [row[0] for row in found[1:]]
    values = np.array([[float(cell) for cell in row[1:]] for row in found[1:]])
    np.testing.assert_array_equal(values, wanted.matrix)
    sent = report.traffic.sent_bytes_per_gpu
    members = [len(exchange.groups) * exchange.group_size for exchange in report.exchanges]
    assert values.sum() == pytest.approx(float(np.dot(sent, members)), rel=1e-9)


def test_a_large_matrix_is_summed_up_by_host() -> None:
    document = pair()
    report = report_of(document)
    exported = export(document, "traffic-matrix-csv", most="2")
    found = table(str(exported.files[""]))
    assert found[0][1:] == ["a", "b"]
    total = sum(float(cell) for row in found[1:] for cell in row[1:])
    wanted = gpu_matrix(report.fabric, report.placement, report.exchanges).matrix.sum()
    assert total == pytest.approx(wanted, rel=1e-12)
    assert exported.left_out[0] == "4 GPUs are summed up in 2 rows, by host."


def test_a_row_for_each_exchange() -> None:
    document = pair()
    report = report_of(document)
    found = table(text_of(document, "exchange-csv"))
    rows = [dict(zip(found[0], row, strict=True)) for row in found[1:]]
    assert [row["id"] for row in rows] == [exchange.id for exchange in report.exchanges]
    for row, exchange, times in zip(rows, report.exchanges, report.exchange_times, strict=True):
        assert int(row["message_bytes"]) == exchange.message_bytes
        assert int(row["group_size"]) == exchange.group_size
        assert float(row["exposed_s"]) == times.exposed_s
    exposed = sum(float(row["exposed_s"]) for row in rows)
    assert exposed == pytest.approx(sum(report.totals.exposed_s.values()), rel=1e-9)


def events_of(document: Document, **options: str) -> list[dict[str, Any]]:
    data = json.loads(text_of(document, "chrome-trace", **options))
    assert data["displayTimeUnit"] in ("ms", "ns")
    check_trace(data["traceEvents"])
    return list(data["traceEvents"])


def check_trace(events: list[dict[str, Any]]) -> None:
    """The rules of the Trace Event Format for the phases X, M, C, s and f; slices of a thread only nest."""
    slices: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    flows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    named: set[tuple[int, int]] = set()
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        phase = event["ph"]
        if phase == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
            continue
        assert isinstance(event["ts"], NUMBER) and event["ts"] >= 0
        if phase == "X":
            assert event["dur"] >= 0
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif phase == "C":
            assert event["args"] and all(isinstance(value, NUMBER) for value in event["args"].values())
        else:
            assert phase in ("s", "f") and (phase == "s" or event["bp"] == "e")
            flows[event["cat"], event["id"]].append(event)
    assert set(slices) <= named
    for spans in slices.values():
        _check_nesting(spans)
    for start, end in flows.values():
        assert (start["ph"], end["ph"]) == ("s", "f") and start["ts"] <= end["ts"]


def _check_nesting(spans: list[tuple[float, float]]) -> None:
    stack: list[float] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while stack and stack[-1] <= start + 2e-3:
            stack.pop()
        assert not stack or end <= stack[-1] + 2e-3, (start, end, stack)
        stack.append(end)


def test_the_trace_has_every_block_and_the_whole_step() -> None:
    document = pipeline()
    report = report_of(document)
    events = events_of(document)
    blocks = [block for lane in report.lanes for block in lane.blocks if block.what is not BlockKind.IDLE]
    written = [
        event for event in events if event["ph"] == "X" and event["pid"] == 1 and event["cat"] != "exposed"
    ]
    assert len(written) == len([block for block in blocks if block.end_s > block.start_s])
    waits = [event for event in events if event["ph"] == "X" and event.get("cat") == "exposed"]
    for tid, lane in enumerate(report.lanes):
        own = [block for block in lane.blocks if block.what is not BlockKind.IDLE]
        for slices, wanted_s in (
            (written, sum(block.end_s - block.start_s for block in own)),
            (waits, sum(block.exposed_s for block in own)),
        ):
            found = sum(event["dur"] for event in slices if event["tid"] == tid)
            assert found == pytest.approx(wanted_s * 1e6, abs=2e-3 * len(own))
    last = max(event["ts"] + event.get("dur", 0) for event in events if event["ph"] in "XC")
    assert last == pytest.approx(report.totals.time_s * 1e6, abs=1.0)
    stages = {
        event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"
    }
    assert {"stage 0, replica 0", "stage 3, replica 0", "PP"} <= stages


def test_arrows_follow_each_microbatch_through_the_stages() -> None:
    """8 microbatches, 4 stages: 3 arrows forward and 3 backward each."""
    events = events_of(pipeline())
    assert sum(1 for event in events if event["ph"] == "s") == 8 * 2 * 3
    first = next(event for event in events if event["ph"] == "s")
    assert first["name"] == "forward microbatch" and first["tid"] == 0


def test_counters_carry_the_bytes_of_the_dearest_links() -> None:
    """The area below a curve is what the link carries in the step."""
    document = pipeline()
    report = report_of(document)
    events = [event for event in events_of(document, links="3") if event["ph"] == "C"]
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        curves[event["name"]].append((event["ts"] / 1e6, event["args"]["GB/s"] * 1e9))
    assert len(curves) == 3
    total = sum(report.bytes_by_dimension.values())
    by_name = {" → ".join(report.fabric.ends_of(at)): total[at] for at in range(len(total))}  # type: ignore[index,arg-type]
    for name, points in curves.items():
        area = sum(rate * (after[0] - start) for (start, rate), after in pairwise(points))
        assert area == pytest.approx(by_name[name], rel=0.02)
        assert points[-1][1] == 0.0


def test_no_links_no_counters() -> None:
    assert not [event for event in events_of(pipeline(), links="0") if event["ph"] == "C"]


def test_equal_replicas_stand_once() -> None:
    exported = export(template("hgx-h100", nodes=2), "chrome-trace")
    data = json.loads(str(exported.files[""]))
    names = {event["args"]["name"] for event in data["traceEvents"] if event["name"] == "thread_name"}
    assert "stage 0, replica 0 and 15 equal" in names
    assert any("stand once" in note for note in exported.left_out)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_any_step_is_a_trace(document: Document) -> None:
    try:
        events_of(document)
    except InputError:
        assert analyse(document).report is None
