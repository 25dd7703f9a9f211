"""Every check by a drawing that triggers it and one that does not."""

from __future__ import annotations

import pytest

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts, Batch, Connect, Rename, SetFields
from model.document.rack_edits import group
from model.placement.paint import Paint
from model.step.report import Finding, Severity
from model.topology.types import ContainerKind, Device, DeviceKind, Link, LinkKind, State
from tests.model.analysis.drawings import GB, changed, cluster, job, without


def found(document: Document, start: str) -> list[Finding]:
    return [finding for finding in analyse(document).findings if finding.id.startswith(start)]


def only(document: Document, start: str) -> Finding:
    findings = found(document, start)
    assert len(findings) == 1, findings
    return findings[0]


def test_a_tp_group_over_two_domains_is_named_with_its_cost() -> None:
    finding = only(cluster(spec=job("parallel.tp=4")), "domains.tp")
    assert finding.severity is Severity.ERROR
    assert finding.title == "TP 4 spans 2 NVLink domains"
    assert set(finding.devices) == {"n0.g0", "n0.g1", "n1.g0", "n1.g1"}
    assert finding.cost_s is not None and finding.cost_s > 0
    assert finding.fix == "Legal here: TP 1 2."
    assert not found(cluster(spec=job("parallel.tp=2")), "domains")


def test_a_ulysses_group_over_two_domains_is_an_error_and_a_ring_is_not() -> None:
    # conventions 37
    finding = only(cluster(spec=job("parallel.cp=4", "parallel.cp_algorithm=ulysses")), "domains.cp")
    assert finding.severity is Severity.ERROR
    assert (finding.title, finding.fix) == (
        "Ulysses CP 4 spans 2 NVLink domains",
        "Legal here: Ulysses CP 1 2.",
    )
    assert not found(cluster(spec=job("parallel.cp=4")), "domains")


def test_tp_without_nvlink_leaves_its_domain_too() -> None:
    finding = only(cluster(nvlink=False, spec=job("parallel.tp=2")), "domains.tp")
    assert (finding.title, finding.fix) == ("TP 2 spans 2 scale-up domains", "Legal here: TP 1.")


def test_a_job_that_does_not_fit_the_world() -> None:
    analysis = analyse(cluster(nodes=3, gpus=2, spec=job("parallel.tp=4")))
    assert analysis.report is None and not analysis.legal
    first = analysis.findings[0]
    assert (first.severity, first.title) == (Severity.ERROR, "6 GPUs do not fit TP 4")
    assert "4" in first.detail and "8" in first.detail
    assert not found(cluster(spec=job("parallel.tp=2")), "job")


def test_a_batch_that_cannot_be_cut() -> None:
    titles = [finding.title for finding in found(cluster(spec=job(global_batch=10)), "job.batch")]
    assert titles == ["Batch 10 cannot be cut by DP 4"]


def test_memory_overflow_and_the_fill_limit() -> None:
    # 70.6e9 parameters × 18 B on two GPUs of 80e9 B cannot fit; the tiny model does.
    finding = only(cluster(nodes=1, spec=job(model="llama3-70b", global_batch=2)), "memory")
    assert finding.severity is Severity.ERROR
    assert finding.title.startswith("Stage 0 needs") and finding.title.endswith("of 80.0 GB")
    assert set(finding.devices) == {"n0.g0", "n0.g1"}
    assert not found(cluster(), "memory")


def test_memory_between_the_limit_and_all_of_it_warns() -> None:
    # 8 · (4·8192² + 3·8192·10200) + 2·1024·8192 = 4.17e9 parameters of 18 B are 75.1e9 of 80e9 B, 1e9 B
    # come on top.
    wide = {"layers": 8, "hidden": 8192, "heads": 64, "vocab": 1024, "ffn": 10200}
    spec = job(model=wide, global_batch=1, sequence_length=128)
    document = cluster(nodes=1, gpus=1, spec=spec)
    report = analyse(document).report
    assert report is not None
    fill = report.memory[0].total_bytes / report.memory[0].hbm_bytes
    assert 0.92 < fill <= 1.0, fill
    assert only(document, "memory").severity is Severity.WARNING


def test_two_nics_on_one_cable_are_oversubscribed_twice() -> None:
    # Conventions 48: 2 × 50 GB/s offered to one cable of 50 GB/s.
    document = cluster(leaves=2, spec=job("parallel.tp=2"))
    finding = next(one for one in found(document, "oversubscribed") if "t1" in one.links)
    assert finding.severity is Severity.WARNING
    assert "2.00×" in finding.title
    assert "100 GB/s to 50.0 GB/s" in finding.detail
    assert not [one for one in found(cluster(leaves=2, trunk=2, spec=job("parallel.tp=2")), "oversubscribed")
                if "t1" in one.links]  # fmt: skip


def test_equal_oversubscribed_links_are_one_finding() -> None:
    document = cluster(leaves=2, spec=job("parallel.tp=2"))
    findings = [one for one in found(document, "oversubscribed") if "t1" in one.links]
    assert len(findings) == 1
    assert "×2" in findings[0].title  # both directions of the cable


def test_unreachable_pairs_name_both_ends() -> None:
    finding = only(without(cluster(leaves=2, spec=job("parallel.tp=2")), links=["t1"]), "reach.dp")
    assert finding.severity is Severity.ERROR
    assert {"n0.g0", "n1.g0"} <= set(finding.devices)
    assert "n0.g0" in finding.detail and "n1.g0" in finding.detail
    assert not found(cluster(leaves=2), "reach")


def test_a_drawing_in_two_pieces() -> None:
    finding = only(without(cluster(leaves=2), links=["t1"]), "reach.pieces")
    assert finding.title == "The drawing is in 2 pieces"
    assert len(finding.devices) == 2


def test_a_device_that_nothing_reaches() -> None:
    document = cluster()
    AddParts((Device("spare", DeviceKind.LEAF, "qm9700"),)).apply(document)
    finding = only(document, "participation.unconnected")
    assert finding.devices == ("spare",)
    assert finding.severity is Severity.INFO
    assert not found(cluster(), "participation.unconnected")


def test_a_nic_without_a_network_link() -> None:
    finding = only(without(cluster(), links=["n0.k0-l"]), "participation.nics")
    assert finding.devices == ("n0.k0",)
    assert not found(cluster(), "participation.nics")


def test_gpus_without_a_rank() -> None:
    spec = job("parallel.tp=2").model_copy(update={"world": ("n0.g0", "n0.g1")})
    finding = only(cluster(spec=spec), "participation.gpus")
    assert finding.devices == ("n1.g0", "n1.g1")
    assert not found(cluster(), "participation.gpus")


def test_switches_that_carry_nothing() -> None:
    # One node of TP 2: nothing leaves it, so NICs and leaf carry nothing.
    idle = found(cluster(nodes=1, spec=job("parallel.tp=2")), "participation.idle")
    assert {finding.id for finding in idle} == {"participation.idle.nic", "participation.idle.leaf"}
    assert not found(cluster(spec=job("parallel.tp=2")), "participation.idle")


def test_conflicts_of_the_colours() -> None:
    document = cluster(spec=job("parallel.tp=2"))
    document.paint = Paint({"n0.g0": {"tp": 9}})
    conflicts = found(document, "placement")
    assert conflicts and all(finding.severity is Severity.ERROR for finding in conflicts)
    assert "n0.g0" in conflicts[0].devices
    assert not found(cluster(), "placement")


def test_no_gpus_and_an_empty_drawing() -> None:
    for document in (Document(), without(cluster(), devices=["n0.g0", "n0.g1", "n1.g0", "n1.g1"])):
        analysis = analyse(document)
        assert analysis.report is None
        assert analysis.findings[0].id == "no-gpus"


def test_all_gpus_down() -> None:
    document = cluster(nodes=1, gpus=1)
    finding = only(changed(document, "device", "n0.g0", state=State.DOWN), "no-gpus")
    assert finding.title == "n0.g0 is down" and finding.devices == ("n0.g0",)


def test_checkpoints_without_storage_are_told() -> None:
    finding = only(cluster(spec=job("checkpoint.every_steps=50")), "storage.none")
    assert finding.severity is Severity.INFO and "every 50 steps" in finding.detail
    stored = cluster(spec=job("checkpoint.every_steps=50"))
    AddParts((Device("s", DeviceKind.STORAGE, "storage"),)).apply(stored)
    assert found(stored, "storage.none") == found(cluster(), "storage.none") == []
    assert only(changed(stored, "device", "s", state=State.DOWN), "storage.none")


def test_a_rack_above_its_power_is_a_warning_with_both_figures() -> None:
    # Thermal design power of an H100 SXM: 700 W; the two GPUs of a host are no platform of the catalogue.
    document = cluster()
    power = {"power_w": 1300.0}
    changed_rack = Batch(
        (group(document, ["n0"], ContainerKind.RACK, "a1"), SetFields("container", ("a1",), power))
    )
    changed_rack.apply(document)
    finding = only(document, "racks")
    assert finding.severity is Severity.WARNING
    assert finding.title == "a1 may draw at least 1.40 kW of 1.30 kW"
    assert set(finding.devices) == set(document.topology.descendants("n0"))
    SetFields("container", ("a1",), {"power_w": 1400.0}).apply(document)
    assert not found(document, "racks")


def test_racks_above_their_power_are_one_finding() -> None:
    document = cluster()
    for host, rack in (("n0", "a1"), ("n1", "a2")):
        group(document, [host], ContainerKind.RACK, rack).apply(document)
    SetFields("container", ("a1", "a2"), {"power_w": 100.0}).apply(document)
    finding = only(document, "racks")
    assert finding.title == "2 racks may draw more than supplied"
    assert "Over their limit: a1, a2." in finding.detail


def test_ports_beyond_the_budget() -> None:
    document = cluster()
    AddParts(
        links=(Link("more", "n0.g0", "n0.s", LinkKind.NVLINK, 25 * GB, 4),)
    ).apply(document)  # fmt: skip
    finding = only(document, "ports")
    assert "n0.g0" in finding.devices and finding.severity is Severity.INFO
    assert not found(cluster(), "ports")


def test_down_and_degraded_parts() -> None:
    # TP stays in the nodes; the gradients of DP 2 leave through every NIC. At a tenth of its rate one cable
    # holds the step back, and nine tenths of that time are lost by it.
    document = changed(cluster(spec=job("parallel.tp=2")), "link", "n0.k0-l", state=State.DEGRADED, share=0.1)
    report = analyse(document).report
    finding = only(document, "states.links.degraded")
    assert report is not None and finding.cost_s is not None
    assert finding.links == ("n0.k0-l",)
    cable = report.fabric.link_ids.index("n0.k0-l")
    assert finding.cost_s == pytest.approx(0.9 * report.cost_s[2 * cable : 2 * cable + 2].max())
    assert finding.cost_s > 0.05 * report.totals.time_s and finding.severity is Severity.WARNING
    assert not found(cluster(), "states")


def test_a_degraded_link_with_all_of_its_share_costs_nothing() -> None:
    finding = only(changed(cluster(), "link", "n0.k0-l", state=State.DEGRADED), "states.links.degraded")
    assert finding.cost_s is None and finding.severity is Severity.INFO
    assert "100 %" in finding.detail


def test_what_is_down_costs_what_the_links_beside_it_take_longer() -> None:
    # Two trunks between two leaves, one down: the other carries all, half of its time is for the lost one.
    document = cluster(leaves=2, spec=job("parallel.tp=2"))
    for number, state in enumerate((State.UP, State.DOWN)):
        Connect(Link(f"more{number}", "leaf0", "leaf1", LinkKind.INFINIBAND, 0.5 * GB, state=state)).apply(
            document
        )
    without(document, links=["t1"])
    report = analyse(document).report
    assert report is not None
    carrier = report.fabric.link_ids.index("more0")
    finding = only(document, "states.links.down")
    assert finding.cost_s == pytest.approx(report.cost_s[2 * carrier : 2 * carrier + 2].max() / 2)
    assert finding.severity is Severity.WARNING
    idle = only(changed(cluster(), "device", "n0.s", state=State.DOWN), "states.devices.down")
    assert idle.devices == ("n0.s",)


def test_an_algorithm_that_does_not_fit_is_told() -> None:
    # conventions 18: NVLS reduces; an all-gather of it runs as a ring.
    document = cluster(spec=job("parallel.tp=2", "collectives.tp=nvls"))
    report = analyse(document).report
    findings = found(document, "algorithms")
    assert report is not None and report.traffic.notes
    assert len(findings) == 1 and findings[0].severity is Severity.INFO
    assert all(note in findings[0].detail for note in report.traffic.notes)
    assert findings[0].title == "TP: ring in place of nvls"
    assert not found(cluster(spec=job("parallel.tp=2")), "algorithms")


def test_hashing_tells_the_worst_cable_of_a_tier() -> None:
    spec = job("parallel.tp=2", "routing.policy=hashed", "routing.seed=1")
    document = cluster(nodes=4, leaves=2, trunk=4, spec=spec)
    report = analyse(document).report
    assert report is not None and report.traffic.ecmp
    worst = max(tier.drawn for tier in report.traffic.ecmp)
    findings = found(document, "hashing")
    assert [finding.id for finding in findings] == ["hashing.leaf.leaf"]
    assert f"{worst:.2f}× its even load" in findings[0].title and "expected" in findings[0].detail
    assert findings[0].severity is Severity.INFO
    assert not found(cluster(nodes=4, leaves=2, trunk=4, spec=job("parallel.tp=2")), "hashing")


def test_advice_for_tp_that_is_inside_its_domain_already() -> None:
    finding = only(cluster(nodes=1, spec=job("parallel.tp=2")), "cost.tp")
    assert finding.title.startswith("TP is exposed ")
    assert "domain" not in finding.fix
    assert "domain" in only(cluster(spec=job("parallel.tp=4")), "cost.tp").fix


def test_a_slow_gpu_costs_its_stage() -> None:
    document = cluster()
    before = analyse(document).report
    finding = only(changed(document, "device", "n1.g1", speed=0.5), "states.slow")
    after = analyse(document).report
    assert before is not None and after is not None
    # One of four GPUs takes twice as long, the others wait for it (conventions 46: that is bubble).
    assert after.totals.compute_s == pytest.approx(1.25 * before.totals.compute_s)
    assert after.totals.bubble_s > before.totals.bubble_s + 0.7 * before.totals.compute_s
    assert finding.severity is Severity.WARNING
    assert finding.cost_s == pytest.approx(before.totals.compute_s)


def test_what_costs_more_than_five_per_cent_warns() -> None:
    document = cluster(spec=job("parallel.pp=2", global_batch=4))
    report = analyse(document).report
    assert report is not None and report.totals.bubble_s > 0.05 * report.totals.time_s
    assert only(document, "cost.bubble").cost_s == report.totals.bubble_s
    assert not found(cluster(nodes=1, gpus=1), "cost")


def test_long_names_do_not_make_long_titles() -> None:
    # 40 letters each: a leaf behind NVLink, and one GPU painted where no rank is.
    long = "the-gpu-in-the-third-drawer-of-that-rack"
    document = cluster(nodes=1, gpus=2, spec=job("parallel.tp=2"))
    Rename("device", "n0.g0", long).apply(document)
    Connect(Link("odd-one-out", long, "leaf0", LinkKind.NVLINK, 25e9)).apply(document)
    document.paint = Paint({long: {"pp": 5, "tp": 3}, "n0.g1": {"pp": 5, "tp": 4}})
    findings = analyse(document).findings
    assert {finding.id.partition(".")[0] for finding in findings} >= {"ports", "placement"}
    for finding in findings:
        assert len(finding.title) <= 45, finding.title
    assert any(f"NVLink does not join {long} and leaf0" in finding.detail for finding in findings)


def test_titles_fit_a_row_and_ids_are_unique() -> None:
    for document in (
        cluster(leaves=2, spec=job("parallel.tp=4")),
        without(cluster(leaves=2), links=["t1"]),
        cluster(nodes=3, spec=job("parallel.tp=4")),
        Document(),
    ):
        findings = analyse(document).findings
        assert len({finding.id for finding in findings}) == len(findings)
        for finding in findings:
            assert len(finding.title) <= 45, finding.title
            assert finding.detail.endswith((".", "!", "?"))


def mesh(gpus: int, *sets: str) -> Document:
    """One host of MI300X, every two with a link of their own."""
    names = [f"g{number}" for number in range(gpus)]
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    document = Document(job=job(f"parallel.tp={gpus}", *sets))
    AddParts(
        tuple(Device(name, DeviceKind.GPU, "mi300x") for name in names),
        tuple(Link(f"{a}-{b}", a, b, LinkKind.XGMI, 64 * GB) for a, b in pairs),
        (),
    ).apply(document)
    return document


def test_a_ring_over_a_full_mesh_says_what_is_faster() -> None:
    """A ring of 8 sends over one of 7 links; sent directly the same bytes take all 7."""
    finding = only(mesh(8), "algorithms")
    assert (finding.severity, finding.title) == (Severity.INFO, "TP: a ring over a full mesh")
    assert "one of the 7 links" in finding.detail and "direct" in finding.fix
    assert finding.cost_s is not None
    direct = mesh(8, "collectives.tp=direct")
    assert not found(direct, "algorithms")
    report = analyse(direct).report
    assert report is not None and 0 < report.totals.exposed_s["tp"] < finding.cost_s / 3
    assert not found(mesh(2), "algorithms")
    assert not found(cluster(nodes=1, gpus=2, spec=job("parallel.tp=2")), "algorithms.mesh")


def test_many_conflicts_of_a_kind_are_one_finding() -> None:
    """TP 2 on 32 GPUs has groups 0 to 15: seven GPUs in a group of their own beyond these, then six."""

    def painted(groups: int) -> list[Finding]:
        document = cluster(nodes=8, gpus=4, spec=job("parallel.tp=2", global_batch=32))
        for number in range(groups):
            document.paint = document.paint.assign("tp", 16 + number, [f"n{number}.g0"])
        return [one for one in found(document, "placement") if "group" in one.title or "colours" in one.title]

    (many,) = painted(7)
    assert many.title == "7 colours that the job does not have"
    assert many.devices == tuple(f"n{number}.g0" for number in range(7))
    assert "TP group 16" in many.detail and many.detail.endswith("And 4 more like these.")
    assert [one.title for one in painted(6)] == [f"There is no TP group {16 + number}" for number in range(6)]
