"""The grid's fixed point: its quantum, and why no sum of it can pass 32 bits.

Scale 2^24 a unit: a unit of mass is a cell full of the densest material, a unit of volume a full
cell, a unit of momentum one unit of mass moving one cell a substep. A node is handed matter of the
nine cells around it, of each at most the largest product of two B-spline weights that it has for
that cell's particles, which sum to NODE_REACH. So when the fullest cell holds c fills, and every
particle's factor (an offset, an excess of volume, a displacement) is at most f, no sum passes
c f NODE_REACH. Cells are counted before anything is added, and beyond CROWDING_LIMIT fills of a
cell its particles hand over less; so the bound is kept, not hoped for.
"""

SCALE = 1 << 24
NODE_LIMIT = (1 << 31) / SCALE - 1.0
"""What a node's sum is held below; the last unit is left to rounding."""
NODE_REACH = (1 / 2 + 3 / 4 + 1 / 2) ** 2
"""Most of a cell's matter, in every cell around alike, that a node is handed."""
SCATTER_LIMIT = 8.0
"""Bound of each component of d + A o [cells/substep] that one particle may hand to a node."""
FACTOR_LIMIT = 1.5
"""Bound of what mass and volume are multiplied with: an offset [cells], a liquid's excess J - 1."""
CROWDING_LIMIT = NODE_LIMIT / NODE_REACH / FACTOR_LIMIT
"""Fills of a cell up to which no sum of mass, volume, moment or excess can pass 32 bits."""
SCATTER_CROWDING = NODE_LIMIT / NODE_REACH / SCATTER_LIMIT
"""Fills of a cell up to which SCATTER_LIMIT holds; beyond, it falls as their number rises, down to
FACTOR_LIMIT."""


def quanta(density: float, densest: float, particles_per_cell: int) -> float:
    """Mass of a particle in quanta, of a material among others of which one is the densest."""
    return SCALE * density / densest / particles_per_cell
