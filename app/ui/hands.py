"""Hands: what mouse and keys do on the scene, once ImGui has taken what is its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.ui import keys
from app.ui.tools import TOOLS, Stroke, Tool
from app.ui.workbench import Workbench


class Hands:
    """Turns the bridge's inputs into strokes, camera moves and actions of a workbench."""

    def __init__(self, bench: Workbench):
        self.bench = bench
        self._held_keys = keys.HeldKeys()
        self._strokes: dict[str, Stroke] = {}  # by the button that holds each
        self._panning = ""  # the button that drags the view
        self._mouse = (0.0, 0.0)  # [framebuffer px]

    def take(self, inputs: Iterable[Any], now: float, *, over_panel: bool) -> None:
        """One frame's inputs (`imgui_bridge.Input`), then the repeats of held keys.

        now: wall time [s]. over_panel: the mouse is ImGui's, so no ring is shown.
        """
        for entry in inputs:
            self.bench.inverted = "Shift" in entry.modifiers
            getattr(self, f"_{entry.kind}")(entry, now)
        for binding in self._held_keys.due(now):
            self.bench.act(binding.action)
        if over_panel and not self._strokes:
            self.bench.cursor = None

    def let_go(self) -> None:
        """No release will come: the focus left, or the scene changed."""
        self._held_keys.clear()
        for stroke in self._strokes.values():
            stroke.release()
        self._strokes.clear()
        self._panning = ""

    @property
    def tool(self) -> Tool | None:
        """The tool whose ring is shown, None where no tool would act."""
        bench = self.bench
        if bench.cursor is None or not bench.editable or self._panning:
            return None
        return TOOLS["erase"] if "right" in self._strokes else bench.tool

    def _move(self, entry: Any, now: float) -> None:
        bench = self.bench
        if self._panning:
            bench.view.pan(entry.x - self._mouse[0], entry.y - self._mouse[1])
        self._mouse = (entry.x, entry.y)
        bench.cursor = bench.view.world(entry.x, entry.y)
        for stroke in self._strokes.values():
            stroke.move(bench.cursor)

    def _press(self, entry: Any, now: float) -> None:
        bench = self.bench
        self._mouse = (entry.x, entry.y)
        if bench.scenes_shown:
            bench.scenes_shown = False  # a click beside the menu closes it and does no more
        elif entry.button == "middle" or (entry.button == "left" and "Ctrl" in entry.modifiers):
            self._panning = entry.button
        else:
            bench.cursor = bench.view.world(entry.x, entry.y)
            stroke = bench.begin_stroke(bench.cursor, erase=entry.button == "right")
            if stroke is not None:
                self._strokes[entry.button] = stroke

    def _release(self, entry: Any, now: float) -> None:
        if entry.button == self._panning:
            self._panning = ""
        stroke = self._strokes.pop(entry.button, None)
        if stroke is not None:
            stroke.release()

    def _wheel(self, entry: Any, now: float) -> None:
        if "Ctrl" in entry.modifiers:
            self.bench.view.zoom(entry.dy, (entry.x, entry.y))
        else:
            self.bench.brush.resize(entry.dy)

    def _key_press(self, entry: Any, now: float) -> None:
        binding = keys.find(entry.key, entry.modifiers)
        if binding is not None:
            self._held_keys.press(entry.key, binding, now)
            self.bench.act(binding.action)

    def _key_release(self, entry: Any, now: float) -> None:
        self._held_keys.release(entry.key)

    def _leave(self, entry: Any, now: float) -> None:
        self.bench.cursor = None

    def _blur(self, entry: Any, now: float) -> None:
        self.let_go()
