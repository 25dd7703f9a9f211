"""Cabling: what is the same cable, which box is what, and rails."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Reading
from model.files.imports.cabling import Cable, Cabling, End, Role
from model.files.imports.cabling_drawing import draw
from model.files.imports.cabling_rails import find_rails, natural
from model.files.imports.cabling_roles import role_of_word, settle_roles
from model.topology.types import LinkKind
from tests.model.files.imports.fabrics import cables
from tests.model.files.imports.samples import text


def _cabling(*written: str, **answers: str) -> Cabling:
    """Cables written "box:port box:port"."""
    cabling = Cabling(Reading([text("x")], answers), LinkKind.ETHERNET)
    for line, each in enumerate(written, 1):
        ends = [End(*end.split(":")) if ":" in end else End(end) for end in each.split()]
        cabling.cable(Cable(ends[0], ends[1], line))
    return cabling


def _notes(cabling: Cabling) -> str:
    return "\n".join(note.text for note in cabling.reading.notes)


def test_the_same_cable_turned_round_and_without_a_port() -> None:
    cabling = _cabling("h:eth0 l:swp1", "l:swp1 h:eth0", "h l:swp1", "l:swp2 h", "h:eth1 l:swp2")
    assert [(cable.a, cable.b) for cable in cabling.cables] == [
        (End("h", "eth0"), End("l", "swp1")),
        (End("h", "eth1"), End("l", "swp2")),
    ]


def test_cables_without_ports_are_parallel() -> None:
    cabling = _cabling("h l", "h l", "h h")
    assert len(cabling.cables) == 2
    assert "Cables from a box to itself were left out." in _notes(cabling)


def test_a_port_in_several_cables_is_said() -> None:
    cabling = _cabling("h:eth0 l:swp1", "h:eth0 l:swp2")
    assert len(cabling.cables) == 2
    assert "Port eth0 of h is in several cables; all were drawn." in _notes(cabling)


def test_roles_by_ports_names_and_structure() -> None:
    cabling = _cabling("a:eth0 b:swp1", "server1 b:swp2", "b:swp3 spine1", "b:swp4 x", *["x y"] * 9)
    settle_roles(cabling)
    roles = {name: box.role for name, box in cabling.boxes.items()}
    assert roles == {
        "a": Role.HOST,
        "b": Role.LEAF,
        "server1": Role.HOST,
        "spine1": Role.SPINE,
        "x": Role.SPINE,
        "y": Role.CORE,
    }
    asked = [question.key for question in cabling.reading.questions]
    assert asked == ["unknown_boxes"]


@pytest.mark.parametrize(("answer", "role"), [("host", Role.HOST), ("switch", Role.SPINE)])
def test_unknown_boxes_as_answered(answer: str, role: Role) -> None:
    cabling = _cabling("server1 leaf1", "leaf1 x", unknown_boxes=answer)
    settle_roles(cabling)
    assert cabling.boxes["x"].role is role


@pytest.mark.parametrize(
    ("word", "role"),
    [
        ("Leaf switch", Role.LEAF),
        ("gpu-server", Role.HOST),
        ("super-spine", Role.CORE),
        ("storage", Role.STORAGE),
        ("banana", Role.UNKNOWN),
    ],
)
def test_words_for_roles(word: str, role: Role) -> None:
    assert role_of_word(word) is role


def test_distances_make_tiers() -> None:
    cabling = _cabling("h1 s1", "h2 s2", "s1 s3", "s2 s3", "s3 s4", "s4 s5")
    for name, box in cabling.boxes.items():
        box.role = Role.HOST if name.startswith("h") else Role.SWITCH
    settle_roles(cabling)
    assert [cabling.boxes[f"s{n}"].role for n in range(1, 6)] == [
        Role.LEAF,
        Role.LEAF,
        Role.SPINE,
        Role.CORE,
        Role.CORE,
    ]


def test_rails_need_ports_of_one_name_on_leaves_of_their_own() -> None:
    by_rail = _cabling(*(f"host{h}:mlx5_{r} leaf{r}:swp{h}" for h in range(4) for r in range(3)))
    settle_roles(by_rail)
    assert find_rails(by_rail).leaves == {"leaf0": 0, "leaf1": 1, "leaf2": 2}
    by_rack = _cabling(*(f"host{h}:mlx5_{r} leaf{h % 2}:swp{h * 3 + r}" for h in range(4) for r in range(3)))
    settle_roles(by_rack)
    assert find_rails(by_rack).ports == {}
    assert "not cabled by rail" in _notes(by_rack)


def test_two_rails_on_a_leaf() -> None:
    cabling = _cabling(
        *(f"host{h}:mlx5_{r} leaf{r // 2}:swp{h * 2 + r % 2}" for h in range(4) for r in range(4))
    )
    settle_roles(cabling)
    rails = find_rails(cabling)
    assert rails.ports == {"mlx5_0": 0, "mlx5_1": 1, "mlx5_2": 2, "mlx5_3": 3}
    assert rails.leaves == {}


def test_speeds_are_asked_and_parts_of_ports_have_their_part() -> None:
    ends = [
        "host1:eth0 leaf1:swp1s0",
        "host2:eth0 leaf1:swp1s1",
        "host3:eth0 leaf1:swp2",
        "leaf1:swp9 spine1:swp1",
    ]
    cabling = _cabling(*ends, network_gbit_per_s="400", uplink_gbit_per_s="800")
    rates = [link.lane_bytes_per_s * 8e-9 for link in draw(cabling, "x").links]
    assert rates == pytest.approx([200.0, 200.0, 400.0, 800.0])


def test_an_impossible_speed_is_refused() -> None:
    with pytest.raises(InputError, match="network_gbit_per_s"):
        draw(_cabling("host1 leaf1", network_gbit_per_s="fast"), "x")


def test_ports_without_names_get_a_card_each() -> None:
    drawing = draw(_cabling("host1 leaf1", "host1 leaf1", "host1:nic0 leaf1"), "x")
    assert cables(drawing) == 3
    assert sorted(device.id for device in drawing.devices) == [
        "host1.nic0",
        "host1.nic1",
        "host1.nic2",
        "leaf1",
    ]


def test_more_than_can_be_drawn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.files.imports.cabling.MOST_BOXES", 5)
    with pytest.raises(InputError, match="more than 5 hosts and switches"):
        _cabling("a b", "c d", "e f")
    monkeypatch.setattr("model.files.imports.cabling.MOST_CABLES", 2)
    with pytest.raises(InputError, match="more than 2 cables"):
        _cabling("a b", "a b", "a b")


def test_natural_order() -> None:
    assert sorted(["mlx5_10", "mlx5_2", "eth1", "mlx5_²"], key=natural) == [
        "eth1",
        "mlx5_2",
        "mlx5_10",
        "mlx5_²",
    ]
