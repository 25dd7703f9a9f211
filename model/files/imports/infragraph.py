"""InfraGraph files (JSON or YAML), written out by the Python package `infragraph`, an optional extra.

An infrastructure has devices made of components, instances of devices, and edges between components. What the
package makes of it, a graph of components, becomes a drawing here: an instance with GPUs is a tray, one with
ports and without GPUs a network switch, a device inside a device without GPUs (a network card with its ports)
one device.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.foreign_words import number_of, speed_of
from model.files.imports.graph_drawing import GraphDrawing
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.files.imports.infragraph_size import check_size
from model.files.imports.json_text import parse_object, text_of
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.yaml_text import parse_yaml
from model.text import plural
from model.topology.types import ContainerKind

_PER_SECOND = {"ms": 1e3, "us": 1e6, "ns": 1e9}
_DROPPED = frozenset({"memory"})
_TYPES = {"xpu": Role.GPU, "nic": Role.NIC, "cpu": Role.CPU}
_SCALE_UP = re.compile(r"nv|xgmi|xpu_fabric|scale.?up|ici", re.IGNORECASE)
_PCIE = re.compile(r"pci|plx", re.IGNORECASE)
_SENSELESS = frozenset(
    {frozenset({Role.NVLINK_SWITCH, other}) for other in (Role.PCIE_SWITCH, Role.CPU, Role.NIC)}
    | {frozenset({Role.SWITCH, Role.NVLINK_SWITCH})}
)


def sniff(head: str, name: str) -> int:
    """Components with a choice, in devices that edges with ep1 and ep2 join."""
    has = [
        bool(re.search(rf'"?\b{key}"?\s*:', head)) for key in ("components", "choice", "ep1", "ep2", "count")
    ]
    if not all(has[:2]):
        return 0
    return 92 if all(has) else 40


def read(reading: Reading) -> Drawing:
    """The infrastructure, or one device as a node that can be merged."""
    data, whole = _infrastructure(reading)
    check_size(reading, data)
    return _Contracted(reading, data, _written_out(reading, data)).drawing(whole=whole)


def _infrastructure(reading: Reading) -> tuple[dict[str, Any], bool]:
    """The infrastructure in the text; of a single device, one with one instance of it."""
    source = reading.source
    if source.text.lstrip().startswith("{"):
        data: Any = parse_object(source)
    else:
        data = _plain(parse_yaml(source.text, source.name))
    if isinstance(data, dict) and isinstance(data.get("infrastructure"), dict):
        if data.get("annotations"):
            reading.ignored("Annotations are not read.")
        data = data["infrastructure"]
    if isinstance(data, dict) and isinstance(data.get("components"), list):
        name = text_of(data.get("name")) or "device"
        instance = {"name": name, "device": name, "count": 1}
        return {"name": name, "devices": [data], "instances": [instance], "edges": [], "links": []}, False
    if not isinstance(data, dict) or not isinstance(data.get("devices"), list):
        raise InputError(f"{source.name} has no devices; an InfraGraph infrastructure or device is expected.")
    return data, True


def _plain(value: Any) -> Any:
    """Plain dicts and lists, which the package wants."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _written_out(reading: Reading, data: dict[str, Any]) -> Any:
    """The graph of components that the package makes. Raises `InputError` with what it says."""
    try:
        package = import_module("infragraph")
        service = import_module("infragraph.infragraph_service").InfraGraphService()
    except ImportError:
        raise InputError(
            "InfraGraph files are read by the Python package infragraph, which is not installed: "
            "pip install railsketch[infragraph]."
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            infrastructure = package.Infrastructure()
            infrastructure.deserialize(data)
            service.set_graph(infrastructure)
        return service.get_networkx_graph()
    except Exception as error:
        # The package raises bare exceptions of many kinds, KeyError and AttributeError among them.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{reading.source.name} is no valid InfraGraph: {reason.rstrip('.')}.") from None


class _Contracted:
    """The graph of components with those put together that are one device here."""

    def __init__(self, reading: Reading, data: Mapping[str, Any], graph: Any) -> None:
        self.reading, self.data, self.graph = reading, data, graph
        self.facts: dict[str, Mapping[str, Any]] = {
            str(name): facts for name, facts in graph.nodes(data=True)
        }
        self.roles: dict[str, Role] = {}
        self.device_of: dict[str, str] = {}
        self.slots = 0

    def drawing(self, *, whole: bool) -> Drawing:
        """Switches and hosts, what is inside, then the edges between different devices."""
        self._sort_out()
        drawn = GraphDrawing(self.reading, Models(self.reading, self._gpu()))
        names = {device: drawn.node(self._node(drawn, device, role)) for device, role in self.roles.items()}
        for (a, b, _, speed, latency), count in self._edges().items():
            total = None if speed is None else speed * count
            drawn.edge(Edge(names[a], names[b], total, count if count > 1 else None, latency))
        kinds = Counter(role for role in self.roles.values())
        self.reading.found(
            f"{plural(len(self.facts), 'component')}: {plural(kinds[Role.GPU], 'GPU')}, "
            f"{plural(kinds[Role.NIC], 'network card')}, "
            f"{plural(kinds[Role.SWITCH], 'network switch', 'network switches')}"
        )
        if self.slots:
            self.reading.inferred(
                f"{plural(self.slots, 'slot or bridge', 'slots and bridges')}: drawn as PCIe switches, as "
                "they pass on what comes."
            )
        title = text_of(self.data.get("name"))
        return drawn.drawing(
            title if title.isprintable() and title else self.reading.source.name, whole=whole
        )

    def _sort_out(self) -> None:
        """Which device each component is part of, and what each device is."""
        instances: dict[str, list[str]] = {}
        for name in self.facts:
            instances.setdefault(_instance(name), []).append(name)
        for instance, members in instances.items():
            types = {self._type(name) for name in members}
            if "xpu" not in types and types & {"port", "switch"}:
                self.roles[instance] = Role.SWITCH
                self.device_of.update(dict.fromkeys(members, instance))
            else:
                self._sort_host(members)

    def _sort_host(self, members: list[str]) -> None:
        cards: dict[str, list[str]] = {}
        for name in members:
            group = str(self.facts[name].get("composed_device", ""))
            # server.0 is the host itself; server.0.cx5.0 a device inside it.
            cards.setdefault(group if group.count(".") > 1 else "", []).append(name)
        loose = cards.pop("", [])
        for card, inside in cards.items():
            types = {self._type(name) for name in inside}
            if "xpu" in types:
                loose.extend(inside)
            elif types & {"nic", "port"}:
                self.roles[card] = Role.NIC
                self.device_of.update(dict.fromkeys(inside, card))
            else:
                self.roles[card] = Role.PCIE_SWITCH
                self.device_of.update(dict.fromkeys(inside, card))
        ports = []
        for name in loose:
            role = self._role(name)
            if role is not None:
                self.roles[name] = role
                self.device_of[name] = name
            elif self._type(name) == "port":
                ports.append(name)
        for port in ports:
            owner = next((other for other in map(str, self.graph[port]) if other in self.roles), None)
            if owner is not None:
                self.device_of[port] = owner

    def _type(self, name: str) -> str:
        """The type of a component; empty for a device made of several."""
        return text_of(self.facts.get(name, {}).get("type")).lower()

    def _role(self, name: str) -> Role | None:
        """What a component of a host is; None where it is not drawn by itself."""
        kind = self._type(name)
        if kind in _TYPES:
            return _TYPES[kind]
        if kind == "switch":
            return self._switch_role(name)
        if kind in _DROPPED or kind == "port":
            return None
        if "nic" in kind or "hca" in kind:
            return Role.NIC
        if self.graph.degree(name) < 2:
            return None
        self.slots += 1
        return Role.PCIE_SWITCH

    def _switch_role(self, name: str) -> Role:
        component = name.split(".")[-2] if "." in name else name
        if _PCIE.search(component):
            return Role.PCIE_SWITCH
        if _SCALE_UP.search(component):
            return Role.NVLINK_SWITCH
        joined = [facts for other, facts in self.graph[name].items() if self._type(str(other)) == "xpu"]
        scale_up = joined and not any(_PCIE.search(text_of(facts.get("link"))) for facts in joined)
        return Role.NVLINK_SWITCH if scale_up else Role.PCIE_SWITCH

    def _gpu(self) -> str:
        """The GPU that the description of the first xpu names."""
        for device in self.data.get("devices", []):
            for component in device.get("components", []) if isinstance(device, Mapping) else []:
                if isinstance(component, Mapping) and component.get("choice") == "xpu":
                    said = text_of(component.get("description")).partition("/")[0]
                    names = (said, text_of(device.get("name")), text_of(device.get("description")))
                    found = (gpu_by_name(re.sub("[-_]", " ", name)) for name in names)
                    model = next((one for one in found if one), None)
                    if model:
                        return model
        return ""

    def _node(self, drawn: GraphDrawing, device: str, role: Role) -> Node:
        if role is Role.SWITCH:
            return Node(device, role)
        tray = drawn.container(_instance(device), ContainerKind.TRAY)
        number = device.rsplit(".", 1)[-1]
        # A card for management has no rail.
        on_rail = role is Role.GPU or (role is Role.NIC and self._type(device) in ("nic", ""))
        rail = int(number) if on_rail and number.isdigit() and len(number) < 6 else None
        return Node(device, role, parent=tray, rail=rail)

    def _edges(self) -> Counter[tuple[str, str, Hashable, float | None, float | None]]:
        """Edges between two devices by their ends, link, speed and latency: how many there are of each."""
        found: Counter[tuple[str, str, Hashable, float | None, float | None]] = Counter()
        senseless = 0
        for first, second, facts in self.graph.edges(data=True):
            a, b = self.device_of.get(str(first)), self.device_of.get(str(second))
            if a is None or b is None or a == b:
                continue
            if frozenset({self.roles[a], self.roles[b]}) in _SENSELESS:
                senseless += 1
                continue
            speed, latency = (
                speed_of(text_of(facts.get("bandwidth"))),
                _latency(text_of(facts.get("latency"))),
            )
            found[a, b, text_of(facts.get("link")), speed, latency] += 1
        if senseless:
            self.reading.ignored(
                f"{plural(senseless, 'link')} that only manage NVLink switches are not drawn."
            )
        return found


def _instance(name: str) -> str:
    """The instance that a component belongs to: "host.0" of "host.0.card.1.port.0"."""
    return ".".join(name.split(".")[:2])


def _latency(text: str) -> float | None:
    """Seconds of "500 ns"."""
    number, _, unit = text.partition(" ")
    value = number_of(number)
    return value / _PER_SECOND[unit] if value is not None and value >= 0 and unit in _PER_SECOND else None


FORMATS = (
    ImportFormat(
        id="infragraph",
        name="InfraGraph",
        suffixes=(".yaml", ".yml", ".json"),
        sniff=sniff,
        read=read,
        how="serialize() of an Infrastructure or Device of the package infragraph, or infragraph translate.",
        carries="Devices and their components, instances, edges, bandwidth and latency of links.",
        lacks="Models of switches and cards are asked for. Annotations are left out. An optional extra.",
    ),
)
