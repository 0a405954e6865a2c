"""Contract of a session.

- The physics sees whole ticks and events, never wall time: the sequence of (step, events) that a
  simulation is given depends on when the user acted in ticks, not on frame rate, speed or budget.
- An event emitted takes effect at the next tick's edge; `held` is asked once before every tick.
- A slow machine runs slow: the debt of time is dropped, and `simulation_speed` says how slow.
- A replay ignores live events, stops after its last step and latches the first divergence.
- A recording may begin at any moment and end by failing; the world goes on.
- A snapshot holds the input that waits; restoring one drops what waits then, ends a recording with
  its file whole, and lets another begin only where the events that led there are known.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_simulation import ToySimulation

from app import session as session_module
from app.errors import RecordingError, SnapshotError
from app.events import Grab, Paint, Restart, SetGravity
from app.recording import Recorder, Replay, verify
from app.session import MAX_BEHIND, Session

FRAME = 1 / 60


class Clock:
    """Wall time that the test moves; every look costs `cost` seconds."""

    def __init__(self, cost: float = 0.0):
        self.now = 0.0
        self.cost = cost

    def __call__(self) -> float:
        self.now += self.cost
        return self.now


def paint(x: float) -> Paint:
    return Paint("water", (x, 0.5), 0.1)


def grab(x: float) -> Grab:
    return Grab((x, 0.5), (0.0, 0.0), 0.1)


def script(session: Session) -> None:
    """A user who acts at certain ticks, whatever the frames are."""
    simulation = session.simulation

    def held():
        if simulation.steps % 7 == 3:
            session_events.append(simulation.steps)
            return [SetGravity((0.0, -float(simulation.steps)))]
        return [grab(simulation.steps / 100)] if 10 <= simulation.steps < 20 else []

    session_events: list[int] = []
    session.held = held


def run_to(session: Session, steps: int, frames) -> None:
    while session.simulation.steps < steps:
        session.advance(*next(frames))


@settings(max_examples=60, deadline=None)
@given(
    speed=st.floats(0.1, 8.0),
    frames=st.lists(
        st.tuples(st.floats(0.001, 0.5), st.floats(0.0, 0.05)), min_size=1, max_size=10
    ),
    cost=st.floats(0.0, 0.02),
)
def test_frames_and_speed_do_not_change_what_the_simulation_is_given(speed, frames, cost):
    def repeat():
        while True:
            yield from frames

    steady = Session(ToySimulation(), clock=Clock())
    script(steady)
    for _ in range(40):
        steady.step_once()

    uneven = Session(ToySimulation(), clock=Clock(cost))
    script(uneven)
    uneven.speed = speed
    run_to(uneven, 40, repeat())

    assert [e for e in uneven.simulation.applied if e[0] < 40] == steady.simulation.applied
    for _ in range(uneven.simulation.steps - 40):
        steady.step_once()
    assert uneven.simulation.digest() == steady.simulation.digest()
    assert set(uneven.simulation.stepped) == {1}


def test_real_time_at_speed_one():
    session = Session(ToySimulation(), clock=Clock())
    assert sum(session.advance(FRAME) for _ in range(600)) in (599, 600)
    assert session.simulation_speed == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0, 8.0])
def test_speed_scales_ticks_per_second(speed):
    session = Session(ToySimulation(), clock=Clock())
    session.speed = speed
    ran = sum(session.advance(1 / 144) for _ in range(1440))
    assert ran == pytest.approx(600 * speed, abs=1)
    assert session.simulation_speed == pytest.approx(speed, rel=0.15)


def test_speed_is_bounded_and_never_nan():
    session = Session(ToySimulation())
    session.speed = 100
    assert session.speed == 8.0
    session.speed = 0
    assert session.speed == 0.1
    session.speed = math.nan
    assert session.speed == 0.1


def test_slow_machine_runs_slow_and_says_so():
    clock = Clock()
    simulation = ToySimulation()
    step = simulation.step

    def slow_step(n=1):
        clock.now += 0.040
        step(n)

    simulation.step = slow_step
    session = Session(simulation, clock=clock)
    for _ in range(100):
        assert session.advance(0.050) == 1  # one tick spends the budget; the debt is dropped
    assert session.simulation_speed == pytest.approx(1 / (60 * 0.050), rel=1e-6)
    assert session.ms_per_tick == pytest.approx(40.0)
    assert session.advance(0.0) <= 1


def test_first_tick_which_compiles_is_soon_forgotten():
    clock = Clock()
    simulation = ToySimulation()
    step = simulation.step

    def compiling_step(n=1):
        clock.now += 0.010 if simulation.steps else 5.0
        step(n)

    simulation.step = compiling_step
    session = Session(simulation, clock=clock)
    session.step_once()
    session.step_once()
    assert session.ms_per_tick == pytest.approx(10.0)


def test_never_catches_up_more_than_a_few_ticks():
    session = Session(ToySimulation(), clock=Clock())
    assert session.advance(3600.0) == MAX_BEHIND
    assert session.advance(0.0) == 0


@pytest.mark.parametrize("wall", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_broken_clocks_run_nothing(wall):
    session = Session(ToySimulation(), clock=Clock())
    assert session.advance(wall) == 0


def test_pause_and_step_once():
    session = Session(ToySimulation(), clock=Clock())
    session.paused = True
    session.held = lambda: pytest.fail("asked without a tick")
    assert session.advance(1.0) == 0
    session.held = None
    assert session.simulation.steps == 0
    assert session.step_once()
    assert session.simulation.steps == 1
    session.paused = False
    assert session.advance(FRAME * 0.5) == 0  # the pause has earned nothing


def test_emitted_before_held_and_each_applied_once():
    session = Session(ToySimulation(), clock=Clock())
    session.held = lambda: [grab(0.25)]
    session.emit(paint(0.1))
    session.emit(paint(0.2))
    session.step_once()
    session.step_once()
    assert session.simulation.applied == [
        (0, paint(0.1)),
        (0, paint(0.2)),
        (0, grab(0.25)),
        (1, grab(0.25)),
    ]


def test_emit_takes_events_only():
    with pytest.raises(TypeError):
        Session(ToySimulation()).emit("restart")


def test_event_that_does_not_fit_is_dropped_with_a_notice_and_not_recorded(tmp_path):
    simulation = ToySimulation()
    session = Session(simulation, recorder=Recorder(tmp_path / "a.mbr", simulation))
    session.emit(Paint("lava", (0.5, 0.5), 0.1))
    session.emit(paint(0.1))
    session.step_once()
    assert "lava" in session.notice
    session.close()
    assert Replay.read(tmp_path / "a.mbr").events_at(0) == (paint(0.1),)


def test_restart_is_an_event_and_is_seen_when_paused():
    session = Session(ToySimulation(), clock=Clock())
    for _ in range(5):
        session.step_once()
    session.paused = True
    session.restart()
    assert session.simulation.applied == [(5, Restart())]
    assert (session.simulation.tick, session.simulation.steps, session.step) == (1, 6, 1)
    fresh = ToySimulation()
    fresh.step()
    assert session.simulation.digest() == fresh.digest()


def recorded(path: Path, ticks: int = 12) -> Path:
    simulation = ToySimulation()
    session = Session(simulation, recorder=Recorder(path, simulation), clock=Clock())
    for step in range(ticks):
        if step % 5 == 2:
            session.emit(paint(step / 100))
        session.step_once()
    assert session.recording
    assert session.stop_recording() == path
    assert not session.recording
    return path


def test_replay_ignores_live_input_and_ends(tmp_path):
    replay = Replay.read(recorded(tmp_path / "a.mbr"))
    session = Session(ToySimulation(), replay=replay, clock=Clock())
    session.held = lambda: pytest.fail("held buttons are not asked in a replay")
    assert session.replaying
    assert session.emit(paint(0.9)) is False
    ran = sum(session.advance(FRAME) for _ in range(100))
    assert ran == 12
    assert session.finished
    assert session.step_once() is False
    assert replay.divergence is None
    assert [step for step, _ in session.simulation.applied] == [2, 7]


def test_replay_restarts_from_its_beginning(tmp_path):
    replay = Replay.read(recorded(tmp_path / "a.mbr"))
    session = Session(ToySimulation(), replay=replay, clock=Clock())
    for _ in range(8):
        session.step_once()
    session.restart()
    while session.step_once():
        pass
    assert session.simulation.tick == 12
    assert replay.divergence is None


def test_replay_latches_the_first_divergence(tmp_path):
    replay = Replay.read(recorded(tmp_path / "a.mbr"))
    simulation = ToySimulation()
    session = Session(simulation, replay=replay, clock=Clock())
    for _ in range(4):
        session.step_once()
    simulation.particles[3] ^= 1
    while session.step_once():
        pass
    assert (replay.divergence.step, replay.divergence.field) == (4, "position")


def test_replay_of_another_device_says_that_other_bits_are_no_fault(tmp_path):
    path = recorded(tmp_path / "a.mbr")
    assert Session(ToySimulation(), replay=Replay.read(path)).notice is None
    other = ToySimulation()
    other.device = "another processor"
    notice = Session(other, replay=Replay.read(path)).notice
    assert "no fault" in notice and "another processor here" in notice


def test_recording_that_begins_late_replays_from_the_start(tmp_path):
    session = Session(ToySimulation(), clock=Clock())
    session.emit(paint(0.1))
    for _ in range(10):
        session.step_once()
    session.start_recording(tmp_path / "late.mbr")
    session.emit(paint(0.2))
    for _ in range(10):
        session.step_once()
    session.stop_recording()
    replay = Replay.read(tmp_path / "late.mbr")
    assert (replay.start_step, replay.last_step) == (10, 19)
    assert verify(replay, start=ToySimulation.from_scene).code == 0


def test_recording_that_begins_after_a_restart_starts_there(tmp_path):
    session = Session(ToySimulation(), clock=Clock())
    session.emit(paint(0.1))
    for _ in range(10):
        session.step_once()
    session.emit(paint(0.3))
    session.restart()
    session.emit(paint(0.4))
    for _ in range(5):
        session.step_once()
    session.start_recording(tmp_path / "late.mbr")
    for _ in range(3):
        session.step_once()
    session.restart()
    for _ in range(3):
        session.step_once()
    session.stop_recording()
    replay = Replay.read(tmp_path / "late.mbr")
    assert (replay.start_step, replay.last_step) == (5, 10)
    assert replay.events_at(0) == (paint(0.4),)
    assert replay.events_at(8) == (Restart(),)
    assert verify(replay, start=ToySimulation.from_scene).code == 0


@pytest.mark.parametrize("unknown", ["too long a history", "stepped before"])
def test_recording_of_an_unknown_past_begins_with_a_restart(tmp_path, monkeypatch, unknown):
    monkeypatch.setattr(session_module, "MAX_HISTORY", 3)
    simulation = ToySimulation()
    if unknown == "stepped before":
        simulation.step(3)
    session = Session(simulation, clock=Clock())
    if unknown == "too long a history":
        session.held = lambda: [grab(0.5)]
    for _ in range(10):
        session.step_once()
    session.start_recording(tmp_path / "new.mbr")
    for _ in range(5):
        session.step_once()
    session.stop_recording()
    replay = Replay.read(tmp_path / "new.mbr")
    assert replay.events_at(0)[0] == Restart()
    assert verify(replay, start=ToySimulation.from_scene).code == 0


def test_late_replay_hurries_to_where_the_comparison_begins(tmp_path):
    session = Session(ToySimulation(), clock=Clock())
    for _ in range(50):
        session.step_once()
    session.start_recording(tmp_path / "late.mbr")
    for _ in range(5):
        session.step_once()
    session.stop_recording()
    replay = Replay.read(tmp_path / "late.mbr")
    session = Session(ToySimulation(), replay=replay, clock=Clock())
    assert session.advance(FRAME / 10) >= 50
    assert not session.finished


def test_two_recordings_at_once_are_refused(tmp_path):
    session = Session(ToySimulation())
    session.start_recording(tmp_path / "a.mbr")
    with pytest.raises(RecordingError, match="already"):
        session.start_recording(tmp_path / "b.mbr")
    session.close()


def test_recording_that_fails_ends_but_the_world_goes_on(tmp_path):
    session = Session(ToySimulation())
    session.start_recording(tmp_path / "a.mbr")
    session.step_once()

    def full(line):
        raise OSError(28, "No space left on device")

    session.recorder._append = full
    session.step_once()
    assert session.step_once()
    assert not session.recording
    assert "No space left on device" in session.notice
    assert "\n" not in session.notice
    assert Replay.read(tmp_path / "a.mbr").ticks == 1


def played(session: Session, ticks: int = 6) -> Session:
    """Some ticks with some input."""
    for _ in range(ticks):
        if session.simulation.steps % 4 == 1:
            session.emit(paint(session.simulation.steps / 100))
        session.step_once()
    return session


def test_restored_session_goes_on_from_there_with_the_input_that_waited():
    session = played(Session(ToySimulation(), clock=Clock()))
    session.emit(paint(0.5))  # waits for the next tick
    taken = session.snapshot()
    session.step_once()
    expected = session.simulation.digest()
    played(session, 3)
    session.emit(paint(0.9))  # dropped
    session.restore(taken)
    assert (session.step, session.simulation.tick) == (6, 6)
    session.step_once()
    assert session.simulation.digest() == expected
    assert session.simulation.applied[-1][1] == paint(0.5)


def test_wall_time_earned_before_a_restore_runs_nothing_after_it():
    session = played(Session(ToySimulation(), clock=Clock()))
    taken = session.snapshot()
    assert session.advance(0.9 * FRAME) == 0
    session.restore(taken)
    assert session.advance(0.2 * FRAME) == 0


def test_recording_ends_whole_where_a_snapshot_is_restored(tmp_path):
    session = played(Session(ToySimulation(), clock=Clock()))
    taken = session.snapshot()
    session.start_recording(tmp_path / "a.mbr")
    played(session, 5)
    session.restore(taken)
    assert not session.recording
    assert session.notice == f"the recording ended here: {tmp_path / 'a.mbr'}"
    replay = Replay.read(tmp_path / "a.mbr")
    assert replay.ticks == 5
    assert verify(replay, start=ToySimulation.from_scene).code == 0


def test_recording_after_a_restore_reaches_back_to_the_start_of_the_world(tmp_path):
    """The events that waited in the snapshot are in it, those of the time that was undone not."""
    session = played(Session(ToySimulation(), clock=Clock()))
    session.emit(paint(0.5))
    taken = session.snapshot()
    played(session, 7)
    session.restore(taken)
    session.start_recording(tmp_path / "a.mbr")
    played(session, 5)
    session.close()
    replay = Replay.read(tmp_path / "a.mbr")
    assert (replay.start_step, replay.last_step) == (6, 10)
    assert replay.events_at(6)[0] == paint(0.5)
    assert verify(replay, start=ToySimulation.from_scene).code == 0


def test_recording_after_a_restart_and_a_restore_into_the_time_before_it(tmp_path):
    session = played(Session(ToySimulation(), clock=Clock()))
    taken = session.snapshot()
    session.restart()
    played(session, 3)
    session.restore(taken)
    assert session.step == 6
    session.start_recording(tmp_path / "a.mbr")
    played(session, 3)
    session.close()
    assert verify(tmp_path / "a.mbr", start=ToySimulation.from_scene).code == 0


@pytest.mark.parametrize("resumed_first", [False, True])
def test_recording_a_world_of_unknown_past_is_refused_until_a_restart(tmp_path, resumed_first):
    taken = played(Session(ToySimulation(), clock=Clock())).snapshot()
    simulation = ToySimulation()
    if resumed_first:
        simulation.restore(taken)
    session = Session(simulation, clock=Clock())
    if not resumed_first:
        played(session, 2)
        session.restore(taken)
    assert session.step == 6
    with pytest.raises(RecordingError, match=r"goes on from a snapshot.*restart first"):
        session.start_recording(tmp_path / "a.mbr")
    assert not session.recording and not list(tmp_path.iterdir())
    session.restart()
    played(session, 3)
    session.start_recording(tmp_path / "a.mbr")
    played(session, 3)
    session.close()
    assert verify(tmp_path / "a.mbr", start=ToySimulation.from_scene).code == 0


def test_replay_takes_no_snapshot(tmp_path):
    replay = Replay.read(recorded(tmp_path / "a.mbr"))
    session = Session(ToySimulation(), replay=replay, clock=Clock())
    taken = session.snapshot()
    session.step_once()
    with pytest.raises(SnapshotError, match="a replay goes its own way"):
        session.restore(taken)
    assert session.step == 1
