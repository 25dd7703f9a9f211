"""Who plays which rank: automatic, painted, and what does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import InputError
from model.placement.grid import AXES, GROUP_KEYS, Grid
from model.placement.paint import Paint
from model.placement.resolve import displayed_groups, partners, resolve, world_of
from model.placement.types import DIMENSIONS, Dimension, Placement

GRID = Grid(tp=2, cp=1, ep=1, etp=1, pp=1, dp=4)
STAGED = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=2)
GPUS = tuple(f"gpu{i}" for i in range(8))


def ranks(placement: Placement) -> list[int]:
    return [int(rank) for rank in placement.rank]


def texts(placement: Placement) -> list[str]:
    return [f"{conflict.title} | {conflict.detail}" for conflict in placement.conflicts]


def test_without_paint_ranks_follow_world_order() -> None:
    placement = resolve(GPUS, STAGED, Paint())
    assert ranks(placement) == list(range(8))
    assert placement.conflicts == ()
    for key in GROUP_KEYS:
        assert [group.tolist() for group in placement.groups[key]] == STAGED.groups(key).tolist()
    assert displayed_groups(placement, "pp").tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert displayed_groups(placement, "dp").tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert displayed_groups(placement, "tp").tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_partners_of_a_gpu_in_every_dimension() -> None:
    placement = resolve(GPUS, STAGED, Paint())
    assert partners(placement, "gpu5") == {
        "tp": ("gpu4",), "cp": (), "ep": (), "pp": ("gpu1",), "dp": ("gpu7",),
    }  # fmt: skip
    assert partners(placement, "nobody") == dict.fromkeys(DIMENSIONS, ())


@st.composite
def painted_as_automatic(draw: st.DrawFn) -> tuple[Grid, Paint]:
    tp, cp, pp, dp = (draw(st.sampled_from([1, 2, 3])) for _ in range(4))
    divisors = [n for n in range(1, tp * cp * dp + 1) if tp * cp * dp % n == 0]
    order = "-".join(draw(st.permutations(AXES)))
    grid = Grid(tp=tp, cp=cp, ep=draw(st.sampled_from(divisors)), etp=1, pp=pp, dp=dp, order=order)
    paint = Paint()
    for rank in range(grid.world):
        for dimension in DIMENSIONS:
            if draw(st.booleans()):
                paint = paint.assign(dimension, int(grid.colours(dimension)[rank]), [f"g{rank}"])
    return grid, paint


@settings(max_examples=50, deadline=None)
@given(painted_as_automatic())
def test_paint_that_equals_the_automatic_assignment_changes_nothing(case: tuple[Grid, Paint]) -> None:
    grid, paint = case
    placement = resolve([f"g{rank}" for rank in range(grid.world)], grid, paint)
    assert ranks(placement) == list(range(grid.world))
    assert placement.conflicts == ()


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(16)), st.sets(st.sampled_from(DIMENSIONS), min_size=1))
def test_any_consistent_painting_of_all_gpus_fits(order: list[int], dimensions: set[Dimension]) -> None:
    grid = Grid(tp=2, cp=1, ep=2, etp=1, pp=2, dp=4)
    paint = Paint()
    for place, rank in enumerate(order):
        for dimension in DIMENSIONS:
            if dimension in dimensions:
                paint = paint.assign(dimension, int(grid.colours(dimension)[rank]), [f"g{place}"])
    placement = resolve([f"g{i}" for i in range(16)], grid, paint)
    assert placement.conflicts == ()
    assert sorted(ranks(placement)) == list(range(16))
    for place, rank in enumerate(order):
        for dimension in DIMENSIONS:
            if dimension in dimensions:
                wanted = grid.colours(dimension)[rank]
                assert grid.colours(dimension)[placement.rank[place]] == wanted
                assert displayed_groups(placement, dimension)[place] == wanted


def test_swapping_two_gpus_by_paint_keeps_everyone_else() -> None:
    placement = resolve(GPUS, GRID, Paint().assign("tp", 1, ["gpu0"]).assign("tp", 0, ["gpu2"]))
    assert ranks(placement) == [2, 1, 0, 3, 4, 5, 6, 7]
    assert [placement.gpus[i] for i in placement.groups["tp"][0]] == ["gpu2", "gpu1"]


def test_a_painted_gpu_keeps_its_other_coordinates_where_it_can() -> None:
    # tp groups of a node-by-node world, striped: gpu0 and gpu2 form group 0, gpu1 and gpu3 group 1
    placement = resolve(
        GPUS, GRID, Paint().assign("tp", 0, ["gpu0", "gpu2"]).assign("tp", 1, ["gpu1", "gpu3"])
    )
    assert ranks(placement) == [0, 2, 1, 3, 4, 5, 6, 7]
    assert placement.conflicts == ()


def test_of_two_free_ranks_a_gpu_takes_the_one_that_keeps_its_tp_place() -> None:
    # ranks 1–4 are free; in TP group 1 (ranks 2, 3) gpu1 keeps tp 1 and takes 3, gpu4 keeps tp 0 and takes 2
    paint = Paint({"gpu1": {"tp": 1}, "gpu2": {"tp": 0}, "gpu3": {"tp": 2}, "gpu4": {"tp": 1}})
    assert ranks(resolve(GPUS, GRID, paint)) == [0, 3, 1, 4, 2, 5, 6, 7]


def test_stages_swapped_for_whole_replicas() -> None:
    paint = Paint().assign("pp", 1, ["gpu0", "gpu1"]).assign("pp", 0, ["gpu4", "gpu5"])
    placement = resolve(GPUS, STAGED, paint)
    assert ranks(placement) == [4, 5, 2, 3, 0, 1, 6, 7]


def test_an_exact_matching_is_found_where_the_greedy_choice_blocks_itself() -> None:
    # Of the free ranks 0, 1, 2, 4: dp 0 has {0, 1, 4}, tp 0 has {0, 1}, tp 1 {2}, and pp 0 {0, 1, 2}.
    grid = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=2)
    paint = (
        Paint().assign("dp", 0, ["gpu2"]).assign("pp", 0, ["gpu4"]).assign("tp", 0, ["gpu0"])
        .assign("pp", 1, ["gpu1"])
    )  # fmt: skip
    placement = resolve(GPUS, grid, paint)
    assert placement.conflicts == ()
    assert sorted(ranks(placement)) == list(range(8))
    strokes: tuple[tuple[str, Dimension, int], ...] = (
        ("gpu2", "dp", 0),
        ("gpu4", "pp", 0),
        ("gpu0", "tp", 0),
        ("gpu1", "pp", 1),
    )
    for gpu, dimension, colour in strokes:
        assert grid.colours(dimension)[placement.rank[GPUS.index(gpu)]] == colour


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from(["tp", "pp", "dp"]), st.integers(0, 1)), max_size=10
    )
)
def test_a_placement_exists_exactly_when_a_search_of_all_finds_one(
    strokes: list[tuple[int, str, int]],
) -> None:
    paint = Paint()
    for gpu, dimension, colour in strokes:
        paint = paint.assign(dimension, colour, [GPUS[gpu]])  # type: ignore[arg-type]
    placement = resolve(GPUS, STAGED, paint)
    painted = [i for i, gpu in enumerate(GPUS) if gpu in paint]
    fits = {
        i: [r for r in painted if all(STAGED.colours(d)[r] == c for d, c in paint[GPUS[i]].items())]
        for i in painted
    }

    def possible(left: list[int], taken: frozenset[int]) -> bool:
        if not left:
            return True
        return any(possible(left[1:], taken | {r}) for r in fits[left[0]] if r not in taken)

    assert possible(painted, frozenset()) == (not placement.conflicts)
    for i in painted:
        assert placement.rank[i] == -1 or int(placement.rank[i]) in fits[i]
    for i in set(range(8)) - set(painted):
        assert placement.rank[i] == i
    played = [rank for rank in ranks(placement) if rank >= 0]
    assert len(played) == len(set(played))


def test_an_overfull_group_names_its_gpus_and_the_rank_without_one() -> None:
    placement = resolve(GPUS, GRID, Paint().assign("tp", 1, ["gpu0"]))
    assert ranks(placement) == [-1, 1, 2, 3, 4, 5, 6, 7]
    assert texts(placement) == [
        "TP group 1 has 3 GPUs for 2 places | TP group 1 has 3 GPUs for 2 places: gpu0, gpu2, gpu3.",
        "1 rank has no GPU | 1 rank has no GPU: rank 0 (TP group 0, replica 0).",
    ]
    assert placement.conflicts[0].gpus == ("gpu0", "gpu2", "gpu3")
    assert [placement.gpus[i] for i in placement.groups["tp"][0]] == ["gpu1"]
    assert displayed_groups(placement, "tp")[0] == 1
    assert displayed_groups(placement, "dp")[0] == -1
    assert partners(placement, "gpu0")["tp"] == ()


def test_contradictory_colours_say_where_the_group_is() -> None:
    placement = resolve(GPUS, STAGED, Paint().assign("tp", 3, ["gpu7"]).assign("pp", 0, ["gpu7"]))
    assert texts(placement)[0] == (
        "TP group 3 is not in stage 0 | TP group 3 is in stage 1, but gpu7 is coloured stage 0."
    )
    assert placement.conflicts[0].gpus == ("gpu7",)


def test_colours_that_only_contradict_together() -> None:
    # each two of these groups share a rank, all three do not
    grid = Grid(tp=2, cp=3, ep=2, etp=1, pp=1, dp=1, order="tp-cp-dp-ep-pp")
    assert [grid.groups(key)[n].tolist() for key, n in (("tp", 0), ("ep", 0), ("cp", 1))] == [
        [0, 1],
        [0, 3],
        [1, 3, 5],
    ]
    placement = resolve(GPUS[:6], grid, Paint({"gpu0": {"tp": 0, "cp": 1, "ep": 0}}))
    title = "No rank is in TP group 0 and CP group 1 and EP group 0 at once"
    assert texts(placement)[0] == f"{title} | {title}, but gpu0 is coloured so."


def test_colours_beyond_a_smaller_grid() -> None:
    placement = resolve(GPUS, GRID, Paint().assign("tp", 9, ["gpu0"]).assign("dp", 4, ["gpu1"]))
    found = texts(placement)
    assert found[0] == (
        "There is no TP group 9 | The job has 4 TP groups, numbered from 0, but gpu0 is coloured TP group 9."
    )
    assert found[1].startswith("There is no replica 4 | The job has 4 replicas")
    assert resolve(GPUS, GRID, Paint().assign("tp", 10**30, ["gpu0"])).conflicts


def test_more_gpus_than_ranks_and_fewer() -> None:
    small = Grid(tp=2, cp=1, ep=1, etp=1, pp=1, dp=3)
    assert ranks(resolve(GPUS, small, Paint())) == [0, 1, 2, 3, 4, 5, -1, -1]
    # gpu7 has no rank of its own; painted into TP group 0 it takes the place that gpu0 leaves
    spare = resolve(GPUS, small, Paint().assign("tp", 0, ["gpu7"]).assign("tp", 2, ["gpu0"]))
    assert ranks(spare) == [-1, 1, 2, 3, 4, 5, -1, 0]
    assert [conflict.title for conflict in spare.conflicts] == ["TP group 2 has 3 GPUs for 2 places"]
    large = Grid(tp=2, cp=1, ep=1, etp=1, pp=1, dp=5)
    placement = resolve(GPUS, large, Paint())
    assert ranks(placement) == list(range(8))
    assert placement.conflicts[0].title == "2 ranks have no GPU"
    assert placement.groups["tp"][4].tolist() == []


def test_the_world_is_the_jobs_list_or_everything() -> None:
    assert world_of(None, ["a", "b"]) == ("a", "b")
    assert world_of(["b", "a"], ["a", "b", "c"]) == ("b", "a")
    with pytest.raises(InputError, match="names x, no GPU of the drawing"):
        world_of(["a", "x"], ["a", "b"])
    with pytest.raises(InputError, match="names a more than once"):
        world_of(["a", "b", "a"], ["a", "b"])
