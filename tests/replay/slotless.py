"""Worlds compared without regard to the slots in which their particles lie."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from math import prod

import numpy as np

from app.sim.state import FIELDS, LIVE, PARTICLES, SLOTS, integer_index
from app.simulation import Simulation

PARTICLE_FIELDS = [field for field in FIELDS if field.length == PARTICLES]


def slotless_digest(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of a saved state, its live particles as a multiset of all that each of them is.

    Left out is what says where particles lie: the free list and the high water mark.
    """
    live = arrays["status"] == LIVE
    rows = np.concatenate(
        [
            arrays[field.name][live].reshape(live.sum(), prod(field.entry)).view(np.uint8)
            for field in PARTICLE_FIELDS
        ],
        axis=1,
    )
    total = sha256(np.sort(rows.view(f"S{rows.shape[1]}").ravel()).tobytes())
    for field in FIELDS:
        if field.length in (PARTICLES, SLOTS):
            continue
        values = arrays[field.name].copy()
        if field.name == "integers":
            values[integer_index("high_water")] = 0
        total.update(values.tobytes())
    return total.hexdigest()


def loaded_in_other_slots(simulation: Simulation, seed: int) -> Callable[[], np.ndarray]:
    """Move every particle of a fresh world into another slot, now and after every restart.

    The slots are drawn from all of the scene's capacity, and the free list is shuffled too. Returns
    a function that says in which slot each particle is that was loaded, in the order of loading.
    """
    solver = simulation._solver
    chance = np.random.default_rng(seed)
    load = solver.load
    slots = np.arange(0)

    def scramble() -> None:
        nonlocal slots
        arrays = solver.save()
        made = len(arrays["status"])
        order = chance.permutation(solver.capacity)
        slots = order[:made]
        for field in PARTICLE_FIELDS:
            values = arrays[field.name]
            moved = np.zeros((solver.capacity, *field.entry), values.dtype)
            moved[slots] = values
            arrays[field.name] = moved
        arrays["free_slots"][: solver.capacity - made] = order[made:]
        arrays["integers"][integer_index("high_water")] = solver.capacity
        solver.restore(solver.scene, arrays)

    def load_and_scramble(scene, seed) -> None:
        load(scene, seed)
        scramble()

    def close() -> None:
        vars(solver).pop("load", None)
        Simulation.close(simulation)

    scramble()
    solver.load = load_and_scramble
    simulation.close = close
    return lambda: slots
