"""Llama 3 405B on 16,384 GPUs of its fabric, nodes in several orders.

`python -m benchmarks.llama3_fabric` writes the table of docs/llama3-fabric.md; with the name of a file it
writes the job of the first row there, for `railsketch run --job`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.collectives_page import Table, write_tables
from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.start import document_from
from model.job.spec import parse_job
from model.step.report import StepReport
from model.topology.types import DeviceKind
from model.traffic.types import Fabric
from topology_templates.registry import build

PAGE = Path(__file__).resolve().parent.parent / "docs/llama3-fabric.md"
PODS, NODES_PER_POD, NODES = 8, 384, 2048
KINDS = tuple(DeviceKind)


def in_order() -> list[int]:
    """The first 2,048 nodes: five pods and a third of the sixth."""
    return list(range(NODES))


def by_turns() -> list[int]:
    """A node of each pod in turn."""
    return [node % PODS * NODES_PER_POD + node // PODS for node in range(NODES)]


def shuffled() -> list[int]:
    """The first 2,048 nodes in a random order (seed 1)."""
    return [int(node) for node in np.random.default_rng(1).permutation(NODES)]


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of the step and exposed, and what the links between spines and cores carry."""

    step_s: float
    mfu: float
    exposed_pp_s: float
    gather_s: float
    above_pods_bytes: float
    peak_utilisation: float
    oversubscription: float
    pod_peak_utilisation: float


class Llama3Fabric:
    """The fabric of 24,576 GPUs, and the job on it."""

    def __init__(self, oversubscription: float = 7.0) -> None:
        content = build(
            "llama3-24k",
            {"pods": PODS, "racks_per_pod": 192, "oversubscription": oversubscription, "host": "plain"},
        )
        self.document: Document = document_from(content)
        gpus = [device.id for device in content.devices if device.kind is DeviceKind.GPU]
        self._gpus = [gpus[8 * node : 8 * node + 8] for node in range(len(gpus) // 8)]
        self._cache = AnalysisCache()

    def run(self, nodes: Callable[[], Sequence[int]], outermost: str) -> Figures:
        """TP 8, PP 16 with 8 chunks (126 layers on 128), DP 128, 2,048 sequences of 8,192 tokens a step."""
        self.document.job = parse_job(self.job(nodes, outermost))
        found = analyse(self.document, self._cache)
        if found.report is None:
            raise RuntimeError(f"no step: {[finding.title for finding in found.findings]}")
        return _figures(found.report)

    def job(self, nodes: Callable[[], Sequence[int]], outermost: str) -> dict[str, Any]:
        """The job that `run` runs."""
        return {
            "model": "llama3-405b",
            "sequence_length": 8192,
            "global_batch": 2048,
            "schedule": "interleaved",
            "world": [gpu for node in nodes() for gpu in self._gpus[node]],
            "parallel": {
                "tp": 8,
                "pp": 16,
                "vpp": 8,
                "layers_per_stage": [0, *[1] * 126, 0],
                "order": "tp-cp-ep-pp-dp" if outermost == "dp" else "tp-cp-ep-dp-pp",
            },
        }


def _between(fabric: Fabric, lower: DeviceKind, upper: DeviceKind) -> NDArray[np.bool_]:
    a, b = fabric.device_kind[fabric.link_a], fabric.device_kind[fabric.link_b]
    return np.repeat((a == KINDS.index(lower)) & (b == KINDS.index(upper)), 2)


def _figures(report: StepReport) -> Figures:
    above = _between(report.fabric, DeviceKind.SPINE, DeviceKind.CORE)
    inside = _between(report.fabric, DeviceKind.LEAF, DeviceKind.SPINE)
    gathers = [
        time.time_s
        for exchange, time in zip(report.exchanges, report.exchange_times, strict=True)
        if exchange.kind == "dp.parameters"
    ]
    return Figures(
        step_s=report.totals.time_s,
        mfu=report.totals.mfu,
        exposed_pp_s=report.totals.exposed_s["pp"],
        gather_s=max(gathers),
        above_pods_bytes=float(sum(loads[above].sum() for loads in report.bytes_by_dimension.values())),
        peak_utilisation=float(report.peak_utilisation[above].max()),
        oversubscription=float(report.oversubscription[above].max()),
        pod_peak_utilisation=float(report.peak_utilisation[inside].max()),
    )


ROWS: tuple[tuple[str, Callable[[], Sequence[int]], str], ...] = (
    ("the first 2,048, in order", in_order, "dp"),
    ("the first 2,048, in order", in_order, "pp"),
    ("a node of each pod in turn", by_turns, "pp"),
    ("a node of each pod in turn", by_turns, "dp"),
    ("the first 2,048, shuffled (seed 1)", shuffled, "dp"),
)
HEADS = [
    "order of the nodes",
    "outermost",
    "step",
    "MFU",
    "waits for PP",
    "last DP gather",
    "bytes above the pods",
    "highest use",
    "most offered ÷ capacity",
]


def orders_table() -> Table:
    """A row for each order of the nodes."""
    fabric, rows = Llama3Fabric(), [HEADS]
    for text, nodes, outermost in ROWS:
        found = fabric.run(nodes, outermost)
        rows.append(
            [
                text,
                outermost.upper(),
                f"{found.step_s:.2f} s",
                f"{100 * found.mfu:.1f} %",
                f"{found.exposed_pp_s:.2f} s",
                f"{found.gather_s:.2f} s",
                f"{found.above_pods_bytes / 1e12:,.0f} TB",
                f"{100 * found.peak_utilisation:.0f} %",
                f"{found.oversubscription:.3g}×",
            ]
        )
    return rows


def main(words: Sequence[str]) -> int:
    """Write the table into the page, or a job into a file."""
    if words:
        _, nodes, outermost = ROWS[0]
        Path(words[0]).write_text(json.dumps(Llama3Fabric().job(nodes, outermost)), "utf-8")
        return 0
    write_tables(PAGE, {"orders": orders_table()})
    print(f"{PAGE} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
