"""What all tests of the window share: settings of their own, a context with a theme, and small drawings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.background import Background
from gui.context import AppContext
from gui.settings import settings
from model.document.document import Document
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path) -> Iterator[None]:
    """Settings in a folder of the test, so that no test sees what another or the user did."""
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path / "settings"))
    settings().setValue("templates/folder", str(tmp_path / "templates"))
    if QGuiApplication.instance() is not None:
        QGuiApplication.clipboard().clear()
    yield
    # Windows of the test that wait for their deletion would be styled again and again by later tests.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Railsketch", "Railsketch").sync()


@pytest.fixture(scope="session")
def background(qapp: QApplication) -> Iterator[Background]:
    """One process for the long work of all tests, so that it is started once."""
    made = Background("gui.import_work")
    yield made
    made.stop()


@pytest.fixture
def context(qapp: QApplication) -> Iterator[AppContext]:
    """A context in the light theme with an empty drawing."""
    made = AppContext()
    made.theme.set_choice("light")
    made.theme.apply()
    yield made
    made.playback.pause()
    made.deleteLater()


def small_document() -> Document:
    """A tray with two GPUs, an NVLink switch and a NIC, and a leaf outside of it."""
    devices = (
        Device("node.gpu0", DeviceKind.GPU, "h100-sxm", parent="node", rail=0),
        Device("node.gpu1", DeviceKind.GPU, "h100-sxm", parent="node", rail=1),
        Device("node.nvs0", DeviceKind.NVLINK_SWITCH, "nvswitch3", parent="node"),
        Device("node.nic0", DeviceKind.NIC, "cx7-ndr", parent="node", rail=0),
        Device("leaf0", DeviceKind.LEAF, "qm9700", rail=0),
    )
    links = (
        Link("a", "node.gpu0", "node.nvs0", LinkKind.NVLINK, 25e9, 9),
        Link("b", "node.gpu1", "node.nvs0", LinkKind.NVLINK, 25e9, 9),
        Link("c", "node.gpu0", "node.nic0", LinkKind.PCIE, 64e9),
        Link("d", "node.nic0", "leaf0", LinkKind.INFINIBAND, 50e9),
    )
    layout = {
        "node.gpu0": (0.0, 0.0),
        "node.gpu1": (60.0, 0.0),
        "node.nvs0": (20.0, 100.0),
        "node.nic0": (0.0, -80.0),
        "leaf0": (0.0, -200.0),
    }
    topology = Topology(devices, links, (Container("node", ContainerKind.TRAY),))
    return Document(topology, layout=layout, name="small")


@pytest.fixture
def drawing(context: AppContext) -> AppContext:
    """The context with `small_document` open."""
    context.document.set_document(small_document())
    return context
