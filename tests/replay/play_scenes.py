"""Plays scenes in a process of its own: `record` makes recordings, `verify` replays them.

    python play_scenes.py record ARCH FOLDER SCENE...      writes FOLDER/<name>.mbr for each
    python play_scenes.py verify ARCH RECORDING...         prints one JSON object a recording

All scenes share the process, so the second of them runs in memory that the first has used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app import scene as scenes
from app.events import Erase, Event, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.material import MATERIAL_FIELDS
from app.recording import verify
from app.session import Session
from app.simulation import Simulation

QUIET = 6  # ticks without input, at the beginning and again after the restart
RESTART = 12
TICKS = 22


def script(scene: scenes.Scene) -> dict[int, list[Event]]:
    """Input that uses every kind of event, made to fit a scene."""
    width, height = scene.domain.size
    radius = 0.1 * min(width, height)
    name, record = next(iter(scene.materials.items()))
    field, spec = next(iter(MATERIAL_FIELDS[record.model].items()))
    value = min(1.5 * getattr(record, field), spec.maximum)
    busy = [
        [SetGravity((1.5, -7.0)), SetDamping(0.25)],
        [Paint(name, (0.5 * width, 0.6 * height), radius), SetMaterial(name, field, value)],
        [Grab((0.5 * width, 0.6 * height), (0.5, 1.0), radius)],
        [
            Erase((0.25 * width, 0.3 * height), radius),
            Push((0.7 * width, 0.2 * height), radius, 40),
        ],
    ]
    first = {QUIET + tick: events for tick, events in enumerate(busy)}
    after = {RESTART + QUIET + tick: events for tick, events in enumerate(busy)}
    return {**first, RESTART: [Restart()], **after}


def record(path: Path, scene: scenes.Scene, arch: str) -> None:
    simulation = Simulation.from_scene(scene, arch=arch)
    session = Session(simulation)
    session.start_recording(path)
    events = script(scene)
    for tick in range(TICKS):
        for event in events.get(tick, ()):
            session.emit(event)
        session.step_once()
    session.close()
    simulation.close()


def main() -> None:
    what, arch, *rest = sys.argv[1:]
    if what == "record":
        folder, *files = rest
        for file in files:
            record(Path(folder, Path(file).stem + ".mbr"), scenes.load(file), arch)
        return
    for file in rest:
        result = verify(file, arch=arch)
        print(json.dumps({"name": Path(file).stem, "code": result.code, "text": result.text}))


if __name__ == "__main__":
    main()
