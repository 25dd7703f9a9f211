"""Whatever a sample holds can be brought into a drawing in every way, or is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from model.document.compare import compare
from model.document.document import Document
from model.document.merge import Merge, plan_beside
from model.document.merge_hosts import plan_hosts
from model.document.merge_trays import hosts_in, plan_trays
from model.document.place_ranks import plan_ranks
from model.document.start import document_from
from model.errors import EditRefused, InputError
from model.files.importing import Drawing, Overlay, Result
from model.files.opening import document_of
from model.files.overlay import show_overlay
from model.files.reading_text import decode
from model.files.registry import import_formats, import_sources
from tests.fuzz.attempt import samples
from topology_templates.registry import build


@cache
def results(ident: str) -> tuple[Result, ...]:
    """What the samples of a format give; those that are broken on purpose give nothing."""
    found = []
    for number, data in enumerate(samples(ident)):
        try:
            imported = import_sources([decode(data, f"sample{number}")], ident, partial=True)
            if isinstance(imported.result, Drawing):
                document_of(imported)
        except InputError:
            continue
        found.append(imported.result)
    return tuple(found)


def cluster() -> Document:
    return document_from(build("hgx-h100", {"nodes": 3, "fabric": "rail"}))


WAYS: dict[str, Callable[[Document, Drawing], Merge]] = {
    "beside": plan_beside,
    "host": plan_hosts,
    "tray": lambda document, drawing: plan_trays(document, drawing, host=(hosts_in(drawing) or (None,))[0]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ident", import_formats())
def test_every_sample_onto_a_cluster_and_onto_itself(ident: str, way: str) -> None:
    for drawing in results(ident):
        if not isinstance(drawing, Drawing):
            continue
        for document in (cluster(), document_from(drawing), Document()):
            before = document.content()
            try:
                merge = WAYS[way](document, drawing)
            except EditRefused as error:
                assert str(error).endswith("."), error
                assert document.content() == before
                continue
            undo = merge.edit.apply(document)
            after = document.content()
            redo = undo.apply(document)
            assert document.content() == before
            redo.apply(document)
            assert document.content() == after
            assert merge.done
            known = {device.id for device in document.topology.devices()}
            assert all(set(misfit.devices) <= known for misfit in merge.misfits)


@pytest.mark.parametrize("ident", import_formats())
def test_every_sample_is_as_built_as_itself(ident: str) -> None:
    for drawing in results(ident):
        if isinstance(drawing, Drawing):
            comparison = compare(document_from(drawing), drawing)
            assert comparison.differences == (), drawing.name
            try:
                compare(cluster(), drawing)
            except EditRefused as error:
                assert "cannot be compared" in str(error)


@pytest.mark.parametrize("ident", import_formats())
def test_ranks_and_overlays_onto_a_cluster(ident: str) -> None:
    for result in results(ident):
        if isinstance(result, Overlay):
            shown = show_overlay(cluster(), result)
            assert shown.host == "node00"
            assert all(graph.words for graph in shown.graphs)
        elif not isinstance(result, Drawing):
            placed = plan_ranks(cluster(), result.ranks, partial=True)
            assert len(placed.world) == len(result.ranks)
            assert placed.problems or placed.edit is not None
