"""A liquid keeps its volume through a minute of sloshing.

A tank is shaken sideways near the period of its first mode, and calmed. The height of the centre of
mass of the liquid at rest, which is half its depth, is compared with that of the same liquid calmed
without being shaken.
"""

from __future__ import annotations

import math

import numpy as np

from app.events import SetDamping, SetGravity
from app.validation.gate import Check, Gate, World, at_most, box, scene_of

CELL = 0.01
WIDTH, DEPTH = 24, 10
GRAVITY = 9.81
SECONDS = 60
LIMIT = 0.02
CALM = 1.5
"""Time [s] in which the liquid comes to rest under strong damping."""


def scene(ticks_per_second: int) -> str:
    """A tank, closed on all sides."""
    water = """
[materials.water_body]
model = "liquid"
density = 1000
bulk_modulus = 1e5
viscosity = 0.001
"""
    body = water + box("fill", (0, 0), (WIDTH, DEPTH), 'material = "water_body"')
    return scene_of(
        "Sloshing",
        (WIDTH, 30),
        body,
        edges="slip",
        tick_rate=ticks_per_second,
        substeps=4,
        rounds=5,
    )


def depth(world: World, seconds: float, leak: float) -> float:
    """Twice the height of the centre of mass after shaking and calming [m].

    leak: share of the matter that is taken away afterwards (the wrong variant).
    """
    wave = math.pi / (WIDTH * CELL)
    pace = math.sqrt(GRAVITY * wave * math.tanh(wave * DEPTH * CELL))
    with world.open(scene(60)) as simulation:
        for tick in range(round(60 * seconds)):
            push = 0.1 * GRAVITY * math.sin(0.95 * pace * tick / 60)
            simulation.apply(SetGravity(gravity=(push, -GRAVITY)))
            simulation.step()
        simulation.apply(SetGravity(gravity=(0.0, -GRAVITY)))
        simulation.apply(SetDamping(damping=10.0))
        simulation.step(round(60 * CALM))
        return 2.0 * float(simulation.positions()[:, 1].mean(dtype=np.float64)) * (1.0 - leak)


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Volume lost or gained (quick: after three seconds); wrong: a thirtieth is missing."""
    seconds = 3 if quick or wrong else SECONDS
    calm = depth(world, 0.0, 0.0)
    shaken = depth(world, seconds, 1 / 30 if wrong else 0.0)
    return [at_most(f"change of volume after {seconds} s", "1", abs(shaken / calm - 1.0), LIMIT)]


GATE = Gate(
    name="sloshing",
    title="Volume of a sloshing liquid",
    theory="conservation of volume",
    wrong="a thirtieth of the volume missing",
    measure=measure,
)
