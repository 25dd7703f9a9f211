"""What stands on devices and containers, worked out for those that are drawn: a drawing may have 40,000."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gui.canvas.container_painter import short_name
from gui.canvas.port_numbers import Ports, network_ports
from gui.canvas.scene_index import GPU, KIND_CODE, LINK_CODE, FloatArray, SceneIndex
from model.text import plural
from model.topology.types import NETWORK_LINKS, NETWORK_SWITCHES

_SWITCH_CODES = frozenset(KIND_CODE[kind] for kind in NETWORK_SWITCHES)


class Texts:
    """The texts of one state of a drawing, by row."""

    def __init__(self, index: SceneIndex, ports: Ports) -> None:
        self._index, self._ports = index, ports
        self._names: dict[int, str] = {}

    def name(self, device: int) -> str:
        """The label of a device, or its id without what it stands in."""
        if device not in self._names:
            one = self._index.devices[device]
            self._names[device] = one.label or short_name(one.id, one.parent)
        return self._names[device]

    def second_line(self, device: int) -> str:
        """The second line of a switch: "QM9700 · 8 of 64"; empty for all others."""
        index = self._index
        if int(index.kind[device]) not in _SWITCH_CODES:
            return ""
        one = index.devices[device]
        who = f"rail {one.rail}" if one.rail is not None else short_model(one.model)
        group = network_ports(one)
        return who if group is None else f"{who} · {self._used[device]:,.4g} of {group.count:,}"

    def subtitle(self, container: int) -> str:
        """What stands beside a container's name: "8 × H100 SXM"."""
        index = self._index
        gpus = int(self._gpus_inside[container])
        if gpus and not index.is_tray[container]:
            return plural(gpus, "GPU")
        return self._gpus_by_parent.get(container, "")

    @cached_property
    def _used(self) -> FloatArray:
        """(n,): the network ports that each device has in use."""
        index = self._index
        network = np.isin(index.link_kind, [LINK_CODE[kind] for kind in NETWORK_LINKS])
        part = self._ports.share[network] * index.cables[network, None]
        used = np.bincount(index.ends[network].ravel(), part.ravel(), minlength=len(index.devices))
        return np.asarray(used, dtype=np.float64)

    @cached_property
    def _gpus_inside(self) -> np.ndarray:
        return self._index.count_inside(self._index.kind == GPU)

    @cached_property
    def _gpus_by_parent(self) -> dict[int, str]:
        """Of each container with GPUs right in it how many of which model."""
        index = self._index
        models: dict[str, int] = {}
        parents = index.parent[index.gpu_rows]
        kind = [models.setdefault(index.devices[row].model, len(models)) for row in index.gpu_rows.tolist()]
        key = parents.astype(np.int64) * max(len(models), 1) + np.array(kind, dtype=np.int64)
        found, count = np.unique(key[parents >= 0], return_counts=True)
        names = [short_model(model) for model in models]
        lines: dict[int, list[str]] = {}
        for number, many in zip(found.tolist(), count.tolist(), strict=True):
            container, model = divmod(number, len(models))
            lines.setdefault(container, []).append(f"{many} × {names[model]}")
        return {container: " · ".join(parts) for container, parts in lines.items()}


def short_model(model: str) -> str:
    """A catalogue id as a short name: "h100-sxm" → "H100 SXM"."""
    return model.replace("-", " ").upper()
