"""The formats that there are: every one that is promised, in its directions, with a page and a sample."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.cli.formats import format_list
from model.files.reading_text import Source
from model.files.registry import HEAD, export_formats, import_formats, sniffed
from tests.fuzz.attempt import samples

PAGES = Path(__file__).parents[3] / "docs" / "formats"

BOTH = (
    "railsketch-project",
    "railsketch-topology",
    "nccl-topo-xml",
    "slurm-topology-conf",
    "slurm-topology-yaml",
    "cumulus-dot",
    "air-json",
    "containerlab",
    "netbox-csv",
    "topograph-model",
    "topograph-graph",
    "simai",
    "ns3-hpcc",
    "astra-sim-yml",
    "node-link-json",
    "graphml",
    "slurm-hostfile",
    "rank-map-csv",
    "open-mpi-rankfile",
)
IN = (
    "nvidia-smi-topo",
    "nccl-graph-xml",
    "rccl-topo-xml",
    "amd-smi-topo",
    "lstopo-xml",
    "ibnetdiscover",
    "ibdiagnet-lst",
    "lldp-json",
    "k8s-labels",
    "htsim",
    "infragraph",
)
OUT = (
    "railsketch-traffic",
    "cable-schedule",
    "bill-of-materials",
    "traffic-matrix-csv",
    "exchange-csv",
    "chrome-trace",
    "dot",
    "launch-hints",
    "nccl-ib-hca",
    "picture-svg",
    "picture-pdf",
    "picture-png",
    "report-markdown",
    "report-pdf",
)


def test_every_format_is_there_in_its_directions() -> None:
    assert sorted(import_formats()) == sorted(BOTH + IN)
    assert sorted(export_formats()) == sorted(BOTH + OUT)


@pytest.mark.parametrize("ident", sorted(BOTH + IN + OUT))
def test_every_format_has_a_page_that_names_it(ident: str) -> None:
    page = PAGES / f"{ident}.md"
    assert page.is_file(), f"docs/formats/{ident}.md is missing"
    assert f"`{ident}`" in page.read_text("utf-8")


def test_the_index_lists_all_of_them_with_their_directions() -> None:
    rows = re.findall(
        r"^\| \[(.+?)\]\((.+?)\.md\) \| `(.+?)` \| (.+?) \|", (PAGES / "README.md").read_text(), re.M
    )
    expected = []
    for each in format_list():
        ways = [way for way, there in (("in", each["import"]), ("out", each["export"])) if there]
        expected.append((each["name"], each["id"], each["id"], ", ".join(ways)))
    assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize("ident", sorted(BOTH + IN))
def test_every_importer_has_a_sample_that_it_recognises(ident: str) -> None:
    """At least one sample; the first choice for one of them is this format (names of files help in use)."""
    texts = [data.decode("utf-8", "replace") for data in samples(ident)]
    assert texts, f"tests/data/{ident} has no sample"
    likely = [sniffed(Source(f"sample-{ident}", text[:HEAD])) for text in texts]
    assert any(found and found[0].id == ident for found in likely), [
        [one.id for one in found] for found in likely
    ]


@pytest.mark.parametrize("ident", sorted(BOTH + IN + OUT))
def test_every_format_says_what_it_is(ident: str) -> None:
    """What the lists and dialogs show is there, and short enough for a line or two."""
    one, other = import_formats().get(ident), export_formats().get(ident)
    texts = [text for each in (one,) if each for text in (each.name, each.how, each.carries, each.lacks)]
    texts += [text for each in (other,) if each for text in (each.name, each.use, each.lacks)]
    assert all(text.strip() for text in texts)
    assert max(map(len, texts)) < 200
    if one and other:
        assert one.name == other.name
    for option in other.options if other else ():
        values = [value for value, _ in option.choices]
        assert not values or option.default in values
