"""A running world as a window or a headless command drives it: ticks, input, recording, replay.

The physics never sees wall time. Wall time only decides how many whole ticks are run: a session
adds it up in an accumulator of its own and runs ticks of the scene's fixed length. A machine that
is too slow runs slow (the debt of time is dropped) and `simulation_speed` says how slow.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app import fingerprint
from app.errors import MatterboxError, RecordingError, SnapshotError
from app.events import Event, EventError, Restart
from app.recording import Recorder, Replay, describe

if TYPE_CHECKING:
    from app.desync import Desync
    from app.simulation import Simulation
    from app.snapshot import Snapshot
    from app.timeline import Timeline

MIN_SPEED = 0.1
MAX_SPEED = 8.0

# Ticks that one call of `advance` may run at speed 1; more than that behind, and time is dropped.
MAX_BEHIND = 4

# Events of the running world that are kept so that a recording can begin at any moment. Past
# this many (hours of a held button), starting a recording restarts the world instead.
MAX_HISTORY = 1_000_000

_SPEED_WINDOW = 1.0  # seconds of wall time over which `simulation_speed` is measured
_SMOOTHING = 0.1  # weight of the newest tick in `ms_per_tick`


class Session:
    """Drives one simulation. Not thread-safe; call it from the thread that owns the simulation.

    Attributes:
        paused: no ticks run in `advance`; `step_once` still works.
        held: asked once before every tick for events that last as long as a button is down;
            not asked while replaying.
        notice: the last sentence worth showing to the user (a recording that failed), or None.
        goal: the moment of the timeline that `advance` is on the way to, or None.
        desync_folder: where folders of states that diverged go; beside the recording of a replay.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        recorder: Recorder | None = None,
        replay: Replay | None = None,
        timeline: Timeline | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ):
        """Take over `simulation`, which nobody else may step or change from here on.

        `recorder` starts with the first tick. `replay` supplies the events and is compared after
        every tick; live input for the world is then ignored. `timeline`, of this simulation, takes
        down every tick, and `seek` then goes to any of them. `clock` [s] only measures.
        """
        self.simulation = simulation
        self.replay = replay
        self.timeline = timeline
        self.paused = False
        self.held: Callable[[], Iterable[Event]] | None = None
        self.notice: str | None = None
        self.goal: int | None = None
        self.desync_folder = Path() if replay is None else replay.path.parent
        self._recorder = recorder
        self._clock = clock
        self._pending: list[Event] = []
        self._speed = 1.0
        self._due = 0.0  # ticks that wall time has earned and that have not run
        self._recent: deque[tuple[float, int]] = deque()  # (wall seconds, ticks) of past frames
        self._ms_per_tick = 0.0
        self._measured = 0  # ticks in `_ms_per_tick`
        # `steps` at the world's last initial state; of a resumed world, where it would have been.
        self._world_start = simulation.steps - simulation.tick
        self._recording_start = simulation.steps  # `steps` at the recording's step 0
        # Events since the world's initial state, as (step, events); None if they are unknown.
        self._history: list[tuple[int, tuple[Event, ...]]] | None = []
        self._history_size = 0
        if simulation.steps != 0 or simulation.resumed:
            self._history = None
        self._reported: Desync | None = None
        self._differences: list[str] = []  # of device and code, between recording and here
        self._saved: tuple[str, list[tuple[int, tuple[Event, ...]]] | None] | None = None
        # Of the sources as they are now, not as they may have been edited when R is pressed.
        fingerprint.code_hash()
        if replay is not None:
            self._differences = replay.header.differences(describe(simulation))
            if self._differences:
                self.notice = (
                    "recorded elsewhere, so other bits are no fault: "
                    f"{'; '.join(self._differences)}"
                )

    # -- input ---------------------------------------------------------------------------------

    def emit(self, event: Event) -> bool:
        """Apply `event` at the next tick's edge and record it. False (ignored) while replaying."""
        if not isinstance(event, Event):
            raise TypeError(f"a session takes events of app.events, found {type(event).__name__}")
        if self.replaying:
            return False
        self._pending.append(event)
        return True

    @property
    def speed(self) -> float:
        """Simulated seconds aimed at per second of wall time, 0.1 to 8."""
        return self._speed

    @speed.setter
    def speed(self, factor: float) -> None:
        if math.isfinite(factor):
            self._speed = min(max(float(factor), MIN_SPEED), MAX_SPEED)

    def restart(self) -> None:
        """Back to the initial state; while replaying, back to the recording's first tick.

        A restart is an event, so it takes effect at the next tick's edge; when paused that tick
        is run at once, so that the fresh world is seen.
        """
        if self.replaying:
            if self.timeline is not None:
                self.seek(0)
            else:
                self.simulation.apply(Restart())
                self._world_start = self.simulation.steps
            self.replay.rewind()
        else:
            self._pending.append(Restart())
        if self.paused:
            self.step_once()

    # -- time ----------------------------------------------------------------------------------

    def advance(self, wall_seconds: float, budget_seconds: float = 0.025) -> int:
        """Run the ticks that `wall_seconds` since the last call have earned; returns how many.

        At least one tick runs when one is due; further ones only while `budget_seconds` of wall
        time are not used up. What cannot be run is dropped, never caught up later. A replay
        whose comparison starts late first runs up to there as fast as the budget allows.
        """
        if not (math.isfinite(wall_seconds) and wall_seconds > 0.0):
            wall_seconds = 0.0
        start = self._clock()
        ran = 0
        if self.goal is not None:
            self._travel(budget_seconds)
        elif not self.paused:
            limit = math.ceil(MAX_BEHIND * max(1.0, self._speed))
            self._due = min(self._due + wall_seconds * self._speed * self._tick_rate, limit)
            while self._due >= 1.0 or self._hurrying:
                if ran and self._clock() - start >= budget_seconds:
                    break
                if not self._tick():
                    break
                self._due = max(self._due - 1.0, 0.0)
                ran += 1
            self._due = min(self._due, 1.0)
        self._measure(wall_seconds, ran)
        return ran

    def step_once(self) -> bool:
        """Run exactly one tick, paused or not. False when a replay has no further tick."""
        self._arrive()
        return self._tick()

    @property
    def step(self) -> int:
        """Ticks run since the world's initial state; the next tick is the one of this number."""
        return self.simulation.steps - self._world_start

    @property
    def simulation_speed(self) -> float:
        """Simulated seconds per second of wall time over about the last second; 1 is real time."""
        wall = sum(seconds for seconds, _ in self._recent)
        ticks = sum(count for _, count in self._recent)
        return ticks / (self._tick_rate * wall) if wall > 0.0 else 0.0

    @property
    def ms_per_tick(self) -> float:
        """Smoothed wall time of one tick [ms], recording included; 0 before the first."""
        return self._ms_per_tick

    # -- recording and replay ------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """Whether ticks are being recorded now."""
        return self._recorder is not None

    @property
    def recorder(self) -> Recorder | None:
        """The recorder at work, or None."""
        return self._recorder

    @property
    def replaying(self) -> bool:
        """Whether the events come from a recording."""
        return self.replay is not None

    @property
    def finished(self) -> bool:
        """Whether a replay has run its last tick."""
        return self.replay is not None and self.step > self.replay.last_step

    def start_recording(self, path: str | Path) -> None:
        """Record from the next tick on into `path`.

        The file holds every event since the world's initial state, so it replays from there, and
        digests from now on. Raises RecordingError if the file cannot be written, if a recording
        is already running, while replaying, and in a world that goes on from a snapshot of unknown
        past.
        """
        self._arrive()
        if self._recorder is not None:
            raise RecordingError(f"already recording into {self._recorder.path}")
        if self.replaying:
            raise RecordingError("a replay cannot be recorded again: it is a recording already")
        if self._history is None and self.simulation.resumed:
            raise RecordingError(
                "this world goes on from a snapshot, and a recording begins with the initial state "
                "of a scene: restart first"
            )
        if self._history is None:
            # What happened to this world is not known in full: the recording begins with a new one.
            self._recorder = Recorder(path, self.simulation)
            self._recording_start = self.simulation.steps
            self._pending.append(Restart())
        else:
            self._recorder = Recorder(
                path, self.simulation, history=self._history, start_step=self.step
            )
            self._recording_start = self._world_start
        self.notice = self._recorder.notice or self.notice

    def stop_recording(self) -> Path | None:
        """End the recording; returns its file, or None when none was running.

        Raises RecordingError when the file cannot be finished (what was recorded is then kept
        in the journal, which the message names).
        """
        recorder, self._recorder = self._recorder, None
        return None if recorder is None else recorder.close()

    def close(self) -> Path | None:
        """End the session: a running recording is finished. Returns its file, if any."""
        return self.stop_recording()

    # -- snapshots -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The world between two ticks, with the input that waits for the next one."""
        self._arrive()
        taken = self.simulation.snapshot()
        snapshot = replace(taken, pending=(*taken.pending, *self._pending))
        history = None if self._history is None else list(self._history)
        self._saved = (snapshot.digest(), history)
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot, in place of the present world and of the input that waits.

        A running recording ends here, with a notice: what follows does not follow from what it
        holds. Of the last snapshot that this session took it still knows the events that led there,
        so a recording may begin after it; not after one of another session.

        Raises SnapshotError while replaying, and where the device has no room.
        """
        if self.replaying:
            raise SnapshotError("a replay goes its own way; open its scene to load a snapshot")
        self.goal = None
        self._cut_recording()
        # What waits goes through this session, which tells a recorder of it.
        self.simulation.restore(replace(snapshot, pending=()))
        known = self._saved is not None and self._saved[0] == snapshot.digest()
        history = self._saved[1] if known else None
        self._go_on_from(history, snapshot.pending)
        if self.timeline is not None:
            self.timeline.begin(history)

    @property
    def waiting(self) -> bool:
        """Whether input waits for the next tick."""
        return bool(self._pending)

    def drop_waiting(self) -> None:
        """Take back the input that waits."""
        self._pending.clear()

    # -- time travel ---------------------------------------------------------------------------

    @property
    def horizon(self) -> int:
        """The last moment that `seek` reaches: of a replay its end, also before it was shown."""
        known = self.timeline.length
        return known if self.replay is None else max(known, self.replay.last_step + 1)

    def seek(self, moment: int) -> bool:
        """Go to a moment of the timeline; whether it is, bit for bit, the state that was.

        Input that waits is dropped and a running recording ends, as in `restore`. Playing on from
        there begins another future; only a replay has one. Raises ValueError for a moment that is
        not known.
        """
        self.head_for(moment)
        self._arrive()
        return self.timeline.is_equal(moment)

    def head_for(self, moment: int) -> None:
        """Begin a `seek` that `advance` goes on with, within its budget, until `goal` is None."""
        if self.timeline is None:
            raise ValueError("this session keeps no timeline")
        if not 0 <= moment <= self.horizon:
            raise ValueError(f"moment {moment} is not one of 0 to {self.horizon}")
        if moment != self.timeline.position:
            self._cut_recording()
        self._pending.clear()
        self._due = 0.0
        self.goal = moment

    def _arrive(self) -> None:
        self._travel(math.inf)

    def _travel(self, budget_seconds: float) -> None:
        """Come nearer to the goal, by one step at least."""
        start = self._clock()
        timeline = self.timeline
        while self.goal is not None:
            reached = self._approach(min(self.goal, timeline.length))
            if reached and self.goal > timeline.position:  # a replay, where it was not yet shown
                reached = not self._tick() or self.goal == timeline.position
            if reached:
                self.goal = None
                if not self.replaying:
                    self._go_on_from(timeline.history(), self._pending)
            if self._clock() - start >= budget_seconds:
                break

    def _approach(self, moment: int) -> bool:
        """One step of the timeline's; what is known of its first divergence is kept, once."""
        timeline = self.timeline
        reached = timeline.approach(moment)
        # Steps of a recording count on through its restarts.
        age = timeline.position if self.replaying else self.simulation.tick
        self._world_start = self.simulation.steps - age
        desync = timeline.desync
        if desync is not None and desync is not self._reported:
            self._reported = desync
            self._save(desync, ", seen again, has other bits than it had")
        return reached

    def _save(self, desync: Desync, what: str) -> None:
        """Write what is known of a tick that diverged, and say so; a failure stops nothing."""
        notice = f"tick {desync.tick}{what}: field {desync.field}"
        states = "both states" if desync.differing else "the state found"
        try:
            self.notice = f"{notice}; {states} and a log: {desync.save(self.desync_folder)}"
        except MatterboxError as error:
            self.notice = f"{notice}; nothing was kept: {error}"

    def _cut_recording(self) -> None:
        """End a running recording where the world is about to leave what it holds."""
        if self._recorder is None:
            return
        try:
            self.notice = f"the recording ended here: {self.stop_recording()}"
        except RecordingError as error:
            self.notice = str(error)

    def _go_on_from(
        self, history: list[tuple[int, tuple[Event, ...]]] | None, pending: Iterable[Event]
    ) -> None:
        """Take the world as it stands now, with the events that led there where they are known."""
        self._pending = list(pending)
        self._due = 0.0
        self._world_start = self.simulation.steps - self.simulation.tick
        self._history = None if history is None else list(history)
        self._history_size = sum(len(events) for _, events in history or ())

    # -- one tick ------------------------------------------------------------------------------

    def _tick(self) -> bool:
        if self.finished:
            return False
        start = self._clock()
        simulation = self.simulation
        step = self.step
        timeline = self.timeline
        if self.replaying and timeline is not None and timeline.position < timeline.length:
            self._approach(timeline.position + 1)  # it was shown already, and is kept
            self._check(step)
            return True
        self._tell_of_branch()
        if self.replay is not None:
            events = self.replay.events_at(step)
        else:
            events = (*self._pending, *(self.held() if self.held is not None else ()))
            self._pending.clear()
        events = [event for event in events if self._apply(step, event)]
        recorded_step = simulation.steps - self._recording_start
        self._record(lambda recorder: recorder.before(recorded_step, events))
        if self.replay is None:
            self._remember(step, events)
        simulation.step()
        self._record(lambda recorder: recorder.after(recorded_step))
        if timeline is not None:
            timeline.note(events)
        self._check(step)
        elapsed = 1000.0 * (self._clock() - start)
        # The first tick compiles kernels: the second one's time replaces it.
        weight = _SMOOTHING if self._measured >= 2 else 1.0
        self._ms_per_tick += weight * (elapsed - self._ms_per_tick)
        self._measured += 1
        return True

    def _check(self, step: int) -> None:
        """Compare a tick of a replay with its recording; what differs first is kept."""
        replay = self.replay
        if replay is None or replay.divergence is not None:
            return
        if not replay.check(step, self.simulation) and self.timeline and not self._differences:
            desync = self.timeline.examine(replay.expected_fields(step), replay.expected(step))
            self._save(desync, " has other bits than were recorded")

    def _tell_of_branch(self) -> None:
        """Playing on from the past: say so where something that was done is forgotten by it."""
        timeline = self.timeline
        if timeline is None or timeline.position == timeline.length:
            return
        lost = sum(moment >= timeline.position for moment in timeline.edits)
        if lost:
            edits = (
                "one edit of the old one is" if lost == 1 else f"{lost} edits of the old one are"
            )
            self.notice = f"Another future begins here: {edits} forgotten"

    def _apply(self, step: int, event: Event) -> bool:
        """Queue an event. One that the scene has no use for is dropped, with a notice."""
        try:
            self.simulation.apply(event)
        except (MatterboxError, EventError) as error:
            self.notice = str(error)
            if self.replay is not None:
                self.replay.reject(step)
            return False
        return True

    def _record(self, write: Callable[[Recorder], None]) -> None:
        """Let the recorder write; a recorder that fails ends the recording, not the world."""
        if self._recorder is None:
            return
        try:
            write(self._recorder)
        except RecordingError as error:
            self._recorder = None
            self.notice = str(error)

    def _remember(self, step: int, events: Sequence[Event]) -> None:
        """Keep what a recording that begins later needs: the events since the initial state."""
        restarts = [index for index, event in enumerate(events) if isinstance(event, Restart)]
        if restarts:
            self._world_start = self.simulation.steps
            self._history = []
            self._history_size = 0
            step = 0
            events = events[restarts[-1] + 1 :]
        if events and self._history is not None:
            self._history.append((step, tuple(events)))
            self._history_size += len(events)
            if self._history_size > MAX_HISTORY:
                self._history = None

    @property
    def _tick_rate(self) -> float:
        return float(self.simulation.scene.solver.tick_rate)

    @property
    def _hurrying(self) -> bool:
        return self.replay is not None and self.step < min(
            self.replay.start_step, self.replay.last_step + 1
        )

    def _measure(self, wall_seconds: float, ticks: int) -> None:
        self._recent.append((wall_seconds, ticks))
        total = sum(seconds for seconds, _ in self._recent)
        while len(self._recent) > 1 and total - self._recent[0][0] >= _SPEED_WINDOW:
            total -= self._recent.popleft()[0]
