"""Contract: panels show the session and change it by events alone.

One event per changed frame of a drag, gravity and damping only from Environment, material fields
only from Materials, nothing while a replay plays. The key table drives both handling and help.
Stand-ins take the place of session and simulation; ImGui is real, without OpenGL, and an error in a
panel's use of ImGui fails the test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pyglet
import pytest

pyglet.options.shadow_window = False
imgui = pytest.importorskip("imgui_bundle").imgui
from pyglet.window import key  # noqa: E402

from app import events  # noqa: E402
from app.errors import Fault, RecordingError, SceneError, SnapshotError  # noqa: E402
from app.render.camera import Camera  # noqa: E402
from app.scene import MATERIAL_FIELDS, loads  # noqa: E402
from app.simulation import MaterialStatus, Status  # noqa: E402
from app.snapshot import Snapshot  # noqa: E402
from app.ui import catalog, keys, quantities, style, track  # noqa: E402
from app.ui.panels import overlay, scene_menu, side_bar, status_line, tool_bar, widgets  # noqa: E402
from app.ui.view import Area, View  # noqa: E402
from app.ui.workbench import SPEEDS, Workbench, unused_path  # noqa: E402

SCENE = """
format = 1
name = "Bench"
[domain]
size = [2.0, 1.0]
cell = 0.05
[materials.water]
base = "water"
[materials.clay]
base = "sand"
[[shapes]]
role = "fill"
kind = "box"
center = [1.0, 0.5]
half_size = [0.5, 0.3]
material = "water"
"""

STATUS = Status(
    tick=120, time=2.0, live=480, free=20, capacity=500, emitted=0, drained=0, substeps=8,
    min_substeps=2, max_substeps=16, rounds=5, dt=1 / 480, advective_dt=1 / 400,
    acoustic_dt=1 / 900, binding="advective", required_substeps=7, advective_speed=3.0,
    counters={"capacity_reached": 0, "node_displacement_capped": 3},
    materials=(
        MaterialStatus("water", 480, 14.0, 0.6, 1.0), MaterialStatus("clay", 0, 30.0, 1.3, 0.61),
    ),
)  # fmt: skip


class FakeSimulation:
    """Applies events at once, as a tick's edge would."""

    def __init__(self):
        self.scene = loads(SCENE)
        self.environment = self.scene.environment
        self.materials = dict(self.scene.materials)
        self.steps = 1
        self.arch, self.device = "cpu", "a processor"
        self.current = STATUS

    def status(self):
        return self.current

    def apply(self, event):
        if isinstance(event, events.SetGravity):
            self.environment = self.environment.model_copy(update={"gravity": event.gravity})
        elif isinstance(event, events.SetDamping):
            self.environment = self.environment.model_copy(update={"damping": event.damping})
        elif isinstance(event, events.SetMaterial):
            old = self.materials[event.material]
            self.materials[event.material] = old.model_copy(update={event.field: event.value})


class FakeSession:
    def __init__(self):
        self.simulation = FakeSimulation()
        self.emitted, self.pending = [], []
        self.paused = self.recording = False
        self.speed, self.ms_per_tick, self.simulation_speed = 1.0, 4.5, 0.87
        self.replay = None
        self.timeline = self.goal = None
        self.held = None
        self.notice = None
        self.restarts = 0
        self.restored = []
        self.fail = None

    @property
    def replaying(self):
        return self.replay is not None

    def emit(self, event):
        if self.replaying:
            return False
        self.emitted.append(event)
        self.pending.append(event)
        return True

    def step_once(self):
        for event in (*self.pending, *(self.held() if self.held else ())):
            self.simulation.apply(event)
        self.pending.clear()
        self.simulation.steps += 1
        return True

    def restart(self):
        self.restarts += 1

    def snapshot(self):
        return SimpleNamespace(save=self.save)

    def save(self, path):
        if self.fail:
            raise self.fail
        return path

    def restore(self, snapshot):
        if self.fail:
            raise self.fail
        self.restored.append(snapshot)

    def start_recording(self, path):
        if self.fail:
            raise self.fail
        self.recording = True

    def stop_recording(self):
        self.recording = False
        return Path("session.mbr")


class Desk:
    """A workbench with its panels in an ImGui frame of 1280x800."""

    SIZE = (1280.0, 800.0)

    def __init__(self):
        self.context = imgui.create_context()
        self.io = imgui.get_io()
        self.io.set_ini_filename("")
        self.io.display_size = self.SIZE
        self.io.delta_time = 1 / 60
        self.io.backend_flags |= imgui.BackendFlags_.renderer_has_textures
        imgui.get_platform_io().renderer_texture_max_width = 4096
        self.fonts = style.Fonts()
        style.apply(1.0)
        widgets.state.folds.clear()
        widgets.state.typing = widgets.Typing()
        self.bench = Workbench(View(Camera(viewport=(1280, 800))))
        self.session = FakeSession()
        self.bench.attach(self.session, None)
        self.area = Area(0, 28, 960, 756)
        self.entries = []
        self.frames(2)

    def frames(self, count=1, *, ticks=True):
        for _ in range(count):
            self.frame()
            if ticks and not self.session.paused:
                self.session.step_once()
            self.bench.after_ticks(int(ticks))

    def frame(self):
        widgets.state.places.clear()
        imgui.new_frame()
        bench, (width, height) = self.bench, self.SIZE
        overlay.draw_ghosts(bench, lambda pixel: pixel)
        overlay.draw_badges(bench, 10.0, 50.0)
        tool_bar.draw(bench, width, 44.0, self.fonts)
        side_bar.draw(bench, 960.0, 44.0, 320.0, 728.0, self.fonts)
        status_line.draw(bench, 772.0, width, 28.0)
        if bench.scenes_shown:
            scene_menu.draw(bench, self.entries, 44.0, 700.0, self.fonts, appearing=False)
        if bench.help_shown:
            overlay.draw_help(bench, self.area, height, self.fonts)
        if bench.trouble is not None:
            overlay.draw_trouble(bench, self.area, height, self.fonts)
        overlay.draw_notices(bench, self.area, height)
        imgui.render()
        for texture in imgui.get_platform_io().textures:
            texture.status = imgui.ImTextureStatus.ok

    def place(self, name, part=0.5):
        left, top, right, bottom = widgets.state.places[name]
        return left + (right - left) * part, (top + bottom) / 2

    def press(self, name, part=0.5):
        self.io.add_mouse_pos_event(*self.place(name, part))
        self.frames(2)
        self.io.add_mouse_button_event(0, True)
        self.frames()

    def release(self):
        self.io.add_mouse_button_event(0, False)
        self.frames(2)

    def click(self, name, part=0.5):
        self.press(name, part)
        self.release()

    def drag(self, name, start, stop, steps=5):
        self.press(name, start)
        for step in range(1, steps + 1):
            part = start + (stop - start) * step / steps
            self.io.add_mouse_pos_event(*self.place(name, part))
            self.frames()
        self.release()

    def type_value(self, name, text):
        """Ctrl+click, type, Enter."""
        self.io.add_key_event(imgui.Key.mod_ctrl, True)
        self.click(name)
        self.io.add_key_event(imgui.Key.mod_ctrl, False)
        self.frames(3)
        self.io.add_input_characters_utf8(text)
        self.frames(2)
        self.io.add_key_event(imgui.Key.enter, True)
        self.frames(2)
        self.io.add_key_event(imgui.Key.enter, False)
        self.frames(2)


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    imgui.destroy_context(desk.context)


# -- the panels' events ----------------------------------------------------------------------------


def test_looking_emits_nothing(desk):
    desk.bench.help_shown = True
    desk.click("material.water")
    desk.frames(5)
    assert desk.session.emitted == []


def test_a_drag_of_gravity_emits_one_event_per_changed_frame(desk):
    desk.drag("environment.gravity_y", 0.3, 0.8, steps=6)
    emitted = desk.session.emitted
    assert all(isinstance(event, events.SetGravity) for event in emitted)
    assert 5 <= len(emitted) <= 6
    heights = [event.gravity[1] for event in emitted]
    assert heights == sorted(set(heights))
    assert {event.gravity[0] for event in emitted} == {0.0}
    assert desk.session.simulation.environment.gravity[1] == pytest.approx(15.0, abs=1.0)


def test_holding_a_slider_still_emits_nothing_more(desk):
    desk.drag("environment.gravity_x", 0.5, 0.9)
    count = len(desk.session.emitted)
    desk.press("environment.gravity_x", 0.9)
    desk.frames(30)
    desk.release()
    assert len(desk.session.emitted) <= count + 1


def test_the_dial_sets_both_parts_of_gravity_and_snaps_to_none(desk):
    left, top, right, bottom = widgets.state.places["environment.gravity"]
    desk.press("environment.gravity", 0.5)
    desk.io.add_mouse_pos_event(left + (right - left) * 0.9, (top + bottom) / 2)
    desk.frames()
    gravity = desk.session.simulation.environment.gravity
    assert gravity[0] == pytest.approx(20.0, abs=1.5)
    assert gravity[1] == 0.0
    desk.io.add_mouse_pos_event(*desk.place("environment.gravity"))
    desk.frames()
    desk.release()
    assert desk.session.simulation.environment.gravity == (0.0, 0.0)


def test_damping_is_typed_with_its_unit(desk):
    desk.type_value("environment.damping", "0.25 1/s")
    assert desk.session.emitted == [events.SetDamping(0.25)]


def test_typed_values_are_held_to_what_the_simulation_takes(desk):
    desk.click("material.water")
    desk.type_value("material.water.density", "1e9")
    assert desk.session.emitted[-1].value == MATERIAL_FIELDS["liquid"]["density"].maximum


def test_typing_nonsense_changes_nothing(desk):
    desk.type_value("environment.damping", "much")
    assert desk.session.emitted == []


@pytest.mark.parametrize("material, model", [("water", "liquid"), ("clay", "sand")])
def test_each_material_shows_exactly_the_fields_of_its_model(desk, material, model):
    desk.click(f"material.{material}")
    desk.frames(2)
    prefix = f"material.{material}."
    shown = [name.removeprefix(prefix) for name in widgets.state.places if name.startswith(prefix)]
    assert shown == list(MATERIAL_FIELDS[model])
    desk.click(f"material.{material}")


def test_a_material_slider_sets_that_field_of_that_material(desk):
    desk.click("material.water")
    desk.drag("material.water.viscosity", 0.4, 0.7)
    desk.click("material.water")
    assert desk.session.emitted
    for event in desk.session.emitted:
        assert isinstance(event, events.SetMaterial)
        assert (event.material, event.field) == ("water", "viscosity")
    assert desk.session.simulation.materials["clay"] == desk.bench.scene.materials["clay"]


def test_gravity_and_damping_are_no_part_of_materials_nor_the_other_way_round(desk):
    desk.click("material.water")
    desk.frames(2)
    inside = {
        name.rsplit(".", 1)[1] for name in widgets.state.places if name.startswith("material.")
    }
    assert not inside & {"gravity", "gravity_x", "gravity_y", "damping"}
    environment = {name for name in widgets.state.places if name.startswith("environment.")}
    assert environment == {
        f"environment.{name}" for name in ("gravity", "gravity_x", "gravity_y", "damping")
    }
    desk.click("material.water")


def test_a_paused_edit_stays_shown_until_a_tick_takes_it_up(desk):
    desk.session.paused = True
    desk.type_value("environment.damping", "2")
    assert desk.session.simulation.environment.damping == 0.0
    assert desk.bench.damping == 2.0
    desk.bench.act("step")
    assert desk.session.simulation.environment.damping == 2.0
    assert desk.bench.damping == 2.0


def test_a_replay_takes_no_edits(desk):
    desk.session.replay = SimpleNamespace(
        path=Path("a.mbr"), last_step=100, start_step=0, divergence=None
    )
    desk.session.step, desk.session.finished = 7, False
    desk.drag("environment.gravity_y", 0.3, 0.8)
    assert desk.session.emitted == []
    assert desk.bench.begin_stroke((1.0, 0.5)) is None
    desk.session.replay.divergence = SimpleNamespace(step=6, field="x")
    for elsewhere in (False, True):
        desk.bench.recorded_elsewhere = elsewhere
        desk.frames(2)


# -- buttons, menu, overlays -----------------------------------------------------------------------


def test_the_tool_bar_drives_the_session(desk):
    desk.click("pause")
    assert desk.session.paused
    desk.click("restart")
    assert desk.session.restarts == 1
    desk.click("faster")
    assert desk.session.speed == 2.0
    desk.click("real_time")
    assert desk.session.speed == 1.0
    desk.click("record")
    assert desk.session.recording
    desk.click("record")
    assert not desk.session.recording
    assert "session.mbr" in desk.bench.notices[-1].text
    steps = desk.session.simulation.steps
    desk.click("step")
    assert desk.session.simulation.steps == steps + 1


def test_tools_and_materials_are_chosen_in_the_palette(desk):
    for name in ("grab", "push", "erase", "paint"):
        desk.click(f"tool.{name}")
        assert desk.bench.tool_name == name
    desk.click("swatch.clay")
    assert desk.bench.brush.material == "clay"


def test_the_menu_opens_the_scene_that_is_clicked_and_closes(desk):
    desk.entries = [
        catalog.SceneEntry(Path("/scenes/one.toml"), "One", "The first.", True),
        catalog.SceneEntry(Path("/mine/two.toml"), "Two", "", False),
    ]
    desk.click("scenes")
    desk.frames(2)
    desk.click("scene.two")
    assert desk.bench.requests == [("open", Path("/mine/two.toml"))]
    assert not desk.bench.scenes_shown


def test_every_non_zero_counter_is_shown_and_no_other(desk):
    desk.session.simulation.current = replace(
        STATUS, counters={"a_clamp": 2, "other": 0, "third": 1}
    )
    desk.frames(2)
    shown = {name for name in widgets.state.places if name.startswith("counter.")}
    assert shown == {"counter.a_clamp", "counter.third"}


@pytest.mark.parametrize("binding", ["advective", "acoustic", "minimum", "maximum"])
def test_the_time_step_section_draws_every_binding_and_extreme(desk, binding):
    desk.session.simulation.current = replace(
        STATUS,
        binding=binding,
        advective_dt=float("inf"),
        acoustic_dt=1e-9,
        required_substeps=4000,
        min_substeps=1,
        max_substeps=1,
        substeps=1,
        materials=(
            MaterialStatus("water", 0, 0.0, 0.0, None),
            MaterialStatus("clay", 1, 1e6, 1e4, None),
        ),
    )
    desk.frames(3)


def test_a_scene_that_fails_is_reported_with_every_fault(desk):
    faults = [Fault("a.toml", n, f"solver.key{n}", "7", "a better number") for n in range(60)]
    desk.bench.report(SceneError(faults), "This scene cannot be opened", "a.toml")
    desk.frames(6)  # a card finds its size over some frames
    assert len(desk.bench.trouble.lines) == 60
    desk.click("close_trouble")
    assert desk.bench.trouble is None


def test_a_recording_that_cannot_start_is_said_and_nothing_breaks(desk):
    desk.session.fail = RecordingError("no room on the disk")
    desk.click("record")
    assert not desk.session.recording
    assert "no room on the disk" in desk.bench.notices[-1].text
    assert desk.bench.notices[-1].kind == "error"


def test_matter_that_is_no_number_pauses_and_is_named(desk):
    def play(removed):
        counters = STATUS.counters | {"nonfinite_removed": removed}
        nonfinite = (137, ("displacement", "plastic")) if removed else None
        desk.session.simulation.current = replace(STATUS, counters=counters, nonfinite=nonfinite)
        desk.session.simulation.steps += 1
        desk.session.paused = False
        desk.bench.after_ticks(1)
        return desk.session.paused

    assert not play(0) and not desk.bench.notices
    assert play(3)
    text, kind = desk.bench.notices[-1].text, desk.bench.notices[-1].kind
    assert kind == "error" and "3 particles" in text and "tick 120" in text
    assert "slot 137: displacement, plastic" in text
    assert not play(3)  # the user goes on: it is told once
    assert play(4) and "1 particle was" in desk.bench.notices[-1].text
    assert not play(0)  # a restart counts anew
    assert play(1)


def test_a_notice_of_the_session_is_said_once(desk):
    desk.session.notice = "the recording stopped: disk full"
    desk.frames(3)
    assert [n.text for n in desk.bench.notices] == ["the recording stopped: disk full"]


# -- strokes through the workbench -----------------------------------------------------------------


def test_held_buttons_feed_the_session_once_a_tick(desk):
    desk.bench.tool_name = "paint"
    stroke = desk.bench.begin_stroke((0.5, 0.5))
    other = desk.bench.begin_stroke((1.5, 0.5), erase=True)
    kinds = [type(event) for event in desk.session.held()]
    assert kinds == [events.Paint, events.Erase]
    stroke.release()
    other.release()
    desk.session.held()
    assert desk.bench.strokes == []


def test_painting_while_paused_waits_for_the_next_tick_and_is_seen(desk):
    desk.session.paused = True
    stroke = desk.bench.begin_stroke((0.5, 0.5))
    desk.frames(1, ticks=False)
    stroke.move((0.7, 0.5))
    stroke.release()
    desk.frames(3, ticks=False)
    painted = [event for event in desk.session.emitted if isinstance(event, events.Paint)]
    assert painted and desk.bench.ghosts == painted
    assert desk.bench.strokes == []
    desk.bench.act("step")
    assert desk.bench.ghosts == []


def test_a_push_that_is_over_while_paused_leaves_nothing_behind(desk):
    desk.session.paused = True
    desk.bench.tool_name = "push"
    desk.bench.begin_stroke((0.5, 0.5)).release()
    desk.frames(2, ticks=False)
    assert desk.bench.strokes == []
    assert desk.session.emitted == []


def test_speeds_go_up_and_down_within_their_list(desk):
    for _ in range(10):
        desk.bench.act("faster")
    assert desk.session.speed == SPEEDS[-1]
    for _ in range(20):
        desk.bench.act("slower")
    assert desk.session.speed == SPEEDS[0]


def test_escape_closes_the_top_only(desk):
    bench = desk.bench
    bench.help_shown = bench.scenes_shown = True
    bench.report(ValueError("x"), "title")
    bench.act("dismiss")
    assert bench.trouble is None and bench.help_shown
    bench.act("dismiss")
    assert not bench.help_shown and bench.scenes_shown
    bench.act("dismiss")
    assert not bench.scenes_shown


# -- keys ------------------------------------------------------------------------------------------


def test_every_binding_does_something_and_no_chord_is_bound_twice(desk):
    keys.chord_table()
    for binding in keys.BINDINGS:
        desk.bench.requests.clear()
        known = hasattr(Workbench, f"do_{binding.action}")
        desk.bench.act(binding.action)
        assert known or desk.bench.requests == [(binding.action, None)], binding.action
        assert known or binding.action in ("quit", "fullscreen")


def saved_moment(scene, elsewhere=()):
    return SimpleNamespace(scene=scene, tick=7, differences_here=lambda here: list(elsewhere))


def said(desk):
    return desk.bench.notices[-1].text


def test_saving_says_where_or_why_not(desk):
    desk.bench.act("save")
    assert said(desk) == "Saved: quick.mbs (F9 comes back here)"
    desk.session.fail = SnapshotError("cannot write quick.mbs: No space left on device")
    desk.bench.act("save")
    assert said(desk) == "cannot write quick.mbs: No space left on device"


def test_loading_a_moment_ends_the_recording_and_forgets_what_was_shown(desk, monkeypatch):
    moment = saved_moment(desk.bench.scene)
    monkeypatch.setattr(Snapshot, "load", lambda path: moment)
    desk.session.recording, desk.bench.recording_path = True, Path("session.mbr")
    desk.bench.ghosts.append(events.Erase((0.0, 0.0), 0.1))
    desk.bench.act("load")
    assert desk.session.restored == [moment]
    assert not desk.session.recording and desk.bench.recording_path is None
    assert not desk.bench.ghosts and not desk.bench.substep_history
    assert [notice.text for notice in desk.bench.notices[-2:]] == [
        "Recording saved: session.mbr",
        "Loaded: tick 7",
    ]


def test_loading_a_moment_of_another_scene_is_the_windows_work(desk, monkeypatch):
    moment = saved_moment(loads(SCENE.replace("Bench", "Another")))
    monkeypatch.setattr(Snapshot, "load", lambda path: moment)
    desk.session.recording = True
    desk.bench.act("load")
    assert desk.bench.requests == [("resume", moment)]
    assert not desk.session.restored and desk.session.recording


def test_loading_says_why_not_and_when_other_bits_may_follow(desk, monkeypatch):
    def no_file(path):
        raise SnapshotError(f"{path}: No such file or directory")

    monkeypatch.setattr(Snapshot, "load", no_file)
    desk.bench.act("load")
    assert said(desk) == "quick.mbs: No such file or directory"
    moment = saved_moment(desk.bench.scene, ["code (1 then, 2 here)"])
    monkeypatch.setattr(Snapshot, "load", lambda path: moment)
    desk.bench.act("load")
    assert said(desk) == "Loaded, and made elsewhere: code (1 then, 2 here)"
    desk.session.replay = object()
    desk.bench.act("load")
    assert "takes no input" in said(desk)
    assert len(desk.session.restored) == 1


@pytest.mark.parametrize(
    "symbol, modifiers, action",
    [
        (key.SPACE, set(), "pause"),
        (key.PERIOD, set(), "step"),
        (key.R, set(), "record"),
        (key.R, {"Ctrl"}, "restart"),
        (key.F5, set(), "save"),
        (key.F9, set(), "load"),
        (key._1, set(), "tool_grab"),
        (key._1, {"Shift"}, "tool_grab"),
        (key._4, set(), "tool_erase"),
        (key.BRACKETLEFT, set(), "brush_smaller"),
        (key.TAB, {"Shift"}, "material_previous"),
        (key.EQUAL, set(), "faster"),
        (key.EQUAL, {"Ctrl"}, "zoom_in"),
        (key.F1, set(), "help"),
        (key.ESCAPE, set(), "dismiss"),
        (key.R, {"Alt"}, None),
    ],
)
def test_keys_find_their_binding(symbol, modifiers, action):
    found = keys.find(symbol, frozenset(modifiers))
    assert (found.action if found else None) == action


def test_the_help_lists_every_binding_and_gesture():
    chords = [c for group in keys.groups() for line in keys.help_lines(group) for c in line[0]]
    assert {binding.chords[0] for binding in keys.BINDINGS} <= set(chords)
    assert {gesture.gesture for gesture in keys.GESTURES} <= set(chords)


def test_the_document_lists_the_same_keys():
    text = (Path(__file__).parents[2] / "docs" / "window.md").read_text(encoding="utf-8")
    for group in keys.groups():
        for chords, meaning in keys.help_lines(group):
            line = " ".join(f"`{chord}`" for chord in chords)
            assert f"| {line} | {meaning} |" in text


def test_a_held_key_repeats_after_a_while_and_stops_with_its_release():
    held = keys.HeldKeys()
    step = keys.find(key.PERIOD, frozenset())
    held.press(key.PERIOD, step, 0.0)
    held.press(key.SPACE, keys.find(key.SPACE, frozenset()), 0.0)
    assert held.due(0.1) == []
    assert held.due(0.5) == [step]
    assert held.due(0.51) == []
    assert held.due(9.0) == [step]
    held.release(key.PERIOD)
    assert held.due(20.0) == []


# -- view, numbers, files --------------------------------------------------------------------------


@dataclass
class Layout:
    viewport: tuple[int, int]
    area: Area


def corners(view):
    left, bottom = view.pixel((0.0, 0.0))
    right, top = view.pixel(view.domain)
    return left, bottom, right, top


def test_the_scene_is_fitted_into_the_free_area_and_follows_it():
    view = View(Camera(viewport=(1280, 800)))
    view.show((4.0, 2.0))
    for layout in (
        Layout((1280, 800), Area(0, 30, 960, 750)),
        Layout((1000, 900), Area(0, 30, 680, 850)),
    ):
        view.layout(layout.viewport, layout.area)
        left, bottom, right, top = corners(view)
        area = layout.area
        assert area.left < left < right < area.right
        assert area.bottom < bottom < top < area.top
        assert (left + right) / 2 == pytest.approx((area.left + area.right) / 2)
        assert (bottom + top) / 2 == pytest.approx((area.bottom + area.top) / 2)


def test_a_moved_view_keeps_scale_and_middle_when_the_window_changes():
    view = View(Camera(viewport=(1280, 800)))
    view.layout((1280, 800), Area(0, 30, 960, 750))
    view.show((4.0, 2.0))
    view.zoom(3, (300.0, 200.0))
    middle = view.world(480.0, 390.0)
    scale = view.camera.pixels_per_meter
    view.layout((1600, 900), Area(0, 30, 1280, 850))
    assert view.camera.pixels_per_meter == pytest.approx(scale)
    assert view.world(640.0, 440.0) == pytest.approx(middle)
    view.fit()
    assert view.fitted


def test_a_scene_may_say_where_to_look_first():
    view = View(Camera(viewport=(1280, 800)))
    view.layout((1280, 800), Area(0, 30, 960, 750))
    view.show((4.0, 2.0), SimpleNamespace(center=(1.0, 0.5), height=0.8))
    assert view.world(480.0, 390.0) == pytest.approx((1.0, 0.5))
    assert view.world(480.0, 750.0)[1] - view.world(480.0, 30.0)[1] == pytest.approx(0.8)


def test_zoom_holds_the_point_under_the_cursor_and_never_loses_the_scene():
    view = View(Camera(viewport=(1280, 800)))
    view.show((4.0, 2.0))
    under = view.world(400.0, 300.0)
    view.zoom(2, (400.0, 300.0))
    assert view.world(400.0, 300.0) == pytest.approx(under)
    for _ in range(100):
        view.zoom(-1)
        view.pan(500.0, 500.0)
    x, y = view.world(640.0, 400.0)
    assert -1e-9 <= x <= 4.0 + 1e-9 and -1e-9 <= y <= 2.0 + 1e-9
    left, _, right, _ = corners(view)
    assert right - left > 300


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (120000.0, "Pa", "120 kPa"),
        (9.9999e5, "Pa", "1 MPa"),
        (0.001, "Pa s", "1 mPa·s"),
        (0.00208, "s", "2.08 ms"),
        (5000.0, "s", "5000 s"),
        (-9.81, "m/s^2", "−9.81 m/s²"),
        (1000.0, "kg/m^3", "1000 kg/m³"),
        (35.0, "degrees", "35°"),
        (0.3, "1", "0.3"),
        (0.15, "m", "0.15 m"),
        (0.0, "Pa", "0 Pa"),
        (float("inf"), "s", "∞ s"),
    ],
)
def test_quantities_read_well(value, unit, text):
    assert quantities.quantity(value, unit) == text


@pytest.mark.parametrize(
    "text, unit, value",
    [
        ("120k", "Pa", 120000.0),
        ("120 kPa", "Pa", 120000.0),
        ("1.2e5", "Pa", 120000.0),
        ("0,5 MPa", "Pa", 5e5),
        ("−9.81", "m/s^2", -9.81),
        ("3 m/s²", "m/s^2", 3.0),
        ("35°", "degrees", 35.0),
        ("2 mPa·s", "Pa s", 0.002),
        ("5 kg", "Pa", None),
        ("", "Pa", None),
        ("k", "Pa", None),
        ("1 2", "Pa", None),
    ],
)
def test_typed_quantities_are_understood_or_refused(text, unit, value):
    assert quantities.parse(text, unit) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize("model", MATERIAL_FIELDS)
def test_sliders_cover_every_field_and_return_what_they_show(model):
    for spec in MATERIAL_FIELDS[model].values():
        line = track.field_track(spec.minimum, spec.maximum, spec.default, spec.unit)
        assert 0.0 <= line.fraction(spec.default) <= 1.0
        for step in range(0, 101):
            value = line.value(step / 100)
            assert spec.minimum <= value <= spec.maximum
            assert line.value(line.fraction(value)) == pytest.approx(value, rel=0.02, abs=1e-9)
        assert line.value(0.0) == pytest.approx(max(line.low, spec.minimum))
        assert line.value(1.0) == pytest.approx(line.high, rel=0.01)


def test_a_recording_never_overwrites_another(tmp_path):
    first = tmp_path / "session.mbr"
    assert unused_path(first) == first
    first.touch()
    (tmp_path / "session-2.mbr.part").touch()
    assert unused_path(first) == tmp_path / "session-3.mbr"


def test_the_catalogue_lists_broken_and_foreign_files_sensibly(tmp_path, monkeypatch):
    good = tmp_path / "good.toml"
    good.write_text('format = 1\nname = "Good"\ndescription = """Two\n lines"""\n[domain]\n')
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    (tmp_path / "broken.toml").write_text("name = [")
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "bad.toml").write_text("= =")
    monkeypatch.setattr("app.scene.list_scenes", lambda: [shipped / "bad.toml"])
    entries = catalog.entries(good)
    assert [(e.name, e.description, e.shipped) for e in entries] == [
        ("Good", "Two lines", False),
        ("bad", "", True),
    ]
    listed = catalog.entries(tmp_path / "broken.toml")
    assert [e.name for e in listed] == ["broken", "Good", "bad"]
