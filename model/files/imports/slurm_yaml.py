"""Slurm's topology.yaml (25.05 and newer): several topologies, each a tree, blocks, rings, a torus or flat.

    - topology: fabric
      cluster_default: true
      tree: {switches: [{switch: spine, children: "leaf[1-2]"}, {switch: leaf1, nodes: "n[1-8]"}]}

Source: topology.yaml(5) of Slurm 26.11.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Question, Reading
from model.files.imports.slurm_drawing import SlurmTopology, draw
from model.files.imports.yaml_text import YamlList, YamlMap, parse_yaml
from model.files.reading import shown
from model.text import name_list, plural

_KINDS = ("tree", "block", "ring", "torus3d", "flat")


def read(reading: Reading) -> Drawing:
    """The chosen topology as a drawing. Raises `InputError` with the line for what is no such file."""
    source = reading.source
    data = parse_yaml(source.text, source.name)
    entries = [data] if isinstance(data, YamlMap) else data
    if not isinstance(entries, YamlList | list) or not entries:
        raise InputError(f"{source.name} has no list of topologies (- topology: name).")
    named = _named(reading, entries)
    name, kind, entry = _chosen(reading, named)
    topology = SlurmTopology(reading)
    body = entry[kind]
    if kind == "tree":
        _tree(reading, topology, body, entry.lines[kind])
    elif kind in ("block", "ring"):
        _blocks(reading, topology, body, entry.lines[kind], kind)
    else:
        raise InputError(
            f"{source.name}, line {entry.lines[kind]}: topology {name} is {kind}, which names no switches "
            "and no blocks; there is nothing to draw."
        )
    return draw(topology, name)


def _lower(value: YamlMap) -> YamlMap:
    """The same with its keys in lower case."""
    found = YamlMap(value.line)
    for key, each in value.items():
        found[key.lower()] = each
        found.lines[key.lower()] = value.lines[key]
    return found


def _named(reading: Reading, entries: YamlList | list[Any]) -> dict[str, tuple[str, YamlMap]]:
    """Kind and fields of each topology by its name."""
    found: dict[str, tuple[str, YamlMap]] = {}
    lines = entries.lines if isinstance(entries, YamlList) else [1]
    for number, (value, line) in enumerate(zip(entries, lines, strict=True), 1):
        entry = _lower(value) if isinstance(value, YamlMap) else YamlMap(line)
        kinds = [kind for kind in _KINDS if kind in entry]
        if not kinds:
            reading.broken(f"a topology has one of {', '.join(_KINDS)}, not {shown(value)}", line)
            continue
        if len(kinds) > 1:
            reading.contradictory(f"A topology that is {name_list(kinds)}: {kinds[0]} was taken.", line)
        name = str(entry.get("topology") or f"topology{number}")
        if name in found:
            reading.broken(f"the topology {shown(name)} stands there twice", line)
            continue
        found[name] = (kinds[0], entry)
    if not found:
        raise InputError(f"{reading.source.name} has no topology that can be read.")
    said = [f"{name} ({kind})" for name, (kind, _) in found.items()]
    reading.found(
        f"{plural(len(found), 'topology', 'topologies')}: {name_list(said, 12)}.",
        *(entry.line for _, entry in found.values()),
    )
    return found


def _chosen(reading: Reading, named: dict[str, tuple[str, YamlMap]]) -> tuple[str, str, YamlMap]:
    defaults = [name for name, (_, entry) in named.items() if entry.get("cluster_default") is True]
    if len(defaults) > 1:
        reading.contradictory(f"Several topologies are the default of the cluster: {name_list(defaults)}.")
    name = (defaults or list(named))[0]
    if len(named) > 1:
        choices = tuple((each, f"{each} ({kind})") for each, (kind, _) in named.items())
        why = "The file has several of the same nodes."
        name = reading.ask(Question("topology", "Which topology is to be drawn?", name, choices, why=why))
    return (name, *named[name])


def _items(reading: Reading, body: Any, key: str, line: int) -> list[tuple[YamlMap, int]]:
    """The mappings in the list `key` of a topology, with their lines."""
    fields = _lower(body) if isinstance(body, YamlMap) else None
    items = fields.get(key) if fields is not None else body
    if not isinstance(items, YamlList):
        raise InputError(f"{reading.source.name}, line {line}: a list of {key} is expected here.")
    found = []
    for item, place in zip(items, items.lines, strict=True):
        if isinstance(item, YamlMap):
            found.append((_lower(item), place))
        else:
            reading.broken(f"one of the {key} must be a mapping, not {shown(item)}", place)
    return found


def _hosts(reading: Reading, topology: SlurmTopology, item: YamlMap, key: str, line: int) -> list[str]:
    """The names of a host list, which may be a YAML list of host lists, too."""
    value = item.get(key)
    if value is None:
        return []
    texts = value if isinstance(value, YamlList) else [value]
    if any(isinstance(text, YamlMap | YamlList | bool | float) for text in texts):
        reading.broken(f"{key} must be a host list, not {shown(value)}", item.lines.get(key, line))
        return []
    return topology.names(
        ",".join(str(text) for text in texts if text is not None), item.lines.get(key, line)
    )


def _name(reading: Reading, item: YamlMap, key: str, line: int) -> str:
    """The name of a switch or block; "" when it has none and a partial import goes on."""
    value = item.get(key)
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text or re.search(r"[\[\],]", text):
        reading.broken(f"{key} must be a name, not {shown(value)}", item.lines.get(key, line))
        return ""
    return text


def _tree(reading: Reading, topology: SlurmTopology, body: Any, line: int) -> None:
    for item, place in _items(reading, body, "switches", line):
        _say_unknown(reading, item, ("switch", "children", "nodes"), place)
        nodes = _hosts(reading, topology, item, "nodes", place)
        children = _hosts(reading, topology, item, "children", place)
        name = _name(reading, item, "switch", place)
        if name:
            topology.switch(name, place, nodes, children)


def _blocks(reading: Reading, topology: SlurmTopology, body: Any, line: int, key: str) -> None:
    for item, place in _items(reading, body, f"{key}s", line):
        _say_unknown(reading, item, (key, "nodes"), place)
        nodes = _hosts(reading, topology, item, "nodes", place)
        name = _name(reading, item, key, place)
        if name:
            (topology.ring if key == "ring" else topology.block)(name, place, nodes)
    fields = _lower(body) if isinstance(body, YamlMap) else YamlMap(line)
    sizes = fields.get("block_sizes")
    if sizes is None:
        return
    topology.sizes_line = fields.lines["block_sizes"]
    for size in sizes if isinstance(sizes, YamlList) else [sizes]:
        if isinstance(size, bool) or not isinstance(size, int):
            reading.broken(f"block_sizes are whole numbers, not {shown(size)}", topology.sizes_line)
        else:
            topology.block_sizes.append(size)


def _say_unknown(reading: Reading, item: YamlMap, known: tuple[str, ...], line: int) -> None:
    other = Counter(key for key in item if key not in known)
    for key in other:
        reading.ignored(f"The key {key[:40]} means nothing here.", item.lines.get(key, line))


def sniff(head: str, name: str) -> int:
    """By the keys of its list."""
    first = re.search(r"^[ \t]*+-?[ \t]*+topology[ \t]*:[ \t]*\S", head, re.MULTILINE)
    kind = re.search(r"^[ \t]*(?:tree|block|ring|flat|torus3d)[ \t]*:", head, re.MULTILINE)
    if first and kind:
        return 95
    return 40 if kind and name in ("topology.yaml", "topology.yml") else 0


FORMATS = (
    ImportFormat(
        id="slurm-topology-yaml",
        name="Slurm topology.yaml",
        suffixes=(".yaml", ".yml"),
        sniff=sniff,
        read=read,
        how="/etc/slurm/topology.yaml of the cluster (Slurm 25.05 and newer).",
        carries="Which nodes hang on which switch, the tree of switches, or blocks of nodes: one at a time.",
        lacks="Speeds, numbers of cables, GPUs and network cards are not in it; a switch has one above it.",
    ),
)
