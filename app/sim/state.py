"""Everything that physics remembers from one tick to the next, in one canonical order.

Digest, restart, comparison and snapshots walk `FIELDS`; an array that is not listed there cannot
influence a later tick. Particles are index-stable: a slot keeps its particle until
the particle leaves, and a free slot holds zeros, so equal worlds have equal bits.
"""

from typing import NamedTuple

import taichi as ti

FREE, LIVE, LEAVING = 0, 1, 2

COUNTERS = (
    "node_displacement_capped",
    "gradient_capped",
    "scatter_clamped",
    "cell_overfull",
    "transfer_unbalanced",
    "position_clamped",
    "deformation_clamped",
    "nonfinite_removed",
    "capacity_reached",
    "emission_refused",
    "substeps_limited",
)
"""Every clamp and overflow, counted since the last (re)start; each is shown when it is not zero."""

INTEGERS = (
    "tick",
    "seed",
    "capacity",
    "high_water",
    "free_count",
    "emitted",
    "drained",
    "leaving",
    "ladder_rung",
    "ladder_calm",
    "required_substeps",
    "peak_rate_bits",
    "nonfinite_slot",
    "nonfinite_fields",
    *COUNTERS,
)
NONFINITE_FIELDS = (
    "x",
    "displacement",
    "displacement_gradient",
    "deformation_gradient",
    "volume_ratio",
    "plastic",
)
"""Fields that can become no number. `nonfinite_slot` is NO_SLOT less the lowest slot that had one
in the first substep with any, 0 while there was none; `nonfinite_fields` has their bits."""
NO_SLOT = 1 << 30
FAR = 1e30
"""Beyond this a value is taken for no number, before a place is used as an index."""
FLOATS = ("dt", "gravity_x", "gravity_y", "damping", "advective_rate", "acoustic_rate")
"""The rates [1/s] are the last tick's: no later tick depends on them, but the CFL monitor does."""

MATERIAL_PARAMETERS = (
    "mass",
    "mu",
    "lam",
    "bulk",
    "viscosity",
    "yield_strain",
    "friction_slope",
    "cohesion_strain",
    "compression",
    "stretch",
    "hardening",
)
"""Per record, in grid units: mass of a particle relative to a cell of the densest material; moduli
over density and squared cell size [1/s^2]; viscosity likewise [1/s]; the rest without dimension."""

MAX_MATERIALS = 64
MAX_SHAPES = 256

PARTICLES, SLOTS = "particles", "slots"


class Field(NamedTuple):
    """One array of the state. `entry` is the shape of an entry; `length` a number of entries,
    PARTICLES (one a slot, zero in a free one) or SLOTS (one a slot, the free list)."""

    name: str
    dtype: str
    entry: tuple[int, ...]
    length: int | str


FIELDS = (
    Field("x", "float32", (2,), PARTICLES),
    Field("displacement", "float32", (2,), PARTICLES),
    Field("displacement_gradient", "float32", (2, 2), PARTICLES),
    Field("deformation_gradient", "float32", (2, 2), PARTICLES),
    Field("volume_ratio", "float32", (), PARTICLES),
    Field("plastic", "float32", (), PARTICLES),
    Field("material", "int32", (), PARTICLES),
    Field("group", "int32", (), PARTICLES),
    Field("status", "int32", (), PARTICLES),
    Field("free_slots", "int32", (), SLOTS),
    Field("emitter_debt", "int32", (), MAX_SHAPES),
    Field("integers", "int32", (), len(INTEGERS)),
    Field("floats", "float32", (), len(FLOATS)),
    Field("material_model", "int32", (), MAX_MATERIALS),
    Field("material_parameters", "float32", (len(MATERIAL_PARAMETERS),), MAX_MATERIALS),
)
"""The canonical order: particles first, then the free list."""


class State:
    """Particle arrays of `capacity` slots, the free list, what emitters owe, counters and edited
    parameters.

    Positions [cells, with the grid's margin], displacements [cells/substep], displacement
    gradients [1/substep], deformation gradients, volume ratios J and plastic scalars.
    """

    def __init__(self, capacity):
        self.capacity = capacity
        self.arrays = {field.name: _allocated(field, capacity) for field in FIELDS}
        """The canonical list: name -> Taichi field, also an attribute of that name."""
        vars(self).update(self.arrays)


def _allocated(field, capacity):
    """The Taichi field of a Field."""
    length = capacity if field.length in (PARTICLES, SLOTS) else field.length
    dtype = getattr(ti, field.dtype)
    if len(field.entry) == 2:
        return ti.Matrix.field(*field.entry, dtype, length)
    if len(field.entry) == 1:
        return ti.Vector.field(*field.entry, dtype, length)
    return ti.field(dtype, length)


def integer_index(name):
    """Place of a named integer in `State.integers`."""
    return INTEGERS.index(name)


def float_index(name):
    """Place of a named number in `State.floats`."""
    return FLOATS.index(name)


def parameter_index(name):
    """Column of a named parameter in `State.material_parameters`."""
    return MATERIAL_PARAMETERS.index(name)
