"""The schemas in resources/schema are those of the program, and what it writes fits them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from model.document.edits import SetFields
from model.files.project import project_json
from model.files.schema import schemas
from model.files.topology_json import topology_to_json
from tests.model.document.test_edits import node_document
from tests.model.files.test_traffic_json import export


def _shipped(name: str) -> Any:
    return json.loads(files("resources").joinpath("schema", name).read_text("utf-8"))


@pytest.mark.parametrize("name", schemas())
def test_shipped_schemas_are_current(name: str) -> None:
    assert _shipped(name) == json.loads(json.dumps(schemas()[name]))
    Draft202012Validator.check_schema(_shipped(name))


def _errors(name: str, data: Any) -> list[str]:
    validator = Draft202012Validator(_shipped(f"railsketch.{name}.v1.schema.json"))
    return [
        f"{error.json_path}: {error.message}" for error in validator.iter_errors(json.loads(json.dumps(data)))
    ]


def test_written_files_fit() -> None:
    document = node_document()
    SetFields("link", ("node0.nic0--leaf0",), {"state": "down", "length_m": 30}).apply(document)
    assert _errors("project", project_json(document)) == []
    assert _errors("topology", topology_to_json(document)) == []
    small = dict(export())
    small["timeline"] = small["timeline"] | {"segments": small["timeline"]["segments"][:20]}
    assert _errors("traffic", small) == []


def test_schemas_notice_what_is_wrong() -> None:
    data = topology_to_json(node_document())
    data["edges"][0]["capacity_bytes_per_s"] = -1
    del data["nodes"][0]["kind"]
    assert len(_errors("topology", data)) == 2
    traffic = dict(export()) | {"step": {}, "links": []}
    assert _errors("traffic", traffic | {"timeline": {"segments": [], "lanes": []}})
    assert _errors("project", project_json(node_document()) | {"job": {"tp": 8}})
