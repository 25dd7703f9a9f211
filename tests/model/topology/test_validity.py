"""Fields out of range are refused; a truth value is no number, though Python counts it as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.errors import EditRefused
from model.topology.types import Device, DeviceKind, Link, LinkKind
from model.topology.validity import check_device, check_link

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
