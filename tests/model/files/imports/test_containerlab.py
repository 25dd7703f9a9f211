"""containerlab: kinds, groups and defaults, both forms of links, special endpoints, speeds in labels."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.model.files.imports.fabrics import cables, gbit, kinds, lines, opens
from tests.model.files.imports.samples import drawing, imported, own, real, text


def test_a_lab_with_everything() -> None:
    source = own("containerlab/pod.clab.yml")
    assert [one.id for one in sniffed(source)] == ["containerlab"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert one.result.name == "pod"
    roles = {device.id: device.kind.value for device in one.result.devices if not device.parent}
    assert roles == {"l1": "leaf", "s1": "spine", "br0": "spine", "r1": "core"}
    assert [tray.id for tray in one.result.containers] == ["h1", "h2", "h9"]
    speeds = gbit(one.result)
    assert speeds[frozenset(("l1", "h1.eth1"))] == [(200.0, 1)]
    assert speeds[frozenset(("l1", "h2.eth1"))] == [(400.0, 1)]
    assert speeds[frozenset(("l1", "s1"))] == [(400.0, 2)]
    assert lines(one, 'A speed of "fast" is no speed') == (18,)
    assert lines(one, "Links to host:") == (27,)
    assert lines(one, "Links of the type macvlan") == (28,)
    assert lines(one, "Nodes that only links name") == (30,)
    opens(one.result)


@pytest.mark.parametrize(
    ("label", "gbits"),
    [("speed: 100", 100.0), ("bandwidth: 1.6T", 1600.0), ("gbit_per_s: 25", 25.0), ("speed: 400Gbps", 400.0)],
)
def test_speeds_of_labels(label: str, gbits: float) -> None:
    content = (
        "topology:\n  links:\n    - endpoints: [server1:eth1, leaf1:e1-1]\n      labels: {" + label + "}\n"
    )
    assert list(gbit(drawing(text(content), "containerlab")).values()) == [[(gbits, 1)]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: x\n", "has no mapping topology"),
        ("topology:\n  nodes: [a]\n", "line 2: nodes must be a mapping"),
        ("topology:\n  links: {}\n", "line 2: links must be a list"),
        ("topology:\n  links:\n    - endpoints: [a:b]\n", "line 3: a link has a list of two endpoints"),
        (
            "topology:\n  links:\n    - endpoints: [a:b, c]\n",
            'line 3: an endpoint is written node:interface, not "c"',
        ),
        ("topology:\n  links:\n    - a\n", "line 3: a link must be a mapping"),
        ("topology:\n  nodes:\n    a: 5\n", 'line 3: the node "a" must be a mapping, not 5'),
        ("topology:\n  nodes: {}\n", "has no node and no link"),
        ("topology: {nodes: {a: {kind: linux}}\n", "is no valid YAML"),
    ],
)
def test_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "containerlab")


def test_a_partial_import_leaves_a_broken_link_out() -> None:
    content = "topology:\n  links:\n    - endpoints: [server1:eth1, leaf1:e1-1]\n    - 7\n"
    one = imported(text(content), "containerlab", partial=True)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 1
    assert lines(one, "Left out: a link must be a mapping") == (4,)


def test_real_file() -> None:
    result = drawing(real("containerlab/srl03_parallel_links.clab.yml"))
    assert kinds(result) == {"leaf": 4, "nic": 4, "tray": 4}
    assert cables(result) == 18
    assert gbit(result)[frozenset(("wan1", "wan2"))] == [(400.0, 4)]
    opens(result)
