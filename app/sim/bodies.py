"""Contact between groups of bodies that share nodes: they touch, rub and part, but never weld.

One velocity field glues together whatever meets on the grid. Each group of a scene has a field of
its own; where two fields meet at a node, what would bring them into each other is exchanged between
them, with Coulomb friction (Bardenhagen, Brackbill and Sulsky 2000; Huang et al. 2011).
"""

import taichi as ti
import taichi.math as tm

MAX_GROUPS = 4
TOUCHING = 0.8125
"""Distance [cells] of the mass centres that two half spaces, touching at a node, have within its
support: twice the mean of |x| under the quadratic B-spline, 13/32 a side."""


@ti.func
def bodies_gap(between):
    """Gap [cells] between two bodies whose mass centres at a node are `between` apart; >= 0."""
    return ti.max(between.norm() - TOUCHING, 0.0)


@ti.func
def bodies_exchange(first, second, share, between, friction):
    """Displacements of two bodies at a node after contact.

    share: the second's part of their mass. between: vector from the first's mass centre to the
    second's. Approach is free up to the gap, as it is at a collider; the rest is taken from both in
    proportion, so that their momentum is kept, and friction is bounded by that normal exchange.
    """
    distance = between.norm()
    result_first = first
    result_second = second
    if distance > 1e-6:
        normal = between / distance
        relative = first - second
        approach = relative.dot(normal)
        excess = approach - bodies_gap(between)
        if excess > 0.0:
            tangential = relative - approach * normal
            size = tangential.norm()
            slowed = tm.vec2(0.0, 0.0)
            if size > 1e-12:
                slowed = tangential * ti.min(1.0, friction * excess / size)
            change = excess * normal + slowed
            result_first = first - share * change
            result_second = second + (1.0 - share) * change
    return result_first, result_second
