"""The model is true without a screen: all of it can be imported where no Qt exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

IMPORT_ALL = """
import importlib, pkgutil, sys

class NoQt:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PySide6", "shiboken6", "pyqtgraph", "qtpy", "qtawesome"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, NoQt())
try:
    import PySide6
except ImportError:
    pass
else:
    sys.exit("the block does not work")

names = []
for root in ("model", "topology_templates"):
    package = importlib.import_module(root)
    names += [module.name for module in pkgutil.walk_packages(package.__path__, root + ".")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_all_of_the_model_imports_without_qt() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    on_disk = [path for root in ("model", "topology_templates") for path in (ROOT / root).rglob("*.py")]
    assert int(done.stdout) == len(on_disk) - 2  # all files but the two packages' own __init__
