"""Everything that physics remembers from one tick to the next, in one canonical order.

Digest, restart, comparison and (later) snapshots walk `State.arrays`; an array that is not listed
there cannot influence a later tick. Particles are index-stable: a slot keeps its particle until
the particle leaves, and a free slot holds zeros, so equal worlds have equal bits.
"""

import taichi as ti

FREE, LIVE, LEAVING = 0, 1, 2

COUNTERS = (
    "node_displacement_capped",
    "gradient_capped",
    "scatter_clamped",
    "node_overfull",
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
    *COUNTERS,
)
FLOATS = ("dt", "gravity_x", "gravity_y", "damping")

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


class State:
    """Particle arrays of `capacity` slots, the free list, what emitters owe, counters and edited
    parameters.

    Positions [cells, with the grid's margin], displacements [cells/substep], displacement
    gradients [1/substep], deformation gradients, volume ratios J and plastic scalars.
    """

    def __init__(self, capacity):
        self.capacity = capacity
        self.x = ti.Vector.field(2, ti.f32, capacity)
        self.displacement = ti.Vector.field(2, ti.f32, capacity)
        self.displacement_gradient = ti.Matrix.field(2, 2, ti.f32, capacity)
        self.deformation_gradient = ti.Matrix.field(2, 2, ti.f32, capacity)
        self.volume_ratio = ti.field(ti.f32, capacity)
        self.plastic = ti.field(ti.f32, capacity)
        self.material = ti.field(ti.i32, capacity)
        self.group = ti.field(ti.i32, capacity)
        self.status = ti.field(ti.i32, capacity)
        self.free_slots = ti.field(ti.i32, capacity)
        self.emitter_debt = ti.field(ti.i32, MAX_SHAPES)
        self.integers = ti.field(ti.i32, len(INTEGERS))
        self.floats = ti.field(ti.f32, len(FLOATS))
        self.material_model = ti.field(ti.i32, MAX_MATERIALS)
        self.material_parameters = ti.Vector.field(len(MATERIAL_PARAMETERS), ti.f32, MAX_MATERIALS)

    @property
    def arrays(self):
        """The canonical list: name -> field, particles first."""
        return {
            "x": self.x,
            "displacement": self.displacement,
            "displacement_gradient": self.displacement_gradient,
            "deformation_gradient": self.deformation_gradient,
            "volume_ratio": self.volume_ratio,
            "plastic": self.plastic,
            "material": self.material,
            "group": self.group,
            "status": self.status,
            "free_slots": self.free_slots,
            "emitter_debt": self.emitter_debt,
            "integers": self.integers,
            "floats": self.floats,
            "material_model": self.material_model,
            "material_parameters": self.material_parameters,
        }


def integer_index(name):
    """Place of a named integer in `State.integers`."""
    return INTEGERS.index(name)


def float_index(name):
    """Place of a named number in `State.floats`."""
    return FLOATS.index(name)


def parameter_index(name):
    """Column of a named parameter in `State.material_parameters`."""
    return MATERIAL_PARAMETERS.index(name)
