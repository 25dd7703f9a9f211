"""The list of templates: what the gallery, the command line and the tests read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from model.errors import InputError
from topology_templates import gb200_nvl72, hgx_h100
from topology_templates.content import TemplateContent
from topology_templates.counts import TemplateCounts
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


_ALL = (
    Template(
        "hgx-h100",
        "HGX H100",
        "Hosts of 8 H100 with 4 NVLink switches and 8 NICs of 400G, on leaves and spines",
        hgx_h100.HgxH100,
        hgx_h100.build,
        hgx_h100.counts,
    ),
    Template(
        "gb200-nvl72",
        "GB200 NVL72",
        "Racks of 72 GPUs in one NVLink domain, 18 trays with 4 NICs of 400G each",
        gb200_nvl72.Gb200Nvl72,
        gb200_nvl72.build,
        gb200_nvl72.counts,
    ),
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
