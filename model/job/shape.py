"""The transformer that a job trains, from a preset or an object, and how its layers are cut into stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.catalog import ModelSpec, catalog
from model.catalog.shapes import AttentionShape, MoeShape
from model.errors import InputError
from model.job.chunks import positions, rank_of
from model.job.spec import JobSpec, ModelObject
from model.text import name_list


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A transformer, every size resolved. `vocabulary` is not padded, `positions` are rows of a table."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    positions: int
    norm: Literal["rmsnorm", "layernorm"]
    mlp: Literal["swiglu", "gelu"]
    mlp_bias: bool
    tied_embeddings: bool
    attention: AttentionShape
    moe: MoeShape | None

    @property
    def mlp_matrices(self) -> int:
        """Matrices of one MLP: 3 for SwiGLU (gate, up, down), 2 for GELU."""
        return 3 if self.mlp == "swiglu" else 2

    @property
    def attention_matrices(self) -> int:
        """Weight matrices of attention: queries, keys and values in one, and the output; MLA has one each."""
        if self.attention.kind != "mla":
            return 2
        return 5 if self.attention.q_lora_rank else 4

    @property
    def norm_width(self) -> int:
        """Parameters of one norm over the hidden width: weight, for LayerNorm also bias."""
        return self.hidden * (2 if self.norm == "layernorm" else 1)

    @property
    def mla(self) -> tuple[int, int, int, int, int]:
        """(query rank or 0, key-value rank, dn, dr, dv) of multi-head latent attention."""
        own = self.attention
        return (
            own.q_lora_rank or 0,
            own.kv_lora_rank or 0,
            own.qk_nope_head_dim or 0,
            own.qk_rope_head_dim or 0,
            own.v_head_dim or 0,
        )

    @property
    def shared_ffn(self) -> int:
        """Width of the shared experts together; 0 without."""
        return self.moe.shared_experts * self.moe.expert_ffn if self.moe else 0

    def is_moe(self, layer: int) -> bool:
        """Whether a layer has routed experts (conventions 24)."""
        if self.moe is None or layer < self.moe.first_dense_layers:
            return False
        return layer % self.moe.interleave_step == self.moe.interleave_step - 1

    @property
    def moe_layers(self) -> int:
        """Layers with routed experts."""
        return sum(self.is_moe(layer) for layer in range(self.layers))


@dataclass(frozen=True, slots=True)
class StageLayers:
    """The layers of one pipeline stage, or of one chunk on it."""

    stage: int
    dense: int
    moe: int

    @property
    def count(self) -> int:
        """All of them."""
        return self.dense + self.moe


def model_shape(job: JobSpec) -> ModelShape:
    """The shape of `job.model`. Raises InputError for an unknown preset or an impossible shape."""
    if isinstance(job.model, ModelObject):
        return _of_object(job.model, job.sequence_length)
    presets = catalog().models
    if job.model not in presets:
        raise InputError(f"there is no model preset '{job.model}'; there is {name_list(tuple(presets), 30)}")
    return preset_shape(presets[job.model])


def preset_shape(preset: ModelSpec) -> ModelShape:
    """The shape of a catalogue entry."""
    return ModelShape(
        name=preset.name,
        layers=preset.layers,
        hidden=preset.hidden,
        heads=preset.heads,
        kv_heads=preset.kv_heads,
        head_dim=preset.head_dim,
        ffn=preset.ffn,
        vocabulary=preset.vocab,
        positions=preset.seq if preset.learned_positions else 0,
        norm=preset.norm,
        mlp=preset.mlp,
        mlp_bias=preset.mlp_bias,
        tied_embeddings=preset.tied_embeddings,
        attention=preset.attention,
        moe=preset.moe,
    )


def _of_object(given: ModelObject, sequence_length: int) -> ModelShape:
    if given.head_dim is None and given.hidden % given.heads:
        raise InputError(
            f"job field model: hidden {given.hidden} is no multiple of heads {given.heads}; give head_dim"
        )
    kv_heads = given.kv_heads or given.heads
    if given.heads % kv_heads:
        raise InputError(f"job field model: heads {given.heads} is not a multiple of kv_heads {kv_heads}")
    own = given.attention
    if own.kind == "mla":
        parts = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        missing = [name for name in parts if getattr(own, name) is None]
        if missing:
            raise InputError(f"job field model.attention: kind mla needs {name_list(missing)}")
    moe = given.moe
    if moe is not None and moe.top_k > moe.experts:
        raise InputError(f"job field model.moe: top_k {moe.top_k} is more than the {moe.experts} experts")
    return ModelShape(
        name=given.name,
        layers=given.layers,
        hidden=given.hidden,
        heads=given.heads,
        kv_heads=kv_heads,
        head_dim=given.head_dim or given.hidden // given.heads,
        ffn=given.ffn or 4 * given.hidden,
        vocabulary=given.vocab,
        positions=(given.seq or sequence_length) if given.learned_positions else 0,
        norm=given.norm,
        mlp=given.mlp,
        mlp_bias=given.mlp_bias,
        tied_embeddings=given.tied_embeddings,
        attention=own,
        moe=moe,
    )


def layers_per_chunk(job: JobSpec, shape: ModelShape) -> tuple[StageLayers, ...]:
    """The layers of each position σ of a legal job (see `chunks`), with the rank that holds it."""
    count = positions(job)
    given = job.parallel.layers_per_stage
    sizes = given if given is not None else (shape.layers // count,) * count
    found = []
    first = 0
    for position, size in enumerate(sizes):
        routed = sum(shape.is_moe(layer) for layer in range(first, first + size)) if shape.moe else 0
        found.append(StageLayers(rank_of(job, position), size - routed, routed))
        first += size
    return tuple(found)


def layers_per_stage(job: JobSpec, shape: ModelShape) -> tuple[StageLayers, ...]:
    """The layers of each pipeline rank of a legal job; of DualPipe without those of its second copy."""
    dense, moe = [0] * job.parallel.pp, [0] * job.parallel.pp
    for chunk in layers_per_chunk(job, shape):
        dense[chunk.stage] += chunk.dense
        moe[chunk.stage] += chunk.moe
    return tuple(StageLayers(stage, dense[stage], moe[stage]) for stage in range(job.parallel.pp))
