"""The bars of the memory card. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.job.memory import FILL_LIMIT, StageMemory, state_bytes
from model.job.spec import JobSpec
from model.text import format_bytes, format_percent

PARTS: tuple[str, ...] = ("weights", "gradients", "optimizer", "activations", "other")


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """One bar: consecutive stages that need the same, in bytes on each of their GPUs."""

    first_stage: int
    last_stage: int
    parts: tuple[float, ...]
    hbm_bytes: float

    @property
    def total_bytes(self) -> float:
        """All parts together."""
        return sum(self.parts)

    @property
    def fill(self) -> float:
        """Share of the HBM; above 1 it does not fit."""
        return self.total_bytes / self.hbm_bytes if self.hbm_bytes > 0 else 0.0

    @property
    def overflows(self) -> bool:
        """More than there is."""
        return self.fill > 1.0

    @property
    def tight(self) -> bool:
        """Above the fill limit, but not above what there is."""
        return FILL_LIMIT < self.fill <= 1.0

    @property
    def name(self) -> str:
        """ "Stage 0" or "Stages 1–2"."""
        if self.first_stage == self.last_stage:
            return f"Stage {self.first_stage}"
        return f"Stages {self.first_stage}–{self.last_stage}"

    @property
    def text(self) -> str:
        """ "66.1 of 80.0 GB"."""
        return f"{format_bytes(self.total_bytes).removesuffix(' GB')} of {format_bytes(self.hbm_bytes)}"

    @property
    def verdict(self) -> str:
        """What the bar says in words."""
        if self.overflows:
            return f"{format_bytes(self.total_bytes - self.hbm_bytes)} too much"
        if self.tight:
            return f"{format_percent(self.fill)}: above the {format_percent(FILL_LIMIT)} line"
        return format_percent(self.fill)

    @property
    def hover(self) -> str:
        """Every part with its bytes."""
        lines = [f"{name}: {format_bytes(value)}" for name, value in zip(PARTS, self.parts, strict=True)]
        return "\n".join((f"{self.name}: {self.text}, {self.verdict}", *lines))


def memory_bars(memory: Sequence[StageMemory]) -> tuple[MemoryBar, ...]:
    """A bar per stage; neighbours that need the same to a thousandth of the HBM share one."""
    bars: list[MemoryBar] = []
    for stage in sorted(memory, key=lambda entry: entry.stage):
        parts = (
            stage.weights_bytes,
            stage.gradients_bytes,
            stage.optimizer_bytes,
            stage.activations_bytes,
            stage.other_bytes,
        )
        last = bars[-1] if bars else None
        if last and last.hbm_bytes == stage.hbm_bytes and _close(last.parts, parts, stage.hbm_bytes):
            bars[-1] = MemoryBar(last.first_stage, stage.stage, last.parts, last.hbm_bytes)
        else:
            bars.append(MemoryBar(stage.stage, stage.stage, parts, stage.hbm_bytes))
    return tuple(bars)


def bytes_per_parameter(job: JobSpec, replicas: int, expert_replicas: int) -> str:
    """What a parameter takes before and after sharding (conventions 26): "6 + 12/32 B a parameter".

    `replicas` is dp · cp, `expert_replicas` what the experts' state is sharded over (0 without experts).
    """
    each, zero = state_bytes(job), job.parallel.zero
    parts = ((each.weight, 3), (each.gradient, 2), (each.optimizer, 1))
    whole = sum(size for size, sharded_from in parts if zero < sharded_from)
    cut = sum(size for size, sharded_from in parts if zero >= sharded_from)

    def over(ranks: int) -> str:
        terms = ([str(whole)] if whole else []) + ([f"{cut}/{ranks}"] if cut and ranks > 1 else [])
        if cut and ranks <= 1:
            terms = [str(whole + cut)]
        return " + ".join(terms)

    text = f"{over(replicas)} B a parameter"
    if cut and expert_replicas and expert_replicas != replicas:
        text += f" (experts {over(expert_replicas)} B)"
    return f"{text}: weights {each.weight}, gradients {each.gradient}, optimizer {each.optimizer}"


def _close(a: tuple[float, ...], b: tuple[float, ...], hbm_bytes: float) -> bool:
    return all(abs(x - y) <= hbm_bytes * 1e-3 for x, y in zip(a, b, strict=True))
