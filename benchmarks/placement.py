"""Where the groups lie: TP inside and across NVLink domains, EP 64 on racks and nodes.

`python -m benchmarks.placement` writes the tables of docs/placement.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks.collectives_alone import alone, drawing, fabric_of, report_of
from benchmarks.collectives_page import Table, write_tables
from model.document.document import Document
from model.job.exchange import Operation
from model.step.report import StepReport
from model.topology.types import NETWORK_LINKS, DeviceKind, LinkKind

PAGE = Path(__file__).resolve().parent.parent / "docs/placement.md"
RACK, EXPERTS_OVER = 72, 64
GATHER, DISPATCH = Operation.ALL_GATHER, Operation.ALL_TO_ALL
LLAMA = (
    "model=llama3-70b",
    "sequence_length=8192",
    "global_batch=1024",
    "vocabulary_multiple=1",
    "parallel.pp=4",
)
# One all-gather of a layer: b·s·h·2 bytes; one dispatch: s·k·h·2 bytes of one GPU.
TENSOR, BUFFER = 8192.0 * 8192 * 2, 4096.0 * 8 * 7168 * 2
LAYERS = 61


@dataclass(frozen=True, slots=True)
class Case:
    """A job on a drawing. `gpus`: how many take part, `per_rack` of them in each rack (None: all)."""

    name: str
    template: str
    units: int
    job: tuple[str, ...]
    gpus: int
    per_rack: int | None = None

    def report(self) -> StepReport:
        """One step of it."""
        count = "racks" if "nvl72" in self.template else "nodes"
        document = drawing(self.template, **{count: self.units})
        world = json.dumps(self.world(document))
        return report_of(document, (*self.job, f"world={world}"))

    def world(self, document: Document) -> list[str]:
        """The GPUs that take part, in drawing order."""
        every = [one.id for one in document.topology.devices() if one.kind is DeviceKind.GPU]
        if self.per_rack is not None:
            every = [gpu for place, gpu in enumerate(every) if place % RACK < self.per_rack]
        return every[: self.gpus]


def llama_cases(gpus: int = 1024) -> list[Case]:
    """Llama-3-70B, the same batch everywhere: TP inside the domain, across it, and wider than a node."""
    nodes, racks = gpus // 8, -(-gpus // 64)
    inside, wide = ("parallel.tp=8",), ("parallel.tp=16",)
    across = ("parallel.tp=8", "parallel.order=cp-ep-dp-pp-tp")
    return [
        Case("H100: TP 8 in a node", "hgx-h100", nodes, LLAMA + inside, gpus),
        Case("H100: TP 8, one GPU in each of 8 nodes", "hgx-h100", nodes, LLAMA + across, gpus),
        Case("H100: TP 16 over 2 nodes", "hgx-h100", nodes, LLAMA + wide, gpus),
        Case("B200: TP 8 in a node", "hgx-b200", nodes, LLAMA + inside, gpus),
        Case("B200: TP 16 over 2 nodes", "hgx-b200", nodes, LLAMA + wide, gpus),
        Case("GB200 NVL72, 64 of each rack: TP 8", "gb200-nvl72", racks, LLAMA + inside, gpus, 64),
        Case("GB200 NVL72, 64 of each rack: TP 16", "gb200-nvl72", racks, LLAMA + wide, gpus, 64),
    ]


def expert_cases(stages: int = 16, microbatches: int = 64) -> list[Case]:
    """DeepSeek-V3 with EP 64, one expert group a pipeline stage, on racks and on nodes."""
    gpus = EXPERTS_OVER * stages
    layers = [LAYERS // stages + (stage < LAYERS % stages) for stage in range(stages)]
    job = (
        "model=deepseek-v3-671b",
        "sequence_length=4096",
        f"global_batch={EXPERTS_OVER * microbatches}",
        "recompute=full",
        f"parallel.ep={EXPERTS_OVER}",
        f"parallel.pp={stages}",
        f"parallel.layers_per_stage={layers}",
    )
    full_racks = -(-gpus // RACK)
    return [
        Case("GB200 NVL72, 64 of each rack", "gb200-nvl72", stages, job, gpus, EXPERTS_OVER),
        Case("GB200 NVL72, 72 in rack order", "gb200-nvl72", full_racks, job, gpus),
        Case("HGX B200", "hgx-b200", gpus // 8, job, gpus),
        Case("HGX H100", "hgx-h100", gpus // 8, job, gpus),
    ]


def nic_bytes(report: StepReport) -> dict[str, np.ndarray]:
    """Bytes that each NIC sends into the network in a step, by dimension; one entry per NIC with a link."""
    fabric = report.fabric
    tail = np.stack([fabric.link_a, fabric.link_b], axis=1).ravel()
    links = tuple(LinkKind)
    network = np.isin(np.repeat(fabric.link_kind, 2), [links.index(kind) for kind in NETWORK_LINKS])
    out = network & (fabric.device_kind[tail] == tuple(DeviceKind).index(DeviceKind.NIC))
    _, card = np.unique(tail[out], return_inverse=True)
    return {
        dimension: np.bincount(card, weights=amount[out])
        for dimension, amount in report.bytes_by_dimension.items()
    }


def step_table(cases: Sequence[Case], dimensions: Sequence[str]) -> Table:
    """A row per case: the step, what of it is exposed per dimension, and what the NICs send."""
    heads = ["", "**step**", "MFU", "compute", *(f"exposed {name.upper()}" for name in dimensions), "bubble"]
    rows = [
        [
            *heads,
            *(f"NIC bytes a GPU, {name.upper()}" for name in dimensions),
            "busiest NIC, all",
            "memory, fullest stage",
        ]
    ]
    for case in cases:
        report = case.report()
        totals, sent = report.totals, nic_bytes(report)
        fullest = max(report.memory, key=lambda stage: stage.total_bytes / stage.hbm_bytes)
        rows.append(
            [
                case.name,
                f"**{totals.time_s:.2f} s**",
                f"{100 * totals.mfu:.1f} %",
                f"{totals.compute_s:.2f} s",
                *(f"{totals.exposed_s[name]:.2f} s" for name in dimensions),
                f"{totals.bubble_s:.2f} s",
                *(f"{sent[name].sum() / case.gpus / 1e9:.1f} GB" for name in dimensions),
                f"{np.sum(list(sent.values()), axis=0).max() / 1e9:.1f} GB",
                f"{fullest.total_bytes / 1e9:.0f} of {fullest.hbm_bytes / 1e9:.0f} GB",
            ]
        )
    return rows


def tensor_table() -> Table:
    """One all-gather of a layer of Llama-3-70B, alone on the links."""
    rows = [["one all-gather of 134,217,728 B", "α", "bytes", "together"]]
    for name, template, units, places in (
        ("H100: 8 in a node", "hgx-h100", 1, range(8)),
        ("H100: one in each of 8 nodes", "hgx-h100", 8, range(0, 64, 8)),
        ("H100: 16 over 2 nodes", "hgx-h100", 2, range(16)),
        ("B200: 8 in a node", "hgx-b200", 1, range(8)),
        ("B200: 16 over 2 nodes", "hgx-b200", 2, range(16)),
        ("NVL72: 8 of a rack", "gb200-nvl72", 1, range(8)),
        ("NVL72: 16 of a rack", "gb200-nvl72", 1, range(16)),
    ):
        fabric = fabric_of(template, "racks" if "nvl72" in template else "nodes", units)
        found = alone(fabric, places, GATHER)
        bytes_s = TENSOR * found.seconds_per_byte
        rows.append([name, _us(found.alpha_s), _us(bytes_s), _us(found.alpha_s + bytes_s)])
    return rows


def expert_group_table(groups: int = 9) -> Table:
    """One dispatch of each EP group of 64, alone on the links: racks in order, then the other drawings."""
    rows = [["EP group", "its GPUs by rack or node", "one dispatch", "against one rack"]]
    racks = fabric_of("gb200-nvl72", "racks", 8)
    first = alone(racks, range(EXPERTS_OVER), DISPATCH).time_s(BUFFER)
    for group in range(groups):
        places = range(EXPERTS_OVER * group, EXPERTS_OVER * (group + 1))
        split = [len(list(members)) for _, members in groupby(place // RACK for place in places)]
        time = alone(racks, places, DISPATCH).time_s(BUFFER)
        rows.append(
            [
                f"72 in rack order, group {group}",
                " + ".join(map(str, split)),
                _us(time),
                f"{time / first:.1f}×",
            ]
        )
    for name in ("hgx-b200", "hgx-h100"):
        time = alone(fabric_of(name, "nodes", 8), range(EXPERTS_OVER), DISPATCH).time_s(BUFFER)
        rows.append([f"{name}, each", "8 × 8", _us(time), f"{time / first:.1f}×"])
    return rows


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def main(_words: Iterable[str]) -> int:
    """Write the tables into the page."""
    tables = {
        "tensor": tensor_table(),
        "llama": step_table(llama_cases(), ("tp", "pp", "dp")),
        "groups": expert_group_table(),
        "experts": step_table(expert_cases(), ("ep", "pp", "dp")),
    }
    write_tables(PAGE, tables)
    print(f"{PAGE} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
