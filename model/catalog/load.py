"""Reads the catalogue files once and hands out frozen specs by id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel

from model.catalog.cabling import CableSpec, RackSpec
from model.catalog.specs import (
    AlphaSpec,
    GpuSpec,
    HostSpec,
    ModelSpec,
    NicSpec,
    NvlinkSwitchSpec,
    PayloadSpec,
    PlatformSpec,
    SourceSpec,
    Spec,
    SwitchSpec,
)
from model.errors import InputError
from model.text import name_list

Item = TypeVar("Item", bound=BaseModel)

DeviceSpec = GpuSpec | NvlinkSwitchSpec | NicSpec | SwitchSpec | HostSpec

_HOST_KINDS = ("cpu", "pcie-switch", "storage", "site-gateway")
_SWITCH_KINDS = ("leaf", "spine", "core")


@dataclass(frozen=True, slots=True)
class Catalog:
    """All products by id, in the order of the files; the first of each is the default."""

    gpus: Mapping[str, GpuSpec]
    nvlink_switches: Mapping[str, NvlinkSwitchSpec]
    nics: Mapping[str, NicSpec]
    switches: Mapping[str, SwitchSpec]
    hosts: Mapping[str, HostSpec]
    platforms: Mapping[str, PlatformSpec]
    models: Mapping[str, ModelSpec]
    sources: Mapping[str, SourceSpec]
    payload: Mapping[str, PayloadSpec]
    alpha: AlphaSpec
    racks: RackSpec
    cables: CableSpec

    def of_kind(self, kind: str) -> Mapping[str, DeviceSpec]:
        """What a device of `kind` (a value of DeviceKind) can be. Raises InputError for another kind."""
        if kind == "gpu":
            return self.gpus
        if kind == "nvlink-switch":
            return self.nvlink_switches
        if kind == "nic":
            return self.nics
        if kind in _SWITCH_KINDS:
            return self.switches
        if kind in _HOST_KINDS:
            return {name: spec for name, spec in self.hosts.items() if spec.kind == kind}
        raise InputError(f"There is no kind of device called {kind!r}.")

    def device(self, kind: str, model: str) -> DeviceSpec:
        """The product `model` of a device of `kind`. Raises InputError when the catalogue has none."""
        products = self.of_kind(kind)
        if model not in products:
            raise InputError(
                f"The catalogue has no {kind} called {model!r}; it has {name_list(tuple(products), 12)}."
            )
        return products[model]

    def models_of(self, kind: str) -> tuple[str, ...]:
        """Catalogue ids for a device of `kind`; the first is the default."""
        return tuple(self.of_kind(kind))

    def default_model(self, kind: str) -> str:
        """The catalogue id that a new device of `kind` gets."""
        return self.models_of(kind)[0]

    def payload_share(self, link_kind: str) -> float:
        """The part of a link's capacity for payload, where no GPU or NVLink switch says it better."""
        return self.payload[link_kind].share

    def source_text(self, spec: Spec, field: str) -> str:
        """Where `field` of `spec` comes from: "NVIDIA: …; Meta: …", "recalled" or "computed"."""
        sources = [self.sources[name] for name in spec.source_ids(field)]
        if not sources:
            return spec.provenance.get(field, spec.provenance.get("*", ""))
        return "; ".join(f"{source.publisher}: {source.title}" for source in sources)


def _text(name: str) -> str:
    return files("resources").joinpath("catalog", f"{name}.json").read_text("utf-8")


def _records(name: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(_text(name))[name]
    return records


def _read(name: str, spec: type[Item], key: str = "id") -> Mapping[str, Item]:
    items = [spec.model_validate(record) for record in _records(name)]
    return MappingProxyType({getattr(item, key): item for item in items})


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The catalogue that ships with the program."""
    return Catalog(
        gpus=_read("gpus", GpuSpec),
        nvlink_switches=_read("nvlink_switches", NvlinkSwitchSpec),
        nics=_read("nics", NicSpec),
        switches=_read("switches", SwitchSpec),
        hosts=_read("hosts", HostSpec),
        platforms=_read("platforms", PlatformSpec),
        models=_read("models", ModelSpec),
        sources=_read("sources", SourceSpec),
        payload=_read("payload", PayloadSpec, key="kind"),
        alpha=AlphaSpec.model_validate_json(_text("alpha")),
        racks=RackSpec.model_validate_json(_text("racks")),
        cables=CableSpec.model_validate_json(_text("cables")),
    )
