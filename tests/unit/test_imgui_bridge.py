"""Contract: what pyglet reports reaches ImGui unchanged, and the scene gets what ImGui leaves.

A fake window stands in for pyglet's; ImGui itself is real, without OpenGL. Faults of
imgui_bundle's own pyglet backend that must not come back: an inverted or half wheel, hi-DPI
positions, a two-button drag that becomes a left drag, clicks that fall through panels, a delta time
from pyglet's clock.
"""

from __future__ import annotations

from types import SimpleNamespace

import pyglet
import pytest

pyglet.options.shadow_window = False
imgui = pytest.importorskip("imgui_bundle").imgui
from pyglet.window import key, mouse  # noqa: E402

from app.ui.imgui_bridge import ImguiBridge  # noqa: E402


class FakeWindow(SimpleNamespace):
    def __init__(self, size=(800, 600), ratio=1.0):
        super().__init__(size=size, ratio=ratio, clipboard="", cursors=[], visible=[])

    def get_size(self):
        return self.size

    def get_framebuffer_size(self):
        return tuple(int(side * self.ratio) for side in self.size)

    def get_clipboard_text(self):
        return self.clipboard

    def set_clipboard_text(self, text):
        self.clipboard = text

    def get_system_mouse_cursor(self, name):
        return f"cursor {name}"

    def set_mouse_cursor(self, cursor):
        self.cursors.append(cursor)

    def set_mouse_visible(self, visible):
        self.visible.append(visible)

    CURSOR_DEFAULT = None
    CURSOR_CROSSHAIR = "crosshair"
    CURSOR_HAND = "hand"


class Desk:
    """A bridge with an ImGui frame that holds one panel, at the left, 200 wide."""

    def __init__(self, **window):
        self.context = imgui.create_context()
        self.io = imgui.get_io()
        self.io.set_ini_filename("")
        self.io.backend_flags |= imgui.BackendFlags_.renderer_has_textures
        imgui.get_platform_io().renderer_texture_max_width = 4096
        self.window = FakeWindow(**window)
        self.bridge = ImguiBridge(self.window, self.io, macos=False)
        self.text = ""
        self.wheel = 0.0
        self.held = []
        self.presses = 0
        self.frame()
        self.frame()

    def frames(self, count=4):
        """What is left to the scene over some frames: ImGui spreads fast input over several."""
        return [entry for _ in range(count) for entry in self.frame()]

    def frame(self, seconds=1 / 60):
        """One frame; returns what was left to the scene."""
        self.bridge.begin_frame(seconds)
        left = self.bridge.take()
        self.wheel = (self.io.mouse_wheel_h, self.io.mouse_wheel)
        self.held = [imgui.is_mouse_down(button) for button in range(3)]
        imgui.set_next_window_pos((0, 0))
        imgui.set_next_window_size((200, 600))
        imgui.begin("panel", None, imgui.WindowFlags_.no_decoration)
        _, self.text = imgui.input_text("text", self.text)
        self.box = imgui.get_item_rect_min()
        self.presses += imgui.button("button")
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        self.button = ((low.x + high.x) / 2, (low.y + high.y) / 2)
        imgui.end()
        imgui.render()
        for texture in imgui.get_platform_io().textures:
            texture.status = imgui.ImTextureStatus.ok
        return left

    def up(self, x, y):
        """ImGui's place -> pyglet's, y up."""
        return x, self.window.get_size()[1] - 1 - y

    def type_into_the_field(self):
        x, y = self.up(self.box.x + 5, self.box.y + 5)
        self.bridge.on_mouse_press(x, y, mouse.LEFT, 0)
        self.frame()
        self.bridge.on_mouse_release(x, y, mouse.LEFT, 0)
        self.frame()


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    imgui.destroy_context(desk.context)


def kinds(inputs):
    return [entry.kind for entry in inputs]


def test_positions_turn_y_over_and_reach_the_scene_as_pixels(desk):
    desk.bridge.on_mouse_motion(500, 100, 0, 0)
    (entry,) = desk.frame()
    assert (desk.io.mouse_pos.x, desk.io.mouse_pos.y) == (500, 499)
    assert (entry.kind, entry.x, entry.y) == ("move", 500.5, 100.5)


def test_a_hi_dpi_window_scales_the_framebuffer_once():
    desk = Desk(ratio=2.0)
    desk.bridge.on_mouse_motion(500, 100, 0, 0)
    (entry,) = desk.frame()
    assert (desk.io.display_size.x, desk.io.display_size.y) == (800, 600)
    assert tuple(desk.io.display_framebuffer_scale) == (2.0, 2.0)
    assert (desk.io.mouse_pos.x, desk.io.mouse_pos.y) == (500, 499)
    assert (entry.x, entry.y) == (1001.0, 201.0)
    imgui.destroy_context(desk.context)


def test_the_size_is_read_anew_every_frame(desk):
    desk.window.size = (1000, 700)
    desk.frame()
    assert (desk.io.display_size.x, desk.io.display_size.y) == (1000, 700)


def test_a_minimised_window_of_no_size_breaks_nothing(desk):
    desk.window.size = (0, 0)
    desk.frame()
    desk.bridge.on_mouse_motion(0, 0, 0, 0)
    desk.frame()


@pytest.mark.parametrize(
    "button, index, name",
    [(mouse.LEFT, 0, "left"), (mouse.RIGHT, 1, "right"), (mouse.MIDDLE, 2, "middle")],
)
def test_each_button_is_its_own(desk, button, index, name):
    desk.bridge.on_mouse_press(500, 100, button, 0)
    left = desk.frame()
    assert desk.held == [number == index for number in range(3)]
    assert [entry.button for entry in left if entry.kind == "press"] == [name]
    desk.bridge.on_mouse_release(500, 100, button, 0)
    assert kinds(desk.frame()) == ["release"]


def test_a_drag_with_two_buttons_stays_one_with_two_buttons(desk):
    desk.bridge.on_mouse_press(500, 100, mouse.RIGHT, 0)
    desk.frame()
    desk.bridge.on_mouse_press(500, 100, mouse.MIDDLE, 0)
    desk.frame()
    desk.bridge.on_mouse_drag(510, 100, 10, 0, mouse.RIGHT | mouse.MIDDLE, 0)
    assert kinds(desk.frame()) == ["move"]
    assert desk.held == [False, True, True]


def test_the_wheel_is_not_inverted_and_has_two_directions(desk):
    desk.bridge.on_mouse_motion(500, 100, 0, 0)
    desk.frame()
    desk.bridge.on_mouse_scroll(500, 100, 0, 1)
    left = desk.frame()
    assert desk.wheel == (0.0, 1.0)
    assert [(e.dx, e.dy) for e in left if e.kind == "wheel"] == [(0.0, 1.0)]
    desk.bridge.on_mouse_scroll(500, 100, 2, 0)
    desk.frame()
    assert desk.wheel == (-2.0, 0.0)  # ImGui counts to the left


def test_over_a_panel_the_scene_gets_neither_press_nor_wheel(desk):
    desk.bridge.on_mouse_motion(100, 100, 0, 0)
    assert kinds(desk.frame()) == ["move"]
    assert desk.bridge.captures_mouse
    desk.bridge.on_mouse_press(100, 100, mouse.LEFT, 0)
    desk.bridge.on_mouse_scroll(100, 100, 0, 1)
    desk.bridge.on_mouse_release(100, 100, mouse.LEFT, 0)
    assert not {"press", "release", "wheel"} & set(kinds(desk.frames()))


def test_a_jump_onto_a_panel_and_a_click_in_one_frame_do_not_fall_through(desk):
    desk.bridge.on_mouse_motion(600, 300, 0, 0)
    desk.frame()
    x, y = desk.up(*desk.button)
    desk.bridge.on_key_press(key.R, 0)
    desk.bridge.on_key_release(key.R, 0)
    desk.bridge.on_mouse_press(x, y, mouse.LEFT, 0)
    desk.bridge.on_mouse_release(x, y, mouse.LEFT, 0)
    desk.bridge.on_mouse_motion(600, 300, 0, 0)
    desk.bridge.on_mouse_press(600, 300, mouse.RIGHT, 0)
    desk.bridge.on_mouse_release(600, 300, mouse.RIGHT, 0)
    left = desk.frames(8)
    presses = [entry.button for entry in left if entry.kind == "press"]
    assert presses == ["right"]
    assert [entry.button for entry in left if entry.kind == "release"] == ["right"]
    assert desk.presses == 1


def test_a_slow_frame_full_of_input_keeps_its_order(desk):
    desk.bridge.on_mouse_press(500, 100, mouse.LEFT, 0)
    for x in range(501, 511):
        desk.bridge.on_mouse_drag(x, 100, 1, 0, mouse.LEFT, 0)
    desk.bridge.on_mouse_release(510, 100, mouse.LEFT, 0)
    desk.bridge.on_mouse_press(510, 100, mouse.LEFT, 0)
    desk.bridge.on_mouse_release(510, 100, mouse.LEFT, 0)
    expected = ["move", "press", *["move"] * 10, "release", "press", "release"]
    assert kinds(desk.frames(8)) == expected


def test_a_stroke_that_wanders_over_a_panel_stays_the_scenes_until_its_release(desk):
    desk.bridge.on_mouse_press(500, 100, mouse.LEFT, 0)
    desk.frame()
    desk.bridge.on_mouse_drag(100, 100, -400, 0, mouse.LEFT, 0)
    assert kinds(desk.frame()) == ["move"]
    assert not desk.bridge.captures_mouse
    desk.bridge.on_mouse_release(100, 100, mouse.LEFT, 0)
    assert kinds(desk.frame()) == ["release"]


def test_keys_are_the_scenes_unless_text_is_typed(desk):
    desk.bridge.on_key_press(key.R, 0)
    desk.bridge.on_key_release(key.R, 0)
    assert kinds(desk.frames()) == ["key_press", "key_release"]
    desk.type_into_the_field()
    assert desk.bridge.captures_keyboard
    desk.bridge.on_key_press(key.R, 0)
    desk.bridge.on_text("r")
    desk.bridge.on_text("é")
    desk.bridge.on_text("\r")
    desk.bridge.on_key_release(key.R, 0)
    assert "key_press" not in kinds(desk.frames())
    assert desk.text == "ré"


def test_escape_is_handled_so_that_pyglet_does_not_close_the_window(desk):
    assert desk.bridge.on_key_press(key.ESCAPE, 0) is True


def test_modifiers_count_the_very_key_that_is_pressed(desk):
    desk.bridge.on_key_press(key.LSHIFT, 0)  # X11: the bits lack the key itself
    assert desk.bridge.modifiers == {"Shift"}
    desk.frame()
    assert desk.io.key_shift
    desk.bridge.on_mouse_press(500, 100, mouse.LEFT, key.MOD_SHIFT | key.MOD_NUMLOCK)
    (press,) = [entry for entry in desk.frame() if entry.kind == "press"]
    assert press.modifiers == {"Shift"}
    desk.bridge.on_key_release(key.LSHIFT, key.MOD_SHIFT)
    assert desk.bridge.modifiers == frozenset()
    desk.frame()
    assert not desk.io.key_shift


def test_command_is_ctrl_on_macos(desk):
    desk.bridge.macos = True
    desk.bridge.on_key_press(key.R, key.MOD_COMMAND)
    (entry,) = desk.frame()
    assert entry.modifiers == {"Ctrl"}


def test_losing_the_focus_releases_everything(desk):
    desk.bridge.on_key_press(key.LCTRL, 0)
    desk.bridge.on_mouse_press(500, 100, mouse.LEFT, key.MOD_CTRL)
    desk.frame()
    desk.bridge.on_deactivate()
    assert "blur" in kinds(desk.frames())
    assert desk.held == [False, False, False]
    assert desk.bridge.modifiers == frozenset()
    assert not desk.io.key_ctrl
    desk.bridge.on_mouse_release(500, 100, mouse.LEFT, 0)
    assert kinds(desk.frames()) == []  # its stroke has ended already


def test_leaving_the_window_hides_the_ring_but_not_during_a_stroke(desk):
    desk.bridge.on_mouse_motion(500, 100, 0, 0)
    desk.frame()
    desk.bridge.on_mouse_leave(0, 100)
    assert kinds(desk.frame()) == ["leave"]
    desk.bridge.on_mouse_press(500, 100, mouse.LEFT, 0)
    desk.frame()
    desk.bridge.on_mouse_leave(0, 100)
    assert kinds(desk.frame()) == []


def test_delta_time_is_ours(desk):
    for seconds, expected in ((0.02, 0.02), (5.0, 0.25), (0.0, 1e-4), (-1.0, 1e-4)):
        desk.frame(seconds)
        assert desk.io.delta_time == pytest.approx(expected)


def test_the_clipboard_is_the_windows(desk):
    imgui.set_clipboard_text("honey")
    assert desk.window.clipboard == "honey"
    desk.window.clipboard = "sand"
    assert imgui.get_clipboard_text() == "sand"


def test_the_cursor_changes_only_when_its_shape_does(desk):
    desk.bridge.show_cursor("CURSOR_CROSSHAIR")
    desk.bridge.show_cursor("CURSOR_CROSSHAIR")
    assert desk.window.cursors == ["cursor crosshair"]
    desk.bridge.on_mouse_motion(100, 300, 0, 0)
    desk.frame()
    desk.bridge.show_cursor("CURSOR_CROSSHAIR")
    assert desk.window.cursors[-1] == "cursor None"
    assert all(desk.window.visible)
