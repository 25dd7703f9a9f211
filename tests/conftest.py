"""What holds for all tests: no screen is needed, and property tests run the same way every time."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")

settings.register_profile(
    "railsketch",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("railsketch")


@pytest.fixture
def unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if some schedules, several chunks and one kind of overlap were not built yet."""
    from model.job import not_built

    rows = (
        not_built.NotBuilt("parallel.vpp", lambda value: value == 1, "several model chunks a stage"),
        not_built.NotBuilt(
            "schedule", lambda value: value in ("1f1b", "interleaved"), "another pipeline schedule"
        ),
        not_built.NotBuilt("overlap.tensor", lambda value: value is False, "TP collectives beside GEMMs"),
    )
    monkeypatch.setattr(not_built, "TABLE", rows)
    monkeypatch.setattr(not_built, "_BY_PATH", {row.path: row for row in rows})
