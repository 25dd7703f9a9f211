"""Networks of ASTRA-sim."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

_RING = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n"


def test_three_dimensions() -> None:
    """Meshes of 4, switches between 2 meshes, rings of 3: 6·6 + 24 + 24 links. Numbers as in the file."""
    source = own("astra-sim-yml/three_dims.yml")
    assert [one.id for one in sniffed(source)] == ["astra-sim-yml"]
    found = drawing(source)
    assert kinds(found) == {"gpu": 24, "nic": 24, "leaf": 12}
    assert boxes(found) == {"tray": 6}
    assert speeds(found, LinkKind.NVLINK) == {2400.0: 36}
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 24, 200.0: 24}
    # NPU 5 is GPU 1 of host 1: its ring is NPUs 5, 13, 21, its switch joins NPUs 1 and 5.
    assert neighbours(found, "node01.nic1") == {"node01.gpu1", "node03.nic1", "node05.nic1", "switch2-1"}
    assert neighbours(found, "switch2-1") == {"node00.nic1", "node01.nic1"}
    (link,) = between(found, "node01.nic1", "switch2-1")
    assert link.latency_s == pytest.approx(500.5e-9)
    assert "both are on, in a ring only their neighbours" in said(imported(source), "guessed")


def test_user_says_what_a_dimension_is() -> None:
    """As scale-up, a ring is GPU to GPU; two NPUs in a ring have one link."""
    two = text("topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
    assert len(drawing(two).links) == 1
    found = drawing(text(_RING), dimension_1="network")
    assert kinds(found) == {"gpu": 4, "nic": 4}
    assert boxes(found) == {"tray": 4}
    assert speeds(found, LinkKind.ETHERNET) == {800.0: 4}


def test_logical_dimensions_are_sizes_alone() -> None:
    found = drawing(own("astra-sim-yml/logical_dims.json"), network_gbit_per_s="200")
    assert kinds(found) == {"gpu": 12, "nic": 12, "nvlink-switch": 3, "leaf": 4}
    assert speeds(found, LinkKind.ETHERNET) == {200.0: 12}


def test_not_filled_in_names_the_field() -> None:
    with pytest.raises(InputError, match=r"line 4: latency of dimension 1 is not filled in \(tbd\)"):
        imported(own("astra-sim-yml/not_filled_in.yml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[ 4 ]", "[ 4, 2 ]", "line 2: npus_count has 2 entries and topology 1"),
        ("[ 4 ]", "[ 1000000000 ]", "line 2: 1,000,000,000 NPUs; at most 200,000"),
        ("[ 4 ]", "[ 2.5 ]", 'line 2: npus_count of dimension 1 is "2.5"'),
        ("Ring", "Torus", 'line 1: topology of dimension 1 is "Torus"; Ring, Switch or FullyConnected'),
        ("[ 100 ]", "[ 0 ]", "line 3: bandwidth of dimension 1"),
        ("[ 100 ]", "[ .nan ]", "line 3: bandwidth of dimension 1"),
        ("bandwidth: [ 100 ]\n", "", "has no bandwidth"),
        ("bandwidth", "npus_count", "has the key 'npus_count' twice"),
    ],
)
def test_broken_files_name_the_field(old: str, new: str, message: str) -> None:
    assert old in _RING
    with pytest.raises(InputError, match=message):
        imported(text(_RING.replace(old, new, 1)), "astra-sim-yml")


def test_links_are_counted_before_they_are_drawn() -> None:
    mesh = _RING.replace("Ring", "FullyConnected").replace("[ 4 ]", "[ 20000 ]")
    with pytest.raises(InputError, match=r"20,000 NPUs and 199,990,000 links; at most 200,000 and 1,000,000"):
        imported(text(mesh), "astra-sim-yml")


def test_default_job_runs_on_it() -> None:
    two = "topology: [ Switch, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 300, 50 ]\nlatency: [ 1, 1 ]\n"
    check_traffic(drawing(text(two)))


def test_the_real_two_dimensions() -> None:
    """Switch 8 at 400 GB/s, Ring 4 at 50 GB/s: 32 NPUs; keys that are comments do not count."""
    source = real("astrasim_analytical_yml/hgx_h100_32gpu_2dim.yml")
    found = drawing(source)
    assert kinds(found) == {"gpu": 32, "nic": 32, "nvlink-switch": 4}
    assert speeds(found, LinkKind.NVLINK) == {3200.0: 32}
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 32}
    assert {link.latency_s for link in found.links} == {936.25e-9, 1e-6, None}
    check_traffic(found)


def test_the_real_ring() -> None:
    """Ring 8 at 50 GB/s, 500 ns."""
    found = drawing(real("astrasim_analytical_yml/ring_8npus.yml"))
    assert kinds(found) == {"gpu": 8}
    assert speeds(found, LinkKind.NVLINK) == {400.0: 8}
    assert {link.latency_s for link in found.links} == {500e-9}
    check_traffic(found)


def test_the_real_file_that_is_not_filled_in() -> None:
    with pytest.raises(InputError, match=r"line 11: bandwidth of dimension 1 is not filled in \(tbd\)"):
        imported(real("astrasim_analytical_yml/dgx_v100_8gpu_tbd_invalid.yml"))
