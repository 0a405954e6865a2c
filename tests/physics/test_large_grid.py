"""Contract: a large grid is worked on completely, checked by the value of every particle.

5,929 particles stand alone, 13 cells apart, on a grid of a million nodes: more than half of all
tiles are touched, over the whole domain. Each falls as theory says, whatever tile it is in.
"""

import numpy as np
from simulations import LARGEST, array, fill, scene, set_array

ALONG = 77


def test_every_particle_of_a_million_nodes_falls(world):
    sim = world(scene(fill((0, 0), (77, 77), "jelly"), cells=LARGEST, particles_per_cell=1))
    assert sim.status().live == ALONG**2
    x = array(sim, "x")
    lattice = np.stack(np.meshgrid(np.arange(ALONG), np.arange(ALONG)), -1).reshape(-1, 2)
    x[: ALONG**2] = 9.0 + 12.9 * lattice
    set_array(sim, "x", x)
    start = sim.positions().astype(np.float64)
    assert start.max() > 9.85 and start.min() < 0.06
    sim.step(2)
    assert sim._solver.grid.active_count[None] > 0.5 * (LARGEST[0] / 8) ** 2
    fallen = start - sim.positions()
    # A position near 1000 cells is rounded to 3e-5 cells in each of the four substeps.
    np.testing.assert_allclose(fallen[:, 1], 9.81 * sim.time**2 / 2, atol=3e-6)
    np.testing.assert_allclose(fallen[:, 0], 0.0, atol=3e-6)
    velocity = sim.velocities()
    np.testing.assert_allclose(velocity[:, 1], -9.81 * sim.time, rtol=1e-4)
    assert not any(sim.status().counters.values())
