"""Sand on a rough plane starts to slide at its friction angle.

Infinite slope of cohesionless matter: it rests while the plane is less steep than phi and slides
above (Terzaghi, Theoretical Soil Mechanics, article 17). The middle of a shallow layer on a plane
that holds it is looked at, ten depths away from both ends, two degrees below phi and two above.

It does not hold: the layer slides below phi already. Two reasons. A cone that is matched to Mohr
and Coulomb in the plane, with a flow that keeps the volume, shears with its principal stresses at
45 degrees to the plane, where the shear stress is sin(phi), not tan(phi), of the normal one (Davis,
Theories of plasticity and the failure of soil masses, in Lee (ed.), Soil Mechanics, 1968): for 35
degrees that is 29.8. The third check holds the sliding layer against this angle. And the layer
stretches as its toe runs away, which lowers the stress along the plane and takes 1 to 2 degrees
more. More substeps, fewer, and the explicit policy give the same within 0.3 degrees.
"""

from __future__ import annotations

import math

import numpy as np

from app.validation.gate import Check, Gate, World, at_least, at_most, box, scene_of, tilted

CELL = 0.01
GRAVITY = 9.81
FRICTION_ANGLE = 35.0
DEPTH, LENGTH = 5, 100
AT_REST, SLIDING = 0.2, 1.0
"""Way [cells] in the second quarter of a second: most of one at rest, least of a sliding one."""
DEGREES = 2.0


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
    body = sand + box("fill", (0, 0), (LENGTH, DEPTH), 'material = "grains"')
    return scene_of(
        "Incline",
        (LENGTH + 20, 16),
        body,
        edges="slip",
        sides='bottom = "stick"',
        gravity=tilted(GRAVITY, angle),
        substeps=8,
        rounds=8,
    )


def slide(world: World, angle: float, friction_angle: float) -> tuple[float, float]:
    """Way [cells] and acceleration [m/s^2] of the surface in the second quarter of a second."""
    with world.open(scene(angle, friction_angle)) as simulation:
        start = simulation.positions() / CELL
        middle = np.abs(start[:, 0] - 0.45 * LENGTH) < 10
        middle &= start[:, 1] > DEPTH - 2
        simulation.step(15)
        before = simulation.positions()[middle, 0].mean(dtype=np.float64)
        speed = simulation.velocities()[middle, 0].mean(dtype=np.float64)
        simulation.step(15)
        after = simulation.positions()[middle, 0].mean(dtype=np.float64)
        gained = simulation.velocities()[middle, 0].mean(dtype=np.float64) - speed
    return float(after - before) / CELL, float(gained) / 0.25


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Both sides of the friction angle, and the angle of friction while it slides."""
    phi = FRICTION_ANGLE - (6.0 if wrong else 0.0)
    below, _acceleration = slide(world, FRICTION_ANGLE - DEGREES, phi)
    above, acceleration = slide(world, FRICTION_ANGLE + DEGREES, phi)
    tilt = math.radians(FRICTION_ANGLE + DEGREES)
    friction = math.tan(tilt) - acceleration / (GRAVITY * math.cos(tilt))
    sheared = math.degrees(math.atan(math.sin(math.radians(FRICTION_ANGLE))))
    off = abs(math.degrees(math.atan(friction)) - sheared)
    return [
        at_most(f"way at phi - {DEGREES:g} degrees", "cells", below, AT_REST),
        at_least(f"way at phi + {DEGREES:g} degrees", "cells", above, SLIDING),
        at_most("friction while sliding, off atan(sin(phi))", "degrees", off, DEGREES),
    ]


GATE = Gate(
    name="incline",
    title="Sand on a rough incline",
    theory="infinite slope (Terzaghi, article 17); Davis (1968) for the sliding layer",
    wrong="friction angle 6 degrees too low",
    measure=measure,
    cheap=True,
)
