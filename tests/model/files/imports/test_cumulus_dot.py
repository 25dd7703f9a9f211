"""DOT topologies of PTM and Air: ports, split ports, parallel cables, and the grammar of Graphviz."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.model.files.imports.fabrics import cables, gbit, kinds, lines, opens
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def _names(letter: str) -> str:
    return " ".join(f"{letter}{number}" for number in range(400))


def test_everything_of_a_topology_file() -> None:
    source = own("cumulus-dot/everything.dot")
    assert [one.id for one in sniffed(source)] == ["cumulus-dot"]
    one = imported(source, answers={"network_gbit_per_s": "200", "uplink_gbit_per_s": "800"})
    assert isinstance(one.result, Drawing)
    assert one.result.name == "pod one"
    assert gbit(one.result) == {
        frozenset(("leaf1", "spine1")): [(800.0, 2)],
        frozenset(("leaf2", "spine1")): [(800.0, 1)],
        frozenset(("leaf1", "box1.eth1")): [(50.0, 1)],
        frozenset(("leaf1", "box2.eth1")): [(50.0, 1)],
    }
    assert lines(one, "Cables that stand there more than once") == (15,)
    assert lines(one, "Cables from a box to itself") == (14,)
    assert lines(one, "Split ports") == (13,)
    opens(one.result)


def test_subgraphs_chains_html_names_and_joined_texts() -> None:
    one = imported(own("cumulus-dot/plain.gv"))
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 4
    assert "Arrows are cables" in said(one, "inferred")
    assert {"c2", "a"} <= {device.id for device in one.result.devices}
    chain = drawing(text("graph { leaf1 -- spine1 -- leaf2; {leaf1 leaf2} -- {server1 server2} }"))
    assert kinds(chain) == {"leaf": 2, "spine": 1, "nic": 4, "tray": 2}


@pytest.mark.parametrize(("answer", "gbits"), [("1", 400.0), ("2", 200.0), ("4", 100.0)])
def test_a_split_port_of_which_one_part_is_known(answer: str, gbits: float) -> None:
    source = text('graph { "leaf1":"swp5s0" -- "server1":"eth1" }')
    assert list(gbit(drawing(source, breakout_parts=answer)).values()) == [[(gbits, 1)]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('graph {\n "a" -- "b', "line 2: a quoted name is never closed"),
        ("graph { a /* b\n }", "line 1: a comment .*is never closed"),
        ("graph { <a -- b }", "line 1: an HTML text .*is never closed"),
        ("graph { a -- }", "line 1: '}' where a name is expected"),
        ("graph {\n a -- b", "line 2: the end of the text where '}' is expected"),
        ("graph { a:1:n:2 -- b }", "line 1: ':' is no part|line 1: ':' where a name is expected"),
        ("graph { a [x=] }", "line 1: ']' where a name is expected"),
        ("graph { a -- b ! }", "line 1: '!' is no part of a DOT text"),
        ("lattice { a }", "line 1: 'lattice' where 'graph' is expected"),
        ("graph { }", "has no node and no cable"),
        ("graph " + "{" * 60, "nested more than 50 deep"),
        ('graph { "" -- b }', "a node without a name"),
        (
            f"graph {{ {{{_names('a')}}} -- {{{_names('b')}}} }}",
            "100,000",
        ),
    ],
)
def test_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "cumulus-dot")


def test_more_words_than_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.files.imports.cumulus_dot.MOST_WORDS", 8)
    with pytest.raises(InputError, match="line 2: more than 8 words and signs"):
        imported(text("graph {\na -- b; c -- d }"), "cumulus-dot")


def test_a_partial_import_keeps_what_came_before() -> None:
    one = imported(text("graph {\n server1 -- leaf1\n leaf1 -- !\n}"), "cumulus-dot", partial=True)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 1
    assert lines(one, "Left out: '!' is no part of a DOT text") == (3,)


def test_functions_that_differ_or_mean_nothing() -> None:
    one = imported(
        text(
            "graph { leaf1 [function=leaf]\n leaf1 [function=spine]\n x [role=poet]\n server1 -- leaf1 -- x }"
        )
    )
    assert said(one, "contradictory") == "leaf1 has two functions; leaf was kept."
    assert "The function 'poet' of a node means nothing here." in said(one, "ignored")


def test_speeds_that_stand_at_the_edges() -> None:
    one = imported(
        text(
            'graph G {"leaf1" [function=leaf]; "leaf2" [function=leaf]\n'
            '"gpu1":"eth1" -- "leaf1":"swp1" [speed="200G"]\n"gpu2":"eth1" -- "leaf2":"swp1" [speed=quick]}\n'
        ),
        answers={"network_gbit_per_s": "100"},
    )
    assert isinstance(one.result, Drawing)
    assert sorted(gbit(one.result).values()) == [[(100.0, 1)], [(200.0, 1)]]
    assert lines(one, "The speed 'quick' of a cable is none") == (3,)


def test_real_file() -> None:
    result = drawing(real("cumulus_topology_dot/ptm_basic_breakout.dot"))
    assert kinds(result) == {"spine": 2, "leaf": 2, "nic": 2, "tray": 2}
    assert cables(result) == 8
    assert gbit(result)[frozenset(("leaf1", "leaf2"))] == [(400.0, 2)]
    assert gbit(result)[frozenset(("leaf1", "server1.eth1"))] == [(200.0, 1)]
    opens(result)
