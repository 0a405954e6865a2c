"""Contract of emitters and of painting.

An emitter adds area at its rate, counted in whole particles: after n ticks of free space
floor(rate t / area) of them, between its start and its stop. New matter has the emitter's velocity
and lies inside the shape, or as far beyond as the flow takes it in a tick, on free sites of a
lattice that moves with the flow: an even stream, however thick or thin the emitter is. It is never
in a collider or behind one, nor where the matter around leaves no room for a particle, nor is any
made while a shape holds as many as it has sites. Painting keeps the same rules. What an emitter
cannot emit it owes, up to a tick's share and a row of sites; the rest is counted and given up.
Beyond the capacity the overflow is counted and nothing else happens.

Caught: an emitter of more sites than one look takes in emitted its share once for every look.
Single cells were looked at, and a full box of water with an emitter in it grew from 6400 particles
to 12149 in 5 s. An emitter thicker than what the flow moves in a tick emitted bursts with gaps.
"""

import numpy as np
import pytest
import taichi as ti
from simulations import CAPACITY, CELL, LARGEST, array, box, fill, integer, material, scene, shape

from app import geometry
from app.events import Erase, Paint, SetGravity
from app.sim.population import MAX_SITES, even_place

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


def bspline(distance):
    d = np.abs(distance)
    return np.where(d < 0.5, 0.75 - d * d, 0.5 * np.maximum(1.5 - d, 0.0) ** 2)


def measure(points, sites):
    """Rest volume of `points` (n, 2) as a grid node at each of `sites` (k, 2) would see it."""
    apart = (sites[:, None, :] - points[None, :, :]) / CELL
    return bspline(apart).prod(2).sum(1) / 4


OWN = 0.75**2 / 4
"""What a particle adds to the measure of its own site."""


def test_never_into_occupied_space(world):
    """An emitter over a block at rest, faster than it can place, while a wind presses everything
    together: one particle a site, and only where the measure leaves room for most of it."""
    block = fill((12, 12), (20, 20), "water")
    sim = world(scene(block, emitter(rate=5.0), gravity=(3.0, -5.0), cells=(32, 32)))
    occupied = set(map(tuple, lattice_sites(sim.positions())))
    sim._solver._run_emitters()
    points = sim.positions()
    expect_one_particle_a_site(points)
    new = set(map(tuple, lattice_sites(points))) - occupied
    assert len(new) == integer(sim, "emitted") - 256 > 300
    made = 0
    for _ in range(30):
        before = integer(sim, "high_water")
        old = sim.positions()
        sim._solver._run_emitters()
        fresh = (array(sim, "x")[before : integer(sim, "high_water")] - 4) * CELL
        made += len(fresh)
        taken = set(map(tuple, lattice_sites(old)))
        assert not taken & set(map(tuple, lattice_sites(fresh)))
        expect_one_particle_a_site(fresh)
        sites = (lattice_sites(fresh) + 0.5) * CELL / 2
        for k in range(len(fresh)):  # in the order in which they were admitted
            around = np.concatenate([old, sites[:k]])
            assert measure(around, sites[k : k + 1]) < 1.0 - 0.7 * OWN
        sim.step(1)
    assert made > 100


def soft(base):
    """Matter whose stiffness these steps resolve, and that its own weight hardly squeezes."""
    stiffness = {"bulk_modulus": 2e4} if base == "water" else {"youngs_modulus": 2e4}
    return material("m", base, **stiffness)


@pytest.mark.parametrize("base", ["water", "plasticine", "sand"])
def test_a_full_box_stays_full(world, base):
    """The emitter covers a closed box of matter, which first swings down and leaves a gap."""
    inside = emitter((1, 1), (35, 35), material="m", rate=0.3)
    parts = soft(base), fill((0, 0), (36, 36), "m"), inside
    sim = world(scene(*parts, cells=(36, 36), gravity=(0.0, -2.0), min_substeps=8))
    for _ in range(12):
        sim.step(10)
        assert sim.status().live <= 1.03 * 36 * 36 * 4
    assert sim.status().counters["emission_refused"] > 0


def test_a_blocked_emitter_begins_again_when_there_is_room_and_makes_no_burst(world):
    rate = 0.05
    share = rate / 60 / PARTICLE_AREA
    inside = emitter((0, 0), (30, 30), material="water", rate=rate)
    block = fill((0, 0), (30, 30), "water")
    sim = world(scene(block, inside, cells=(30, 30), gravity=(0.0, 0.0)))
    sim.step(60)
    blocked = sim.status().emitted
    assert blocked - 3600 < 30
    sim.apply(Erase((0.15, 0.15), 0.08))
    sim.step(1)
    emitted = [sim.status().emitted]
    hole = int(sim.status().drained)
    assert hole > 700
    for _ in range(60):
        sim.step(1)
        emitted.append(sim.status().emitted)
    # It owes a tick's share and a row of the emitter's 60 sites at the most.
    assert max(np.diff([blocked, *emitted])) <= 2 * share + 60 + 2
    assert 0.9 * hole < emitted[-1] - blocked < 1.05 * hole


STREAMS = [
    # thickness along the flow [cells], speed [m/s], direction
    (1.0, 1.2, (0.0, -1.0)),
    (6.0, 1.2, (0.0, -1.0)),
    (0.2, 1.2, (1.0, 0.0)),
    (6.0, 0.77, (-1.0, 0.0)),
    (0.2, 0.77, (0.0, 1.0)),
    (6.0, 0.6, (0.0, -1.0)),
]


@pytest.mark.parametrize(("thickness", "speed", "direction"), STREAMS)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_even_stream_from_thick_and_thin_emitters(world, thickness, speed, direction, share):
    """Weightless, at the rate that speed and width give, and at half of it: a stream without gaps
    or lumps, slice by slice of two cells."""
    along = np.abs(direction)
    half = CELL / 2 * (thickness * along + 10 * (1 - along))
    center = np.array((0.32, 0.32)) - 0.25 * np.array(direction)
    drawn = shape(
        "emitter",
        "box",
        center=center,
        half_size=half,
        material="water",
        rate=0.1 * speed * share,
        speed=speed,
        direction=direction,
    )
    sim = world(scene(drawn, gravity=(0.0, 0.0), edges="open", min_substeps=4))
    ticks = int(0.4 / speed * 60)
    sim.step(ticks)
    wanted = 0.1 * speed * share * ticks / 60 / PARTICLE_AREA
    # The last row may be owed.
    assert abs(sim.status().emitted - wanted) <= 0.02 * wanted + 20
    way = (sim.positions() - center) @ np.array(direction)
    edges = np.arange(thickness / 2 * CELL + speed / 60, speed * (ticks - 3) / 60, 2 * CELL)
    slices, _ = np.histogram(way, edges)
    assert len(slices) > 8
    rest = 2 * 10 * 4 * share
    assert abs(slices.mean() / rest - 1.0) < 0.03
    # A row of 20 sites more or less lies in a slice of four.
    assert np.abs(slices - rest).max() <= 20 * share + 1


def test_a_thin_emitter_shoots_nothing_through_a_wall(world):
    """What leaves a thin emitter in a tick is made up to 16 cells beyond it, not behind a wall."""
    wall = shape("collider", "box", **box((0, 20), (64, 22)))
    drawn = emitter((20, 24), (40, 24.4), rate=1.0, speed=10.0)
    sim = world(scene(drawn, wall, gravity=(0.0, 0.0), max_substeps=32))
    for _ in range(3):
        before = integer(sim, "high_water")
        sim._solver._run_emitters()
        fresh = sim.positions()[before:]
        assert fresh[:, 1].min(initial=1.0) > 0.22 - CELL / 8
        sim.step(1)
    assert sim.status().live > 50


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
    # The measure of the room at a round wall is that of a flat one.
    assert 0.99 * expected.sum() < len(points) <= expected.sum()


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


@pytest.mark.parametrize("base", ["water", "sand"])
def test_a_brush_that_stays_fills_to_the_usual_density_and_no_further(world, base):
    """Painting for two seconds over a whole box that is half full, with gravity."""
    parts = soft(base), fill((0, 0), (32, 16), "m")
    sim = world(scene(*parts, cells=(32, 32), gravity=(0.0, -2.0), min_substeps=8))
    sim.apply(Paint("m", (0.16, 0.16), 0.3))
    sim.step(1)
    assert sim.status().live > 0.97 * 4096
    for _ in range(12):
        for _ in range(10):
            sim.apply(Paint("m", (0.16, 0.16), 0.3))
            sim.step(1)
        assert sim.status().live <= 1.03 * 4096


@ti.kernel
def places(wanted: ti.i32, total: ti.i32, phase: ti.i32, out: ti.types.ndarray()):
    for rank in range(total):
        out[rank] = even_place(rank, wanted, total, phase)


@pytest.mark.parametrize("total", [1, 2, 7, 1000, 1537, MAX_SITES - 1, MAX_SITES])
def test_an_even_choice_is_complete_in_order_and_even(cpu, total):
    """Every place once, in the order of the ranks, and as far apart as total / wanted."""
    rng = np.random.default_rng(4)
    for wanted in {0, 1, total // 3, total - 1, total}:
        for phase in {0, total - 1, int(rng.integers(total))}:
            out = np.zeros(total, np.int32)
            places(wanted, total, phase, out)
            chosen = np.flatnonzero(out >= 0)
            assert (out[chosen] == np.arange(wanted)).all()
            if wanted > 1:
                gaps = np.diff(chosen)
                assert gaps.min() >= total // wanted and gaps.max() <= -(-total // wanted)


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
