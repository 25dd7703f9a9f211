"""The folder of the user's own templates, and bringing what is in it into the gallery."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from gui.settings import APPLICATION, settings

if TYPE_CHECKING:
    from topology_templates.user import Broken

_KEY = "templates/folder"
_broken: list[Broken] = []


def folder() -> Path:
    """Where the user's templates are: what the settings say, else the data folder of the system."""
    stored = settings().value(_KEY)
    if isinstance(stored, str) and stored:
        return Path(stored)
    return Path(user_data_path(APPLICATION, appauthor=False)) / "templates"


def load() -> tuple[Broken, ...]:
    """Offer what is in the folder now; gives the files that cannot be used."""
    from topology_templates.registry import use_own
    from topology_templates.user import load_folder

    found, broken = load_folder(folder())
    use_own(found)
    _broken[:] = broken
    return broken


def broken_files() -> tuple[Broken, ...]:
    """The files that could not be used when the folder was read last."""
    return tuple(_broken)
