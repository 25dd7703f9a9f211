"""Parameters that templates share, and how what a user wrote becomes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.errors import InputError

Parameters = TypeVar("Parameters", bound=BaseModel)

MAX_STORAGE = 256


class NetworkParameters(BaseModel):
    """What every cluster on leaves and spines takes beside its size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    storage: int = Field(
        default=0,
        ge=0,
        le=MAX_STORAGE,
        title="Storage nodes",
        description="On leaves of their own, two cables each.",
    )


class FabricParameters(NetworkParameters):
    """The same for hosts that can be drawn without what is not a GPU, a NIC or an NVLink switch."""

    host: Literal["full", "plain"] = Field(
        default="full",
        title="Hosts",
        description="full: with CPUs and PCIe switches. plain: GPUs, NICs and NVLink switches only.",
    )


def parse(template: str, kind: type[Parameters], values: Mapping[str, Any]) -> Parameters:
    """Parameters from names and values (numbers may be text). Raises InputError in one sentence."""
    fields = kind.model_fields
    for name in values:
        if name not in fields:
            raise InputError(
                f"Template {template} has no parameter called {name!r}; it has {', '.join(fields)}."
            )
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "parameters"
        raise InputError(f"{name} = {values.get(name)} does not work: {_wanted(kind, name)}.") from error


def _wanted(kind: type[BaseModel], name: str) -> str:
    schema = kind.model_json_schema()["properties"].get(name, {})
    if "enum" in schema:
        return f"it is one of {', '.join(schema['enum'])}"
    if "minimum" in schema and "maximum" in schema:
        return f"it is a whole number from {schema['minimum']} to {schema['maximum']}"
    return f"it is of the type {schema.get('type', 'expected')}"
