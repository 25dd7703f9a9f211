"""Where ranks run, for those who start jobs: Slurm's hostfile, our rank map, Open MPI's rankfile."""

from __future__ import annotations

from collections.abc import Sequence

from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.csv_text import csv_text
from model.files.exports.drawing import watched
from model.files.exports.ranked import Rank, idle_gpus, ranks_of
from model.files.exports.safe_names import HOST_NAMES, renamed, safe_names
from model.text import plural

_CORES_OPTION = ExportOption("cores_per_rank", "CPU cores for each rank", "1")


def host_names(ranks: Sequence[Rank]) -> dict[str, str]:
    """Names of the hosts of some ranks as Slurm and the name service take them, by id."""
    return safe_names(dict.fromkeys(rank.host.id for rank in ranks), HOST_NAMES)


def local_order_kept(ranks: Sequence[Rank]) -> tuple[str, ...]:
    """A sentence on the hosts whose GPUs are not in the order of their ranks, if there are any."""
    last: dict[str, int] = {}
    turned: dict[str, None] = {}
    for rank in ranks:
        if rank.local <= last.get(rank.host.id, -1):
            turned[rank.host.id] = None
        last[rank.host.id] = rank.local
    if not turned:
        return ()
    return (
        f"Which GPU of its host a rank takes is not in the file, and on {plural(len(turned), 'host')} the "
        f"ranks are not in the order of the GPUs ({next(iter(turned))} is the first): set "
        "CUDA_VISIBLE_DEVICES there.",
    )


def _slurm_hostfile(source: ExportSource) -> Exported:
    ranks = ranks_of(source)
    names = host_names(ranks)
    lines = [names[rank.host.id] for rank in watched(source, ranks, "writing ranks")]
    left_out = (*idle_gpus(source, ranks), *local_order_kept(ranks), *renamed(names, HOST_NAMES))
    return Exported({"": "\n".join(lines) + "\n"}, left_out)


def _rank_map(source: ExportSource) -> Exported:
    ranks = ranks_of(source)
    rows = [
        (rank.rank, rank.host.id, rank.local, rank.gpu.id) for rank in watched(source, ranks, "writing ranks")
    ]
    return Exported({"": csv_text(("rank", "host", "local", "gpu"), rows)}, idle_gpus(source, ranks))


def _rankfile(source: ExportSource) -> Exported:
    """Cores are dealt out in order: those of the n-th GPU of a host follow those of the one before."""
    cores = source.number(_CORES_OPTION, 1, 1024)
    ranks = ranks_of(source)
    names = host_names(ranks)
    lines = []
    for rank in watched(source, ranks, "writing ranks"):
        first = rank.local * cores
        slot = str(first) if cores == 1 else f"{first}-{first + cores - 1}"
        lines.append(f"rank {rank.rank}={names[rank.host.id]} slot={slot}")
    left_out = (*idle_gpus(source, ranks), *local_order_kept(ranks), *renamed(names, HOST_NAMES))
    return Exported({"": "\n".join(lines) + "\n"}, left_out)


FORMATS = (
    ExportFormat(
        id="slurm-hostfile",
        name="Slurm host file",
        suffix=".txt",
        write=_slurm_hostfile,
        use="export SLURM_HOSTFILE=FILE; srun -m arbitrary … starts task n on the host of line n.",
        lacks="Which GPU of its host a rank takes, and the network.",
    ),
    ExportFormat(
        id="rank-map-csv",
        name="Rank map (CSV)",
        suffix=".csv",
        write=_rank_map,
        use="For scripts that start ranks, and to put the same placement on another drawing.",
        lacks="Everything but ranks, hosts and GPUs.",
    ),
    ExportFormat(
        id="open-mpi-rankfile",
        name="Open MPI rankfile",
        suffix=".rankfile",
        write=_rankfile,
        use="mpirun --map-by rankfile:file=FILE … (Open MPI 5), mpirun --rankfile FILE … (before).",
        lacks="GPUs: slots are CPU cores, and the drawing does not know which are near which GPU.",
        options=(_CORES_OPTION,),
    ),
)
