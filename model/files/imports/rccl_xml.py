"""RCCL's topology XML: NCCL's with <xgmi>, architectures of AMD, and version 2."""

from __future__ import annotations

import re

from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.building import drawing_name
from model.files.imports.node_xml import read_system
from model.files.imports.node_xml_drawing import draw_nodes
from model.files.imports.xml import looks_like, read_xml

_MARKS = re.compile(r"<xgmi\b|\bgcn=|class=[\"']0x(?:0380|1200)|vendor=[\"']0x1002")


def _sniff(head: str, name: str) -> int:
    return 95 if looks_like(head, "system") and _MARKS.search(head) else 0


def _read(reading: Reading) -> Drawing:
    root = read_xml(reading, "system")
    if root.get("version") not in ("2", "1"):
        reading.contradictory(
            f"RCCL writes version 2 (older ones 1), not {root.get('version')[:20]!r}.", root.line
        )
    return draw_nodes(reading, read_system(reading, root), drawing_name(reading), amd=True)


FORMATS = (
    ImportFormat(
        id="rccl-topo-xml",
        name="RCCL topology XML",
        suffixes=(".xml",),
        sniff=_sniff,
        read=_read,
        how="Run any RCCL program with NCCL_TOPO_DUMP_FILE=topo.xml",
        carries="The PCIe tree with speeds, NUMA nodes, GPUs, xGMI links, NICs with the speed of each port.",
        lacks="The product of a GPU without a PCI id, how CPUs are joined, the network outside of the host.",
    ),
)
