"""Names for other tools: what can stay stays, no two are equal, none is too long."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from model.files.exports.safe_names import (
    CONTAINER_NAMES,
    FILE_NAMES,
    HOST_NAMES,
    NETBOX_NAMES,
    NameRule,
    renamed,
    safe_names,
)


def test_known_names() -> None:
    ids = ["node01", "pod.a/node 1", "pod.a-node-1", "Ünit/3", "///", "x" * 70, "x" * 70 + "y"]
    names = safe_names(ids, HOST_NAMES)
    assert list(names.values()) == [
        "node01",
        "pod.a-node-1-2",
        "pod.a-node-1",
        "nit-3",
        "unnamed",
        "x" * 64,
        "x" * 62 + "-2",
    ]
    assert renamed(names, HOST_NAMES) == (
        "5 names changed to what Slurm takes: pod.a/node 1 is called pod.a-node-1-2.",
    )
    assert renamed({"a": "a"}, HOST_NAMES) == ()
    assert safe_names(["Ünit/3"], NETBOX_NAMES) == {"Ünit/3": "Ünit/3"}


@given(
    ids=st.lists(st.text(max_size=80), unique=True, max_size=12),
    rule=st.sampled_from([HOST_NAMES, CONTAINER_NAMES, FILE_NAMES, NETBOX_NAMES]),
)
def test_any_names(ids: list[str], rule: NameRule) -> None:
    names = safe_names(ids, rule)
    assert list(names) == ids
    assert len(set(names.values())) == len(ids)
    for name in names.values():
        assert 1 <= len(name) <= rule.most
        assert not rule.refused.search(name)
        if rule.plain:
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name)
