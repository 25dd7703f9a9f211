"""The user's own templates: JSON files in a folder, each a drawing with parts that can be counted.

A count names one container or device of the drawing. Building with n makes n of it, each wired to the rest
like the drawn one; ports and size say how many are possible. Files may come from anywhere, so that they are
read like any other file: what is wrong is one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, create_model

from model.document.arrange_row import duplicate_row, most_in_row
from model.document.clipboard import Fragment
from model.document.document import Document
from model.document.start import document_from
from model.errors import EditRefused, InputError
from model.files import project
from model.files.reading import check_version, parse_json, read_json, shown
from model.files.tables import write_table
from model.files.writing import json_text, write_atomic
from model.text import name_list, plural
from model.topology.layout import layout_by_role
from model.topology.types import (
    NETWORK_SWITCHES,
    SCALE_UP_LINKS,
    Container,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.parameters import TemplateParameters
from topology_templates.registry import Template

FORMAT = "railsketch.template"
VERSION = 1
GROUP = "Your own"
PREFIX = "own:"  # ids of own templates, so that none takes the place of one of the program
MOST_DEVICES = 200_000
MOST_FILES = 200
LARGEST_FILE = 64 * 2**20
LONGEST_NAME = 60
MOST_COUNTS = 8
_DEEPEST = 32
_PARAMETER = re.compile(r"(?!model_)[a-z][a-z0-9_]{0,30}")
_NO_HOSTS = NETWORK_SWITCHES | {DeviceKind.STORAGE, DeviceKind.SITE_GATEWAY}


@dataclass(frozen=True, slots=True)
class Count:
    """A parameter: how many of `part` there are. `default` is how many were drawn."""

    parameter: str
    title: str
    part: str
    default: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that is no usable template, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Own:
    """A template that was read: its drawing with one of each counted part, and the ids in each part."""

    name: str
    document: Document
    counts: tuple[Count, ...]
    inside: Mapping[str, frozenset[str]]


def load_folder(folder: Path) -> tuple[tuple[Template, ...], tuple[Broken, ...]]:
    """The templates of a folder by file name, and the files that cannot be used. Never raises."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return (), ()
    found: list[Template] = []
    broken = [
        Broken(_readable(path.name), f"{_readable(path.name)}: only {MOST_FILES} templates are read.")
        for path in paths[MOST_FILES:]
    ]
    for path in paths[:MOST_FILES]:
        try:
            found.append(load_template(path))
        except InputError as error:
            broken.append(Broken(_readable(path.name), _readable(str(error))))
    return tuple(found), tuple(broken)


def load_template(path: Path) -> Template:
    """The template in a file. Raises `InputError` with one sentence."""
    if not path.is_file():
        raise InputError(f"{path} is no file that can be read.")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if size > LARGEST_FILE:
        raise InputError(f"{path} is larger than {LARGEST_FILE // 2**20} MiB, too large for a template.")
    return _template(read_json(path), path)


def _template(data: dict[str, Any], path: Path) -> Template:
    if data.get("format") != FORMAT:
        raise InputError(f"{path} is no Railsketch template: its format is {shown(data.get('format'))}.")
    check_version(data, VERSION, path)
    name = _text(data, "name", path)
    if not name:
        raise InputError(f"{path}: the template has no name.")
    drawing: dict[str, Any] = {"format": project.FORMAT, "version": 1, "name": name}
    drawing |= {key: data[key] for key in ("topology", "layout") if key in data}
    document = project.project_from_json(drawing, path)
    _check_depth(document, path)
    if not document.topology.devices():
        raise InputError(f"{path}: the template holds no device.")
    if document.layout.keys() != {device.id for device in document.topology.devices()}:
        document.layout = layout_by_role(document.topology)
    counts = _read_counts(data.get("counts", []), document, path)
    own = _Own(name, document, counts, {one.part: _held(document, one.part) for one in counts})
    _check_apart(own, path)
    return Template(
        f"{PREFIX}{_readable(path.stem)}",
        GROUP,
        name,
        _text(data, "summary", path) or _summary(own),
        _parameters(own),
        partial(_build, own),
        partial(_count, own),
    )


def save_template(
    path: Path, name: str, summary: str, fragment: Fragment, counts: Sequence[Count] = ()
) -> None:
    """Write a template, and the folder where it is missing.

    Raises `InputError` when it cannot be written, or would not be read again.
    """
    boxes = {box.id for box in fragment.containers}
    devices = [each if each.parent in boxes else replace(each, parent=None) for each in fragment.devices]
    containers = [
        each if each.parent in boxes else replace(each, parent=None) for each in fragment.containers
    ]
    data = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "summary": summary,
        "counts": [
            {"parameter": one.parameter, "title": one.title, "part": one.part, "default": one.default}
            for one in counts
        ],
        "topology": {
            "containers": write_table(containers, Container, {}),
            "devices": write_table(devices, Device, {}),
            "links": write_table(fragment.links, Link, {}),
        },
        "layout": {
            "columns": ["id", "x", "y"],
            "rows": [[ident, *at] for ident, at in fragment.positions.items()],
        },
    }
    text = json_text(data)
    _template(parse_json(text.encode(), path), path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be made: {error.strerror}.") from None
    write_atomic(path, text, backup=True)


def file_name(name: str) -> str:
    """The file that a template of this name is kept in."""
    kept = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:LONGEST_NAME]
    return f"{kept or 'template'}.json"


# Reading


def _readable(name: str) -> str:
    """A file name without bytes that are no text, which some systems allow."""
    return name.encode("utf-8", "replace").decode()


def _text(data: Mapping[str, Any], name: str, path: Path) -> str:
    value = data.get(name, "")
    longest = LONGEST_NAME if name == "name" else 200
    if not isinstance(value, str) or len(value) > longest or not (value.isprintable() or not value):
        raise InputError(
            f"{path}: {name} must be a text of at most {longest} printable characters, not {shown(value)}."
        )
    return value.strip()


def _read_counts(value: object, document: Document, path: Path) -> tuple[Count, ...]:
    if not isinstance(value, list) or len(value) > MOST_COUNTS:
        raise InputError(f"{path}: counts must be a list of at most {MOST_COUNTS}, not {shown(value)}.")
    found: list[Count] = []
    for item in value:
        if not isinstance(item, dict):
            raise InputError(f"{path}: a count must be an object, not {shown(item)}.")
        parameter, part, default = item.get("parameter"), item.get("part"), item.get("default")
        if not isinstance(parameter, str) or not _PARAMETER.fullmatch(parameter):
            raise InputError(f"{path}: {shown(parameter)} is no name for a parameter; nodes would be one.")
        if hasattr(TemplateParameters, parameter) or parameter in {one.parameter for one in found}:
            raise InputError(f"{path}: the parameter name {shown(parameter)} is taken.")
        if not isinstance(part, str) or not document.topology.has(part) or document.topology.has_link(part):
            raise InputError(f"{path}: {parameter} counts {shown(part)}, and nothing is called so.")
        if type(default) is not int or not 1 <= default <= MOST_DEVICES:
            raise InputError(f"{path}: {parameter} must be a whole number from 1 on, not {shown(default)}.")
        found.append(Count(parameter, _text(item, "title", path) or parameter, part, default))
    return tuple(found)


def _check_depth(document: Document, path: Path) -> None:
    around = {box.id: box.parent for box in document.topology.containers()}
    for ident in around:
        depth, place = 0, around[ident]
        while place is not None:
            depth, place = depth + 1, around[place]
            if depth > _DEEPEST:
                raise InputError(f"{path}: {ident} lies in more than {_DEEPEST} containers.")


def _held(document: Document, part: str) -> frozenset[str]:
    """The devices of a counted part."""
    topology = document.topology
    if topology.has_device(part):
        return frozenset({part})
    return frozenset(ident for ident in topology.descendants(part) if topology.has_device(ident))


def _check_apart(own: _Own, path: Path) -> None:
    """Counted parts hold devices, do not overlap, and no links run between two of them."""
    owner: dict[str, str] = {}
    for part, inside in own.inside.items():
        if not inside:
            raise InputError(f"{path}: {part} is counted, and holds no device.")
        for ident in inside:
            if ident in owner:
                raise InputError(f"{path}: {ident} is in two counted parts, {owner[ident]} and {part}.")
            owner[ident] = part
    if len(own.inside) != len(own.counts):
        raise InputError(f"{path}: a part is counted twice.")
    for link in own.document.topology.links():
        a, b = owner.get(link.a), owner.get(link.b)
        if a and b and a != b:
            raise InputError(f"{path}: {a} and {b} are joined to each other; only one can be counted.")


def _parameters(own: _Own) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    total = len(own.document.topology.devices())
    for one in own.counts:
        inside = own.inside[one.part]
        by_size = max(1, (MOST_DEVICES - total) // len(inside) + 1)
        most = min(by_size, most_in_row(own.document.topology, inside))
        fields[one.parameter] = (
            int,
            Field(
                default=min(one.default, most),
                ge=1,
                le=most,
                title=one.title,
                description=f"{plural(len(inside), 'device')} each; at most {most:,} fit.",
            ),
        )
    made: type[BaseModel] = create_model("OwnParameters", __base__=TemplateParameters, **fields)
    return made


def _summary(own: _Own) -> str:
    if own.counts:
        return (
            f"Drawn by you, with as many {name_list([one.title.casefold() for one in own.counts])} as asked"
        )
    devices = own.document.topology.devices()
    gpus = sum(device.kind is DeviceKind.GPU for device in devices)
    return f"Drawn by you: {plural(gpus, 'GPU')}, {plural(len(devices), 'device')} in all"


# Building


def _build(own: _Own, parameters: BaseModel) -> TemplateContent:
    topology = own.document.topology
    parts = (topology.devices(), topology.links(), topology.containers())
    document = document_from(TemplateContent(own.name, *parts, own.document.layout))
    changed = False
    for one in own.counts:
        number = int(getattr(parameters, one.parameter))
        if number > 1:
            row = duplicate_row(document, (one.part,), number - 1)
            if row.left_out:
                raise InputError(f"{one.parameter} = {number} does not work: {row.left_out}")
            try:
                row.edit.apply(document)
            except EditRefused as refusal:
                raise InputError(f"{one.parameter} = {number} does not work: {refusal}") from None
            changed = True
    built = document.topology
    layout = layout_by_role(built) if changed else document.layout
    return TemplateContent(own.name, built.devices(), built.links(), built.containers(), layout)


def _count(own: _Own, parameters: BaseModel) -> TemplateCounts:
    """Counts without building: what is inside or ends at a counted part counts as often as it."""
    times = {
        ident: int(getattr(parameters, one.parameter)) for one in own.counts for ident in own.inside[one.part]
    }
    found = {kind.value: 0 for kind in DeviceKind}
    found |= dict.fromkeys(("links", "nvlink_lanes", "host_leaf", "leaf_spine", "spine_core", "wan"), 0)
    topology = own.document.topology
    for device in topology.devices():
        found[device.kind.value] += times.get(device.id, 1)
    for link in topology.links():
        number = max(times.get(link.a, 1), times.get(link.b, 1))
        found["links"] += number
        key = _cable(link, topology.device(link.a).kind, topology.device(link.b).kind)
        if key:
            found[key] += number * link.count
    return {**found, "devices": sum(found[kind.value] for kind in DeviceKind)}


def _cable(link: Link, a: DeviceKind, b: DeviceKind) -> str:
    ends = {a, b}
    if link.kind in SCALE_UP_LINKS:
        return "nvlink_lanes"
    if link.kind is LinkKind.WAN:
        return "wan"
    if ends == {DeviceKind.LEAF, DeviceKind.SPINE}:
        return "leaf_spine"
    if ends == {DeviceKind.SPINE, DeviceKind.CORE}:
        return "spine_core"
    others = ends - {DeviceKind.LEAF}
    return "host_leaf" if len(ends) == 2 and len(others) == 1 and others.isdisjoint(_NO_HOSTS) else ""
