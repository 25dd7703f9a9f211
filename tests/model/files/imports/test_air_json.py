"""The JSON of NVIDIA Air."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.model.files.imports.fabrics import cables, kinds, link, opens
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def test_roles_by_function_and_system() -> None:
    source = own("air-json/lab.json")
    assert [one.id for one in sniffed(source)] == ["air-json"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert one.result.name == "lab"
    assert kinds(one.result) == {"leaf": 1, "spine": 1, "nic": 2, "tray": 2}
    assert link(one.result, "tor-a", "fab-1").count == 2
    assert "Ports that are not connected were left out." in said(one, "ignored")
    assert "1 of the nodes are only named by links." in said(one, "inferred")
    opens(one.result)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("[[1]]", "link 1 must be a list of two ends"),
        ('[[{"node": "a", "interface": "e"}, {"node": 5}]]', "link 1: an end is .*not ..node.: 5"),
        ("{}", "content must be an object with nodes and links"),
        ("[]", "has no node and no link"),
    ],
)
def test_refused(links: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(f'{{"format": "JSON", "content": {{"nodes": {{}}, "links": {links}}}}}'))


@pytest.mark.parametrize("nodes", ["[]", '{"a": 5}', '{" ": {}}'])
def test_refused_nodes(nodes: str) -> None:
    with pytest.raises(InputError, match="node"):
        imported(text(f'{{"format": "JSON", "content": {{"nodes": {nodes}, "links": []}}}}'))


def test_a_partial_import_leaves_a_broken_link_out() -> None:
    good = '[{"node": "leaf1", "interface": "swp1"}, {"node": "server1", "interface": "eth1"}]'
    source = text(f'{{"format": "JSON", "content": {{"nodes": {{}}, "links": [{good}, 7]}}}}')
    one = imported(source, partial=True)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 1
    assert "Left out: link 2 must be a list of two ends, not 7." in said(one, "ignored")


def test_real_file() -> None:
    result = drawing(real("nvidia_air_json/SYN_air_v2_import.json"))
    assert kinds(result) == {"spine": 1, "leaf": 2, "nic": 2, "tray": 2}
    assert cables(result) == 4
    opens(result)
