"""Groups of published runs, their targets, and the tables of them: on the terminal and as a document."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.published_rows import Row
from benchmarks.published_run import Outcome

Choice = Callable[[Row], bool]
Value = Callable[[Outcome], float | None]

MEDIAN, MEAN = "median |error|", "mean |error|"
BIAS_LIMIT = 0.05
SHORT = " ¹"


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, what of them is compared, and the targets (None = shown only).

    `tested`: only the rows that nothing was fitted on count.
    """

    name: str
    chosen: Choice
    measure: str
    limit: float | None
    bias_limit: float | None = None
    tested: bool = True
    value: Value = lambda outcome: outcome.error


def _group(name: str, *, bias: float | None = BIAS_LIMIT, limit: float = 0.10) -> Group:
    return Group(name, lambda row: row.group == name, MEDIAN, limit, bias)


def _of_types(*types: str) -> Choice:
    return lambda row: row.gpu_type in types


GROUPS = (
    _group("A100 without vTrain"),
    _group("vTrain"),
    _group("H100"),
    _group("B200"),
    _group("GB200+GB300+B300"),
    _group("MoE", bias=None, limit=0.15),
    Group("Korthikanti", lambda row: row.ident.startswith("korthikanti22"), MEAN, 0.04),
    Group("H100 with MoE", _of_types("H100"), MEDIAN, None),
    Group("B200 with MoE", _of_types("B200"), MEDIAN, None),
    Group("GB200+GB300+B300 with MoE", _of_types("GB200", "GB300", "B300"), MEDIAN, None),
    Group(
        "peak memory, simumax-b200",
        lambda row: row.measured_gib is not None,
        MEAN,
        0.03,
        tested=False,
        value=lambda outcome: outcome.memory_error,
    ),
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A group's figures over the rows that count; None where none could be run."""

    group: Group
    count: int
    mean: float | None
    median: float | None
    bias: float | None
    worst: tuple[tuple[str, float], ...]

    @property
    def met(self) -> bool | None:
        """Whether the targets are reached; None where there are none, or nothing to judge by."""
        reached = self.mean if self.group.measure == MEAN else self.median
        if self.group.limit is None or reached is None or self.bias is None:
            return None
        bias_limit = self.group.bias_limit
        return reached <= self.group.limit and (bias_limit is None or abs(self.bias) <= bias_limit)


def summaries(outcomes: Sequence[Outcome]) -> list[Summary]:
    """All groups, in their order."""
    return [summary(group, outcomes) for group in GROUPS]


def summary(group: Group, outcomes: Sequence[Outcome]) -> Summary:
    """One group."""
    found: list[tuple[str, float]] = []
    for outcome in outcomes:
        error = group.value(outcome)
        if group.chosen(outcome.row) and error is not None and not (group.tested and outcome.row.fit):
            found.append((outcome.row.ident, error))
    if not found:
        return Summary(group, 0, None, None, None, ())
    errors = [error for _, error in found]
    sizes = [abs(error) for error in errors]
    worst = sorted(found, key=lambda one: -abs(one[1]))[:3]
    return Summary(
        group,
        len(found),
        statistics.mean(sizes),
        statistics.median(sizes),
        statistics.mean(errors),
        tuple(worst),
    )


def target_text(group: Group) -> str:
    """The targets of a group in a few words."""
    if group.limit is None:
        return "shown only"
    text = f"{group.measure} ≤ {100 * group.limit:.0f} %"
    return text if group.bias_limit is None else f"{text}, |bias| ≤ {100 * group.bias_limit:.0f} %"


def verdict(found: Summary) -> str:
    """Reached, missed, or nothing to say."""
    return {True: "reached", False: "missed", None: "–"}[found.met]


def terminal_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The groups, one a line, with their worst rows below."""
    yield f"{'group':<28}{'n':>4}{'mean':>8}{'median':>8}{'bias':>8}  target"
    for found in summaries(outcomes):
        figures = "".join(f"{_percent(value):>8}" for value in (found.mean, found.median, found.bias))
        yield f"{found.group.name:<28}{found.count:>4}{figures}  {target_text(found.group)}: {verdict(found)}"
        for ident, error in found.worst:
            yield f"{'':<32}{_percent(error):>8}  {ident}"
    run = sum(outcome.time_s is not None for outcome in outcomes)
    yield f"{run} of {len(outcomes)} rows run; {len(outcomes) - run} listed with the reason why not"


def markdown_groups(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The table of groups."""
    yield "| Group | n | mean \\|error\\| | median \\|error\\| | bias | target | | worst three |"
    yield "|---|---:|---:|---:|---:|---|---|---|"
    for found in summaries(outcomes):
        worst = ", ".join(f"{ident} {_percent(error)}" for ident, error in found.worst)
        target = target_text(found.group).replace("|", "\\|")
        figures = " | ".join(
            _percent(value).replace("+", "") if place < 2 else _percent(value)
            for place, value in enumerate((found.mean, found.median, found.bias))
        )
        yield f"| {found.group.name} | {found.count} | {figures} | {target} | {verdict(found)} | {worst} |"


def markdown_rows(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The rows that were run, by group."""
    groups = dict.fromkeys(outcome.row.group for outcome in outcomes)
    for name in sorted(groups, key=lambda group: [one.name for one in GROUPS].index(group)):
        yield f"### {name}"
        yield ""
        yield "| Run | GPUs | for | measured s | ours s | error | the step is, % | completed |"
        yield "|---|---:|---|---:|---:|---:|---|---|"
        for outcome in sorted(outcomes, key=lambda one: one.row.ident):
            row = outcome.row
            if row.group != name or outcome.time_s is None or row.measured_s is None:
                continue
            figures = f"{row.measured_s:.4g} | {outcome.time_s:.4g} | {_percent(outcome.error)}"
            use, completed = "fit" if row.fit else "test", "; ".join(row.completed)
            run = row.ident + SHORT * outcome.shortened
            yield f"| {run} | {row.gpus} | {use} | {figures} | {outcome.waits} | {completed} |"
        yield ""


def markdown_memory(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Peak memory of the rows that publish it."""
    yield "| Run | measured GiB | ours GiB | error |"
    yield "|---|---:|---:|---:|"
    for outcome in sorted(outcomes, key=lambda one: one.row.ident):
        if outcome.memory_gib is not None and outcome.row.measured_gib is not None:
            figures = f"{outcome.row.measured_gib:.2f} | {outcome.memory_gib:.2f}"
            yield f"| {outcome.row.ident} | {figures} | {_percent(outcome.memory_error)} |"


def markdown_not_run(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The rows that were not run, and why."""
    yield "| Run | why not |"
    yield "|---|---|"
    for outcome in sorted(outcomes, key=lambda one: one.row.ident):
        if outcome.time_s is None:
            yield f"| {outcome.row.ident} | {outcome.reason} |"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"
