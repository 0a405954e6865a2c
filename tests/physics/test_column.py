"""Contract: a liquid at rest is compressed by its own weight as its bulk modulus says, and rests.

With the linear pressure p = K (1 - J) and dp/dy = -rho g / J at the height y, exactly

    d(J^2)/dy = 2 rho g / K,

J = 1 at the surface, and so p = rho g h at the depth h of matter at rest. What J says of volume is
what the number of particles in a cell says, and the pool is as high as theory has it: h less half
of the compression at the bottom. No volume is lost over 10 s; what moves at rest has less than
0.3 % of the energy of a fall from the surface. Twice the modulus is rejected.

Caught: matter rested half a cell deep in walls, so a tank of 24 cells held 25 and the pool sank by
a cell and crept on.
"""

import numpy as np
import pytest
from simulations import box, material, scene, shape

from app.events import SetDamping

CELL = 0.02
WIDTH, HEIGHT = 24, 16  # cells
DENSITY = 1000.0
MODULUS = 4.0e4  # Pa: 7.8 % at the bottom; sound crosses 1.3 cells in a substep
SLOPE = 2 * DENSITY * 9.81 * CELL / MODULUS  # of J^2, for each cell of height


def pool(world, modulus=MODULUS, **keys):
    """A pool between slippery walls, damped for a second and then free for half of one."""
    keys = {"cells": (WIDTH, 28), "cell": CELL, "min_substeps": 4, "damping": 10.0} | keys
    water = material("liquid", model="liquid", density=DENSITY, bulk_modulus=modulus, viscosity=0.0)
    matter = shape("fill", "box", **box((0, 0), (WIDTH, HEIGHT), CELL), material="liquid")
    sim = world(scene(water, matter, **keys))
    sim.step(60)
    sim.apply(SetDamping(0.0))
    sim.step(30)
    return sim


def profile(sim):
    """Slope of J^2 per cell, J at the surface, and J against cells per rest packing inside.

    Over eight ticks, since single particles move about.
    """
    slopes, tops, ratios = [], [], []
    for _ in range(8):
        sim.step(1)
        x, y = sim.positions().T.astype(np.float64) / CELL
        ratio = sim.volume_ratios()
        inside = (x > 3) & (x < WIDTH - 3) & (y > 2) & (y < 12)
        slope, offset = np.polyfit(y[inside], ratio[inside] ** 2, 1)
        slopes.append(slope)
        tops.append(np.sqrt(slope * top(sim) + offset))
        packing = inside.sum() / 4 / ((WIDTH - 6) * 10)
        ratios.append(ratio[inside].mean() * packing)
    return np.mean(slopes), np.mean(tops), np.mean(ratios)


def top(sim):
    """Height of the surface [cells]: half a particle above the highest percent."""
    return np.percentile(sim.positions()[:, 1] / CELL, 99) + 0.25


def test_compression_is_that_of_the_weight(world):
    sim = pool(world)
    slope, surface, ratio = profile(sim)
    assert slope == pytest.approx(SLOPE, rel=0.03)
    assert surface == pytest.approx(1.0, abs=0.01)
    assert ratio == pytest.approx(1.0, abs=0.02)
    assert top(sim) == pytest.approx(HEIGHT * (1 - SLOPE * HEIGHT / 4), rel=0.02)
    assert top(sim) != pytest.approx(HEIGHT * 24 / 25 - 0.5, rel=0.02)


def test_twice_the_modulus_is_rejected(world):
    slope, _surface, _ratio = profile(pool(world, 2 * MODULUS))
    assert slope != pytest.approx(SLOPE, rel=0.4)
    assert slope == pytest.approx(SLOPE / 2, rel=0.05)


def test_ten_seconds_of_rest(world):
    sim = pool(world)
    start, surface = sim.aggregates(), top(sim)
    fall = start.mass * 9.81 * HEIGHT * CELL
    for _ in range(20):
        sim.step(30)
        assert sim.aggregates().kinetic_energy < 3e-3 * fall
    assert sim.aggregates().mass == start.mass
    assert top(sim) == pytest.approx(surface, rel=0.02)
    height = sim.aggregates().center_of_mass[1]
    assert height == pytest.approx(start.center_of_mass[1], rel=0.01)
    slope, _surface, ratio = profile(sim)
    assert slope == pytest.approx(SLOPE, rel=0.05)
    assert ratio == pytest.approx(1.0, abs=0.03)
    assert sim.status().counters["deformation_clamped"] == 0
