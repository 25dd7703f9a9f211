"""What holds for every exporter: it fails with a reason only, says how far it is and what it leaves out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.document.document import Document
from model.errors import InputError
from model.files.exporting import Cancelled, Exported
from model.files.registry import export_formats
from model.topology.types import State
from tests.model.files.exports.drawings import drawings, export, pair, template

COMMANDS = (
    "containerlab",
    "dot",
    "mpirun",
    "networkx.node_link_graph(json.load(file),",
    "networkx.read_graphml,",
    "topograph's",
    "export",
)
IDS = sorted(export_formats())


@pytest.mark.parametrize("ident", IDS)
def test_a_usual_cluster_has_every_format(ident: str) -> None:
    """What is said is a sentence, only one file has no name, the same drawing gives the same bytes."""
    one = export_formats()[ident]
    exported = export(pair(), ident)
    assert exported.files and all(exported.files.values())
    assert one.folder == ("" not in exported.files)
    for sentence in (*exported.left_out, one.use, one.lacks):
        assert sentence[0] == sentence[0].upper() or sentence.split()[0] in COMMANDS, sentence
        assert sentence.endswith("."), sentence
    assert export(pair(), ident).files == exported.files


@pytest.mark.parametrize("ident", [one for one in IDS if not one.startswith("railsketch-")])
def test_progress_ascends_and_can_stop_the_export(ident: str) -> None:
    document = template("leaf-spine", nodes=4)
    shares: list[float] = []
    export(document, ident, lambda share, what: shares.append(share) if what else None)
    assert shares and shares == sorted(shares)
    assert shares[0] >= 0.0 and shares[-1] <= 1.0

    def stop(share: float, what: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        export(document, ident, stop)


@pytest.mark.parametrize("ident", IDS)
def test_an_empty_drawing_is_written_or_refused_with_a_reason(ident: str) -> None:
    try:
        exported = export(Document(), ident)
    except InputError as error:
        assert str(error).endswith(".")
        return
    assert ident in (
        "railsketch-project",
        "railsketch-topology",
        "node-link-json",
        "graphml",
        "dot",
    ) or ident.startswith("picture-")
    assert exported.files


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings(), ident=st.sampled_from(IDS))
def test_any_drawing_is_written_or_refused_with_a_reason(document: Document, ident: str) -> None:
    exported = _tried(document, ident)
    if exported is None:
        return
    assert exported.files == export(document, ident).files
    for name, content in exported.files.items():
        assert content
        if isinstance(content, str):
            content.encode("utf-8")
        assert not name.startswith("/") and ".." not in name.split("/")


def _tried(document: Document, ident: str) -> Exported | None:
    try:
        return export(document, ident)
    except InputError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
        return None


def test_an_option_that_is_no_number_is_refused() -> None:
    for ident, option in (
        ("open-mpi-rankfile", {"cores_per_rank": "none"}),
        ("traffic-matrix-csv", {"most": "-1"}),
        ("chrome-trace", {"links": "1e9"}),
        ("chrome-trace", {"links": "9" * 5000}),
        ("launch-hints", {"script": "rm -rf x; y"}),
    ):
        with pytest.raises(InputError, match=next(iter(option))):
            export(pair(), ident, **option)


def test_without_gpus_ranks_and_steps_are_refused() -> None:
    document = pair()
    topology = document.topology
    for device in [one for one in topology.devices() if one.kind.value == "gpu"]:
        topology.put(devices=(replace(device, state=State.DOWN),))
    for ident in ("slurm-hostfile", "rank-map-csv", "launch-hints", "simai", "nccl-topo-xml", "exchange-csv"):
        with pytest.raises(InputError, match="GPU"):
            export(document, ident)
