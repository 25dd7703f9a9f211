"""The main window: it alone knows all of the views, and joins them to the commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QByteArray, QEvent, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QCursor, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from gui import own_templates
from gui.actions import ACTIONS, EXPORTS, MENUS, RECENT, TOOL_BAR, ActionSet, When
from gui.arrange_commands import ArrangeCommands
from gui.bulk_commands import BulkCommands
from gui.context import Tool
from gui.edit_commands import EditCommands
from gui.export_commands import ExportCommands
from gui.file_commands import FileCommands
from gui.import_commands import ImportCommands, dropped_files
from gui.panels.start import StartPage
from gui.recent import recent_files
from gui.settings import settings
from gui.title_bar import TitleBar
from gui.view_commands import ViewCommands
from gui.widgets.figure import ExplainPopup, FigureLabel, figure_of
from gui.widgets.style import set_font, themed_icon
from model.text import plural

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView
    from gui.context import AppContext
    from gui.workspace import Workspace
    from model.document.document import Change
    from model.step.report import Figure

USUAL_SIZE = QSize(1600, 1000)
SMALLEST_SIZE = QSize(960, 600)
FRAME_SIZE = QSize(8, 40)  # what the window manager may add around the window
REFRESH_MS = 30


class MainWindow(QMainWindow):
    """Menus, tool bar, canvas and panels of one drawing.

    With `deferred`, only the frame and the start page are built; `load()` brings the rest, which needs the
    heavy imports.
    """

    def __init__(self, context: AppContext, parent: QWidget | None = None, *, deferred: bool = False) -> None:
        super().__init__(parent)
        self.context = context
        self.workspace: Workspace | None = None
        self._working = False
        self.setObjectName("main")
        self.setMinimumSize(SMALLEST_SIZE)
        self.resize(self._first_size())
        self.files = FileCommands(context, self)
        self.edits = EditCommands(context, self)
        self.imports = ImportCommands(context, self.files, self.edits, self)
        self.exports = ExportCommands(context, self.files, self)
        self.bulk = BulkCommands(context, self)
        self.arrange = ArrangeCommands(context, self)
        self.views = ViewCommands(context, self)
        self.actions_ = ActionSet(context, self._handlers(), self._states, self)
        self.title_bar = TitleBar(context)
        self.setMenuWidget(self.title_bar)
        self._recent_menu = QMenu("Open &recent", self)
        self._fill_menus()
        self.tool_bar = self._make_tool_bar()
        self.stack = QStackedWidget()
        self.start = StartPage(context)
        self.stack.addWidget(self.start)
        self.setCentralWidget(self.stack)
        self.setAcceptDrops(True)
        self._state_timer = QTimer(self)
        self._state_timer.setSingleShot(True)
        self._state_timer.setInterval(REFRESH_MS)
        self._state_timer.timeout.connect(self.actions_.update_states)
        self._connect()
        self.tool_bar.hide()
        self._show_title()
        self._show_theme_choice()
        self.actions_.update_states()
        if not deferred:
            self.load()

    # --- building ------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Build the canvas and the panels, and offer the templates."""
        if self.workspace is not None:
            return
        from gui.workspace import Workspace
        from topology_templates.registry import gallery

        broken = own_templates.load()
        self.workspace = Workspace(self.context, self)
        self.stack.addWidget(self.workspace.canvas)
        self.workspace.palette.insert_requested.connect(self.workspace.insert)
        self.workspace.templates.chosen.connect(self.files.choose_template)
        self.workspace.canvas.template_requested.connect(
            # The drop has to end before a dialog can wait for an answer.
            lambda ident, point: QTimer.singleShot(
                0, partial(self.files.choose_template, ident, (point.x(), point.y()))
            )
        )
        self.actions_.add_local(self.workspace.canvas)
        self.actions_.add_local(self.workspace.bottom)
        self._view_menu.addSeparator()
        panels = self._view_menu.addMenu("&Panels")
        for dock in self.workspace.docks:
            panels.addAction(dock.toggleViewAction())
        self.workspace.set_shown(False)
        self.workspace.restore(settings())
        self.bulk.templates_changed.connect(self._show_templates)
        self.start.set_templates(tuple(gallery().values()))
        if broken:
            self.context.say(f"{plural(len(broken), 'template')} of yours cannot be used: {broken[0].reason}")
        self.actions_.update_states()

    def _show_templates(self) -> None:
        from topology_templates.registry import gallery

        self.start.set_templates(tuple(gallery().values()))
        if self.workspace is not None:
            self.workspace.templates.refresh()

    def _first_size(self) -> QSize:
        screen = QGuiApplication.primaryScreen()
        room = screen.availableGeometry().size() if screen is not None else USUAL_SIZE
        return USUAL_SIZE.boundedTo(room - FRAME_SIZE).expandedTo(SMALLEST_SIZE)

    def _fill_menus(self) -> None:
        for title, entries in MENUS:
            menu = self.title_bar.menu_bar.addMenu(title)
            before = entries.index(RECENT) if RECENT in entries else len(entries)
            self.actions_.fill_menu(menu, entries[:before])
            if before < len(entries):
                menu.addMenu(self._recent_menu)
                self.actions_.fill_menu(menu, entries[before + 1 :])
            if title == "&View":
                self._view_menu = menu
        self._recent_menu.aboutToShow.connect(self._fill_recent)
        self._fill_recent()

    def _fill_recent(self) -> None:
        self._recent_menu.clear()
        files = recent_files()
        for path in files:
            action = self._recent_menu.addAction(path.name)
            action.setToolTip(str(path))
            action.triggered.connect(lambda _checked=False, chosen=path: self.open_path(chosen))
        self._recent_menu.setEnabled(bool(files))

    def _make_tool_bar(self) -> QWidget:
        bar = self.addToolBar("Tools")
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setFloatable(False)
        bar.setFixedHeight(44)
        bar.setIconSize(QSize(18, 18))
        bar.toggleViewAction().setVisible(False)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.actions_.fill_tool_bar(bar, TOOL_BAR)
        for action in bar.actions():
            button = bar.widgetForAction(action)
            if isinstance(button, QToolButton):
                button.setFixedSize(32, 32)
                button.setAccessibleName(action.toolTip())
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(space)
        export = QToolButton()
        export.setText("Export")
        export.setProperty("role", "button")
        export.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        export.setFixedHeight(32)
        set_font(export, 12, 600)
        themed_icon(export, self.context.theme, "export")
        menu = QMenu(export)
        self.actions_.fill_menu(menu, EXPORTS)
        export.setMenu(menu)
        bar.addWidget(export)
        bar.addAction(self.actions_["theme.toggle"])
        theme_button = bar.widgetForAction(self.actions_["theme.toggle"])
        cast(QToolButton, theme_button).setFixedSize(32, 32)
        theme_button.setAccessibleName("Light or dark")
        return bar

    def _connect(self) -> None:
        context = self.context
        self.files.opened.connect(self.show_workspace)
        self.files.recent_changed.connect(self.start.refresh)
        context.clipboard_changed.connect(self._state_timer.start)
        self.imports.changed.connect(self._state_timer.start)
        self.start.new_requested.connect(self.files.new)
        self.start.open_requested.connect(self.files.open)
        self.start.recent_requested.connect(self.open_path)
        self.start.template_requested.connect(self.files.begin_with_template)
        context.document.title_changed.connect(self._show_title)
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._state_timer.start)
        context.document.undo_stack.indexChanged.connect(self._show_undo)
        for signal in (context.selection_changed, context.analysis_changed):
            signal.connect(self._state_timer.start)
        context.tool_changed.connect(self._show_tool)
        context.theme.changed.connect(self._show_theme_choice)
        self.views.checks_changed.connect(self._show_checks)
        context.explained.connect(self.explain)
        context.destroyed.connect(self._let_go)
        self._show_tool()

    def _let_go(self) -> None:
        """The context dies before the window: its undo stack must not report its own end here."""
        self._state_timer.stop()
        self.context.document.undo_stack.indexChanged.disconnect(self._show_undo)

    def _handlers(self) -> Mapping[str, Callable[[], object]]:
        context, playback = self.context, self.context.playback
        handlers: dict[str, Callable[[], object]] = {
            **self.files.handlers(),
            **self.edits.handlers(),
            **self.imports.handlers(),
            **self.exports.handlers(),
            **self.bulk.handlers(),
            **self.arrange.handlers(),
            **self.views.handlers(),
            "file.start": self.show_start,
            "file.quit": self.close,
            "theme.toggle": context.theme.toggle,
            "play.toggle": playback.toggle,
            "play.next": playback.next_segment,
            "play.previous": playback.previous_segment,
            "play.faster": playback.faster,
            "play.slower": playback.slower,
            "play.start": lambda: playback.set_time(0.0),
            "finding.next": lambda: self._go_to_finding(1),
            "finding.previous": lambda: self._go_to_finding(-1),
            "insert.partners": self._show_partners,
            "view.outline": self._show_outline,
            "view.racks": self._show_racks,
            "help.keys": self._help,
            "help.about": self._about,
        }
        for choice in ("system", "light", "dark"):
            handlers[f"theme.{choice}"] = partial(context.theme.set_choice, choice)
        for spec in ACTIONS.values():
            if spec.group == "tool":
                tool = cast(Tool, spec.id.removeprefix("tool."))
                handlers[spec.id] = partial(self._take_tool, tool)
        on_canvas: Mapping[str, Callable[[CanvasView], object]] = {
            "view.fit": lambda canvas: canvas.fit(),
            "view.fit_selection": lambda canvas: canvas.fit_selection(),
            "view.actual": lambda canvas: canvas.zoom_to(1.0),
            "view.zoom_in": lambda canvas: canvas.zoom_in(),
            "view.zoom_out": lambda canvas: canvas.zoom_out(),
        }
        for ident, run in on_canvas.items():
            handlers[ident] = partial(self._on_canvas, run)
        return handlers

    def _take_tool(self, tool: Tool) -> None:
        """A tool works on the canvas, which then gets the keys too (the brushes 0 – 9, arrows, Esc)."""
        self.context.set_tool(tool)
        self._on_canvas(lambda canvas: canvas.setFocus())

    def _on_canvas(self, run: Callable[[CanvasView], object]) -> None:
        if self.workspace is not None:
            run(self.workspace.canvas)

    # --- states --------------------------------------------------------------------------------------------

    def _states(self) -> frozenset[When]:
        holds: set[When] = set()
        if not self._working or self.workspace is None:
            return frozenset()
        context = self.context
        document = context.document.document
        topology, stack = document.topology, context.document.undo_stack
        chosen = context.selection
        devices = [ident for ident in chosen if not topology.has_link(ident)]
        analysis = context.analysis
        for state, is_so in (
            (When.OPEN, True),
            (When.NOT_EMPTY, bool(topology.devices() or topology.containers())),
            (When.SELECTION, bool(chosen)),
            (When.DEVICES_SELECTED, bool(devices)),
            (When.CLIPBOARD, context.clipboard is not None or self.imports.can_paste),
            (When.IMPORTED, self.imports.last is not None),
            (When.UNDO, stack.canUndo()),
            (When.REDO, stack.canRedo()),
            (When.REPORT, analysis is not None and analysis.report is not None),
            (When.FINDINGS, analysis is not None and bool(analysis.findings)),
        ):
            if is_so:
                holds.add(state)
        return frozenset(holds)

    def _selected_gpu(self) -> str | None:
        topology = self.context.document.document.topology
        gpus = [
            ident
            for ident in self.context.selection
            if topology.has_device(ident) and topology.device(ident).kind == "gpu"
        ]
        return gpus[0] if len(gpus) == 1 else None

    def _document_changed(self, change: Change) -> None:
        self._state_timer.start()
        if self._working:
            self._show_title()

    def _show_undo(self, _index: int = 0) -> None:
        stack = self.context.document.undo_stack
        for ident, verb, text in (
            ("edit.undo", "Undo", stack.undoText()),
            ("edit.redo", "Redo", stack.redoText()),
        ):
            action = self.actions_[ident]
            action.setText(f"&{verb} {text[:1].lower() + text[1:]}" if text else f"&{verb}")
        self.actions_.update_icons()
        self._state_timer.start()

    def _show_title(self) -> None:
        document = self.context.document
        if not self._working:
            self.setWindowTitle("Railsketch")
            self.title_bar.show_title("", "")
            return
        empty = not document.document.topology.devices() and document.path is None
        state = "edited" if document.unsaved else "nothing to save" if empty else "saved"
        if not empty and document.path is None and not document.unsaved:
            state = "not saved yet"
        self.title_bar.show_title(document.name, state)
        self.setWindowTitle(f"{document.name}[*] – Railsketch")
        self.setWindowModified(document.unsaved)

    def _show_tool(self) -> None:
        action = self.actions_[f"tool.{self.context.tool}"]
        action.setChecked(True)

    def _show_theme_choice(self) -> None:
        self.actions_[f"theme.{self.context.theme.choice}"].setChecked(True)

    def _show_checks(self) -> None:
        self.actions_.show_checks(self.views.checks())

    # --- what is shown -------------------------------------------------------------------------------------

    def show_workspace(self) -> None:
        """Show the canvas and its panels."""
        self.load()
        if self.workspace is None or self._working:
            self._show_title()
            return
        self._working = True
        self.stack.setCurrentWidget(self.workspace.canvas)
        self.tool_bar.show()
        self.workspace.set_shown(True)
        self._show_title()
        self._show_checks()
        self.actions_.update_states()
        self.workspace.canvas.setFocus()

    def show_start(self) -> None:
        """Close the drawing, after asking about unsaved changes, and show the start page."""
        if self.workspace is None or not self._working or not self.files.close():
            return
        self._working = False
        self.context.playback.pause()
        self.workspace.set_shown(False)
        self.tool_bar.hide()
        self.start.refresh()
        self.stack.setCurrentWidget(self.start)
        self._show_title()
        self.actions_.update_states()

    def open_path(self, path: Path) -> bool:
        """Open a file; a failure is said in a message."""
        self.load()
        return self.files.open_path(path)

    def explain(self, title: str, figure: Figure) -> None:
        """Show how a figure was worked out, near where it stands: under the pointer, or with the focus."""
        for asked in (QApplication.widgetAt(QCursor.pos()), QApplication.focusWidget()):
            if isinstance(asked, FigureLabel) and asked.figure is figure:
                point = asked.mapToGlobal(QPoint(0, asked.height() + 4))
                break
        else:
            point = QCursor.pos()
        ExplainPopup(title, figure, self).show_at(point)

    def _go_to_finding(self, step: int) -> None:
        if self.workspace is not None:
            self.workspace.findings.next_finding(step)

    def _show_outline(self) -> None:
        if self.workspace is not None:
            self.workspace.show_outline()

    def _show_racks(self) -> None:
        if self.workspace is not None:
            self.workspace.show_racks()

    def _show_partners(self) -> None:
        gpu = self._selected_gpu()
        if gpu is None:
            self.context.say("Select one GPU to see whom it talks to; a tray or rack has many.")
            return
        self.context.set_partners_of(None if gpu == self.context.partners_of else gpu)

    def _help(self) -> None:
        """Explain the figure under the pointer, else the one with the focus, else show the keys."""
        hovered = QApplication.widgetAt(QCursor.pos())
        found = figure_of(hovered, QCursor.pos()) or figure_of(QApplication.focusWidget(), None)
        if found is not None:
            self.explain(*found)
            return
        from gui.dialogs.help import KeysDialog

        KeysDialog(self).exec()

    def _about(self) -> None:
        from gui.dialogs.help import about

        about(self)

    # --- files dropped on the window -----------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event.mimeData()):
            self.imports.background.warm_up()
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = dropped_files(event.mimeData())
        if paths:
            event.acceptProposedAction()
            # The drop has to end before a dialog can wait for an answer.
            QTimer.singleShot(0, partial(self.open_files, paths))

    def open_files(self, paths: Sequence[Path]) -> None:
        """Open a file; several are those of one import."""
        if len(paths) == 1:
            self.open_path(paths[0])
        else:
            self.load()
            self.imports.begin_files(paths)

    # --- coming and going ----------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.context.playback.set_visible(not self.isMinimized())

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.files.may_leave():
            event.ignore()
            return
        self.context.playback.pause()
        stored = settings()
        stored.setValue("window/geometry", self.saveGeometry())
        if self.workspace is not None:
            self.workspace.keep(stored)
        event.accept()

    def restore_geometry(self) -> None:
        """Take the size and place of the last time."""
        geometry = settings().value("window/geometry")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
