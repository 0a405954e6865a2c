"""Contract of shapes on the device and of contact at a node.

- Distances and normals agree with app/geometry.py's (NumPy, double precision, world units) for
  every kind, turned and moved, between the two poses of a tick as well.
- Approach is free up to the surface; what would pass it ends on it. Coulomb friction takes at most
  the coefficient times the normal impulse and never turns the motion round. "stick" holds what
  touches. Nothing is pushed out, separation is free, an open edge does nothing, and a surface that
  moves sees what one at rest would see from the moving frame.
"""

import math

import numpy as np
import pytest
import taichi as ti
import taichi.math as tm
from simulations import CELL, fill, scene, shape

from app import geometry
from app.sim.grid import MARGIN
from app.sim.shapes import OPEN, STICK, ShapeTable, contact, support_above, wall_backing

VECTORS = ti.types.ndarray(dtype=ti.f32, ndim=2)
NUMBERS = ti.types.ndarray(dtype=ti.f32, ndim=1)
TOLERANCE = 2e-4
"""Single precision at coordinates of 100 cells, a few operations after each other [cells]."""


@pytest.fixture(scope="module")
def table():
    from app.sim import device

    device.start("cpu")
    return ShapeTable()


@ti.kernel
def distances(
    shapes: ti.template(), row: ti.i32, points: VECTORS, values: NUMBERS, normals: VECTORS
):
    for k in range(points.shape[0]):
        value, normal = shapes.distance(row, tm.vec2(points[k, 0], points[k, 1]))
        values[k] = value
        normals[k, 0] = normal.x
        normals[k, 1] = normal.y


@ti.kernel
def contacts(
    d: VECTORS, gap: NUMBERS, normal: VECTORS, step: VECTORS, friction: ti.f32, out: VECTORS
):
    for k in range(gap.shape[0]):
        result = contact(
            tm.vec2(d[k, 0], d[k, 1]),
            gap[k],
            tm.vec2(normal[k, 0], normal[k, 1]),
            tm.vec2(step[k, 0], step[k, 1]),
            friction,
        )
        out[k, 0] = result.x
        out[k, 1] = result.y


@ti.kernel
def supports(gaps: NUMBERS, out: NUMBERS):
    for k in range(gaps.shape[0]):
        out[k] = support_above(gaps[k])


@ti.kernel
def backings(gaps: NUMBERS, out: NUMBERS):
    for k in range(gaps.shape[0]):
        out[k] = wall_backing(gaps[k])


def random_shape(rng, kind, **values):
    """A collider somewhere in a domain of one metre, turned by any angle."""
    size = rng.uniform(0.02, 0.2, 2)
    keys = {
        "box": {"half_size": size},
        "circle": {"radius": size[0]},
        "capsule": {"half_length": size[0], "radius": size[1]},
        "half_plane": {"normal": rng.normal(size=2)},
    }
    if kind == "polygon":
        corners = rng.integers(3, 9)
        turns = 2 * np.pi * (np.arange(corners) + rng.uniform(0.0, 0.4, corners)) / corners
        keys["polygon"] = {"points": size[0] * np.stack([np.cos(turns), np.sin(turns)], 1)}
    keys = keys[kind] | {"center": rng.uniform(0.2, 0.8, 2), "angle": rng.uniform(-400, 400)}
    return shape("collider", kind, **keys, **values)


def device_distances(table, row, points):
    """Distances [m] and normals of world points (n, 2) [m] to a row of the table."""
    cells = (points / CELL + MARGIN).astype(np.float32)
    values = np.zeros(len(points), np.float32)
    normals = np.zeros((len(points), 2), np.float32)
    distances(table, row, cells, values, normals)
    return values * CELL, normals


def expect_geometry(table, row, of, center, angle, rng):
    points = rng.uniform(-0.02, 1.02, (500, 2))
    points[:100] = center + rng.normal(0.0, 0.05, (100, 2))
    values, normals = device_distances(table, row, points)
    exact = geometry.signed_distance(of, points, center, angle)
    np.testing.assert_allclose(values, exact, atol=TOLERANCE * CELL)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
    # A step along the normal gains exactly its length.
    moved = geometry.signed_distance(of, points + 1e-3 * normals, center, angle)
    off_center = np.linalg.norm(points - center, axis=1) > 1e-3
    gain = (moved - exact)[off_center]
    np.testing.assert_allclose(gain, 1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", ["box", "circle", "capsule", "polygon", "half_plane"])
def test_distances_and_normals_are_those_of_geometry(table, kind):
    rng = np.random.default_rng(6)
    shapes = [random_shape(rng, kind) for _ in range(12)]
    world = scene(fill((1, 1), (2, 2), "water"), *shapes, cells=(100, 100))
    table.load(world)
    for row, of in enumerate(world.shapes):
        if of.role == "collider":
            expect_geometry(table, row, of, np.array(of.center), math.radians(of.angle), rng)


@pytest.mark.parametrize("kind", ["box", "circle", "capsule", "polygon", "half_plane"])
def test_poses_move_straight_within_a_tick(table, kind):
    rng = np.random.default_rng(7)
    keyframes = [
        {"time": 0.0, "center": [0.3, 0.4], "angle": 350.0},
        {"time": 1.0, "center": [0.6, 0.5], "angle": 420.0},
    ]
    turning = random_shape(rng, kind, motion={"angular_velocity": -40.0})
    world = scene(
        fill((1, 1), (2, 2), "water"),
        random_shape(rng, kind, motion={"keyframes": keyframes}),
        turning,
        cells=(100, 100),
    )
    table.load(world)
    start, end = 0.35, 0.35 + 1 / 60
    table.place(start, end)
    for substep in range(3):
        table.advance(substep, 3)
        for row in (1, 2):
            of = world.shapes[row]
            now, later = (start + (end - start) * (substep + k) / 3 for k in (0, 1))
            center, angle = geometry.pose(of, now)
            expect_geometry(table, row, of, center, angle, rng)
            step = np.array([*(geometry.pose(of, later)[0] - center), 0.0]) / CELL
            step[2] = geometry.pose(of, later)[1] - angle
            np.testing.assert_allclose(table.step.to_numpy()[row], step, atol=1e-5)


def test_a_loop_jumps_between_ticks_and_moves_by_its_keyframes_within_them(table):
    """Ticks around the loop of a collider that turns from 0 to 360 degrees and slides by 0.3 m:
    it never moves faster than its keyframes say, and stands where they put it at a tick's start.

    Caught: the tick in which it began again swept it back by all that, at 18 m/s and 377 rad/s.
    """
    keyframes = [
        {"time": 0.0, "center": [0.3, 0.5], "angle": 0.0},
        {"time": 1.01, "center": [0.6, 0.5], "angle": 360.0},
    ]
    drawn = random_shape(
        np.random.default_rng(9), "box", motion={"keyframes": keyframes, "repeat": "loop"}
    )
    world = scene(fill((1, 1), (2, 2), "water"), drawn, cells=(100, 100))
    table.load(world)
    for tick in range(58, 64):
        table.place(tick / 60, (tick + 1) / 60)
        step = table.step.to_numpy()[1]
        np.testing.assert_allclose(step[:2], (30 / 1.01 / 60, 0.0), atol=1e-4)
        np.testing.assert_allclose(step[2], 2 * np.pi / 1.01 / 60, atol=1e-5)
        center, angle = geometry.pose(world.shapes[1], tick / 60)
        placed, axis = table.center.to_numpy()[1], table.axis.to_numpy()[1]
        np.testing.assert_allclose(placed, center / CELL + 4, atol=1e-4)
        np.testing.assert_allclose(axis, (np.cos(angle), np.sin(angle)), atol=1e-5)


# -- contact ---------------------------------------------------------------------------------------


def cases(count=4000, moving=True):
    """Random displacements, gaps on both sides of zero, unit normals, steps of the surface."""
    rng = np.random.default_rng(8)
    turn = rng.uniform(0.0, 2 * np.pi, count)
    return (
        rng.normal(0.0, 0.5, (count, 2)).astype(np.float32),
        rng.uniform(-1.0, 1.5, count).astype(np.float32),
        np.stack([np.cos(turn), np.sin(turn)], 1).astype(np.float32),
        (rng.normal(0.0, 0.3, (count, 2)) * moving).astype(np.float32),
    )


def resolved(d, gap, normal, step, friction):
    out = np.zeros_like(d)
    contacts(d, gap, normal, step, friction, out)
    return out


def split(vectors, normal):
    """Components along the normal (n,) and across it (n,)."""
    along = (vectors * normal).sum(1)
    return along, vectors[:, 1] * normal[:, 0] - vectors[:, 0] * normal[:, 1]


@pytest.mark.parametrize("friction", [STICK, 0.0, 0.3, 1.0])
def test_approach_is_free_up_to_the_surface(cpu, friction):
    d, gap, normal, step = cases()
    out = resolved(d, gap, normal, step, friction)
    along, _across = split(d - step, normal)
    free = along >= -np.maximum(gap, 0.0)
    if friction == STICK:
        free &= gap > 0.0
    assert free.mean() > 0.4
    assert (out[free] == d[free]).all()
    # What would have passed ends on the surface; what is inside already goes no deeper.
    passed = ~free & (along < -np.maximum(gap, 0.0))
    after, _across = split(out - step, normal)
    np.testing.assert_allclose(after[passed], -np.maximum(gap, 0.0)[passed], atol=1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
def test_friction_is_coulombs(cpu, friction):
    d, gap, normal, step = cases()
    out = resolved(d, gap, normal, step, friction)
    along, across = split(d - step, normal)
    along_after, across_after = split(out - step, normal)
    impulse = along_after - along
    touched = impulse > 1e-6
    assert touched.mean() > 0.2
    lost = np.minimum(friction * impulse, np.abs(across))  # slides, or comes to rest: no more
    expected = np.sign(across) * (np.abs(across) - lost)
    np.testing.assert_allclose(across_after[touched], expected[touched], atol=2e-6)
    if friction:
        assert (np.abs(across_after[touched]) < 1e-6).any()  # some came to rest
        assert (np.abs(across_after[touched]) > 0.05).any()  # and some slid


def test_stick_holds_what_touches_and_what_arrives(cpu):
    d, gap, normal, step = cases()
    out = resolved(d, gap, normal, step, STICK)
    inside = gap <= 0.0
    assert (out[inside] == step[inside]).all()
    along, _across = split(d - step, normal)
    arrives = ~inside & (along < -gap)
    _after, across = split(out - step, normal)
    np.testing.assert_allclose(across[arrives], 0.0, atol=1e-6)


def test_open_does_nothing(cpu):
    d, gap, normal, step = cases()
    assert (resolved(d, gap, normal, step, OPEN) == d).all()


@pytest.mark.parametrize("friction", [STICK, 0.0, 0.3])
def test_a_moving_surface_is_one_at_rest_in_its_own_frame(cpu, friction):
    d, gap, normal, step = cases()
    moving = resolved(d + step, gap, normal, step, friction)
    resting = resolved(d, gap, normal, np.zeros_like(step), friction)
    np.testing.assert_allclose(moving, resting + step, atol=2e-6)


def test_support_above_is_the_splines_integral(cpu):
    """Against a Riemann sum of the spline; a wall far away takes nothing, one far inside all."""
    gaps = np.linspace(-2.0, 2.0, 81).astype(np.float32)
    out = np.zeros_like(gaps)
    supports(gaps, out)
    s = (np.arange(400_000) + 0.5) / 400_000 * 3.0 - 1.5
    w = np.where(np.abs(s) < 0.5, 0.75 - s**2, 0.5 * (1.5 - np.abs(s)) ** 2)
    expected = [(w * (s > -gap)).sum() * 3.0 / len(s) for gap in gaps]
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_a_uniform_pressure_moves_no_node(cpu):
    """The sum of w (o + g n) over matter that fills the room above a wall, o from matter to node:
    zero with the wall's backing; without it the nodes next to the wall are pulled into it."""
    gaps = np.linspace(0.01, 2.0, 60).astype(np.float32)
    backing = np.zeros_like(gaps)
    backings(gaps, backing)
    y = (np.arange(400_000) + 0.5) / 400_000 * 3.0 - 1.5  # of matter, from the node
    w = np.where(np.abs(y) < 0.5, 0.75 - y**2, 0.5 * (1.5 - np.abs(y)) ** 2)
    filled = y > -gaps[:, None]
    bare = (w * -y * filled).sum(1) * 3.0 / len(y)
    backed = bare + backing * (w * filled).sum(1) * 3.0 / len(y)
    np.testing.assert_allclose(backed, 0.0, atol=1e-5)
    assert bare.min() < -0.2
