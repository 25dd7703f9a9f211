"""What expert parallelism exchanges (traffic_model §3.4, conventions 11, 12 and 19)."""

from __future__ import annotations

from collections.abc import Iterator

from model.catalog.shapes import MoeShape
from model.job.exchange import Dedup, Operation, When, Window
from model.job.need import Need
from model.job.shape import ModelShape, StageLayers
from model.job.sizes import activation_bytes, local_tokens, microbatches, sent_copies
from model.job.spec import JobSpec
from model.placement.grid import Grid, GroupKey

FP8_BLOCK = 128  # elements that share one 4-byte scale


def expert_needs(job: JobSpec, shape: ModelShape, grid: Grid, layers: StageLayers) -> Iterator[Need]:
    """Tokens to the experts and back, and the same mirrored for the gradients.

    With expert tensor parallelism the copies of all its ranks are gathered before the experts and the sums
    scattered after them.
    """
    if shape.moe is None:
        return
    wide = narrow = activation_bytes(job) * shape.hidden
    if job.experts.dispatch_precision == "fp8":
        narrow = shape.hidden + -(-4 * shape.hidden // FP8_BLOCK)
    passes = [
        ("ep.dispatch", "", narrow, When.FORWARD),
        ("ep.combine", "", wide, When.FORWARD),
        ("ep.combine-gradient", "", narrow, When.BACKWARD),
        ("ep.dispatch-gradient", "", wide, When.BACKWARD),
    ]
    if job.recompute == "full":
        passes += [
            ("ep.dispatch", ".recompute", narrow, When.BACKWARD),
            ("ep.combine", ".recompute", wide, When.BACKWARD),
        ]
    for kind, suffix, each, when in passes:
        # The gradient of combine goes the way of dispatch, and the other way round.
        out = kind in ("ep.dispatch", "ep.combine-gradient")
        steps = [
            *_over_experts(job, shape.moe, shape, grid, each, out),
            *_inside(job, shape, grid, each, out),
        ]
        for key, operation, size, factor, dedup in steps if out else reversed(steps):
            yield Need(
                name=f"{kind}{suffix}" if key == "ep" else f"{kind}.{key}{suffix}",
                kind=kind,
                dimension="ep",
                group_key=key,
                operation=operation,
                stage=layers.stage,
                message_bytes=size,
                count=microbatches(job, grid) * layers.moe,
                when=when,
                window=Window.LAYER if job.overlap.experts else Window.NONE,
                time_factor=factor,
                dedup=dedup,
            )


_Step = tuple[GroupKey, Operation, int, float, Dedup | None]


def _over_experts(
    job: JobSpec, moe: MoeShape, shape: ModelShape, grid: Grid, each: int, out: bool
) -> Iterator[_Step]:
    """To and from the ranks with the experts; of the all-gather dispatcher every token goes everywhere."""
    own = job.experts
    if grid.ep == 1:
        return
    if own.dispatch == "all-gather":
        operation = Operation.ALL_GATHER if out else Operation.REDUCE_SCATTER
        yield "ep", operation, grid.ep * local_tokens(job) * each, 1.0, None
        return
    dedup = None
    if own.dispatch == "deduplicated":
        dedup = Dedup(moe.experts, moe.top_k, own.node_limit, combine=not out)
    yield "ep", Operation.ALL_TO_ALL, sent_copies(job, shape) * each, _factor(job), dedup


def _inside(job: JobSpec, shape: ModelShape, grid: Grid, each: int, out: bool) -> Iterator[_Step]:
    """Between the ranks that share each expert (conventions 11)."""
    if grid.etp == 1:
        return
    operation = Operation.ALL_GATHER if out else Operation.REDUCE_SCATTER
    if job.experts.dispatch == "all-gather":
        yield "etp", operation, grid.etp * grid.ep * local_tokens(job) * each, 1.0, None
    else:
        yield "etp", operation, grid.etp * sent_copies(job, shape) * each, _factor(job), None


def _factor(job: JobSpec) -> float:
    """Imbalance stretches time; with a capacity every rank gets the same."""
    return 1.0 if job.experts.capacity_factor is not None else job.experts.imbalance
