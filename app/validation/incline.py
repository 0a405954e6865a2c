"""Sand on a rough plane starts to slide at its friction angle.

Infinite slope of cohesionless matter: it rests while the plane is less steep than phi and slides
above (Terzaghi, Theoretical Soil Mechanics, article 17). A layer on a plane that holds it is looked
at in its middle, away from both ends, two degrees below and two degrees above.
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import Check, Gate, World, at_least, at_most, box, scene_of, tilted

CELL = 0.01
FRICTION_ANGLE = 35.0
DEPTH = 8
AT_REST, SLIDING = 0.2, 1.0
"""Way [cells] in the second quarter of a second: most of one at rest, least of a sliding one."""


def scene(angle: float, friction_angle: float) -> str:
    """A layer on a plane tilted by `angle`."""
    sand = f"""
[materials.grains]
model = "sand"
density = 1600
youngs_modulus = 2e5
poissons_ratio = 0.3
friction_angle = {friction_angle}
"""
    body = sand + box("fill", (0, 0), (70, DEPTH), 'material = "grains"')
    return scene_of(
        "Incline",
        (100, 24),
        body,
        edges="slip",
        sides='bottom = "stick"',
        gravity=tilted(9.81, angle),
        substeps=6,
        rounds=8,
    )


def travel(world: World, angle: float, friction_angle: float) -> float:
    """Way of the middle of the surface in the second quarter of a second [cells]."""
    with world.open(scene(angle, friction_angle)) as simulation:
        start = simulation.positions() / CELL
        middle = (start[:, 0] > 20) & (start[:, 0] < 40) & (start[:, 1] > DEPTH - 2)
        simulation.step(15)
        before = simulation.positions()[middle, 0].mean(dtype=np.float64)
        simulation.step(15)
        after = simulation.positions()[middle, 0].mean(dtype=np.float64)
    return float(after - before) / CELL


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Both sides of the friction angle; wrong: a friction angle 4 degrees too low."""
    phi = FRICTION_ANGLE - (4.0 if wrong else 0.0)
    below = travel(world, FRICTION_ANGLE - 2.0, phi)
    above = travel(world, FRICTION_ANGLE + 2.0, phi)
    return [
        at_most("way at phi - 2 degrees", "cells", below, AT_REST),
        at_least("way at phi + 2 degrees", "cells", above, SLIDING),
    ]


GATE = Gate(
    name="incline",
    title="Sand on a rough incline",
    theory="infinite slope (Terzaghi, article 17)",
    wrong="friction angle 4 degrees too low",
    measure=measure,
    cheap=True,
)
