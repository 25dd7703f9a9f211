"""Exchanges on their way: latency first, then bytes at the speed that sharing leaves them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import nextafter

from model.step.shares import Shares

_LATENCY = 1
_MOVING = 2


class Piece:
    """One run of an instance, which moves `share` of its bytes of a step and waits for `latency` of its α.

    `missing` counts the participants that have not come yet; with none missing it is handed over, and
    `on_wire` when the ones before it in its stream have ended. `waiting` are the tracks that wait for its
    end.
    """

    __slots__ = ("done", "instance", "latency", "missing", "on_wire", "share", "waiting")

    def __init__(
        self, instance: int, participants: int, share: float = 1.0, latency: float | None = None
    ) -> None:
        self.instance = instance
        self.share = share
        self.latency = share if latency is None else latency
        self.missing = participants
        self.on_wire = False
        self.done = False
        self.waiting: list[int] = []


class History:
    """The states of one component over time.

    From `times[k]` on, until the next, the instances with a bit in `latency[k]` wait for their latency and
    those in `moving[k]` move bytes.
    """

    __slots__ = ("latency", "moving", "times")

    def __init__(self) -> None:
        self.times: list[float] = [0.0]
        self.latency: list[int] = [0]
        self.moving: list[int] = [0]

    def note(self, time: float, latency: int, moving: int) -> None:
        """From `time` on this holds; the last word on a moment counts."""
        if self.times[-1] == time:
            self.latency[-1], self.moving[-1] = latency, moving
        else:
            self.times.append(time)
            self.latency.append(latency)
            self.moving.append(moving)


class Wires:
    """Runs pieces, one after the other per stream, and tells when each has ended.

    `at(time, call, number, version)` schedules `call(time, number, version)`; `ended(time, piece)` is called
    at the end of a piece.
    """

    def __init__(
        self,
        shares: Shares,
        alpha_s: tuple[float, ...],
        stream: tuple[int, ...],
        at: Callable[[float, Callable[[float, int, int], None], int, int], None],
        ended: Callable[[float, Piece], None],
    ) -> None:
        count = shares.count
        self.shares = shares
        self.histories = [History() for _ in shares.components]
        self.wire_s = [0.0] * count
        self._alpha, self._at, self._ended = alpha_s, at, ended
        self._stream = stream
        streams = max(stream, default=-1) + 1
        self._queue: list[deque[Piece]] = [deque() for _ in range(streams)]
        self._running: list[Piece | None] = [None] * streams
        self._since = [0.0] * count
        self._left = [0.0] * count
        self._speed = [0.0] * count
        self._version = [0] * count
        self._alone = [len(shares.components[component]) == 1 for component in shares.component_of]
        self._latency_mask = [0] * len(shares.components)
        self._moving_mask = [0] * len(shares.components)
        self._changed: set[int] = set()
        self._alone_speed = [
            shares.moving(shares.component_of[number], 1).speeds[0] if alone and shares.moves[number] else 0.0
            for number, alone in enumerate(self._alone)
        ]

    def start(self, time: float, piece: Piece) -> None:
        """Hand a piece over; it runs when the earlier ones of its stream have ended."""
        stream = self._stream[piece.instance]
        if self._running[stream] is None:
            self._run(time, piece)
        else:
            self._queue[stream].append(piece)

    def _run(self, time: float, piece: Piece) -> None:
        number = piece.instance
        self._running[self._stream[number]] = piece
        piece.on_wire = True
        component = self.shares.component_of[number]
        alpha = self._alpha[number] * piece.latency
        if self._alone[number]:
            moves_from = time + alpha
            end = moves_from
            history = self.histories[component]
            if alpha > 0:
                history.note(time, 1, 0)
            if self.shares.moves[number]:
                end = max(
                    moves_from + piece.share / self._alone_speed[number],
                    nextafter(moves_from, 2 * moves_from + 1),
                )
                history.note(moves_from, 0, 1)
            history.note(end, 0, 0)
            self.wire_s[number] += end - time
            self._at(end, self._end_alone, number, 0)
            return
        self.wire_s[number] -= time
        if alpha > 0 or not self.shares.moves[number]:
            self._latency_mask[component] |= self.shares.member_bit[number]
            self._changed.add(component)
            self._at(time + alpha, self._move, number, 0)
        else:
            self._move(time, number, 0)

    def _end_alone(self, time: float, number: int, _version: int) -> None:
        self._finish(time, number)

    def _move(self, time: float, number: int, _version: int) -> None:
        """The latency of a piece is over."""
        component = self.shares.component_of[number]
        self._latency_mask[component] &= ~self.shares.member_bit[number]
        self._changed.add(component)
        running = self._running[self._stream[number]]
        share = running.share if running is not None else 0.0
        self._since[number], self._left[number], self._speed[number] = time, share, 0.0
        self._moving_mask[component] |= self.shares.member_bit[number]

    def _end_moving(self, time: float, number: int, version: int) -> None:
        if version != self._version[number]:
            return
        component = self.shares.component_of[number]
        self._moving_mask[component] &= ~self.shares.member_bit[number]
        self._changed.add(component)
        self._version[number] += 1
        self.wire_s[number] += time
        self._finish(time, number)

    def _finish(self, time: float, number: int) -> None:
        stream = self._stream[number]
        piece = self._running[stream]
        if piece is None:
            raise RuntimeError(f"exchange instance {number} ended without having started")
        piece.done = True
        self._ended(time, piece)
        self._running[stream] = None
        if self._queue[stream]:
            self._run(time, self._queue[stream].popleft())

    @property
    def unsettled(self) -> bool:
        """Whether speeds must be found anew before time goes on."""
        return bool(self._changed)

    def settle(self, time: float) -> None:
        """Find the speeds that hold from `time` on in every component that changed."""
        for component in self._changed:
            mask = self._moving_mask[component]
            self.histories[component].note(time, self._latency_mask[component], mask)
            moving = self.shares.moving(component, mask)
            for number, speed in zip(moving.instances, moving.speeds, strict=True):
                before = self._speed[number]
                if speed == before:
                    continue
                left = max(self._left[number] - before * (time - self._since[number]), 0.0)
                self._left[number], self._since[number], self._speed[number] = left, time, speed
                self._version[number] += 1
                end = max(time + left / speed, nextafter(time, 2 * time + 1))
                self._at(end, self._end_moving, number, self._version[number])
        self._changed.clear()
