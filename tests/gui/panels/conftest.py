"""A small drawing with a job on it, analysed once, and a context that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts, SetJob
from model.job.spec import JobSpec, apply_set
from model.step.report import Analysis, StepReport
from topology_templates.registry import build

# The job of the look's main picture: Mixtral 8×7B on 4 nodes of 8 H100.
MIXTRAL = (
    "model=mixtral-8x7b",
    "parallel.tp=1",
    "parallel.pp=4",
    "parallel.ep=8",
    "global_batch=128",
    "sequence_length=4096",
)


def make_document(*settings: str, nodes: int = 4, **parameters: object) -> Document:
    """HGX H100 nodes with a job."""
    content = build("hgx-h100", {"nodes": nodes, **parameters})
    document = Document(name="test")
    AddParts(content.devices, content.links, content.containers, content.positions).apply(document)
    job = JobSpec()
    for setting in settings or MIXTRAL:
        job = apply_set(job, setting)
    SetJob(job).apply(document)
    return document


@pytest.fixture(scope="session")
def mixtral() -> Analysis:
    return analyse(make_document())


@pytest.fixture(scope="session")
def report(mixtral: Analysis) -> StepReport:
    assert mixtral.report is not None
    return mixtral.report


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: object) -> None:
    from PySide6.QtCore import QSettings

    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path))


@pytest.fixture
def context(qtbot: QtBot, mixtral: Analysis) -> AppContext:
    """The Mixtral drawing with its analysis."""
    made = AppContext()
    made.theme.set_choice("light")
    made.document.set_document(make_document())
    made.set_analysis(replace(mixtral, revision=made.document.revision))
    return made


@pytest.fixture
def empty_context(qtbot: QtBot) -> AppContext:
    """Nothing drawn."""
    made = AppContext()
    made.theme.set_choice("light")
    made.document.set_document(Document(name="empty"))
    return made


@pytest.fixture
def reanalyse() -> Callable[[AppContext], Analysis]:
    """Analyse the document of a context as the engine would, and show it."""

    def work(context: AppContext) -> Analysis:
        found = replace(analyse(context.document.document), revision=context.document.revision)
        context.set_analysis(found)
        return found

    return work
