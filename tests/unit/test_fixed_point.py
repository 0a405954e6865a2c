"""Contract of the grid's fixed point.

A value becomes the nearest multiple of the quantum, whatever its sign, so that rounding has no
direction: truncation toward zero would drain momentum from everything that moves.
"""

import numpy as np
import taichi as ti

from app.sim.grid import NODE_MASS_LIMIT, SCALE, SCATTER_LIMIT, fixed_point


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


def test_the_largest_sums_fit_32_bits(cpu):
    heaviest = NODE_MASS_LIMIT * SCATTER_LIMIT * SCALE
    assert heaviest < 2**31
    exact = np.array([SCATTER_LIMIT, -SCATTER_LIMIT, 100.0, -100.0], np.float32)
    assert (fixed(exact) == exact.astype(np.int64) * SCALE).all()
