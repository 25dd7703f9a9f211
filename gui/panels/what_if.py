"""What the step would take if the chosen link, exchange or GPU were twice as fast."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.context import AppContext
from gui.widgets.style import set_font, set_style
from model.step.report import StepReport
from model.step.what_if import Subject, WhatIf
from model.text import format_seconds
from model.worker.messages import AskWhatIf, WhatIfAnswer

ASK_MS = 150  # the choice has to rest so long before the engine is asked
LEAST_SHARE = 5e-4  # of the step: less is told as no change


def step_change(before_s: float, after_s: float) -> str:
    """ "4.14 → 3.58 s"; both units where they differ."""
    before, after = format_seconds(before_s), format_seconds(after_s)
    number, _, unit = before.rpartition(" ")
    return f"{number} → {after}" if after.endswith(f" {unit}") else f"{before} → {after}"


def changes(result: WhatIf) -> bool:
    """Whether the step differs by more than rounding."""
    return abs(result.saved_s) >= LEAST_SHARE * result.before_s


def what_if_text(result: WhatIf) -> str:
    """The answer in a line."""
    if not changes(result):
        return f"step stays at {format_seconds(result.before_s)}"
    before, after = format_seconds(result.before_s), format_seconds(result.time_s)
    if before == after:  # three digits do not tell them apart
        return f"step {before} {'−' if result.saved_s > 0 else '+'}{format_seconds(abs(result.saved_s))}"
    return f"step {step_change(result.before_s, result.time_s)}"


def why_unchanged(report: StepReport, subject: Subject, ids: tuple[str, ...]) -> str:
    """Why parts at twice their rate leave the step as it is."""
    if subject == "gpu":
        return "the other GPUs of its groups are no faster"
    if subject == "exchange":
        waits = any(
            time.exposed_s > 0
            for exchange, time in zip(report.exchanges, report.exchange_times, strict=True)
            if exchange.id in ids
        )
        return "something else is waited for as long" if waits else "compute hides it"
    wanted = set(ids)
    links = [number for number, name in enumerate(report.fabric.link_ids) if name in wanted]
    ways = np.array([way for link in links for way in (2 * link, 2 * link + 1)], dtype=np.int64)
    if (report.cost_s[ways] > 0).any():
        return "others hold it back as much"
    return "nothing waits for it"


class WhatIfLine(QLabel):
    """Two lines at most that ask the engine when the choice rests, and show its answer."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        set_font(self, 11, 600)
        self.setProperty("tone", "2")
        self._context = context
        self._wanted: AskWhatIf | None = None
        self._name = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(ASK_MS)
        self._timer.timeout.connect(self._ask)
        context.what_if_answered.connect(self._answered)
        context.analysis_changed.connect(self._again)
        context.stale_changed.connect(lambda stale: set_style(self, tone="3" if stale else "2"))
        self.hide()

    def show_subject(self, subject: Subject, ids: tuple[str, ...], name: str) -> None:
        """Ask about these parts, which are called `name`."""
        wanted = AskWhatIf(subject, ids)
        if wanted != self._wanted:
            self._wanted, self._name = wanted, name
            self._again()

    def clear_subject(self) -> None:
        """Nothing is chosen."""
        self._wanted = None
        self._timer.stop()
        self.hide()

    def _again(self) -> None:
        """Ask anew: another choice, or another step."""
        analysis = self._context.analysis
        able = self._context.engine is not None and analysis is not None and analysis.report is not None
        if self._wanted is None or not able:
            self._timer.stop()
            self.hide()
            return
        self._say("being worked out")
        self.show()
        self._timer.start()

    def _ask(self) -> None:
        if self._wanted is not None:
            self._context.ask_what_if(self._wanted.subject, self._wanted.ids)

    def _answered(self, answer: WhatIfAnswer) -> None:
        if answer.question != self._wanted or self._wanted is None:
            return
        if answer.result is None:
            self._say(answer.reason)
            return
        text, analysis = what_if_text(answer.result), self._context.analysis
        if not changes(answer.result) and analysis is not None and analysis.report is not None:
            text += f", {why_unchanged(analysis.report, self._wanted.subject, self._wanted.ids)}"
        self._say(text)

    def _say(self, text: str) -> None:
        self.setText(f"Twice as fast: {text} · {self._name}")
        self.setAccessibleName(f"{self._name} twice as fast: {text}")
