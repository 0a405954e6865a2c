"""Plays scenes in a process of its own, and compares what comes of it with recordings.

    python play_scenes.py record ARCH TICKS FOLDER SCENE...     writes <name>.mbr and <name>.mbs
    python play_scenes.py compare ARCH THREADS CONDITIONS RECORDING... [-- CONDITIONS RECORDING...]
    python play_scenes.py verify ARCH RECORDING...

`compare` plays each recording under each of CONDITIONS (names with commas between) with THREADS
CPU threads (0: all) and prints a JSON object for each: how it first differs, or null. `verify`
prints one for each recording. All scenes share the process, so the second of them runs in memory
that the first has used: those that `record` plays in one of their size, those that `compare` plays
in one with room for all.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from slotless import PARTICLE_FIELDS, loaded_in_other_slots, slotless_digest

from app import scene as scenes
from app.errors import DivergenceError
from app.events import Erase, Event, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.material import MATERIAL_FIELDS
from app.recording import Replay, start_replay, verify
from app.session import Session
from app.sim import device
from app.sim.solver import Layout, Solver
from app.simulation import Simulation
from app.snapshot import Snapshot

QUIET = 6  # ticks without input, at the beginning and again after the restart
PERIOD = 60  # ticks from one burst of input to the next, in a long run
TICKS = 22  # of a short run
REHEARSAL = 40  # ticks of another life before a restart, at the most
PICTURE = (320, 200)  # pixels
OTHER = "weightless"  # the scene of a world that is to become another
LOOK_EACH = 50_000  # particles for every tick from one comparison without slots to the next


def restart_tick(ticks: int) -> int:
    """The tick of a run at whose edge the world restarts."""
    return ticks * 6 // 11


def saved_tick(name: str, ticks: int) -> int:
    """The tick of a run at whose edge the snapshot of a scene is taken: some tick, another for each
    scene, the same in every process."""
    return random.Random(name).randrange(1, ticks)


def script(scene: scenes.Scene, ticks: int) -> dict[int, list[Event]]:
    """Input that uses every kind of event, made to fit a scene: bursts, here and there, and one
    restart after which all of it comes again."""
    width, height = scene.domain.size
    radius = 0.1 * min(width, height)
    name, record = next(iter(scene.materials.items()))
    field, spec = next(iter(MATERIAL_FIELDS[record.model].items()))
    value = min(1.5 * getattr(record, field), spec.maximum)
    restart = restart_tick(ticks)
    events: dict[int, list[Event]] = {}
    for number, begin in enumerate(range(QUIET, restart, PERIOD)):
        place = ((0.5, 0.3, 0.7)[number % 3] * width, (0.6, 0.4)[number % 2] * height)
        burst = [
            [SetGravity((1.5 - number % 3, -7.0)), SetDamping(0.25 * (1 + number % 2))],
            [Paint(name, place, radius), SetMaterial(name, field, value)],
            [Grab(place, (0.5, 1.0), radius)],
            [
                Erase((0.25 * width, 0.3 * height), radius),
                Push((0.7 * width, 0.2 * height), radius, 40),
            ],
        ]
        for tick, listed in enumerate(burst, begin):
            for when in (tick, tick + restart):
                if tick < restart and when < ticks:
                    events[when] = listed
    return {**events, restart: [Restart()]}


def record(path: Path, scene: scenes.Scene, arch: str, ticks: int) -> None:
    simulation = Simulation.from_scene(scene, arch=arch)
    session = Session(simulation)
    session.start_recording(path)
    events = script(scene, ticks)
    for tick in range(ticks):
        if tick == saved_tick(path.stem, ticks):
            session.snapshot().save(path.with_suffix(".mbs"))
        for event in events.get(tick, ()):
            session.emit(event)
        session.step_once()
    session.close()
    simulation.close()


# -- conditions under which the bits must be those of the recording --------------------------------


def first_difference(
    simulation: Simulation,
    replay: Replay,
    begin: int = 0,
    after: Callable[[], None] = lambda: None,
) -> str | None:
    """The first tick from `begin` on, and the first field, that are not as recorded.

    `after` is called after every tick.
    """
    replay.rewind()
    for tick in range(begin, replay.last_step + 1):
        for event in replay.events_at(tick):
            simulation.apply(event)
        simulation.step()
        after()
        if not replay.check(tick, simulation):
            return f"tick {replay.divergence.step}: field {replay.divergence.field}"
    return None


def played(replay: Replay, arch: str) -> str | None:
    """From the beginning, in this process, with nobody recording."""
    simulation = start_replay(replay, arch=arch)
    try:
        return first_difference(simulation, replay)
    finally:
        simulation.close()


def restarted(replay: Replay, arch: str) -> str | None:
    """From a restart in the middle of another life on."""
    simulation = start_replay(replay, arch=arch)
    try:
        for tick in range(min(REHEARSAL, replay.last_step)):
            for event in replay.events_at(tick):
                simulation.apply(event)
            simulation.apply(SetGravity((0.5, -3.0)))
            simulation.step()
        simulation.apply(Restart())
        return first_difference(simulation, replay)
    finally:
        simulation.close()


def resumed(replay: Replay, arch: str) -> str | None:
    """From a snapshot of another process on, twice, taken over by a world of whatever scene."""
    begin = saved_tick(replay.path.stem, replay.last_step + 1)
    file = replay.path.with_suffix(".mbs")
    simulation = Simulation.from_scene(OTHER, arch=arch)
    try:
        simulation.step()
        for run in ("first", "second"):
            simulation.restore(Snapshot.load(file))
            difference = first_difference(simulation, replay, begin)
            if difference is not None:
                return f"{run} run from tick {begin}: {difference}"
        return None
    finally:
        simulation.close()


def heavy(replay: Replay, arch: str) -> str | None:
    """With every tick run twice from one state."""
    simulation = start_replay(replay, arch=arch)
    simulation.heavy = True
    try:
        return first_difference(simulation, replay)
    except DivergenceError as error:
        return str(error)
    finally:
        simulation.close()


def rendered(replay: Replay, arch: str) -> str | None:
    """With a picture of every tick drawn by OpenGL, and the status read."""
    from app.render.camera import Camera
    from app.render.offscreen import offscreen
    from app.render.picture import frame_of

    simulation = start_replay(replay, arch=arch)
    camera = Camera(viewport=PICTURE).fit(simulation.scene.domain.size)
    views = iter(["matter", "speed", "volume"] * (replay.last_step + 1))
    try:
        with offscreen(*PICTURE) as renderer:

            def look() -> None:
                renderer.draw(frame_of(simulation, camera, next(views)))
                simulation.status()

            return first_difference(simulation, replay, after=look)
    finally:
        simulation.close()


def scrambled(replay: Replay, arch: str) -> str | None:
    """With every particle in another slot from the load on, beside a world that plays as recorded.

    Digests count the slot in which something lies, so they cannot be equal. Compared instead, after
    every tick (of a large world: every so many, and the last): all that the state holds, particles
    as a multiset; and each particle that was loaded by itself, as long as none has left and a slot
    can have had a second tenant.
    """
    straight, other = (start_replay(replay, arch=arch) for _ in range(2))
    slots = loaded_in_other_slots(other, seed=len(replay.header.scene))
    differences: list[str] = []
    every = 1 + straight.scene.solver.capacity // LOOK_EACH

    def compare() -> None:
        one, two = straight.snapshot().arrays, other.snapshot().arrays
        if slotless_digest(one) != slotless_digest(two):
            differences.append("the matter differs")
        if straight.status().drained == 0:
            loaded = slots()
            for field in PARTICLE_FIELDS:
                values = one[field.name][: len(loaded)]
                if values.tobytes() != two[field.name][loaded].tobytes():
                    differences.append(f"field {field.name} of single particles differs")

    try:
        for tick in range(replay.last_step + 1):
            for event in replay.events_at(tick):
                straight.apply(event)
                other.apply(event)
            straight.step()
            other.step()
            if tick % every == 0 or tick == replay.last_step:
                compare()
            if not replay.check(tick, straight):
                differences.append(f"field {replay.divergence.field} is not as recorded")
            if differences:
                return f"tick {tick}: {differences[0]}"
        return None
    finally:
        straight.close()
        other.close()


CONDITIONS = {
    function.__name__: function
    for function in (played, restarted, resumed, heavy, rendered, scrambled)
}


def make_room(arch: str, files: list[str]) -> None:
    """Two solvers that hold every scene; each is compiled once, not one for every size of scene."""
    layouts = [Layout.of(scenes.load(scenes.builtin(OTHER)))]
    layouts += [Layout.of(Replay.read(file, to=1).scene()) for file in files]
    sizes = ("capacity", "tiles", "groups")
    room = Layout(*(max(getattr(layout, size) for layout in layouts) for size in sizes))
    Simulation._idle += [Solver(room, on_host=arch == "cpu") for _ in range(2)]


def compare(arch: str, names: list[str], files: list[str]) -> None:
    for file in files:
        for name in names:
            replay = Replay.read(file)
            start = time.perf_counter()
            difference = CONDITIONS[name](replay, arch)
            said = {
                "name": Path(file).stem,
                "condition": name,
                "ticks": replay.ticks,
                "difference": difference,
                "digest": replay.expected(replay.last_step),
                "seconds": round(time.perf_counter() - start, 1),
            }
            print(json.dumps(said), flush=True)


def main() -> None:
    what, arch, *rest = sys.argv[1:]
    if what == "record":
        ticks, folder, *files = rest
        for file in files:
            path = Path(folder, Path(file).stem + ".mbr")
            record(path, scenes.load(file), arch, int(ticks))
    elif what == "compare":
        threads, *rest = rest
        groups = [list(part) for dashes, part in groupby(rest, "--".__eq__) if not dashes]
        device.start(arch, threads=int(threads) or None)
        make_room(arch, [file for _, *files in groups for file in files])
        for names, *files in groups:
            compare(arch, names.split(","), files)
    else:
        for file in rest:
            result = verify(file, arch=arch)
            print(json.dumps({"name": Path(file).stem, "code": result.code, "text": result.text}))


if __name__ == "__main__":
    main()
