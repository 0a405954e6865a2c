"""Bodies of two groups: they touch, rub, and part without a bond.

Parting: a block rests on another that is clamped; gravity is then turned upward, and the block must
leave with the acceleration g of a free body (what was pressed together gives it a little speed to
start with). Rubbing: gravity is tilted beyond the angle of friction; Coulomb's law gives the block
the acceleration g (sin a - mu cos a).
"""

from __future__ import annotations

import math

import numpy as np

from app.events import SetGravity
from app.simulation import Simulation
from app.validation.gate import (
    Check,
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    around,
    box,
    close,
    elastic,
    scene_of,
    tilted,
)

CELL = 0.01
FRICTION, ANGLE = 0.3, 30.0
GRAVITY = 9.81
LIMIT, BOND_LIMIT = 0.10, 0.05
REST = 30
"""Ticks in which the blocks come to rest on each other."""


def scene(gravity: str, friction: float, group: int, gap: float) -> str:
    """A clamped block with another one `gap` cells above it."""
    body = (
        elastic("jelly", 1e5, 0.3)
        + box("collider", (-4, -4), (94, 6), 'friction = "stick"')
        + box("fill", (4, 3), (86, 12), 'material = "jelly"')
        + box("fill", (10, 12 + gap), (30, 18 + gap), f'material = "jelly"\ngroup = {group}')
    )
    return scene_of(
        "Bodies",
        (90, 50),
        body,
        gravity=gravity,
        substeps=12,
        rounds=8,
        solver=f"body_friction = {friction}",
    )


def parting(world: World, group: int) -> tuple[Check, Panel]:
    """Acceleration of the upper block once gravity pulls it off, after the first rebound."""
    with world.open(scene(f"[0, {-GRAVITY}]", FRICTION, group, 1)) as simulation:
        upper = simulation.positions()[:, 1] > 12.5 * CELL
        simulation.step(REST)
        simulation.apply(SetGravity(gravity=(0.0, GRAVITY)))
        simulation.step(3)
        speeds = speeds_of(simulation, upper, 1, 7)
    measured = (speeds[-1] - speeds[0]) * 60 / 7
    return (
        close("acceleration when pulled apart", "m/s^2", measured, GRAVITY, BOND_LIMIT),
        gains("speed gained when pulled apart", speeds, GRAVITY, BOND_LIMIT),
    )


def rubbing(world: World, friction: float) -> tuple[Check, Panel]:
    """Coefficient of friction from the block's acceleration."""
    with world.open(scene(tilted(GRAVITY, ANGLE), friction, 1, 0)) as simulation:
        upper = simulation.positions()[:, 1] > 12.0 * CELL
        simulation.step(4)
        speeds = speeds_of(simulation, upper, 0, 12)
    acceleration = (speeds[-1] - speeds[0]) / (12 / 60)
    angle = math.radians(ANGLE)
    measured = (GRAVITY * math.sin(angle) - acceleration) / (GRAVITY * math.cos(angle))
    slides = GRAVITY * (math.sin(angle) - FRICTION * math.cos(angle))
    # The limit is one of friction; of the acceleration it is this share.
    limit = LIMIT * FRICTION * GRAVITY * math.cos(angle) / slides
    return (
        close("friction between groups", "1", measured, FRICTION, LIMIT),
        gains("speed gained while rubbing", speeds, slides, limit),
    )


def speeds_of(simulation: Simulation, which: np.ndarray, axis: int, ticks: int) -> np.ndarray:
    """Mean velocity [m/s] of some particles along an axis, now and after each of the ticks."""
    speeds = [simulation.velocities()[which, axis].mean(dtype=np.float64)]
    for _ in range(ticks):
        simulation.step()
        speeds.append(simulation.velocities()[which, axis].mean(dtype=np.float64))
    return np.array(speeds)


def gains(what: str, speeds: np.ndarray, acceleration: float, limit: float) -> Panel:
    """Speed gained tick by tick beside that of a uniform acceleration."""
    time = np.arange(len(speeds)) / 60
    theory = Curve(time, acceleration * time)
    return Panel(
        "time",
        "s",
        what,
        "m/s",
        measured=(Curve(time, speeds - speeds[0]),),
        theory=(theory,),
        limits=(around(theory, limit),),
    )


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Both; wrong: one group (they weld), and friction of 0.2."""
    parted, parting_panel = parting(world, 0 if wrong else 1)
    rubbed, rubbing_panel = rubbing(world, 0.2 if wrong else FRICTION)
    return Measurement([parted, rubbed], (parting_panel, rubbing_panel))


GATE = Gate(
    name="bodies",
    title="Two bodies in groups of their own",
    theory="free fall after parting; Coulomb friction",
    wrong="both in one group; friction 0.2 in place of 0.3",
    measure=measure,
    cheap=True,
)
