"""What a saved state must be before it may be restored: its layout, and its soundness.

A snapshot's file may come from anybody. Kernels use what is in it as indices without looking, so
everything that could lead one out of its arrays is refused here, before any device sees it.
"""

import hashlib
import json

import numpy as np

from app.errors import SnapshotError
from app.sim.grid import MARGIN
from app.sim.materials import MODELS
from app.sim.state import (
    FAR,
    FIELDS,
    FLOATS,
    FREE,
    INTEGERS,
    LIVE,
    MATERIAL_PARAMETERS,
    NO_SLOT,
    NONFINITE_FIELDS,
    PARTICLES,
    SLOTS,
    float_index,
)
from app.sim.timestep import ladder_between

MOST_DEBT = 1 << 30
"""Particles that an emitter may owe: with a tick's share they stay below 32 bits."""


def layout_hash():
    """16 hex digits over the names, types, shapes and order of all that a saved state holds."""
    layout = [list(FIELDS), INTEGERS, FLOATS, MATERIAL_PARAMETERS, MODELS]
    return hashlib.sha256(json.dumps(layout).encode()).hexdigest()[:16]


def expected_arrays(high_water, capacity):
    """Name -> (dtype, shape) of each array of a saved state, in canonical order."""
    rows = {PARTICLES: high_water, SLOTS: capacity}
    return {
        field.name: (field.dtype, (rows.get(field.length, field.length), *field.entry))
        for field in FIELDS
    }


def expect_sound(scene, seed, arrays):
    """Raise SnapshotError unless a state of the expected shapes can be one of `scene`."""
    integers = dict(zip(INTEGERS, arrays["integers"].tolist(), strict=True))
    _expect_numbers(scene, seed, integers, arrays)
    _expect_slots(scene, integers, arrays)
    _expect_places(scene, arrays)


def _expect_numbers(scene, seed, integers, arrays):
    solver = scene.solver
    rungs = ladder_between(solver.min_substeps, solver.max_substeps)
    bounds = {
        "tick": (0, (1 << 31) - 2),
        "capacity": (solver.capacity, solver.capacity),
        "high_water": (len(arrays["status"]), len(arrays["status"])),
        "free_count": (0, solver.capacity),
        "leaving": (0, 0),
        "ladder_rung": (0, len(rungs) - 1),
        "peak_rate_bits": (0, 0),
        "nonfinite_fields": (0, (1 << len(NONFINITE_FIELDS)) - 1),
    }
    for name, (low, high) in bounds.items():
        _expect(low <= integers[name] <= high, f"{name} is {integers[name]}")
    nonfinite = integers["nonfinite_slot"]
    known = nonfinite == 0 or 0 <= NO_SLOT - nonfinite < solver.capacity
    _expect(known, f"nonfinite_slot is {nonfinite}")
    debt = arrays["emitter_debt"]
    _expect(bool(((debt >= 0) & (debt <= MOST_DEBT)).all()), "an emitter owes what none can")
    _expect(integers["seed"] & 0xFFFFFFFF == seed, "the seeds of header and state differ")
    dt = float(arrays["floats"][float_index("dt")])
    substeps = 1.0 / (dt * solver.tick_rate) if dt > 1e-9 else 0.0
    _expect(any(abs(substeps - rung) < 1e-3 * rung for rung in rungs), f"dt is {dt:g} s")


def _expect_slots(scene, integers, arrays):
    """Each slot once: live, or in the list of free ones."""
    status = arrays["status"]
    live = np.flatnonzero(status == LIVE)
    _expect(bool(((status == FREE) | (status == LIVE)).all()), "a particle is neither live nor not")
    free = arrays["free_slots"][: integers["free_count"]]
    taken = np.zeros(scene.solver.capacity, bool)
    taken[live] = True
    within = bool(((free >= 0) & (free < len(taken))).all())
    _expect(within and not taken[free].any(), "a slot in the free list is not free")
    taken[free] = True
    _expect(bool(taken.all()) and len(live) + len(free) == len(taken), "slots are lost or doubled")
    for name, count in (("material", len(scene.materials)), ("group", scene.groups)):
        values = arrays[name]
        _expect(bool(((values >= 0) & (values < count)).all()), f"a particle's {name} is none")


def _expect_places(scene, arrays):
    """Positions on the grid; what is no number, or beyond FAR, leaves before it is looked up."""
    x = arrays["x"][arrays["status"] == LIVE]
    reach = 0.5 * MARGIN
    upper = np.asarray(scene.domain.cells) + MARGIN + reach
    with np.errstate(invalid="ignore", over="ignore"):
        lost = ~(np.abs(x).sum(1) < FAR)
        inside = ((x >= MARGIN - reach) & (x <= upper)).all(1)
    _expect(bool((lost | inside).all()), "a particle lies outside the grid")


def _expect(holds, fault):
    if not holds:
        raise SnapshotError(f"not a state of its scene: {fault}")
