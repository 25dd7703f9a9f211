"""Exchanges that do not run as the job asks (conventions 18)."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation
from model.job.exchange import dimension_name
from model.step.report import Finding, Severity, StepReport
from model.text import capital


def check(situation: Situation) -> Iterator[Finding]:
    """Every note of the traffic; those of one dimension with the same algorithms make one finding."""
    report = situation.report
    if report is None:
        return
    found: dict[tuple[str, str], list[str]] = {}
    for note in report.traffic.notes:
        found.setdefault(_words(report, note), []).append(note)
    for number, ((title, fix), notes) in enumerate(found.items()):
        yield Finding(
            id=f"algorithms.{number}", severity=Severity.INFO, title=title, detail=" ".join(notes), fix=fix
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
