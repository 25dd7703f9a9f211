"""The list of templates: what the gallery, the command line and the tests read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from model.errors import InputError
from topology_templates import host_clusters, nvl72
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
from topology_templates.host_clusters import HostCluster, HostVariant
from topology_templates.parameters import parse


@dataclass(frozen=True, slots=True)
class Template:
    """One template. `build` and `counts` take `parameters`; impossible ones raise InputError."""

    id: str
    name: str
    summary: str
    parameters: type[BaseModel]
    build: Callable[[Any], TemplateContent]
    counts: Callable[[Any], TemplateCounts]


def _hosts(ident: str, variant: HostVariant, summary: str, kind: type[HostCluster] = HostCluster) -> Template:
    return Template(ident, variant.title, summary, kind, variant.build, variant.counts)


_ALL = (
    _hosts(
        "hgx-h100",
        host_clusters.HGX_H100,
        "Hosts of 8 H100 with 4 NVLink switches and 8 NICs of 400G, on leaves and spines",
    ),
    Template(
        "gb200-nvl72",
        "GB200 NVL72",
        "Racks of 72 GPUs in one NVLink domain, 18 trays with 4 NICs of 400G each",
        nvl72.RackCluster,
        nvl72.GB200.build,
        nvl72.GB200.counts,
    ),
    _hosts(
        "hgx-h200",
        host_clusters.HGX_H200,
        "Hosts of 8 H200, wired as HGX H100 with more memory",
    ),
    _hosts(
        "hgx-b200",
        host_clusters.HGX_B200,
        "Hosts of 8 B200 with 2 NVLink switches and 8 NICs of 400G",
    ),
    _hosts(
        "hgx-b300",
        host_clusters.HGX_B300,
        "Hosts of 8 B300 with 2 NVLink switches and 8 NICs of 800G on Ethernet",
    ),
    Template(
        "gb300-nvl72",
        "GB300 NVL72",
        "Racks of 72 GPUs in one NVLink domain, 18 trays with 4 NICs of 800G each",
        nvl72.RackCluster,
        nvl72.GB300.build,
        nvl72.GB300.counts,
    ),
    _hosts(
        "hgx-h800",
        host_clusters.HGX_H800,
        "Hosts of 8 H800, with less than half the NVLinks of HGX H100",
    ),
    _hosts(
        "hgx-a100",
        host_clusters.HGX_A100,
        "Hosts of 8 A100 with 6 NVLink switches and 8 NICs of 200G",
        host_clusters.HdrCluster,
    ),
    _hosts(
        "mi300x", host_clusters.MI300X, "Hosts of 8 MI300X, each joined to the 7 others, and 8 NICs of 400G"
    ),
    _hosts("mi325x", host_clusters.MI325X, "Hosts of 8 MI325X, wired as MI300X with more memory"),
    _hosts("mi355x", host_clusters.MI355X, "Hosts of 8 MI355X, each joined to the 7 others, on Ethernet"),
)

TEMPLATES: Mapping[str, Template] = MappingProxyType({template.id: template for template in _ALL})


def template(ident: str) -> Template:
    """The template with this id. Raises InputError naming those that exist."""
    if ident not in TEMPLATES:
        raise InputError(f"There is no template called {ident!r}; there are {', '.join(TEMPLATES)}.")
    return TEMPLATES[ident]


def _parameters(found: Template, values: Mapping[str, Any] | BaseModel | None) -> BaseModel:
    if isinstance(values, found.parameters):
        return values
    named = values.model_dump() if isinstance(values, BaseModel) else values or {}
    return parse(found.id, found.parameters, named)


def build(ident: str, values: Mapping[str, Any] | BaseModel | None = None) -> TemplateContent:
    """The content of a template; what is left out has its default. Raises InputError in one sentence."""
    found = template(ident)
    return found.build(_parameters(found, values))


def counts(ident: str, values: Mapping[str, Any] | BaseModel | None = None) -> TemplateCounts:
    """How many devices, links and cables `build` would give. Raises InputError in one sentence."""
    found = template(ident)
    return found.counts(_parameters(found, values))
