"""Host lists: the expansions that scontrol show hostnames gives, and folding back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InputError
from model.files.imports.hostlist import MOST_NAMES, expand, fold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tux[0-2,12]", "tux0 tux1 tux2 tux12"),
        ("n[08-10]", "n08 n09 n10"),
        ("n[8-10]", "n8 n9 n10"),
        ("a1b[01-02,10]-ib,single07", "a1b01-ib a1b02-ib a1b10-ib single07"),
        ("r[1-2]n[01-02]x", "r1n01x r1n02x r2n01x r2n02x"),
        ("a, b\tc", "a b c"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[1,1]", "n1 n1"),
        ("", ""),
    ],
)
def test_expand(text: str, names: str) -> None:
    assert expand(text) == names.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a[1-", "never closed"),
        ("a]", "never opened"),
        ("a[[1]]", "inside a bracket"),
        ("a[5-1]", "backwards"),
        ("a[1-x]", "numbers and ranges"),
        ("a[]", "numbers and ranges"),
        ("a[1-999999999]", f"more than {MOST_NAMES:,} names"),
        ("a[0-9999][0-9999]", f"more than {MOST_NAMES:,} names"),
        ("a[1-" + "9" * 5000 + "]", "numbers and ranges"),
        ("a" + "[1]" * 9, "9 brackets"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        expand(text)


def test_the_limit_counts_over_the_whole_list() -> None:
    assert len(expand("a[1-3],b", most=4)) == 4
    with pytest.raises(InputError, match="at 'b'"):
        expand("a[1-3],b", most=3)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("n01 n02 n03 x", "n[01-03],x"),
        ("n8 n9 n10", "n[8-10]"),
        ("n08 n9 n10 n08", "n[08,10],n9"),
        ("a1-ib a3-ib", "a[1,3]-ib"),
        ("r1n7", "r1n7"),
        ("r1n01 r1n02 r2n01", "r1n[01-02],r2n01"),
    ],
)
def test_fold(names: str, text: str) -> None:
    assert fold(names.split()) == text


@given(st.lists(st.from_regex(r"[a-z]{0,2}[0-9]{1,3}(-[a-z0-9])?", fullmatch=True), max_size=30))
def test_folding_keeps_the_set(names: list[str]) -> None:
    back = expand(fold(names))
    assert set(back) == set(names)
    assert len(back) == len(set(names))


@pytest.mark.parametrize("name", ["a b", "a,b", "a[1]", ""])
def test_names_that_no_list_can_hold(name: str) -> None:
    with pytest.raises(InputError, match="host list"):
        fold([name])
