"""Contract: a particle that is no number leaves the world, counted and named, and touches nothing.

Everything else goes on bit for bit as in a world in which that slot had been empty all along.

Caught: a NaN that was there when a substep began was handed to the grid as the largest number that
one particle may hand over, and threw its neighbours about; a NaN position was used as an index.
"""

import numpy as np
import pytest
from simulations import array, fill, integer, scene, set_array

VICTIM = 137
FIELDS = ("x", "displacement", "displacement_gradient", "deformation_gradient")


def falling(world, material):
    sim = world(scene(fill((20, 20), (32, 32), material, velocity=(0.3, -0.5))))
    sim.step(3)
    return sim


@pytest.mark.parametrize(
    ("material", "field", "value"),
    [
        *[("jelly", field, np.nan) for field in FIELDS],
        ("jelly", "deformation_gradient", np.inf),
        ("jelly", "x", -np.inf),
        ("water", "volume_ratio", np.nan),
        ("sand", "plastic", np.nan),
    ],
)
def test_it_leaves_alone(world, material, field, value):
    sim = falling(world, material)
    status = array(sim, "status")
    status[VICTIM] = 0
    set_array(sim, "status", status)
    sim.step(5)
    expected = {name: array(sim, name) for name in sim._solver.state.arrays}

    sim = falling(world, material)
    live = sim.status().live
    values = array(sim, field)
    values.reshape(len(values), -1)[VICTIM, 0] = value
    set_array(sim, field, values)
    sim.step(5)
    assert sim.status().counters["nonfinite_removed"] == 1
    assert sim.status().nonfinite == (VICTIM, (field,))
    assert sim.status().live == live - 1 and integer(sim, "drained") == 1
    others = array(sim, "status") == 1
    assert others.sum() == live - 1 and not others[VICTIM]
    for name in (*FIELDS, "volume_ratio", "plastic", "material"):
        got = array(sim, name)
        assert got[others].tobytes() == expected[name][others].tobytes(), name
        assert not got[VICTIM].any(), name


def test_a_whole_cloud_of_them(world):
    """Half of the matter is no number; the other half falls as if alone."""
    sim = falling(world, "sand")
    values = array(sim, "displacement")
    lost = np.arange(0, 576, 2)
    values[lost] = np.nan
    set_array(sim, "displacement", values)
    sim.step(5)
    assert sim.status().counters["nonfinite_removed"] == len(lost)
    assert sim.status().live == 576 - len(lost)
    speed = -0.5 - 9.81 * 8 / 60
    np.testing.assert_allclose(sim.velocities().mean(0), (0.3, speed), atol=1e-5)


def test_the_first_ones_are_named(world):
    """The lowest slot of the first substep that had any, whatever comes later."""
    sim = falling(world, "jelly")
    assert sim.status().nonfinite is None
    for slots, field in (((40, 30, 90), "plastic"), ((5,), "x")):
        values = array(sim, field)
        values.reshape(len(values), -1)[list(slots), 0] = np.nan
        set_array(sim, field, values)
        sim.step(1)
        assert sim.status().nonfinite == (30, ("plastic",))
    assert sim.status().counters["nonfinite_removed"] == 4
    copy = sim.snapshot()
    sim.restore(copy)
    assert sim.status().nonfinite == (30, ("plastic",))
