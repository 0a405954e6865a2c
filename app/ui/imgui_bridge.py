"""Input from a pyglet window to Dear ImGui, and what ImGui leaves over to the scene.

imgui_bundle's own pyglet backend inverts nothing any more but still drops a second held button,
dispatches pyglet's clock while drawing, and lets clicks through panels; so only its OpenGL renderer
is used. Here every event is handed to ImGui and kept; after ImGui has begun its frame, and so knows
what lies under the mouse, `take` hands on what ImGui does not want. That is the one place where
capture is decided.

Mouse positions arrive in units of the window's size, y up, whole numbers at the middle of a pixel.
ImGui gets them in the same units, y down; the scene gets framebuffer pixels, y up.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from imgui_bundle import imgui

OUTSIDE = -3.0e38  # ImGui's mark for "no mouse": beyond any screen
MAX_DELTA = 0.25  # [s]; a longer frame was a stall, and animations should not jump over it


@dataclass(frozen=True)
class Input:
    """One event for the scene.

    kind: "move", "press", "release", "wheel", "key_press", "key_release", "leave" or "blur".
    x, y: mouse [framebuffer px], y up. button: "left", "middle", "right" or "". dx, dy: notches
    of the wheel, dy > 0 away from the user. key: pyglet's symbol. modifiers: some of "Ctrl",
    "Alt", "Shift".
    """

    kind: str
    x: float = 0.0
    y: float = 0.0
    button: str = ""
    dx: float = 0.0
    dy: float = 0.0
    key: int = 0
    modifiers: frozenset[str] = field(default_factory=frozenset)


class ImguiBridge:
    """Feeds `io` from the handlers below; push them onto a window with `attach`."""

    def __init__(self, window: Any, io: Any, *, macos: bool = sys.platform == "darwin"):
        self.window = window
        self.io = io
        self.macos = macos
        self.mouse = (0.0, 0.0)
        self.modifiers: frozenset[str] = frozenset()
        self._inputs: list[tuple[int, Input]] = []  # with ImGui's events up to it, ever
        self._taken_up = 0  # events that ImGui has taken up, ever
        self._buttons: set[str] = set()  # pressed outside of ImGui: their releases are the scene's
        self._cursor: Any = None
        self._keys = _key_table()
        io.backend_flags |= imgui.BackendFlags_.has_mouse_cursors
        self._install_clipboard()

    def attach(self) -> None:
        self.window.push_handlers(
            on_mouse_motion=self.on_mouse_motion,
            on_mouse_drag=self.on_mouse_drag,
            on_mouse_press=self.on_mouse_press,
            on_mouse_release=self.on_mouse_release,
            on_mouse_scroll=self.on_mouse_scroll,
            on_mouse_enter=self.on_mouse_enter,
            on_mouse_leave=self.on_mouse_leave,
            on_key_press=self.on_key_press,
            on_key_release=self.on_key_release,
            on_text=self.on_text,
            on_activate=self.on_activate,
            on_deactivate=self.on_deactivate,
        )

    # -- the frame ---------------------------------------------------------------------------------

    def begin_frame(self, seconds: float) -> None:
        """Tell ImGui the window's size and the time since the last frame, then begin its frame."""
        width, height = self.window.get_size()
        pixels = self.window.get_framebuffer_size()
        self.io.display_size = (float(width), float(height))
        if width > 0 and height > 0:
            self.io.display_framebuffer_scale = (pixels[0] / width, pixels[1] / height)
        self.io.delta_time = min(max(seconds, 1e-4), MAX_DELTA)
        waiting = self._waiting()
        imgui.new_frame()
        self._taken_up += waiting - self._waiting()

    @staticmethod
    def _waiting() -> int:
        """Events in ImGui's queue: it spreads what comes too fast for a frame over several."""
        return len(imgui.get_current_context().input_events_queue)

    @property
    def captures_mouse(self) -> bool:
        """ImGui wants the mouse: it is over a panel, or drags something of a panel."""
        return bool(self.io.want_capture_mouse)

    @property
    def captures_keyboard(self) -> bool:
        """ImGui wants the keys: text is typed, or a widget is held."""
        return bool(self.io.want_capture_keyboard)

    def take(self) -> list[Input]:
        """The events that belong to the scene; call after `begin_frame`.

        An event waits until ImGui has taken up everything before it: only then does ImGui know
        what lay under the mouse at that moment. On a slow screen a frame holds many events.
        """
        known = 0
        while known < len(self._inputs) and self._inputs[known][0] <= self._taken_up:
            known += 1
        entries = [entry for _, entry in self._inputs[:known]]
        del self._inputs[:known]
        return [entry for entry in entries if self._for_scene(entry)]

    def _for_scene(self, entry: Input) -> bool:
        if entry.kind == "press":
            if self.captures_mouse:
                return False
            self._buttons.add(entry.button)
            return True
        if entry.kind == "release":
            # A press that the scene saw is always followed by its release, wherever that happens.
            known = entry.button in self._buttons
            self._buttons.discard(entry.button)
            return known
        if entry.kind == "wheel":
            return not self.captures_mouse
        if entry.kind == "key_press":
            return not self.captures_keyboard
        if entry.kind == "blur":
            self._buttons.clear()
        return True

    def show_cursor(self, scene_cursor: str | None = None) -> None:
        """Give the mouse the shape that ImGui asks for; over the scene, pyglet's `scene_cursor`."""
        if self.captures_mouse or scene_cursor is None:
            shape = imgui.get_mouse_cursor()
            name = _CURSORS.get(shape, "CURSOR_DEFAULT")
            if shape == imgui.MouseCursor_.none:
                name = None
        else:
            name = scene_cursor
        if name == self._cursor:
            return
        self._cursor = name
        self.window.set_mouse_visible(name is not None)
        if name is not None:
            shape = getattr(self.window, name, None)
            self.window.set_mouse_cursor(self.window.get_system_mouse_cursor(shape))

    # -- pyglet's events ---------------------------------------------------------------------------

    def on_mouse_motion(self, x: float, y: float, dx: float, dy: float) -> None:
        self._move(x, y)

    def on_mouse_drag(
        self, x: float, y: float, dx: float, dy: float, buttons: int, modifiers: int
    ) -> None:
        # `buttons` is a set of bits. Presses and releases have their own events, so nothing is
        # concluded from it here: a drag with two buttons stays a drag with two buttons.
        self._set_modifiers(modifiers)
        self._move(x, y)

    def on_mouse_press(self, x: float, y: float, button: int, modifiers: int) -> None:
        self._button(x, y, button, modifiers, down=True)

    def on_mouse_release(self, x: float, y: float, button: int, modifiers: int) -> None:
        self._button(x, y, button, modifiers, down=False)

    def on_mouse_scroll(self, x: float, y: float, scroll_x: float, scroll_y: float) -> None:
        # pyglet: +x is right, +y is away from the user. ImGui: +x is left, +y is away.
        self._move(x, y)
        self.io.add_mouse_wheel_event(-float(scroll_x), float(scroll_y))
        self._keep("wheel", dx=float(scroll_x), dy=float(scroll_y))

    def on_mouse_enter(self, x: float, y: float) -> None:
        self._move(x, y)

    def on_mouse_leave(self, x: float, y: float) -> None:
        if not self._buttons:
            self.io.add_mouse_pos_event(OUTSIDE, OUTSIDE)
            self._keep("leave")

    def on_key_press(self, symbol: int, modifiers: int) -> bool:
        self._set_modifiers(modifiers, symbol, down=True)
        if symbol in self._keys:
            self.io.add_key_event(self._keys[symbol], True)
        self._keep("key_press", key=symbol)
        return True  # else pyglet's own handler closes the window on Escape

    def on_key_release(self, symbol: int, modifiers: int) -> bool:
        self._set_modifiers(modifiers, symbol, down=False)
        if symbol in self._keys:
            self.io.add_key_event(self._keys[symbol], False)
        self._keep("key_release", key=symbol)
        return True

    def on_text(self, text: str) -> None:
        # Return and the like arrive as keys; as text they would be typed into fields.
        self.io.add_input_characters_utf8("".join(c for c in text if c.isprintable()))

    def on_activate(self) -> None:
        self.io.add_focus_event(True)

    def on_deactivate(self) -> None:
        """The focus leaves: no release of a key or button will be seen any more."""
        self.io.add_focus_event(False)
        self.modifiers = frozenset()
        for index in range(3):
            self.io.add_mouse_button_event(index, False)
        self._keep("blur")

    # -- helpers -----------------------------------------------------------------------------------

    def _keep(self, kind: str, **values: Any) -> None:
        width, height = self.window.get_size()
        pixels = self.window.get_framebuffer_size()
        x = (self.mouse[0] + 0.5) * pixels[0] / max(width, 1)
        y = (self.mouse[1] + 0.5) * pixels[1] / max(height, 1)
        entry = Input(kind, x, y, modifiers=self.modifiers, **values)
        self._inputs.append((self._taken_up + self._waiting(), entry))

    def _move(self, x: float, y: float) -> None:
        self.mouse = (float(x), float(y))
        self.io.add_mouse_pos_event(*self._imgui_position(x, y))
        self._keep("move")

    def _imgui_position(self, x: float, y: float) -> tuple[float, float]:
        """ImGui counts y downwards, in units of the window's size."""
        return float(x), float(self.window.get_size()[1] - 1 - y)

    def _button(self, x: float, y: float, button: int, modifiers: int, *, down: bool) -> None:
        self._set_modifiers(modifiers)
        if (float(x), float(y)) != self.mouse:
            self._move(x, y)
        if button not in _BUTTONS:
            return
        index, name = _BUTTONS[button]
        self.io.add_mouse_button_event(index, down)
        self._keep("press" if down else "release", button=name)

    def _set_modifiers(self, bits: int, symbol: int = 0, *, down: bool = False) -> None:
        """Modifiers from pyglet's bits; on X11 these lack the very key that is being pressed."""
        from pyglet.window import key

        held = {
            "Ctrl": bool(bits & key.MOD_CTRL),
            "Shift": bool(bits & key.MOD_SHIFT),
            "Alt": bool(bits & key.MOD_ALT),
            "Super": bool(bits & (key.MOD_COMMAND | key.MOD_WINDOWS)),
        }
        for name, symbols in _modifier_keys().items():
            if symbol in symbols:
                held[name] = down
        self.io.add_key_event(imgui.Key.mod_ctrl, held["Ctrl"])
        self.io.add_key_event(imgui.Key.mod_shift, held["Shift"])
        self.io.add_key_event(imgui.Key.mod_alt, held["Alt"])
        self.io.add_key_event(imgui.Key.mod_super, held["Super"])
        if self.macos:
            held["Ctrl"] = held["Ctrl"] or held["Super"]
        del held["Super"]
        self.modifiers = frozenset(name for name, is_held in held.items() if is_held)

    def _install_clipboard(self) -> None:
        platform = imgui.get_platform_io()
        window = self.window
        platform.platform_get_clipboard_text_fn = lambda _context: window.get_clipboard_text() or ""
        platform.platform_set_clipboard_text_fn = lambda _context, text: window.set_clipboard_text(
            text
        )


# pyglet's bit of a button -> ImGui's index, our name.
_BUTTONS = {1: (0, "left"), 2: (2, "middle"), 4: (1, "right")}

_CURSORS = {
    imgui.MouseCursor_.arrow: "CURSOR_DEFAULT",
    imgui.MouseCursor_.text_input: "CURSOR_TEXT",
    imgui.MouseCursor_.resize_all: "CURSOR_SIZE",
    imgui.MouseCursor_.resize_ns: "CURSOR_SIZE_UP_DOWN",
    imgui.MouseCursor_.resize_ew: "CURSOR_SIZE_LEFT_RIGHT",
    imgui.MouseCursor_.resize_nesw: "CURSOR_SIZE_DOWN_LEFT",
    imgui.MouseCursor_.resize_nwse: "CURSOR_SIZE_DOWN_RIGHT",
    imgui.MouseCursor_.hand: "CURSOR_HAND",
    imgui.MouseCursor_.wait: "CURSOR_WAIT",
    imgui.MouseCursor_.not_allowed: "CURSOR_NO",
}


def _modifier_keys() -> dict[str, tuple[int, ...]]:
    from pyglet.window import key

    return {
        "Ctrl": (key.LCTRL, key.RCTRL),
        "Shift": (key.LSHIFT, key.RSHIFT),
        "Alt": (key.LALT, key.RALT),
        "Super": (key.LCOMMAND, key.RCOMMAND, key.LWINDOWS, key.RWINDOWS),
    }


def _key_table() -> dict[int, Any]:
    """pyglet's symbols -> ImGui's keys, for what text fields and sliders use."""
    from pyglet.window import key

    names = {
        "TAB": "tab", "BACKSPACE": "backspace", "RETURN": "enter", "ESCAPE": "escape",
        "INSERT": "insert", "DELETE": "delete", "SPACE": "space", "LEFT": "left_arrow",
        "RIGHT": "right_arrow", "UP": "up_arrow", "DOWN": "down_arrow", "PAGEUP": "page_up",
        "PAGEDOWN": "page_down", "HOME": "home", "END": "end", "NUM_ENTER": "keypad_enter",
        "NUM_DECIMAL": "keypad_decimal", "NUM_DIVIDE": "keypad_divide",
        "NUM_MULTIPLY": "keypad_multiply", "NUM_SUBTRACT": "keypad_subtract",
        "NUM_ADD": "keypad_add", "LCTRL": "left_ctrl", "RCTRL": "right_ctrl",
        "LSHIFT": "left_shift", "RSHIFT": "right_shift", "LALT": "left_alt", "RALT": "right_alt",
        "LCOMMAND": "left_super", "RCOMMAND": "right_super", "MINUS": "minus", "EQUAL": "equal",
        "PERIOD": "period", "COMMA": "comma", "BRACKETLEFT": "left_bracket",
        "BRACKETRIGHT": "right_bracket",
    }  # fmt: skip
    table = {getattr(key, name): getattr(imgui.Key, ours) for name, ours in names.items()}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        table[getattr(key, letter.upper())] = getattr(imgui.Key, letter)
    for digit in "0123456789":
        table[getattr(key, f"_{digit}")] = getattr(imgui.Key, f"_{digit}")
        table[getattr(key, f"NUM_{digit}")] = getattr(imgui.Key, f"keypad{digit}")
    for number in range(1, 13):
        table[getattr(key, f"F{number}")] = getattr(imgui.Key, f"f{number}")
    return table
