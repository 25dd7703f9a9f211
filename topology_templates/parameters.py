"""Parameters that templates share, and how what a user wrote becomes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.errors import InputError

Parameters = TypeVar("Parameters", bound=BaseModel)

MAX_STORAGE = 256


class TemplateParameters(BaseModel):
    """Base of all."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OwnStorage(TemplateParameters):
    """Storage on a network of its own."""

    storage: int = Field(
        default=0,
        ge=0,
        le=MAX_STORAGE,
        title="Storage nodes",
        description="With two cables each, on leaves of their own.",
    )


class StorageParameters(OwnStorage):
    """Storage, and the network that it is on."""

    storage_fabric: Literal["shared", "own"] = Field(
        default="shared",
        title="Storage network",
        description="shared: these leaves join the compute spines. own: switches apart, a NIC in each host.",
    )


class HostParameters(TemplateParameters):
    """For hosts that can be drawn without what is not a GPU, a NIC or an NVLink switch."""

    host: Literal["full", "plain"] = Field(
        default="full",
        title="Hosts",
        description="full: with CPUs and PCIe switches. plain: GPUs, NICs and NVLink switches only.",
    )


def draws_hosts_in_full(parameters: TemplateParameters) -> bool:
    """Whether hosts have their CPUs."""
    return not isinstance(parameters, HostParameters) or parameters.host == "full"


class LeafParameters(TemplateParameters):
    """For a network whose leaves can be cabled in several ways."""

    leaf_downlinks: int = Field(
        default=32, ge=1, le=63, title="Downlinks per leaf", description="Cables from a leaf to hosts."
    )
    leaf_uplinks: int = Field(
        default=32,
        ge=1,
        le=63,
        title="Uplinks per leaf",
        description="Cables from a leaf to spines; fewer than downlinks oversubscribe it.",
    )
    fabric: Literal["rail", "tor"] = Field(
        default="rail",
        title="Fabric",
        description="rail: NIC i of each host on leaf i of its unit. tor: all NICs of a host on one leaf.",
    )


class FullFabricParameters(StorageParameters, LeafParameters):
    """What a cluster on leaves and spines takes beside its size, when its hosts are always drawn in full."""


class FabricParameters(StorageParameters, HostParameters, LeafParameters):
    """What a cluster on leaves and spines takes beside its size."""


def parse(template: str, kind: type[Parameters], values: Mapping[str, Any]) -> Parameters:
    """Parameters from names and values (numbers may be text). Raises InputError in one sentence."""
    fields = kind.model_fields
    for name in values:
        if name not in fields:
            raise InputError(
                f"Template {template} has no parameter called {name!r}; it has {', '.join(fields)}."
            )
        if not _reads_as_written(fields[name].annotation, values[name]):
            raise InputError(f"{name} = {_written(values[name])} does not work: {_wanted(kind, name)}.")
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "parameters"
        raise InputError(f"{name} = {values.get(name)} does not work: {_wanted(kind, name)}.") from error


def _reads_as_written(wanted: object, value: object) -> bool:
    """Whether a value for a number is one to a reader too: true is not 1, and "4_0" is not 40."""
    return wanted not in (int, float) or not (isinstance(value, bool) or "_" in str(value))


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wanted(kind: type[BaseModel], name: str) -> str:
    schema = kind.model_json_schema()["properties"].get(name, {})
    if "enum" in schema:
        return f"it is one of {', '.join(map(str, schema['enum']))}"
    if "minimum" in schema and "maximum" in schema:
        what = "whole number" if schema.get("type") == "integer" else "number"
        return f"it is a {what} from {schema['minimum']:g} to {schema['maximum']:g}"
    return f"it is of the type {schema.get('type', 'expected')}"
