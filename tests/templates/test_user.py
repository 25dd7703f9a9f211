"""The user's own templates: saved, read again, built with other counts; broken files are refused by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.document.clipboard import Fragment, copy
from model.document.start import document_from
from model.errors import InputError
from model.topology.graph import Topology
from model.topology.ports import port_findings
from model.topology.types import DeviceKind
from topology_templates import registry
from topology_templates.content import TemplateContent
from topology_templates.user import Count, file_name, load_folder, load_template, save_template
from topology_templates.user_alike import Alike, alike, joined, without_copies


def cluster(nodes: int) -> Fragment:
    content = registry.build("hgx-h100", {"nodes": nodes})
    document = document_from(content)
    return copy(document, [device.id for device in document.topology.devices()])


def group(fragment: Fragment, stem: str) -> Alike:
    return next(each for each in alike(fragment) if each.stem == stem)


def saved(folder: Path, nodes: int = 4) -> Path:
    fragment = cluster(nodes)
    found = group(fragment, "node")
    path = folder / "pod.json"
    counts = (Count("nodes", "Nodes", found.members[0], len(found.members)),)
    save_template(path, "My pod", "", without_copies(fragment, (found,)), counts)
    return path


def kinds(content: TemplateContent) -> dict[DeviceKind, int]:
    found: dict[DeviceKind, int] = {}
    for device in content.devices:
        found[device.kind] = found.get(device.kind, 0) + 1
    return found


def wires(content: TemplateContent) -> set[tuple[str, str, str, int]]:
    return {(min(x.a, x.b), max(x.a, x.b), x.kind.value, x.count) for x in content.links}


@pytest.mark.parametrize("nodes", [1, 4, 9])
def test_any_count_is_the_template_that_it_was_drawn_from(tmp_path: Path, nodes: int) -> None:
    """Drawn from HGX H100 with 4 nodes, 9 of them must be HGX H100 with 9, but for the spines."""
    template = load_template(saved(tmp_path))
    content = template.build(template.parameters.model_validate({"nodes": nodes}))
    original = registry.build("hgx-h100", {"nodes": nodes})
    hosts = set(DeviceKind) - {DeviceKind.SPINE}
    assert {k: n for k, n in kinds(content).items() if k in hosts} == {
        k: n for k, n in kinds(original).items() if k in hosts
    }
    inner = {wire for wire in wires(content) if "spine" not in wire[0] + wire[1]}
    assert inner == {wire for wire in wires(original) if "spine" not in wire[0] + wire[1]}
    topology = Topology(content.devices, content.links, content.containers)
    assert not port_findings(topology) and content.positions.keys() == {d.id for d in content.devices}
    counts = template.counts(template.parameters.model_validate({"nodes": nodes}))
    assert counts["devices"] == len(content.devices) and counts["links"] == len(content.links)
    assert {kind: counts[kind.value] for kind in kinds(content)} == kinds(content)
    assert counts["nvlink_lanes"] == nodes * 8 * 18 and counts["host_leaf"] == nodes * 8


def test_default_is_what_was_drawn_and_the_leaves_limit_it(tmp_path: Path) -> None:
    template = load_template(saved(tmp_path))
    assert template.parameters().model_dump() == {"nodes": 4}
    assert (template.name, template.group, template.id) == ("My pod", "Your own", "own:pod")
    # 64 ports a leaf; 4 nodes were drawn, and the rest goes to spines.
    leaf = next(d.id for d in cluster(4).devices if d.kind is DeviceKind.LEAF)
    up = sum(x.count for x in cluster(4).links if leaf in (x.a, x.b) and "spine" in x.a + x.b)
    most = 64 - up
    template.parameters.model_validate({"nodes": most})
    registry.use_own((template,))
    with pytest.raises(InputError, match=f"nodes = {most + 1} does not work: .* from 1 to {most}"):
        registry.build("own:pod", {"nodes": str(most + 1)})
    registry.use_own(())
    with pytest.raises(InputError, match="no template called 'own:pod'"):
        registry.template("own:pod")


def test_what_is_alike() -> None:
    fragment = cluster(3)
    found = {each.stem: each.members for each in alike(fragment)}
    assert found["node"] == ("node00", "node01", "node02")
    assert len(found["spine"]) > 1
    # Each leaf serves another rail, so that no two are alike.
    assert "leaf" not in found
    assert not joined(group(fragment, "node"), group(fragment, "spine"), fragment.links)
    one = without_copies(fragment, (group(fragment, "node"),))
    assert sum(device.kind is DeviceKind.GPU for device in one.devices) == 8


def test_two_counts_double_the_spines(tmp_path: Path) -> None:
    fragment = cluster(2)
    nodes, spines = group(fragment, "node"), group(fragment, "spine")
    path = tmp_path / "two.json"
    counts = (Count("nodes", "Nodes", "node00", 2), Count("spines", "Spines", spines.members[0], 2))
    save_template(path, "Two", "", without_copies(fragment, (nodes, spines)), counts)
    template = load_template(path)
    content = template.build(template.parameters.model_validate({"nodes": 3, "spines": 2}))
    assert kinds(content)[DeviceKind.GPU] == 24 and kinds(content)[DeviceKind.SPINE] == 2


def test_without_counts_the_drawing_stays_where_it_was(tmp_path: Path) -> None:
    fragment = cluster(1)
    path = tmp_path / "plain.json"
    save_template(path, "Plain", "As drawn", fragment)
    template = load_template(path)
    content = template.build(template.parameters())
    assert dict(content.positions) == dict(fragment.positions) and template.summary == "As drawn"
    assert wires(content) == {(min(x.a, x.b), max(x.a, x.b), x.kind.value, x.count) for x in fragment.links}


def changed(path: Path, **fields: Any) -> Path:
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | fields), encoding="utf-8")
    return path


COUNT = {"parameter": "nodes", "title": "Nodes", "part": "node00", "default": 2}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"format": "railsketch.project"}, "no Railsketch template"),
        ({"version": 7}, "newer version"),
        ({"name": 3}, "name must be a text"),
        ({"name": ""}, "has no name"),
        ({"topology": []}, "topology must be an object"),
        ({"counts": 5}, "counts must be a list"),
        ({"counts": [3]}, "a count must be an object"),
        ({"counts": [COUNT | {"parameter": "Rm -rf"}]}, "no name for a parameter"),
        ({"counts": [COUNT | {"parameter": "model_x"}]}, "no name for a parameter"),
        ({"counts": [COUNT | {"parameter": "copy"}]}, "is taken"),
        ({"counts": [COUNT, COUNT]}, "is taken"),
        ({"counts": [COUNT, COUNT | {"parameter": "more"}]}, "counted twice"),
        ({"counts": [COUNT | {"part": "elsewhere"}]}, "nothing is called so"),
        ({"counts": [COUNT | {"part": ["x"]}]}, "nothing is called so"),
        ({"counts": [COUNT | {"default": 1e300}]}, "whole number from 1"),
        ({"counts": [COUNT | {"default": True}]}, "whole number from 1"),
        ({"counts": [COUNT, COUNT | {"parameter": "g", "part": "node00.gpu0"}]}, "two counted parts"),
        ({"counts": [COUNT, COUNT | {"parameter": "g", "part": "leaf0"}]}, "joined to each other"),
    ],
)
def test_broken_files_are_refused_in_one_sentence(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    path = changed(saved(tmp_path, 2), **fields)
    with pytest.raises(InputError, match=words) as refused:
        load_template(path)
    assert str(path) in str(refused.value)


def test_a_folder_gives_the_good_ones_and_names_the_broken(tmp_path: Path) -> None:
    saved(tmp_path, 2)
    (tmp_path / "cut.json").write_text('{"format": "railsk', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no template", encoding="utf-8")
    (tmp_path / "folder.json").mkdir()
    good, broken = load_folder(tmp_path)
    assert [template.name for template in good] == ["My pod"]
    assert [each.name for each in broken] == ["cut.json", "folder.json"]
    assert "ends too early" in broken[0].reason
    assert load_folder(tmp_path / "missing") == ((), ())


def test_odd_files_neither_block_nor_break(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("{", encoding="utf-8")
    good, broken = load_folder(tmp_path)
    assert good == () and {each.name for each in broken} == {"pipe.json", "loop.json", "?.json"}
    for each in broken:
        each.reason.encode()


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    rows = [[f"c{n}", "tray", f"c{n - 1}" if n else None] for n in range(3000)]
    path = changed(saved(tmp_path, 2), counts=[])
    data = json.loads(path.read_text(encoding="utf-8"))
    data["topology"]["containers"] = {"columns": ["id", "kind", "parent"], "rows": rows}
    data["topology"]["devices"] = {
        "columns": ["id", "kind", "model", "parent"], "rows": [["g", "gpu", "h100-sxm", "c2999"]]
    }  # fmt: skip
    data["topology"]["links"] = {"columns": ["id", "a", "b", "kind", "lane_bytes_per_s"], "rows": []}
    data.pop("layout")
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match="more than 32 containers"):
        load_template(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["name", "counts", "topology", "layout", "summary", "version"]),
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
)
def test_nothing_but_an_input_error_comes_out(tmp_path: Path, field: str, value: Any) -> None:
    path = changed(saved(tmp_path, 2), **{field: value})
    try:
        template = load_template(path)
    except InputError:
        return
    template.build(template.parameters())


def test_file_names() -> None:
    assert file_name("My pod: 4 × H100/x") == "my-pod-4-h100-x.json"
    assert file_name("…") == "template.json" and file_name("../../etc") == "etc.json"
