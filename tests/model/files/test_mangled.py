"""Files with any one value replaced by something odd: opened, or refused in one sentence, nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.document.document import Document
from model.errors import InputError
from model.files.opening import open_any
from model.files.project import project_json, save_project
from model.files.topology_json import topology_to_json
from tests.model.document.test_edits import node_document

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [2**63, -(2**63) - 1, 10**400, 1e308, -0.0, "", " ", "node0", "leaf0", "up", "gpu", "\u0000"]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            found += _paths(each, (*path, key))
    return found


def _mangle(data: Any, path: tuple[Any, ...], odd: Any, *, delete: bool) -> Any:
    target = data
    for key in path[:-1]:
        target = target[key]
    if delete:
        del target[path[-1]]
    else:
        target[path[-1]] = odd
    return data


@pytest.mark.parametrize("write", [project_json, topology_to_json])
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_one_odd_value(tmp_path: Path, write: Any, draw: st.DataObject) -> None:
    data = json.loads(json.dumps(write(node_document())))
    path = draw.draw(st.sampled_from(_paths(data)))
    data = _mangle(data, path, draw.draw(ODD), delete=draw.draw(st.booleans()))
    file = tmp_path / "mangled.json"
    file.write_text(json.dumps(data))
    try:
        document = open_any(file)
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert isinstance(document, Document)
    save_project(document, tmp_path / "again.json")
    assert open_any(tmp_path / "again.json").topology.checksum() == document.topology.checksum()
