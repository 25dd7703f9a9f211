"""The drawing as a tree: what lies in what. A branch is made when it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt

from gui.context import AppContext
from gui.panels.facts import KIND_NAMES
from model.document.document import Change
from model.document.edits import Rename
from model.errors import EditRefused
from model.topology.types import Device, DeviceKind, State

Index = QModelIndex | QPersistentModelIndex
MOST_LOOSE = 16  # devices of one kind in one place; more of them share a branch
ICON_PX = 16
ROW_HEIGHT = 24


@dataclass(slots=True)
class _Node:
    """One row. Without an `ident` it stands for `members`, devices of one kind; `children` None: not made."""

    ident: str
    kind: str
    parent: int
    row: int
    members: tuple[str, ...] = ()
    children: list[int] | None = None


class OutlineModel(QAbstractItemModel):
    """Containers and devices of the open drawing; index ids are places in a list of rows made so far."""

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._nodes: list[_Node] = []
        self._made: dict[str, int] = {}
        self._parents: dict[str, str | None] = {}
        self.rebuild()

    @property
    def made(self) -> int:
        """How many rows were made."""
        return len(self._nodes) - 1

    def rebuild(self) -> None:
        """Begin anew."""
        self.beginResetModel()
        topology = self._context.document.document.topology
        self._nodes = [_Node("", "", -1, 0)]
        self._made = {}
        self._parents = {box.id: box.parent for box in topology.containers()}
        self._parents.update((device.id, device.parent) for device in topology.devices())
        self.endResetModel()

    def moved_by(self, change: Change) -> bool:
        """Whether a change added, removed, renamed or moved something between containers."""
        if change.whole:
            return True
        topology = self._context.document.document.topology
        missing = object()
        for ident in (*change.devices, *change.containers):
            now: object = missing
            if topology.has_device(ident):
                now = topology.device(ident).parent
            elif topology.has_container(ident):
                now = topology.container(ident).parent
            if self._parents.get(ident, missing) != now:
                return True
        return False

    def show_changed(self, change: Change) -> None:
        """Draw again what a change touched and is on show."""
        for ident in (*change.devices, *change.containers):
            if ident in self._made:
                index = self._index(self._made[ident])
                self.dataChanged.emit(index, index)

    # --- what a row stands for -----------------------------------------------------------------------------

    def ids_at(self, index: Index) -> tuple[str, ...]:
        """The device, container or devices that a row stands for."""
        node = self._nodes[index.internalId()]
        return (node.ident,) if node.ident else node.members

    def index_of(self, ident: str, *, make: bool = True) -> QModelIndex:
        """The row of a device or container. Branches on the way are made; without `make`, only looked at."""
        if ident in self._made:
            return self._index(self._made[ident])
        if not make or ident not in self._parents:
            return QModelIndex()
        around = self._parents[ident]
        parent = 0 if around is None else self.index_of(around).internalId()
        for child in self._children(parent):
            if ident in self._nodes[child].members:
                self._children(child)
        return self._index(self._made[ident])

    def _index(self, number: int) -> QModelIndex:
        return self.createIndex(self._nodes[number].row, 0, number)

    def _children(self, number: int) -> list[int]:
        node = self._nodes[number]
        if node.children is None:
            node.children = []
            for ident, kind, members in self._rows_in(node, number):
                if ident:
                    self._made[ident] = len(self._nodes)
                node.children.append(len(self._nodes))
                self._nodes.append(_Node(ident, kind, number, len(node.children) - 1, members))
        return node.children

    def _rows_in(self, node: _Node, number: int) -> Iterable[tuple[str, str, tuple[str, ...]]]:
        topology = self._context.document.document.topology
        if node.members:
            return [(ident, node.kind, ()) for ident in node.members]
        if number == 0:
            boxes = [box for box in topology.containers() if box.parent is None]
            devices = [device for device in topology.devices() if device.parent is None]
        elif topology.has_container(node.ident):
            inside = topology.children(node.ident)
            boxes = [topology.container(ident) for ident in inside if topology.has_container(ident)]
            devices = [topology.device(ident) for ident in inside if topology.has_device(ident)]
        else:
            return []
        return [*((box.id, box.kind.value, ()) for box in boxes), *_by_kind(devices)]

    # --- Qt ------------------------------------------------------------------------------------------------

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        children = self._children(parent.internalId() if parent.isValid() else 0)
        return self._index(children[row]) if column == 0 and 0 <= row < len(children) else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        above = self._nodes[index.internalId()].parent if index.isValid() else 0
        return self._index(above) if above > 0 else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._children(parent.internalId() if parent.isValid() else 0))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 1

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        if not parent.isValid():
            return bool(self._parents)
        node = self._nodes[parent.internalId()]
        topology = self._context.document.document.topology
        inside = topology.has_container(node.ident) and bool(topology.children(node.ident))
        return bool(node.members) or inside

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        named = index.isValid() and bool(self._nodes[index.internalId()].ident)
        return flags | Qt.ItemFlag.ItemIsEditable if named else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        node = self._nodes[index.internalId()]
        if role == Qt.ItemDataRole.EditRole:
            return node.ident
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(node)
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{self._text(node)}, {KIND_NAMES[node.kind]}" if node.ident else self._text(node)
        theme = self._context.theme.current
        if role == Qt.ItemDataRole.DecorationRole:
            return theme.device_icon(node.kind, ICON_PX)
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, ROW_HEIGHT)
        if role == Qt.ItemDataRole.ForegroundRole and self._state(node) is State.DOWN:
            return theme.color("error")
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        node = self._nodes[index.internalId()]
        new = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or not node.ident or new == node.ident:
            return False
        document = self._context.document
        is_device = document.document.topology.has_device(node.ident)
        try:
            document.push(
                Rename("device" if is_device else "container", node.ident, new), f"Rename {node.ident}"
            )
        except EditRefused as refusal:
            self._context.say(str(refusal))
            return False
        self._context.set_selection((new,))
        return True

    def _state(self, node: _Node) -> State:
        topology = self._context.document.document.topology
        return topology.device(node.ident).state if topology.has_device(node.ident) else State.UP

    def _text(self, node: _Node) -> str:
        if not node.ident:
            return f"{KIND_NAMES[node.kind]} × {len(node.members):,}"
        state = self._state(node)
        return node.ident if state is State.UP else f"{node.ident} · {state}"


def _by_kind(devices: Sequence[Device]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Rows for devices of one place: one each, or one for all of a kind that has many."""
    kinds: dict[DeviceKind, list[str]] = {}
    for device in devices:
        kinds.setdefault(device.kind, []).append(device.id)
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    for kind, ids in kinds.items():
        if len(ids) > MOST_LOOSE:
            rows.append(("", kind.value, tuple(ids)))
        else:
            rows.extend((ident, kind.value, ()) for ident in ids)
    return rows
