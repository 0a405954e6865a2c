"""Contract of the grid's fixed point.

A value becomes the nearest multiple of the quantum, whatever its sign, so that rounding has no
direction: truncation toward zero would drain momentum from everything that moves. No sum of a node
passes 32 bits while no cell is fuller than the bounds say, wherever its particles lie.
"""

import math

import numpy as np
import pytest
import taichi as ti

from app.sim.fixed_point import (
    CROWDING_LIMIT,
    FACTOR_LIMIT,
    NODE_REACH,
    SCALE,
    SCATTER_CROWDING,
    SCATTER_LIMIT,
    quanta,
)
from app.sim.grid import fixed_point


@ti.kernel
def convert(
    values: ti.types.ndarray(dtype=ti.f32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=1)
):
    for i in range(values.shape[0]):
        out[i] = fixed_point(values[i])


def fixed(values):
    values = np.asarray(values, np.float32)
    out = np.zeros(len(values), np.int32)
    convert(values, out)
    return out


def test_nearest_on_both_sides_of_zero(cpu):
    whole = np.arange(-500, 501, dtype=np.float64)
    for part in (-0.49, -0.25, 0.0, 0.25, 0.49):
        assert (fixed((whole + part) / SCALE) == whole).all(), part


def test_a_value_and_its_negative_have_opposite_integers(cpu):
    values = np.random.default_rng(2).normal(0.0, 1e-4, 10_000)
    values[:100] = (np.arange(100) + 0.5) / SCALE  # ties as well
    assert (fixed(values) == -fixed(-values)).all()


def drift(integers, values):
    """Mean error toward zero, in quanta."""
    exact = values.astype(np.float64) * SCALE
    return np.mean((exact - integers) * np.sign(exact))


def test_no_drift_toward_zero_and_truncation_would_be_seen(cpu):
    values = np.random.default_rng(3).uniform(-1e-3, 1e-3, 100_000).astype(np.float32)
    limit = 0.01  # quanta; the mean of 100,000 errors spread over +-1/2 is within 0.003
    assert abs(drift(fixed(values), values)) < limit
    assert drift(np.trunc(values.astype(np.float64) * SCALE), values) > 0.4


def bspline(distance):
    """Quadratic B-spline of a distance in cells (Steffen, Kirby and Berzins 2008, eq. 8)."""
    a = np.abs(distance)
    return np.where(a < 0.5, 0.75 - a**2, np.where(a < 1.5, 0.5 * (1.5 - a) ** 2, 0.0))


def test_no_more_than_its_reach_comes_to_a_node():
    """Every cell's matter at its place of most weight, found by looking at all places."""
    places = np.linspace(-0.5, 0.5, 201)
    most = sum(bspline(cell + places).max() for cell in range(-3, 4))
    assert most**2 == NODE_REACH
    evenly = sum(bspline(cell + places).mean() for cell in range(-3, 4))
    assert evenly**2 == pytest.approx(1.0, abs=0.01)  # what even filling gives is not the bound


def test_the_largest_sums_fit_32_bits(cpu):
    rounding = 9 * math.ceil(25 * CROWDING_LIMIT)  # quanta: nine shares of every particle around
    for factor, crowding in ((FACTOR_LIMIT, CROWDING_LIMIT), (SCATTER_LIMIT, SCATTER_CROWDING)):
        assert crowding * NODE_REACH * factor * SCALE + rounding < 2**31
        assert 1.01 * crowding * NODE_REACH * factor * SCALE > 2**31  # and no room is given away
    exact = np.array([SCATTER_LIMIT, -SCATTER_LIMIT, 100.0, -100.0], np.float32)
    assert (fixed(exact) == exact.astype(np.int64) * SCALE).all()


def test_quanta_of_a_particle():
    assert quanta(1000.0, 1000.0, 4) == SCALE / 4
    assert quanta(1.2, 1200.0, 1) == pytest.approx(SCALE / 1000)
