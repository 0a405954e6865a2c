"""Contract: under `explicit` sound sets the substeps by itself, and there the method is stable.

Caught: the acoustic limit bound only where the scene also said `acoustic = "bind"`, so an explicit
scene without that line ran at its minimum of substeps and exploded.
The wrong variant, a maximum of substeps below the limit, must explode as far as the clamps let it,
and be counted.
"""

import numpy as np
from simulations import CELL, fill, scene

JELLY = "jelly"
TICKS = 30
DROP = 0.02  # m: how far the block falls onto the floor


def dropped(world, max_substeps):
    parts = [fill((20, 2), (36, 18), JELLY)]
    return world(scene(*parts, method="explicit", min_substeps=1, max_substeps=max_substeps))


def test_sound_sets_the_substeps_and_the_block_stays_whole(world):
    sim = dropped(world, 64)
    sim.step(TICKS)
    status = sim.status()
    (jelly,) = status.materials
    assert status.binding == "acoustic"
    assert jelly.acoustic_cfl <= 0.7 * (1 + 1e-6)
    assert status.substeps < 64
    assert not any(status.counters.values())
    assert np.abs(sim.velocities()).max() < 2 * np.sqrt(2 * 9.81 * DROP)
    height = np.ptp(sim.positions()[:, 1])
    assert 0.8 * 16 * CELL < height < 1.1 * 16 * CELL


def test_fewer_substeps_explode_against_the_clamps_and_are_counted(world):
    sim = dropped(world, 3)
    sim.step(TICKS)
    counters = sim.status().counters
    assert counters["substeps_limited"] >= TICKS
    assert counters["gradient_capped"] > 10_000
    assert not 0.8 * 16 * CELL < np.ptp(sim.positions()[:, 1]) < 1.1 * 16 * CELL
