"""Contract of time travel in the window.

- Undo goes to the moment before the last stroke or edit, redo on to the next one or to the end; one
  tick back is one tick back. All of them pause, and each state is proven by its digest.
- Playing on from the past begins another future. That is said once, and only where something that
  was done is forgotten. A tick forward without input stays on the known one.
- A far moment is reached within the frames' budget; whatever needs the world there waits for it.
- A recording ends where time goes back. A replay is scrubbed within itself, also to where it was
  not shown yet, and keeps its future.
- Dragging the strip scrubs, and looking at it changes nothing.
"""

from __future__ import annotations

import pyglet
import pytest
from toy_simulation import ToySimulation

pyglet.options.shadow_window = False
imgui = pytest.importorskip("imgui_bundle").imgui

from app.events import Erase, Paint, Restart, SetDamping, SetGravity  # noqa: E402
from app.recording import Replay, verify  # noqa: E402
from app.render.camera import Camera  # noqa: E402
from app.session import Session  # noqa: E402
from app.timeline import PAUSE, Timeline  # noqa: E402
from app.ui import style  # noqa: E402
from app.ui.panels import timeline as strip  # noqa: E402
from app.ui.panels import widgets  # noqa: E402
from app.ui.view import View  # noqa: E402
from app.ui.workbench import Workbench  # noqa: E402


def paint(x: float) -> Paint:
    return Paint("water", (x, 0.5), 0.1)


class Clock:
    """A clock that every look moves on by a millisecond."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def bench_of(**session) -> Workbench:
    simulation = ToySimulation()
    bench = Workbench(View(Camera(viewport=(800, 600))))
    bench.attach(Session(simulation, timeline=Timeline(simulation), clock=Clock(), **session), None)
    return bench


def run(bench: Workbench, ticks: int, event=None) -> None:
    """Ticks of play, each with an event where one is given."""
    for _ in range(ticks):
        if event is not None:
            bench.emit(event)
        bench.session.step_once()
        bench.after_ticks(1)


def settle(bench: Workbench) -> None:
    """Frames until the world is where it was sent."""
    while bench.session.goal is not None:
        bench.after_ticks(bench.session.advance(0.0))
    bench.after_ticks(0)


def act(bench: Workbench, action: str) -> int:
    """The moment where an action leads to."""
    bench.act(action)
    settle(bench)
    assert bench.session.timeline.is_equal(bench.moment)
    return bench.moment


def worked() -> Workbench:
    """Strokes at 10 to 14 and at 20 to 22, an edit at 40 that rests and goes on; 60 ticks."""
    bench = bench_of()
    run(bench, 10)
    run(bench, 5, paint(0.2))
    run(bench, 5)
    run(bench, 3, paint(0.4))
    run(bench, 17)
    run(bench, 1, SetDamping(1.0))
    run(bench, 8)
    run(bench, 1, SetDamping(2.0))
    run(bench, 10)
    return bench


# -- undo and redo ---------------------------------------------------------------------------------


def test_undo_and_redo_walk_over_strokes_and_edits():
    bench = worked()
    digests = [bench.session.timeline.digest(moment) for moment in range(61)]
    assert bench.session.timeline.edits == [10, 20, 40]
    places = [act(bench, "undo") for _ in range(3)]
    assert places == [40, 20, 10]
    assert bench.session.paused
    assert act(bench, "undo") == 10 and "nothing to undo" in bench.notices[-1].text
    for place in (20, 40, 60):
        assert act(bench, "redo") == place
        assert bench.session.simulation.digest() == digests[place]
    assert act(bench, "redo") == 60 and "nothing to redo" in bench.notices[-1].text


def test_what_is_one_edit():
    timeline = Timeline(ToySimulation())
    script = {
        1: [paint(0.1)], 2: [paint(0.2)],  # one stroke
        4: [paint(0.3)],  # the button was up for a tick
        5: [paint(0.3), Erase((0.1, 0.1), 0.1)], 6: [Erase((0.1, 0.1), 0.1)],  # it goes on
        20: [SetGravity((0.0, 1.0))], 20 + PAUSE: [SetGravity((0.0, 2.0))],  # one drag
        21 + 2 * PAUSE: [SetGravity((0.0, 3.0))],  # another one
        90: [Restart()], 91: [Restart()],  # each for itself
    }  # fmt: skip
    for tick in range(100):
        timeline.step(script.get(tick, ()))
    assert timeline.edits == [1, 4, 20, 21 + 2 * PAUSE, 90, 91]
    timeline.seek(5)
    timeline.step()
    assert timeline.edits == [1, 4]
    timeline.step([paint(0.1)])
    assert timeline.edits == [1, 4, 6]


def test_what_waits_for_the_next_tick_is_what_undo_takes_back_first():
    bench = worked()
    bench.session.paused = True
    bench.begin_stroke((0.5, 0.5)).release()
    bench.after_ticks(0)
    assert bench.ghosts and bench.session.waiting
    assert act(bench, "undo") == 60
    assert not bench.ghosts and not bench.session.waiting
    assert act(bench, "undo") == 40


def test_one_tick_back_and_on_again_keeps_the_future():
    bench = worked()
    assert [act(bench, "back") for _ in range(3)] == [59, 58, 57]
    assert act(bench, "step") == 58
    assert (bench.session.timeline.length, bench.notices) == (60, [])
    bench.emit(paint(0.9))  # with input it is another future
    assert act(bench, "step") == 59
    assert bench.session.timeline.length == 59
    bench.scrub(0)
    settle(bench)
    assert act(bench, "back") == 0 and "begins here" in bench.notices[-1].text


# -- another future --------------------------------------------------------------------------------


def test_another_future_is_told_of_once_and_only_where_something_is_lost():
    bench = worked()
    bench.scrub(55)
    settle(bench)
    run(bench, 2)
    assert bench.session.timeline.length == 57 and bench.notices == []
    bench.scrub(15)
    settle(bench)
    run(bench, 3)
    told = [notice.text for notice in bench.notices]
    assert told == ["Another future begins here: 2 edits of the old one are forgotten"]


def test_panels_show_the_past_and_not_what_was_edited_since():
    bench = bench_of()
    run(bench, 5)
    bench.edits.set("damping", 3.0, bench.session.simulation.steps)
    bench.scrub(4)
    assert bench.edits.shown("damping", 0.5, bench.session.simulation.steps) == 0.5
    settle(bench)
    assert bench.status.tick == 4


# -- far moments -----------------------------------------------------------------------------------


def test_a_far_moment_is_reached_within_the_budget_of_frames():
    simulation = ToySimulation()
    session = Session(simulation, timeline=Timeline(simulation, spacing=10**6), clock=Clock())
    for step in range(100):
        session.emit(paint(step / 100))
        session.step_once()
    digest = session.timeline.digest(90)
    session.paused = True
    session.head_for(90)
    frames = 0
    while session.goal is not None:
        assert session.advance(1.0, 0.0095) == 0
        frames += 1
    assert 5 < frames < 40
    assert (session.step, simulation.digest()) == (90, digest)
    # Another wish on the way takes its place; a tick that is asked for waits for the arrival.
    session.head_for(80)
    session.advance(1.0, 0.0)
    session.head_for(50)
    session.emit(paint(0.5))
    assert session.step_once()
    assert (session.timeline.position, session.timeline.length) == (51, 51)
    assert session.timeline.events_at(50) == (paint(0.5),)


def test_a_recording_begun_on_the_way_begins_at_the_goal(tmp_path):
    bench = worked()
    bench.scrub(33)
    bench.start_recording(tmp_path / "a.mbr")
    run(bench, 3, paint(0.8))
    bench.stop_recording()
    replay = Replay.read(tmp_path / "a.mbr")
    assert (replay.start_step, replay.ticks) == (33, 3)
    assert verify(replay, start=ToySimulation.from_scene).code == 0


# -- recordings and replays ------------------------------------------------------------------------


def recorded(path) -> Replay:
    session = Session(ToySimulation())
    session.start_recording(path)
    for step in range(50):
        if step % 7 == 3:
            session.emit(paint(step / 100))
        session.step_once()
    session.close()
    return Replay.read(path)


def test_a_recording_ends_where_time_goes_back(tmp_path):
    bench = worked()
    bench.start_recording(tmp_path / "a.mbr")
    run(bench, 4, paint(0.1))
    assert act(bench, "undo") == 60
    assert not bench.session.recording and bench.recording_path is None
    assert "the recording ended here" in bench.notices[-1].text
    assert Replay.read(tmp_path / "a.mbr").ticks == 4


def test_a_replay_is_scrubbed_also_to_where_it_was_not_shown(tmp_path):
    replay = recorded(tmp_path / "a.mbr")
    bench = bench_of(replay=replay)
    run(bench, 10)
    assert (bench.session.horizon, bench.session.timeline.length) == (50, 10)
    bench.scrub(40)
    settle(bench)
    assert bench.session.step == 40
    assert bench.session.simulation.digest() == replay.expected(39)
    bench.scrub(20)
    settle(bench)
    run(bench, 5)
    assert (bench.moment, bench.session.timeline.length) == (25, 40)
    assert replay.divergence is None and bench.notices == []
    assert act(bench, "undo") == 25 and "cannot be edited" in bench.notices[-1].text
    bench.session.restart()
    assert bench.session.step in (0, 1) and bench.session.timeline.length == 40
    bench.scrub(50)
    settle(bench)
    assert bench.session.finished and replay.divergence is None


# -- the strip -------------------------------------------------------------------------------------


class Strip:
    """The strip in an ImGui frame of 1000 x 36, and a mouse."""

    def __init__(self, bench: Workbench):
        self.bench = bench
        self.context = imgui.create_context()
        self.io = imgui.get_io()
        self.io.set_ini_filename("")
        self.io.display_size = (1000.0, 36.0)
        self.io.delta_time = 1 / 60
        self.io.backend_flags |= imgui.BackendFlags_.renderer_has_textures
        imgui.get_platform_io().renderer_texture_max_width = 4096
        self.fonts = style.Fonts()
        style.apply(1.0)
        self.frames(2)

    def frames(self, count: int = 1) -> None:
        for _ in range(count):
            widgets.state.places.clear()
            imgui.new_frame()
            strip.draw(self.bench, 0.0, 1000.0, 36.0)
            imgui.render()
            for texture in imgui.get_platform_io().textures:
                texture.status = imgui.ImTextureStatus.ok
            self.bench.after_ticks(self.bench.session.advance(1 / 60))

    def drag(self, *parts: float) -> list[int]:
        """Press, move over parts of the track, release; the moment after each."""
        left, top, right, bottom = widgets.state.places["timeline"]
        seen = []
        for index, part in enumerate(parts):
            self.io.add_mouse_pos_event(left + part * (right - left), (top + bottom) / 2)
            self.frames(2)
            if index == 0:
                self.io.add_mouse_button_event(0, True)
            self.frames(2)
            seen.append(self.bench.moment)
        self.io.add_mouse_button_event(0, False)
        self.frames(2)
        return seen


@pytest.fixture
def desk():
    made = []

    def make(bench):
        made.append(Strip(bench))
        return made[0]

    yield make
    for each in made:
        imgui.destroy_context(each.context)


def test_dragging_the_strip_scrubs_and_looking_changes_nothing(desk):
    bench = bench_of()
    run(bench, strip.LEAST_SPAN)
    bench.session.paused = True
    made = desk(bench)
    made.frames(5)
    assert bench.moment == bench.session.timeline.length == 600
    bench.session.paused = False
    first, second, third = made.drag(0.5, 0.25, 0.9)
    assert bench.session.paused
    assert abs(first - 300) < 8 and abs(second - 150) < 8 and abs(third - 540) < 12
    assert bench.moment == third and bench.session.timeline.length >= 600
    assert bench.session.timeline.compared and bench.session.timeline.is_equal(third)
    made.frames(5)
    assert bench.moment == third


@pytest.mark.parametrize("known", ["fresh", "seen", "diverged", "away"])
def test_the_digest_says_what_it_proves(known, tmp_path):
    bench = worked()
    bench.session.desync_folder = tmp_path
    timeline = bench.session.timeline
    if known == "diverged":
        timeline._digests[30] ^= 1
    if known == "away":
        bench.session.head_for(30)
    elif known != "fresh":
        bench.scrub(30)
        settle(bench)
    text, color, tip = strip._digest(bench)
    shown = timeline.digest(timeline.position)[:8]
    assert text.startswith("·" if known == "away" else shown)
    expected = {
        "fresh": (style.DIM, "seen first now"),
        "seen": (style.GOOD, "bit for bit the state that was"),
        "diverged": (style.BAD, "tick 29 made other bits"),
        "away": (style.DIM, "On the way"),
    }[known]
    assert color == expected[0] and expected[1] in tip
    assert [moment for moment, _ in strip._divergences(bench)] == (
        [30] if known == "diverged" else []
    )
