"""Contract of emitters and of painting.

An emitter adds area at its rate, counted in whole particles of the tick alone: after n ticks of
free space floor(rate t / area) of them, between its start and its stop. New matter has the
emitter's velocity, lies on free sites of the domain's lattice inside the shape, never in a
collider, never where a site is occupied or a cell holds as much as a rest packing. Beyond the
capacity the overflow is counted and nothing else happens.

Caught: an emitter of more sites than one look takes in emitted its share once for every look.
"""

import numpy as np
import pytest
from simulations import CAPACITY, CELL, LARGEST, array, box, fill, integer, scene, shape

from app import geometry
from app.events import Paint, SetGravity

PARTICLE_AREA = CELL**2 / 4


def emitter(low=(10, 10), high=(30, 30), **values):
    keys = box(low, high) | {"material": "water", "rate": 0.1} | values
    return shape("emitter", "box", **keys)


def lattice_sites(points):
    """Sub-cells (n, 2) of points [m]."""
    return np.floor(points / (CELL / 2)).astype(int)


def expect_one_particle_a_site(points):
    sites = lattice_sites(points)
    assert len(np.unique(sites, axis=0)) == len(sites)


def test_the_rate_is_an_area_per_second(world):
    rate = 0.0173
    drain = shape("drain", "half_plane", center=(0.32, 0.055), normal=(0.0, 1.0))
    sim = world(scene(emitter(rate=rate, speed=3.0), drain, edges="open", max_substeps=8))
    for tick in range(1, 61):
        sim.step(1)
        exact = int(np.floor(rate / 60 / PARTICLE_AREA * tick))
        assert integer(sim, "emitted") == exact
    assert exact == 691 and integer(sim, "capacity_reached") == 0


def test_from_start_to_stop_and_with_its_velocity(world):
    drawn = emitter(rate=0.05, speed=2.0, direction=(3.0, 4.0), start=0.1, stop=0.2)
    sim = world(scene(drawn, gravity=(0.0, 0.0), edges="open", min_substeps=4))
    emitted = []
    for _ in range(15):
        sim.step(1)
        emitted.append(integer(sim, "emitted"))
    assert emitted[5] == 0 < emitted[6] and emitted[11] == emitted[14]
    velocity = sim.velocities()
    np.testing.assert_allclose(velocity.mean(0), (1.2, 1.6), atol=0.02)
    momentum = sim.aggregates().momentum
    mass = emitted[-1] * 1000 * PARTICLE_AREA
    np.testing.assert_allclose(momentum, (1.2 * mass, 1.6 * mass), rtol=1e-4)


def test_never_into_occupied_space(world):
    """An emitter over a block at rest, faster than it can place: one particle a site, and no more
    than a rest packing in a cell, although everything is pressed together by a wind."""
    block = fill((12, 12), (20, 20), "water")
    sim = world(scene(block, emitter(rate=5.0), gravity=(3.0, -5.0), cells=(32, 32)))
    occupied = set(map(tuple, lattice_sites(sim.positions())))
    sim._solver._run_emitters()
    points = sim.positions()
    expect_one_particle_a_site(points)
    new = set(map(tuple, lattice_sites(points))) - occupied
    assert len(new) == integer(sim, "emitted") - 256 > 300
    for _ in range(30):
        before = integer(sim, "high_water")
        old = sim.positions()
        cells = np.floor(old / CELL).astype(int) + 1
        crowd = np.zeros((34, 34), int)  # matter may rest a little beyond an edge
        np.add.at(crowd, tuple(cells.T), 1)
        sim._solver._run_emitters()
        fresh = (array(sim, "x")[before : integer(sim, "high_water")] - 4) * CELL
        fresh_cells = np.floor(fresh / CELL).astype(int) + 1
        assert (crowd[tuple(fresh_cells.T)] < 4).all()
        taken = set(map(tuple, lattice_sites(old)))
        assert not taken & set(map(tuple, lattice_sites(fresh)))
        expect_one_particle_a_site(fresh)
        sim.step(1)


def test_never_into_colliders_and_only_inside_the_shape(world):
    collider = shape("collider", "circle", center=(0.2, 0.2), radius=0.06)
    sim = world(scene(emitter(rate=50.0), collider, gravity=(0.0, 0.0)))
    sim._solver._run_emitters()
    drawn, ball = sim.scene.shapes
    points = sim.positions()
    sites = (lattice_sites(points) + 0.5) * CELL / 2
    assert (geometry.signed_distance(drawn, sites) < 0).all()
    assert (geometry.signed_distance(ball, sites) >= 0).all()
    expected = geometry.signed_distance(ball, _all_sites((10, 10), (30, 30))) >= 0
    assert len(points) == expected.sum()


def _all_sites(low, high):
    x, y = np.meshgrid(np.arange(2 * low[0], 2 * high[0]), np.arange(2 * low[1], 2 * high[1]))
    return (np.stack([x.ravel(), y.ravel()], 1) + 0.5) * CELL / 2


@pytest.mark.parametrize("kind", ["circle", "polygon", "capsule"])
def test_every_kind_fills_itself(world, kind):
    keys = {
        "circle": {"radius": 0.11},
        "polygon": {"points": [(-0.1, -0.1), (0.12, -0.05), (0.0, 0.13)]},
        "capsule": {"half_length": 0.1, "radius": 0.03, "angle": 30.0},
    }[kind]
    drawn = shape("emitter", kind, center=(0.3, 0.3), material="water", rate=50.0, **keys)
    sim = world(scene(drawn, gravity=(0.0, 0.0)))
    sim._solver._run_emitters()
    inside = geometry.signed_distance(sim.scene.shapes[0], _all_sites((0, 0), (64, 64)))
    clear = np.abs(inside) > 1e-5  # a site on the outline itself may go either way
    assert (inside[clear] < 0).sum() <= sim.status().emitted <= (inside < 1e-5).sum()


def test_a_large_emitter_keeps_its_rate(world):
    """The emitter covers a domain of 4,000,000 sites, many times what one look takes in."""
    rate = 1.5
    drawn = emitter((0, 0), LARGEST, rate=rate)
    sim = world(scene(drawn, cells=LARGEST, gravity=(0.0, 0.0)))
    for tick in (1, 2):
        sim._solver._run_emitters()
        assert integer(sim, "emitted") == tick * int(rate / 60 / PARTICLE_AREA)
    expect_one_particle_a_site(sim.positions())


def test_a_full_world_counts_and_goes_on(world):
    """A fill takes all but 400 slots; the emitter wants more than that, every tick."""
    sim = world(
        scene(
            fill((0, 0), (40, 35), "water"),
            emitter((0, 45), (60, 60), rate=0.06, speed=0.5),
            cells=(64, 64),
        )
    )
    wanted = 0.06 / 60 / PARTICLE_AREA  # 40 a tick
    sim.step(30)
    status = sim.status()
    assert status.live == CAPACITY and status.free == 0
    assert status.counters["capacity_reached"] == 30 * wanted - 400
    sim.apply(Paint("water", (0.55, 0.2), 0.05))
    sim.step(1)
    assert sim.status().counters["capacity_reached"] > 31 * wanted - 400
    assert sim.status().live == CAPACITY and np.isfinite(sim.positions()).all()


def test_fills_beyond_the_capacity_are_cut_and_counted(world):
    sim = world(scene(fill((0, 0), (64, 32), "water")))
    assert sim.status().live == CAPACITY
    assert sim.status().counters["capacity_reached"] == 64 * 32 * 4 - CAPACITY
    sim.step(1)
    assert sim.status().live == CAPACITY


def test_painted_matter_rests_and_a_second_stroke_adds_nothing(world):
    sim = world(scene(fill((1, 1), (2, 2), "jelly"), gravity=(0.0, 0.0)))
    sim.apply(SetGravity((0.0, 0.0)))
    sim.apply(Paint("jelly", (0.3, 0.3), 0.1))
    sim.step(1)
    live = sim.status().live
    points = sim.positions()[4:]
    away = np.linalg.norm((lattice_sites(points) + 0.5) * CELL / 2 - 0.3, axis=1)
    assert away.max() < 0.1 and abs(live - 4 - np.pi * 0.1**2 / PARTICLE_AREA) < 30
    assert not sim.velocities().any()
    sim.apply(Paint("jelly", (0.3, 0.3), 0.1))
    sim.step(1)
    assert sim.status().live == live


def test_the_seed_scatters_loose_matter_and_spares_elastic(world):
    def made(material, seed):
        drawn = emitter(material=material, rate=50.0)
        sim = world(scene(drawn, gravity=(0.0, 0.0)), seed=seed)
        sim._solver._run_emitters()
        return sim.positions()

    assert not np.array_equal(made("sand", 1), made("sand", 2))
    assert np.array_equal(made("sand", 1), made("sand", 1))
    jelly = made("jelly", 1)
    np.testing.assert_allclose(jelly / (CELL / 2) % 1.0, 0.5, atol=1e-3)
