"""A clamped elastic bar in free axial vibration: true where resolved, softened as predicted above.

The first mode of a bar clamped at one end has the period 4 L / c, c = sqrt(E / rho) without lateral
contraction (nu = 0) (Timoshenko, Vibration Problems in Engineering, article 50). The grid's clamp
and free end make the bar longer by a constant of the set-up; it comes from the best resolved run
(CFL 1, 12 rounds) and must itself be small. With too few rounds for the acoustic CFL the modulus is
softened by the share that Chebyshev's polynomial leaves (docs/physics.md), so the period grows by
its inverse root.
"""

from __future__ import annotations

import numpy as np

from app.sim.policies.chebyshev import Acceleration
from app.validation.gate import (
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    at_most,
    between,
    box,
    close,
    elastic,
    scene_of,
)

CELL = 0.01
FACE = 8.5
LENGTH, HEIGHT = 40, 6
DENSITY = 1000.0
RATE = 1000
"""Substeps in a second; the wave speed is chosen to give the CFL."""
STRAIN = 2e-3
LENGTH_LIMIT, SOFTENING_LIMIT, SPREAD_LIMIT, RESOLVED_LIMIT = 0.08, 0.04, 0.02, 0.03
ENERGY_GAIN = 1e-3
SOFTENED = ((3, 2), (3, 3), (3, 5), (10, 5), (10, 8), (10, 12), (30, 5), (30, 12))
RESOLVED = ((2, 5), (2, 8), (2, 12), (1, 5), (1, 8), (0.5, 5), (0.1, 5))


def scene(cfl: float, rounds: int, modulus_factor: float) -> str:
    """The bar, thrown away from its clamp at a small part of the wave speed."""
    speed = cfl * CELL * RATE
    young = DENSITY * speed**2 * modulus_factor
    velocity = STRAIN * speed * np.sqrt(Acceleration(rounds).stiffness_share(4 * cfl * cfl))
    body = (
        elastic("bar", young, 0.0, DENSITY)
        + box("collider", (0, 4), (FACE, 20), 'friction = "stick"')
        + box(
            "fill",
            (4, 9),
            (FACE + LENGTH, 9 + HEIGHT),
            f'material = "bar"\nvelocity = [{velocity:.9g}, 0]',
        )
    )
    return scene_of(
        "Bar", (60, 24), body, gravity="[0, 0]", tick_rate=RATE, substeps=1, rounds=rounds
    )


def run(world: World, cfl: float, rounds: int, modulus_factor: float = 1.0) -> tuple[float, float]:
    """Period over 4 L / c, and largest kinetic energy after the start over that at the start."""
    share = Acceleration(rounds).stiffness_share(4 * cfl * cfl)
    quarter = LENGTH / cfl / np.sqrt(share)
    with world.open(scene(cfl, rounds, modulus_factor)) as simulation:
        mass = simulation.masses()
        along = simulation.positions()[:, 0].astype(np.float64) / CELL - FACE
        mode = np.where(along > 0, np.sin(0.5 * np.pi * along / LENGTH), 0.0)
        amplitude, energy = [], []
        for _ in range(int(3.6 * quarter) + 3):
            velocity = simulation.velocities().astype(np.float64)
            amplitude.append(float(mass @ (mode * velocity[:, 0])))
            energy.append(float(mass @ (velocity**2).sum(1)))
            simulation.step()
    crossings = _crossings(np.array(amplitude))
    if len(crossings) < 2:
        return np.inf, max(energy[1:]) / energy[0]
    return 2.0 * (crossings[1] - crossings[0]) / (4.0 * LENGTH / cfl), max(energy[1:]) / energy[0]


def _crossings(values: np.ndarray) -> np.ndarray:
    """Where a series passes through zero, between its samples."""
    k = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    return k + values[k] / (values[k] - values[k + 1])


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Periods over the best resolved run's.

    Wrong: matter 15 % too stiff where it is resolved; where it is not, stiffness would not show, so
    there is a round more than the prediction is told of.
    """
    constant, _energy = run(world, 1, 12)
    factor = 1.15 if wrong else 1.0
    softened = SOFTENED[1:8:2] if quick or wrong else SOFTENED
    resolved = RESOLVED[:1] if quick or wrong else RESOLVED
    checks = [at_most("effective length less 1", "1", constant - 1.0, LENGTH_LIMIT)]
    gain, found = 0.0, []
    for cfl, rounds in softened:
        period, energy = run(world, cfl, rounds + (1 if wrong else 0))
        gain = max(gain, energy - 1.0)
        expected = softened_period(cfl, rounds)
        found.append((cfl, rounds, period / constant, expected))
        name = f"period, CFL {cfl:g}, {rounds} rounds"
        checks.append(close(name, "4 L/c", period / constant, expected, SOFTENING_LIMIT))
    periods = [1.0]
    for cfl, rounds in resolved:
        period, energy = run(world, cfl, rounds, factor)
        gain = max(gain, energy - 1.0)
        periods.append(period / constant)
        found.append((cfl, rounds, period / constant, 1.0))
        name = f"period, CFL {cfl:g}, {rounds} rounds"
        checks.append(close(name, "4 L/c", period / constant, 1.0, RESOLVED_LIMIT))
    checks.append(
        at_most("spread of resolved periods", "1", max(periods) - min(periods), SPREAD_LIMIT)
    )
    checks.append(at_most("kinetic energy gained", "1", gain, ENERGY_GAIN))
    return Measurement(checks, panels(found))


def softened_period(cfl: float, rounds: int) -> float:
    """Period over 4 L / c that the predicted stiffness share makes."""
    return 1.0 / np.sqrt(Acceleration(rounds).stiffness_share(4 * cfl * cfl))


def panels(found: list[tuple[float, int, float, float]]) -> tuple[Panel, ...]:
    """Periods over CFL, a curve for each number of rounds, and how far they are off theory.

    found: rows of CFL, rounds, period and expected period.
    """
    rows = sorted(found)
    cfls = np.geomspace(rows[0][0], rows[-1][0], 60)
    measured, theory, off = [], [], []
    for rounds in sorted({row[1] for row in rows}):
        cfl, _rounds, period, expected = np.array([row for row in rows if row[1] == rounds]).T
        name = f"{rounds} rounds"
        measured.append(Curve(cfl, period, name))
        theory.append(Curve(cfls, [softened_period(cfl, rounds) for cfl in cfls], name))
        off.append(Curve(cfl, 100.0 * (period / expected - 1.0), name))
    resolved = max(cfl for cfl, _rounds in RESOLVED)
    limits = (
        between(-100 * RESOLVED_LIMIT, 100 * RESOLVED_LIMIT, (cfls[0], resolved)),
        between(-100 * SOFTENING_LIMIT, 100 * SOFTENING_LIMIT, (resolved, cfls[-1])),
    )
    return (
        Panel("acoustic CFL", "1", "period", "4 L/c", tuple(measured), tuple(theory), (), "xy"),
        Panel("acoustic CFL", "1", "period off theory", "%", tuple(off), (), limits, "x"),
    )


GATE = Gate(
    name="bar",
    title="Axial vibration of a clamped bar, resolved and softened",
    theory="4 L / c (Timoshenko, article 50) over the root of the predicted stiffness share",
    wrong="Young's modulus 15 % too high; a round more than predicted for",
    measure=measure,
    cheap=True,
)
