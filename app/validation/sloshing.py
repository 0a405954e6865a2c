"""A liquid keeps its volume through a minute of sloshing.

A tank is shaken sideways near the period of its first mode, and calmed. The volume is geometry
alone: the room of the particles in the middle of the tank, from the number of them below a height,
against the room at rest less what the weight above compresses. Walls and surface stay out of it,
since matter at a wall is packed a little unevenly.
"""

from __future__ import annotations

import math

import numpy as np

from app.events import SetDamping, SetGravity
from app.validation.gate import Curve, Gate, Measurement, Panel, World, around, box, close, scene_of

CELL = 0.01
WIDTH, DEPTH = 28, 12
GRAVITY, BULK = 9.81, 1.0e5
SECONDS = 60
LIMIT = 0.02
CALM = 1.5
"""Time [s] in which the liquid comes to rest under strong damping."""
WALL, REGION = 5, (2.0, 9.0)
"""Width that is left out at each side, and heights between which volume is measured [cells]."""


def scene() -> str:
    """A tank, closed on all sides."""
    water = f"""
[materials.water_body]
model = "liquid"
density = 1000
bulk_modulus = {BULK}
viscosity = 0.001
"""
    body = water + box("fill", (0, 0), (WIDTH, DEPTH), 'material = "water_body"')
    return scene_of("Sloshing", (WIDTH, 32), body, edges="slip")


def volume(simulation) -> float:
    """Room of a particle in the region over its room at rest under the same weight."""
    places = simulation.positions().astype(np.float64) / CELL
    height = np.sort(places[np.abs(places[:, 0] - 0.5 * WIDTH) < 0.5 * WIDTH - WALL, 1])
    region = (height > REGION[0]) & (height < REGION[1])
    below = np.arange(len(height))
    rows = np.polyfit(height[region], below[region], 1)[0] / 4.0  # cells of matter a cell of height
    width = WIDTH - 2 * WALL
    depth = (len(height) - below[region].mean()) / (4.0 * width)
    return float(width / rows / (1.0 - 1000.0 * GRAVITY * depth * CELL / BULK))


def shaken(world: World, seconds: float) -> tuple[Curve, Curve]:
    """Largest way of the centre of mass in each second; four looks at the volume when calm."""
    wave = math.pi / (WIDTH * CELL)
    pace = math.sqrt(GRAVITY * wave * math.tanh(wave * DEPTH * CELL))
    ways, looks, volumes = [], [], []
    with world.open(scene()) as simulation:
        mass = simulation.masses()
        for tick in range(round(60 * seconds)):
            push = 0.1 * GRAVITY * math.sin(0.95 * pace * tick / 60)
            simulation.apply(SetGravity(gravity=(push, -GRAVITY)))
            simulation.step()
            if tick % 3 == 0:
                ways.append(mass @ simulation.positions()[:, 0] / mass.sum() - 0.5 * WIDTH * CELL)
        simulation.apply(SetGravity(gravity=(0.0, -GRAVITY)))
        simulation.apply(SetDamping(damping=10.0))
        simulation.step(round(60 * CALM))
        for _ in range(4):
            simulation.step(6)
            looks.append(simulation.time)
            volumes.append(volume(simulation))
    largest = np.abs(ways).reshape(-1, 20).max(1)
    return Curve(1.0 + np.arange(len(largest)), largest), Curve(looks, volumes)


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Volume after a minute (quick: after three seconds); wrong: a twentieth is missing."""
    seconds = 3 if quick or wrong else SECONDS
    way, looks = shaken(world, seconds)
    volumes = Curve(looks.x - seconds, looks.y * (0.95 if wrong else 1.0))
    kept = Curve([CALM, volumes.x[-1]], [1.0, 1.0])
    return Measurement(
        [close("volume after sloshing", "1", volumes.y.mean(), 1.0, LIMIT)],
        (
            Panel("time", "s", "largest way of the centre of mass", "m", measured=(way,)),
            Panel(
                "time after the shaking",
                "s",
                "volume",
                "1",
                measured=(volumes,),
                theory=(kept,),
                limits=(around(kept, LIMIT),),
            ),
        ),
    )


GATE = Gate(
    name="sloshing",
    title="Volume of a sloshing liquid",
    theory="conservation of volume",
    wrong="a twentieth of the volume missing, after three seconds",
    measure=measure,
)
