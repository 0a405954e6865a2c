"""THE table of key bindings: it drives what keys do and what the help overlay says they do.

A chord is written as one reads it, "Ctrl+R" or "Space"; the names of keys are pyglet's, with the
usual signs for punctuation. Ctrl stands for Command on macOS too. Shift matters only where a chord
names it, so that layouts on which a digit or a sign needs Shift reach it all the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Binding:
    """One action and the chords that call it. `repeat`: goes on while the key is held.

    Neighbours with one `text` are one line of the help: "slower, faster".
    """

    action: str
    chords: tuple[str, ...]
    text: str
    group: str
    repeat: bool = False


@dataclass(frozen=True)
class Gesture:
    """A mouse gesture, for the help overlay; its meaning lives in the window's input handling."""

    gesture: str
    text: str
    group: str


BINDINGS: tuple[Binding, ...] = (
    Binding("pause", ("Space",), "pause, go on", "Time"),
    Binding("step", (".", "F"), "one tick", "Time", repeat=True),
    Binding("back", (",",), "one tick back", "Time", repeat=True),
    Binding("undo", ("Ctrl+Z",), "undo, redo a stroke or an edit", "Time", repeat=True),
    Binding(
        "redo", ("Ctrl+Shift+Z", "Ctrl+Y"), "undo, redo a stroke or an edit", "Time", repeat=True
    ),
    Binding("restart", ("Ctrl+R",), "restart the scene", "Time"),
    Binding("save", ("F5",), "save, load the moment", "Time"),
    Binding("load", ("F9",), "save, load the moment", "Time"),
    Binding("slower", ("-", "Num -"), "slower, faster", "Time"),
    Binding("faster", ("=", "+", "Num +"), "slower, faster", "Time"),
    Binding("record", ("R",), "start, stop recording", "Time"),
    Binding("tool_grab", ("1",), "grab", "Tools"),
    Binding("tool_push", ("2",), "push", "Tools"),
    Binding("tool_paint", ("3",), "paint", "Tools"),
    Binding("tool_erase", ("4",), "erase", "Tools"),
    Binding("brush_smaller", ("[",), "smaller, larger brush", "Tools", repeat=True),
    Binding("brush_larger", ("]",), "smaller, larger brush", "Tools", repeat=True),
    Binding("material_next", ("Tab",), "next, previous material", "Tools"),
    Binding("material_previous", ("Shift+Tab",), "next, previous material", "Tools"),
    Binding("zoom_in", ("Ctrl+=", "Ctrl++", "Ctrl+Num +"), "zoom in, out", "View", repeat=True),
    Binding("zoom_out", ("Ctrl+-", "Ctrl+Num -"), "zoom in, out", "View", repeat=True),
    Binding("fit", ("Home", "0"), "show the whole scene", "View"),
    Binding("pan_left", ("Left",), "move the view", "View", repeat=True),
    Binding("pan_right", ("Right",), "move the view", "View", repeat=True),
    Binding("pan_up", ("Up",), "move the view", "View", repeat=True),
    Binding("pan_down", ("Down",), "move the view", "View", repeat=True),
    Binding("panels", ("H",), "hide, show the panels", "View"),
    Binding("fullscreen", ("F11",), "full screen", "View"),
    Binding("scenes", ("O", "Ctrl+O"), "open a scene", "Window"),
    Binding("help", ("F1",), "this help", "Window"),
    Binding("dismiss", ("Escape",), "close what is open on top", "Window"),
    Binding("quit", ("Ctrl+Q",), "quit", "Window"),
)

GESTURES: tuple[Gesture, ...] = (
    Gesture("Drag the timeline", "go to any moment of the past", "Time"),
    Gesture("Left drag", "use the tool", "Tools"),
    Gesture("Right drag", "erase, with any tool", "Tools"),
    Gesture("Shift", "push becomes pull", "Tools"),
    Gesture("Wheel", "size of the brush", "Tools"),
    Gesture("Ctrl+Wheel", "zoom at the cursor", "View"),
    Gesture("Middle drag, Ctrl+drag", "move the view", "View"),
)

# Signs and short names of keys -> their names in pyglet.window.key.
_SYMBOLS = {
    ".": "PERIOD",
    ",": "COMMA",
    "-": "MINUS",
    "=": "EQUAL",
    "+": "PLUS",
    "[": "BRACKETLEFT",
    "]": "BRACKETRIGHT",
    "Num -": "NUM_SUBTRACT",
    "Num +": "NUM_ADD",
    "Space": "SPACE",
    "Tab": "TAB",
    "Home": "HOME",
    "Escape": "ESCAPE",
    "Left": "LEFT",
    "Right": "RIGHT",
    "Up": "UP",
    "Down": "DOWN",
}
_MODIFIERS = ("Ctrl", "Alt", "Shift")

REPEAT_DELAY = 0.35  # [s] until a held key repeats
REPEAT_INTERVAL = 1.0 / 24.0  # [s]


def split(chord: str) -> tuple[frozenset[str], str]:
    """The modifiers and the key of a chord: "Ctrl++" -> ({"Ctrl"}, "+")."""
    modifiers: set[str] = set()
    rest = chord
    while True:
        head, plus, tail = rest.partition("+")
        if not (plus and tail and head in _MODIFIERS):
            return frozenset(modifiers), rest
        modifiers.add(head)
        rest = tail


def symbol(key_name: str) -> int:
    """pyglet's number of a key. Raises AttributeError for a name that is no key."""
    from pyglet.window import key

    name = _SYMBOLS.get(key_name, key_name)
    return getattr(key, f"_{name}" if name.isdigit() else name)


@cache
def chord_table() -> dict[tuple[int, frozenset[str]], Binding]:
    """(key, modifiers) -> binding. Raises ValueError when two bindings claim one chord."""
    table: dict[tuple[int, frozenset[str]], Binding] = {}
    for binding in BINDINGS:
        for chord in binding.chords:
            modifiers, key_name = split(chord)
            place = (symbol(key_name), modifiers)
            if place in table:
                raise ValueError(f"{chord} is bound to {table[place].action} and {binding.action}")
            table[place] = binding
    return table


def find(key_symbol: int, modifiers: frozenset[str]) -> Binding | None:
    """The binding of a key pressed with these of "Ctrl", "Alt", "Shift"."""
    table = chord_table()
    return table.get((key_symbol, modifiers)) or table.get((key_symbol, modifiers - {"Shift"}))


def shortcut(action: str) -> str:
    """The first chord of an action, for a tooltip; empty where it has none."""
    return next((b.chords[0] for b in BINDINGS if b.action == action and b.chords), "")


def help_lines(group: str) -> list[tuple[tuple[str, ...], str]]:
    """(chords or gestures, text) of a group, gestures first; a chord for each action of a line."""
    lines = [((gesture.gesture,), gesture.text) for gesture in GESTURES if gesture.group == group]
    bound = [binding for binding in BINDINGS if binding.group == group]
    for text, neighbours in itertools.groupby(bound, key=lambda binding: binding.text):
        several = list(neighbours)
        count = 2 if len(several) == 1 else 1
        lines.append((tuple(c for b in several for c in b.chords[:count]), text))
    return lines


def groups() -> list[str]:
    """The groups of the help, in the table's order."""
    return list(dict.fromkeys(binding.group for binding in BINDINGS))


class HeldKeys:
    """Which bindings are held down, and how often each is due again."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[Binding, float]] = {}

    def press(self, key_symbol: int, binding: Binding, now: float) -> None:
        if binding.repeat:
            self._due[key_symbol] = (binding, now + REPEAT_DELAY)

    def release(self, key_symbol: int) -> None:
        self._due.pop(key_symbol, None)

    def clear(self) -> None:
        """The focus left: no release will be seen."""
        self._due.clear()

    def due(self, now: float) -> list[Binding]:
        """Bindings whose repeat falls due by `now` [s]; each at most once a call."""
        ready: list[Binding] = []
        for key_symbol, (binding, when) in list(self._due.items()):
            if now >= when:
                ready.append(binding)
                self._due[key_symbol] = (binding, now + REPEAT_INTERVAL)
        return ready
