"""Slurm host files, Open MPI rankfiles and rank maps."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import RankPlacement
from model.files.imports.rank_places import MOST_RANKS
from model.files.registry import sniffed
from tests.model.files.imports.samples import imported, own, placement, real, said, text


def _places(result: RankPlacement) -> list[tuple[int, str, int | None]]:
    return [(place.rank, place.host, place.local) for place in result.ranks]


def test_host_file_counts_the_tasks_of_each_host() -> None:
    """Repetition by `*` and ranges as hostlist_read_file of Slurm reads them; comments anywhere."""
    source = own("slurm-hostfile/two_hosts.hostfile")
    assert [one.id for one in sniffed(source)] == ["slurm-hostfile"]
    assert _places(placement(source)) == [
        (0, "gpu02", 0),
        (1, "gpu02", 1),
        (2, "gpu01", 0),
        (3, "gpu01", 1),
        (4, "gpu03", 0),
        (5, "gpu04", 0),
    ]
    assert [place.line for place in placement(source).ranks] == [2, 3, 4, 4, 5, 5]


def test_host_file_with_a_line_for_each_host_is_doubted() -> None:
    one = imported(text("gpu1\ngpu2\ngpu3\n"), "slurm-hostfile")
    assert "Each host stands in the file once" in said(one, "guessed")


def test_host_file_of_a_billion_tasks_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match=rf"line 1: 999,999,999 ranks; at most {MOST_RANKS:,}"):
        imported(text("gpu1*999999999\n"), "slurm-hostfile")
    with pytest.raises(InputError, match="more than"):
        imported(text("gpu[0-99999999]\n"), "slurm-hostfile")


def test_rankfile_in_any_order_with_slots_left_out() -> None:
    source = own("open-mpi-rankfile/shuffled.rankfile")
    assert [one.id for one in sniffed(source)] == ["open-mpi-rankfile"]
    one = imported(source)
    assert isinstance(one.result, RankPlacement)
    assert _places(one.result) == [(0, "alpha", 0), (1, "alpha", 1), (2, "beta", 0), (3, "beta", 1)]
    ignored = next(note for note in one.notes if note.kind == "ignored")
    assert ignored.lines == (2, 3, 4)


def test_rankfile_with_relative_hosts_says_what_is_missing() -> None:
    with pytest.raises(InputError, match=r"line 1: \+n1 counts the hosts of an allocation"):
        imported(text("rank 0=+n1 slot=0\n"), "open-mpi-rankfile")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("rank 0=a\nrank 0=b\n", "line 2: rank 0 is placed twice; line 1 has it first"),
        ("rank 0=a\nrank 3=b\n", "line 2: ranks 0 to 3 need 4 lines, and there are 2; 1, 2 are missing"),
        ("rank 0=a\nrank one=b\n", "line 2: a line is like rank 0=host slot=0:0-13"),
        ("rank 999999999=a\n", "line 1: rank 999,999,999 is beyond the 1,000,000"),
        ("# nothing\n", "places no rank"),
    ],
)
def test_broken_rankfiles_name_the_line(lines: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        imported(text(lines), "open-mpi-rankfile")


def test_partial_import_counts_the_ranks_anew() -> None:
    one = imported(text("rank 0=a\nnonsense\nrank 5=b\n"), "open-mpi-rankfile", partial=True)
    assert isinstance(one.result, RankPlacement)
    assert _places(one.result) == [(0, "a", 0), (1, "b", 0)]
    assert "Left out: a line is like rank 0=host" in said(one, "ignored")
    assert "counted anew" in said(one, "guessed")


def test_rank_map_as_a_spreadsheet_writes_it() -> None:
    source = own("rank-map-csv/excel.csv")
    assert [one.id for one in sniffed(source)] == ["rank-map-csv"]
    one = imported(source)
    assert isinstance(one.result, RankPlacement)
    assert _places(one.result) == [(0, "alpha", 0), (1, "alpha", 1), (2, "beta", 3)]
    assert [place.line for place in one.result.ranks] == [4, 3, 5]
    assert 'The column "Comment" is not read' in said(one, "ignored")


def test_rank_map_of_ours_keeps_ids_of_gpus() -> None:
    result = placement(own("rank-map-csv/ours.csv"))
    assert [(place.host, place.local, place.gpu) for place in result.ranks] == [
        ("node00", 0, "node00.gpu0"),
        ("node00", 1, "node00.gpu1"),
        ("", None, "node01.gpu0"),
    ]


def test_rank_map_of_ours_takes_hosts_by_any_name_of_a_drawing() -> None:
    rows = 'rank,host,local,gpu\n0,"my ""big"" node",0,"my ""big"" node.gpu0"\n'
    assert placement(text(rows)).ranks[0].gpu == 'my "big" node.gpu0'
    with pytest.raises(InputError, match="is no name of a host"):
        placement(text('rank,host,local\n0,"my ""big"" node",0\n'))


def test_two_ranks_on_one_gpu_are_told() -> None:
    one = imported(text("rank,host,local\n0,a,0\n1,a,0\n"), "rank-map-csv")
    note = next(note for note in one.notes if note.kind == "contradictory")
    assert note.text == "Ranks 0 and 1 both take GPU 0 of a."
    assert note.lines == (2, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("host,local\na,0\n", "line 1: the first line must name the columns rank and host"),
        ("rank,host,node\n0,a,b\n", "line 1: two columns name the host"),
        ("rank,host,local\n0,a,x\n", 'line 2: a local index is a number from 0 on, not "x"'),
        ("rank,host,local\n0,,\n", "line 2: rank 0 has neither a host nor a GPU"),
        ("rank,host\n-1,a\n", "line 2: a rank is a number from 0 to 999,999"),
    ],
)
def test_broken_rank_maps_name_the_line(table: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(table), "rank-map-csv")


def test_the_real_host_file() -> None:
    """32 tasks: 8 per host in order gpu001, 003, 002, 004."""
    source = real("placement/SYN_slurm_hostfile_arbitrary.txt")
    result = placement(source)
    hosts = ["gpu001", "gpu003", "gpu002", "gpu004"]
    assert _places(result) == [(8 * n + i, host, i) for n, host in enumerate(hosts) for i in range(8)]


def test_the_real_rankfile() -> None:
    """16 ranks, 2 hosts."""
    result = placement(real("placement/SYN_openmpi_rankfile.txt"))
    assert _places(result) == [(8 * n + i, f"gpu00{n + 1}", i) for n in range(2) for i in range(8)]
