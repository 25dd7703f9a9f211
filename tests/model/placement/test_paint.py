"""Paint: every edit gives a new value and leaves the old one."""

from __future__ import annotations

import pickle

import pytest

from model.placement.paint import Paint


def test_assigning_and_erasing() -> None:
    empty = Paint()
    once = empty.assign("tp", 1, ["a", "b"])
    twice = once.assign("pp", 0, ["a"]).assign("tp", 2, ["a"])
    assert dict(empty) == {}
    assert {gpu: dict(own) for gpu, own in once.items()} == {"a": {"tp": 1}, "b": {"tp": 1}}
    assert {gpu: dict(own) for gpu, own in twice.items()} == {"a": {"tp": 2, "pp": 0}, "b": {"tp": 1}}
    assert twice.group("a", "tp") == 2
    assert twice.group("a", "dp") is None
    assert twice.group("z", "dp") is None
    assert {gpu: dict(own) for gpu, own in twice.erase("tp", ["a", "b", "z"]).items()} == {"a": {"pp": 0}}


def test_equality_does_not_depend_on_the_order_of_strokes() -> None:
    one = Paint().assign("dp", 0, ["a"]).assign("tp", 1, ["a", "b"])
    other = Paint().assign("tp", 1, ["b", "a"]).assign("dp", 0, ["a"])
    assert one == other
    assert hash(one) == hash(other)
    assert one != other.erase("dp", ["a"])
    assert pickle.loads(pickle.dumps(one)) == one


def test_renaming_and_removing_gpus() -> None:
    paint = Paint({"a": {"tp": 1}, "b": {"pp": 2}})
    assert paint.rename("a", "c") == Paint({"c": {"tp": 1}, "b": {"pp": 2}})
    assert paint.rename("z", "y") == paint
    assert paint.without(["a", "z"]) == Paint({"b": {"pp": 2}})
    assert paint.without(["z"]) == paint


def test_colours_cannot_be_changed_in_place() -> None:
    paint = Paint({"a": {"tp": 1}})
    with pytest.raises(TypeError):
        paint["a"]["tp"] = 2  # type: ignore[index]
    with pytest.raises(ValueError, match="not -1"):
        paint.assign("tp", -1, ["a"])
