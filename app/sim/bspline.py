"""Quadratic B-spline weights on nodes at cell centres (node i sits at i + 1/2, in cells).

With r = x - floor(x) - 1/2 in [-1/2, 1/2) the three nodes floor(x) - 1, floor(x), floor(x) + 1 lie
at offsets -1 - r, -r, 1 - r, and sum_i w_i o_i o_i^T = I/4 (Jiang et al. 2015, APIC), so that the
affine part gathered as B = sum_i w_i d_i o_i^T gives the displacement gradient D = 4 B.
"""

from itertools import product

import taichi as ti
import taichi.math as tm

BSPLINE_NODES = (*((i, j) for i, j in product(range(3), repeat=2) if (i, j) != (1, 1)), (1, 1))
"""The nine nodes of a stencil, the one of most weight last: there the remainder of a split goes."""


@ti.func
def bspline_cell(x):
    """The cell that holds x [cells], as integers."""
    return ti.cast(ti.floor(x), ti.i32)


@ti.func
def bspline_weights(r):
    """Weights of the three nodes around a particle at r, one row a node, one column an axis."""
    return ti.Matrix(
        [
            [0.5 * (0.5 - r.x) ** 2, 0.5 * (0.5 - r.y) ** 2],
            [0.75 - r.x**2, 0.75 - r.y**2],
            [0.5 * (0.5 + r.x) ** 2, 0.5 * (0.5 + r.y) ** 2],
        ]
    )


@ti.func
def bspline_offset(i, j, r):
    """Vector from the particle to node (i, j) of its stencil [cells]."""
    return tm.vec2(i - 1.0, j - 1.0) - r


@ti.func
def bspline_value(distance):
    """The quadratic B-spline [1/cell] at a signed distance [cells] from its node."""
    d = ti.abs(distance)
    return ti.select(d < 0.5, 0.75 - d * d, 0.5 * ti.max(1.5 - d, 0.0) ** 2)
