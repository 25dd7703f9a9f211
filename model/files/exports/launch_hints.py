"""How to start the job so that every rank gets the GPU that it has in the drawing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.rank_files import host_names
from model.files.exports.ranked import Rank, idle_gpus, ranks_of
from model.files.exports.safe_names import HOST_NAMES, renamed
from model.job.shape import model_shape
from model.job.spec import JobSpec
from model.text import plural
from model.topology.types import DeviceKind

_PORT = 29500
_ORDERS = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")


def _write(source: ExportSource) -> Exported:
    script = source.options.get("script", "train.py").strip()
    if not re.fullmatch(r"[\w./-]+", script):
        raise InputError(f"script cannot be {script!r}; it is the path of a file, without blanks.")
    ranks = ranks_of(source)
    names = host_names(ranks)
    hosts = _hosts_in_order(ranks)
    left_out = [*idle_gpus(source, ranks), *renamed(names, HOST_NAMES)]
    lines = [
        f"# {plural(len(ranks), 'rank')} on {plural(len(hosts), 'host')}, in rank order.",
        f"# The first host, {names[ranks[0].host.id]}, is the meeting point.",
        "",
        *_megatron(source.document.job, len(ranks), left_out),
        "",
    ]
    source.progress(0.5, "writing hosts")
    uneven = _why_no_torchrun(ranks, hosts)
    if uneven:
        left_out.append(f"torchrun cannot start this placement: {uneven}.")
        lines += [
            f"# torchrun numbers ranks host by host, the same number on each: {uneven}.",
            "# Slurm can start it, with the host file of this drawing (one line for each task):",
            "export SLURM_HOSTFILE=hostfile.txt",
            f"srun --ntasks={len(ranks)} --distribution=arbitrary python {script} $MEGATRON_ARGS",
        ]
    else:
        lines += _torchrun(ranks, hosts, names, script)
    return Exported({"": "\n".join(lines) + "\n"}, tuple(left_out))


def _hosts_in_order(ranks: Sequence[Rank]) -> list[list[Rank]]:
    """The ranks of each host, hosts by their lowest rank."""
    hosts: dict[str, list[Rank]] = {}
    for rank in ranks:
        hosts.setdefault(rank.host.id, []).append(rank)
    return list(hosts.values())


def _why_no_torchrun(ranks: Sequence[Rank], hosts: Sequence[Sequence[Rank]]) -> str:
    sizes = sorted({len(host) for host in hosts})
    if len(sizes) > 1:
        return f"hosts have from {sizes[0]} to {sizes[-1]} ranks"
    for host in hosts:
        if host[-1].rank - host[0].rank + 1 != len(host):
            return f"the ranks of {host[0].host.id} do not follow each other"
    return ""


def _torchrun(
    ranks: Sequence[Rank], hosts: Sequence[Sequence[Rank]], names: dict[str, str], script: str
) -> list[str]:
    each = len(hosts[0])
    lines = [
        "# On each host, with static ranks (a c10d rendezvous would number the hosts at random):",
        f"#   {', '.join(f'NODE_RANK={place}' for place in range(min(2, len(hosts))))} … as listed below",
        f"torchrun --nnodes={len(hosts)} --nproc-per-node={each} --node-rank=$NODE_RANK \\",
        f"  --master-addr={names[ranks[0].host.id]} --master-port={_PORT} {script} $MEGATRON_ARGS",
        "",
    ]
    for place, host in enumerate(hosts):
        gpus = [rank.local for rank in host]
        whole = gpus == list(range(len(host[0].host.of_kind(DeviceKind.GPU))))
        visible = "" if whole else f" CUDA_VISIBLE_DEVICES={','.join(map(str, gpus))}"
        lines.append(f"# {names[host[0].host.id]}: NODE_RANK={place}{visible}")
    return lines


def _megatron(job: JobSpec, world: int, left_out: list[str]) -> list[str]:
    own, shape = job.parallel, model_shape(job)
    arguments = [
        f"--tensor-model-parallel-size {own.tp}",
        f"--pipeline-model-parallel-size {own.pp}",
        f"--context-parallel-size {own.cp}",
    ]
    if own.vpp > 1 and own.layers_per_stage is None:
        arguments.append(f"--num-layers-per-virtual-pipeline-stage {shape.layers // (own.pp * own.vpp)}")
    if own.ep > 1:
        arguments.append(f"--expert-model-parallel-size {own.ep}")
    if own.ep > 1 or own.etp > 1:
        arguments.append(f"--expert-tensor-parallel-size {own.etp}")
    if own.tp > 1 and own.sequence_parallel:
        arguments.append("--sequence-parallel")
    if own.zero in (1, 2):
        arguments.append("--use-distributed-optimizer")
    if own.zero == 3:
        left_out.append("ZeRO-3 has no argument here; use the FSDP of your framework.")
    if job.recompute != "none":
        arguments.append(f"--recompute-granularity {job.recompute}")
    arguments += [
        f"--seq-length {job.sequence_length}",
        f"--micro-batch-size {job.microbatch}",
        f"--global-batch-size {job.global_batch}",
        *([f"--{job.precision}"] if job.precision in ("bf16", "fp16") else []),
    ]
    order = _order(job)
    if order == _ORDERS[1]:
        arguments.append("--use-tp-pp-dp-mapping")
    elif order != _ORDERS[0]:
        left_out.append(f"Megatron has no argument for the rank order {order}.")
    if own.layers_per_stage is not None:
        left_out.append("The layers of each stage have no argument here.")
    return [
        f"# Parallel sizes of Megatron-LM for a world of {world:,}; the shape of the model is to be added.",
        'MEGATRON_ARGS="' + " \\\n  ".join(arguments) + '"',
    ]


def _order(job: JobSpec) -> str:
    """As Megatron writes it where that is the same: axes of size 1 do not matter."""
    own = job.parallel
    sizes = {"tp": own.tp, "cp": own.cp, "ep": own.ep, "pp": own.pp, "dp": own.dp or 2}

    def large(order: str) -> list[str]:
        return [axis for axis in order.split("-") if sizes.get(axis, 1) > 1]

    return next((order for order in _ORDERS if large(order) == large(own.order)), own.order)


FORMATS = (
    ExportFormat(
        id="launch-hints",
        name="Launch hints (torchrun, Megatron, Slurm)",
        suffix=".sh",
        write=_write,
        use="Lines for the script that starts the job, so that ranks run where the drawing has them.",
        lacks="Paths, data, the shape of the model, and all else that does not depend on the placement.",
        options=(ExportOption("script", "The training script", "train.py"),),
    ),
)
