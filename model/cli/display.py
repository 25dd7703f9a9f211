"""Whether a window can be opened here. Qt itself ends the process where it cannot, without our sentence."""

from __future__ import annotations

import ctypes
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from model.errors import InputError

_WAY_OUT = "railsketch run works without one"
_DISPLAY = re.compile(r"^(?P<host>.*?):(?P<number>\d+)(\.\d+)?$")


def require_display(environment: Mapping[str, str]) -> None:
    """Raise `InputError` where no window can be opened; the sentence names what works without one."""
    if not sys.platform.startswith("linux") or environment.get("QT_QPA_PLATFORM"):
        return
    if _wayland_answers(environment):
        return
    display = environment.get("DISPLAY", "")
    if not display:
        raise InputError(f"There is no display to open the window on; {_WAY_OUT}.")
    if not _x_answers(display):
        raise InputError(f"The display {display} does not answer, so no window can be opened; {_WAY_OUT}.")
    try:
        ctypes.CDLL("libxcb-cursor.so.0")
    except OSError:
        raise InputError(
            f"The window needs the system library libxcb-cursor0, which is not installed; {_WAY_OUT}."
        ) from None


def _wayland_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    return bool(name) and _connects(str(Path(environment.get("XDG_RUNTIME_DIR", "")) / name))


def _x_answers(display: str) -> bool:
    match = _DISPLAY.match(display)
    if match is None:
        return True  # a form that only Qt knows, for example a socket path
    number = int(match["number"])
    if match["host"] in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _connects(f"\0{path}") or _connects(path)
    try:
        with socket.create_connection((match["host"], 6000 + number), timeout=5):
            return True
    except (OSError, OverflowError):
        return False


def _connects(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(5)
        try:
            client.connect(address)
        except OSError:
            return False
        return True
