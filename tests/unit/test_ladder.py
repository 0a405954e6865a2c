"""Contract of the adaptive time step.

The rungs of a scene are its minimum, the ladder's rungs between, its maximum. The substeps climb at
once to the first rung that suffices, come down one rung at a time, and only after a calm spell that
would also fit the lower rung with room to spare; so they never flicker and never fall short while
the scene's maximum allows. Beyond it the shortage is counted. The limits are those of the state:
dt <= dx / max(|v| + 1.5 dx |C|) always, dt <= dx / c where the scene says acoustic = "bind".
"""

import itertools
import math

import numpy as np
import pytest
from simulations import CELL, array, fill, integer, material, scene, set_array

from app.sim.state import integer_index
from app.sim.timestep import CALM_SHARE, CALM_TICKS, LADDER, ladder_between


@pytest.mark.parametrize(
    ("least", "most", "rungs"),
    [
        (2, 16, [2, 3, 4, 6, 8, 12, 16]),
        (5, 5, [5]),
        (5, 20, [5, 6, 8, 12, 16, 20]),
        (1, 1, [1]),
        (7, 8, [7, 8]),
    ],
)
def test_rungs_of_a_scene(least, most, rungs):
    assert ladder_between(least, most) == rungs


def test_the_ladder_is_fine_enough():
    """No rung costs more than twice what is needed."""
    assert all(later <= 2 * rung for rung, later in itertools.pairwise(LADDER))


class Drive:
    """Feeds rates to a world's ladder, tick after tick, without the rest of the tick."""

    def __init__(self, world, **solver):
        self.sim = world(scene(fill((20, 20), (21, 21), "water"), gravity=(0.0, 0.0), **solver))
        self.time_step = self.sim._solver.time_step

    def tick(self, required):
        """One choice after a tick that needed `required` substeps; the substeps of the next."""
        values = array(self.sim, "integers")
        rate = np.float32(60 * (required - 0.5))
        values[integer_index("peak_rate_bits")] = rate.view(np.int32)
        set_array(self.sim, "integers", values)
        self.time_step.choose(0)
        assert integer(self.sim, "required_substeps") == required
        self.time_step.begin_tick()
        substeps = self.time_step.substeps[None]
        np.testing.assert_allclose(self.sim._dt(), 1 / 60 / substeps, rtol=1e-6)
        return substeps


def test_up_at_once(world):
    drive = Drive(world)
    rungs = ladder_between(2, 16)
    for required in (1, 2, 3, 5, 11, 16):
        assert drive.tick(required) == min(r for r in rungs if r >= required)


def test_down_one_rung_after_each_calm_spell(world):
    drive = Drive(world)
    assert drive.tick(16) == 16
    seen = [drive.tick(1) for _ in range(8 * (CALM_TICKS + 1))]
    steps = [k for k in range(1, len(seen)) if seen[k] != seen[k - 1]]
    assert list(dict.fromkeys(seen)) == [16, 12, 8, 6, 4, 3, 2]
    assert (np.diff(steps) >= CALM_TICKS).all() and steps[0] >= CALM_TICKS - 1
    assert seen[-1] == 2


def test_no_flicker_at_a_rungs_edge(world):
    """A need that swings about a rung, or stays just below one, never brings the ladder down."""
    drive = Drive(world)
    assert drive.tick(9) == 12
    assert {drive.tick(7 + k % 3) for k in range(100)} == {12}
    assert {drive.tick(math.ceil(CALM_SHARE * 8) + 1) for _ in range(100)} == {12}
    assert {drive.tick(6) for _ in range(2 * CALM_TICKS)} == {12, 8}


def test_random_needs_are_always_met(world):
    """Against the contract in words, tick by tick: enough or the maximum, at most one rung down."""
    drive = Drive(world, min_substeps=3, max_substeps=24)
    rungs = ladder_between(3, 24)
    rng = np.random.default_rng(11)
    needs = np.repeat(rng.integers(1, 30, 60), rng.integers(1, 30, 60))[:500]
    before, calm = 3, 0
    for required in needs.tolist():
        now = drive.tick(required)
        assert now >= min(required, 24) and now in rungs
        if now < before:
            assert rungs.index(before) - rungs.index(now) == 1
            assert required <= CALM_SHARE * now and calm >= CALM_TICKS
        # Ticks in a row that would have fitted the rung below what runs now.
        lower = rungs[max(rungs.index(now) - 1, 0)]
        calm = calm + 1 if required <= CALM_SHARE * lower and now == before else 0
        before = now


def test_beyond_the_maximum_the_shortage_is_counted(world):
    drive = Drive(world, max_substeps=4)
    counted = integer(drive.sim, "substeps_limited")
    assert [drive.tick(n) for n in (3, 4, 5, 30, 2)] == [3, 4, 4, 4, 4]
    assert integer(drive.sim, "substeps_limited") - counted == 2


def test_advective_limit_of_a_flight(world):
    """A block of jelly flies and turns: its fastest corner sets max(|v| + 1.5 dx |C|)."""
    speed, spin = 3.0, 20.0
    block = fill((30, 30), (34, 34), "jelly", velocity=(speed, 0.0), angular_velocity=spin)
    sim = world(scene(block, gravity=(0.0, 0.0), edges="open", min_substeps=1, max_substeps=64))
    corner = 1.75 * CELL
    fastest = math.hypot(speed + spin * corner, spin * corner)
    rate = (fastest + 1.5 * CELL * spin * math.sqrt(2)) / CELL
    assert sim.status().required_substeps == math.ceil(rate / 60) == 7
    assert sim.status().advective_dt == pytest.approx(1 / rate, rel=1e-4)
    assert sim.status().binding == "advective"
    sim.step(1)
    assert sim.status().substeps == 8


@pytest.mark.parametrize("acoustic", ["show", "bind"])
def test_acoustic_limit_is_shown_and_binds_only_where_asked(world, acoustic):
    """Bulk modulus 4e4 Pa at 1000 kg/m^3: sound runs 6.32 m/s, 10.54 cells a tick."""
    water = material("water", model="liquid", density=1000.0, bulk_modulus=4e4, viscosity=0.0)
    sim = world(
        scene(water, fill((30, 30), (34, 34), "water"), gravity=(0.0, 0.0), acoustic=acoustic)
    )
    sim.step(2)
    status = sim.status()
    assert status.acoustic_dt == pytest.approx(CELL / math.sqrt(40.0), rel=1e-5)
    assert status.required_substeps == (11 if acoustic == "bind" else 1)
    assert status.binding == ("acoustic" if acoustic == "bind" else "minimum")
    assert status.substeps == (12 if acoustic == "bind" else 2)


def test_the_explicit_method_is_bound_where_it_is_stable(world):
    """At 0.7 cells a substep: 15.1 substeps in place of 10.5.

    Caught: bound at one cell a substep, it exploded.
    """
    water = material("water", model="liquid", density=1000.0, bulk_modulus=4e4, viscosity=0.0)
    keys = {"method": "explicit", "acoustic": "bind", "max_substeps": 32}
    sim = world(scene(water, fill((30, 30), (34, 34), "water"), gravity=(0.0, 0.0), **keys))
    assert sim.status().required_substeps == 16
