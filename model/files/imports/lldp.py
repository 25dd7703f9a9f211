"""`lldpctl -f json` (or json0) of several hosts and switches: who is at the other end of each interface.

One file per host, which the name of the file tells. Grammar: lldpcli(8). With one neighbour "interface" is an
object, with several a list of objects; json0 writes every field as a list and every value as {"value": …}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, NoteKind, Reading
from model.files.imports.cabling import Cable, Cabling, End, Role
from model.files.imports.cabling_drawing import draw
from model.files.reading import parse_json
from model.files.reading_text import Source
from model.text import name_list, plural
from model.topology.types import LinkKind

_PASTED = "the pasted text"  # the name that such a text has
_ENDINGS = re.compile(r"(?:\.(?:json0?|txt|out|gz))+$", re.IGNORECASE)
_FILE_WORDS = re.compile(
    r"^lldp(?:ctl|cli)?(?:[-_.]|$)|[-_.]lldp(?:ctl|cli)?$|[-_.]neighbou?rs?$", re.IGNORECASE
)
_INTERFACE = re.compile(r"[A-Za-z][\w./:-]{0,40}")
_MAC = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_SWITCHING = ("bridge", "router")
_HOST_SYSTEM = re.compile(r"ubuntu|debian gnu|red hat|rocky|centos|suse|windows|esx", re.IGNORECASE)


def read(reading: Reading) -> Drawing:
    """The hosts and switches of all files. Raises `InputError` where no file names a neighbour."""
    hosts: dict[str, str] = {}
    neighbours: list[_Neighbour] = []
    for source in reading.sources:
        data = parse_json(source.text.encode("utf-8", "replace"), Path(source.name))
        host = _host(reading, source, data)
        if host in hosts:
            reading.note(NoteKind.CONTRADICTORY, f"{hosts[host]} is of {host}, too.", source=source)
        hosts[host] = source.name
        neighbours.extend(_Neighbours(reading, source, host).read(data))
    if not neighbours:
        raise InputError(f"{reading.source.name} names no neighbour: lldp, interface with chassis and port.")
    short = _without_domains(reading, [*hosts, *(each.name for each in neighbours)])
    cabling = Cabling(reading, LinkKind.ETHERNET)
    for host in hosts:
        cabling.box(short.get(host, host))
    for each in neighbours:
        box = cabling.box(short.get(each.name, each.name))
        if box.role is Role.UNKNOWN:
            box.role = each.role
        near = End(short.get(each.host, each.host), each.interface)
        cabling.cable(Cable(near, End(box.name, each.port)), each.source)
    count = plural(len(neighbours), "neighbour")
    reading.found(f"{count} in {plural(len(reading.sources), 'file')}.")
    return draw(cabling, "LLDP fabric" if len(hosts) > 1 else next(iter(hosts)))


def _host(reading: Reading, source: Source, data: Mapping[str, Any]) -> str:
    """The name of the host that a file is of: as it says itself, else by the name of the file."""
    own = _first(data.get("local-chassis"))
    chassis = _first(own.get("chassis")) if isinstance(own, Mapping) else None
    if isinstance(chassis, Mapping):
        name = _chassis_name(chassis)[0]
        if name:
            return name
    name = _FILE_WORDS.sub("", _ENDINGS.sub("", source.name[:200])).strip()
    if name and source.name != _PASTED and name != "stdin":
        reading.note(NoteKind.INFERRED, f"It is of the host {name}, by the name of the file.", source=source)
        return name
    reading.note(NoteKind.GUESSED, "Its host is called host: nothing says a name.", source=source)
    return "host"


def _first(value: Any) -> Any:
    """What a field of json0 holds: the first of a list."""
    return value[0] if isinstance(value, list) and value else value


def _text(value: Any) -> str:
    """A text as json or json0 write it; "" for anything else."""
    value = _first(value)
    if isinstance(value, Mapping):
        value = _first(value.get("value"))
    return value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _chassis_name(chassis: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of a chassis and its fields. Its name is the key around the fields, or a field, or missing."""
    if "id" in chassis or "name" in chassis:
        return _text(chassis.get("name")) or _identity(chassis.get("id"))[1], chassis
    for name, fields in chassis.items():
        inner = _first(fields)
        if isinstance(inner, Mapping):
            return name.strip(), inner
    return "", {}


def _identity(value: Any) -> tuple[str, str]:
    """Type and value of an id: ("mac", "02:00:…")."""
    value = _first(value)
    if not isinstance(value, Mapping):
        return "", _text(value)
    return _text(value.get("type")), _text(value.get("value"))


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """Who is at the other end of an interface. `port` is empty where only its MAC address is known."""

    host: str
    interface: str
    name: str
    port: str
    role: Role
    source: Source


class _Neighbours:
    """The neighbours of one file."""

    def __init__(self, reading: Reading, source: Source, host: str) -> None:
        self._reading = reading
        self._source = source
        self._host = host

    def read(self, data: Mapping[str, Any]) -> list[_Neighbour]:
        """All that say who they are."""
        lldp = _first(data.get("lldp"))
        if not isinstance(lldp, Mapping):
            raise InputError(f"{self._source.name} has no field lldp, which lldpctl -f json writes.")
        found = (self._neighbour(name, fields) for name, fields in self._interfaces(lldp.get("interface")))
        return [each for each in found if each is not None]

    def _interfaces(self, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, Mapping):
                if item is not None:
                    self._broken("an interface must be an object")
                continue
            if "chassis" in item or isinstance(item.get("name"), str):
                yield _text(item.get("name")), item
                continue
            for name, fields in item.items():
                for one in fields if isinstance(fields, list) else [fields]:
                    if isinstance(one, Mapping):
                        yield name.strip(), one
                    else:
                        self._broken(f"the interface {name[:40]} must be an object")

    def _broken(self, text: str) -> None:
        self._reading.broken(text, source=self._source)

    def _note(self, kind: NoteKind, text: str) -> None:
        self._reading.note(kind, text, source=self._source)

    def _neighbour(self, interface: str, fields: Mapping[str, Any]) -> _Neighbour | None:
        protocol = _text(fields.get("via"))
        if protocol and protocol.upper() != "LLDP":
            self._note(NoteKind.INFERRED, f"Neighbours were also taken that speak {protocol[:20]}.")
        chassis = _first(fields.get("chassis"))
        name, inner = _chassis_name(chassis) if isinstance(chassis, Mapping) else ("", {})
        if not name:
            self._note(NoteKind.IGNORED, "Interfaces without a neighbour that says who it is were left out.")
            return None
        if _MAC.fullmatch(name):
            self._note(NoteKind.INFERRED, "Neighbours that send no name are called by their MAC address.")
        port = self._port(fields.get("port"))
        return _Neighbour(self._host, interface, name, port, _role(inner), self._source)

    def _port(self, value: Any) -> str:
        """The name of the port at the other end; "" where only a MAC address or a number is known."""
        port = _first(value)
        if not isinstance(port, Mapping):
            return ""
        kind, ident = _identity(port.get("id"))
        if kind in ("ifname", "interfacename", "") and ident:
            return ident
        description = _text(port.get("descr"))
        if _INTERFACE.fullmatch(description):
            self._note(
                NoteKind.INFERRED, f"Ports known by {kind or 'an id'} only are called by their description."
            )
            return description
        return "" if kind == "mac" else ident


def _role(chassis: Mapping[str, Any]) -> Role:
    """What a neighbour says of itself. Hosts with containers bridge, too, so their system counts more."""
    enabled: dict[str, bool] = {}
    capabilities = chassis.get("capability")
    for each in capabilities if isinstance(capabilities, list) else [capabilities]:
        if isinstance(each, Mapping):
            enabled[_text(each.get("type")).lower()] = each.get("enabled") in (True, "true", "on")
    if any(enabled.get(word) for word in _SWITCHING):
        return Role.UNKNOWN if _HOST_SYSTEM.search(_text(chassis.get("descr"))) else Role.SWITCH
    return Role.HOST if enabled.get("station") else Role.UNKNOWN


def _without_domains(reading: Reading, names: Iterable[str]) -> dict[str, str]:
    """Names with a domain that are there without one, too, and what they are without: one box has both."""
    known = set(names)
    full = {name: name.partition(".")[0] for name in known if "." in name}
    pairs = {name: short for name, short in full.items() if short in known}
    if pairs:
        reading.inferred(f"Names with and without a domain are those of one box: {name_list(sorted(pairs))}.")
    return pairs


def sniff(head: str, name: str) -> int:
    """By its first fields."""
    if re.match(r'\s*+\{\s*+"lldp"\s*+:', head):
        return 95
    return 60 if '"lldp"' in head and '"chassis"' in head and head.lstrip().startswith("{") else 0


FORMATS = (
    ImportFormat(
        id="lldp-json",
        name="LLDP neighbours (lldpctl, JSON)",
        suffixes=(".json", ".json0"),
        sniff=sniff,
        read=read,
        how="lldpctl -f json > $(hostname).json on each host and switch; all files together.",
        carries="Which interface of a host is on which port of which switch, as it is cabled.",
        lacks="Speeds are not in it and asked for; cables between boxes that gave no file are missing.",
        several=True,
    ),
)
