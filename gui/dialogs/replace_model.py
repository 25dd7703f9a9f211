"""Another model in place of devices: everywhere or in the selection, with what no longer fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QGridLayout,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.dialogs.buttons import dialog_buttons
from gui.panels.facts import KIND_NAMES
from gui.widgets.fields import ChoiceField
from gui.widgets.style import label, separator, set_font, set_style
from model.catalog import catalog
from model.document.replace import Replacement, plan_replacement
from model.errors import EditRefused
from model.text import plural
from model.topology.types import Device, DeviceKind

if TYPE_CHECKING:
    from gui.context import AppContext

EVERYWHERE, SELECTION = "everywhere", "selection"


class ReplaceModelDialog(QDialog):
    """Which model, by which, and where. After `accept`, `plan` is what to do and `text` what to call it."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._devices: dict[tuple[str, str], list[Device]] = {}
        self.plan: Replacement | None = None
        self.setWindowTitle("Replace model")
        self.resize(560, 440)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._form(), 1)
        column.addWidget(separator())
        buttons, self.replace_button = dialog_buttons(self, "Replace")
        column.addWidget(buttons)
        self.scope.committed.connect(lambda _value: self._show_models())
        self.old.committed.connect(lambda _value: self._show_new())
        self.new.committed.connect(lambda _value: self._update())
        self.adapt.toggled.connect(lambda _on: self._update())
        self.switches.toggled.connect(lambda _on: self._update())
        self._show_models()
        self.new.setFocus()

    def _form(self) -> QVBoxLayout:
        self.scope = ChoiceField("Where")
        options = [(EVERYWHERE, "The whole drawing")]
        if self._selected():
            options.append((SELECTION, "The selection only"))
        self.scope.set_options(options)
        self.scope.set_value(EVERYWHERE)
        self.old = ChoiceField("Model to replace")
        self.new = ChoiceField("New model")
        self.adapt = QCheckBox("Links at the full speed of their ends take the new speed")
        self.adapt.setChecked(True)
        self.switches = QCheckBox("Also replace the NVLink switches by those of the new generation")
        self.switches.setChecked(True)
        self.summary = label("", 12, 600, wrap=True)
        self.heading = label("", 12, 500, wrap=True)
        self.list = QListWidget()
        self.list.setAccessibleName("What no longer fits")
        self.list.setWordWrap(True)
        self.list.setSelectionMode(QListWidget.SelectionMode.SingleSelection)
        set_font(self.list, 11)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for row, (name, field) in enumerate((("Where", self.scope), ("Replace", self.old), ("By", self.new))):
            text = label(name, 12, 500)
            text.setBuddy(field)
            grid.addWidget(text, row, 0)
            grid.addWidget(field, row, 1)
        column = QVBoxLayout()
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addWidget(self.adapt)
        column.addWidget(self.switches)
        column.addSpacing(4)
        column.addWidget(self.summary)
        column.addWidget(self.heading)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        return column

    @property
    def text(self) -> str:
        """What the step is called."""
        count = len(self.plan.devices) if self.plan is not None else 0
        return f"Replace {plural(count, 'device')} by {self.new.currentText()}"

    def _selected(self) -> list[Device]:
        topology = self._context.document.document.topology
        ids = dict.fromkeys(
            inner
            for ident in self._context.selection
            for inner in (topology.descendants(ident) if topology.has_container(ident) else (ident,))
            if topology.has_device(inner)
        )
        return [topology.device(ident) for ident in ids]

    def _show_models(self) -> None:
        """The models that are drawn, those of the selection first in line."""
        whole = self.scope.currentData() == EVERYWHERE
        devices = self._context.document.document.topology.devices() if whole else self._selected()
        self._devices = {}
        for device in devices:
            self._devices.setdefault((device.kind.value, device.model), []).append(device)
        options = []
        for (kind, model), members in self._devices.items():
            spec = catalog().of_kind(kind).get(model)
            name = spec.name if spec is not None else model
            options.append((f"{kind}|{model}", f"{KIND_NAMES[kind]}: {name} × {len(members):,}"))
        self.old.set_options(options)
        chosen = {f"{device.kind.value}|{device.model}" for device in self._selected()}
        first = next((value for value, _ in options if value in chosen), options[0][0] if options else None)
        self.old.set_value(first)
        self._show_new()

    def _pair(self) -> tuple[str, str]:
        kind, _, model = str(self.old.currentData() or "").partition("|")
        return kind, model

    def _show_new(self) -> None:
        kind, model = self._pair()
        products = catalog().of_kind(kind) if kind else {}
        options = [(ident, spec.name) for ident, spec in products.items() if ident != model]
        self.new.set_options(options)
        self.new.set_value(options[0][0] if options else None)
        self.switches.setVisible(kind == DeviceKind.GPU.value)
        self._update()

    def _update(self) -> None:
        kind, model = self._pair()
        members = self._devices.get((kind, model), [])
        new = self.new.currentData()
        self.plan, problem = None, ""
        if new is None:
            problem = "The catalogue has no other model of this kind."
        else:
            try:
                self.plan = plan_replacement(
                    self._context.document.document,
                    [device.id for device in members],
                    new,
                    adapt_links=self.adapt.isChecked(),
                    with_switches=self.switches.isChecked() and kind == DeviceKind.GPU.value,
                )
            except EditRefused as refusal:
                problem = str(refusal)
        self.replace_button.setEnabled(self.plan is not None)
        self._show_plan(problem)

    def _show_plan(self, problem: str) -> None:
        self.list.clear()
        plan = self.plan
        if plan is None:
            self.summary.setText(problem)
            self.heading.hide()
            self.list.hide()
            return
        parts = [plural(len(plan.devices), "device")]
        if plan.switches:
            parts.append(plural(len(plan.switches), "NVLink switch", "NVLink switches"))
        if plan.links:
            parts.append(f"{plural(len(plan.links), 'link')} with another speed")
        self.summary.setText(" · ".join(parts))
        for misfit in plan.misfits:
            item = QListWidgetItem(f"{misfit.title}\n{misfit.detail}")
            item.setToolTip(misfit.detail)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            self.list.addItem(item)
        wrong = bool(plan.misfits)
        text = "This no longer fits, and stays drawn as it is:" if wrong else "All of it fits."
        self.heading.setText(text)
        set_style(self.heading, tone="warning" if wrong else "ok")
        self.heading.show()
        self.list.setVisible(wrong)

    def accept(self) -> None:
        """Close, if there is something to do."""
        if self.plan is not None:
            super().accept()
