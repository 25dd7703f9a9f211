"""`python -m benchmarks.published [--fit] [--write] [words]`: published training runs against the engine.

Runs every usable row of the reference file (see `published_reference`) and prints its groups; with words only
the rows whose ids contain one of them. `--write` also writes docs/published.md. `--fit` prints the constants
that fit best instead, to be put into the catalogue. Without the file there is nothing to do, and it says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.published_fit import Fitted, fit_all
from benchmarks.published_reference import VARIABLE, reference_cases, reference_file
from benchmarks.published_report import (
    markdown_groups,
    markdown_memory,
    markdown_not_run,
    markdown_rows,
    terminal_lines,
)
from benchmarks.published_rows import Row, row_of
from benchmarks.published_run import Outcome, run_rows

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "published.md"
BEGIN, END = "<!-- tables: python -m benchmarks.published --write -->", "<!-- end of tables -->"


def main(arguments: Sequence[str]) -> int:
    """Run, fit or skip. 0 also where targets are missed: the tables say so."""
    cases = reference_cases()
    if cases is None:
        print(f"skipped: there is no {reference_file()}; {VARIABLE} names the folder of the reference data")
        return 0
    words = [word for word in arguments if not word.startswith("--")]
    rows = [row_of(case) for case in cases if not words or any(word in case["id"] for word in words)]
    if "--fit" in arguments:
        for fitted in fit_all(rows):
            print(fitted_text(fitted), flush=True)
        return 0
    start = time.perf_counter()
    outcomes = list(run_rows(rows))
    for line in terminal_lines(outcomes):
        print(line)
    print(f"in {time.perf_counter() - start:.0f} s")
    if "--write" in arguments:
        write(outcomes)
    return 0


def fitted_text(fitted: Fitted) -> str:
    """The constants of a pair in one line."""
    like = f", efficiency of {' '.join(fitted.taken_from)}" if fitted.taken_from else ""
    return (
        f"{' '.join(fitted.pair):<12} efficiency {fitted.efficiency:.2f}, issue {fitted.issue_us:g} µs, on "
        f"{fitted.rows} rows ({fitted.dense_rows} dense{like}): "
        f"median |error| {100 * fitted.residual:.1f} %, bias {100 * fitted.bias:+.1f} %"
    )


def write(outcomes: Sequence[Outcome]) -> None:
    """Put the tables of all rows between the marks of the document."""
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = [
        "## Groups",
        "",
        *markdown_groups(outcomes),
        "",
        "## Memory",
        "",
        *markdown_memory(outcomes),
        "",
        "## Runs",
        "",
        *markdown_rows(outcomes),
        "## Not run",
        "",
        *markdown_not_run(outcomes),
    ]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n" + "\n".join(tables) + f"\n\n{END}{after}", "utf-8")


def selected(ident: str) -> Row | None:
    """One row of the reference file by its id; None without the file."""
    return next((row_of(case) for case in reference_cases() or () if case["id"] == ident), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
