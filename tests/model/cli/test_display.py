"""Where no window can be opened, the command says so in one line instead of dying inside Qt."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from model.cli.display import require_display
from model.errors import InputError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays of X11 and Wayland")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "There is no display"),
        ({"DISPLAY": ":98765"}, "The display :98765 does not answer"),
        ({"DISPLAY": "127.0.0.1:99999999"}, "does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "/nowhere"}, "There is no display"),
    ],
)
def test_no_display(environment: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=f"{words}.*railsketch run works without one"):
        require_display(environment)


def test_a_wayland_display_that_answers(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "w"))
        server.listen()
        assert require_display({"WAYLAND_DISPLAY": "w", "XDG_RUNTIME_DIR": str(tmp_path)}) is None
        assert server.accept()


def test_a_platform_of_choice_is_left_to_qt() -> None:
    assert require_display({"QT_QPA_PLATFORM": "offscreen", "DISPLAY": ":98765"}) is None
