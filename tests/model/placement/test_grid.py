"""Ranks and groups: the worked example T23, a plain nested-loop numbering, and rules for all grids."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import JobError
from model.placement.grid import AXES, GROUP_KEYS, Grid

SIZES = st.sampled_from([1, 2, 3, 4])


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    tp, cp, pp, dp = (draw(SIZES) for _ in range(4))
    replicas = tp * cp * dp
    etp = draw(st.sampled_from([n for n in range(1, replicas + 1) if replicas % n == 0]))
    rest = replicas // etp
    ep = draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
    order = "-".join(draw(st.permutations(AXES)))
    return Grid(tp=tp, cp=cp, ep=ep, etp=etp, pp=pp, dp=dp, order=order)


def groups(grid: Grid, key: str) -> list[list[int]]:
    return [[int(rank) for rank in group] for group in grid.groups(key)]


def test_t23_data_and_pipeline_groups_of_16_ranks() -> None:
    grid = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=4)
    assert groups(grid, "dp")[:2] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert groups(grid, "dp")[2][0] == 8
    assert groups(grid, "pp")[:2] == [[0, 8], [1, 9]]
    inner = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=4, order="tp-cp-ep-pp-dp")
    assert groups(inner, "pp")[:3] == [[0, 2], [1, 3], [4, 6]]


def test_t23_expert_groups_of_16_ranks() -> None:
    grid = Grid(tp=2, cp=1, ep=4, etp=1, pp=2, dp=4)
    assert groups(grid, "ep")[:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups(grid, "edp")[:2] == [[0, 4], [1, 5]]


def test_t23_llama3_70b_on_1024_ranks() -> None:
    grid = Grid(tp=8, cp=1, ep=1, etp=1, pp=4, dp=32)
    assert groups(grid, "dp")[0] == list(range(0, 249, 8))
    assert groups(grid, "pp")[0] == [0, 256, 512, 768]
    assert {axis: int(grid.coordinates[axis][1023]) for axis in ("tp", "dp", "pp")} == {
        "tp": 7,
        "dp": 31,
        "pp": 3,
    }


def test_t23_deepseek_v3_on_2048_ranks() -> None:
    grid = Grid(tp=1, cp=1, ep=64, etp=1, pp=16, dp=128)
    assert groups(grid, "ep")[0] == list(range(64))
    assert groups(grid, "edp")[0] == [0, 64]
    assert groups(grid, "pp")[0] == list(range(0, 2048, 128))


def test_dp_cp_groups_run_cp_fastest() -> None:
    # traffic_model §4.1: rank = tp + 2·(cp + 2·dp)
    grid = Grid(tp=2, cp=2, ep=1, etp=1, pp=1, dp=2)
    assert groups(grid, "dp-cp") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert groups(grid, "cp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups(grid, "dp") == [[0, 4], [1, 5], [2, 6], [3, 7]]


@pytest.mark.parametrize("order", ["-".join(names) for names in permutations(AXES)][::7])
def test_every_order_numbers_ranks_like_nested_loops(order: str) -> None:
    sizes = {"tp": 2, "cp": 3, "dp": 4, "pp": 2}
    axes = [name for name in order.split("-") if name != "ep"]
    numbered = {
        values: rank for rank, values in enumerate(product(*(range(sizes[axis]) for axis in reversed(axes))))
    }
    grid = Grid(tp=2, cp=3, ep=1, etp=1, pp=2, dp=4, order=order)
    for values, rank in numbered.items():
        for axis, value in zip(reversed(axes), values, strict=True):
            assert grid.coordinates[axis][rank] == value


@given(grids())
def test_the_groups_of_every_kind_partition_the_ranks(grid: Grid) -> None:
    for key in GROUP_KEYS:
        found = grid.groups(key)
        assert found.shape == (grid.world // grid.size(key), grid.size(key))
        assert sorted(found.ravel().tolist()) == list(range(grid.world))
        assert (np.diff(found, axis=1) > 0).all()
        assert (np.diff(found[:, 0]) > 0).all()
        index = grid.group_index(key)
        assert all(set(index[group]) == {number} for number, group in enumerate(found))


@given(grids())
def test_members_of_a_group_differ_in_its_own_coordinates_only(grid: Grid) -> None:
    dense, expert = ("tp", "cp", "dp", "pp"), ("etp", "ep", "edp", "pp")
    own = {"dp-cp": {"dp", "cp"}}
    for key in ("tp", "cp", "dp", "dp-cp", "ep", "etp", "edp"):
        axes = expert if key in expert else dense
        moving = own.get(key, {key})
        for axis in axes:
            if axis == "pp" and axes is expert:
                continue  # `coordinates` has the stages of the dense grid
            values = grid.coordinates[axis][grid.groups(key)]
            if axis not in moving:
                assert (values == values[:, :1]).all()
    for axis in (*dense, "etp", "ep", "edp"):
        assert np.bincount(grid.coordinates[axis]).tolist() == [grid.world // grid.size(axis)] * grid.size(
            axis
        )


@given(grids())
def test_pp_outermost_gives_experts_the_same_stages(grid: Grid) -> None:
    if grid.axes[-1] == "pp":
        assert grid.same_stages


def test_the_expert_grid_of_an_order_with_pp_inside_has_other_stages() -> None:
    assert not Grid(tp=1, cp=1, ep=2, etp=1, pp=2, dp=4, order="tp-cp-ep-pp-dp").same_stages


def test_an_axis_of_size_1_may_be_left_out_and_is_outermost() -> None:
    grid = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=2, order="tp-pp-dp")
    assert grid.axes == ("tp", "pp", "dp", "cp", "ep")


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("tp-dp", "leaves out pp, whose size is 2"),
        ("tp-pp-dp-tp", "names tp more than once"),
        ("tp-xp-pp-dp", "names 'xp'"),
        ("", "names ''"),
    ],
)
def test_a_bad_order_is_refused_by_name(order: str, words: str) -> None:
    with pytest.raises(JobError, match=words):
        Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=2, order=order)


def test_experts_are_cut_out_of_the_replicas() -> None:
    assert Grid(tp=2, cp=1, ep=8, etp=1, pp=2, dp=8).edp == 2
    with pytest.raises(JobError, match="1 × 3 does not divide tp × cp × dp = 4"):
        Grid(tp=2, cp=1, ep=3, etp=1, pp=1, dp=2)
