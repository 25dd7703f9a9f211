"""The worst link and the fullest stage of a report, which every view names alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from model.analysis import analyse
from model.step.report import StepReport
from tests.model.analysis.drawings import cluster, job


def two_leaves() -> StepReport:
    """Two nodes on leaves of their own: the one cable between them takes what two NICs offer."""
    report = analyse(cluster(leaves=2, spec=job("parallel.tp=2"))).report
    assert report is not None
    return report


def test_the_ends_of_a_directed_link_are_sender_and_receiver() -> None:
    fabric = two_leaves().fabric
    trunk = fabric.link_ids.index("t1")
    assert fabric.ends_of(2 * trunk) == ("leaf0", "leaf1")
    assert fabric.ends_of(2 * trunk + 1) == ("leaf1", "leaf0")


def test_the_worst_link_is_the_dearest_then_the_most_oversubscribed_then_the_busiest() -> None:
    report = two_leaves()
    nothing = np.zeros_like(report.cost_s)
    directed, other, busy = nothing.copy(), nothing.copy(), nothing.copy()
    directed[3], other[5], busy[1] = 0.1, 1.5, 0.9
    report = replace(report, cost_s=directed, oversubscription=other, peak_utilisation=busy)
    assert report.worst_link() == 3
    report = replace(report, cost_s=nothing)
    assert report.worst_link() == 5
    report = replace(report, oversubscription=nothing)
    assert report.worst_link() == 1
    assert replace(report, peak_utilisation=nothing).worst_link() is None


def test_the_cable_that_all_gradients_pass_is_the_worst() -> None:
    report = two_leaves()
    worst = report.worst_link()
    assert worst is not None and report.fabric.link_ids[worst // 2] == "t1"


def test_the_fullest_stage_is_measured_by_its_own_memory() -> None:
    report = two_leaves()
    stage = report.memory[0]
    small = replace(stage, stage=1, hbm_bytes=stage.hbm_bytes / 2)
    assert replace(report, memory=(stage, small)).fullest_stage() is small
    assert replace(report, memory=()).fullest_stage() is None
