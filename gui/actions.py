"""Every command of the window as data: they feed the menus, the tool bar, the shortcuts and their states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QToolBar, QWidget

if TYPE_CHECKING:
    from gui.context import AppContext


class When(Enum):
    """The states in which an action can be used."""

    ALWAYS = auto()
    OPEN = auto()  # a drawing is open
    NOT_EMPTY = auto()  # it has devices
    SELECTION = auto()
    DEVICES_SELECTED = auto()
    CLIPBOARD = auto()
    UNDO = auto()
    REDO = auto()
    REPORT = auto()  # there is a step to play or to export
    FINDINGS = auto()
    IMPORTED = auto()  # there is the report of an import


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One command. `keys` are portable; the first is shown. `group` makes it one of exclusive ones."""

    id: str
    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    when: When = When.OPEN
    tip: str = ""
    group: str = ""
    checkable: bool = False
    local: bool = False  # its keys work on the canvas and the timeline only: buttons and lists need them too


def _spec(
    ident: str,
    text: str,
    keys: str = "",
    icon: str = "",
    when: When = When.OPEN,
    tip: str = "",
    *,
    group: str = "",
    check: bool = False,
    local: bool = False,
) -> ActionSpec:
    shown = tuple(key for key in keys.split("|") if key)
    return ActionSpec(ident, text, shown, icon, when, tip, group, bool(group) or check, local)


ACTIONS: Mapping[str, ActionSpec] = {
    spec.id: spec
    for spec in (
        _spec("file.new", "&New", "Ctrl+N", "new", When.ALWAYS),
        _spec("file.open", "&Open…", "Ctrl+O", "open", When.ALWAYS),
        _spec("file.save", "&Save", "Ctrl+S", "save"),
        _spec("file.save_as", "Save &as…", "Ctrl+Shift+S"),
        _spec("file.save_template", "Save selection as &template…", "", "", When.DEVICES_SELECTED,
              "Keep the selection as a template of your own"),
        _spec("file.start", "Start &page", "", "", When.OPEN),
        _spec("file.import", "&Import…", "Ctrl+I", "", When.ALWAYS,
              "Read a file of another tool into a new drawing or into this one"),
        _spec("file.import_report", "Last import &report", "", "", When.IMPORTED),
        _spec("export.any", "&All formats…", "Ctrl+E", "export", When.OPEN,
              "Write the drawing, its cables, its step or a report in any format"),
        _spec("export.topology", "&Topology (JSON)…", "", "export", When.OPEN),
        _spec("export.traffic", "T&raffic (JSON)…", "", "export", When.REPORT),
        _spec("export.picture", "&Picture (PNG)…", "", "picture", When.NOT_EMPTY),
        _spec("file.quit", "&Quit", "Ctrl+Q", "", When.ALWAYS),
        _spec("edit.undo", "&Undo", "Ctrl+Z", "undo", When.UNDO),
        _spec("edit.redo", "Red&o", "Ctrl+Shift+Z|Ctrl+Y", "redo", When.REDO),
        _spec("edit.cut", "Cu&t", "Ctrl+X", "", When.DEVICES_SELECTED),
        _spec("edit.copy", "&Copy", "Ctrl+C", "copy", When.DEVICES_SELECTED),
        _spec("edit.paste", "&Paste", "Ctrl+V", "paste", When.CLIPBOARD),
        _spec("edit.duplicate", "Dup&licate", "Ctrl+D", "duplicate", When.DEVICES_SELECTED),
        _spec("edit.duplicate_row", "Duplicate in a ro&w…", "Ctrl+Shift+D", "", When.DEVICES_SELECTED,
              "Make several copies in a row, with names counted on"),
        _spec("edit.delete", "&Delete", "Del", "delete", When.SELECTION),
        _spec("edit.group", "&Group", "Ctrl+G", "tray", When.DEVICES_SELECTED,
              "Put the selection into a tray, rack, pod or site, whatever fits around it"),
        _spec("edit.group_tray", "As a &tray", "", "tray", When.DEVICES_SELECTED),
        _spec("edit.group_rack", "As a &rack", "", "rack", When.DEVICES_SELECTED),
        _spec("edit.group_pod", "As a &pod", "", "pod", When.DEVICES_SELECTED),
        _spec("edit.group_site", "As a &site", "", "site", When.DEVICES_SELECTED),
        _spec("edit.ungroup", "U&ngroup", "Ctrl+Shift+G", "", When.DEVICES_SELECTED,
              "Take the selected trays, racks, pods and sites away and keep what they hold"),
        _spec("edit.put_into_racks", "Put into rac&ks…", "", "", When.NOT_EMPTY,
              "Stand trays and switches that are in no rack into new racks"),
        _spec("edit.select_all", "Select &all", "Ctrl+A", "", When.NOT_EMPTY),
        _spec("edit.deselect", "D&eselect", "Ctrl+Shift+A", "", When.SELECTION),
        _spec("edit.find", "&Find…", "Ctrl+F", "search", When.NOT_EMPTY, "Find a name, kind or finding"),
        _spec("edit.select_by", "Select &by…", "Ctrl+Shift+F", "", When.NOT_EMPTY,
              "Select by kind, model, rail, group, rack, state or finding"),
        _spec("edit.replace_model", "Replace &model…", "Ctrl+H", "", When.NOT_EMPTY,
              "Replace a model of device everywhere"),
        _spec("tool.select", "&Select", "V", "select", tip="Select and move", group="tool"),
        _spec("tool.pan", "&Pan", "H", "pan", tip="Move the view", group="tool"),
        _spec("tool.connect", "&Connect", "C", "connect", tip="Connect two devices", group="tool"),
        _spec("tool.place", "&Add", "A", "place", tip="Add the device chosen on the left", group="tool"),
        _spec("tool.paint", "Paint &groups", "B", "paint", tip="Give GPUs a group", group="tool"),
        _spec("view.fit", "&Fit all", "F", "fit", When.NOT_EMPTY),
        _spec("view.fit_selection", "Fit &selection", "Shift+F", "", When.SELECTION),
        _spec("view.actual", "&100 %", "Ctrl+1"),
        _spec("view.zoom_in", "Zoom &in", "Ctrl++|Ctrl+=", "plus"),
        _spec("view.zoom_out", "Zoom &out", "Ctrl+-", "minus"),
        _spec("view.tidy", "&Tidy up", "Ctrl+L", "layout", When.NOT_EMPTY, "Arrange the devices by role"),
        _spec("view.outline", "Outli&ne", "Ctrl+Shift+O", "", When.OPEN, "Go to the outline, or close it"),
        _spec("view.links_curved", "&Curved links", "", "", When.OPEN, group="links"),
        _spec("view.links_straight", "&Straight links", "", "", When.OPEN, group="links"),
        _spec("view.links_orthogonal", "Links with c&orners", "", "", When.OPEN, group="links"),
        _spec("view.fold", "Fold or &unfold", "Ctrl+M", "", When.SELECTION,
              "Draw the selected containers as one box, or open them"),
        _spec("view.fold_trays", "All &trays", "", "", When.NOT_EMPTY, "Fold all trays"),
        _spec("view.fold_racks", "All &racks", "", "", When.NOT_EMPTY, "Fold all racks"),
        _spec("view.fold_pods", "All &pods", "", "", When.NOT_EMPTY, "Fold all pods"),
        _spec("view.fold_sites", "All &sites", "", "", When.NOT_EMPTY, "Fold all sites"),
        _spec("view.unfold_all", "Unfold &all", "", "", When.NOT_EMPTY, "Open all containers"),
        _spec("view.focus", "Fo&cus on paths", "Shift+P", "", When.DEVICES_SELECTED,
              "Show the paths of a device, or the route between two"),
        _spec("view.snap_to_grid", "Snap to the &grid", "", "", When.ALWAYS, check=True),
        _spec("view.snap_to_parts", "Snap to &edges, centres and gaps", "", "", When.ALWAYS, check=True),
        _spec("view.reduce_motion", "&Reduce motion", "", "", When.ALWAYS,
              "Nothing moves but the playhead", check=True),
        _spec("arrange.pin", "&Pin or unpin", "L", "", When.DEVICES_SELECTED,
              "Let layouts leave the selection where it is"),
        _spec("view.racks", "Rac&ks", "Ctrl+Shift+E", "rack", When.OPEN,
              "Go to the rack elevation, or close it"),
        _spec("arrange.tidy", "&Tidy up the selection", "Ctrl+Shift+L", "", When.DEVICES_SELECTED,
              "Arrange the selected devices by role"),
        _spec("arrange.left", "Align &left", "", "", When.DEVICES_SELECTED),
        _spec("arrange.centre", "Align &centres", "", "", When.DEVICES_SELECTED),
        _spec("arrange.right", "Align &right", "", "", When.DEVICES_SELECTED),
        _spec("arrange.top", "Align t&ops", "", "", When.DEVICES_SELECTED),
        _spec("arrange.middle", "Align &middles", "", "", When.DEVICES_SELECTED),
        _spec("arrange.bottom", "Align &bottoms", "", "", When.DEVICES_SELECTED),
        _spec("arrange.across", "Distribute &across", "", "", When.DEVICES_SELECTED),
        _spec("arrange.down", "Distribute &down", "", "", When.DEVICES_SELECTED),
        _spec("theme.system", "As the &system", "", "", When.ALWAYS, group="theme"),
        _spec("theme.light", "&Light", "", "", When.ALWAYS, group="theme"),
        _spec("theme.dark", "&Dark", "", "", When.ALWAYS, group="theme"),
        _spec("theme.toggle", "Light or dark", "", "dark", When.ALWAYS, "Light or dark"),
        _spec("insert.template", "&Template…", "Ctrl+T", "template", When.ALWAYS),
        _spec("insert.partners", "Show &partners", "P", "partners", When.SELECTION,
              "Show whom the selected GPU talks to, in every dimension"),
        _spec("job.clear", "&Take away all colours", "", "erase", When.NOT_EMPTY),
        _spec("play.toggle", "&Play or pause", "Space", "play", When.REPORT, local=True),
        _spec("play.next", "&Next change", ".", "step-forward", When.REPORT),
        _spec("play.previous", "P&revious change", ",", "step-back", When.REPORT),
        _spec("play.faster", "&Faster", "]", "", When.REPORT),
        _spec("play.slower", "&Slower", "[", "", When.REPORT),
        _spec("play.start", "&To the start", "Home", "to-start", When.REPORT, local=True),
        _spec("finding.next", "Ne&xt finding", "N", "", When.FINDINGS),
        _spec("finding.previous", "Pre&vious finding", "Shift+N", "", When.FINDINGS),
        _spec("help.keys", "&Keys and mouse", "F1", "help", When.ALWAYS),
        _spec("help.about", "&About Railsketch", "", "", When.ALWAYS),
    )
}  # fmt: skip

SEPARATOR = "-"
RECENT = "recent files"

EXPORTS = ("export.any", SEPARATOR, "export.topology", "export.traffic", "export.picture")

MENUS: tuple[tuple[str, tuple[str | tuple[str, tuple[str, ...]], ...]], ...] = (
    ("&File", (
        "file.new", "file.open", RECENT, SEPARATOR, "file.save", "file.save_as",
        "file.save_template", SEPARATOR, "file.import", "file.import_report",
        ("&Export", EXPORTS), SEPARATOR,
        "file.start", "file.quit",
    )),
    ("&Edit", (
        "edit.undo", "edit.redo", SEPARATOR, "edit.cut", "edit.copy", "edit.paste", "edit.duplicate",
        "edit.duplicate_row", "edit.delete", SEPARATOR, "edit.group",
        ("Group a&s", ("edit.group_tray", "edit.group_rack", "edit.group_pod", "edit.group_site")),
        "edit.ungroup", "edit.put_into_racks", SEPARATOR,
        "edit.select_all", "edit.deselect", "edit.select_by", SEPARATOR,
        "edit.find", "edit.replace_model", SEPARATOR,
        ("A&rrange", (
            "arrange.pin", "arrange.tidy", SEPARATOR,
            "arrange.left", "arrange.centre", "arrange.right", SEPARATOR,
            "arrange.top", "arrange.middle", "arrange.bottom", SEPARATOR, "arrange.across", "arrange.down",
        )),
    )),
    ("&View", (
        "view.fit", "view.fit_selection", "view.actual", "view.zoom_in", "view.zoom_out", SEPARATOR,
        "view.tidy", SEPARATOR, "view.fold",
        ("Fol&d", ("view.fold_trays", "view.fold_racks", "view.fold_pods", "view.fold_sites")),
        "view.unfold_all", "view.focus", SEPARATOR,
        ("&Links", ("view.links_curved", "view.links_straight", "view.links_orthogonal")),
        ("Snappin&g", ("view.snap_to_grid", "view.snap_to_parts")), "view.reduce_motion", SEPARATOR,
        "view.outline", "view.racks", ("Th&eme", ("theme.system", "theme.light", "theme.dark")),
    )),
    ("&Insert", ("insert.template", SEPARATOR, "tool.place", "tool.connect")),
    ("&Job", ("tool.paint", "job.clear", SEPARATOR, "insert.partners")),
    ("&Traffic", (
        "play.toggle", "play.previous", "play.next", "play.start", "play.faster", "play.slower", SEPARATOR,
        "finding.next", "finding.previous",
    )),
    ("&Help", ("help.keys", "help.about")),
)  # fmt: skip

TOOL_BAR = (
    "tool.select", "tool.pan", "tool.connect", "tool.place", "tool.paint", SEPARATOR,
    "edit.undo", "edit.redo", SEPARATOR, "view.tidy", "view.fit", "edit.find",
)  # fmt: skip


class ActionSet(QObject):
    """The actions of one window.

    `handlers` gives each action's slot by id; an action without one does not exist in the window.
    """

    def __init__(
        self,
        context: AppContext,
        handlers: Mapping[str, Callable[[], object]],
        states: Callable[[], frozenset[When]],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._states = states
        self._actions: dict[str, QAction] = {}
        groups: dict[str, QActionGroup] = {}
        for spec in ACTIONS.values():
            handler = handlers.get(spec.id)
            if handler is None:
                continue
            action = QAction(spec.text, parent)
            action.setObjectName(spec.id)
            action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
            if spec.local:
                action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.setCheckable(spec.checkable)
            if spec.group:
                group = groups.setdefault(spec.group, QActionGroup(self))
                group.addAction(action)
            action.triggered.connect(lambda _checked=False, run=handler: run())
            self._actions[spec.id] = action
            if not spec.local:
                parent.addAction(action)
        self.update_icons()
        context.theme.changed.connect(self.update_icons)

    def __getitem__(self, ident: str) -> QAction:
        return self._actions[ident]

    def __contains__(self, ident: object) -> bool:
        return ident in self._actions

    def all(self) -> Iterable[tuple[ActionSpec, QAction]]:
        """Every action that the window has, with its description."""
        return ((ACTIONS[ident], action) for ident, action in self._actions.items())

    def add_local(self, widget: QWidget) -> None:
        """Let the keys of local actions work on a widget and in it."""
        for spec, action in self.all():
            if spec.local:
                widget.addAction(action)

    def update_states(self) -> None:
        """Enable what can be used now."""
        holds = self._states()
        for spec, action in self.all():
            action.setEnabled(spec.when is When.ALWAYS or spec.when in holds)

    def show_checks(self, checks: Mapping[str, bool]) -> None:
        """Mark the checkable actions that hold."""
        for ident, holds in checks.items():
            if ident in self._actions:
                self._actions[ident].setChecked(holds)

    def update_icons(self) -> None:
        """Draw the icons in the colours of the theme."""
        theme = self._context.theme.current
        for spec, action in self.all():
            icon = spec.icon
            if spec.id == "theme.toggle":
                icon = "light" if theme.dark else "dark"
            if icon:
                action.setIcon(theme.icon(icon))
            words = spec.tip or spec.text.replace("&", "").rstrip("…")
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            action.setToolTip(f"{words} ({keys})" if keys else words)

    def fill_menu(self, menu: QMenu, entries: Iterable[str | tuple[str, tuple[str, ...]]]) -> None:
        """Put actions, separators and submenus into a menu."""
        for entry in entries:
            if isinstance(entry, tuple):
                title, inner = entry
                self.fill_menu(menu.addMenu(title), inner)
            elif entry == SEPARATOR:
                menu.addSeparator()
            elif entry in self._actions:
                menu.addAction(self._actions[entry])

    def fill_tool_bar(self, bar: QToolBar, entries: Iterable[str]) -> None:
        """Put actions and separators into a tool bar."""
        for entry in entries:
            if entry == SEPARATOR:
                bar.addSeparator()
            elif entry in self._actions:
                bar.addAction(self._actions[entry])
