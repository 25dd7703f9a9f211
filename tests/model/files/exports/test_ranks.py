"""Where ranks run, in the files of those who start jobs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from model.document.document import Document
from model.errors import InputError
from model.job.spec import apply_set
from model.placement.paint import Paint
from tests.model.files.exports.drawings import export, pair, template, text_of


def turned() -> Document:
    """The pair with host b before host a, and the GPUs of a in the other order."""
    document = pair()
    document.job = document.job.model_copy(update={"world": ("b.gpu0", "b.gpu1", "a.gpu1", "a.gpu0")})
    return document


def test_hostfile_has_a_line_for_each_rank_in_rank_order() -> None:
    assert text_of(pair(), "slurm-hostfile") == "a\na\nb\nb\n"
    exported = export(turned(), "slurm-hostfile")
    assert exported.files[""] == "b\nb\na\na\n"
    assert len(exported.left_out) == 1
    assert "on 1 host the ranks are not in the order of the GPUs (a is the first)" in exported.left_out[0]


def test_rank_map_names_hosts_local_indices_and_gpus() -> None:
    assert text_of(turned(), "rank-map-csv").splitlines() == [
        "rank,host,local,gpu",
        "0,b,0,b.gpu0",
        "1,b,1,b.gpu1",
        "2,a,1,a.gpu1",
        "3,a,0,a.gpu0",
    ]


def test_rankfile_deals_out_cores() -> None:
    assert text_of(pair(), "open-mpi-rankfile").splitlines()[1] == "rank 1=a slot=1"
    lines = text_of(pair(), "open-mpi-rankfile", cores_per_rank="14").splitlines()
    assert lines == ["rank 0=a slot=0-13", "rank 1=a slot=14-27", "rank 2=b slot=0-13", "rank 3=b slot=14-27"]


def test_gpus_without_a_rank_are_said() -> None:
    document = pair()
    document.job = document.job.model_copy(update={"world": ("a.gpu0", "a.gpu1")})
    assert export(document, "rank-map-csv").left_out == ("Left out: 2 GPUs without a rank.",)


def test_a_rank_that_nobody_plays_is_refused() -> None:
    """Both GPUs of host a painted as TP group 0 of two, and of b as well: two ranks are left."""
    document = pair()
    document.paint = Paint({gpu: {"tp": 0} for gpu in ("a.gpu0", "a.gpu1", "b.gpu0", "b.gpu1")})
    with pytest.raises(InputError, match=r"No GPU plays 2 ranks of 4 \(rank 2 is the first\)"):
        export(document, "slurm-hostfile")


def test_an_illegal_job_is_refused_with_its_rule() -> None:
    document = pair()
    document.job = apply_set(document.job, "parallel.tp=3")
    with pytest.raises(InputError, match="the job does not fit"):
        export(document, "rank-map-csv")


def test_launch_hints_start_every_host_with_its_rank() -> None:
    text = text_of(template("hgx-h100", nodes=4), "launch-hints", script="pretrain_gpt.py")
    assert "torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$NODE_RANK" in text
    assert "--master-addr=node00" in text and "pretrain_gpt.py $MEGATRON_ARGS" in text
    assert re.findall(r"# (node\d\d): NODE_RANK=(\d)", text) == [(f"node0{n}", str(n)) for n in range(4)]
    assert "CUDA_VISIBLE_DEVICES" not in text


def arguments(*settings: str) -> list[str]:
    """What four hosts of eight GPUs hand to Megatron for a job."""
    document = template("hgx-h100", nodes=4)
    for setting in settings:
        document.job = apply_set(document.job, setting)
    found = re.search(r'MEGATRON_ARGS="(.*?)"', text_of(document, "launch-hints"), re.DOTALL)
    assert found
    return [re.sub(r"\s+", " ", line) for line in found[1].split(" \\\n  ")]


def test_launch_hints_carry_the_job() -> None:
    order = "parallel.order=tp-cp-pp-dp-ep"
    found = arguments("model=llama3-8b", "parallel.tp=4", "parallel.pp=2", order, "global_batch=64")
    assert found == [
        "--tensor-model-parallel-size 4",
        "--pipeline-model-parallel-size 2",
        "--context-parallel-size 1",
        "--sequence-parallel",
        "--use-distributed-optimizer",
        "--overlap-grad-reduce",
        "--overlap-param-gather",
        "--seq-length 4096",
        "--micro-batch-size 1",
        "--global-batch-size 64",
        "--bf16",
        "--use-tp-pp-dp-mapping",
    ]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        # Megatron's defaults differ: experts are cut by TP, and reached by all-gather.
        (
            ("model=mixtral-8x7b", "parallel.tp=2"),
            (
                "--expert-model-parallel-size 1",
                "--expert-tensor-parallel-size 1",
                "--moe-token-dispatcher-type alltoall",
            ),
        ),
        (
            ("model=mixtral-8x7b", "parallel.ep=8", "experts.dispatch=deduplicated"),
            ("--expert-model-parallel-size 8", "--moe-token-dispatcher-type flex --moe-enable-deepep"),
        ),
        (
            ("model=llama3-8b", "parallel.pp=4", "parallel.vpp=2"),  # 32 layers
            ("--num-layers-per-virtual-pipeline-stage 4", "--no-overlap-p2p-communication"),
        ),
        (
            ("parallel.cp=2", "parallel.cp_algorithm=all-gather", "precision=fp8"),
            ("--context-parallel-size 2", "--cp-comm-type all_gather", "--bf16", "--fp8-format hybrid"),
        ),
        (
            ("recompute=full", "gradient_precision=bf16", "vocabulary_multiple=256"),
            (
                *("--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"),
                *("--grad-reduce-in-bf16", "--make-vocab-size-divisible-by 256"),
            ),
        ),
    ],
)
def test_arguments_of_megatron(settings: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    assert set(wanted) <= set(arguments(*settings))


def test_hints_name_what_megatron_has_no_argument_for() -> None:
    document = template("hgx-h100", nodes=4)
    order = "parallel.order=pp-tp-cp-ep-dp"
    for setting in ("parallel.tp=2", "parallel.pp=2", "schedule=zb-h1", "parallel.zero=0", order):
        document.job = apply_set(document.job, setting)
    exported = export(document, "launch-hints")
    assert exported.left_out == (
        "Megatron has no argument for the rank order pp-tp-cp-ep-dp: "
        "started so, GPUs play other roles than drawn.",
        "Megatron has no argument for the schedule zb-h1; it runs 1F1B.",
    )
    assert "# Megatron has no argument for the rank order" in str(exported.files[""])
    assert "optimizer" not in str(exported.files[""]) and "mapping" not in str(exported.files[""])


def test_a_placement_that_torchrun_cannot_start_is_left_to_slurm(tmp_path: Path) -> None:
    """The script runs: each task that srun starts has its rank and all arguments."""
    document = pair()
    document.job = document.job.model_copy(update={"world": ("a.gpu0", "b.gpu0", "a.gpu1", "b.gpu1")})
    exported = export(document, "launch-hints")
    assert (
        "torchrun cannot start this placement: the ranks of a do not follow each other." in exported.left_out
    )
    stand_in(tmp_path / "srun", 'echo "$1 $2"; shift 2; SLURM_PROCID=2 SLURM_LOCALID=1 SLURM_NTASKS=4 "$@"')
    stand_in(tmp_path / "python", 'echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR "$@"')
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = ["bash", "-euc", str(exported.files[""])]
    done = subprocess.run(script, env=path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "--ntasks=4 --distribution=arbitrary"
    assert lines[1].startswith(
        "2 1 4 a train.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1"
    )


def stand_in(path: Path, line: str) -> None:
    """A program that only says how it was started."""
    path.write_text(f"#!/bin/bash\n{line}\n")
    path.chmod(0o755)


def test_hints_name_the_gpus_of_a_host_whose_order_differs() -> None:
    assert "# a: NODE_RANK=1 CUDA_VISIBLE_DEVICES=1,0" in text_of(turned(), "launch-hints")
