"""Plays scenes in a process of its own: `record` makes recordings, `verify` replays them.

    python play_scenes.py record ARCH FOLDER SCENE...      writes <name>.mbr and <name>.mbs
    python play_scenes.py verify ARCH RECORDING...         prints one JSON object a recording
    python play_scenes.py resume ARCH SNAPSHOT...          the same, of what follows a snapshot

All scenes share the process, so the second of them runs in memory that the first has used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app import scene as scenes
from app.errors import DivergenceError
from app.events import Erase, Event, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.material import MATERIAL_FIELDS
from app.recording import Replay, verify
from app.session import Session
from app.simulation import Simulation
from app.snapshot import Snapshot

QUIET = 6  # ticks without input, at the beginning and again after the restart
SAVED = 9  # in the middle of the input
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
        if tick == SAVED:
            session.snapshot().save(path.with_suffix(".mbs"))
        for event in events.get(tick, ()):
            session.emit(event)
        session.step_once()
    session.close()
    simulation.close()


def first_difference(simulation: Simulation, replay: Replay) -> str | None:
    """The first tick and field, from SAVED on, that are not as recorded."""
    events = script(simulation.scene)
    for tick in range(SAVED, TICKS):
        for event in events.get(tick, ()):
            simulation.apply(event)
        simulation.step()
        if not replay.check(tick, simulation):
            return str(replay.divergence)
    return None


def resume(path: Path, simulation: Simulation) -> list[str | None]:
    """How each of two runs from one snapshot differs from the recording beside it."""
    runs = []
    for _ in range(2):
        simulation.restore(Snapshot.load(path))
        runs.append(first_difference(simulation, Replay.read(path.with_suffix(".mbr"))))
    return runs


def heavy(simulation: Simulation) -> str | None:
    """What heavy mode finds in two ticks."""
    simulation.heavy = True
    try:
        simulation.step(2)
    except DivergenceError as error:
        return str(error)
    finally:
        simulation.heavy = False
    return None


def main() -> None:
    what, arch, *rest = sys.argv[1:]
    if what == "record":
        folder, *files = rest
        for file in files:
            record(Path(folder, Path(file).stem + ".mbr"), scenes.load(file), arch)
        return
    if what == "resume":
        # One world takes over scene after scene, each of another size and method.
        simulation = Simulation.from_snapshot(rest[0], arch=arch)
        for file in rest:
            runs = resume(Path(file), simulation)
            said = {"name": Path(file).stem, "runs": runs, "heavy": heavy(simulation)}
            print(json.dumps(said))
        return
    for file in rest:
        result = verify(file, arch=arch)
        print(json.dumps({"name": Path(file).stem, "code": result.code, "text": result.text}))


if __name__ == "__main__":
    main()
