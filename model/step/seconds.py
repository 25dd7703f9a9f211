"""How long the GPUs of a track compute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChunkSeconds:
    """One microbatch of one chunk, without communication.

    `dgrad_s` and `wgrad_s` are the parts of `backward_s` in input-gradient and weight-gradient GEMMs; the
    GEMMs of `forward_s` take as long as `dgrad_s`. `attention_s` and `attention_backward_s` are the parts in
    core attention. `layers` says how much of what a stage exchanges for its layers falls to this chunk;
    `routed` of them have experts.
    """

    forward_s: float
    backward_s: float
    dgrad_s: float = 0.0
    wgrad_s: float = 0.0
    attention_s: float = 0.0
    attention_backward_s: float = 0.0
    layers: float = 1.0
    routed: int = 0

    def paced(self, pace: float) -> ChunkSeconds:
        """On GPUs that deliver `pace` of their compute."""
        return ChunkSeconds(
            self.forward_s / pace,
            self.backward_s / pace,
            self.dgrad_s / pace,
            self.wgrad_s / pace,
            self.attention_s / pace,
            self.attention_backward_s / pace,
            self.layers,
            self.routed,
        )


@dataclass(frozen=True, slots=True)
class TrackSeconds:
    """The chunks of a track at the pace of its slowest GPU, chunk 0 first, and the optimizer once a step.

    `busy_share`: what its GPUs compute on the mean ÷ what the slowest one does; the rest they wait for it.
    `issue_s`: what the host takes to issue one kernel.
    """

    stage: int
    chunks: tuple[ChunkSeconds, ...]
    optimizer_s: float
    busy_share: float = 1.0
    issue_s: float = 0.0
