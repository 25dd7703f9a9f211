"""Fields out of range are refused; a truth value is no number, though Python counts it as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.errors import EditRefused
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from model.topology.validity import check_container, check_device, check_link

DEVICE = Device("gpu0", DeviceKind.GPU, "h100-sxm")
LINK = Link("a", "gpu0", "gpu1", LinkKind.NVLINK, 25e9)


@pytest.mark.parametrize("speed", [True, 0.0, 1.5, float("nan"), "1"])
def test_a_speed_that_is_no_share(speed: object) -> None:
    check_device(DEVICE)
    with pytest.raises(EditRefused, match="speed"):
        check_device(replace(DEVICE, speed=speed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"), [("count", True), ("count", 0), ("share", True), ("share", 1.01)]
)
def test_a_bundle_that_cannot_be(field: str, value: object) -> None:
    check_link(LINK)
    with pytest.raises(EditRefused, match=field):
        check_link(replace(LINK, **{field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("height", [-0.5, float("nan"), float("inf"), 1000.5, 1e9])
def test_a_height_that_no_rack_has(height: float) -> None:
    rack = Container("rack0", ContainerKind.RACK)
    for fine in (0.0, 0.5, 48.0, 1000.0):
        check_container(replace(rack, height_u=fine))
        check_device(replace(DEVICE, height_u=fine))
    with pytest.raises(EditRefused, match="height_u must be from 0 to 1000"):
        check_container(replace(rack, height_u=height))
    with pytest.raises(EditRefused, match="height_u must be from 0 to 1000"):
        check_device(replace(DEVICE, height_u=height))
