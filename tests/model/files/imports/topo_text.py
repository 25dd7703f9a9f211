"""Tables of nvidia-smi topo written as text, and the ways in which pastes get damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
TAIL = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID"


@dataclass(frozen=True)
class Node:
    """A host: its NUMA nodes hold groups of devices that share a PCIe switch, all GPU pairs `nvlinks`."""

    numas: Sequence[Sequence[Sequence[str]]]
    nvlinks: int = 18
    pairs: Mapping[frozenset[str], int] = field(default_factory=dict)  # other counts of single pairs

    @property
    def names(self) -> list[str]:
        """GPUs, then NICs, by number."""
        inside = [name for numa in self.numas for group in numa for name in group]
        return sorted(inside, key=lambda name: (name[:3] != "GPU", int(name[3:])))

    def place(self, name: str) -> tuple[int, int]:
        """NUMA node and group."""
        return next(
            (numa, group)
            for numa, groups in enumerate(self.numas)
            for group, names in enumerate(groups)
            if name in names
        )

    def cell(self, a: str, b: str) -> str:
        """What the table has for a pair."""
        if a == b:
            return "X"
        if a[:3] == b[:3] == "GPU":
            lanes = self.pairs.get(frozenset((a, b)), self.nvlinks)
            if lanes:
                return f"NV{lanes}"
        one, other = self.place(a), self.place(b)
        return "PIX" if one == other else "NODE" if one[0] == other[0] else "SYS"

    def rows(self) -> list[list[str]]:
        """Header and rows as cells; GPU rows with the three columns behind."""
        names = self.names
        rows = [["", *names, *TAIL.split("\t")]]
        for name in names:
            numa = self.place(name)[0]
            tail = [f"{numa * 48}-{numa * 48 + 47}", str(numa), "N/A"] if name[:3] == "GPU" else ["", "", ""]
            rows.append([name, *(self.cell(name, other) for other in names), *tail])
        return rows

    def text(self) -> str:
        """As the tool prints it into a file."""
        return "\n".join("\t".join(row) for row in self.rows()) + "\n" + LEGEND


def hgx(gpus: int = 8, nvlinks: int = 18) -> Node:
    """A host like HGX H100: NIC i behind one switch with GPU i, a storage NIC on each CPU."""
    half = gpus // 2
    numas = [
        [[f"GPU{i}", f"NIC{i}"] for i in range(start, start + half)] + [[f"NIC{gpus + number}"]]
        for number, start in enumerate((0, half))
    ]
    return Node(numas, nvlinks)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Hosts of 2 to 8 GPUs on 1 or 2 CPUs, GPUs alone or with a NIC each, in any order of NICs."""
    half = draw(st.integers(1, 4))
    cpus = draw(st.integers(1, 2))
    if half * cpus < 2:
        half = 2
    gpus = half * cpus
    with_nics = draw(st.booleans())
    order = draw(st.permutations(range(gpus)))
    numas = [
        [
            [f"GPU{i}", f"NIC{order[i]}"] if with_nics else [f"GPU{i}"]
            for i in range(cpu * half, (cpu + 1) * half)
        ]
        for cpu in range(cpus)
    ]
    return Node(numas, draw(st.sampled_from((0, 4, 12, 18))))


def _glued(node: Node, column: int) -> str:
    return "\n".join(
        "\t".join(row[:column]) + "\t" + row[column] + "\t".join(row[column + 1 :]) for row in node.rows()
    )


def _spaces(node: Node) -> str:
    return "\n".join(
        "".join(cell.ljust(8 if cell else 0) + (" " if cell else "") for cell in row) for row in node.rows()
    )


def _without_rows(node: Node, kind: str) -> str:
    return "\n".join("\t".join(row) for row in node.rows() if not row[0].startswith(kind))


def _without_last_gpu(node: Node) -> str:
    last = [name for name in node.names if name.startswith("GPU")][-1]
    return "\n".join("\t".join(row) for row in node.rows() if row[0] != last)


def _cut(node: Node) -> str:
    text = "\n".join("\t".join(row) for row in node.rows())
    return text[: text.rindex("\n") + 12]


def _coloured(node: Node) -> str:
    header, _, rest = node.text().partition("\n")
    return f"\t\x1b[4m{header[1:]}\x1b[0m\n{rest}"


def _prefixed(node: Node) -> str:
    return "\n".join(f"(worker pid=31, ip=10.0.0.7) {line}" for line in node.text().split("\n"))


DAMAGES: Mapping[str, Callable[[Node], str]] = {
    "spaces for tabs": _spaces,
    "two cells glued": lambda node: _glued(node, len(node.names) - 1),
    "first cell glued to the second": lambda node: _glued(node, 1),
    "no NIC rows": lambda node: _without_rows(node, "NIC"),
    "last GPU row missing": _without_last_gpu,
    "last row cut": _cut,
    "colours": _coloured,
    "prefixed by a log": _prefixed,
    "line ends of Windows": lambda node: node.text().replace("\n", "\r\n"),
    "header missing": lambda node: node.text().partition("\n")[2],
    "in a longer paste": lambda node: "$ nvidia-smi topo -m\n" + node.text() + "user@host:~$ exit\n",
}
