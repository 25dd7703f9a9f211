"""The window: what is present, enabled and shown; its sizes; start-up; errors that nobody expected."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QScrollArea, QToolButton, QWidget

from gui.actions import ACTIONS, MENUS, RECENT, SEPARATOR, TOOL_BAR
from gui.app import ExceptionHook
from gui.context import AppContext
from gui.widgets.figure import ExplainPopup
from gui.window import REFRESH_MS, MainWindow
from model.analysis import analyse
from model.document.edits import AddParts, Move
from model.errors import InputError
from model.files.project import save_project
from model.step.report import Figure
from model.topology.types import Device, DeviceKind
from tests.gui.conftest import small_document


@pytest.fixture
def window(context: AppContext, qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)
    made = MainWindow(context)
    qtbot.addWidget(made)
    made.resize(1600, 1000)
    made.show()
    yield made
    made.close()


def activate(window: MainWindow, qtbot: Any) -> None:
    """Give the window the keyboard; shortcuts need it."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)


def cluster(window: MainWindow) -> None:
    """Open the default HGX template with its analysis."""
    window.files.place_template("hgx-h100")
    analysis = analyse(window.context.document.document)
    window.context.set_analysis(analysis)
    window.context._set_stale(False)
    window.actions_.update_states()


def test_every_entry_of_menus_and_bars_is_an_action(window: MainWindow) -> None:
    def names(entries: tuple[Any, ...]) -> Iterator[str]:
        for entry in entries:
            if isinstance(entry, tuple):
                yield from names(entry[1])
            else:
                yield entry

    used = {name for _, entries in MENUS for name in names(entries)} | set(TOOL_BAR)
    used -= {SEPARATOR, RECENT}
    assert used <= ACTIONS.keys()
    assert all(ident in window.actions_ for ident in ACTIONS)


def test_start_page_comes_first(window: MainWindow) -> None:
    assert window.stack.currentWidget() is window.start and window.start.isVisible()
    assert window.windowTitle() == "Railsketch"
    assert window.workspace is not None
    assert not any(dock.isVisible() for dock in window.workspace.docks) and not window.tool_bar.isVisible()
    assert not window.actions_["edit.select_all"].isEnabled() and window.actions_["file.open"].isEnabled()


def test_new_drawing_by_key_shows_everything(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    workspace = window.workspace
    assert workspace is not None
    assert window.stack.currentWidget() is workspace.canvas
    for dock in workspace.docks:
        at_first = dock not in (workspace.outline_dock, workspace.racks_dock)
        assert dock.isVisible() == at_first, dock.objectName()
    assert window.title_bar.state.text() == "nothing to save"


def test_outline_by_key_comes_with_the_focus_and_goes(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_O, both)
    assert workspace.outline_dock.isVisible() and workspace.outline.tree.hasFocus()
    QTest.keyClick(window, Qt.Key.Key_O, both)
    assert not workspace.outline_dock.isVisible() and workspace.canvas.hasFocus()


def test_racks_by_key_come_with_the_focus_and_go(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_E, both)
    assert workspace.racks_dock.isVisible() and workspace.racks.begin.hasFocus()
    QTest.keyClick(window, Qt.Key.Key_E, both)
    assert not workspace.racks_dock.isVisible() and workspace.canvas.hasFocus()


def test_group_and_ungroup_by_key(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    context, topology = window.context, window.context.document.document.topology
    leaves = {device.id for device in topology.devices() if device.kind == "leaf"}
    context.set_selection(leaves)
    window.actions_.update_states()
    QTest.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    assert context.selection == {"rack0"}
    assert [topology.device(ident).u for ident in sorted(leaves)] == list(range(1, len(leaves) + 1))
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_G, both)
    assert context.selection == leaves and not topology.has_container("rack0")
    assert context.document.undo_stack.undoText() == "Ungroup 1 container"
    context.document.undo_stack.undo()
    assert topology.children("rack0") == tuple(sorted(leaves, key=lambda ident: topology.index_of(ident)))
    window.actions_["edit.group_site"].trigger()
    assert topology.container(context.document.document.topology.containers()[-1].id).kind == "site"


def test_pins_folds_paths_and_partners_by_key(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    context, said = window.context, list[str]()
    context.said.connect(said.append)
    assert window.workspace is not None
    canvas = window.workspace.canvas
    canvas.setFocus()
    context.set_selection(("node00",))
    window.actions_.update_states()
    view = context.document.document.view
    qtbot.keyClick(canvas, Qt.Key.Key_L)
    assert context.document.document.view.pins == view.pins | {"node00"}
    qtbot.keyClick(canvas, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    assert context.document.document.view.folds == {"node00"}
    qtbot.keyClick(canvas, Qt.Key.Key_P)
    assert said == ["Select one GPU to see whom it talks to; a tray or rack has many."]
    context.set_selection(("leaf0",))
    window.actions_.update_states()
    qtbot.keyClick(canvas, Qt.Key.Key_P, Qt.KeyboardModifier.ShiftModifier)
    assert context.focus == ("leaf0",)
    window.actions_["view.links_straight"].trigger()
    assert context.document.document.view.links == "straight"
    assert window.actions_["view.links_straight"].isChecked()
    assert not window.actions_["view.links_curved"].isChecked()


def test_actions_follow_the_state(window: MainWindow) -> None:
    window.files.new()
    actions, context = window.actions_, window.context
    for ident in ("edit.undo", "edit.delete", "export.traffic", "play.toggle", "view.fit", "edit.paste"):
        assert not actions[ident].isEnabled(), ident
    cluster(window)
    for ident in ("edit.undo", "export.traffic", "play.toggle", "view.fit"):
        assert actions[ident].isEnabled(), ident
    assert not actions["insert.partners"].isEnabled()
    context.set_selection(["node00.gpu0"])
    actions.update_states()
    assert actions["insert.partners"].isEnabled() and actions["edit.delete"].isEnabled()
    actions["insert.partners"].trigger()
    assert context.partners_of == "node00.gpu0"
    actions["insert.partners"].trigger()
    assert context.partners_of is None


def test_undo_names_the_step_and_title_the_state(window: MainWindow, tmp_path: Path) -> None:
    cluster(window)
    assert window.actions_["edit.undo"].text() == "&Undo place HGX H100"
    assert window.title_bar.state.text() == "edited" and window.isWindowModified()
    window.context.document.save(tmp_path / "pod.json")
    assert (window.title_bar.name.text(), window.title_bar.state.text()) == ("pod.json", "saved")
    assert window.windowTitle().startswith("pod.json") and not window.isWindowModified()
    window.actions_["edit.undo"].trigger()
    assert window.actions_["edit.redo"].text() == "&Redo place HGX H100"


@pytest.mark.parametrize(
    ("key", "tool"), [("H", "pan"), ("C", "connect"), ("A", "place"), ("B", "paint"), ("V", "select")]
)
def test_tool_keys(window: MainWindow, qtbot: Any, key: str, tool: str) -> None:
    cluster(window)
    activate(window, qtbot)
    QTest.keyClick(window, key)
    assert window.context.tool == tool
    assert window.actions_[f"tool.{tool}"].isChecked()


def test_letters_typed_into_a_field_are_text(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    assert window.workspace is not None
    search = window.workspace.palette.search
    search.setFocus()
    QTest.keyClicks(search, "abc")
    assert search.text() == "abc" and window.context.tool == "select"


def test_space_presses_a_button_and_plays_on_the_canvas(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    workspace = window.workspace
    assert workspace is not None
    tile = workspace.palette.tiles["leaf"]
    tile.setFocus()
    QTest.keyClick(tile, Qt.Key.Key_Space)
    assert window.context.place_kind == "leaf" and not window.context.playback.playing
    workspace.canvas.setFocus()
    QTest.keyClick(workspace.canvas, Qt.Key.Key_Space)
    assert window.context.playback.playing


def test_properties_take_the_place_of_the_templates(window: MainWindow) -> None:
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    assert workspace.templates.isVisible() and not workspace.inspector.isVisible()
    window.context.set_selection(["node00.gpu0"])
    assert workspace.inspector.isVisible() and not workspace.templates.isVisible()
    window.context.set_selection([])
    assert workspace.templates.isVisible()


def test_insert_by_keys_never_stacks(window: MainWindow) -> None:
    window.files.new()
    assert window.workspace is not None
    for _ in range(3):
        QTest.keyClick(window.workspace.palette.tiles["leaf"], Qt.Key.Key_Return)
    layout = window.context.document.document.layout
    assert len(set(layout.values())) == 3
    heights = sorted(y for _, y in layout.values())
    assert min(second - first for first, second in pairwise(heights)) >= 46


@pytest.mark.parametrize("size", [(1600, 1000), (1280, 800)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_clipped(window: MainWindow, size: tuple[int, int], theme: str) -> None:
    window.context.theme.set_choice(theme)
    window.resize(*size)
    cluster(window)
    window.context.set_selection(["node00.gpu0"])
    QApplication.processEvents()
    assert (window.width(), window.height()) == size
    workspace = window.workspace
    assert workspace is not None
    inside = window.rect()
    for dock in workspace.docks:
        area = dock.geometry()
        assert inside.contains(area), dock.objectName()
        content = dock.widget()
        assert content.width() >= content.minimumSizeHint().width(), dock.objectName()
        assert content.height() >= content.minimumSizeHint().height(), dock.objectName()
    for scroll in window.findChildren(QScrollArea):
        if scroll.isVisible() and scroll.widget() is not None:
            assert scroll.widget().width() <= scroll.viewport().width(), scroll.accessibleName()
    assert workspace.canvas.width() >= 500 and workspace.canvas.height() >= 380
    for figure in workspace.status.figures.values():
        if figure.isVisible():
            assert figure.geometry().right() <= workspace.status.dot.geometry().left(), figure.text()
            assert figure.width() >= figure.sizeHint().width() - 1, figure.text()


def test_docks_do_not_overlap(window: MainWindow) -> None:
    cluster(window)
    QApplication.processEvents()
    assert window.workspace is not None
    window.workspace.show_racks()
    QApplication.processEvents()
    areas = [dock.geometry() for dock in window.workspace.docks if dock.isVisible()]
    assert len(areas) == 5
    for number, first in enumerate(areas):
        assert not any(first.intersects(second) for second in areas[number + 1 :])


def test_racks_take_their_room_from_the_drawing_and_give_it_back(window: MainWindow, qtbot: Any) -> None:
    window.resize(1600, 900)
    cluster(window)
    assert window.workspace is not None
    workspace = window.workspace
    QApplication.processEvents()
    sides, canvas = (workspace.left.width(), workspace.right.width()), workspace.canvas.width()
    workspace.show_racks()
    qtbot.waitUntil(lambda: (workspace.left.width(), workspace.right.width()) == sides)
    assert workspace.canvas.width() < canvas - 200
    for _ in range(2):
        workspace.racks.take_focus()
        workspace.show_racks()
        qtbot.waitUntil(lambda: (workspace.left.width(), workspace.right.width()) == sides)
    assert workspace.racks_dock.isVisible()
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: workspace.right in window.tabifiedDockWidgets(workspace.racks_dock))
    assert window.width() == 1280


def test_status_says_the_step_and_goes_stale(window: MainWindow) -> None:
    window.files.new()
    assert window.workspace is not None
    status = window.workspace.status
    assert status.figures["step"].text() == "–" and status.figures["gpus"].text() == "0"
    assert status.figures["findings"].text() == "none: the drawing is empty"
    cluster(window)
    report = window.context.analysis.report  # type: ignore[union-attr]
    assert report is not None
    assert status.figures["tokens"].text() == f"{report.totals.tokens_per_s_per_gpu:,.0f}"
    assert status.figures["mfu"].property("tone") == ""
    text = status.figures["step"].text()
    window.context.document.push(Move({"leaf0": (0.0, 0.0)}), "move")
    assert status.figures["step"].property("tone") == ""
    window.context._set_stale(True)
    assert status.figures["step"].property("tone") == "3" and status.figures["step"].text() == text
    for figure in ("step", "tokens", "mfu", "exposed", "worst", "hbm"):
        assert status.figures[figure].figure is not None, figure


@pytest.mark.parametrize("width", [960, 1280, 1600])
def test_narrow_window_drops_the_least_important_figures(window: MainWindow, width: int) -> None:
    cluster(window)
    window.resize(width, 700)
    QApplication.processEvents()
    assert window.width() == width and window.workspace is not None
    status = window.workspace.status
    shown = [key for key, figure in status.figures.items() if figure.isVisible()]
    assert "step" in shown and (width < 1280 or len(shown) == 6)
    edges = [
        (figure.x(), figure.geometry().right()) for key, figure in status.figures.items() if key in shown
    ]
    assert all(right <= status.dot.x() for _, right in edges)
    assert all(
        figure.width() >= figure.sizeHint().width()
        for figure in status.figures.values()
        if figure.isVisible()
    )


def test_engine_state_in_words(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    assert window.workspace is not None
    status = window.workspace.status
    assert status.state.text() == "Up to date" and not status.dot.busy
    status.show_busy(True)
    assert not status.dot.busy
    qtbot.waitUntil(lambda: status.dot.busy, timeout=2000)
    status._stage_said("routing 32 GPUs")
    qtbot.waitUntil(lambda: status.state.text() == "Routing 32 GPUs", timeout=3000)
    status.show_busy(False)
    assert status.state.text() == "Up to date" and not status.dot.busy
    status.show_failure("This drawing could not be analysed.")
    assert status.state.text() == "Not worked out"
    assert status.message.text() == "This drawing could not be analysed."
    status.show_busy(True)
    assert status.message.text() == ""


def test_figures_of_the_bar_open_their_explanation(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    assert window.workspace is not None
    figure = window.workspace.status.figures["mfu"]
    figure.setFocus()
    QTest.keyClick(figure, Qt.Key.Key_F1)
    popups = [popup for popup in window.findChildren(ExplainPopup) if popup.isVisible()]
    assert len(popups) == 1 and "MFU" in popups[0].accessibleName()
    popups[0].close()


def test_f1_explains_the_row_with_the_focus(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    assert window.workspace is not None
    links = window.workspace.traffic.links
    links.setFocus()
    QTest.keyClick(links, Qt.Key.Key_Down)
    table = links.links.table
    assert table is not None and links.currentIndex().isValid()
    QTest.keyClick(links, Qt.Key.Key_F1)
    popups = [popup for popup in window.findChildren(ExplainPopup) if popup.isVisible()]
    assert len(popups) == 1
    assert (
        popups[0].accessibleName() == f"How Cost of {table.title(links.currentIndex().row())} was worked out"
    )
    popups[0].close()


def test_explanation_stays_on_the_screen(window: MainWindow) -> None:
    window.explain("A figure", Figure(1.0, "s", "a formula " * 30, {"input": 1}))
    popup = next(popup for popup in window.findChildren(ExplainPopup) if popup.isVisible())
    assert popup.screen().availableGeometry().contains(popup.geometry())
    popup.close()


def test_findings_by_keys(window: MainWindow, qtbot: Any) -> None:
    cluster(window)
    activate(window, qtbot)
    window.context.document.push(
        AddParts((Device("lonely", DeviceKind.LEAF, "qm9700"), Device("alone", DeviceKind.GPU, "h100-sxm"))),
        "add",
    )
    window.context.set_analysis(analyse(window.context.document.document))
    workspace, seen = window.workspace, []
    assert workspace is not None
    panel = workspace.findings
    window.context.went_to.connect(seen.append)
    assert len(panel.findings) >= 2
    QTest.keyClick(window, Qt.Key.Key_N)
    first = panel.findings[0]
    assert set(seen[-1]) == {*first.devices, *first.links}
    assert panel.list.currentIndex().row() == 0 and workspace.status.message.text() == first.title
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    assert panel.list.currentIndex().row() == len(panel.findings) - 1
    # A row chosen with the mouse is where the keys go on from.
    rect = panel.list.visualRect(panel.list.rows.index(0))
    QTest.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    QTest.keyClick(window, Qt.Key.Key_N)
    assert panel.list.currentIndex().row() == 1


def test_context_may_die_before_the_window(qtbot: Any, qapp: QApplication) -> None:
    context = AppContext()
    window = MainWindow(context)
    context.document.set_document(small_document())
    context.document.push(Move({"leaf0": (0.0, 0.0)}), "move")
    context.document.undo_stack.setClean()
    window.close()
    with qtbot.captureExceptions() as found:
        shiboken6.delete(context)
        qtbot.wait(2 * REFRESH_MS)
    assert found == []
    shiboken6.delete(window)


def test_dropped_file_is_opened(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    save_project(small_document(), path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(50, 50),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)
    QApplication.processEvents()  # the drop ends before the file is opened
    assert window.context.document.path == path
    assert window.stack.currentWidget() is not window.start


def test_recent_menu_opens(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    save_project(small_document(), path)
    assert window.open_path(path)
    window._fill_recent()
    entries = window._recent_menu.actions()
    assert [entry.text() for entry in entries] == ["small.json"]
    window.files.new()
    entries = window._recent_menu.actions()
    entries[0].trigger()
    assert window.context.document.document.same_as(small_document())


def test_closing_asks_and_can_be_cancelled(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(window)
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Cancel)
    assert not window.close() and window.isVisible()
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)
    assert window.close()


def test_layout_of_the_docks_is_kept(window: MainWindow, context: AppContext, qtbot: Any) -> None:
    cluster(window)
    assert window.workspace is not None
    window.workspace.findings_dock.toggleViewAction().trigger()
    assert not window.workspace.findings_dock.isVisible()
    window.close()
    again = MainWindow(AppContext())
    qtbot.addWidget(again)
    again.resize(1600, 1000)
    again.show()
    again.files.new()
    assert again.workspace is not None
    assert not again.workspace.findings_dock.isVisible() and again.workspace.left.isVisible()
    again.close()


def test_docks_of_a_wide_window_fit_a_narrow_one(window: MainWindow, qtbot: Any) -> None:
    window.resize(1900, 1000)
    cluster(window)
    assert window.workspace is not None
    window.workspace.show_outline()
    window.workspace.show_racks()
    assert not window.tabifiedDockWidgets(window.workspace.racks_dock)
    window.close()
    again = MainWindow(AppContext())
    qtbot.addWidget(again)
    again.resize(1280, 800)
    again.show()
    again.files.new()
    workspace = again.workspace
    assert workspace is not None
    qtbot.waitUntil(lambda: again.tabifiedDockWidgets(workspace.racks_dock) == [workspace.right])
    workspace.right.raise_()
    qtbot.waitUntil(lambda: workspace.right.width() >= 300 and workspace.left.width() >= 190)
    again.close()


def test_start_page_can_be_shown_again(window: MainWindow, tmp_path: Path) -> None:
    cluster(window)
    window.context.document.save(tmp_path / "pod.json")
    window.show_start()
    assert window.stack.currentWidget() is window.start and not window.tool_bar.isVisible()
    window.files.new()
    assert window.stack.currentWidget() is not window.start and window.tool_bar.isVisible()


def test_everything_that_takes_keys_has_a_name(window: MainWindow) -> None:
    cluster(window)
    window.context.set_selection(["node00.gpu0"])
    ours = (window.tool_bar, window.workspace.palette, window.workspace.inspector, window.workspace.templates)  # type: ignore[union-attr]
    for part in ours:
        for widget in part.findChildren(QWidget):
            inner = isinstance(widget.parent(), QWidget) and widget.parent().focusProxy() is widget
            named = widget.accessibleName() or getattr(widget, "text", lambda: "")()
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and not inner:
                assert named or widget.objectName().startswith("qt_"), (type(widget), widget.objectName())


def test_tool_buttons_are_large_enough(window: MainWindow) -> None:
    window.files.new()
    for button in window.tool_bar.findChildren(QToolButton):
        if button.isVisible():
            assert button.width() >= 20 and button.height() >= 20


def test_shortcuts_are_those_of_the_list(window: MainWindow) -> None:
    assert window.actions_["edit.redo"].shortcuts() == [QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")]


def test_unexpected_error_is_a_message_and_the_work_stays(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(window)
    boxes: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: boxes.append(box))
    hook = ExceptionHook(window)
    error = ZeroDivisionError("by accident")
    hook(ZeroDivisionError, error, None)
    assert len(boxes) == 1
    assert "still open" in boxes[0].text() and "by accident" not in boxes[0].text()
    assert "by accident" in boxes[0].detailedText()
    assert window.context.document.document.topology.has_device("leaf0")


def test_error_of_a_user_is_said_not_boxed(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[QMessageBox] = []
    said: list[str] = []
    window.context.said.connect(said.append)
    monkeypatch.setattr(QMessageBox, "exec", lambda box: boxes.append(box))
    ExceptionHook(window)(InputError, InputError("leaf5 has no free 400G port"), None)
    assert said == ["leaf5 has no free 400G port"] and boxes == []


def test_start_up_imports_nothing_heavy() -> None:
    code = (
        "import sys, gui.app\n"
        "heavy = {'networkx', 'scipy', 'pyqtgraph', 'pydantic', 'model.document.document'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == "[]"


def test_frame_is_painted_before_the_rest_is_loaded(context: AppContext, qtbot: Any) -> None:
    made = MainWindow(context, deferred=True)
    qtbot.addWidget(made)
    made.show()
    assert made.workspace is None and made.start.isVisible()
    assert not made.grab(made.rect()).toImage().isNull()
    made.load()
    assert made.workspace is not None
    assert made.start.mapTo(made, QPoint(0, 0)).y() >= 30


def test_template_beside_a_drawing_comes_into_view(window: MainWindow) -> None:
    cluster(window)
    before = {device.id for device in window.context.document.document.topology.devices()}
    window.files.place_template("hgx-h100")
    topology = window.context.document.document.topology
    new = {device.id for device in topology.devices()} - before
    assert new <= window.context.selection and not before & window.context.selection
    assert window.workspace is not None
    left, _, right, _ = window.workspace.canvas.camera.visible()
    layout = window.context.document.document.layout
    assert left < min(layout[ident][0] for ident in new) and right > max(layout[ident][0] for ident in new)


def test_f1_explains_what_is_under_the_pointer_each_time(
    window: MainWindow, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(window)
    activate(window, qtbot)
    assert window.workspace is not None
    canvas, figures = window.workspace.canvas, window.workspace.status.figures
    canvas.setFocus()

    def asked() -> str:
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_F1)
        popup = next(popup for popup in window.findChildren(ExplainPopup) if popup.isVisible())
        name = popup.accessibleName()
        popup.close()
        return name

    for key in ("hbm", "mfu", "step"):
        monkeypatch.setattr(QApplication, "widgetAt", lambda *_at, under=figures[key]: under)
        assert asked() == f"How {figures[key].accessibleName().partition(':')[0]} was worked out"
        assert window.focusWidget() is canvas
    figures["hbm"].setFocus()
    assert asked() == "How Step was worked out", "the pointer wins over the focus"
    monkeypatch.setattr(QApplication, "widgetAt", lambda *_at: canvas)
    assert asked() == "How HBM peak was worked out"


def test_no_second_window_appears_while_the_rest_is_loaded(
    context: AppContext, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)

    class Shown(QObject):
        def __init__(self) -> None:
            super().__init__()
            self.widgets: list[str] = []

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                self.widgets.append(type(watched).__name__)
            return False

    shown = Shown()
    made = MainWindow(context, deferred=True)
    qtbot.addWidget(made)
    application = QApplication.instance()
    assert application is not None
    application.installEventFilter(shown)
    try:
        made.show()
        made.load()
        made.files.place_template("hgx-h100")
        context.set_analysis(analyse(context.document.document))
        qtbot.waitUntil(lambda: made.workspace is not None and made.workspace.traffic.plot is not None)
    finally:
        application.removeEventFilter(shown)
    assert shown.widgets == ["MainWindow"]


def test_the_first_analysis_is_said_to_run(window: MainWindow) -> None:
    window.files.place_template("hgx-h100")
    space = window.workspace
    assert space is not None and window.context.analysis is None
    assert space.findings.empty.text() == "Computing …" == space.status.state.text()
    table = space.placement.brushes.brushes.table
    assert table is not None and table.brush(0).holds == "computing …"
    window.context.set_analysis(analyse(window.context.document.document))
    assert "omputing" not in space.findings.empty.text() + space.status.state.text()
    table = space.placement.brushes.brushes.table
    assert table is not None and "omputing" not in table.brush(0).holds


def test_a_batch_that_follows_the_gpus_is_told(window: MainWindow) -> None:
    window.files.new()
    assert window.workspace is not None
    message, push = window.workspace.status.message, window.context.document.push
    for number in range(2):
        push(AddParts(devices=(Device(f"gpu{number}", DeviceKind.GPU, "h100-sxm"),)), "Add")
    assert message.text() == ""
    push(AddParts(devices=(Device("gpu2", DeviceKind.GPU, "h100-sxm"),)), "Add")
    assert window.context.document.document.job.global_batch == 1023  # 3 × 341
    assert message.text() == "Global batch 1,024 → 1,023, the same for each of 3 GPUs"


def test_no_two_entries_of_a_menu_have_the_same_letter(window: MainWindow) -> None:
    for title, entries in MENUS:
        lists = [(title, entries), *((one[0], one[1]) for one in entries if isinstance(one, tuple))]
        for name, those in lists:
            named = [one for one in those if isinstance(one, tuple) or one in ACTIONS]
            texts = [one[0] if isinstance(one, tuple) else ACTIONS[one].text for one in named]
            letters = [text[text.index("&") + 1].lower() for text in texts]
            assert len(set(letters)) == len(letters), (name, sorted(letters))


def test_a_tool_taken_by_key_gives_the_canvas_the_brush_keys(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    workspace.placement.setFocus()
    QTest.keyClick(window, Qt.Key.Key_B)
    assert workspace.canvas.hasFocus()
    QTest.keyClick(workspace.canvas, Qt.Key.Key_3)
    assert window.context.brush == 3


def test_a_column_that_goes_leaves_its_room_to_the_canvas(window: MainWindow, qtbot: Any) -> None:
    window.resize(1280, 800)
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    QApplication.processEvents()
    before = (workspace.left.width(), workspace.canvas.width(), workspace.right.width())
    toggle = workspace.outline_dock.toggleViewAction()
    toggle.trigger()
    QApplication.processEvents()
    assert workspace.outline_dock.isVisible() and workspace.canvas.width() < before[1]
    toggle.trigger()
    QApplication.processEvents()
    after = (workspace.left.width(), workspace.canvas.width(), workspace.right.width())
    assert all(abs(a - b) <= 10 for a, b in zip(after, before, strict=True)), (before, after)


def test_undo_in_a_field_where_nothing_is_typed_undoes_the_edit(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    job, field = window.context.document.document.job, workspace.job.sizes["tp"].field
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "2")
    QTest.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)  # takes back the typing
    assert window.context.document.document.job == job
    field.selectAll()
    QTest.keyClicks(field, "2")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert window.context.document.document.job.parallel.tp == 2
    QTest.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert window.context.document.document.job == job and field.value() == job.parallel.tp


def test_letters_in_a_number_field_are_commands(window: MainWindow, qtbot: Any) -> None:
    activate(window, qtbot)
    cluster(window)
    workspace = window.workspace
    assert workspace is not None
    field = workspace.job.sizes["tp"].field
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_C)
    assert window.context.tool == "connect" and workspace.canvas.hasFocus()
    assert window.context.document.document.job.parallel.tp == field.value()


def test_with_the_last_device_its_step_goes(window: MainWindow) -> None:
    cluster(window)
    context = window.context
    assert window.workspace is not None and window.workspace.timeline.report is not None
    context.document.undo_stack.undo()
    context.set_analysis(analyse(context.document.document))
    assert context.shown_report is None and window.workspace.timeline.report is None
    assert context.playback.duration_s == 0
