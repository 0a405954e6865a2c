"""Contract: matter that touches nothing follows x0 + v0 t + g t^2 / 2, to float rounding.

For every material and method, whatever the substeps, also while the ladder changes dt, from the
first tick to the last. Damping is a rate: velocities shrink by exp(-c t), whatever the substeps.

Caught: the ladder looked at the speed of the last tick alone, so a fall crossed more than a cell in
a substep and lost momentum to the cap on node displacements. Momentum rounded to whole quanta lost
what gravity adds in a small step, and the free fall of light matter with it.
"""

import numpy as np
import pytest
from simulations import CELL, fill, integer, material, scene

G = np.array([0.7, -9.81])
ROUNDING = 8e-6
"""Cells that a substep may add to the error: a position near 100 cells is rounded to half of that,
the same way every time where the displacement is the same, and the displacement to less."""


def thrown(world, material="jelly", velocity=(0.5, 3.0), extra="", **keys):
    """A block thrown upward in a domain of 1 m with open edges."""
    block = fill((20, 20), (30, 30), material, velocity=velocity)
    keys = {"gravity": G, "edges": "open", "cells": (100, 100)} | keys
    return world(scene(block, extra, **keys))


def deviation(sim, start, velocity, gravity, ticks, each=5):
    """Largest distance [cells] from the parabola, looked at every few ticks."""
    worst = 0.0
    for _ in range(ticks // each):
        sim.step(each)
        t = sim.time
        exact = start + np.asarray(velocity) * t + 0.5 * np.asarray(gravity) * t * t
        worst = max(worst, np.abs(sim.positions() - exact).max() / CELL)
    return worst


@pytest.mark.parametrize("substeps", [7, 8, 16])
def test_parabola_at_fixed_substeps(world, substeps):
    sim = thrown(world, min_substeps=substeps, max_substeps=substeps)
    start = sim.positions().astype(np.float64)
    assert deviation(sim, start, (0.5, 3.0), G, 35) < ROUNDING * 35 * substeps
    assert integer(sim, "drained") == 0 and not any(sim.status().counters.values())


def test_parabola_up_the_ladder(world):
    """A fall (upward) from rest, through every rung from 1 to 6."""
    gravity = (0.0, 9.81)
    sim = thrown(world, velocity=(0.0, 0.0), gravity=gravity, min_substeps=1)
    start = sim.positions().astype(np.float64)
    worst, substeps = 0.0, []
    for _ in range(22):
        worst = max(worst, deviation(sim, start, (0.0, 0.0), gravity, 1, each=1))
        substeps.append(sim.status().substeps)
    assert {1, 2, 3, 4, 6} <= set(substeps)
    assert worst < ROUNDING * sum(substeps)
    assert not any(sim.status().counters.values())


def test_parabola_down_the_ladder(world):
    """A slow flight, beside a fast one that soon leaves and lets the substeps come down."""
    velocity, gravity = (0.1, 0.5), (0.1, -0.7)
    fast = fill((90, 80), (96, 86), "rubber", velocity=(7.0, 0.0))
    sim = thrown(world, "jelly", velocity, gravity=gravity, min_substeps=1, extra=fast)
    slow = sim.material_ids() == sim.material_names.index("jelly")
    start = sim.positions()[slow].astype(np.float64)
    worst, substeps = 0.0, []
    for _ in range(90):
        sim.step(1)
        substeps.append(sim.status().substeps)
        exact = start + np.array(velocity) * sim.time + 0.5 * np.array(gravity) * sim.time**2
        worst = max(worst, np.abs(sim.positions()[: len(start)] - exact).max() / CELL)
    assert {12, 8, 6, 4, 3, 2} <= set(substeps)
    assert sim.status().live == len(start)
    assert worst < ROUNDING * sum(substeps)
    assert not any(sim.status().counters.values())


@pytest.mark.parametrize("material", ["water", "jelly", "sand", "plasticine"])
@pytest.mark.parametrize("method", ["compliant", "classic", "explicit"])
def test_every_material_and_method(world, material, method):
    """The centre of mass; loose matter is scattered and relaxes about it."""
    keys = {"acoustic": "bind", "max_substeps": 48} if method == "explicit" else {}
    sim = thrown(world, material, method=method, rounds=3, **keys)
    before = sim.aggregates()
    sim.step(30)
    after = sim.aggregates()
    velocity = np.array([0.5, 3.0])
    exact = before.center_of_mass + velocity * sim.time + 0.5 * G * sim.time**2
    substeps = 30 * sim.status().substeps
    assert np.abs(after.center_of_mass - exact).max() < ROUNDING * substeps * CELL
    velocity = velocity + G * sim.time
    np.testing.assert_allclose(after.momentum, after.mass * velocity, rtol=3e-7 * substeps)
    assert after.mass == before.mass


def test_wrong_gravity_and_a_first_order_scheme_are_rejected(world):
    """A thousandth more gravity; and the half step that a scheme of first order is ahead."""
    sim = thrown(world, min_substeps=8, max_substeps=8, gravity=1.001 * G)
    start = sim.positions().astype(np.float64)
    limit = ROUNDING * 35 * 8
    assert deviation(sim, start, (0.5, 3.0), G, 35) > 10 * limit
    sim = thrown(world, min_substeps=8, max_substeps=8)
    half_step = np.array([0.5, 3.0]) + 0.5 * G / 480
    assert deviation(sim, start, half_step, G, 35) > 10 * limit


@pytest.mark.parametrize("substeps", [2, 5, 16])
def test_damping_is_a_rate(world, substeps):
    """At 2 per second, after half a second 1/e of the velocity; 2 % more would be seen."""
    sim = thrown(
        world,
        velocity=(0.4, 0.3),
        gravity=(0.0, 0.0),
        damping=2.0,
        min_substeps=substeps,
        max_substeps=substeps,
    )
    start = sim.positions().mean(0, dtype=np.float64)
    sim.step(30)
    velocity = sim.velocities().mean(0, dtype=np.float64)
    np.testing.assert_allclose(velocity / (0.4, 0.3), np.exp(-1.0), rtol=1e-4)
    assert abs(velocity[0] / 0.4 / np.exp(-1.02) - 1.0) > 0.01
    # Positions are of first order in dt: each substep moves at the speed that it began with.
    way = np.array([0.4, 0.3]) * (1.0 - np.exp(-1.0)) / 2.0
    moved = sim.positions().mean(0, dtype=np.float64) - start
    np.testing.assert_allclose(moved, way, rtol=1.1 / (60 * substeps))


def test_damping_and_gravity_reach_the_terminal_speed(world):
    """g / c, once exp(-c t) has gone; the step of kick and damping is of first order in dt."""
    sim = thrown(world, velocity=(0.0, 0.0), gravity=(0.0, -1.0), damping=10.0, min_substeps=8)
    sim.step(60)
    np.testing.assert_allclose(sim.velocities()[:, 1], -0.1, rtol=10.0 / (60 * 8))


def test_light_matter_falls_in_small_steps(world):
    """What a substep adds to its momentum is a thousandth of a quantum."""
    rates = {"tick_rate": 1000, "min_substeps": 64, "max_substeps": 64}
    mist = material("mist", model="liquid", density=4.0, bulk_modulus=1e3)
    rock = material("rock", model="elastic", density=8000.0, youngs_modulus=1e4)
    sim = thrown(world, "mist", (0.0, 0.0), mist + rock, gravity=(0.0, -9.81), **rates)
    start = sim.aggregates().center_of_mass[1]
    cells = 9.81 / 64000.0**2 / CELL
    mass = 4.0 / 8000.0 / sim.scene.solver.particles_per_cell
    assert cells * mass * 2**24 < 1e-3
    sim.step(10)
    fallen = (start - sim.aggregates().center_of_mass[1]) / (0.5 * 9.81 * sim.time**2)
    velocity = sim.velocities()[:, 1].mean() / (-9.81 * sim.time)
    assert velocity == pytest.approx(1.0, abs=2e-3)
    assert fallen == pytest.approx(1.0, abs=0.05)  # of a place near 30 cells, rounded 640 times
