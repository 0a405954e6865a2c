"""Bending of a clamped elastic beam under its own weight.

Euler-Bernoulli, plane strain: the tip drops by w = q L^4 / (8 E' I) with q = rho g h, I = h^3 / 12
and E' = E / (1 - nu^2) (Timoshenko and Goodier, Theory of Elasticity, articles 17 and 21).

A clamp on a grid does not end in a line: the beam bends as if it were about 0.6 cells longer, which
its fourth power makes 5 % of w. So two beams are taken that differ in length alone: w^(1/4) grows
by (q / 8 E' I)^(1/4) per metre, whatever the clamp does. Left in are the shear that the formula
omits (below 1 %) and the sum over rows of particles in place of the integral I (1.6 %).
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import Check, Gate, World, box, close, elastic, scene_of

CELL = 0.01
FACE = 8.5
"""Column of nodes [cells] on which the clamp ends."""
HEIGHT, LENGTHS = 4, (30, 50)
DENSITY, YOUNG, POISSON = 1000.0, 1.0e6, 0.3
GRAVITY = 0.5
LIMIT = 0.05


def scene(length: int, young: float) -> str:
    """A beam [cells] clamped in a block on the left; damping brings it to rest."""
    body = (
        elastic("beam", young, POISSON, DENSITY)
        + box("collider", (0, 4), (FACE, 40), 'friction = "stick"')
        + box("fill", (5, 20), (FACE + length, 20 + HEIGHT), 'material = "beam"')
    )
    return scene_of(
        "Cantilever",
        (64, 44),
        body,
        gravity=f"[0, {-GRAVITY}]",
        damping=8 * (30 / length) ** 2,
        tick_rate=100,
        substeps=8,
        rounds=12,
    )


def tip(world: World, length: int, young: float) -> tuple[float, float]:
    """Distance of the last column of particles from the clamp, and how far it came down [m]."""
    with world.open(scene(length, young)) as simulation:
        start = simulation.positions().astype(np.float64)
        simulation.step(round(100 * (length / 30) ** 2))
        now = simulation.positions().astype(np.float64)
    last = start[:, 0] > start[:, 0].max() - 1e-6
    return start[last, 0].mean() - FACE * CELL, float((start - now)[last, 1].mean())


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Rigidity E' I of two beams, taken from w^(1/4) over their length."""
    young = YOUNG * (1.15 if wrong else 1.0)
    (short, little), (long, much) = (tip(world, length, young) for length in LENGTHS)
    slope = (much**0.25 - little**0.25) / (long - short)
    height = HEIGHT * CELL
    measured = DENSITY * GRAVITY * height / (8.0 * slope**4)
    expected = YOUNG / (1.0 - POISSON**2) * height**3 / 12.0
    return [close("bending rigidity E' I", "N m^2/m", measured, expected, LIMIT)]


GATE = Gate(
    name="cantilever",
    title="Tip deflection of a cantilever",
    theory="Euler-Bernoulli, plane strain (Timoshenko and Goodier, articles 17 and 21)",
    wrong="Young's modulus 15 % too high",
    measure=measure,
    cheap=True,
)
