"""Where the published measurements are read from: the one place that says so."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "RAILSKETCH_REFERENCE"
DEFAULT = "../shared"
FILE = "reference/published_results.json"


def reference_file() -> Path:
    """The file of measurements: in the folder that RAILSKETCH_REFERENCE names, else beside the repository."""
    root = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get(VARIABLE) or DEFAULT)
    return (folder if folder.is_absolute() else root / folder) / FILE


def reference_cases() -> list[dict[str, Any]] | None:
    """The published runs as they stand in the file; None where there is no file."""
    path = reference_file()
    if not path.is_file():
        return None
    cases: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cases"]
    return cases


def is_fit_row(ident: str) -> bool:
    """Whether constants may be fitted on this row; targets count on the others."""
    return int(hashlib.sha256(ident.encode()).hexdigest(), 16) % 2 == 0
