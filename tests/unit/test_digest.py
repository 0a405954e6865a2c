"""Contract of the digests.

One digest a field: a bit that flips anywhere in a field is seen and names that field and no other;
two particles that change places are seen; the same state has the same digest whatever room the
solver has beside it, and slots that were never used have no say.

Caught: the digest of the free list looked at the wrong end of the list where a solver had more room
than its scene asked for, and depended on that room. In a world with as many slots as there are
records, records counted as particles.
"""

import numpy as np
import pytest
from simulations import CAPACITY, array, fill, integer, scene, set_array, shape

from app.events import Erase
from app.sim.digest import Digest
from app.sim.state import INTEGERS, State

PARTICLE_FIELDS = (
    "x",
    "displacement",
    "displacement_gradient",
    "deformation_gradient",
    "volume_ratio",
    "plastic",
    "material",
    "status",
)


@pytest.fixture
def played(world):
    """A world with every material, holes in its slots, and a few ticks behind it."""
    sim = world(
        scene(
            fill((2, 2), (12, 12), "water", velocity=(0.5, 0.2)),
            fill((14, 2), (24, 12), "jelly", angular_velocity=2.0),
            fill((26, 2), (36, 12), "sand", velocity=(-0.3, 0.0)),
            fill((38, 2), (48, 12), "putty"),
            shape("drain", "circle", center=(0.3, 0.05), radius=0.02),
        )
    )
    sim.step(5)
    sim.apply(Erase((0.07, 0.07), 0.03))
    sim.step(2)
    return sim


def flipped(sim, name, place, bit):
    """Flip one bit of a field; returns what differs then. The bit is put back."""
    before = sim.digests()
    values = array(sim, name)
    words = values.copy()
    words.reshape(-1).view(np.uint32)[place] ^= np.uint32(1 << bit)
    set_array(sim, name, words)
    after = sim.digests()
    set_array(sim, name, values)
    assert sim.digests() == before
    return [field for field in before if before[field] != after[field]]


@pytest.mark.parametrize("name", PARTICLE_FIELDS)
def test_a_flipped_bit_of_any_particle_names_its_field(played, name):
    rng = np.random.default_rng(9)
    high_water = integer(played, "high_water")
    width = array(played, name)[0].size
    for _ in range(12):
        place, bit = rng.integers(high_water * width), int(rng.integers(32))
        assert flipped(played, name, place, bit) == [name], (place, bit)
    for place in (0, high_water * width - 1):
        assert flipped(played, name, place, 0) == [name]


@pytest.mark.parametrize(
    "name", ["integers", "floats", "material_model", "material_parameters", "free_slots"]
)
def test_a_flipped_bit_of_the_rest_names_its_field(played, name):
    rng = np.random.default_rng(10)
    places = range(array(played, name).size)
    if name == "integers":
        # Not those that say how far the slots reach: what is looked at changes with them.
        places = [k for k, n in enumerate(INTEGERS) if n not in ("high_water", "capacity")]
    if name == "free_slots":
        # From the slots that are in use, or were, the list tells which come next.
        used = CAPACITY - integer(played, "high_water")
        places = range(used, integer(played, "free_count"))
        assert len(places) > 20
    for place in [*rng.choice(places, 12), places[0], places[-1]]:
        bit = int(rng.integers(32))
        assert flipped(played, name, place, bit) == [name], (place, bit)


def test_two_particles_that_change_places_are_seen(played):
    before = played.digests()
    status = array(played, "status")
    one, other = np.flatnonzero(status == 1)[[3, 1200]]
    assert array(played, "material")[one] != array(played, "material")[other]
    for name in PARTICLE_FIELDS:
        values = array(played, name)
        values[[one, other]] = values[[other, one]]
        set_array(played, name, values)
    after = played.digests()
    seen = {name for name in before if before[name] != after[name]}
    assert seen >= {"x", "displacement", "deformation_gradient", "material"}
    assert seen <= set(PARTICLE_FIELDS)


def test_slots_never_used_have_no_say(played):
    before = played.digests()
    for name in PARTICLE_FIELDS:
        values = array(played, name)
        values[integer(played, "high_water") :] = 1
        set_array(played, name, values)
    assert played.digests() == before


@pytest.mark.parametrize("capacity", [4, 64])
def test_a_world_with_as_many_slots_as_another_field_has_entries(cpu, capacity):
    state = State(capacity)
    digest = Digest(state)
    for field in state.arrays.values():
        field.fill(0)
    state.integers[INTEGERS.index("capacity")] = capacity
    state.integers[INTEGERS.index("high_water")] = 2
    before = digest.compute()
    state.floats[3] = 0.5
    state.material_model[40] = 1
    state.x[2].x = 1.0  # never used
    after = digest.compute()
    assert [n for n in before if before[n] != after[n]] == ["floats", "material_model"]


def test_digests_are_hexadecimal_and_combined(played):
    digests = played.digests()
    assert all(len(value) == 16 and int(value, 16) >= 0 for value in digests.values())
    whole = played.digest()
    assert len(whole) == 16 and int(whole, 16) >= 0
    played.step(1)
    assert played.digest() != whole
