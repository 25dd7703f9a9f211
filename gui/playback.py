"""The one clock that all animation follows: a moment of the training step, and how fast it moves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal

FRAME_MS = 16
SPEEDS = (20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001)


class Playback(QObject):
    """Time within one step. It loops, and its timer runs only while something plays on a visible window.

    `duration_s` is the step's length, 0 without a step. `speed` is step seconds per second of the wall clock.
    """

    time_changed = Signal(float)
    playing_changed = Signal(bool)
    speed_changed = Signal(float)
    duration_changed = Signal(float)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._time_s = 0.0
        self._duration_s = 0.0
        self._speed = 0.05
        self._playing = False
        self._visible = True
        self._boundaries: tuple[float, ...] = ()
        self._wall = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def time_s(self) -> float:
        """The moment shown, 0 … duration_s."""
        return self._time_s

    @property
    def duration_s(self) -> float:
        """The length of the step."""
        return self._duration_s

    @property
    def playing(self) -> bool:
        """Whether time moves by itself."""
        return self._playing

    @property
    def speed(self) -> float:
        """Step seconds per second of the wall clock."""
        return self._speed

    @property
    def ticking(self) -> bool:
        """Whether the timer runs."""
        return self._timer.isActive()

    def set_step(self, duration_s: float, boundaries_s: Sequence[float] = ()) -> None:
        """Take over a new step; `boundaries_s` are the ascending times at which the traffic changes.

        The moment shown keeps its share of the step.
        """
        share = self._time_s / self._duration_s if self._duration_s > 0 else 0.0
        self._boundaries = tuple(boundaries_s)
        if duration_s != self._duration_s:
            self._duration_s = max(0.0, duration_s)
            self.duration_changed.emit(self._duration_s)
        if self._duration_s == 0:
            self.pause()
        self.set_time(share * self._duration_s)

    def set_time(self, time_s: float) -> None:
        """Go to a moment (clamped to the step)."""
        time_s = min(max(0.0, time_s), self._duration_s)
        if time_s != self._time_s:
            self._time_s = time_s
            self.time_changed.emit(time_s)

    def set_speed(self, speed: float) -> None:
        """Step seconds per second of the wall clock, above 0."""
        if speed > 0 and speed != self._speed:
            self._speed = speed
            self.speed_changed.emit(speed)

    def faster(self) -> None:
        """The next of the usual speeds."""
        above = [speed for speed in SPEEDS if speed > self._speed * 1.0001]
        if above:
            self.set_speed(min(above))

    def slower(self) -> None:
        """The usual speed before this one."""
        below = [speed for speed in SPEEDS if speed < self._speed * 0.9999]
        if below:
            self.set_speed(max(below))

    def play(self) -> None:
        """Let time move, if there is a step."""
        if not self._playing and self._duration_s > 0:
            self._playing = True
            self._update_timer()
            self.playing_changed.emit(True)

    def pause(self) -> None:
        """Hold the moment."""
        if self._playing:
            self._playing = False
            self._update_timer()
            self.playing_changed.emit(False)

    def toggle(self) -> None:
        """Play or pause."""
        if self._playing:
            self.pause()
        else:
            self.play()

    def next_segment(self) -> None:
        """Go to the next moment at which the traffic changes."""
        later = bisect_right(self._boundaries, self._time_s)
        self.set_time(self._boundaries[later] if later < len(self._boundaries) else self._duration_s)

    def previous_segment(self) -> None:
        """Go to the last moment before this one at which the traffic changed."""
        earlier = bisect_left(self._boundaries, self._time_s) - 1
        self.set_time(self._boundaries[earlier] if earlier >= 0 else 0.0)

    def set_visible(self, visible: bool) -> None:
        """Nothing moves while the window cannot be seen."""
        self._visible = visible
        self._update_timer()

    def _update_timer(self) -> None:
        if self._playing and self._visible:
            if not self._timer.isActive():
                self._wall.start()
                self._timer.start()
        else:
            self._timer.stop()

    def _tick(self) -> None:
        moved = self._wall.restart() / 1000.0 * self._speed
        self.set_time((self._time_s + moved) % self._duration_s)
