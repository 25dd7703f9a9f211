"""Small drawings for whole analyses: nodes of H100s with an NVLink switch, a NIC a GPU, and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from model.document.document import Document
from model.document.edits import AddParts
from model.job.spec import JobSpec, apply_set
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind

GB = 1e9

TINY_MODEL = {
    "name": "tiny",
    "layers": 4,
    "hidden": 1024,
    "heads": 16,
    "kv_heads": 8,
    "vocab": 32000,
    "ffn": 4096,
}


def job(*sets: str, **fields: object) -> JobSpec:
    """A job of a tiny model with some fields set, "parallel.tp=2" or `global_batch=8`."""
    spec = JobSpec.model_validate(
        {"model": TINY_MODEL, "sequence_length": 1024, "global_batch": 16, **fields}
    )
    for assignment in sets:
        spec = apply_set(spec, assignment)
    return spec


def cluster(
    nodes: int = 2,
    gpus: int = 2,
    *,
    leaves: int = 1,
    trunk: int = 1,
    nvlink: bool = True,
    spec: JobSpec | None = None,
) -> Document:
    """`nodes` hosts of `gpus` H100s, all NICs of node n on leaf n mod `leaves`, leaves in a chain of `trunk`
    cables.
    """
    devices: list[Device] = []
    links: list[Link] = []
    containers: list[Container] = []
    for leaf in range(leaves):
        devices.append(Device(f"leaf{leaf}", DeviceKind.LEAF, "qm9700"))
        if leaf:
            links.append(
                Link(f"t{leaf}", f"leaf{leaf - 1}", f"leaf{leaf}", LinkKind.INFINIBAND, 50 * GB, trunk)
            )
    for node in range(nodes):
        containers.append(Container(f"n{node}", ContainerKind.TRAY))
        if nvlink:
            devices.append(Device(f"n{node}.s", DeviceKind.NVLINK_SWITCH, "nvswitch3", parent=f"n{node}"))
        for gpu in range(gpus):
            g, nic = f"n{node}.g{gpu}", f"n{node}.k{gpu}"
            devices.append(Device(g, DeviceKind.GPU, "h100-sxm", parent=f"n{node}", rail=gpu))
            devices.append(Device(nic, DeviceKind.NIC, "cx7-ndr", parent=f"n{node}", rail=gpu))
            links.append(Link(f"{g}-p", g, nic, LinkKind.PCIE, 63 * GB))
            links.append(Link(f"{nic}-l", nic, f"leaf{node % leaves}", LinkKind.INFINIBAND, 50 * GB))
            if nvlink:
                links.append(Link(f"{g}-v", g, f"n{node}.s", LinkKind.NVLINK, 25 * GB, 18))
    document = Document(job=spec if spec is not None else job())
    AddParts(tuple(devices), tuple(links), tuple(containers)).apply(document)
    return document


def without(document: Document, devices: Sequence[str] = (), links: Sequence[str] = ()) -> Document:
    """The document with parts taken away."""
    from model.document.edits import RemoveParts

    RemoveParts(tuple(devices), tuple(links)).apply(document)
    return document


def changed(document: Document, target: str, ident: str, **fields: object) -> Document:
    """The document with fields of a device or link set."""
    from model.document.edits import Replace

    if target == "device":
        Replace(devices=(replace(document.topology.device(ident), **fields),)).apply(document)
    else:
        Replace(links=(replace(document.topology.link(ident), **fields),)).apply(document)
    return document
