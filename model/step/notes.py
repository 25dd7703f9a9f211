"""What is often said wrongly about a number, put right where the number appears (traffic_model §11)."""

from __future__ import annotations

from collections.abc import Mapping

from model.job.exchange import Exchange, Operation, When

NOTES: Mapping[str, str] = {
    "step.model_flops": "Forward takes 2 FLOP a parameter and token, backward 4, not 1 and 2; the optimizer "
    "runs once a step.",
    "step.mfu": "Against the dense peak; a peak with sparsity is twice as high and no training reaches it.",
    "step.bubble_fraction": "A share of the whole pipeline part. Formulas often give it as a share of the "
    "ideal time: b of the whole is b ÷ (1 − b) of the ideal.",
    "link.capacity.nvlink": "One direction. The 900 GB/s that are quoted for an H100 count both: 450 against "
    "the 50 of a NIC are 9 times, not 18.",
    "link.mean_utilisation": "A mean hides bursts: a link may be full in one phase and idle in the others, "
    "so the peak stands beside it.",
    "link.oversubscription": "A fabric of 1:1 can be congested all the same: hashed flows that are large and "
    "few meet on one link while others are idle.",
    "domain.size": "A domain of 72 GPUs does not mean TP 72: TP must divide the heads and suit the KV heads. "
    "The domain is used for TP × EP × CP together.",
}
"""By the name of a figure of the report, or of a number that a view shows of a link or domain."""

_TENSOR = (
    "Counted per microbatch and replica: a step has as many times more as it has microbatches, and a GPU "
    "only those of its own layers. With sequence parallelism a layer has 4 + 6 of them on the wire."
)
_ACTIVATION = "Microbatch × sequence × hidden × 2 bytes: megabytes, not the gigabytes that are often quoted."
_GRADIENT = (
    "fp32 gradients are 4 bytes a parameter on the wire, bf16 ones 2, and only for the parameters that the "
    "rank itself holds, N ÷ (TP · PP)."
)
_RING = (
    "A ring carries 2(n − 1)/n of the tensor in an all-reduce and (n − 1)/n in a gather or scatter; it has "
    "two neighbours, and nobody talks to everybody."
)
_SHARDED = (
    "ZeRO-3 saves memory, not communication: with gathers forward and backward it moves 1.5 times what an "
    "all-reduce does, in every microbatch."
)
_EXPERTS = "The dense pattern: every GPU of the group talks to every other one."


def figure_note(name: str) -> str:
    """The note to a figure of the step; "" where nothing needs to be put right."""
    return NOTES.get(name, "")


def exchange_note(exchange: Exchange, field: str) -> str:
    """The note to `message_bytes` or `sent_bytes_per_gpu_per_step` of an exchange."""
    every_microbatch = exchange.when in (When.FORWARD, When.BACKWARD)
    if exchange.dimension == "dp" and every_microbatch and exchange.kind.startswith("dp.parameters"):
        return _SHARDED
    if field == "message_bytes":
        if exchange.kind in ("tp.forward", "tp.backward", "pp.activation", "pp.gradient"):
            return _ACTIVATION
        return _GRADIENT if exchange.kind.startswith("dp.gradient") else ""
    if exchange.kind in ("tp.forward", "tp.backward"):
        return _TENSOR
    if exchange.operation is Operation.ALL_TO_ALL:
        return _EXPERTS
    return _RING if exchange.dimension == "dp" else ""
