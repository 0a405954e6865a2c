"""Contract of what is kept of a tick that made other bits.

- A state of the past that is another one when it is seen again is latched and does not stop the
  world. Both states go into a folder of their own, and a log names tick, field, slot and values,
  floats in hexadecimal; an earlier folder is never touched.
- The expected state is had by running again from the state before. Where that does not lead to it,
  nobody pretends: its digests are told, and that only they are known.
- `bisect` runs each tick twice and names the first stage, field, slot and values that differ; or
  that both runs agree and the recording does not.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulations import fill, scene, set_array
from toy_simulation import ToySimulation

from app.bisection import bisect
from app.cli import run_command
from app.desync import LOG
from app.difference import differences
from app.events import Paint
from app.recording import Replay, verify
from app.session import Session
from app.snapshot import Snapshot
from app.timeline import Timeline


def paint(x: float) -> Paint:
    return Paint("water", (x, 0.5), 0.1)


def one_ulp_up(simulation, name: str, *place: int) -> None:
    """The smallest change of one value of the state."""
    values = simulation._solver.state.arrays[name].to_numpy()
    values[place] = np.nextafter(values[place], np.float32(np.inf))
    set_array(simulation, name, values)


class Unsteady(ToySimulation):
    """Runs the tick of number `when` otherwise in its first run than ever after."""

    when = 70
    runs = 0

    def step(self, n: int = 1) -> None:
        super().step(n)
        if self.tick == self.when + 1:
            self.runs += 1
            self.particles[3] ^= self.runs == 1


def toy_recording(path, ticks: int = 80) -> Replay:
    session = Session(ToySimulation())
    session.start_recording(path)
    for step in range(ticks):
        if step % 9 == 4:
            session.emit(paint(step / 100))
        session.step_once()
    session.close()
    return Replay.read(path)


@pytest.fixture
def pool(world):
    def make():
        return world(scene(fill((4, 4), (14, 12), "water"), cells=(24, 24), max_substeps=2))

    return make


# -- what differs ----------------------------------------------------------------------------------


def test_differences_name_slot_component_and_exact_values():
    first = {"x": np.zeros((3, 2), np.float32), "status": np.array([1, 1, 0], np.int32)}
    second = {"x": np.zeros((4, 2), np.float32), "status": np.array([1, 1, 0, 2], np.int32)}
    second["x"][1, 1] = 0.1
    x, status = differences(first, second)
    assert (x.field, x.count, x.slots) == ("x", 1, 4)
    (entry,) = x.entries
    assert (entry.place, entry.first, entry.second) == ("1[1]", "0x0.0p+0", "0x1.99999a0000000p-4")
    assert [(e.place, e.first, e.second) for e in status.entries] == [("3", "0", "2")]
    assert differences(first, {name: array.copy() for name, array in first.items()}) == ()
    negative = {**first, "x": -first["x"]}  # equal numbers, other bits
    assert differences(first, negative)[0].count == 3


# -- on the timeline -------------------------------------------------------------------------------


def test_a_bit_that_fell_over_in_memory_is_found_with_both_states(pool, tmp_path):
    session = Session(sim := pool(), timeline=Timeline(sim, spacing=4))
    session.desync_folder = tmp_path
    (tmp_path / "desync").mkdir()
    for _ in range(10):
        session.step_once()
    kept = session.timeline._snapshots[8].arrays["x"]
    right = kept[7, 1]
    kept[7, 1] = wrong = np.nextafter(right, np.float32(99))
    assert not session.seek(9)
    assert (session.timeline.diverged, session.timeline.desync.field) == (8, "x")
    folder = tmp_path / "desync-2"
    assert str(folder) in session.notice and "field x" in session.notice
    assert not list((tmp_path / "desync").iterdir())
    text = (folder / LOG).read_text()
    assert text.startswith("tick 7\nstage: end of the tick\nfield: x\n")
    assert f"  slot 7[1]: {float(wrong).hex()} {float(right).hex()}\n" in text
    assert "2 of 2 runs" in text
    found, expected = (Snapshot.load(folder / f"{name}.mbs") for name in ("found", "expected"))
    assert found.difference(expected).startswith("field x, entry 7[1]: ")
    assert expected.tick == 8
    # The world stands where it was sent, is told of once, and plays on.
    assert session.timeline.position == 9
    session.notice = None
    assert session.seek(7) and not session.seek(10)
    assert session.step_once() and session.notice is None
    assert len(list(tmp_path.iterdir())) == 2


def test_of_a_state_that_nothing_leads_to_only_digests_are_told(tmp_path):
    timeline = Timeline(sim := ToySimulation(), spacing=4)
    for _ in range(10):
        timeline.step()
    timeline._digests[6] ^= 1
    timeline._field_digests[6 * 4] ^= 1
    session = Session(sim, timeline=timeline)
    session.desync_folder = tmp_path
    assert not session.seek(7)
    desync = timeline.desync
    assert (desync.tick, set(desync.states), desync.differing) == (5, {"found", "before"}, ())
    assert [name for name, _, _ in desync.digests] == ["position"]
    assert "only digests are known" in (tmp_path / "desync" / LOG).read_text()
    assert desync.digests[0][1] in (tmp_path / "desync" / LOG).read_text()


def test_the_latch_is_loosed_where_that_moment_is_played_anew():
    timeline = Timeline(ToySimulation(), spacing=4)
    for _ in range(10):
        timeline.step()
    timeline._digests[6] ^= 1
    assert not timeline.seek(7)
    assert timeline.seek(3)
    timeline.step([paint(0.3)])
    assert (timeline.diverged, timeline.desync) == (None, None)


def test_a_folder_that_cannot_be_made_is_one_sentence_and_the_world_goes_on(tmp_path):
    session = Session(sim := ToySimulation(), timeline=Timeline(sim))
    session.desync_folder = tmp_path / "none"
    for _ in range(5):
        session.step_once()
    session.timeline._digests[2] ^= 1
    assert not session.seek(2)
    assert "nothing was kept: cannot make" in session.notice
    assert session.step_once()


# -- of a recording --------------------------------------------------------------------------------


def test_verify_keeps_the_state_found_and_the_recorded_one(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.mbr"
    toy_recording(path)
    result = verify(path, start=Unsteady.from_scene)
    assert (result.code, result.divergence.step, result.divergence.field) == (3, 70, "position")
    desync = result.desync
    assert set(desync.states) == {"before", "found", "expected"}
    assert [entry.place for entry in desync.differing[0].entries] == ["3"]
    assert "the state 64 ticks from the beginning" in desync.verdict
    monkeypatch.setattr("app.simulation.Simulation.from_scene", Unsteady.from_scene)
    monkeypatch.setattr("app.cli._start_device", lambda *_: None)
    assert run_command(["replay", str(path), "--verify"]) == 3
    assert f"states and log: {tmp_path / 'desync'}" in capsys.readouterr().out
    assert (tmp_path / "desync" / "expected.mbs").is_file()


def test_a_replay_that_diverges_is_kept_beside_its_recording_and_plays_on(tmp_path):
    replay = toy_recording(tmp_path / "a.mbr")
    session = Session(sim := Unsteady(), replay=replay, timeline=Timeline(sim))
    while session.step_once():
        pass
    assert session.finished and session.step == 80
    assert (replay.divergence.step, replay.divergence.field) == (70, "position")
    text = (tmp_path / "desync" / LOG).read_text()
    assert text.startswith("tick 70\n") and "2 of 2 runs" in text
    assert (
        "tick 70 has other bits than were recorded: field position; both states" in session.notice
    )


def test_a_replay_of_other_code_keeps_nothing_and_verify_neither(tmp_path):
    replay = toy_recording(tmp_path / "a.mbr")
    other = Unsteady()
    other.device = "another processor"
    session = Session(other, replay=replay, timeline=Timeline(other))
    while session.step_once():
        pass
    assert replay.divergence.step == 70
    assert not (tmp_path / "desync").exists()


# -- bisection -------------------------------------------------------------------------------------


@pytest.fixture
def recorded(pool, tmp_path):
    session = Session(pool())
    session.start_recording(tmp_path / "a.mbr")
    for step in range(4):
        if step == 1:
            session.emit(Paint("water", (0.16, 0.16), 0.02))
        session.step_once()
    session.close()
    return tmp_path / "a.mbr"


def faulty(monkeypatch, pool, tick: int, run: int, stage: str, count: int, harm):
    """Starts a world to which `harm` is done in one run of one tick, after a stage of it."""

    def start(_scene, **_options):
        simulation = pool()
        runs = dict.fromkeys(range(10), 0)
        tick_of = simulation._solver.tick

        def tick_with_fault(on_stage=lambda stage: None):
            now, seen = simulation._solver.ticks, []
            runs[now] += 1

            def watched(name):
                seen.append(name)
                at_stage = name == stage and seen.count(stage) == count
                if (now, runs[now]) == (tick, run) and at_stage:
                    harm(simulation)
                on_stage(name)

            tick_of(watched)

        monkeypatch.setattr(simulation._solver, "tick", tick_with_fault)
        return simulation

    return start


def test_ticks_that_repeat_themselves_end_with_0(recorded, pool):
    result = bisect(Replay.read(recorded), start=lambda *_, **__: pool())
    assert (result.code, result.ticks, result.desync) == (0, 4, None)
    assert "all 4 ticks ran twice alike" in result.text
    assert bisect(Replay.read(recorded, to=2), start=lambda *_, **__: pool()).ticks == 2


@pytest.mark.parametrize("run", [1, 2])
def test_one_ulp_in_one_run_is_found_where_it_was_done(recorded, pool, tmp_path, monkeypatch, run):
    start = faulty(
        monkeypatch, pool, 2, run, "round", 2, lambda sim: one_ulp_up(sim, "displacement", 11, 1)
    )
    result = bisect(Replay.read(recorded), start=start)
    desync = result.desync
    assert (result.code, desync.tick, desync.stage) == (3, 2, "substep 1, round 2")
    assert (desync.field, len(desync.differing), desync.differing[0].count) == (
        "displacement",
        1,
        1,
    )
    (entry,) = desync.differing[0].entries
    assert entry.place == "11[1]"
    values = sorted(float.fromhex(value) for value in (entry.first, entry.second))
    assert np.nextafter(np.float32(values[0]), np.float32(9)) == np.float32(values[1])
    assert f"slot 11[1]: {entry.first} in the first run, {entry.second}" in result.text
    folder = desync.save(tmp_path)
    assert {file.name for file in folder.iterdir()} == {
        LOG, "before.mbs", "first.mbs", "second.mbs"
    }  # fmt: skip
    text = (folder / LOG).read_text()
    assert f"  slot 11[1]: {entry.first} {entry.second}\n" in text
    first_unlike = next(line for line in text.splitlines() if "differs" in line)
    assert first_unlike.endswith("substep 1, round 2")
    assert Snapshot.load(folder / "before.mbs").tick == 2


def test_a_fault_of_the_grid_is_found_at_the_scatter(recorded, pool, monkeypatch):
    def harm(simulation):
        mass = simulation._solver.grid.mass
        values = mass.to_numpy()
        values[np.flatnonzero(values)[5]] += 1
        mass.from_numpy(values)

    start = faulty(monkeypatch, pool, 1, 2, "mass scatter", 1, harm)
    result = bisect(Replay.read(recorded), start=start)
    assert result.code == 3
    assert (result.desync.stage, result.desync.field) == ("substep 1, mass scatter", "grid.mass")


def test_runs_that_agree_with_each_other_accuse_the_recording(tmp_path):
    class Drifting(ToySimulation):
        def step(self, n=1):
            super().step(n)
            self.viscosity += self.tick == 13

    replay = toy_recording(tmp_path / "a.mbr")
    result = bisect(replay, start=Drifting.from_scene)
    assert (result.code, result.desync.tick) == (3, 12)
    assert [name for name, _, _ in result.desync.digests] == ["material"]
    assert "two runs agree with each other, not with the recording: material" in result.text

    class Elsewhere(Drifting):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.device = "another processor"

    result = bisect(toy_recording(tmp_path / "b.mbr"), start=Elsewhere.from_scene)
    assert result.code == 4 and "another processor here" in result.text


def test_the_command_ends_with_the_same_statuses(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.mbr"
    toy_recording(path)
    monkeypatch.setattr("app.simulation.Simulation.from_scene", Unsteady.from_scene)
    monkeypatch.setattr("app.cli._start_device", lambda *_: None)
    assert run_command(["replay", str(path), "--bisect", "--to", "60"]) == 0
    assert run_command(["replay", str(path), "--bisect"]) == 3
    said = capsys.readouterr().out
    assert "tick 70 differs from itself after end of the tick: field position, slot 3" in said
    assert (tmp_path / "desync" / "second.mbs").is_file()
    with pytest.raises(SystemExit):
        run_command(["replay", str(path), "--bisect", "--verify"])
