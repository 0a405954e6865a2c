"""Contract of app.sim.bspline.

The weights are those of the quadratic B-spline on nodes at cell centres: never negative, a
partition of unity whose first moment vanishes (momentum arrives where the particle is) and whose
second moment is I/4 (so D = 4 B gives back the gradient of any linear field exactly).
"""

import numpy as np
import pytest
import taichi as ti

from app.sim.bspline import bspline_cell, bspline_offset, bspline_weights

POINTS = 2000


@ti.kernel
def stencils(
    points: ti.types.ndarray(dtype=ti.f32, ndim=2),
    cells: ti.types.ndarray(dtype=ti.i32, ndim=2),
    weights: ti.types.ndarray(dtype=ti.f32, ndim=3),
    offsets: ti.types.ndarray(dtype=ti.f32, ndim=4),
):
    for p in range(points.shape[0]):
        x = ti.Vector([points[p, 0], points[p, 1]])
        cell = bspline_cell(x)
        r = x - cell - 0.5
        w = bspline_weights(r)
        for a in ti.static(range(2)):
            cells[p, a] = cell[a]
        for i, j in ti.static(ti.ndrange(3, 3)):
            weights[p, i, j] = w[i, 0] * w[j, 1]
            offset = bspline_offset(i, j, r)
            offsets[p, i, j, 0] = offset.x
            offsets[p, i, j, 1] = offset.y


@pytest.fixture
def stencil(cpu):
    """(points, cells, weights, offsets) of many points, on cell edges and centres too."""
    points = np.random.default_rng(1).uniform(-20.0, 80.0, (POINTS, 2)).astype(np.float32)
    points[:100] = np.round(points[:100] * 2) / 2
    cells = np.zeros((POINTS, 2), np.int32)
    weights = np.zeros((POINTS, 3, 3), np.float32)
    offsets = np.zeros((POINTS, 3, 3, 2), np.float32)
    stencils(points, cells, weights, offsets)
    return points, cells, weights, offsets


def spline(distance):
    """Quadratic B-spline, written from its definition as the box function convolved with itself."""
    distance = np.abs(distance)
    inner = 0.75 - distance**2
    outer = 0.5 * (1.5 - distance) ** 2
    return np.where(distance < 0.5, inner, np.where(distance < 1.5, outer, 0.0))


def nodes_of(cells):
    """Positions (n, 3, 3, 2) of the nodes around each cell: cell centres."""
    steps = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="ij"), axis=-1)
    return cells[:, None, None, :] + steps + 0.5


def test_the_cell_is_the_floor_on_both_sides_of_zero(stencil):
    points, cells, _weights, _offsets = stencil
    assert (cells == np.floor(points)).all()


def test_weights_are_the_splines_at_the_nodes(stencil):
    points, cells, weights, offsets = stencil
    away = nodes_of(cells) - points[:, None, None, :].astype(np.float64)
    expected = spline(away[..., 0]) * spline(away[..., 1])
    np.testing.assert_allclose(weights, expected, atol=4e-6)
    np.testing.assert_allclose(offsets, away, atol=4e-6)
    assert (weights >= 0.0).all()


def moments(weights, away):
    """Zeroth, first and second moment of each stencil."""
    weights = weights.astype(np.float64)
    zeroth = weights.sum((1, 2))
    first = np.einsum("pij,pija->pa", weights, away)
    second = np.einsum("pij,pija,pijb->pab", weights, away, away)
    return zeroth, first, second


def test_moments_and_that_a_half_cell_shift_of_the_nodes_would_be_seen(stencil):
    points, cells, weights, _offsets = stencil
    away = nodes_of(cells) - points[:, None, None, :].astype(np.float64)
    zeroth, first, second = moments(weights, away)
    np.testing.assert_allclose(zeroth, 1.0, atol=1e-6)
    np.testing.assert_allclose(first, 0.0, atol=4e-6)
    np.testing.assert_allclose(second, np.broadcast_to(np.eye(2) / 4, second.shape), atol=1e-5)
    _zeroth, shifted, _second = moments(weights, away - 0.5)
    assert np.abs(shifted).min() > 0.4


def test_linear_fields_are_gathered_exactly(stencil):
    points, cells, weights, offsets = stencil
    gradient = np.array([[0.3, -1.1], [0.7, 0.2]])
    constant = np.array([0.5, -2.0])
    field = constant + nodes_of(cells) @ gradient.T
    value = np.einsum("pij,pija->pa", weights, field)
    moment = np.einsum("pij,pija,pijb->pab", weights, field, offsets)
    np.testing.assert_allclose(value, constant + points @ gradient.T, atol=3e-4)
    np.testing.assert_allclose(4.0 * moment, np.broadcast_to(gradient, moment.shape), atol=1e-3)
