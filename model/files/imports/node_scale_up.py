"""NVLink and xGMI of a node: switch chips as the catalogue wires the platform, or what the user says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from model.catalog import GpuSpec, PlatformSpec, catalog
from model.files.importing import Question, Reading
from model.files.imports.building import DrawingBuilder
from model.topology.types import DeviceKind, LinkKind

MOST_LANES = 72  # NVLinks of one GPU; more is a misread figure


def scale_up_kind(gpu: GpuSpec) -> LinkKind:
    """NVLink, or xGMI for a GPU that has no generation of NVLink."""
    return LinkKind.XGMI if gpu.nvlink_generation is None else LinkKind.NVLINK


def draw_switched(
    builder: DrawingBuilder,
    lanes: Mapping[str, int],
    gpu: GpuSpec,
    parent: str | None,
    *,
    lane_bytes_per_s: float | None = None,
) -> None:
    """NVLink switches for GPUs (ids) with so many lanes each, wired as the catalogue's platform.

    Where the catalogue has no platform that fits, as few chips as have the ports. `parent` is the tray of
    one host; None for a domain of several, whose chips stand outside.
    """
    chip, shares = _chips(gpu, max(lanes.values()), len(lanes), parent is None)
    rate = lane_bytes_per_s or gpu.scale_up_lane_bytes_per_s
    chips = [
        builder.device(
            f"{parent}.nvs{number}" if parent else f"nvs{number}",
            DeviceKind.NVLINK_SWITCH,
            chip,
            parent=parent,
        )
        for number in range(len(shares))
    ]
    for ident, count in lanes.items():
        left = count
        for switch, share in zip(chips, shares, strict=True):
            if min(share, left) > 0:
                builder.link(ident, switch, LinkKind.NVLINK, rate, min(share, left))
            left -= min(share, left)
    called = catalog().nvlink_switches[chip].name
    if len(chips) == 1:
        builder.reading.inferred(f"NVLink runs through one switch, drawn as {called}.")
    else:
        each = "/".join(map(str, shares[:6])) + ("/…" if len(shares) > 6 else "")
        builder.reading.inferred(
            f"NVLink runs through {len(chips)} switches, drawn as {called}, {each} links of a GPU to each."
        )


def draw_shown(builder: DrawingBuilder, lanes: Mapping[str, int], gpu: GpuSpec, name: str) -> bool:
    """The one NVLink switch that a file shows, in the tray of the first GPU, with lanes of each GPU.

    False, and nothing drawn, where the GPUs have no such switch, or it has too few ports.
    """
    chips = catalog().nvlink_switches.values()
    chip = next((one for one in chips if one.nvlink_generation == gpu.nvlink_generation), None)
    if chip is None or sum(lanes.values()) > chip.ports:
        return False
    parent = builder.of(next(iter(lanes))).parent
    switch = builder.device(name, DeviceKind.NVLINK_SWITCH, chip.id, parent=parent)
    for ident, count in lanes.items():
        builder.link(ident, switch, LinkKind.NVLINK, gpu.scale_up_lane_bytes_per_s, count)
    return True


def _chips(gpu: GpuSpec, lanes: int, gpus: int, domain: bool) -> tuple[str, tuple[int, ...]]:
    """The switch chip, and how many lanes of a GPU go to each of them."""
    for platform in _platforms(gpu):
        wiring = platform.nvlink_wiring
        in_one_host = platform.gpus_per_tray is None
        if wiring is None or gpus > platform.gpus or in_one_host is domain:
            continue
        shares = wiring.links_per_gpu_to_each_switch_chip
        if wiring.tiers == 1 and sum(shares) == lanes:
            return wiring.switch_chip, tuple(shares)
    chips = catalog().nvlink_switches
    chip = next(
        (spec for spec in chips.values() if spec.nvlink_generation == gpu.nvlink_generation),
        next(iter(chips.values())),
    )
    count = min(max(1, math.ceil(gpus * lanes / chip.ports)), lanes)
    each, more = divmod(lanes, count)
    return chip.id, tuple(each + (number < more) for number in range(count))


def _platforms(gpu: GpuSpec) -> list[PlatformSpec]:
    return [platform for platform in catalog().platforms.values() if platform.gpu == gpu.id]


def platform_of(gpu: GpuSpec, gpus: int) -> PlatformSpec | None:
    """The host of the catalogue with so many of these GPUs (a tray of a rack does not count)."""
    return next(
        (
            platform
            for platform in _platforms(gpu)
            if platform.gpus_per_tray is None and platform.gpus == gpus
        ),
        None,
    )


def draw_unsaid(builder: DrawingBuilder, gpus: Sequence[str], gpu: GpuSpec, tray: str, why: str) -> None:
    """Ask what joins the GPUs of a host of which the text says nothing, and draw the answer."""
    platform = platform_of(gpu, len(gpus))
    if len(gpus) < 2:
        return
    choices = [("none", "Nothing but PCIe")]
    if platform is not None:
        choices.insert(0, ("catalogue", f"As in the catalogue's {platform.name}"))
    elif gpu.nvlink_generation is not None:
        choices.append(("switch", f"An NVLink switch, {gpu.scale_up_links} links to each GPU"))
    default = "catalogue" if platform is not None else "none"
    answer = builder.reading.ask(
        Question("scale_up", "What joins the GPUs?", default, tuple(choices), why=why)
    )
    if answer == "none":
        builder.reading.guessed(f"{why} None is drawn; that does not mean that there is none.")
        return
    what = f"{platform.name} of the catalogue" if platform is not None else "an NVLink switch"
    builder.reading.guessed(f"{why} Drawn like {what}.")
    if platform is not None and platform.mesh is not None:
        for first, second in combinations(gpus, 2):
            builder.link(
                first, second, scale_up_kind(gpu), gpu.scale_up_lane_bytes_per_s, platform.mesh.links_per_pair
            )
    else:
        draw_switched(builder, dict.fromkeys(gpus, gpu.scale_up_links), gpu, tray)


def ask_switch(reading: Reading, why: str, *, default: bool) -> bool:
    """Whether NVLinks go through a switch; else they join each pair of GPUs."""
    choices = (("switch", "An NVLink switch joins all GPUs"), ("direct", "Each pair has its own links"))
    question = Question(
        "nvlink", "How are the GPUs joined?", "switch" if default else "direct", choices, why=why
    )
    return reading.ask(question) == "switch"
