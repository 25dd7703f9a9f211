"""The facts: devices, platforms and models, read from resources/catalog."""

from model.catalog.load import Catalog, DeviceSpec, catalog
from model.catalog.specs import (
    GpuSpec,
    HostSpec,
    ModelSpec,
    NicSpec,
    NvlinkSwitchSpec,
    PlatformSpec,
    SwitchSpec,
)

__all__ = [
    "Catalog",
    "DeviceSpec",
    "GpuSpec",
    "HostSpec",
    "ModelSpec",
    "NicSpec",
    "NvlinkSwitchSpec",
    "PlatformSpec",
    "SwitchSpec",
    "catalog",
]
