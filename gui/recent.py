"""The files that were opened or saved last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from gui.settings import settings

MOST = 10
_KEY = "recent"


def recent_files() -> tuple[Path, ...]:
    """Files that still exist, the latest first."""
    stored = settings().value(_KEY, [])
    names = cast(Sequence[str], [stored] if isinstance(stored, str) else stored or [])
    return tuple(path for path in map(Path, names) if path.is_file())


def remember(path: Path) -> None:
    """Put a file in front."""
    path = path.resolve()
    others = [each for each in recent_files() if each != path]
    settings().setValue(_KEY, [str(each) for each in [path, *others][:MOST]])


def forget(path: Path | None = None) -> None:
    """Take one file from the list, or all."""
    kept = [each for each in recent_files() if path is not None and each != path.resolve()]
    settings().setValue(_KEY, [str(each) for each in kept])
