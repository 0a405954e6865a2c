"""Tip deflection of a clamped elastic beam under its own weight.

Euler-Bernoulli, plane strain: w = q L^4 / (8 E' I) with q = rho g h, I = h^3 / 12 and
E' = E / (1 - nu^2) (Timoshenko and Goodier, Theory of Elasticity, articles 17 and 21).

The formula leaves out the shear, which adds E' / (3 k G) (h / L)^2, k = 5 / 6: 1.8 % at L / h = 8
(16 % was measured at L / h = 2.5). The face of the clamp lies on a line of nodes, so that what is
held ends there. Thin beams of few rows of particles bend more: of 4 cells height and 8 rows by
8.5 %, with 12 rows by 4.9 %; so this one is 6 cells high and has 18 rows. Damping is a little below
critical and the beam is given the time to come to rest.
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
    around,
    box,
    close,
    elastic,
    scene_of,
)

CELL = 0.01
FACE = 8.5
"""Line of nodes [cells] on which the clamp ends."""
HEIGHT, LENGTH = 6, 48
DENSITY, YOUNG, POISSON = 1000.0, 1.0e6, 0.3
GRAVITY = 0.5
RATE = 100
LIMIT = 0.05


def frequency() -> float:
    """Of the first mode of bending [rad/s]: 1.8751^2 sqrt(E' I / (rho h)) / L^2."""
    height, length = HEIGHT * CELL, LENGTH * CELL
    wave = math.sqrt(YOUNG / (1.0 - POISSON**2) * height**2 / (12.0 * DENSITY))
    return 1.8751**2 * wave / length**2


def scene(young: float, particles: int) -> str:
    """The beam in its clamp on the left."""
    body = (
        elastic("beam", young, POISSON, DENSITY)
        + box("collider", (0, 4), (FACE, 40), 'friction = "stick"')
        + box("fill", (5, 20), (FACE + LENGTH, 20 + HEIGHT), 'material = "beam"')
    )
    return scene_of(
        "Cantilever",
        (64, 44),
        body,
        gravity=f"[0, {-GRAVITY}]",
        damping=1.6 * frequency(),
        tick_rate=RATE,
        substeps=10,
        rounds=12,
        solver=f"particles_per_cell = {particles}",
    )


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Mean drop of the last column of particles (quick: 12 rows); wrong: a modulus 15 % up."""
    with world.open(scene(YOUNG * (1.15 if wrong else 1.0), 4 if quick else 9)) as simulation:
        start = simulation.positions().astype(np.float64)
        simulation.step(round(11.0 / frequency() * RATE))
        now = simulation.positions().astype(np.float64)
    last = start[:, 0] > start[:, 0].max() - 1e-6
    length = start[last, 0].mean() - FACE * CELL
    stiffness = YOUNG / (1.0 - POISSON**2) * (HEIGHT * CELL) ** 3 / 12.0
    load = DENSITY * GRAVITY * HEIGHT * CELL
    expected = load * length**4 / (8.0 * stiffness)
    tip = float((start - now)[last, 1].mean())
    return Measurement(
        [close("tip deflection", "m", tip, expected, LIMIT)],
        (bending(start, now, length, load / (24.0 * stiffness)),),
    )


def bending(start: np.ndarray, now: np.ndarray, length: float, factor: float) -> Panel:
    """Mean drop of the columns of particles outside the clamp; factor: q / (24 E' I)."""
    along = start[:, 0] - FACE * CELL
    columns, which = np.unique(np.round(along / CELL, 3), return_inverse=True)
    drop = np.bincount(which, (start - now)[:, 1]) / np.bincount(which)
    outside = np.flatnonzero(columns > 0)[::-3][::-1]  # one a cell, the last among them
    x = np.linspace(0.0, length, 100)
    theory = Curve(x, factor * x**2 * (6.0 * length**2 - 4.0 * length * x + x**2))
    tip = x > 0.95 * length  # where the limit counts: shear shows near the clamp
    return Panel(
        "distance from the clamp",
        "m",
        "drop",
        "m",
        measured=(Curve(columns[outside] * CELL, drop[outside]),),
        theory=(theory,),
        limits=(around(Curve(x[tip], theory.y[tip]), LIMIT),),
    )


GATE = Gate(
    name="cantilever",
    title="Tip deflection of a cantilever",
    theory="Euler-Bernoulli, plane strain (Timoshenko and Goodier, articles 17 and 21)",
    wrong="Young's modulus 15 % too high",
    measure=measure,
    cheap=True,
)
