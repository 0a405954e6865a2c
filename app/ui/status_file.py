"""The window's state for other programs: one JSON object in a file, always whole.

Keys: scene, scene_path, tick, time, steps, timeline (position, goal or null, length, horizon,
spacing, nbytes, digest, compared, equal, diverged or null, edits), paused, speed, tool, material,
brush_radius, live, free, capacity, substeps, counters, gravity, damping, frames_per_second,
ms_per_tick, simulation_speed, recording (path or null), replaying, finished (a replay), diverged
(tick or null), trouble (title or null), notices, window (width, height), pixel_ratio, domain (left,
top, right, bottom of the scene on the window, y down), places (named widgets of the panels,
likewise), panels_shown, help_shown, scenes_shown.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "MATTERBOX_STATUS_FILE"
INTERVAL = 0.2  # [s]


class StatusFile:
    """Written at most every INTERVAL, to a temporary name first; does nothing without a path."""

    def __init__(self, path: Path | None):
        self.path = path
        self._due = 0.0

    @classmethod
    def from_environment(cls) -> StatusFile:
        name = os.environ.get(VARIABLE)
        return cls(Path(name) if name else None)

    def write(self, sandbox: Any, now: float) -> None:
        if self.path is None or now < self._due:
            return
        self._due = now + INTERVAL
        temporary = self.path.with_name(self.path.name + ".new")
        try:
            temporary.write_text(json.dumps(snapshot(sandbox)), encoding="utf-8")
            os.replace(temporary, self.path)
        except OSError:
            self.path = None  # a disk that is full must not stop the world

    def close(self) -> None:
        """A closed window has no state."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def snapshot(sandbox: Any) -> dict[str, Any]:
    """The state as JSON values."""
    from app.ui.panels.widgets import state

    bench = sandbox.bench
    session, status, view = bench.session, bench.status, bench.view
    replay = session.replay if session.replaying else None
    left, bottom = sandbox._to_screen(view.pixel((0.0, 0.0)))
    right, top = sandbox._to_screen(view.pixel(view.domain))
    return {
        "scene": bench.scene.name,
        "scene_path": str(bench.scene_path) if bench.scene_path else None,
        "tick": status.tick,
        "time": status.time,
        "steps": session.simulation.steps,
        "timeline": _timeline(session),
        "paused": session.paused,
        "speed": session.speed,
        "tool": bench.tool_name,
        "material": bench.brush.material,
        "brush_radius": bench.brush.radius,
        "live": status.live,
        "free": status.free,
        "capacity": status.capacity,
        "substeps": status.substeps,
        "counters": status.counters,
        "gravity": list(bench.gravity),
        "damping": bench.damping,
        "frames_per_second": bench.frames_per_second,
        "ms_per_tick": session.ms_per_tick,
        "simulation_speed": session.simulation_speed,
        "recording": str(bench.recording_path) if session.recording else None,
        "replaying": session.replaying,
        "finished": session.finished,
        "diverged": replay.divergence.step if replay and replay.divergence else None,
        "trouble": bench.trouble.title if bench.trouble else None,
        "notices": [notice.text for notice in bench.notices],
        "window": list(sandbox.size),
        "pixel_ratio": sandbox.pixel_ratio,
        "domain": [left, top, right, bottom],
        "places": {name: list(place) for name, place in state.places.items()},
        "panels_shown": bench.panels_shown,
        "help_shown": bench.help_shown,
        "scenes_shown": bench.scenes_shown,
    }


def _timeline(session: Any) -> dict[str, Any]:
    timeline = session.timeline
    return {
        "position": timeline.position,
        "goal": session.goal,
        "length": timeline.length,
        "horizon": session.horizon,
        "spacing": timeline.spacing,
        "nbytes": timeline.nbytes,
        "digest": timeline.digest(timeline.position),
        "compared": timeline.compared,
        "equal": timeline.is_equal(timeline.position),
        "diverged": timeline.diverged,
        "edits": list(timeline.edits),
    }
