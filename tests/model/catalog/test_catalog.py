"""The catalogue: model parameters recomputed from the shapes, port arithmetic, sources that resolve."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from model.catalog import ModelSpec, catalog
from model.catalog.specs import Spec
from model.errors import InputError, JobError
from model.topology.types import DeviceKind

CATALOG = catalog()


def attention_parameters(model: ModelSpec) -> int:
    """Projections, their biases and inner norms of one layer."""
    attention, h, a, g, d = model.attention, model.hidden, model.heads, model.kv_heads, model.head_dim
    if attention.kind == "mla":
        q_rank, kv_rank = attention.q_lora_rank or 0, attention.kv_lora_rank or 0
        nope, rope, value = (
            attention.qk_nope_head_dim or 0,
            attention.qk_rope_head_dim or 0,
            attention.v_head_dim or 0,
        )
        query = h * q_rank + q_rank + q_rank * a * (nope + rope)
        keys_values = h * (kv_rank + rope) + kv_rank + kv_rank * a * (nope + value)
        return query + keys_values + a * value * h
    total = h * a * d + 2 * h * g * d + a * d * h
    if attention.qkv_bias:
        total += a * d + 2 * g * d
    if attention.out_bias:
        total += h
    if attention.qk_norm:
        total += 2 * d
    if attention.sinks:
        total += a
    return total


def mlp_parameters(model: ModelSpec, width: int) -> int:
    """One feed-forward block of `width`: gate, up and down (SwiGLU) or up and down (GELU)."""
    h = model.hidden
    matrices, inner_biases = (3, 2) if model.mlp == "swiglu" else (2, 1)
    return matrices * h * width + (inner_biases * width + h if model.mlp_bias else 0)


def parameters(model: ModelSpec) -> tuple[int, int]:
    """(all, active for a token) parameters, both with both embeddings, written out from the shape alone."""
    norm = model.hidden * (2 if model.norm == "layernorm" else 1)
    common = attention_parameters(model) + 2 * norm
    total = active = 0
    for layer in range(model.layers):
        total += common
        active += common
        moe = model.moe
        routed = moe is not None and layer >= moe.first_dense_layers
        if moe is None or not routed or layer % moe.interleave_step != moe.interleave_step - 1:
            total += mlp_parameters(model, model.ffn)
            active += mlp_parameters(model, model.ffn)
            continue
        router = model.hidden * moe.experts + (moe.experts if moe.router_bias else 0)
        expert = mlp_parameters(model, moe.expert_ffn)
        total += router + expert * (moe.experts + moe.shared_experts)
        active += router + expert * (moe.top_k + moe.shared_experts)
    ends = norm + model.vocab * model.hidden * (1 if model.tied_embeddings else 2)
    if model.learned_positions:
        ends += model.seq * model.hidden
    return total + ends, active + ends


@pytest.mark.parametrize("name", CATALOG.models)
def test_parameters_follow_from_the_shape(name: str) -> None:
    """Published totals within 0.5 % (Llama 3 70B: 70,553,706,496 exactly)."""
    model = CATALOG.models[name]
    total, active = parameters(model)
    assert total == model.params_total_recomputed_exact
    assert active == model.params_active_recomputed_exact
    assert total / 1e9 == pytest.approx(model.params_total_b, rel=0.005)
    untied = 0 if model.tied_embeddings else model.vocab * model.hidden
    assert active - untied == model.params_active_without_input_embedding_exact
    if model.params_active_b is not None:
        low, high = model.params_active_without_input_embedding_exact / 1e9, active / 1e9
        assert low * 0.95 <= model.params_active_b <= high * 1.05


def test_known_parameter_counts() -> None:
    """Independent of the stored columns: Llama 3 70B and the checkpoints of Mistral 7B and Llama 2 7B."""
    assert parameters(CATALOG.models["llama3-70b"])[0] == 70_553_706_496
    assert parameters(CATALOG.models["mistral-7b"])[0] == 7_241_732_096
    assert parameters(CATALOG.models["llama2-7b"])[0] == 6_738_415_616


@pytest.mark.parametrize("name", [name for name, p in CATALOG.platforms.items() if p.nvlink_wiring])
def test_nvlink_ports_of_each_platform(name: str) -> None:
    platform = CATALOG.platforms[name]
    wiring = platform.nvlink_wiring
    assert wiring is not None
    gpu = CATALOG.gpus[platform.gpu]
    chip = CATALOG.nvlink_switches[wiring.switch_chip]
    assert chip.nvlink_generation == gpu.nvlink_generation
    assert chip.lane_bytes_per_s == gpu.scale_up_lane_bytes_per_s
    if wiring.tiers == 2:
        assert wiring.gpu_links_per_chip is not None and wiring.trunk_links_per_chip is not None
        assert wiring.gpu_links_per_chip * wiring.switch_chips == platform.gpus * gpu.scale_up_links
        assert wiring.trunk_links_per_chip * wiring.switch_chips == 2 * (wiring.trunk_links_total or 0)
        assert wiring.gpu_links_per_chip + wiring.trunk_links_per_chip <= chip.ports
        return
    split = wiring.links_per_gpu_to_each_switch_chip
    assert len(split) == wiring.switch_chips
    assert sum(split) == gpu.scale_up_links
    assert wiring.gpu_to_switch_links_total == platform.gpus * sum(split)
    assert wiring.ports_used_per_chip == tuple(platform.gpus * links for links in split)
    assert max(wiring.ports_used_per_chip) <= chip.ports
    for used, external in zip(
        wiring.ports_used_per_chip, wiring.external_nvlink_ports_per_chip, strict=False
    ):
        assert used + external <= chip.ports


@pytest.mark.parametrize("name", CATALOG.platforms)
def test_nics_and_host_of_each_platform(name: str) -> None:
    platform = CATALOG.platforms[name]
    if platform.backend_nic is not None:
        nic = CATALOG.nics[platform.backend_nic]
        per_gpu = platform.backend_nics * nic.ports * nic.port_gbit_per_s / platform.gpus
        assert per_gpu == platform.backend_gbit_per_s_per_gpu
        assert nic.pcie_bytes_per_s >= nic.port_bytes_per_s
    if platform.backend_nics_per_tray is not None:
        assert platform.backend_nics == platform.backend_nics_per_tray * (platform.compute_trays or 0)
    if platform.mesh is not None:
        pairs = platform.gpus * (platform.gpus - 1) // 2
        assert platform.mesh.links_total == pairs * platform.mesh.links_per_pair
        lanes = (platform.gpus - 1) * platform.mesh.links_per_pair
        assert lanes == CATALOG.gpus[platform.gpu].scale_up_links
    host = platform.host_pcie
    if host is not None:
        assert host.pcie_switches * host.gpus_per_pcie_switch == platform.gpus
        assert host.pcie_switches * host.nics_per_pcie_switch == platform.backend_nics


@pytest.mark.parametrize("name", CATALOG.gpus)
def test_gpu_arithmetic(name: str) -> None:
    gpu = CATALOG.gpus[name]
    total = gpu.scale_up_links * gpu.scale_up_lane_bytes_per_s
    assert total == pytest.approx(gpu.scaleup_total_gbytes_per_s_per_direction * 1e9)
    assert gpu.scaleup_total_gbytes_per_s_bidirectional == 2 * gpu.scaleup_total_gbytes_per_s_per_direction
    assert gpu.hbm_gb <= gpu.hbm_physical_gb
    for precision in gpu.precisions:
        assert 0 < gpu.gemm_efficiency[precision] < 1
        assert gpu.peak_flops(precision) > 0
    if gpu.fp8_dense_tflops and not gpu.fp8_not_double:
        assert gpu.fp8_dense_tflops == pytest.approx(2 * gpu.bf16_dense_tflops, rel=0.001)


def test_constants_of_the_time_model() -> None:
    """H100: dense figures, 450 GB/s one way, NCCL's 20.6 of 25 GB/s a link; η as fitted."""
    h100, a100 = CATALOG.gpus["h100-sxm"], CATALOG.gpus["a100-sxm-80"]
    assert h100.peak_flops("bf16") == 989e12
    assert h100.peak_flops("fp8") == 1979e12
    assert h100.scale_up_links * h100.scale_up_lane_bytes_per_s == 450e9
    assert h100.payload_share == pytest.approx(20.6 / 25)
    assert a100.payload_share == pytest.approx(20.0 / 25)
    assert CATALOG.gpus["gb200"].payload_share == pytest.approx(40.1 / 50)
    assert (a100.gemm_efficiency["bf16"], a100.gemm_efficiency["fp16"]) == (0.69, 0.69)
    assert (h100.gemm_efficiency["bf16"], h100.gemm_efficiency["fp8"]) == (0.52, 0.48)
    shares = {kind: CATALOG.payload_share(kind) for kind in ("ethernet", "infiniband", "wan", "pcie", "c2c")}
    assert shares == {"ethernet": 0.97, "infiniband": 0.97, "wan": 0.97, "pcie": 0.88, "c2c": 0.88}
    assert CATALOG.payload_share("xgmi") == 0.75
    assert CATALOG.alpha.base_s("ring") == pytest.approx(8.4e-6)
    assert CATALOG.alpha.hop_s("ring", "nvlink") == pytest.approx(3.4e-6)
    assert CATALOG.alpha.hop_s("tree", "network", "LL") == pytest.approx(5e-6)
    assert CATALOG.alpha.nvls_hop_s("nvlink") == pytest.approx(25e-6)


def test_a_precision_that_a_gpu_lacks_is_refused_in_words() -> None:
    with pytest.raises(JobError, match="A100 SXM4 80GB has no fp8 arithmetic; it has bf16, fp16, fp32"):
        CATALOG.gpus["a100-sxm-80"].peak_flops("fp8")


def test_every_kind_of_device_has_a_default() -> None:
    defaults = {kind.value: CATALOG.default_model(kind) for kind in DeviceKind}
    assert defaults == {
        "gpu": "h100-sxm",
        "nvlink-switch": "nvswitch3",
        "nic": "cx7-ndr",
        "cpu": "cpu",
        "pcie-switch": "pcie-switch",
        "leaf": "qm9700",
        "spine": "qm9700",
        "core": "qm9700",
        "storage": "storage",
        "site-gateway": "site-gateway",
    }
    with pytest.raises(InputError, match="no gpu called 'h101'"):
        CATALOG.device("gpu", "h101")


def test_every_source_id_resolves() -> None:
    records: list[Spec] = []
    for group in (
        CATALOG.gpus,
        CATALOG.nvlink_switches,
        CATALOG.nics,
        CATALOG.switches,
        CATALOG.hosts,
        CATALOG.platforms,
        CATALOG.models,
    ):
        records.extend(group.values())
    assert len(records) == 85
    for record in records:
        assert "*" in record.provenance, record.id
        for field in record.provenance:
            for source in record.source_ids(field):
                assert source in CATALOG.sources, f"{record.id}.{field}: {source}"
    for entry in (*(item.provenance for item in CATALOG.payload.values()), CATALOG.alpha.provenance):
        for value in entry.values():
            for part in value.split(";"):
                assert part.strip().partition(":")[0] in CATALOG.sources


def test_sources_name_a_publisher_and_a_title_but_no_address() -> None:
    text = files("resources").joinpath("catalog", "sources.json").read_text("utf-8")
    assert "http" not in text
    for source in json.loads(text)["sources"]:
        assert source["publisher"] and source["title"]


def test_switch_radix_and_breakouts_add_up() -> None:
    for switch in CATALOG.switches.values():
        total = switch.total_tbit_per_s_per_direction * 1000
        assert switch.ports * switch.port_gbit_per_s == pytest.approx(total)
        for ports, gbit in switch.breakouts:
            assert ports * gbit <= total + 1e-6
