"""Collectives by our rule beside NCCL's model and measurements: `python -m benchmarks.collectives`.

Writes the tables of docs/collectives.md. None of the figures that we compare with goes into a step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collectives_alone import alone, busbw_factor, drawing, fabric_of, report_of
from benchmarks.collectives_nccl import Estimate, nvls_estimate, ring_estimate, tree_estimate
from benchmarks.collectives_page import Table, write_tables
from model.catalog.load import catalog
from model.job.exchange import Operation

PAGE = Path(__file__).resolve().parent.parent / "docs/collectives.md"
REDUCE, GATHER, SCATTER = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER
EXCHANGE, SEND = Operation.ALL_TO_ALL, Operation.SEND
LARGE = 16 * 2**30
# NCCL's search on 8 H100 with NVSwitch: 12 channels of 30 GB/s (or 8 of 45); 16 channels under NVLS.
H100_BUSBW, NIC_BUSBW, NVLS_CHANNELS = 360e9, 48.5e9, 16


@dataclass(frozen=True, slots=True)
class Worked:
    """A worked example: the collective, and NCCL's estimate of it."""

    name: str
    nodes: int
    places: Sequence[int]
    operation: Operation
    algorithm: str
    size: float
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Measured:
    """A published bus bandwidth, GB/s; `model` the NCCL model's where its rates are known."""

    name: str
    template: str
    count: int
    places: Sequence[int]
    operation: Operation
    algorithm: str
    busbw: tuple[float, float]
    source: str
    model: float | None = None


def worked_examples() -> list[Worked]:
    """Tensors and gradients of Llama-3-70B with TP 8, PP 4, DP 32 on 1,024 H100, and one tree."""
    tensor, node, strided = 134_217_728.0, range(8), range(0, 256, 8)
    gradients = 4.0 * 2_139_422_720
    inside = {"members": 8, "nodes": 1, "busbw": H100_BUSBW}
    across = {"members": 32, "nodes": 32, "busbw": NIC_BUSBW}
    nvls = nvls_estimate(tensor, members=8, channels=NVLS_CHANNELS, intra=H100_BUSBW, generation="hopper")
    return [
        Worked("TP all-reduce, ring", 1, node, REDUCE, "ring", tensor, _ring(REDUCE, tensor, inside)),
        Worked("TP all-gather, ring", 1, node, GATHER, "ring", tensor, _ring(GATHER, tensor, inside)),
        Worked("TP all-reduce, NVLS", 1, node, REDUCE, "nvls", tensor, nvls),
        Worked(
            "DP reduce-scatter fp32",
            32,
            strided,
            SCATTER,
            "ring",
            gradients,
            _ring(SCATTER, gradients, across),
        ),
        Worked(
            "DP all-gather bf16",
            32,
            strided,
            GATHER,
            "ring",
            gradients / 2,
            _ring(GATHER, gradients / 2, across),
        ),
        Worked(
            "DP all-reduce bf16",
            32,
            strided,
            REDUCE,
            "ring",
            gradients / 2,
            _ring(REDUCE, gradients / 2, across),
        ),
        Worked(
            "1 GiB all-reduce, tree",
            4,
            range(32),
            REDUCE,
            "tree",
            float(2**30),
            tree_estimate(float(2**30), members=32, nodes=4, busbw=H100_BUSBW),
        ),
    ]


def _ring(operation: Operation, size: float, over: dict[str, float]) -> Estimate:
    members, nodes = int(over["members"]), int(over["nodes"])
    return ring_estimate(operation, size, members=members, nodes=nodes, busbw=over["busbw"])


def measured_rows() -> list[Measured]:
    """Published bus bandwidths of large messages."""
    nvls = 2 * H100_BUSBW * 0.85 * (NVLS_CHANNELS - 1) / NVLS_CHANNELS / 1e9
    ring = H100_BUSBW / 1e9
    eight, bekman = range(8), "Bekman, intra-node networking"
    return [
        Measured("8 × H200", "hgx-h200", 1, eight, REDUCE, "ring", (367, 367), bekman, ring),
        Measured("8 × H200", "hgx-h200", 1, eight, GATHER, "ring", (361, 361), bekman, ring),
        Measured("8 × H200", "hgx-h200", 1, eight, SCATTER, "ring", (363, 363), bekman, ring),
        Measured("4 of 8 × H200", "hgx-h200", 1, range(4), REDUCE, "ring", (363, 363), bekman, ring),
        Measured("4 of 8 × H200", "hgx-h200", 1, range(4), REDUCE, "auto", (363, 363), bekman),
        Measured("8 × H200", "hgx-h200", 1, eight, REDUCE, "nvls", (480, 480), "nccl-tests issue 212", nvls),
        Measured("8 × H800", "hgx-h800", 1, eight, REDUCE, "nvls", (215, 215), "NCCL issue 1374"),
        Measured("8 × B200", "hgx-b200", 1, eight, REDUCE, "ring", (682, 682), bekman),
        Measured("8 × B200", "hgx-b200", 1, eight, REDUCE, "nvls", (838, 838), bekman),
        Measured("NVL72", "gb200-nvl72", 1, range(72), REDUCE, "ring", (680, 680), "NVIDIA, by Bekman"),
        Measured("NVL72", "gb200-nvl72", 1, range(72), REDUCE, "nvls", (850, 850), "NVIDIA, by Bekman"),
        Measured("8 × MI300X", "mi300x", 1, eight, REDUCE, "auto", (313, 313), bekman),
        Measured("8 × MI300X", "mi300x", 1, eight, REDUCE, "direct", (313, 313), bekman),
        Measured("2 of 8 × MI300X", "mi300x", 1, range(2), REDUCE, "auto", (48, 48), bekman),
        Measured("two H100 by NVLink", "hgx-h100", 1, range(2), SEND, "auto", (396, 396), bekman),
        Measured(
            "two H100 by NDR NIC", "hgx-h100", 2, (0, 8), SEND, "auto", (46, 48), "nccl-tests issue 290"
        ),
    ]


# Fractions of the ideal bus bandwidth, measured by Alibaba for SimAI: one node over NVLink, then several
# nodes of 8 GPUs and 8 NICs; all-reduce by message size (MiB), all-to-all at 1 GiB.
NODES = (1, 2, 4, 8, 16, 64, 128)
CORNERS: dict[int, tuple[float, ...]] = {
    16: (0.45, 0.32, 0.24, 0.13, 0.05, 0.021, 0.0087),
    64: (0.65, 0.50, 0.53, 0.39, 0.21, 0.051, 0.044),
    256: (0.73, 0.85, 0.77, 0.69, 0.57, 0.209, 0.103),
    1024: (0.77, 0.92, 0.93, 0.90, 0.76, 0.563, 0.315),
    4096: (0.79, 0.95, 0.95, 0.95, 0.95, 0.755, 0.740),
    16384: (0.81, 0.96, 0.96, 0.96, 0.96, 0.958, 0.919),
}
ALL_TO_ALL_CORNERS = {2: 0.81, 4: 0.94, 8: 0.92, 16: 0.85}
NVLINK_NOMINAL, NIC_NOMINAL, GPUS_PER_NODE = 450e9, 50e9, 8


def worked_table() -> Table:
    """Our time, NCCL's, and the difference."""
    rows = [["collective", "S bytes", "our α", "our bytes", "**ours**", "NCCL's model", "ours against it"]]
    for item in worked_examples():
        found = alone(fabric_of("hgx-h100", "nodes", item.nodes), item.places, item.operation, item.algorithm)
        ours = found.time_s(item.size)
        rows.append(
            [
                f"{item.name}, {len(item.places)} GPUs",
                f"{item.size:,.0f}",
                _ms(found.alpha_s),
                _ms(item.size * found.seconds_per_byte),
                f"**{_ms(ours)}**",
                _ms(item.estimate.time_s),
                _percent(ours, item.estimate.time_s),
            ]
        )
    return rows


def measured_table() -> Table:
    """Our bus bandwidth at 16 GiB, the measured one, the difference, and ours × NCCL's NVLS factor."""
    heads = ["GPUs", "operation", "algorithm", "**ours** GB/s", "NCCL's model", "measured", "ours against it"]
    rows = [[*heads, "measured by", "ours × NVLS factor"]]
    for item in measured_rows():
        busbw, algorithm = our_busbw(item)
        ours = busbw / 1e9
        low, high = item.busbw
        against = min(max(ours, low), high)
        rows.append(
            [
                item.name,
                item.operation.value,
                item.algorithm if item.algorithm != "auto" else f"own choice: {algorithm}",
                f"**{ours:.0f}**",
                "" if item.model is None else f"{item.model:.0f}",
                f"{low:g}" if low == high else f"{low:g}–{high:g}",
                _percent(ours, against),
                item.source,
                f"{ours * nvls_factor(item.template):.0f}" if item.algorithm == "nvls" else "",
            ]
        )
    return rows


def our_busbw(item: Measured) -> tuple[float, str]:
    """Bus bandwidth by our rule for a large message, bytes/s, and the algorithm that ran."""
    count = "racks" if "nvl72" in item.template else "nodes"
    found = alone(
        fabric_of(item.template, count, item.count), tuple(item.places), item.operation, item.algorithm
    )
    return busbw_factor(item.operation, len(item.places)) * LARGE / found.time_s(LARGE), found.algorithm


def nvls_factor(template: str) -> float:
    """What NCCL's model takes of the rate when switches reduce (part of it, see `nvls_estimate`)."""
    generation = "blackwell" if "b200" in template else "hopper"
    return catalog().alpha.nvls_efficiency[generation]


def corner_fraction(nodes: int, size: float) -> float:
    """Our ring all-reduce over `nodes` HGX H100 as a fraction of its line rate."""
    members = GPUS_PER_NODE * nodes
    found = alone(fabric_of("hgx-h100", "nodes", nodes), range(members), REDUCE, "ring")
    line = NVLINK_NOMINAL if nodes == 1 else GPUS_PER_NODE * NIC_NOMINAL
    return busbw_factor(REDUCE, members) * size / found.time_s(size) / line


def all_to_all_fraction(nodes: int, size: float) -> float:
    """Our all-to-all over `nodes` HGX H100: the time at the line rate of the NICs ÷ ours."""
    found = alone(fabric_of("hgx-h100", "nodes", nodes), range(GPUS_PER_NODE * nodes), EXCHANGE)
    return size * (nodes - 1) / nodes / NIC_NOMINAL / found.time_s(size)


def corner_table() -> Table:
    """Ours and measured, by size and nodes."""
    heads = ["1, NVLink", *(str(nodes) for nodes in NODES[1:])]
    rows = [["S", *heads]]
    for mebibytes, measured in CORNERS.items():
        name = f"{mebibytes} MiB" if mebibytes < 1024 else f"{mebibytes // 1024} GiB"
        pairs = zip(NODES, measured, strict=True)
        rows.append(
            [
                name,
                *(f"{corner_fraction(nodes, mebibytes * 2.0**20):.3f} / {seen:g}" for nodes, seen in pairs),
            ]
        )
    all_to_all = {
        nodes: f"{all_to_all_fraction(nodes, 2.0**30):.3f} / {seen:g}"
        for nodes, seen in ALL_TO_ALL_CORNERS.items()
    }
    rows.append(["all-to-all 1 GiB", *(all_to_all.get(nodes, "") for nodes in NODES)])
    return rows


def step_table() -> Table:
    """The step of the same job, by the engine, and the prototype's estimate (its GEMM efficiency 0.55)."""
    job = ["model=llama3-70b", "sequence_length=8192", "global_batch=1024", "vocabulary_multiple=1"]
    job += ["parallel.tp=8", "parallel.pp=4"]
    rows = [["Llama-3-70B on 1,024 H100", "**ours**", "our MFU", "prototype", "its MFU", "ours against it"]]
    document = drawing("hgx-h100", nodes=128)
    for chunks, seconds, mfu in ((1, 9.60, 38.8), (5, 8.95, 41.6)):
        more = [*job, f"parallel.vpp={chunks}"]
        name = f"TP 8, PP 4, DP 32, {chunks} chunk{'s' if chunks > 1 else ''} a stage"
        totals = report_of(document, more).totals
        rows.append(
            [
                name,
                f"**{totals.time_s:.2f} s**",
                f"{100 * totals.mfu:.1f} %",
                f"{seconds:.2f} s",
                f"{mfu} %",
                _percent(totals.time_s, seconds),
            ]
        )
    return rows


SECTIONS: tuple[tuple[str, Callable[[], Table]], ...] = (
    ("worked", worked_table),
    ("measured", measured_table),
    ("corners", corner_table),
    ("step", step_table),
)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-2 else f"{seconds * 1e3:,.2f} ms"


def _percent(ours: float, theirs: float) -> str:
    return f"{100 * (ours / theirs - 1):+.1f} %"


def main(_words: Iterable[str]) -> int:
    """Write the tables into the page."""
    write_tables(PAGE, {name: make() for name, make in SECTIONS})
    print(f"{PAGE} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
