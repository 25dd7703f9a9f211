"""Parts of a model's shape, which presets and jobs share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

# Far beyond any cluster, and small enough that the bytes of a tensor stay exact in 64 bits.
Size = Annotated[int, Field(ge=1, le=1_048_576)]
Width = Annotated[int, Field(ge=1, le=2**20)]
Count = Annotated[int, Field(ge=0, le=2**16)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AttentionShape(_Shape):
    """Attention of a model; the ranks and head parts belong to `mla`."""

    kind: Literal["mha", "gqa", "mla"] = "mha"
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False
    q_lora_rank: Width | None = None
    kv_lora_rank: Width | None = None
    qk_nope_head_dim: Width | None = None
    qk_rope_head_dim: Width | None = None
    v_head_dim: Width | None = None


class MoeShape(_Shape):
    """Mixture of experts of a model."""

    experts: Annotated[int, Field(ge=1, le=2**16)]
    top_k: Annotated[int, Field(ge=1, le=2**16)]
    expert_ffn: Width
    shared_experts: Count = 0
    first_dense_layers: Count = 0
    interleave_step: Size = 1
    router_bias: bool = False
    expert_groups: Size | None = None
    limited_groups: Size | None = None
