"""Exchanges that do not run as the job asks (conventions 18), and rings over a full mesh."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation
from model.job.exchange import Operation, dimension_name
from model.step.report import Finding, Severity, StepReport
from model.text import capital
from model.traffic.domains import full_mesh
from model.traffic.edges import Algorithm
from model.traffic.fabric import gpu_indices

_DIRECT_TOO = frozenset({Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER})


def check(situation: Situation) -> Iterator[Finding]:
    """Every note of the traffic; those of one dimension with the same algorithms make one finding."""
    report = situation.report
    if report is None:
        return
    yield from _rings_on_meshes(report)
    found: dict[tuple[str, str], list[str]] = {}
    for note in report.traffic.notes:
        found.setdefault(_words(report, note), []).append(note)
    for number, ((title, fix), notes) in enumerate(found.items()):
        yield Finding(
            id=f"algorithms.{number}", severity=Severity.INFO, title=title, detail=" ".join(notes), fix=fix
        )


def _rings_on_meshes(report: StepReport) -> Iterator[Finding]:
    """Where a ring leaves all links of a GPU but one unused in its direction."""
    devices = gpu_indices(report.fabric, report.placement.gpus)
    found: dict[str, tuple[float, int]] = {}
    for exchange, time, ran in zip(
        report.exchanges, report.exchange_times, report.traffic.algorithms, strict=True
    ):
        if ran != Algorithm.RING or exchange.operation not in _DIRECT_TOO or exchange.group_size < 3:
            continue
        if full_mesh(report.fabric, devices[exchange.groups]).any():
            cost, size = found.get(exchange.dimension, (0.0, 0))
            found[exchange.dimension] = (cost + time.exposed_s, max(size, exchange.group_size))
    for dimension, (cost, size) in found.items():
        name = dimension_name(dimension)
        yield Finding(
            id=f"algorithms.mesh.{dimension}",
            severity=Severity.INFO,
            title=f"{name}: a ring over a full mesh",
            detail=f"Every two of the {size} GPUs of a {name} group have a link of their own; a ring sends "
            f"over one of the {size - 1} links of each.",
            cost_s=cost if cost > 0 else None,
            fix=f"Choose direct for {name}: each GPU then sends to all others at once, over all its links.",
        )


def _words(report: StepReport, note: str) -> tuple[str, str]:
    """Title and advice; a note begins with the kind and the operation of its exchange."""
    for exchange, ran in zip(report.exchanges, report.traffic.algorithms, strict=True):
        asked = exchange.algorithm
        if note.startswith(f"{exchange.kind} ({exchange.operation}) asked for {asked}:") and ran != asked:
            name = dimension_name(exchange.dimension)
            return (
                f"{capital(name)}: {ran} in place of {asked}",
                f"Choose auto or {ran} for {name}, or groups and switches that {asked} fits.",
            )
    return "Fewer queue pairs are told apart than asked", "Ask for fewer queue pairs."
