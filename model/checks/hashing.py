"""How unevenly hashed flows fill equal cables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model.checks.situation import Situation, short
from model.step.report import Finding, Severity
from model.text import format_ratio, plural
from model.topology.names import DEVICE_NAMES
from model.topology.types import DeviceKind
from model.traffic.types import EcmpTier

_SLACK = 1e-6


def check(situation: Situation) -> Iterator[Finding]:
    """One finding per tier of switches that hashing loads unevenly; the worst exchange leads."""
    report = situation.report
    if report is None:
        return
    kind_of = {exchange.id: f"{exchange.kind} ({exchange.operation})" for exchange in report.exchanges}
    tiers: dict[tuple[str, str], list[EcmpTier]] = {}
    for tier in report.traffic.ecmp:
        if tier.drawn > 1 + _SLACK:
            tiers.setdefault((tier.from_kind, tier.to_kind), []).append(tier)
    for (source, target), found in tiers.items():
        name = " → ".join(DEVICE_NAMES[DeviceKind(kind)] for kind in (source, target))
        yield _finding(f"hashing.{source}.{target}", name, found, kind_of)


def _finding(ident: str, name: str, tiers: Sequence[EcmpTier], kind_of: dict[str, str]) -> Finding:
    worst = max(tiers, key=lambda tier: tier.drawn)
    others = len(tiers) - 1
    is_are = "is" if others == 1 else "are"
    also = f" {plural(others, 'other exchange')} {is_are} uneven there too." if others else ""
    return Finding(
        id=ident,
        severity=Severity.INFO,
        title=short(
            f"{name}: a cable has {format_ratio(worst.drawn)} its even load",
            f"Hashing loads a cable {format_ratio(worst.drawn)}",
        ),
        detail=f"{plural(worst.flows, 'flow')} of {kind_of[worst.exchange_id]} hash onto "
        f"{plural(worst.cables, 'cable')}: the worst carries {format_ratio(worst.drawn)} its even load, "
        f"{format_ratio(worst.expected)} is expected.{also}",
        fix="More queue pairs, or even routing (adaptive, sprayed), level it out.",
    )
