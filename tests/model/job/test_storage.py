"""Reading data and writing checkpoints: T25 and traffic_model §3.6."""

from __future__ import annotations

import pytest

from model.errors import JobError
from model.job.exchange import Exchange, Operation, When
from model.job.plan import plan
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import JobSpec
from model.placement.paint import Paint
from model.placement.resolve import resolve
from tests.model.job.cases import job, llama_t3


def of_storage(own: JobSpec, world: int, devices: tuple[str, ...] = ("store",)) -> list[Exchange]:
    placement = resolve([f"g{i}" for i in range(world)], grid_of(own, world), Paint())
    found = plan(own, placement, model_shape(own), devices).exchanges
    return [x for x in found if x.dimension == "storage" or x.kind == "tp.data"]


def written(exchanges: list[Exchange]) -> float:
    return sum(float(x.message_bytes) * len(x.groups) for x in exchanges)


@pytest.mark.parametrize(
    ("own", "world", "total", "each"),
    [
        (llama_t3(checkpoint={"every_steps": 1, "to": "store"}), 1024, 987.8e9, 0.965e9),
        (
            job("llama3-405b", {"tp": 8, "pp": 16, "layers_per_stage": [7, *[8] * 14, 7]}, global_batch=2048,
                checkpoint={"every_steps": 1, "to": "store"}),
            16_384, 5.682e12, 0.347e9,
        ),
    ],
)  # fmt: skip
def test_t25_checkpoint(own: JobSpec, world: int, total: float, each: float) -> None:
    found = of_storage(own, world)
    assert written(found) == pytest.approx(total, rel=1e-4)
    assert written(found) / world == pytest.approx(each, rel=1e-3)
    assert {(x.operation, x.kind, x.count_per_step) for x in found} == {
        (Operation.WRITE, "storage.checkpoint", 1)
    }
    assert sorted(gpu for x in found for (gpu,) in x.groups.tolist()) == list(range(world))
    assert {name for x in found for name in x.storage} == {"store"}


def test_a_checkpoint_now_and_then_is_that_much_less_in_a_mean_step() -> None:
    often, seldom = (
        written(of_storage(llama_t3(checkpoint={"every_steps": steps, "to": "store"}), 1024))
        for steps in (1, 100)
    )
    assert seldom == pytest.approx(often / 100, rel=1e-6)


def test_a_checkpoint_without_a_target_is_spread_over_all_storage() -> None:
    own = llama_t3({"tp": 2, "pp": 2}, checkpoint={"every_steps": 1})
    (first, second) = of_storage(own, 4, ("s0", "s1"))
    assert first.storage + second.storage == ("s0", "s1", "s0", "s1")
    assert of_storage(own, 4, ()) == []


def test_a_dualpipe_job_writes_each_parameter_once() -> None:
    plain = llama_t3(checkpoint={"every_steps": 1, "to": "store"}, global_batch=64)
    both = llama_t3(checkpoint={"every_steps": 1, "to": "store"}, global_batch=64, schedule="dualpipe")
    assert written(of_storage(both, 64)) == pytest.approx(written(of_storage(plain, 64)), rel=1e-9)


def test_data_of_t3_are_read_once() -> None:
    # §3.6: 16 B a token, 134 MB a step of T3, read by the first TP rank of the first and the last stage
    read, handed_on = of_storage(llama_t3(data={"from": "store"}), 1024)[::-1]
    assert (read.operation, handed_on.operation) == (Operation.READ, Operation.BROADCAST)
    assert written([read]) * read.count_per_step == 16 * 8_388_608 == 134_217_728
    assert set(read.stages.tolist()) == {0, 3}
    assert read.groups[:3].tolist() == [[0], [8], [16]]
    assert set(read.storage) == {"store"}
    assert len(read.storage) == len(read.groups) == 64
    assert handed_on.groups[0].tolist() == list(range(8))
    assert (handed_on.message_bytes, handed_on.dimension) == (read.message_bytes, "tp")
    assert (read.when, read.blocking) == (When.FORWARD, False)


def test_one_stage_reads_both_halves() -> None:
    (read,) = of_storage(job("llama3-8b", global_batch=8, data={"from": "store", "bytes_per_token": 28}), 8)
    assert (read.message_bytes, len(read.groups)) == (28 * 8192, 8)
    assert of_storage(job("llama3-8b", global_batch=8, data={"from": "store", "bytes_per_token": 0}), 8) == []


def test_nothing_is_read_or_written_unasked() -> None:
    assert of_storage(llama_t3(), 1024) == []


@pytest.mark.parametrize(
    ("fields", "devices", "words"),
    [
        ({"data": {"from": "x"}}, ("s0", "s1"), "data.from names x, .* there is s0, s1, or null"),
        ({"checkpoint": {"to": "x"}}, ("s0",), "checkpoint.to names x, .* there is s0, or null"),
        ({"data": {"from": "s0"}}, (), "data.from names s0, .* there is none"),
        ({"data": {"from": "x"}}, tuple("abcdef"), "there is a, b, c and 3 more, or null"),
    ],
)
def test_a_device_that_there_is_not(
    fields: dict[str, dict[str, str]], devices: tuple[str, ...], words: str
) -> None:
    with pytest.raises(JobError, match=words):
        of_storage(job("llama3-8b", global_batch=8, **fields), 8, devices)
