"""What a step would take if one link, exchange or GPU were faster or slower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from model.errors import InputError
from model.job.spec import JobSpec
from model.step.account import Inputs, step_time
from model.step.stage_devices import GpuKinds, stage_devices
from model.traffic.types import Fabric

Subject = Literal["link", "exchange", "gpu"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What one step was simulated from, and the time it took; kept so that it can be asked again."""

    fabric: Fabric
    job: JobSpec
    kinds: GpuKinds
    inputs: Inputs
    time_s: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The step with one part (or several alike) `factor` times as fast, and as it is; seconds."""

    subject: Subject
    ids: tuple[str, ...]
    factor: float
    time_s: float
    before_s: float

    @property
    def saved_s(self) -> float:
        """How much shorter the step gets; negative where it gets longer."""
        return self.before_s - self.time_s


def what_if(last: Simulated, subject: Subject, ids: str | tuple[str, ...], factor: float = 2.0) -> WhatIf:
    """Simulate the step again with a part, or several of a kind, at `factor` times its rate; paths stay as
    they are.

    A link: usable rate and capacity of both directions. An exchange: its latency and its bytes take 1 ÷
    factor of the time. A GPU: its compute. Raises InputError for an id that takes no part, or a factor that
    is not positive and finite.
    """
    if not (np.isfinite(factor) and factor > 0):
        raise InputError(f"a part can be some positive number of times as fast, not {factor} times")
    named = (ids,) if isinstance(ids, str) else ids
    changed = {"link": _with_links, "exchange": _with_exchanges, "gpu": _with_gpus}[subject]
    return WhatIf(subject, named, factor, step_time(changed(last, named, factor)), last.time_s)


def _with_links(last: Simulated, ids: tuple[str, ...], factor: float) -> Inputs:
    numbers = {ident: number for number, ident in enumerate(last.fabric.link_ids)}
    usable, capacity = last.inputs.usable.copy(), last.inputs.capacity.copy()
    for ident in ids:
        if ident not in numbers:
            raise InputError(f"there is no link {ident} in the last step")
        for rates in (usable, capacity):
            rates[2 * numbers[ident] : 2 * numbers[ident] + 2] *= factor
    return replace(last.inputs, usable=usable, capacity=capacity)


def _with_exchanges(last: Simulated, ids: tuple[str, ...], factor: float) -> Inputs:
    found = last.inputs.exchanges
    for ident in ids:
        if all(exchange.id != ident for exchange in found):
            raise InputError(f"there is no exchange {ident} in the last step")
    return replace(
        last.inputs,
        exchanges=tuple(
            replace(one, time_factor=one.time_factor / factor) if one.id in ids else one for one in found
        ),
    )


def _with_gpus(last: Simulated, ids: tuple[str, ...], factor: float) -> Inputs:
    placement, kinds = last.inputs.placement, last.kinds
    for ident in ids:
        gpu = placement.gpus.index(ident) if ident in placement.gpus else -1
        if gpu < 0 or kinds.kind_of_gpu[gpu] < 0:
            raise InputError(f"GPU {ident} plays no rank in the last step")
        kinds = kinds.with_speed(gpu, factor)
    devices = stage_devices(kinds, placement, last.inputs.tracks, last.job)
    return replace(last.inputs, seconds=devices.seconds)
