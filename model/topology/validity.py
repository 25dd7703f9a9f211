"""What a single device, link or container must satisfy, whoever made it."""

from __future__ import annotations

from model.errors import EditRefused
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State

_LARGEST = 2**53  # above it a JSON number no longer holds every integer
_ID_LENGTH = 200
HIGHEST_U = 1000.0
"""No rack or thing in one is higher; what counts its U stays quick."""
_MOST_OF_A_THING = 1e9  # watts and kilograms: more than any rack, and readable
_LEAST_SHARE = 1e-6  # what delivers less is down; seconds stay far from overflowing

# Fields that are held as float, so that a whole number reads the same everywhere.
FLOAT_FIELDS = frozenset(
    {
        "speed",
        "height_u",
        "power_w",
        "weight_kg",
        "lane_bytes_per_s",
        "share",
        "latency_s",
        "length_m",
    }
)


def _refuse(what: str, ident: object, why: str) -> None:
    raise EditRefused(" ".join(f'{what} "{str(ident)[:80]}": {why}.'.split()))


def check_id(what: str, ident: object) -> None:
    """Raise `EditRefused` unless `ident` can name a thing in files, lists and on the drawing."""
    if isinstance(ident, str) and len(ident) <= _ID_LENGTH and ident.isprintable() and ident.strip():
        return
    if not isinstance(ident, str) or not ident.strip():
        _refuse(what, ident, "an id must be a text that is not empty")
        return
    if len(ident) > _ID_LENGTH or not ident.isprintable():
        _refuse(what, ident, f"an id must be at most {_ID_LENGTH} printable characters")


def _number(what: str, ident: str, name: str, value: object, *, least: float, most: float = 1e30) -> None:
    """`value` must be a finite number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(what, ident, f"{name} must be a number, not {str(value)[:40]!r}")
    elif not least <= value <= most:
        _refuse(what, ident, f"{name} must be from {least:g} to {most:g}, not {str(value)[:40]}")


def _not_negative(what: str, ident: str, name: str, value: object, most: float = 1e30) -> None:
    """`value` must be a finite number in [0, most]; None passes."""
    if value is None or (isinstance(value, int | float) and value == 0 and not isinstance(value, bool)):
        return
    _number(what, ident, name, value, least=0.0, most=most)


def _integer(what: str, ident: str, name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        _refuse(what, ident, f"{name} must be a whole number from {least} on, not {str(value)[:40]}")


def _text(what: str, ident: str, name: str, value: object) -> None:
    if not isinstance(value, str):
        _refuse(what, ident, f"{name} must be a text, not {str(value)[:40]!r}")


def _kind(what: str, ident: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        _refuse(what, ident, f"{str(value)[:40]!r} is no kind of {what}")


def _rack_fields(what: str, thing: Device | Container) -> None:
    if thing.u is not None:
        _integer(what, thing.id, "u", thing.u, least=0)
    if thing.height_u is not None:
        _not_negative(what, thing.id, "height_u", thing.height_u, most=HIGHEST_U)
    for name, value in (("power_w", thing.power_w), ("weight_kg", thing.weight_kg)):
        if value is not None:
            _not_negative(what, thing.id, name, value, most=_MOST_OF_A_THING)
    if thing.parent is not None:
        check_id(what, thing.parent)


def check_device(device: Device) -> None:
    """Raise `EditRefused` with one sentence where a field of the device is out of range."""
    check_id("device", device.id)
    if type(device.kind) is not DeviceKind:
        _kind("device", device.id, device.kind, DeviceKind)
    if type(device.state) is not State:
        _refuse("device", device.id, f"state must be up, degraded or down, not {device.state!r}")
    if type(device.model) is not str or type(device.label) is not str:
        _text("device", device.id, "model", device.model)
        _text("device", device.id, "label", device.label)
    if device.rail is not None:
        _integer("device", device.id, "rail", device.rail, least=0)
    if type(device.speed) is not float or device.speed != 1.0:
        _number("device", device.id, "speed", device.speed, least=_LEAST_SHARE, most=1.0)
    _rack_fields("device", device)


def check_link(link: Link) -> None:
    """Raise `EditRefused` with one sentence where a field of the link is out of range."""
    check_id("link", link.id)
    if type(link.kind) is not LinkKind:
        _kind("link", link.id, link.kind, LinkKind)
    if type(link.state) is not State:
        _refuse("link", link.id, f"state must be up, degraded or down, not {link.state!r}")
    if type(link.a) is not str or type(link.b) is not str:
        _refuse("link", link.id, "its ends must be ids of devices")
    if link.a == link.b:
        _refuse("link", link.id, f"both ends are {link.a}; a link joins two devices")
    _number("link", link.id, "the speed of a lane in bytes/s", link.lane_bytes_per_s, least=1.0, most=1e18)
    if type(link.count) is not int or link.count != 1:
        _integer("link", link.id, "count", link.count, least=1)
    if link.count > 1_000_000:
        _refuse("link", link.id, f"a bundle holds at most 1,000,000 cables, not {link.count:,}")
    if type(link.share) is not float or link.share != 1.0:
        _number("link", link.id, "share", link.share, least=_LEAST_SHARE, most=1.0)
    _not_negative("link", link.id, "latency_s", link.latency_s)
    _not_negative("link", link.id, "length_m", link.length_m)


def check_container(container: Container) -> None:
    """Raise `EditRefused` with one sentence where a field of the container is out of range."""
    check_id("container", container.id)
    if type(container.kind) is not ContainerKind:
        _kind("container", container.id, container.kind, ContainerKind)
    _text("container", container.id, "label", container.label)
    for name, place in (("row", container.row), ("column", container.column)):
        if place is not None:
            _integer("container", container.id, name, place, least=0)
    _rack_fields("container", container)
