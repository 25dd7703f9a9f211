"""Ranks from a file on the GPUs of the open drawing."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from model.document.document import Document
from model.document.edits import Assign, SetFields
from model.document.place_ranks import PlacedRanks, plan_ranks
from model.document.start import document_from
from model.files.importing import RankPlace
from topology_templates.registry import build


def opened(nodes: int = 2) -> Document:
    return document_from(build("hgx-h100", {"nodes": nodes}))


def by_host(*hosts: str) -> list[RankPlace]:
    return [RankPlace(rank, host, line=rank + 1) for rank, host in enumerate(hosts)]


def plan(document: Document, ranks: Sequence[RankPlace], *, partial: bool = False) -> PlacedRanks:
    placed = plan_ranks(document, ranks, partial=partial)
    if placed.edit is not None:
        before = document.content()
        undo = placed.edit.apply(document)
        after = document.content()
        redo = undo.apply(document)
        assert document.content() == before
        redo.apply(document)
        assert document.content() == after
    return placed


def test_a_host_file_gives_free_gpus_in_turn() -> None:
    """Tasks of `srun -m arbitrary`: hosts may come in any order, and again."""
    document = opened()
    placed = plan(document, by_host("node01", "node00.cluster", "NODE01", "node0"))
    assert placed.problems == ()
    assert document.job.world == ("node01.gpu0", "node00.gpu0", "node01.gpu1", "node00.gpu1")
    assert placed.done == (
        "4 ranks of 4 have a GPU, on 2 hosts.",
        "12 GPUs that work get no rank, and stay idle.",
    )


def test_local_indices_and_ids_of_gpus_come_first() -> None:
    document = opened(1)
    ranks = [
        RankPlace(0, "node00"),
        RankPlace(1, "node00", 0),
        RankPlace(2, "", gpu="node00.gpu1"),
        RankPlace(3, "node00"),
    ]
    assert plan(document, ranks).problems == ()
    assert document.job.world == ("node00.gpu2", "node00.gpu0", "node00.gpu1", "node00.gpu3")


def test_what_cannot_be_placed_is_said_and_moves_nothing() -> None:
    document = opened(1)
    SetFields("device", ("node00.gpu3",), {"state": "down"}).apply(document)
    ranks = [
        RankPlace(0, "nowhere", line=1),
        RankPlace(1, "node00", 1, line=2),
        RankPlace(2, "node00", 1, line=3),
        RankPlace(3, "node00", 3, line=4),
        RankPlace(4, "node00", 8, line=5),
        RankPlace(6, "node00", 2, line=6),
        RankPlace(6, "node00", 4, line=7),
        RankPlace(7, "", gpu="other", line=8),
    ]
    placed = plan(document, ranks)
    assert placed.edit is None
    assert [(problem.text, problem.lines) for problem in placed.problems] == [
        ("Rank 2: node00.gpu1 has rank 1 already.", (3,)),
        ("Rank 3: node00.gpu3 is down.", (4,)),
        ("Rank 4: node00 has 8 GPUs, so none with the local index 8.", (5,)),
        ("Rank 6: placed more than once; the first place counts.", (7,)),
        ('Rank 7: the drawing has no GPU "other".', (8,)),
        ('Rank 0: the drawing has no host "nowhere" with GPUs.', (1,)),
        ("Rank 5: not in the file.", ()),
    ]
    plan(document, ranks, partial=True)
    assert document.job.world == ("node00.gpu1", "node00.gpu2")


def test_more_ranks_than_gpus() -> None:
    placed = plan(opened(1), by_host(*["node00"] * 11))
    (problem,) = placed.problems
    assert problem.text == "Ranks 8, 9, 10: node00 has no free GPU left, of 8."
    assert placed.world[:2] == ("node00.gpu0", "node00.gpu1")
    assert placed.world[8:] == (None, None, None)


def test_painted_gpus_are_mentioned() -> None:
    document = opened(1)
    Assign("tp", 0, ("node00.gpu0",)).apply(document)
    assert any("Painted GPUs keep" in text for text in plan(document, by_host("node00")).done)


@given(st.permutations(range(16)))
def test_any_order_of_hosts_and_gpus_comes_back(order: list[int]) -> None:
    document = opened()
    ranks = [RankPlace(rank, f"node{gpu // 8:02d}", gpu % 8) for rank, gpu in enumerate(order)]
    placed = plan(document, ranks)
    assert placed.problems == ()
    assert document.job.world == tuple(f"node{gpu // 8:02d}.gpu{gpu % 8}" for gpu in order)
