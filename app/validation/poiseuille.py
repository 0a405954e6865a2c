"""Steady flow of a viscous liquid down a slot.

Plane Poiseuille flow, driven by its weight: u = rho g (w^2 / 4 - x^2) / (2 eta), x from the middle
(Batchelor, An Introduction to Fluid Dynamics, section 4.2). A long plug between two walls that hold
it falls; the middle of it knows nothing of its ends, and the pressure is nought everywhere. The
walls' faces lie on lines of nodes.
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import (
    Band,
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    at_most,
    box,
    close,
    scene_of,
)

CELL = 0.01
WIDTH = 20
LEFT = 4.5
DENSITY, VISCOSITY, GRAVITY = 1000.0, 20.0, 0.5
LIMIT = 0.05


def scene(viscosity: float) -> str:
    """The slot, full of liquid over 60 cells."""
    right = LEFT + WIDTH
    liquid = f"""
[materials.liquid]
model = "liquid"
density = {DENSITY}
bulk_modulus = 2e4
viscosity = {viscosity}
"""
    body = (
        liquid
        + box("collider", (-4, -4), (LEFT, 104), 'friction = "stick"')
        + box("collider", (right, -4), (34, 104), 'friction = "stick"')
        + box("fill", (LEFT, 25), (right, 85), 'material = "liquid"')
    )
    return scene_of(
        "Slot", (29, 100), body, gravity=f"[0, {-GRAVITY}]", tick_rate=100, substeps=2, rounds=8
    )


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Profile across the middle of the plug; wrong: a viscosity 15 % too high."""
    with world.open(scene(VISCOSITY * (1.15 if wrong else 1.0))) as simulation:
        simulation.step(60)
        places = simulation.positions().astype(np.float64) / CELL
        speed = -simulation.velocities()[:, 1].astype(np.float64)
    middle = np.abs(places[:, 1] - 52) < 10
    x = places[middle, 0] - LEFT - 0.5 * WIDTH
    bins = np.round(x)
    lines = np.unique(bins[np.abs(bins) < 0.5 * WIDTH])
    profile = np.array([speed[middle][bins == line].mean() for line in lines])
    across = np.array([x[bins == line].mean() for line in lines]) * CELL
    factor = DENSITY * GRAVITY / (2.0 * VISCOSITY)
    peak = factor * (0.5 * WIDTH * CELL) ** 2
    expected = peak - factor * across**2
    walls = np.linspace(-0.5, 0.5, 81) * WIDTH * CELL
    parabola = Curve(walls, peak - factor * walls**2)
    reach = LIMIT * peak
    return Measurement(
        [
            at_most("profile, over its peak", "1", np.abs(profile - expected).max() / peak, LIMIT),
            close("curvature", "1/(m s)", -np.polyfit(across, profile, 2)[0], factor, LIMIT),
        ],
        (
            Panel(
                "distance from the middle",
                "m",
                "speed",
                "m/s",
                measured=(Curve(across, profile),),
                theory=(parabola,),
                limits=(Band(walls, parabola.y - reach, parabola.y + reach),),
            ),
        ),
    )


GATE = Gate(
    name="poiseuille",
    title="Viscous flow in a slot",
    theory="plane Poiseuille flow (Batchelor, section 4.2)",
    wrong="viscosity 15 % too high",
    measure=measure,
    cheap=True,
)
