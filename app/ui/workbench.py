"""What panels, tools and keys share: the session, the brush, the strokes, what is open and said.

No ImGui, no pyglet: everything that the window decides can be tried with stand-ins. The simulation
is changed only by `emit`; what is only looked at (camera, panels) changes here directly.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app import fingerprint
from app.errors import MatterboxError, SceneError
from app.events import Erase, Event, Paint, SetDamping, SetGravity, SetMaterial
from app.recording import describe
from app.ui.tools import TOOLS, Brush, Stroke, Tool
from app.ui.tools.stroke import Hand, Point
from app.ui.view import View

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
HISTORY = 180  # ticks in the time-step plot
NOTICE_SECONDS = 6.0


@dataclass
class Notice:
    """A sentence shown for a while. kind: "info", "warning" or "error"."""

    text: str
    kind: str = "info"
    until: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """Something that failed and wants to be read: a title, and a line for each fault."""

    title: str
    lines: tuple[str, ...]
    place: str = ""


class PendingEdits:
    """Values set in a panel that no tick has taken up yet.

    Events take effect at the next tick's edge, so for a frame (or while paused, for long) a slider
    would snap back to the old value. It shows the value from here until a tick has run.
    """

    def __init__(self) -> None:
        self._values: dict[Any, tuple[Any, int]] = {}

    def set(self, key: Any, value: Any, steps: int) -> None:
        self._values[key] = (value, steps)

    def shown(self, key: Any, actual: Any, steps: int) -> Any:
        """The value to show for `key` when `steps` ticks have run."""
        if key not in self._values:
            return actual
        value, since = self._values[key]
        if steps != since:
            del self._values[key]
            return actual
        return value

    def clear(self) -> None:
        self._values.clear()


@dataclass
class Workbench:
    """The state of the window, its logic, and none of its drawing."""

    view: View
    session: Any = None
    scene_path: Path | None = None
    record_path: Path = Path("session.mbr")
    snapshot_path: Path = Path("quick.mbs")
    tool_name: str = "paint"
    brush: Brush = field(default_factory=Brush)
    clock: Callable[[], float] = time.monotonic

    panels_shown: bool = True
    help_shown: bool = False
    scenes_shown: bool = False
    trouble: Trouble | None = None
    notices: list[Notice] = field(default_factory=list)

    cursor: Point | None = None  # world point under the mouse [m]; None: not over the scene
    inverted: bool = False  # Shift is held
    strokes: list[Stroke] = field(default_factory=list)
    ghosts: list[Event] = field(default_factory=list)  # painted while paused, not yet real
    edits: PendingEdits = field(default_factory=PendingEdits)
    substep_history: deque = field(default_factory=lambda: deque(maxlen=HISTORY))
    recording_since: float = 0.0
    recording_path: Path | None = None
    recorded_elsewhere: bool = False  # the replay is of another device or other code
    requests: list[tuple[str, Any]] = field(default_factory=list)  # for the window itself
    frames_per_second: float = 0.0

    # -- session -----------------------------------------------------------------------------------

    def attach(self, session: Any, scene_path: Path | None) -> None:
        """Show another session. The old one must be closed already."""
        self.session = session
        self.scene_path = scene_path
        self.strokes.clear()
        self._look_anew()
        session.held = self.held
        self.recorded_elsewhere = session.replaying and bool(
            session.replay.header.differences(describe(session.simulation))
        )
        scene = session.simulation.scene
        self.brush.fit(scene.domain.size, scene.domain.cell, self.materials)
        self.view.show(scene.domain.size, scene.camera)
        count = len(scene.warnings)
        if count:
            noun = "a warning" if count == 1 else f"{count} warnings"
            self.say(f"{scene.name}: {noun} (in the panel)", "warning")

    def _look_anew(self) -> None:
        """The world is another than a moment ago: nothing that was shown of it still holds."""
        self.ghosts.clear()
        self.edits.clear()
        self.substep_history.clear()
        self.status = self.session.simulation.status()
        self._history_steps = self.session.simulation.steps
        self._shown_moment = self._position

    @property
    def scene(self) -> Any:
        return self.session.simulation.scene

    @property
    def materials(self) -> list[str]:
        return list(self.session.simulation.materials)

    @property
    def tool(self) -> Tool:
        return TOOLS[self.tool_name]

    @property
    def editable(self) -> bool:
        """Whether the world takes input; a replay does not."""
        return self.session is not None and not self.session.replaying

    def emit(self, event: Event) -> bool:
        return self.session.emit(event)

    # -- edits of the panels -----------------------------------------------------------------------

    @property
    def gravity(self) -> tuple[float, float]:
        """Gravity as edited [m/s^2]."""
        return self._shown("gravity", tuple(self.session.simulation.environment.gravity))

    @property
    def damping(self) -> float:
        """Damping as edited [1/s]."""
        return self._shown("damping", self.session.simulation.environment.damping)

    def material_value(self, material: str, name: str) -> float:
        """A field of a material record as edited, in the record's unit."""
        actual = getattr(self.session.simulation.materials[material], name)
        return self._shown((material, name), actual)

    def set_gravity(self, gravity: tuple[float, float]) -> None:
        self._edit("gravity", gravity, self.gravity, SetGravity(gravity))

    def set_damping(self, damping: float) -> None:
        self._edit("damping", damping, self.damping, SetDamping(damping))

    def set_material(self, material: str, name: str, value: float) -> None:
        old = self.material_value(material, name)
        self._edit((material, name), value, old, SetMaterial(material, name, value))

    def _shown(self, key: Any, actual: Any) -> Any:
        return self.edits.shown(key, actual, self.session.simulation.steps)

    def _edit(self, key: Any, value: Any, old: Any, event: Event) -> None:
        if value != old and self.emit(event):
            self.edits.set(key, value, self.session.simulation.steps)

    # -- strokes -----------------------------------------------------------------------------------

    def begin_stroke(self, point: Point, *, erase: bool = False) -> Stroke | None:
        """A mouse button went down over the scene. None when the world takes no input."""
        if not self.editable:
            self.say("A replay takes no input; open the scene to play with it.")
            return None
        stroke = TOOLS["erase" if erase else self.tool_name].begin(point)
        self.strokes.append(stroke)
        return stroke

    @property
    def hand(self) -> Hand:
        solver, cell = self.scene.solver, self.scene.domain.cell
        return Hand(
            seconds=1.0 / solver.tick_rate,
            reach=cell * solver.tick_rate * solver.max_substeps,
            inverted=self.inverted,
        )

    def held(self) -> list[Event]:
        """The events of held buttons for one tick; the session asks before each."""
        hand = self.hand
        events = [event for stroke in self.strokes for event in stroke.events(self.brush, hand)]
        self.strokes = [stroke for stroke in self.strokes if not stroke.finished]
        return events

    def draw_while_paused(self) -> None:
        """Without ticks nobody asks `held`: what is painted and erased waits for the next tick."""
        hand = self.hand
        resting = Hand(hand.seconds, hand.reach, hand.inverted, resting=True)
        for stroke in self.strokes:
            for event in stroke.events(self.brush, resting):
                if self.emit(event) and isinstance(event, Paint | Erase):
                    self.ghosts.append(event)
        # A push or a grab that is over before a tick ran has nothing to wait for.
        self.strokes = [
            stroke
            for stroke in self.strokes
            if not stroke.finished and not (stroke.released and not stroke.used)
        ]

    def after_ticks(self, ticks: int) -> None:
        """Once a frame, after the session advanced: read the state that panels will show."""
        steps = self.session.simulation.steps
        if self._position is not None and self._position != self._shown_moment + ticks:
            self._look_anew()
        self._shown_moment = self._position
        if steps != self._history_steps:
            # Reading waits for the device, so a world at rest is not read again.
            before = self.status.counters.get("nonfinite_removed", 0)
            self.status = self.session.simulation.status()
            self.stop_at_nonfinite(before)
            self.ghosts.clear()
            self._history_steps = steps
            self.substep_history.append((self.status.substeps, self.status.required_substeps))
        if ticks == 0 and self.session.paused and self.strokes:
            self.draw_while_paused()
        notice = getattr(self.session, "notice", None)
        if notice:
            self.session.notice = None
            self.say(notice, "warning")
        if self.recording_path is not None and not self.session.recording:
            self.recording_path = None

    def stop_at_nonfinite(self, before: int) -> None:
        """Pause where more particles became no number than `before`: what led to it is at hand."""
        removed = self.status.counters.get("nonfinite_removed", 0) - before
        if removed <= 0:
            return
        self.session.paused = True
        noun = "particle was" if removed == 1 else "particles were"
        first = ""
        if before == 0 and self.status.nonfinite:
            slot, fields = self.status.nonfinite
            first = f" (first in slot {slot}: {', '.join(fields)})"
        self.say(
            f"Paused: {removed} {noun} no number by tick {self.status.tick} and removed{first}",
            "error",
        )

    # -- actions -----------------------------------------------------------------------------------

    def act(self, action: str) -> None:
        """Do what a key binding, a menu or a button names."""
        getattr(self, f"do_{action}", lambda: self.requests.append((action, None)))()

    def do_pause(self) -> None:
        self.session.paused = not self.session.paused

    def do_step(self) -> None:
        """One tick; the first press pauses, so that the key alone can walk through time."""
        self.session.paused = True
        timeline = self.session.timeline
        if timeline is not None and self.moment < timeline.length and not self.session.waiting:
            self._go_to(self.moment + 1)  # what is known is looked at, not begun anew
            return
        if not self.session.step_once() and self.session.replaying:
            self.say("The recording has no further tick.")
        self.after_ticks(1)

    def do_back(self) -> None:
        """One tick back in the timeline."""
        if self.session.timeline is None:
            return
        if self.moment == 0:
            self.say("The timeline begins here.")
        else:
            self._go_to(self.moment - 1)

    def do_undo(self) -> None:
        """To the moment before the last stroke or edit; what still waits is dropped first."""
        if self._without_edits():
            return
        if self.session.waiting:
            self.session.drop_waiting()
            self._look_anew()
            return
        before = [moment for moment in self.session.timeline.edits if moment < self.moment]
        if before:
            self._go_to(before[-1])
        else:
            self.say("There is nothing to undo.")

    def do_redo(self) -> None:
        """On to the moment before the next stroke or edit, or to the last one that is known."""
        if self._without_edits():
            return
        timeline = self.session.timeline
        if self.moment == timeline.length:
            self.say("There is nothing to redo.")
            return
        self._go_to(next((m for m in timeline.edits if m > self.moment), timeline.length))

    def _without_edits(self) -> bool:
        if self.session.replaying:
            self.say("A replay cannot be edited, so there is nothing to undo: drag its timeline.")
        return self.session.replaying or self.session.timeline is None

    def scrub(self, moment: int) -> None:
        """The timeline is held at a moment; the world goes there, frame by frame if it is far."""
        if moment != self.moment or self.session.goal is not None:
            self._go_to(moment)

    @property
    def moment(self) -> int:
        """The moment that is shown, or that the world is on the way to."""
        goal = self.session.goal
        return self.session.timeline.position if goal is None else goal

    @property
    def _position(self) -> int | None:
        timeline = self.session.timeline
        return None if timeline is None else timeline.position

    def _go_to(self, moment: int) -> None:
        self.session.paused = True
        if moment != self.session.goal:
            self.session.head_for(moment)
            self.ghosts.clear()
            self.edits.clear()
            self.strokes.clear()

    def do_restart(self) -> None:
        self.ghosts.clear()
        self.edits.clear()
        self.substep_history.clear()
        self.session.restart()

    def do_save(self) -> None:
        """Keep this moment in a file; the last one saved is replaced."""
        try:
            path = self.session.snapshot().save(self.snapshot_path)
        except MatterboxError as error:
            self.say(str(error), "error")
            return
        self.say(f"Saved: {path} (F9 comes back here)", "good")

    def do_load(self) -> None:
        """Back to the moment saved last; the window opens one of another scene."""
        from app.snapshot import Snapshot

        if not self.editable:
            self.say("A replay takes no input; open the scene to load into it.")
            return
        try:
            snapshot = Snapshot.load(self.snapshot_path)
            if snapshot.scene != self.scene:
                self.requests.append(("resume", snapshot))
                return
            self.stop_recording()
            self.session.restore(snapshot)
        except MatterboxError as error:
            self.say(str(error), "error")
            return
        self._look_anew()
        self.say_loaded(snapshot)

    def say_loaded(self, snapshot: Any) -> None:
        """What was loaded, and whether it may go on with other bits here."""
        elsewhere = snapshot.differences_here(fingerprint.of(self.session.simulation))
        if elsewhere:
            self.say(f"Loaded, and made elsewhere: {'; '.join(elsewhere)}", "warning")
        else:
            self.say(f"Loaded: tick {snapshot.tick}", "good")

    def do_slower(self) -> None:
        self.set_speed(max((s for s in SPEEDS if s < self.session.speed - 1e-9), default=SPEEDS[0]))

    def do_faster(self) -> None:
        self.set_speed(
            min((s for s in SPEEDS if s > self.session.speed + 1e-9), default=SPEEDS[-1])
        )

    def set_speed(self, speed: float) -> None:
        self.session.speed = speed

    def do_record(self) -> None:
        if self.session.recording:
            self.stop_recording()
        elif self.session.replaying:
            self.say("A replay is a recording already.", "warning")
        else:
            self.start_recording(unused_path(self.record_path))

    def start_recording(self, path: Path) -> None:
        try:
            self.session.start_recording(path)
        except (MatterboxError, OSError) as error:
            self.say(f"Not recording: {error}", "error")
            return
        self.recording_path = path
        self.recording_since = self.clock()

    def stop_recording(self) -> None:
        """Finish the recording, if one is running; says where it went."""
        if not self.session.recording:
            return
        path, self.recording_path = self.recording_path, None
        try:
            path = self.session.stop_recording() or path
        except (MatterboxError, OSError) as error:
            self.say(str(error), "error")
            return
        self.say(f"Recording saved: {path}", "good")

    def do_tool_grab(self) -> None:
        self.tool_name = "grab"

    def do_tool_push(self) -> None:
        self.tool_name = "push"

    def do_tool_paint(self) -> None:
        self.tool_name = "paint"

    def do_tool_erase(self) -> None:
        self.tool_name = "erase"

    def do_brush_smaller(self) -> None:
        self.brush.resize(-1)

    def do_brush_larger(self) -> None:
        self.brush.resize(1)

    def do_material_next(self) -> None:
        self.brush.next_material(self.materials)
        self.tool_name = "paint"

    def do_material_previous(self) -> None:
        self.brush.next_material(self.materials, -1)
        self.tool_name = "paint"

    def do_zoom_in(self) -> None:
        self.view.zoom(1.0)

    def do_zoom_out(self) -> None:
        self.view.zoom(-1.0)

    def do_fit(self) -> None:
        self.view.fit()

    def do_pan_left(self) -> None:
        self.view.pan_by_key(-1, 0)

    def do_pan_right(self) -> None:
        self.view.pan_by_key(1, 0)

    def do_pan_up(self) -> None:
        self.view.pan_by_key(0, 1)

    def do_pan_down(self) -> None:
        self.view.pan_by_key(0, -1)

    def do_panels(self) -> None:
        self.panels_shown = not self.panels_shown
        if not self.panels_shown:
            self.say("H shows the panels again")

    def do_help(self) -> None:
        self.help_shown = not self.help_shown

    def do_scenes(self) -> None:
        self.scenes_shown = not self.scenes_shown

    def do_dismiss(self) -> None:
        """Close what lies on top: trouble, help, scene menu, then the first notice."""
        if self.trouble is not None:
            self.trouble = None
        elif self.help_shown:
            self.help_shown = False
        elif self.scenes_shown:
            self.scenes_shown = False
        elif self.notices:
            self.notices.pop(0)

    def open_scene(self, path: Path) -> None:
        """Ask the window to open a scene file."""
        self.scenes_shown = False
        self.requests.append(("open", path))

    # -- saying things -----------------------------------------------------------------------------

    def say(self, text: str, kind: str = "info") -> None:
        """Show a sentence for some seconds; the same sentence twice is shown once, longer."""
        self.notices = [notice for notice in self.notices if notice.text != text]
        until = self.clock() + NOTICE_SECONDS * (2 if kind in ("error", "warning") else 1)
        self.notices.append(Notice(text, kind, until))
        del self.notices[:-4]

    def live_notices(self) -> list[Notice]:
        now = self.clock()
        self.notices = [notice for notice in self.notices if notice.until > now]
        return self.notices

    def report(self, error: Exception, title: str, place: str = "") -> None:
        """Show an error as a panel to read, in its own words."""
        lines = (
            tuple(str(fault) for fault in error.faults)
            if isinstance(error, SceneError)
            else tuple(str(error).splitlines())
        )
        self.trouble = Trouble(title, lines or (type(error).__name__,), place)


def unused_path(path: Path) -> Path:
    """`path`, or the first of path-2, path-3 ... that does not exist: nothing is overwritten."""
    number = 1
    candidate = path
    while candidate.exists() or candidate.with_name(candidate.name + ".part").exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate
