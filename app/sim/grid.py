"""The background grid: scratch of one substep, in tiles of 8 x 8 nodes, only touched tiles visited.

Accumulators are 32-bit integers in fixed point (app/sim/fixed_point.py), so a node's sum does not
depend on the order in which particles arrive.
"""

import taichi as ti

from app.sim.fixed_point import SCALE

TILE_BITS = 3
TILE = 1 << TILE_BITS
NODES_PER_TILE = TILE * TILE
MARGIN = 4
"""Cells of grid around the domain: a particle may lie a cell outside and still find its nodes."""


@ti.func
def fixed_point(value):
    """Nearest fixed-point integer; rounding (not truncation) leaves no drift toward zero.

    By magnitude, so that a value and its negative have opposite integers. Floor and a comparison
    are single instructions; round() is a call on processors, once a node and particle.
    """
    size = ti.abs(value * SCALE)
    whole = ti.floor(size)
    nearest = ti.cast(whole, ti.i32) + ti.cast(size - whole >= 0.5, ti.i32)
    return ti.select(value < 0.0, -nearest, nearest)


class Grid:
    """Node accumulators and displacements for at most `tiles` tiles, laid out tile by tile.

    Mass, momentum and displacement exist once for every group of bodies, `nodes` apart; a scene of
    one group needs no mass moments, which only tell groups where the others are. `occupancy` counts
    the particles whose cell is a node's own, `crowding` those of the fullest cell: they bound every
    sum before a particle adds to it.
    """

    def __init__(self, tiles, groups):
        self.tiles = tiles
        self.nodes = nodes = tiles * NODES_PER_TILE
        self.mass = ti.field(ti.i32, nodes * groups)
        self.mass_moment = ti.Vector.field(2, ti.i32, nodes * groups if groups > 1 else 1)
        self.volume = ti.field(ti.i32, nodes)
        self.liquid_volume = ti.field(ti.i32, nodes)
        self.liquid_excess = ti.field(ti.i32, nodes)
        self.momentum = ti.Vector.field(2, ti.i32, nodes * groups)
        self.occupancy = ti.field(ti.i32, nodes)
        self.crowding = ti.field(ti.i32, ())
        self.displacement = ti.Vector.field(2, ti.f32, nodes * groups)
        self.open_share = ti.field(ti.f32, nodes)
        self.backing = ti.Vector.field(3, ti.f32, nodes)
        self.grip = ti.Vector.field(4, ti.f32, nodes)
        self.walled = ti.field(ti.i32, nodes)
        self.solids_near = ti.field(ti.i32, nodes)
        self.tile_touched = ti.field(ti.i32, tiles)
        self.active_tiles = ti.field(ti.i32, tiles)
        self.active_count = ti.field(ti.i32, ())
        self.tiles_across = ti.field(ti.i32, ())
        self.groups = ti.field(ti.i32, ())


def tiles_for(cells):
    """Tiles (across, up) that cover a domain of `cells` (nx, ny) with its margin."""
    return tuple(-(-(count + 2 * MARGIN) // TILE) for count in cells)
