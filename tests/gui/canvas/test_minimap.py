"""The overview shows a tile of its colour at the place of every device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gui.canvas.scene_index import GPU
from gui.canvas.view import CanvasView


def test_every_device_has_its_colour_at_its_place(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=4)
    minimap = view.overlay.minimap
    picture = minimap.grab().toImage()
    index, theme = view.scene_data.index, view.theme
    camera = minimap._camera
    for row in index.gpu_rows[::7].tolist():
        x, y = (camera.points(index.centre[row]) * camera.ratio).tolist()
        place = int(np.searchsorted(index.gpu_rows, row))
        group = int(view.scene_data.gpus.group[place])
        wanted = theme.color("strong") if group < 0 else theme.group_color(group)
        assert picture.pixelColor(int(x), int(y)).name() == wanted.name(), index.device_ids[row]
    leaf = int(index.device_row["leaf0"])
    x, y = (camera.points(index.centre[leaf]) * camera.ratio).tolist()
    assert picture.pixelColor(int(x), int(y)).name() == theme.kind_color("leaf").name()
    assert int((index.kind == GPU).sum()) == 32
