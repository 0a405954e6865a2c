"""Contract: what is left over from ImGui becomes strokes, camera moves and actions.

The left button uses the tool, the right one erases whatever the tool is, the middle one and
Ctrl+left move the view; the wheel sizes the brush, with Ctrl it zooms at the cursor; keys follow
the table. Losing the focus ends everything that is held.
"""

from __future__ import annotations

from types import SimpleNamespace

import pyglet
import pytest

pyglet.options.shadow_window = False
pytest.importorskip("imgui_bundle")
from pyglet.window import key  # noqa: E402

from app.render.camera import Camera  # noqa: E402
from app.ui.hands import Hands  # noqa: E402
from app.ui.imgui_bridge import Input  # noqa: E402
from app.ui.tools import TOOLS  # noqa: E402
from app.ui.view import View  # noqa: E402
from app.ui.workbench import Workbench  # noqa: E402


class Rig:
    def __init__(self, *, replaying=False):
        view = View(Camera(viewport=(1000, 500)))
        view.show((2.0, 1.0))
        self.bench = Workbench(view, session=SimpleNamespace(replaying=replaying))
        self.bench.brush.set_radius(0.1)
        self.actions = []
        self.bench.act = self.actions.append
        self.hands = Hands(self.bench)

    def do(self, kind, x=500.0, y=250.0, *, now=0.0, over_panel=False, modifiers=(), **values):
        entry = Input(kind, x, y, modifiers=frozenset(modifiers), **values)
        self.hands.take([entry], now, over_panel=over_panel)

    @property
    def strokes(self):
        return [type(stroke).__name__ for stroke in self.bench.strokes]


@pytest.fixture
def rig():
    return Rig()


def test_the_left_button_uses_the_tool_and_the_right_one_erases(rig):
    rig.bench.tool_name = "grab"
    rig.do("press", button="left")
    rig.do("press", button="right")
    assert rig.strokes == ["GrabStroke", "EraseStroke"]
    assert rig.hands.tool is TOOLS["erase"]
    rig.do("release", button="left")
    assert [stroke.released for stroke in rig.bench.strokes] == [True, False]


def test_a_stroke_follows_the_mouse_in_world_units(rig):
    rig.do("press", button="left")
    rig.do("move", 600.0, 300.0)
    (stroke,) = rig.bench.strokes
    assert stroke.points == [
        pytest.approx((1.0, 0.5)),
        pytest.approx(rig.bench.view.world(600.0, 300.0)),
    ]
    assert rig.bench.cursor == stroke.points[-1]


@pytest.mark.parametrize("button, modifiers", [("middle", ()), ("left", ("Ctrl",))])
def test_dragging_the_view_keeps_the_world_under_the_mouse(rig, button, modifiers):
    rig.do("press", button=button, modifiers=modifiers)
    under = rig.bench.view.world(500.0, 250.0)
    rig.do("move", 530.0, 240.0)
    assert rig.bench.view.world(530.0, 240.0) == pytest.approx(under)
    assert rig.strokes == []
    assert rig.hands.tool is None  # no ring while the view moves
    rig.do("release", button=button)
    rig.do("move", 600.0, 240.0)
    assert rig.bench.view.world(530.0, 240.0) == pytest.approx(under)


def test_the_wheel_sizes_the_brush_and_with_ctrl_zooms_at_the_cursor(rig):
    radius = rig.bench.brush.radius
    rig.do("wheel", dy=1.0)
    assert rig.bench.brush.radius > radius
    scale = rig.bench.view.camera.pixels_per_meter
    under = rig.bench.view.world(700.0, 300.0)
    rig.do("wheel", 700.0, 300.0, dy=1.0, modifiers=("Ctrl",))
    assert rig.bench.view.camera.pixels_per_meter > scale
    assert rig.bench.view.world(700.0, 300.0) == pytest.approx(under)


def test_keys_follow_the_table_and_repeat_while_held(rig):
    rig.do("key_press", key=key.SPACE)
    rig.do("key_press", key=key.R, modifiers=("Ctrl",))
    rig.do("key_press", key=key.BRACKETLEFT, now=1.0)
    assert rig.actions == ["pause", "restart", "brush_smaller"]
    rig.hands.take([], 2.0, over_panel=False)
    assert rig.actions[3:] == ["brush_smaller"]
    rig.do("key_release", key=key.BRACKETLEFT)
    rig.hands.take([], 9.0, over_panel=False)
    assert len(rig.actions) == 4


def test_shift_turns_push_around_even_if_nothing_else_happens(rig):
    rig.do("key_press", key=key.LSHIFT, modifiers=("Shift",))
    assert rig.bench.inverted
    rig.do("key_release", key=key.LSHIFT)
    assert not rig.bench.inverted


def test_losing_the_focus_ends_strokes_pans_and_repeats(rig):
    rig.do("press", button="left")
    rig.do("press", button="middle")
    rig.do("key_press", key=key.PERIOD)
    rig.do("blur")
    assert all(stroke.released for stroke in rig.bench.strokes)
    center = rig.bench.view.camera.center
    rig.do("move", 700.0, 300.0, now=9.0)
    assert rig.bench.view.camera.center == center
    assert rig.actions == ["step"]


def test_there_is_no_ring_over_a_panel_or_outside_but_a_stroke_keeps_it(rig):
    rig.do("move")
    assert rig.hands.tool is not None
    rig.do("move", over_panel=True)
    assert rig.hands.tool is None
    rig.do("move")
    rig.do("leave")
    assert rig.hands.tool is None
    rig.do("press", button="left")
    rig.do("move", over_panel=True)
    assert rig.hands.tool is not None


def test_a_click_beside_the_scene_menu_only_closes_it(rig):
    rig.bench.scenes_shown = True
    rig.do("press", button="left")
    assert not rig.bench.scenes_shown
    assert rig.strokes == []


def test_a_replay_has_no_strokes_and_no_ring():
    rig = Rig(replaying=True)
    rig.do("move")
    rig.do("press", button="left")
    assert rig.strokes == []
    assert rig.hands.tool is None
    assert rig.bench.notices
