"""A step as a Chrome trace: stages, exchanges, the ways of microbatches, and rates of links over time.

Trace Event Format: complete events (`ph` X) with microseconds, metadata (M), counters (C) and flows (s, f).
Opens in Perfetto (ui.perfetto.dev) and chrome://tracing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.drawing import watched
from model.files.exports.step_tables import report_of
from model.job.exchange import EXCHANGE_DIMENSIONS, dimension_name
from model.step.report import Block, BlockKind, Lane, StepReport
from model.text import plural

_STAGES, _EXCHANGES, _LINKS = 1, 2, 3  # process ids
_PROCESSES = {_STAGES: "Pipeline stages", _EXCHANGES: "Exchanges", _LINKS: "Links (GB/s)"}
_LINKS_OPTION = ExportOption("links", "Links with a curve of their rate, the dearest first", "16")
_MOST_LINKS = 256
Event = dict[str, Any]


def _write(source: ExportSource) -> Exported:
    wanted = source.number(_LINKS_OPTION, 0, _MOST_LINKS)
    report = report_of(source)
    events = [*_names(report), *_stages(source, report), *_flows(report), *_exchanges(source, report)]
    chosen = _chosen_links(report, wanted)
    events += _rates(source, report, chosen)
    loaded = int((_total(report) > 0).sum())
    notes = []
    if loaded > len(chosen):
        notes.append(
            f"Left out: the rates of {plural(loaded - len(chosen), 'direction')} of links that carry less."
        )
    idle = sum(lane.replicas - 1 for lane in report.lanes)
    if idle:
        notes.append("Replicas that do the same at the same time stand once; the thread says how many.")
    source.progress(0.95, "writing events")
    return Exported({"": _text(source, report, events)}, tuple(notes))


def _text(source: ExportSource, report: StepReport, events: list[Event]) -> str:
    about = {
        "drawing": source.document.name,
        "gpus": len(report.placement.gpus),
        "step_s": report.totals.time_s,
    }
    rows = ",\n".join(json.dumps(event, ensure_ascii=False, allow_nan=False) for event in events)
    head = f'{{"displayTimeUnit": "ms",\n"otherData": {json.dumps(about, ensure_ascii=False)},\n'
    return f'{head}"traceEvents": [\n{rows}\n]}}\n'


def _us(seconds: float) -> float:
    """Microseconds with the nanosecond as the last digit."""
    return round(seconds * 1e6, 3)


def _span(start_s: float, end_s: float) -> dict[str, float]:
    """The fields of a complete event; ends are rounded, so that what meets does not overlap."""
    start, end = _us(start_s), _us(end_s)
    return {"ts": start, "dur": round(max(0.0, end - start), 3)}


def _names(report: StepReport) -> Iterator[Event]:
    for pid, name in _PROCESSES.items():
        yield {"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}}
        yield {"ph": "M", "pid": pid, "tid": 0, "name": "process_sort_index", "args": {"sort_index": pid}}
    for tid, lane in enumerate(report.lanes):
        yield from _thread(_STAGES, tid, _lane_name(lane))
    for tid, dimension in enumerate(EXCHANGE_DIMENSIONS):
        if any(exchange.dimension == dimension for exchange in report.exchanges):
            yield from _thread(_EXCHANGES, 1000 * tid, dimension_name(dimension))


def _thread(pid: int, tid: int, name: str) -> Iterator[Event]:
    yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
    yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}


def _lane_name(lane: Lane) -> str:
    if lane.replicas == 1:
        return f"stage {lane.stage}, replica {lane.replica}"
    return f"stage {lane.stage}, replica {lane.replica} and {lane.replicas - 1:,} equal"


def _stages(source: ExportSource, report: StepReport) -> Iterator[Event]:
    """A block with what it computes, and inside of it, at its end, what it waits for."""
    for tid, lane in enumerate(watched(source, report.lanes, "writing stages", 0.5, 0.6)):
        for block in lane.blocks:
            if block.what is BlockKind.IDLE or block.end_s <= block.start_s:
                continue
            where = {"pid": _STAGES, "tid": tid}
            name = block.what.value if block.microbatch is None else f"{block.what.value} {block.microbatch}"
            args: dict[str, Any] = {"stage": lane.stage, "exposed_s": block.exposed_s}
            args |= {} if block.microbatch is None else {"microbatch": block.microbatch}
            args |= {} if block.chunk is None else {"chunk": block.chunk}
            span = _span(block.start_s, block.end_s)
            yield {"ph": "X", "name": name, "cat": block.what.value, **where, **span, "args": args}
            waits = min(block.exposed_s, block.end_s - block.start_s)
            if waits > 0:
                inner = _span(block.end_s - waits, block.end_s)
                yield {"ph": "X", "name": "waits for exchanges", "cat": "exposed", **where, **inner}


def _flows(report: StepReport) -> Iterator[Event]:
    """Arrows from a microbatch's block to its next one, forward up the stages and backward down them."""
    number = 0
    for what in (BlockKind.FORWARD, BlockKind.BACKWARD):
        ways: dict[tuple[int, int], list[tuple[int, Block]]] = {}
        for tid, lane in enumerate(report.lanes):
            for block in lane.blocks:
                if block.what is what and block.microbatch is not None and block.end_s > block.start_s:
                    ways.setdefault((lane.replica, block.microbatch), []).append((tid, block))
        for blocks in ways.values():
            blocks.sort(key=lambda pair: (pair[1].start_s, pair[1].end_s, pair[0]))
            for (tid, before), (next_tid, after) in pairwise(blocks):
                if tid == next_tid or after.start_s < before.end_s:
                    continue
                number += 1
                flow = {"name": f"{what.value} microbatch", "cat": "microbatch", "id": number, "pid": _STAGES}
                yield {"ph": "s", **flow, "tid": tid, "ts": _us(before.end_s)}
                yield {"ph": "f", "bp": "e", **flow, "tid": next_tid, "ts": _us(after.start_s)}


def _exchanges(source: ExportSource, report: StepReport) -> Iterator[Event]:
    """Each exchange while some of its instances are active, on threads of its dimension.

    Those that overlap take threads of their own: slices of a thread may only nest.
    """
    spans = _active_spans(source, report)
    threads: dict[str, list[float]] = {}
    named: set[int] = set()
    for start, end, index in sorted(spans):
        exchange = report.exchanges[index]
        base = 1000 * EXCHANGE_DIMENSIONS.index(exchange.dimension)
        ends = threads.setdefault(exchange.dimension, [])
        place = next((at for at, last in enumerate(ends) if last <= start), len(ends))
        if place == len(ends):
            ends.append(end)
        ends[place] = end
        tid = base + place
        if place and tid not in named:
            named.add(tid)
            yield from _thread(_EXCHANGES, tid, f"{dimension_name(exchange.dimension)} ({place + 1})")
        args = {
            "exchange": exchange.id,
            "operation": exchange.operation.value,
            "algorithm": report.traffic.algorithms[index],
            "group_size": exchange.group_size,
            "message_bytes": exchange.message_bytes,
        }
        where = {"pid": _EXCHANGES, "tid": tid}
        yield {
            "ph": "X",
            "name": exchange.kind,
            "cat": exchange.dimension,
            **where,
            **_span(start, end),
            "args": args,
        }


def _active_spans(source: ExportSource, report: StepReport) -> list[tuple[float, float, int]]:
    """(start, end, exchange) of the runs of segments in which each exchange is active."""
    segments = report.segments
    exchange_of = report.traffic.instance_exchange.tolist()
    active = [sorted({exchange_of[instance] for instance in instances}) for instances in segments.active]
    rows = list(zip(segments.start_s.tolist(), segments.end_s.tolist(), segments.state.tolist(), strict=True))
    open_since: dict[int, tuple[float, float]] = {}
    found: list[tuple[float, float, int]] = []
    for start, end, state in watched(source, rows, "writing exchanges", 0.6, 0.8):
        now = active[state]
        over = [one for one in open_since if one not in now or open_since[one][1] < start]
        found += [(*open_since.pop(index), index) for index in over]
        for index in now:
            open_since[index] = (open_since[index][0] if index in open_since else start, end)
    return found + [(*span, index) for index, span in open_since.items()]


def _total(report: StepReport) -> np.ndarray[Any, np.dtype[np.float64]]:
    nothing = np.zeros(2 * len(report.fabric.link_ids))
    return np.asarray(sum(report.bytes_by_dimension.values(), nothing), np.float64)


def _chosen_links(report: StepReport, most: int) -> list[int]:
    """Directed links that carry something, the dearest first, then the busiest."""
    order = np.lexsort((-report.peak_utilisation, -report.cost_s))
    return [int(one) for one in order[_total(report)[order] > 0][:most]]


def _rates(source: ExportSource, report: StepReport, chosen: list[int]) -> Iterator[Event]:
    """A counter for each directed link, where its rate changes; 0 at the end of the step."""
    if not chosen:
        return
    segments = report.segments
    columns = np.array(chosen)
    table = [
        np.asarray(segments.rates[state], np.float64)[columns] for state in range(segments.rates.shape[0])
    ]
    names = [" → ".join(report.fabric.ends_of(directed)) for directed in chosen]
    last = np.full(len(chosen), -1.0)
    rows = list(zip(segments.start_s.tolist(), segments.state.tolist(), strict=True))
    for start, state in watched(source, rows, "writing rates", 0.8, 0.95):
        rates = table[state]
        for at in np.flatnonzero(rates != last).tolist():
            yield _counter(names[at], start, float(rates[at]))
        last = rates
    for name in names:
        yield _counter(name, float(segments.end_s[-1]), 0.0)


def _counter(name: str, start_s: float, rate: float) -> Event:
    args = {"GB/s": round(rate / 1e9, 6)}
    return {"ph": "C", "pid": _LINKS, "tid": 0, "name": name, "ts": _us(start_s), "args": args}


FORMATS = (
    ExportFormat(
        id="chrome-trace",
        name="Chrome trace (Perfetto)",
        suffix=".json",
        write=_write,
        use="Open it in ui.perfetto.dev or chrome://tracing.",
        lacks="Single layers and kernels, and the rates of all but the chosen links.",
        options=(_LINKS_OPTION,),
    ),
)
