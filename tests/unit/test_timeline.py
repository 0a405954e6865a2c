"""Contract of time travel.

- `seek` puts the world into the state of any moment that was, and the digest proves it, whatever
  events, restarts and earlier seeks lie between; a state that is another one is latched and named.
- Playing on from an earlier moment begins another future: what is then replayed is the new one.
- Snapshots keep within the budget: every second one goes, and the spacing doubles.
- A session that goes back ends its recording whole, and records from there the way that led there.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulations import box, fill, scene, shape
from toy_simulation import ToySimulation, ToySnapshot

from app.errors import MatterboxError, RecordingError
from app.events import Erase, EventError, Grab, Paint, Push, Restart, SetGravity, SetMaterial
from app.recording import Replay, verify
from app.session import Session
from app.simulation import Simulation
from app.timeline import Timeline


def paint(x: float) -> Paint:
    return Paint("water", (x, 0.5), 0.1)


def played(ticks: int = 40, **options) -> tuple[Timeline, list[str]]:
    """A timeline with input and a restart, and the digest of each moment."""
    timeline = Timeline(ToySimulation(), **options)
    digests = [timeline.simulation.digest()]
    for tick in range(ticks):
        events = [paint(tick / 100)] if tick % 5 == 2 else []
        timeline.step([*events, Restart(), paint(0.7)] if tick == 23 else events)
        digests.append(timeline.simulation.digest())
    return timeline, digests


@settings(max_examples=60)
@given(
    moments=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    spacing=st.integers(1, 50),
    budget=st.integers(0, 8000),
)
def test_every_moment_is_found_again(moments, spacing, budget):
    timeline, digests = played(spacing=spacing, budget=budget)
    for moment in moments:
        assert timeline.seek(moment)
        assert timeline.position == moment
        assert timeline.simulation.digest() == digests[moment] == timeline.digest(moment)
    assert (timeline.length, timeline.diverged) == (40, None)


def test_what_is_near_is_not_restored_but_played():
    timeline, _ = played(spacing=16)
    timeline.seek(18)
    restored = []
    timeline.simulation.restore = restored.append
    timeline.seek(21)
    assert not restored
    timeline.seek(18 + 2)
    assert restored


@pytest.mark.parametrize("moment", [-1, 41])
def test_moments_that_never_were_are_refused(moment):
    timeline, _ = played()
    with pytest.raises(ValueError, match="0 to 40"):
        timeline.seek(moment)
    assert timeline.position == 40


@settings(max_examples=30)
@given(back=st.integers(0, 39), again=st.integers(0, 39), spacing=st.integers(1, 20))
def test_playing_on_from_an_earlier_moment_is_another_future(back, again, spacing):
    timeline, old = played(spacing=spacing)
    timeline.seek(back)
    new = [timeline.digest(moment) for moment in range(back + 1)]
    for k in range(20):
        timeline.step([SetGravity((float(k), 0.0))])
        new.append(timeline.simulation.digest())
    assert timeline.length == back + 20
    assert new[back + 1 :] != old[back + 1 : back + 21]
    assert all(moment <= timeline.length for moment in timeline.moments)
    moment = min(again, timeline.length)
    assert timeline.seek(moment)
    assert timeline.simulation.digest() == new[moment]
    assert timeline.seek(timeline.length)
    assert timeline.simulation.digest() == new[-1]


def test_the_spacing_doubles_when_the_budget_is_reached():
    timeline = Timeline(ToySimulation(), budget=5 * ToySnapshot.nbytes, spacing=2)
    for tick in range(1, 101):
        timeline.step()
        assert timeline.nbytes <= timeline.budget
        assert all(moment % timeline.spacing == 0 for moment in timeline.moments)
        assert timeline.moments == list(range(0, tick + 1, timeline.spacing))
    assert timeline.spacing == 32
    small = Timeline(ToySimulation(), budget=0, spacing=2)
    for _ in range(20):
        small.step()
    assert small.moments == [0]
    assert small.seek(13)


def test_a_state_that_is_another_one_is_latched_and_named():
    timeline, _ = played()
    timeline._snapshots[16].state["particles"][0] ^= 1
    assert not timeline.seek(19)
    assert timeline.diverged == 16
    assert timeline.seek(15)
    assert not timeline.seek(17)
    assert timeline.diverged == 16


def test_an_event_that_does_not_fit_runs_nothing():
    timeline, _ = played(5)
    before = timeline.simulation.digest()
    with pytest.raises((EventError, MatterboxError)):
        timeline.step([paint(0.1), Paint("lava", (0.5, 0.5), 0.1)])
    assert (timeline.position, timeline.simulation.digest()) == (5, before)
    timeline.step()
    assert timeline.seek(5) and timeline.seek(6)


# -- in a session ----------------------------------------------------------------------------------


def session_of(ticks: int = 30) -> Session:
    simulation = ToySimulation()
    session = Session(simulation, timeline=Timeline(simulation, spacing=4))
    for step in range(ticks):
        if step % 5 == 2:
            session.emit(paint(step / 100))
        if step == 13:
            session.emit(Restart())
        if step == 13 or step == 21:
            session.emit(paint(0.9))
        session.step_once()
    return session


@pytest.mark.parametrize("moment", [4, 13, 14, 25])
def test_recording_from_an_earlier_moment_tells_the_way_that_led_there(tmp_path, moment):
    session = session_of()
    digest = session.timeline.digest(moment)
    session.emit(paint(0.4))  # dropped
    assert session.seek(moment)
    assert session.simulation.digest() == digest
    session.start_recording(tmp_path / "a.mbr")
    session.emit(paint(0.6))
    for _ in range(3):
        session.step_once()
    session.close()
    replay = Replay.read(tmp_path / "a.mbr")
    assert replay.start_step == (moment if moment <= 13 else moment - 13)
    assert verify(replay, start=ToySimulation.from_scene).code == 0
    assert session.timeline.length == moment + 3


def test_going_back_ends_the_recording_whole(tmp_path):
    session = session_of(5)
    session.start_recording(tmp_path / "a.mbr")
    session.step_once()
    session.seek(session.timeline.position)  # nowhere else: the recording goes on
    assert session.recording
    session.seek(3)
    assert not session.recording and "the recording ended here" in session.notice
    replay = Replay.read(tmp_path / "a.mbr")
    assert replay.ticks == 1
    assert verify(replay, start=ToySimulation.from_scene).code == 0


def test_a_replay_can_be_scrubbed(tmp_path):
    session = session_of(0)
    session.start_recording(tmp_path / "a.mbr")
    for step in range(30):
        if step % 5 == 2:
            session.emit(paint(step / 100))
        if step == 13:
            session.restart()
        session.step_once()
    session.close()
    replay = Replay.read(tmp_path / "a.mbr")
    simulation = ToySimulation()
    session = Session(simulation, replay=replay, timeline=Timeline(simulation))
    while session.step_once():
        pass
    for moment in (20, 3, 14, 29):
        assert session.seek(moment)
        assert session.step == moment
    session.seek(11)
    while session.step_once():
        pass
    assert session.finished and replay.divergence is None
    session.restart()
    while session.step_once():
        pass
    assert session.seek(12) and session.step == 12
    assert replay.divergence is None


def test_a_restored_session_begins_a_new_timeline(tmp_path):
    session = session_of(10)
    taken = session.snapshot()
    session.step_once()
    session.restore(taken)
    assert (session.timeline.position, session.timeline.length) == (0, 0)
    session.emit(paint(0.3))
    for _ in range(3):
        session.step_once()
    assert session.seek(2) and session.step == 12
    session.start_recording(tmp_path / "a.mbr")
    session.step_once()
    session.close()
    assert verify(tmp_path / "a.mbr", start=ToySimulation.from_scene).code == 0
    other = ToySimulation()
    other.restore(taken)
    session = Session(other, timeline=Timeline(other))
    session.step_once()
    assert session.seek(0)
    with pytest.raises(RecordingError, match="restart first"):
        session.start_recording(tmp_path / "b.mbr")
    with pytest.raises(ValueError, match="no timeline"):
        Session(ToySimulation()).seek(0)


# -- in a real world -------------------------------------------------------------------------------


def test_scrubbing_a_real_world(world):
    """Every kind of event; back and forth, and on from the middle into another future."""
    script = {
        2: [SetGravity((1.0, -9.0)), SetMaterial("jelly", "youngs_modulus", 1e4)],
        3: [Paint("sand", (0.2, 0.2), 0.05), Grab((0.2, 0.2), (1.0, 0.5), 0.1)],
        5: [Erase((0.1, 0.1), 0.05)],
        8: [Push((0.2, 0.1), 0.15, 60.0)],
        10: [Restart(), Paint("water", (0.3, 0.3), 0.03)],
    }
    sim = world(
        scene(
            fill((4, 4), (14, 14), "water", velocity=(0.5, 0.0)),
            fill((16, 20), (24, 28), "jelly", angular_velocity=6.0),
            fill((26, 4), (34, 10), "sand"),
            shape("emitter", "box", **box((4, 30), (10, 34)), material="water", rate=0.05, speed=1),
            shape(
                "collider",
                "capsule",
                center=(0.2, 0.15),
                half_length=0.06,
                radius=0.025,
                motion={"angular_velocity": 20.0},
            ),
            cells=(40, 40),
            capacity=2500,
            max_substeps=4,
        )
    )
    assert isinstance(sim, Simulation)
    timeline = Timeline(sim, spacing=4, budget=3 << 18)
    digests = [sim.digests()]
    for tick in range(14):
        timeline.step(script.get(tick, ()))
        digests.append(sim.digests())
    assert timeline.nbytes <= timeline.budget
    for moment in (13, 3, 9, 10, 11, 0, 14):
        assert timeline.seek(moment)
        assert sim.digests() == digests[moment]
    timeline.seek(6)
    timeline.step([Paint("sand", (0.3, 0.3), 0.05)])
    assert timeline.length == 7 and sim.digests() != digests[7]
    assert timeline.seek(2) and timeline.seek(7)
    assert timeline.diverged is None
