"""Contract of walls.

Matter comes up to a wall, a quarter of a cell from its particles' centres (half their side), on
average wherever the wall lies on the grid, and no particle of a liquid gets nearer, none of sand
beyond the surface: nothing leaks through any wall, thin or moving, nor through the seam of two that
meet. It does not collapse there:
particles stay apart, and a pool is as high as its weight lets it. A moving collider takes matter
along and stays clear of it; where a loop begins again it goes on by its keyframes, whatever jump
lies between. A block on an incline slides if and only if the friction coefficient is less than the
slope, then with a = g (sin - mu cos). An open edge lets out what reaches it, a closed one keeps it.

Caught: a fifth of the water that was thrown into a box with walls of two cells left it within a
second; held half a cell deep in them, most of it ended in a few points; all of a pool left through
the seam of two colliders that formed its bed; sand, let 0.4 cells deep into what it lies on, was a
fifth of a cell deep in a plough; fast thin water sank two cells below the floor. A bar
that turned from 0 to 360 degrees and again swept back by a whole turn in the tick of the loop, and
8 J became 1010 J.
"""

import math

import numpy as np
import pytest
from simulations import CELL, box, fill, integer, material, scene, shape

from app import geometry


def tank(*extra, wall=True, **keys):
    """Water thrown at 3 m/s into the corner of a box with walls of two cells."""
    walls = [
        shape("collider", "box", **box((10, 10), (54, 12))),
        shape("collider", "box", **box((10, 10), (12, 54))),
        shape("collider", "box", **box((52, 10), (54, 54))),
        shape("collider", "box", **box((10, 52), (54, 54))),
    ]
    water = fill((20, 18), (36, 34), "water", velocity=(2.4, -1.8))
    return scene(water, *(walls if wall else walls[1:]), *extra, edges="open", **keys)


TOUCHING = 0.25 - 0.01
"""Least distance [cells] of a liquid particle's centre from a wall, less rounding."""

NEAREST = {"jelly": -0.4 - 0.01, "water": TOUCHING, "sand": -0.001}
"""Least distance [cells] from a wall, less rounding, by material: solids may give way a little."""


def outside(sim):
    """Particles that entered the walls, or are beyond them, or gone."""
    points = sim.positions() / CELL
    low, high = 12 + TOUCHING, 52 - TOUCHING
    return int(((points < low) | (points > high)).any(1).sum()) + integer(sim, "drained")


def coinciding(sim):
    """Particles that share a place, within a hundredth of a cell, with another."""
    places = np.round(sim.positions() / (0.01 * CELL))
    return len(places) - len(np.unique(places, axis=0))


def test_nothing_leaks_through_two_cells(world):
    sim = world(tank())
    for _ in range(12):
        sim.step(10)
        assert outside(sim) == 0
    assert sim.status().live == 1024


@pytest.mark.parametrize(
    ("turned", "shifted", "thick"),
    [(0.0, 0.0, 2.0), (17.0, 0.0, 2.0), (0.0, 0.5, 1.0), (31.0, 0.25, 0.5)],
)
def test_nothing_leaks_or_collapses_wherever_the_walls_lie(world, turned, shifted, thick):
    """Water in a box, turned and shifted on the grid, with walls down to half a cell."""
    turn = math.radians(turned)
    axes = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    middle = 32.0 + shifted
    out, half = 20.0 + 0.5 * thick, 0.5 * thick
    walls = []
    for x, y, w, h in (
        (0, -out, 22, half),
        (0, out, 22, half),
        (-out, 0, half, 22),
        (out, 0, half, 22),
    ):
        center = (middle + axes @ (x, y)) * CELL
        walls.append(
            shape("collider", "box", center=center, half_size=(w * CELL, h * CELL), angle=turned)
        )
    water = fill((24, 22), (40, 38), "water", velocity=(2.4, -1.8))
    sim = world(scene(water, *walls, edges="open"))
    sim.step(120)
    assert sim.status().live == 1024
    local = np.abs((sim.positions() / CELL - middle) @ axes)
    assert local.max() < 20.0 - TOUCHING
    if thick >= 1.0:
        assert coinciding(sim) < 16


@pytest.mark.parametrize("shifted", [0.0, 0.25, 0.5, 0.75])
def test_a_pool_is_as_high_wherever_its_floor_lies_on_the_grid(world, shifted):
    """A pool of eight cells, 3.6 % smaller by its weight, has its centre of mass at 3.86 cells."""
    low = 4.0 + shifted
    floor = shape("collider", "half_plane", center=(0.0, low * CELL), normal=(0.0, 1.0))
    sim = world(scene(floor, fill((0, 5), (24, 13), "water"), cells=(24, 24), damping=3.0))
    sim.step(90)
    heights = sim.positions()[:, 1] / CELL - low
    assert heights.mean() == pytest.approx(3.86, abs=0.3)
    assert TOUCHING < heights.min() < 0.5


def test_nothing_leaks_through_seams(world):
    """A bed of three convex colliders with concave corners, two of them acute, and a post that
    stands flush on the floor between two pools."""
    bed = (
        [(14, 30), (50, 30), (42, 36), (22, 36)],
        [(14, 30), (22, 34), (4, 58), (0, 56)],
        [(50, 30), (42, 34), (60, 58), (64, 56)],
    )
    post = [(28, 0), (36, 0), (33, 20), (31, 20)]
    solids = [shape("collider", "polygon", points=np.array(p, float) * CELL) for p in (*bed, post)]
    matter = [fill((24, 37), (40, 47), "water"), fill((0, 0), (28, 10), "water")]
    sim = world(scene(*solids, *matter))
    start = sim.positions()
    sim.step(240)
    above = start[:, 1] > 30 * CELL
    points = sim.positions() / CELL
    assert (points[above, 1] > 30).all()
    assert (points[~above, 0] < 36).all()
    for solid in sim.scene.shapes[:4]:
        distance = geometry.signed_distance(solid, sim.positions()) / CELL
        assert distance[above | (start[:, 0] < 27.5 * CELL)].min() > TOUCHING


def test_fast_thin_water_stays_above_the_floor(world):
    sim = world(scene(fill((4, 0), (40, 1), "water", velocity=(6.0, -2.0)), cells=(256, 32)))
    for _ in range(10):
        sim.step(4)
        assert sim.positions()[:, 1].min() > TOUCHING * CELL


def test_a_missing_wall_is_seen(world):
    sim = world(tank(wall=False))
    sim.step(30)
    assert outside(sim) > 300


def test_nothing_leaks_through_a_moving_wall(world):
    """A piston of two cells compresses sand in a duct at 1 m/s, back and forth."""
    keyframes = [{"time": 0.0, "center": [0.1, 0.3]}, {"time": 0.3, "center": [0.4, 0.3]}]
    piston = shape(
        "collider",
        "box",
        center=(0.1, 0.3),
        half_size=(0.01, 0.4),
        motion={"keyframes": keyframes, "repeat": "pingpong"},
    )
    sim = world(scene(fill((14, 0), (30, 16), "sand"), piston, cells=(64, 24)))
    for _ in range(18):
        sim.step(5)
        x = sim.shape_poses()[1][0][0]
        assert (sim.positions()[:, 0] > x + 0.01 + NEAREST["sand"] * CELL).all()
        assert sim.status().live == 1024


@pytest.mark.parametrize("material_name", ["jelly", "water", "sand"])
def test_a_plough_takes_matter_along(world, material_name):
    """At 0.5 m/s, without gravity: what it meets moves ahead of it, and not into it."""
    keyframes = [{"time": 0.0, "center": [0.1, 0.32]}, {"time": 0.6, "center": [0.4, 0.32]}]
    keys = {"center": (0.1, 0.32), "half_length": 0.15, "radius": 0.04, "angle": 90.0}
    plough = shape("collider", "capsule", **keys, motion={"keyframes": keyframes})
    block = fill((18, 28), (26, 36), material_name)
    sim = world(scene(block, plough, gravity=(0.0, 0.0), min_substeps=4))
    start = sim.aggregates().center_of_mass[0]
    sim.step(36)
    moved = sim.aggregates().center_of_mass[0] - start
    assert moved > 0.2
    center, angle = sim.shape_poses()[1]
    gap = geometry.signed_distance(sim.scene.shapes[1], sim.positions(), center, angle)
    assert gap.min() > NEAREST[material_name] * CELL


def test_a_plough_that_stands_still_takes_nothing(world):
    plough = shape("collider", "circle", center=(0.1, 0.32), radius=0.06)
    sim = world(scene(fill((18, 28), (26, 36), "jelly"), plough, gravity=(0.0, 0.0)))
    start = sim.aggregates().center_of_mass[0]
    sim.step(36)
    assert abs(sim.aggregates().center_of_mass[0] - start) < 0.01 * CELL


# -- friction --------------------------------------------------------------------------------------

STIFF = material("stiff", model="elastic", density=1000.0, youngs_modulus=1.0e5, poissons_ratio=0.3)
TICKS = 24


def sliding(world, friction, degrees, tilted):
    """Acceleration [m/s^2] down the slope of a block of 16 x 6 cells, from rest.

    The slope is a half-plane, or (not `tilted`) the domain's floor under a tilted gravity.
    """
    turn = math.radians(degrees)
    down = np.array([math.cos(turn), -math.sin(turn)])
    if tilted:
        foot = np.array([0.3, 0.3])
        normal = np.array([math.sin(turn), math.cos(turn)])
        center = foot + 0.03 * normal
        body = {"center": center, "half_size": (0.08, 0.03), "angle": -degrees}
        slope = shape("collider", "half_plane", center=foot, normal=normal, friction=friction)
        parts, keys = [slope], {"edges": "open"}
    else:
        body = box((20, 0), (36, 6))
        edges = {"left": "slip", "right": "slip", "bottom": friction, "top": "slip"}
        parts, keys = [], {"edges": edges, "gravity": 9.81 * np.array([-down[1], -down[0]])}
        down = np.array([1.0, 0.0])
    block = shape("fill", "box", material="stiff", **body)
    sim = world(scene(STIFF, block, *parts, cells=(96, 64), min_substeps=8, **keys))
    sim.step(6)  # it settles on the surface first
    start = np.array(sim.aggregates().center_of_mass)
    speed = np.array(sim.velocities()).mean(0) @ down
    sim.step(TICKS)
    way = (np.array(sim.aggregates().center_of_mass) - start) @ down
    time = TICKS / 60
    return 2 * (way - speed * time) / time**2


@pytest.mark.parametrize("tilted", [False, True], ids=["tilted gravity", "half-plane"])
@pytest.mark.parametrize("friction", [0.0, 0.1, 0.25])
def test_a_block_slides_with_coulomb_friction(world, friction, tilted):
    """On 20 degrees, tan = 0.364: within 5 % of g sin."""
    turn = math.radians(20.0)
    expected = 9.81 * (math.sin(turn) - friction * math.cos(turn))
    measured = sliding(world, friction, 20.0, tilted)
    assert measured == pytest.approx(expected, abs=0.05 * 9.81 * math.sin(turn))


@pytest.mark.parametrize("tilted", [False, True], ids=["tilted gravity", "half-plane"])
@pytest.mark.parametrize(("friction", "slides"), [(0.32, True), (0.41, False), ("stick", False)])
def test_a_block_slides_iff_friction_is_less_than_the_slope(world, friction, slides, tilted):
    """tan 20 degrees = 0.364, a tenth more and less."""
    measured = sliding(world, friction, 20.0, tilted)
    assert (measured > 0.2) == slides
    if not slides:
        assert abs(measured) < 0.03 * 9.81 * math.sin(math.radians(20.0))


# -- edges -----------------------------------------------------------------------------------------

SIDES = {"left": (-1, 0), "right": (1, 0), "bottom": (0, -1), "top": (0, 1)}


@pytest.mark.parametrize("side", SIDES)
def test_an_open_edge_lets_out_and_the_others_keep(world, side):
    """Four jellies fly at the four sides, of which one is open."""
    low = {"left": (6, 28), "right": (50, 28), "bottom": (28, 6), "top": (28, 50)}
    blocks = [
        fill(corner, np.add(corner, 8), "jelly", velocity=np.multiply(SIDES[where], 1.0))
        for where, corner in low.items()
    ]
    edges = dict.fromkeys(SIDES, "slip") | {side: "open"}
    sim = world(scene(*blocks, edges=edges, gravity=(0.0, 0.0)))
    gone = list(SIDES).index(side)
    sim.step(15)
    left = np.zeros(1024, bool)
    left[: sim._solver.integers()["high_water"]] = sim._solver.state.status.to_numpy()[:1024] == 1
    by_block = left.reshape(4, 256).sum(1)
    assert by_block[gone] < 100
    assert (np.delete(by_block, gone) == 256).all()
    assert integer(sim, "drained") == 1024 - left.sum()


def paddled(motion):
    """Water on the floor and a bar above it that stirs it."""
    bar = shape(
        "collider", "capsule", center=(0.32, 0.3), half_length=0.15, radius=0.02, motion=motion
    )
    return scene(fill((0, 0), (64, 20), "water"), bar, max_substeps=8)


@pytest.mark.parametrize("turns", [1, 2, -1])
def test_a_loop_of_whole_turns_stirs_like_a_constant_rate(world, turns):
    """Keyframes from 0 to whole turns in 0.505 s, again and again: the loop lies within a tick."""
    period, ticks = 0.505, 64
    ends = [{"time": 0.0, "angle": 0.0}, {"time": period, "angle": 360.0 * turns}]
    moved = []
    for motion in (
        {"keyframes": ends, "repeat": "loop"},
        {"angular_velocity": 2 * math.pi * turns / period},
    ):
        sim = world(paddled(motion))
        energies = []
        for _ in range(ticks):
            sim.step(1)
            energies.append(sim.aggregates().kinetic_energy)
        moved.append(energies)
    np.testing.assert_allclose(moved[0][:40], moved[1][:40], rtol=0.02)
    assert max(moved[0]) < 1.2 * max(moved[1])


def test_a_jump_flings_nothing(world):
    """A wall slides by 0.1 m at 0.5 m/s, jelly follows at the same speed into the room that it
    leaves, and the wall begins again where the jelly is by now."""
    ends = [{"time": 0.0, "center": [0.2, 0.32]}, {"time": 0.205, "center": [0.3, 0.32]}]
    wall = shape(
        "collider",
        "box",
        center=(0.2, 0.32),
        half_size=(0.03, 0.2),
        motion={"keyframes": ends, "repeat": "loop"},
    )
    jelly = fill((8, 22), (16, 42), "jelly", velocity=(0.5, 0.0))
    sim = world(scene(jelly, wall, gravity=(0.0, 0.0)))
    for _ in range(20):
        sim.step(1)
        assert np.linalg.norm(sim.velocities(), axis=1).max() < 1.0
    assert sim.aggregates().center_of_mass[0] > 0.22
