"""YAML as plain values with lines; hostile texts are one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InputError
from model.files.imports.yaml_text import LARGEST_YAML, YamlMap, parse_documents, parse_yaml, scalar


def test_values_know_their_lines() -> None:
    value = parse_yaml("# comment\na:\n  - x\n  - {b: 1,\n     c: two}\nd: ~\n", "t.yaml")
    assert value == {"a": ["x", {"b": 1, "c": "two"}], "d": None}
    assert value.lines == {"a": 2, "d": 6}
    assert value["a"].lines == [3, 4]
    assert value["a"][1].lines == {"b": 4, "c": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("007", "007"),
        ("0", 0),
        ("-12", -12),
        ("1.5e3", 1500.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("true", True),
        ("~", None),
        ("2026-11-30", "2026-11-30"),
        ("1" * 30, "1" * 30),
    ],
)
def test_scalars(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)
    assert parse_yaml(f"a: {text}", "t")["a"] == value


def test_quoted_and_tagged_scalars_are_texts() -> None:
    assert parse_yaml("['1', \"true\", !!str 5, !!int 5]", "t") == ["1", "true", "5", 5]


def test_aliases_and_merged_keys() -> None:
    value = parse_yaml("base: &b {k: 1, m: 2}\none:\n  <<: *b\n  m: 3\nlist: [*b]\n", "t")
    assert value["one"] == {"k": 1, "m": 3}
    assert value["list"] == [{"k": 1, "m": 2}]
    assert isinstance(value["one"], YamlMap)
    assert value["one"].lines == {"m": 4, "k": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "line 3, has the key 'a' twice .first in line 1"),
        ("a: [", "line 2, is no valid YAML"),
        ("a: &x\n - *x\n", "line 2, has the alias .x, which holds itself"),
        ("a: *x", "which is nowhere before"),
        ("!!python/object/apply:os.system [ls]", "stands for no plain value"),
        ("a: !secret b", "stands for no plain value"),
        ("? [a]\n: b", "a list or mapping as a key"),
        ("&m [a]: b", "a list or mapping as a key"),
        ("<<: [1]", "merges"),
        ("a\x01", "line 1, is no valid YAML"),
        ("[" * 65 + "]" * 65, "more than 64 deep"),
        ("[" * 100_000, "maximum nesting depth"),
        ("---\na\n---\nb\n", "2 YAML documents"),
        ("", "0 YAML documents"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_yaml(text, "t.yaml")


def test_a_bomb_of_aliases() -> None:
    text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    text += "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    with pytest.raises(InputError, match="line 7, has more than 2,000,000 values"):
        parse_yaml(text, "bomb.yaml")


def test_depth_through_aliases() -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 100))
    with pytest.raises(InputError, match="more than 64 deep"):
        parse_yaml(text, "deep.yaml")


def test_size() -> None:
    with pytest.raises(InputError, match="16 MiB"):
        parse_yaml("a" * (LARGEST_YAML + 1), "large.yaml")


@given(st.text(alphabet="ab:- \n[]{}&*!|>'\"#?,%@~<\ud800\u2028", max_size=60))
def test_any_text(text: str) -> None:
    try:
        parse_documents(text, "t.yaml")
    except InputError as error:
        assert str(error).startswith("t.yaml")
