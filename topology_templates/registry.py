"""The list of templates: what the gallery, the command line and the tests read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from pydantic import BaseModel

from model.errors import InputError
from model.topology.bulk import collector_paused
from topology_templates import (
    alibaba_hpn,
    deepseek,
    fat_tree,
    host_clusters,
    leaf_spine,
    llama3,
    nvl72,
    rail_only,
    superpod,
    two_sites,
    workstation,
)
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.parameters import parse


class Builder(Protocol):
    """What builds several templates: a variant."""

    @property
    def title(self) -> str:
        """Its name in the gallery."""

    def build(self, parameters: Any) -> TemplateContent:
        """The content."""

    def counts(self, parameters: Any) -> TemplateCounts:
        """What it would hold."""


@dataclass(frozen=True, slots=True)
class Template:
    """One template. `build` and `counts` take `parameters`; impossible ones raise InputError.

    Templates of one `group` stand together in the gallery.
    """

    id: str
    group: str
    name: str
    summary: str
    parameters: type[BaseModel]
    build: Callable[[Any], TemplateContent]
    counts: Callable[[Any], TemplateCounts]


def _variant(ident: str, group: str, variant: Builder, kind: type[BaseModel], summary: str) -> Template:
    return Template(ident, group, variant.title, summary, kind, variant.build, variant.counts)


def _host(ident: str, variant: host_clusters.HostVariant, summary: str) -> Template:
    kind = host_clusters.HdrCluster if ident == "hgx-a100" else host_clusters.HostCluster
    return _variant(ident, "Hosts", variant, kind, summary)


_HOSTS = (
    _host("hgx-h100", host_clusters.HGX_H100, "Hosts of 8 H100 on a rail fabric of 400G"),
    _host("hgx-h200", host_clusters.HGX_H200, "Hosts of 8 H200: HGX H100 with more memory"),
    _host("hgx-b200", host_clusters.HGX_B200, "Hosts of 8 B200 on a rail fabric of 400G"),
    _host("hgx-b300", host_clusters.HGX_B300, "Hosts of 8 B300 on rails of 800G Ethernet"),
    _host("hgx-h800", host_clusters.HGX_H800, "Hosts of 8 H800: HGX H100 with fewer NVLinks"),
    _host("hgx-a100", host_clusters.HGX_A100, "Hosts of 8 A100 on a rail fabric of 200G"),
    _host("mi300x", host_clusters.MI300X, "Hosts of 8 MI300X in a full xGMI mesh, on rails of 400G"),
    _host("mi325x", host_clusters.MI325X, "Hosts of 8 MI325X: MI300X with more memory"),
    _host("mi355x", host_clusters.MI355X, "Hosts of 8 MI355X in a full xGMI mesh, on 400G Ethernet"),
    Template(
        "pcie-workstation",
        "Hosts",
        "PCIe workstation",
        "Machines of PCIe cards, with or without NVLink bridges",
        workstation.Workstation,
        workstation.build,
        workstation.counts,
    ),
)
_RACKS = (
    _variant(
        "gb200-nvl72",
        "Racks",
        nvl72.GB200,
        nvl72.RackCluster,
        "Racks of 72 GB200 in one NVLink domain, on 400G",
    ),
    _variant(
        "gb300-nvl72",
        "Racks",
        nvl72.GB300,
        nvl72.RackCluster,
        "Racks of 72 GB300 in one NVLink domain, on 800G",
    ),
    _variant(
        "gb200-nvl36x2",
        "Racks",
        nvl72.NVL36X2,
        nvl72.RackPairs,
        "Pairs of racks of 36 GB200, joined by NVLink",
    ),
    _variant(
        "vr-nvl72",
        "Racks",
        nvl72.VERA_RUBIN,
        nvl72.AnnouncedRacks,
        "Announced: racks of 72 Rubin in one NVLink domain, two 800G NICs each",
    ),
)
_PODS = "SuperPODs"
_SUPERPODS = (
    _variant(
        "superpod-h100",
        _PODS,
        superpod.H100,
        superpod.NdrUnits,
        "DGX H100 by units of 32 slots, two or three tiers",
    ),
    _variant(
        "superpod-b200",
        _PODS,
        superpod.B200,
        superpod.NdrUnits,
        "DGX B200 by units of 32, two or three tiers",
    ),
    Template(
        "superpod-b300",
        _PODS,
        "SuperPOD B300",
        "DGX B300 by units of 72 on InfiniBand or 64 on Ethernet",
        superpod.B300Units,
        superpod.build_b300,
        superpod.count_b300,
    ),
    _variant(
        "superpod-gb200",
        _PODS,
        superpod.GB200_POD,
        superpod.RackUnits,
        "GB200 NVL72 by units of 8 racks, on 400G",
    ),
    _variant(
        "superpod-gb300",
        _PODS,
        superpod.GB300_POD,
        superpod.RackUnits,
        "GB300 NVL72 by units of 8 racks, on 800G",
    ),
)
_NETWORKS = (
    Template(
        "leaf-spine",
        "Networks",
        "Leaf-spine",
        "A leaf in each rack, oversubscribed as you say",
        leaf_spine.LeafSpine,
        leaf_spine.build,
        leaf_spine.counts,
    ),
    Template(
        "rail-only",
        "Networks",
        "Rail-only",
        "A leaf for each rail and no spines",
        rail_only.RailOnly,
        rail_only.build,
        rail_only.counts,
    ),
    Template(
        "fat-tree",
        "Networks",
        "Fat tree",
        "Equal switches of a radix, in two or three tiers",
        fat_tree.FatTree,
        fat_tree.build,
        fat_tree.counts,
    ),
    Template(
        "two-sites",
        "Networks",
        "Two sites",
        "Two clusters joined by long lines between gateways",
        two_sites.TwoSites,
        two_sites.build,
        two_sites.counts,
    ),
)
_PUBLISHED = (
    Template(
        "llama3-24k",
        "Published clusters",
        "Llama 3 24k",
        "Pods of up to 3,072 H100 on Ethernet, 7 : 1 above them",
        llama3.Llama3,
        llama3.build,
        llama3.counts,
    ),
    Template(
        "deepseek-v3",
        "Published clusters",
        "DeepSeek-V3",
        "Hosts of 8 H800 on eight planes, one for each NIC",
        deepseek.DeepSeek,
        deepseek.build,
        deepseek.counts,
    ),
    Template(
        "alibaba-hpn",
        "Published clusters",
        "Alibaba HPN 7",
        "Hosts of 8 H800 whose NICs have a port on each of two planes",
        alibaba_hpn.AlibabaHpn,
        alibaba_hpn.build,
        alibaba_hpn.counts,
    ),
)

TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {one.id: one for one in (*_HOSTS, *_RACKS, *_SUPERPODS, *_NETWORKS, *_PUBLISHED)}
)

_own: dict[str, Template] = {}


def use_own(templates: Iterable[Template]) -> None:
    """Offer the user's own templates beside those of the program, in place of those offered before."""
    _own.clear()
    _own.update((one.id, one) for one in templates)


def gallery() -> Mapping[str, Template]:
    """All templates that can be placed: those of the program, then the user's own."""
    return MappingProxyType({**TEMPLATES, **_own})


def template(ident: str) -> Template:
    """The template with this id. Raises InputError naming those that exist."""
    found = gallery()
    if ident not in found:
        raise InputError(f"There is no template called {ident!r}; there are {', '.join(found)}.")
    return found[ident]


def _parameters(found: Template, values: Mapping[str, Any] | BaseModel | None) -> BaseModel:
    if isinstance(values, found.parameters):
        return values
    named = values.model_dump() if isinstance(values, BaseModel) else values or {}
    return parse(found.id, found.parameters, named)


def build(ident: str, values: Mapping[str, Any] | BaseModel | None = None) -> TemplateContent:
    """The content of a template; what is left out has its default. Raises InputError in one sentence."""
    found = template(ident)
    parameters = _parameters(found, values)
    with collector_paused():
        return found.build(parameters)


def counts(ident: str, values: Mapping[str, Any] | BaseModel | None = None) -> TemplateCounts:
    """How many devices, links and cables `build` would give. Raises InputError in one sentence."""
    found = template(ident)
    return found.counts(_parameters(found, values))
