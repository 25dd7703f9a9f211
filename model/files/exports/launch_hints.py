"""How to start the job so that every rank gets the GPU that it has in the drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.rank_files import host_names, local_order_kept
from model.files.exports.ranked import Rank, idle_gpus, ranks_of
from model.files.exports.safe_names import HOST_NAMES, renamed
from model.job.chunks import running_schedule
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.text import plural
from model.topology.types import DeviceKind

_SCRIPT_OPTION = ExportOption("script", "The training script", "train.py")
_PORT = 29500
_ORDERS = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
_VOCABULARY_MULTIPLE = 128  # Megatron's default
_CONTEXT = {"ring": "p2p", "all-gather": "all_gather", "ulysses": "a2a"}
_DISPATCHERS = {
    "direct": "alltoall",
    "deduplicated": "flex --moe-enable-deepep",
    "all-gather": "allgather",
}
_PRECISIONS = {
    "bf16": ("--bf16",),
    "fp16": ("--fp16",),
    "fp8": ("--bf16", "--fp8-format hybrid"),
    "fp4": ("--bf16",),
    "fp32": (),
}


def _write(source: ExportSource) -> Exported:
    script = source.chosen(_SCRIPT_OPTION)
    if not re.fullmatch(r"[\w./-]+", script):
        raise InputError(f"script cannot be {script!r}; it is the path of a file, without blanks.")
    job, ranks = source.document.job, ranks_of(source)
    names = host_names(ranks)
    hosts = _hosts_in_order(ranks)
    left_out = [*idle_gpus(source, ranks), *renamed(names, HOST_NAMES)]
    lines = [
        f"# {plural(len(ranks), 'rank')} on {plural(len(hosts), 'host')}, in rank order.",
        f"# The first host, {names[ranks[0].host.id]}, is the meeting point.",
        "",
        *_megatron(job, grid_of(job, len(ranks)), left_out),
        "",
    ]
    source.progress(0.5, "writing hosts")
    uneven = _why_no_torchrun(ranks, hosts)
    if uneven:
        left_out += [f"torchrun cannot start this placement: {uneven}.", *local_order_kept(ranks)]
        lines += _srun(len(ranks), names[ranks[0].host.id], script, uneven)
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


def _srun(count: int, first_host: str, script: str, uneven: str) -> list[str]:
    """Slurm with a task for each rank, which takes its place in the job from Slurm's variables."""
    place = "RANK=\\$SLURM_PROCID LOCAL_RANK=\\$SLURM_LOCALID WORLD_SIZE=\\$SLURM_NTASKS"
    return [
        f"# torchrun numbers ranks host by host, the same number on each: {uneven}.",
        "# Slurm can start it, with the host file of this drawing (one line for each task):",
        "export SLURM_HOSTFILE=hostfile.txt",
        f"export MASTER_ADDR={first_host} MASTER_PORT={_PORT}",
        f"srun --ntasks={count} --distribution=arbitrary bash -c \\",
        f'  "{place} python {script} $MEGATRON_ARGS"',
    ]


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


def _megatron(job: JobSpec, grid: Grid, left_out: list[str]) -> list[str]:
    """The arguments of Megatron-LM that say how the job is cut; what has none is added to `left_out`."""
    arguments = [*_sizes(job), *_experts(job), *_running(job)]
    order = _order(job, grid)
    warning = (
        f"Megatron has no argument for the rank order {order}: started so, GPUs play other roles than drawn."
    )
    if order == _ORDERS[1]:
        arguments.append("--use-tp-pp-dp-mapping")
    elif order != _ORDERS[0]:
        left_out.append(warning)
    left_out += _without_argument(job)
    return [
        *([f"# {warning}"] if order not in _ORDERS else []),
        f"# Arguments of Megatron-LM for a world of {grid.world:,}; the shape of the model is to be added.",
        'MEGATRON_ARGS="' + " \\\n  ".join(arguments) + '"',
    ]


def _sizes(job: JobSpec) -> Iterator[str]:
    own = job.parallel
    yield f"--tensor-model-parallel-size {own.tp}"
    yield f"--pipeline-model-parallel-size {own.pp}"
    yield f"--context-parallel-size {own.cp}"
    if own.cp > 1:
        yield f"--cp-comm-type {_CONTEXT[own.cp_algorithm]}"
    if own.vpp > 1 and own.layers_per_stage is None:
        layers = model_shape(job).layers // (own.pp * own.vpp)
        yield f"--num-layers-per-virtual-pipeline-stage {layers}"
        if own.microbatch_group is not None:
            yield f"--microbatch-group-size-per-virtual-pipeline-stage {own.microbatch_group}"
        if not job.overlap.pipeline:
            yield "--no-overlap-p2p-communication"
    if own.tp > 1 and own.sequence_parallel:
        yield "--sequence-parallel"


def _experts(job: JobSpec) -> Iterator[str]:
    """Megatron's own defaults are experts cut like the rest, and all-gather as the way to them."""
    own = job.parallel
    if model_shape(job).moe is None:
        return
    yield f"--expert-model-parallel-size {own.ep}"
    yield f"--expert-tensor-parallel-size {own.etp}"
    yield f"--moe-token-dispatcher-type {_DISPATCHERS[job.experts.dispatch]}"


def _running(job: JobSpec) -> Iterator[str]:
    """Optimizer, recompute, batch and precision."""
    if job.parallel.zero in (1, 2):
        yield "--use-distributed-optimizer"
    if job.parallel.zero < 3 and job.overlap.gradients:
        yield "--overlap-grad-reduce"
        if job.parallel.zero and job.overlap.parameters:
            yield "--overlap-param-gather"
    if job.gradient_precision == "bf16":
        yield "--grad-reduce-in-bf16"
    if job.recompute != "none":
        yield f"--recompute-granularity {job.recompute}"
    if job.recompute == "full":
        yield "--recompute-method uniform"
        yield "--recompute-num-layers 1"
    yield f"--seq-length {job.sequence_length}"
    yield f"--micro-batch-size {job.microbatch}"
    yield f"--global-batch-size {job.global_batch}"
    if job.vocabulary_multiple != _VOCABULARY_MULTIPLE:
        yield f"--make-vocab-size-divisible-by {job.vocabulary_multiple}"
    yield from _PRECISIONS[job.precision]


def _without_argument(job: JobSpec) -> Iterator[str]:
    own = job.parallel
    if own.zero == 2:
        yield "ZeRO-2 is written as Megatron's distributed optimizer, which keeps gradients whole (ZeRO-1)."
    if own.zero == 3:
        yield "ZeRO-3 has no argument here; use the FSDP of your framework."
    if own.dp_shard is not None:
        yield "How many GPUs share one copy of the state has no argument here."
    if own.layers_per_stage is not None:
        yield "The layers of each stage have no argument here."
    if running_schedule(job) not in ("1f1b", "interleaved"):
        yield f"Megatron has no argument for the schedule {job.schedule}; it runs 1F1B."
    if job.precision == "fp4":
        yield "The precision fp4 has no argument here; bf16 is written."
    if job.overlap.tensor or job.overlap.experts:
        yield "Overlap of TP and EP has no argument here; it depends on the libraries that are installed."


def _order(job: JobSpec, grid: Grid) -> str:
    """As Megatron writes it where that is the same: axes of size 1 do not matter."""
    sizes = {"tp": grid.tp, "cp": grid.cp, "ep": grid.ep, "pp": grid.pp, "dp": grid.dp}

    def large(order: str) -> list[str]:
        return [axis for axis in order.split("-") if sizes.get(axis, 1) > 1]

    own = job.parallel.order
    return next((order for order in _ORDERS if large(order) == large(own)), own)


FORMATS = (
    ExportFormat(
        id="launch-hints",
        name="Launch hints (torchrun, Megatron, Slurm)",
        suffix=".sh",
        write=_write,
        use="Lines for the script that starts the job, so that ranks run where the drawing has them.",
        lacks="Paths, data, the shape of the model, and all else that does not depend on the placement.",
        options=(_SCRIPT_OPTION,),
    ),
)
