"""NCCL's topology XML (NCCL_TOPO_DUMP_FILE, or what clouds give to NCCL_TOPO_FILE)."""

from __future__ import annotations

import re

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.building import drawing_name
from model.files.imports.node_xml import read_system
from model.files.imports.node_xml_drawing import draw_nodes
from model.files.imports.xml import looks_like, read_xml

_RCCL = re.compile(r"<xgmi\b|\bgcn=|<system[^>]*version=[\"']2")


def _sniff(head: str, name: str) -> int:
    if not looks_like(head, "system"):
        return 0
    return 30 if _RCCL.search(head) else 90


def _read(reading: Reading) -> Drawing:
    root = read_xml(reading, "system")
    if root.get("version") not in ("1", ""):
        if root.get("version") == "2":
            raise InputError(
                f"{reading.source.name}, line {root.line}: version 2 is RCCL's; read it as rccl-topo-xml."
            )
        reading.contradictory(f"NCCL refuses version {root.get('version')[:20]}; it knows 1 only.", root.line)
    return draw_nodes(reading, read_system(reading, root), drawing_name(reading), amd=False)


FORMATS = (
    ImportFormat(
        id="nccl-topo-xml",
        name="NCCL topology XML",
        suffixes=(".xml",),
        sniff=_sniff,
        read=_read,
        how="Run any NCCL program with NCCL_TOPO_DUMP_FILE=topo.xml; clouds ship such files",
        carries="The PCIe tree with speeds, NUMA nodes, GPUs, NVLinks, NICs with the speed of each port.",
        lacks="The product of a GPU without a PCI id, how CPUs are joined, the network outside of the host.",
    ),
)
