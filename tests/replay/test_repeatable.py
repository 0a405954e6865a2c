"""Contract: the same scene, seed and events make the same bits, every tick and every field.

Whatever ran before in the process, in however roomy a solver, beside whatever other world, with one
CPU thread or two, in this process or a fresh one, after a restart as after a start. Another seed
makes other bits.

Caught: a solver taken over from another world kept what liquids had left on the grid; digests of
the free list depended on the solver's room.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from simulations import CELL, box, fill, scene, shape, simulate

from app.events import Erase, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.scene import dumps

TICKS = 24
ROOT = Path(__file__).parents[2]


def everything(**keys):
    """Every material, an emitter, a drain, a moving and a round collider, friction and stick."""
    plough = [
        {"time": 0.0, "center": [0.05, 0.03], "angle": 0.0},
        {"time": 0.3, "center": [0.3, 0.05], "angle": 20.0},
    ]
    return scene(
        fill((4, 20), (16, 32), "water", velocity=(0.5, -1.0)),
        fill((18, 20), (28, 30), "jelly", angular_velocity=6.0),
        fill((30, 20), (40, 30), "sand"),
        fill((42, 20), (52, 30), "putty", velocity=(-0.5, -1.0)),
        shape("emitter", "box", **box((30, 50), (40, 56)), material="water", rate=0.05, speed=1.0),
        shape("drain", "circle", center=(0.5, 0.02), radius=0.03),
        shape("collider", "box", **box((3, 1), (7, 5)), friction=0.3, motion={"keyframes": plough}),
        shape("collider", "circle", center=(0.3, 0.12), radius=0.04, friction="stick"),
        edges={"left": "slip", "right": 0.4, "bottom": "stick", "top": "open"},
        **keys,
    )


def press(sim):
    """A session's worth of events."""
    center = (0.3, 0.2)
    script = {
        2: [SetGravity((1.0, -9.0)), Paint("sand", center, 0.04)],
        5: [Erase((0.1, 0.1), 0.05), Grab(center, (1.0, 0.5), 0.1)],
        8: [Push(center, 0.15, 60.0), SetMaterial("jelly", "youngs_modulus", 1e4)],
        12: [SetDamping(0.5), Paint("water", (0.1, 0.5), 0.03)],
    }
    for event in script.get(sim.tick, ()):
        sim.apply(event)


def played(sim, ticks=TICKS):
    """Digests after every tick."""
    made = []
    for _ in range(ticks):
        press(sim)
        sim.step(1)
        made.append(sim.digests())
    return made


def first_difference(one, other):
    for tick, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b:
            return tick, [name for name in a if a[name] != b[name]]
    return None


@pytest.fixture
def digests(world):
    return played(world(everything()))


def test_a_solver_taken_over_leaves_no_trace(world, digests):
    """Before: a pool of liquid and a heap over the whole domain, stopped in the middle."""
    sim = world(
        scene(fill((0, 0), (64, 20), "honey"), cells=(64, 64), gravity=(3.0, -3.0), min_substeps=7)
    )
    sim.apply(Grab((0.3, 0.1), (1.0, 1.0), 0.2))
    sim.step(3)
    sim.apply(Push((0.3, 0.1), 0.2, 500.0))
    assert first_difference(played(world(everything())), digests) is None


def test_restart_is_a_start(world, digests):
    sim = world(everything())
    sim.step(7)
    sim.apply(Restart())
    sim.step(1)
    assert sim.tick == 1 and sim.steps == 8
    assert sim.digests() == digests[0]
    sim.apply(Restart())
    sim.step(1)
    rest = []
    for _ in range(TICKS - 1):
        press(sim)
        sim.step(1)
        rest.append(sim.digests())
    assert first_difference(rest, digests[1:]) is None


def test_two_worlds_side_by_side_do_not_meet(digests):
    """One tick each in turn; the other world differs in everything that is set per scene."""
    mine = simulate(everything())
    other = simulate(
        scene(
            fill((0, 0), (64, 12), "honey"),
            shape("collider", "box", **box((20, 5), (30, 9))),
            gravity=(-3.0, 2.0),
            damping=3.0,
            min_substeps=5,
            max_substeps=9,
            method="classic",
            edges="stick",
        )
    )
    try:
        made = []
        for _ in range(TICKS):
            other.step(1)
            press(mine)
            mine.step(1)
            made.append(mine.digests())
    finally:
        mine.close()
        other.close()
    assert first_difference(made, digests) is None


def test_the_seed_matters(world, digests):
    assert played(world(everything(), seed=0), 3) == digests[:3]
    other = played(world(everything(), seed=1), 3)
    assert other[0]["x"] != digests[0]["x"]
    assert played(world(everything(seed=1)), 3) == other


FRESH = """
import json, sys
sys.path[:0] = {paths!r}
from app.sim import device
device.start("cpu", threads={threads})
from app import Simulation
from app.scene import loads
from test_repeatable import played
print(json.dumps(played(Simulation.from_scene(loads(sys.stdin.read()), arch="cpu"))))
"""


def test_a_fresh_process_with_another_number_of_threads(digests):
    """One thread there, as many as there are cores here (or the other way round)."""
    threads = 1 if (os.cpu_count() or 1) > 1 else 2
    paths = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/replay")]
    answer = subprocess.run(
        [sys.executable, "-c", FRESH.format(paths=paths, threads=threads)],
        input=dumps(everything()),
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr
    assert first_difference(json.loads(answer.stdout), digests) is None


def test_another_scene_would_be_seen(world, digests):
    """The comparison above has teeth: a grain of gravity more, a cell of size more, are seen."""
    assert first_difference(played(world(everything(gravity=(0.0, -9.8101))), 2), digests[:2])
    assert CELL == 0.01
