"""A plastic layer on an incline: it holds below its yield stress and flows above.

The shear stress at the bottom of a layer is rho g h sin(a), whatever the matter (Coussot, Rheometry
of Pastes, Suspensions and Granular Materials, section 5); plane shear yields at the von Mises
stress over sqrt(3) (Hill, The Mathematical Theory of Plasticity, chapter 2). Below, the surface
moves no further than elasticity lets it, rho g sin(a) h^2 / (2 mu); above it goes on. The plane is
steep and gravity grows slowly, so that neither pressure nor a bounce adds to the shear.
"""

from __future__ import annotations

import math

import numpy as np

from app.events import SetGravity
from app.validation.gate import (
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    at_least,
    at_most,
    between,
    box,
    lame,
    scene_of,
)

CELL = 0.01
FACE, DEPTH = 4.5, 10
DENSITY, YOUNG, POISSON, YIELD = 1500.0, 2.0e5, 0.35, 1000.0
ANGLE = 60.0
MARGIN = 0.10
AT_REST, FLOWING = 1.5, 3.0
"""Way of the surface over its elastic way: most of a layer at rest, least of one that flows."""


GRAVITY = YIELD / math.sqrt(3.0) / (DENSITY * DEPTH * CELL * math.sin(math.radians(ANGLE)))
"""Gravity [m/s^2] at which the bottom of the layer yields."""
RAMP, HOLD = 20, 20
"""Ticks in which gravity grows, and in which it stays."""


def scene(yield_stress: float) -> str:
    """The layer, still weightless."""
    plastic = f"""
[materials.paste]
model = "visco"
density = {DENSITY}
youngs_modulus = {YOUNG}
poissons_ratio = {POISSON}
yield_stress = {yield_stress}
viscosity = 1.0
"""
    body = (
        plastic
        + box("collider", (-4, -4), (84, FACE), 'friction = "stick"')
        + box("fill", (8, FACE), (64, FACE + DEPTH), 'material = "paste"')
    )
    return scene_of(
        "Plastic layer",
        (80, 24),
        body,
        gravity="[0, 0]",
        damping=5,
        substeps=12,
        rounds=8,
    )


def way(world: World, load: float, yield_stress: float) -> Curve:
    """Way of the middle of the surface, over its elastic way, by time [s]."""
    tilt = math.radians(ANGLE)
    with world.open(scene(yield_stress)) as simulation:
        start = simulation.positions().astype(np.float64) / CELL
        middle = (np.abs(start[:, 0] - 36) < 10) & (start[:, 1] > FACE + DEPTH - 1)
        times, ways = [], []
        for tick in range(RAMP + HOLD):
            g = load * GRAVITY * min(tick + 1, RAMP) / RAMP
            down = (g * math.sin(tilt), -g * math.cos(tilt))
            simulation.apply(SetGravity(gravity=down))
            simulation.step()
            now = simulation.positions().astype(np.float64) / CELL
            times.append(simulation.time)
            ways.append((now - start)[middle, 0].mean())
    shear, _lam = lame(YOUNG, POISSON)
    elastic = load * YIELD / math.sqrt(3.0) / DEPTH * DEPTH**2 / (2.0 * shear)
    return Curve(times, np.array(ways) / elastic)


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """A tenth below and a tenth above the load that yields; wrong: yields a quarter too early."""
    stress = YIELD * (0.75 if wrong else 1.0)
    below, above = way(world, 1 - MARGIN, stress), way(world, 1 + MARGIN, stress)
    whole = (0.0, (RAMP + HOLD) / 60)
    return Measurement(
        [
            at_most("way at 0.9 of the load", "elastic way", below.y[-1], AT_REST),
            at_least("way at 1.1 of the load", "elastic way", above.y[-1], FLOWING),
        ],
        (
            Panel(
                "time",
                "s",
                "way at 0.9 of the load",
                "elastic way",
                measured=(below,),
                theory=(Curve([0.0, RAMP / 60, whole[1]], [0.0, 1.0, 1.0]),),
                limits=(between(-np.inf, AT_REST, whole),),
                source="elastic, gravity growing",
            ),
            Panel(
                "time",
                "s",
                "way at 1.1 of the load",
                "elastic way",
                measured=(above,),
                limits=(between(FLOWING, np.inf, (whole[1] - 2 / 60, whole[1] + 2 / 60)),),
            ),
        ),
    )


GATE = Gate(
    name="bingham",
    title="Plastic layer on an incline",
    theory="rho g h sin(a) against the yield stress over sqrt(3) (Hill, chapter 2)",
    wrong="yield stress a quarter too low",
    measure=measure,
    cheap=True,
)
