"""Graph XML of NCCL: what it chose, as an overlay."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Channel, Overlay
from model.files.registry import sniffed
from tests.model.files.imports.samples import imported, own, said, text

FOLDER = "nccl-graph-xml"


def test_rings_and_trees_with_the_nics_they_use() -> None:
    """Speeds are GB/s of one channel; device numbers may be hexadecimal."""
    source = own(f"{FOLDER}/ring_tree_nvls.xml")
    assert [one.id for one in sniffed(source)] == [FOLDER]
    one = imported(source)
    assert isinstance(one.result, Overlay)
    ring, tree, nvls = one.result.graphs
    assert [graph.algorithm for graph in one.result.graphs] == ["ring", "tree", "nvls"]
    assert ring.channels == (Channel((0, 3, 2, 1), 0, 0), Channel((1, 0, 3, 2), 1, 2))
    assert (ring.intra_bytes_per_s, ring.inter_bytes_per_s) == (20e9, 25e9)
    assert (ring.type_intra, ring.type_inter) == ("NVL", "PIX")
    assert tree.channels == (Channel((0, 1, 2, 3), 0, 0),) and not nvls.channels
    assert "NCCL found no way for" in said(one, "inferred")


def test_one_host_has_no_nics_and_a_missing_channel_is_said() -> None:
    one = imported(own(f"{FOLDER}/one_host.xml"))
    assert isinstance(one.result, Overlay)
    assert one.result.graphs[0].channels == (Channel((0, 1)),)
    assert "nchannels is 2, but the graph has 1 channel" in said(one, "contradictory")
    assert "stay inside one host" in said(one, "inferred")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<graphs version="1"/>', "line 1: <graphs> has no <graph>"),
        ('<graphs>\n<graph id="0"><channel/></graph></graphs>', "line 2: a <channel> has no <gpu>"),
        ('<graphs><graph id="0"><channel><gpu dev="x"/></channel></graph></graphs>', "dev='x' of <gpu>"),
        ('<graphs><graph id="0" speedintra="nan"/></graphs>', "speedintra='nan' is no speed"),
    ],
)
def test_what_makes_no_sense_is_refused(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), FOLDER)


def test_id_and_pattern_that_disagree() -> None:
    one = imported(text('<graphs><graph id="0" pattern="1"/><graph id="9"/></graphs>'))
    assert isinstance(one.result, Overlay)
    assert [graph.algorithm for graph in one.result.graphs] == ["ring", "graph 9"]
    assert "ring by its id and tree by its pattern" in said(one, "contradictory")
