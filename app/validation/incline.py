"""Sand on a rough plane starts to slide at its friction angle.

Infinite slope of cohesionless matter: it rests while the plane is less steep than phi and slides
above (Terzaghi, Theoretical Soil Mechanics, article 17). The middle of a shallow layer on a plane
that holds it is looked at, ten depths and more away from both ends, two degrees below phi and two
above.

A layer has a foot, an infinite slope has none. Left open, the foot falls back until its own face
is no steeper than phi; two degrees below phi that takes 1 / tan(2 degrees), 29 depths, more than
the layer is long, and the middle moves though its slope is stable. Below phi the layer therefore
ends at a wall. The wall can hold a layer that is too steep (it holds one 2 degrees above phi), so
it is not there above phi, where the middle must go at least as far as gravity less tan(phi) takes
it.

The third check tells two degrees on both sides: the friction of a layer that slides, on a plane
eight degrees steeper and within a quarter of a second, is gravity along the plane less the
acceleration of its surface, over gravity across.
"""

from __future__ import annotations

import math

import numpy as np

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
    scene_of,
    tilted,
)

CELL = 0.01
GRAVITY = 9.81
FRICTION_ANGLE = 35.0
DEPTH, WALLED, OPEN, MIDDLE = 5, 120, 100, 50
AT_REST = 0.2
"""Most that a layer at rest may go in the second quarter of a second [cells]."""
DEGREES, STEEPER = 2.0, 8.0


def scene(angle: float, friction_angle: float, length: int) -> str:
    """A layer of `length` cells on a plane tilted by `angle`; 120 cells reach to the wall."""
    sand = f"""
[materials.grains]
model = "sand"
density = 1600
youngs_modulus = 2e5
poissons_ratio = 0.3
friction_angle = {friction_angle}
"""
    return scene_of(
        "Incline",
        (WALLED, 16),
        sand + box("fill", (0, 0), (length, DEPTH), 'material = "grains"'),
        edges="slip",
        sides='bottom = "stick"',
        gravity=tilted(GRAVITY, angle),
        substeps=16,
        rounds=8,
    )


def way(world: World, angle: float, friction_angle: float, length: int) -> float:
    """Way [cells] of the surface in the second quarter of a second."""
    with world.open(scene(angle, friction_angle, length)) as simulation:
        surface = _surface(simulation)
        simulation.step(15)
        before = simulation.positions()[surface, 0].mean(dtype=np.float64)
        simulation.step(15)
        after = simulation.positions()[surface, 0].mean(dtype=np.float64)
    return float(after - before) / CELL


def friction(world: World, angle: float, friction_angle: float) -> float:
    """Angle of friction [degrees] of a sliding layer."""
    with world.open(scene(angle, friction_angle, OPEN)) as simulation:
        surface = _surface(simulation)
        simulation.step(3)
        before = simulation.velocities()[surface, 0].mean(dtype=np.float64)
        simulation.step(12)
        gained = simulation.velocities()[surface, 0].mean(dtype=np.float64) - before
    tilt = math.radians(angle)
    acceleration = float(gained) / (12 / 60)
    return math.degrees(math.atan(math.tan(tilt) - acceleration / (GRAVITY * math.cos(tilt))))


def _surface(simulation) -> np.ndarray:
    places = simulation.positions() / CELL
    return (np.abs(places[:, 0] - MIDDLE) < 10) & (places[:, 1] > DEPTH - 2)


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Both sides of the friction angle, and the angle of friction while it slides."""
    phi = FRICTION_ANGLE - (6.0 if wrong else 0.0)
    below = way(world, FRICTION_ANGLE - DEGREES, phi, WALLED)
    above = way(world, FRICTION_ANGLE + DEGREES, phi, OPEN)
    sliding = free_way(FRICTION_ANGLE + DEGREES)
    rubbed = friction(world, FRICTION_ANGLE + STEEPER, phi)
    off = abs(rubbed - FRICTION_ANGLE)
    checks = [
        at_most(f"way at phi - {DEGREES:g} degrees", "cells", below, AT_REST),
        at_least(f"way at phi + {DEGREES:g} degrees", "cells", above, sliding),
        at_most("friction while sliding, off phi", "degrees", off, DEGREES),
    ]
    return Measurement(checks, panels([below, above], rubbed))


def free_way(angle: float) -> float:
    """Way [cells] in the second quarter of a second by gravity less tan(phi) on a slope."""
    tilt = math.radians(angle)
    pull = math.sin(tilt) - math.cos(tilt) * math.tan(math.radians(FRICTION_ANGLE))
    return 0.5 * GRAVITY * max(pull, 0.0) * (0.5**2 - 0.25**2) / CELL


def panels(ways: list[float], rubbed: float) -> tuple[Panel, ...]:
    """Ways below and above phi by slope, and the angle of friction of the layer that slides."""
    phi, steep = FRICTION_ANGLE, FRICTION_ANGLE + STEEPER
    slopes = np.linspace(phi - 2 * DEGREES, phi + 2 * DEGREES, 41)
    free = Curve(slopes, [free_way(slope) for slope in slopes])
    limits = (
        between(-np.inf, AT_REST, (phi - 1.2 * DEGREES, phi - 0.8 * DEGREES)),
        between(free_way(phi + DEGREES), np.inf, (phi + 0.8 * DEGREES, phi + 1.2 * DEGREES)),
    )
    way = Curve([phi - DEGREES, phi + DEGREES], ways)
    constant = Curve([steep - 1.0, steep + 1.0], [phi, phi])
    within = (between(phi - DEGREES, phi + DEGREES, (steep - 0.4, steep + 0.4)),)
    return (
        Panel("slope", "degrees", "way", "cells", (way,), (free,), limits),
        Panel(
            "slope",
            "degrees",
            "friction while sliding",
            "degrees",
            measured=(Curve([steep], [rubbed]),),
            theory=(constant,),
            limits=within,
        ),
    )


GATE = Gate(
    name="incline",
    title="Sand on a rough incline",
    theory="infinite slope (Terzaghi, article 17): slides at phi, with friction tan(phi)",
    wrong="friction angle 6 degrees too low",
    measure=measure,
    cheap=True,
)
