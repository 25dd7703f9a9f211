"""What the catalogue knows of each product, as frozen values.

Fields keep the names and units of the catalogue files, so that a value can be looked up in its source
(`provenance`, keys of `Catalog.sources`). Everything computed with is a property in SI units, one direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from model.catalog.shapes import AttentionShape, MoeShape
from model.errors import JobError

GIGA = 1e9
TERA = 1e12
BYTES_PER_S_PER_GBIT = 1e9 / 8

Precision = Literal["bf16", "fp16", "fp8", "fp4", "fp32"]
PRECISIONS: tuple[Precision, ...] = ("bf16", "fp16", "fp8", "fp4", "fp32")

NetworkKind = Literal["infiniband", "ethernet", "wan"]


class Spec(BaseModel):
    """A catalogue record. `provenance`: field ("*": all others) to source ids, and how they were read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    provenance: Mapping[str, str]
    note: str = ""
    doubtful: tuple[str, ...] = ()

    def source_ids(self, field: str) -> tuple[str, ...]:
        """The ids in `Catalog.sources` that `field` was read from; empty for recalled and computed values."""
        entry = self.provenance.get(field, self.provenance.get("*", ""))
        ids = (part.strip().partition(":")[0] for part in entry.split(";"))
        return tuple(name for name in ids if name not in ("recalled", "computed", ""))


class Mounted(BaseModel):
    """What a thing takes in a rack; None where it is not known. Power is the most that it draws."""

    height_u: float | None = None
    power_w: float | None = None
    weight_kg: float | None = None


class GpuSpec(Spec):
    """An accelerator. FLOP/s are dense, without 2:4 sparsity."""

    vendor: str
    arch: str
    form_factor: str
    hbm_gb: float
    hbm_physical_gb: float
    hbm_type: str
    hbm_bandwidth_tbytes_per_s: float
    bf16_dense_tflops: float
    fp8_dense_tflops: float | None
    fp4_dense_tflops: float | None
    fp8_not_double: bool = False
    scaleup_name: str
    scaleup_links: int
    scaleup_gbytes_per_s_per_link_per_direction: float | None
    scaleup_total_gbytes_per_s_per_direction: float
    scaleup_total_gbytes_per_s_bidirectional: float
    links_not_uniform: bool = False
    nvlink_generation: int | None = None
    nccl_gbytes_per_s_per_link_per_direction: float | None = None
    nvlink_c2c_gbytes_per_s_per_direction: float | None = None
    pcie_generation: int | None
    pcie_lanes: int
    pcie_gbytes_per_s_per_direction: float | None
    tdp_w: float | None
    topology: str = ""
    payload_share: float
    gemm_efficiency: Mapping[Precision, float]
    gemm_efficiency_note: str
    kernel_issue_us: Mapping[Precision, float]

    @property
    def hbm_bytes(self) -> float:
        """Memory that a program can use, decimal (conventions: hbm_gb · 1e9)."""
        return self.hbm_gb * GIGA

    @property
    def hbm_bytes_per_s(self) -> float:
        """Bandwidth of that memory."""
        return self.hbm_bandwidth_tbytes_per_s * TERA

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions that it multiplies matrices in."""
        return tuple(name for name in PRECISIONS if name in self.gemm_efficiency)

    def peak_flops(self, precision: str) -> float:
        """Dense FLOP/s of matrix multiplications; fp32 is TF32, half of bf16.

        Raises JobError when the device does not have `precision`.
        """
        tflops = {
            "bf16": self.bf16_dense_tflops,
            "fp16": self.bf16_dense_tflops,
            "fp32": self.bf16_dense_tflops / 2,
            "fp8": self.fp8_dense_tflops,
            "fp4": self.fp4_dense_tflops,
        }.get(precision)
        if tflops is None:
            raise JobError(f"{self.name} has no {precision} arithmetic; it has {', '.join(self.precisions)}.")
        return tflops * TERA

    def kernel_issue_s(self, precision: Precision) -> float:
        """What the host takes to issue one kernel of a layer; a chunk is never faster than its kernels are
        issued.
        """
        return self.kernel_issue_us[precision] * 1e-6

    @property
    def scale_up_links(self) -> int:
        """NVLink or xGMI lanes (a lane is what one cable or trace pair group carries)."""
        return self.scaleup_links

    @property
    def scale_up_lane_bytes_per_s(self) -> float:
        """One lane, one direction (the mean where lanes differ)."""
        lane = self.scaleup_gbytes_per_s_per_link_per_direction
        if lane is None:
            lane = self.scaleup_total_gbytes_per_s_per_direction / self.scaleup_links
        return lane * GIGA

    @property
    def pcie_bytes_per_s(self) -> float:
        """Its PCIe port, one direction; 0 without one."""
        return (self.pcie_gbytes_per_s_per_direction or 0.0) * GIGA

    @property
    def c2c_bytes_per_s(self) -> float:
        """Its coherent link to a CPU on the same board, one direction; 0 without one."""
        return (self.nvlink_c2c_gbytes_per_s_per_direction or 0.0) * GIGA


class NvlinkSwitchSpec(Spec):
    """One NVLink switch chip (not a tray of several)."""

    nvlink_generation: int
    ports: int
    gbytes_per_s_per_port_per_direction: float
    total_gbytes_per_s_per_direction: float
    total_gbytes_per_s_bidirectional: float
    sharp: bool
    payload_share: float

    @property
    def lane_bytes_per_s(self) -> float:
        """One port, one direction."""
        return self.gbytes_per_s_per_port_per_direction * GIGA


class NicSpec(Spec):
    """A network card."""

    ports: int
    port_gbit_per_s: float
    total_gbit_per_s: float
    pcie_generation: int | None
    pcie_lanes: int | None
    pcie_lanes_total_with_switch: int | None = None
    pcie_gbytes_per_s_per_direction: float
    protocols: tuple[str, ...]
    networks: tuple[NetworkKind, ...]
    built_in_pcie_switch: bool = False
    nics_per_node: int | None = None
    node_total_gbit_per_s: float | None = None

    @property
    def port_bytes_per_s(self) -> float:
        """One network port, one direction."""
        return self.port_gbit_per_s * BYTES_PER_S_PER_GBIT

    @property
    def pcie_bytes_per_s(self) -> float:
        """Its PCIe port, one direction."""
        return self.pcie_gbytes_per_s_per_direction * GIGA


class SwitchSpec(Mounted, Spec):
    """A network switch; `sharp` is the generation of in-network reduction, None without.

    `breakouts` lists other ways to use all ports: (ports, Gb/s each).
    """

    network: Literal["infiniband", "ethernet"]
    ports: int
    port_gbit_per_s: float
    total_tbit_per_s_per_direction: float
    quoted_total_tbit_per_s_bidirectional: float | None = None
    buffer_mb: float | None
    latency_ns: float
    latency_published: bool
    sharp: int | None
    breakout: str = ""
    breakouts: tuple[tuple[int, float], ...] = ()
    cages: int | None = None

    @property
    def port_bytes_per_s(self) -> float:
        """One port, one direction."""
        return self.port_gbit_per_s * BYTES_PER_S_PER_GBIT

    @property
    def latency_s(self) -> float:
        """Port to port."""
        return self.latency_ns * 1e-9


class HostSpec(Mounted, Spec):
    """A generic part beside the accelerators: CPU, PCIe switch, storage node, gateway to another site."""

    kind: Literal["cpu", "pcie-switch", "storage", "site-gateway"]
    pcie_ports: int
    pcie_gbytes_per_s_per_direction: float | None
    c2c_ports: int
    c2c_gbytes_per_s_per_direction: float | None
    network_ports: int
    network_gbit_per_s: float | None
    networks: tuple[NetworkKind, ...]

    @property
    def pcie_bytes_per_s(self) -> float:
        """One PCIe port of 16 lanes, one direction; 0 without."""
        return (self.pcie_gbytes_per_s_per_direction or 0.0) * GIGA

    @property
    def c2c_bytes_per_s(self) -> float:
        """One link between chips (CPU to CPU, or CPU to its GPU), one direction; 0 without."""
        return (self.c2c_gbytes_per_s_per_direction or 0.0) * GIGA

    @property
    def port_bytes_per_s(self) -> float:
        """One network port, one direction; 0 without."""
        return (self.network_gbit_per_s or 0.0) * BYTES_PER_S_PER_GBIT


class NvlinkWiring(BaseModel):
    """How the GPUs of a platform reach its NVLink switch chips."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    switch_chip: str
    switch_chips: int
    tiers: int = 1
    links_per_gpu_to_each_switch_chip: tuple[int, ...] = ()
    gpu_to_switch_links_total: int | None = None
    ports_used_per_chip: tuple[int, ...] = ()
    external_nvlink_ports_per_chip: tuple[int, ...] = ()
    copper_pairs: int | None = None
    gpu_links_per_chip: int | None = None
    trunk_links_per_chip: int | None = None
    trunk_links_total: int | None = None
    hops_same_rack: int | None = None
    hops_other_rack: int | None = None


class HostPcie(BaseModel):
    """How the GPUs and NICs of a platform reach its CPUs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: int
    cpu_sockets: int
    pcie_switches: int
    gpus_per_pcie_switch: int
    nics_per_pcie_switch: int
    switch_is: str = ""


class MeshWiring(BaseModel):
    """Direct links between every two GPUs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["full_mesh"]
    links_per_pair: int
    links_total: int
    gbytes_per_s_per_link_per_direction: float


class NicPlace(BaseModel):
    """Which cage of a DGX belongs to which GPU."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    osfp: str
    gpu: int
    rdma: str
    socket: int


class PlatformSpec(Mounted, Spec):
    """A server or a rack: what is in it and how it is wired.

    Height, power and weight are those of a server, or of one compute tray of a rack.
    """

    gpu: str
    gpus: int
    cpus: int
    racks: int = 1
    nvlink_wiring: NvlinkWiring | None = None
    mesh: MeshWiring | None = None
    host_pcie: HostPcie | None = None
    backend_nic: str | None = None
    backend_nics: int
    backend_nics_per_tray: int | None = None
    backend_gbit_per_s_per_gpu: float
    compute_trays: int | None = None
    gpus_per_tray: int | None = None
    cpus_per_tray: int | None = None
    nvlink_switch_trays: int | None = None
    switch_chips_per_tray: int | None = None
    north_south_bf3_per_tray: int | None = None
    total_nvlink_tbytes_per_s_bidirectional: float | None = None
    switch_tray_height_u: float | None = None
    switch_tray_power_w: float | None = None
    switch_tray_weight_kg: float | None = None
    rack_kw_max: float | None = None
    rack_weight_kg: float | None = None
    dgx_h100_osfp_map: tuple[NicPlace, ...] = ()


class ModelSpec(Spec):
    """A transformer preset: its shape, and the counts published for it."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    seq: int
    norm: Literal["rmsnorm", "layernorm"]
    mlp: Literal["swiglu", "gelu"]
    mlp_bias: bool
    tied_embeddings: bool
    learned_positions: bool
    attention: AttentionShape
    moe: MoeShape | None
    params_total_b: float
    params_active_b: float | None
    params_label: str
    params_total_recomputed_exact: int
    params_active_recomputed_exact: int
    params_active_without_input_embedding_exact: int
    published_total_labels_b: tuple[float, ...] = ()
    stated_total_is_computed: bool = False
    tp: int | None = Field(default=None, description="tensor parallel size that it was published with")
    pp: int | None = Field(default=None, description="pipeline parallel size that it was published with")


class SourceSpec(BaseModel):
    """Where values were read. `access`: read, "read (second hand)", or own (a default of this program)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    publisher: str
    title: str
    access: str


class PayloadSpec(BaseModel):
    """The part of a link's capacity that payload can use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    share: float
    note: str
    provenance: Mapping[str, str]


class AlphaSpec(BaseModel):
    """Latency constants of NCCL's tuning model, µs. Lists are in the order of `protocols`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provenance: Mapping[str, str]
    note: str
    protocols: tuple[str, ...]
    tree_base_us: tuple[float, ...]
    ring_base_us: tuple[float, ...]
    tree_hop_us: Mapping[str, tuple[float, ...]]
    ring_hop_us: Mapping[str, tuple[float, ...]]
    nvls_hop_us: Mapping[str, float]
    nvls_tree_hop_us: Mapping[str, float]
    collnet_direct_hop_us: Mapping[str, float]
    collnet_chain_hop_us: Mapping[str, float]
    nvls_efficiency: Mapping[str, float]

    def base_s(self, family: Literal["ring", "tree"], protocol: str = "Simple") -> float:
        """The latency of a collective before its first step, seconds."""
        table = self.ring_base_us if family == "ring" else self.tree_base_us
        return table[self.protocols.index(protocol)] * 1e-6

    def hop_s(
        self,
        family: Literal["ring", "tree"],
        medium: Literal["nvlink", "pcie", "network"],
        protocol: str = "Simple",
    ) -> float:
        """The latency of one step over `medium`, seconds."""
        table = self.ring_hop_us if family == "ring" else self.tree_hop_us
        return table[medium][self.protocols.index(protocol)] * 1e-6

    def nvls_hop_s(self, medium: Literal["nvlink", "network"]) -> float:
        """The latency of an NVLS operation over `medium`, seconds."""
        return self.nvls_hop_us[medium] * 1e-6
