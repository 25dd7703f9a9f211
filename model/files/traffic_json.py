"""The traffic export: what a step puts on every link, with groups, timeline, memory, findings and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.files.writing import finite, json_text, write_atomic
from model.job.exchange import EXCHANGE_DIMENSIONS, Exchange
from model.placement.types import DIMENSIONS, Placement
from model.step.report import Analysis, Block, Figure, Finding, Lane, StepReport
from model.topology.types import LinkKind
from model.traffic.types import EcmpTier

FORMAT = "railsketch.traffic"
VERSION = 1

# Conventions 39 and 40: up to so many GPUs the file spells these out.
SPELL_GROUPS = 4096
SPELL_SEGMENT_LINKS = 64
SPELL_LOADS = 512

_SAME_AS = {"dp-cp": "dp", "edp": "dp", "etp": "tp"}
_LINK_KINDS = tuple(LinkKind)


def traffic_to_json(analysis: Analysis) -> dict[str, Any]:
    """The traffic export of an analysis. Raises ValueError where it has no report (an illegal job)."""
    report = analysis.report
    if report is None:
        raise ValueError("there is no report to write")
    return {
        "format": FORMAT,
        "version": VERSION,
        "job": dict(report.job),
        "placement": _placement(report.placement),
        "groups": _groups(report.placement),
        "step": step_to_json(report),
        "memory": _memory(report),
        "exchanges": _exchanges(report),
        "links": _links(report),
        "timeline": _timeline(report),
        "notes": list(report.traffic.notes),
        "ecmp": [_ecmp(tier) for tier in report.traffic.ecmp],
        "findings": [finding_to_json(finding) for finding in analysis.findings],
        "figures": {name: figure_to_json(figure) for name, figure in report.figures.items()},
    }


def write_traffic(analysis: Analysis, path: Path) -> None:
    """Write the export. Raises `InputError` when it cannot be written."""
    write_atomic(path, json_text(traffic_to_json(analysis)))


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """A finding with the names of the export."""
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "title": finding.title,
        "detail": finding.detail,
        "devices": list(finding.devices),
        "links": list(finding.links),
        "cost_s": finite(finding.cost_s),
        "fix": finding.fix,
    }


def figure_to_json(figure: Figure) -> dict[str, Any]:
    """A figure with its derivation."""
    return {
        "value": finite(figure.value),
        "unit": figure.unit,
        "formula": figure.formula,
        "inputs": {
            name: finite(value) if isinstance(value, float) else value
            for name, value in figure.inputs.items()
        },
        "source": figure.source,
    } | ({"note": figure.note} if figure.note else {})


def _placement(placement: Placement) -> list[dict[str, Any]]:
    """GPUs that have a rank, in world order."""
    ranks = placement.rank.tolist()
    columns = [placement.coordinates[dimension].tolist() for dimension in DIMENSIONS]
    rows = zip(placement.gpus, ranks, *columns, strict=True)
    return [dict(zip(("gpu", "rank", *DIMENSIONS), row, strict=True)) for row in rows if row[1] >= 0]


def _names(placement: Placement, members: NDArray[np.int32]) -> list[str]:
    gpus = placement.gpus
    return [gpus[member] for member in members.tolist()]


def _own_key(placement: Placement, key: str) -> str:
    """The name under which a group set is written: that of its twin where both are equal (conventions 14)."""
    twin = _SAME_AS.get(key)
    if twin is None:
        return key
    mine, theirs = placement.groups[key], placement.groups[twin]
    same = len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))
    return twin if same else key


def _groups(placement: Placement) -> dict[str, list[list[str]]]:
    keys = [*DIMENSIONS, *(key for key in _SAME_AS if _own_key(placement, key) == key)]
    return {key: [_names(placement, members) for members in placement.groups[key]] for key in keys}


def step_to_json(report: StepReport) -> dict[str, Any]:
    """The sums of the step with the names of the export."""
    totals = report.totals
    return {
        "time_s": finite(totals.time_s),
        "tokens_per_s_per_gpu": finite(totals.tokens_per_s_per_gpu),
        "model_flops": finite(totals.model_flops),
        "mfu": finite(totals.mfu),
        "hfu": finite(totals.hfu),
        "bubble_fraction": finite(totals.bubble_fraction),
        "compute_s": finite(totals.compute_s),
        "optimizer_s": finite(totals.optimizer_s),
        "bubble_s": finite(totals.bubble_s),
        "exposed_s": {name: finite(totals.exposed_s.get(name, 0.0)) for name in EXCHANGE_DIMENSIONS},
    }


def _memory(report: StepReport) -> list[dict[str, Any]]:
    parts = ("weights", "gradients", "optimizer", "activations", "other", "total")
    rows = {}
    for stage in report.memory:
        row = {f"{part}_bytes": finite(getattr(stage, f"{part}_bytes")) for part in parts}
        rows[stage.stage] = row | {"hbm_bytes": finite(stage.hbm_bytes)}
    stages = report.stage_of_gpu.tolist()
    return [
        {"gpu": gpu} | rows[stage]
        for gpu, stage in zip(report.placement.gpus, stages, strict=True)
        if stage in rows
    ]


def _exchanges(report: StepReport) -> list[dict[str, Any]]:
    placement = report.placement
    spell = len(placement.gpus) <= SPELL_GROUPS
    rows = zip(
        report.exchanges,
        report.traffic.algorithms,
        report.traffic.sent_bytes_per_gpu.tolist(),
        report.exchange_times,
        strict=True,
    )
    return [
        {
            "id": exchange.id,
            "dimension": exchange.dimension,
            "kind": exchange.kind,
            "operation": exchange.operation.value,
            "algorithm": algorithm,
            "groups": _exchange_groups(placement, exchange, spell=spell),
            "group_size": exchange.group_size,
            "message_bytes": exchange.message_bytes,
            "count_per_step": exchange.count_per_step,
            "blocking": exchange.blocking,
            "sent_bytes_per_gpu_per_step": finite(sent),
            "time_s": finite(times.time_s),
            "exposed_s": finite(times.exposed_s),
        }
        for exchange, algorithm, sent, times in rows
    ]


def _exchange_groups(placement: Placement, exchange: Exchange, *, spell: bool) -> list[list[str]] | str:
    if spell:
        gpus = placement.gpus
        return [[gpus[member] for member in members if member >= 0] for members in exchange.groups.tolist()]
    return _own_key(placement, exchange.group_key)


def _links(report: StepReport) -> list[dict[str, Any]]:
    """Every link up to `SPELL_LOADS` GPUs; above only those that carry or are offered something."""
    fabric = report.fabric
    by_dimension = {
        name: report.bytes_by_dimension[name]
        for name in EXCHANGE_DIMENSIONS
        if name in report.bytes_by_dimension
    }
    nothing = np.zeros(2 * len(fabric.link_ids))
    dimensions = [by_dimension.get(name, nothing) for name in EXCHANGE_DIMENSIONS]
    total = np.sum(dimensions, axis=0)
    if len(report.placement.gpus) <= SPELL_LOADS:
        chosen = np.arange(len(fabric.link_ids))
    else:
        chosen = np.flatnonzero(total.reshape(-1, 2).any(axis=1))
    byte_rows = np.stack([*dimensions, total], axis=1)
    metrics = np.stack(
        [report.peak_utilisation, report.mean_utilisation, report.oversubscription, report.cost_s], axis=1
    )
    ends = [
        (fabric.device_ids[a], fabric.device_ids[b])
        for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)
    ]
    found = []
    for link in chosen.tolist():
        both = slice(2 * link, 2 * link + 2)
        forth, back = map(_direction, byte_rows[both].tolist(), metrics[both].tolist())
        found.append(
            {
                "id": fabric.link_ids[link],
                "a": ends[link][0],
                "b": ends[link][1],
                "kind": _LINK_KINDS[int(fabric.link_kind[link])].value,
                "count": int(fabric.link_count[link]),
                "capacity_bytes_per_s": float(fabric.capacity[link]),
                "usable_bytes_per_s": float(fabric.usable[link]),
                "a_to_b": forth,
                "b_to_a": back,
            }
        )
    return found


def _direction(sent: list[float], metrics: list[float]) -> dict[str, Any]:
    peak, mean, oversubscription, cost = metrics
    return {
        "bytes_per_step": dict(zip((*EXCHANGE_DIMENSIONS, "total"), sent, strict=True)),
        "peak_utilisation": finite(peak),
        "mean_utilisation": finite(mean),
        "oversubscription": finite(oversubscription),
        "cost_s": finite(cost),
    }


def _timeline(report: StepReport) -> dict[str, Any]:
    segments = report.segments
    gpus = len(report.placement.gpus)
    active = [_active_ids(report, instances) for instances in segments.active]
    rows: list[dict[str, Any]] = [
        {"start_s": start, "end_s": end, "exchanges": active[state]}
        for start, end, state in zip(
            segments.start_s.tolist(), segments.end_s.tolist(), segments.state.tolist(), strict=True
        )
    ]
    timeline: dict[str, Any] = {"segments": rows}
    if gpus <= SPELL_SEGMENT_LINKS:
        for row, links in zip(rows, _segment_bytes(report), strict=True):
            row["links"] = links
    elif gpus <= SPELL_LOADS:
        for row, state in zip(rows, segments.state.tolist(), strict=True):
            row["loads"] = f"s{state}"
        ids = report.fabric.link_ids
        timeline["loads"] = [
            {"id": f"s{state}", "links": _pairs(ids, np.asarray(segments.rates[state], np.float64))}
            for state in range(segments.rates.shape[0])
        ]
    timeline["lanes"] = [_lane(lane) for lane in report.lanes]
    return timeline


def _active_ids(report: StepReport, instances: Sequence[int]) -> list[str]:
    exchanges = (report.traffic.instance_exchange[instance] for instance in instances)
    return list(dict.fromkeys(report.exchanges[exchange].id for exchange in exchanges))


def _segment_bytes(report: StepReport) -> list[list[list[Any]]]:
    """Bytes of each segment on each link. Rates are rounded, so each link's bytes are scaled to add up to its
    total, which is exact (conventions 40).
    """
    segments = report.segments
    duration = segments.end_s - segments.start_s
    rates = np.stack([np.asarray(segments.rates[state]) for state in range(segments.rates.shape[0])])
    moved = rates[segments.state].astype(np.float64) * duration[:, None]
    total = np.sum(list(report.bytes_by_dimension.values()), axis=0)
    carried = moved.sum(axis=0)
    scale = np.divide(total, carried, out=np.zeros_like(carried), where=carried > 0)
    return [_pairs(report.fabric.link_ids, row) for row in moved * scale]


def _pairs(ids: Sequence[str], values: NDArray[np.float64]) -> list[list[Any]]:
    """[id, a to b, b to a] of the links on which something flows."""
    both = values.reshape(-1, 2)
    flowing = np.flatnonzero(both.any(axis=1))
    rows = both[flowing].tolist()
    return [[ids[link], forth, back] for link, (forth, back) in zip(flowing.tolist(), rows, strict=True)]


def _ecmp(tier: EcmpTier) -> dict[str, Any]:
    """How the hashed flows of an exchange meet between two kinds of switch."""
    return {
        "exchange": tier.exchange_id,
        "from": tier.from_kind,
        "to": tier.to_kind,
        "flows": tier.flows,
        "cables": tier.cables,
        "expected_worst": finite(tier.expected),
        "drawn_worst": finite(tier.drawn),
    }


def _lane(lane: Lane) -> dict[str, Any]:
    return {
        "stage": lane.stage,
        "replica": lane.replica,
        "replicas": lane.replicas,
        "blocks": [_block(block) for block in lane.blocks],
    }


def _block(block: Block) -> dict[str, Any]:
    """`chunk` only where the stage has several (conventions 41)."""
    row: dict[str, Any] = {
        "start_s": block.start_s,
        "end_s": block.end_s,
        "what": block.what.value,
        "microbatch": block.microbatch,
        "exposed_s": block.exposed_s,
    }
    return row if block.chunk is None else row | {"chunk": block.chunk}
