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
from app.validation.gate import Check, Gate, World, box, close, elastic, scene_of, tilted

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


def parting(world: World, group: int) -> Check:
    """Acceleration of the upper block once gravity pulls it off, after the first rebound."""
    with world.open(scene(f"[0, {-GRAVITY}]", FRICTION, group, 1)) as simulation:
        upper = simulation.positions()[:, 1] > 12.5 * CELL
        simulation.step(REST)
        simulation.apply(SetGravity(gravity=(0.0, GRAVITY)))
        simulation.step(3)
        before = simulation.velocities()[upper, 1].mean(dtype=np.float64)
        simulation.step(7)
        gained = simulation.velocities()[upper, 1].mean(dtype=np.float64) - before
    return close("acceleration when pulled apart", "m/s^2", gained * 60 / 7, GRAVITY, BOND_LIMIT)


def rubbing(world: World, friction: float) -> Check:
    """Coefficient of friction from the block's acceleration."""
    with world.open(scene(tilted(GRAVITY, ANGLE), friction, 1, 0)) as simulation:
        upper = simulation.positions()[:, 1] > 12.0 * CELL
        speeds = []
        for _ in range(4):
            simulation.step(4)
            speeds.append(simulation.velocities()[upper, 0].mean(dtype=np.float64))
    acceleration = (speeds[-1] - speeds[0]) / (12 / 60)
    angle = math.radians(ANGLE)
    measured = (GRAVITY * math.sin(angle) - acceleration) / (GRAVITY * math.cos(angle))
    return close("friction between groups", "1", measured, FRICTION, LIMIT)


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Both; wrong: one group (they weld), and friction of 0.2."""
    return [parting(world, 0 if wrong else 1), rubbing(world, 0.2 if wrong else FRICTION)]


GATE = Gate(
    name="bodies",
    title="Two bodies in groups of their own",
    theory="free fall after parting; Coulomb friction",
    wrong="both in one group; friction 0.2 in place of 0.3",
    measure=measure,
    cheap=True,
)
