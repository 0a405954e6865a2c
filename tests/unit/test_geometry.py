"""Contract of app/geometry.py, in world metres and radians.

- Signed distances are exact for every kind, inside and outside, at any pose: they agree with a
  distance measured to points on the surface, and have slope 1.
- Outlines are closed, counter-clockwise and on the surface; areas, widths and bounds fit them.
- Poses follow keyframes in straight lines, hold before the first, and repeat as they say.
- A fill's sites are the middles of the domain's sub-cells in the shape, in rows from below; each
  once, never in a collider, and clamped only where elastic matter sticks.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import geometry
from app.scene import Keyframe, Motion, Scene, Shape, loads

SHAPES = {
    "box": Shape(role="drain", kind="box", center=(0.3, -0.2), angle=25.0, half_size=(0.7, 0.2)),
    "circle": Shape(role="drain", kind="circle", center=(0.3, -0.2), radius=0.6),
    "capsule": Shape(
        role="drain", kind="capsule", center=(-0.1, 0.2), angle=-70.0, half_length=0.5, radius=0.25
    ),
    "polygon": Shape(
        role="drain",
        kind="polygon",
        center=(0.1, 0.1),
        angle=10.0,
        points=((0.0, -0.5), (0.8, -0.3), (0.6, 0.5), (-0.3, 0.4)),
    ),
    "half_plane": Shape(
        role="drain", kind="half_plane", center=(0.1, 0.2), angle=30.0, normal=(1.0, 2.0)
    ),
}
BOUNDED = [name for name in SHAPES if name != "half_plane"]
RNG = np.random.default_rng(7)
POINTS = RNG.uniform(-2.0, 2.0, (400, 2))


def dense(shape: Shape, **pose) -> np.ndarray:
    """Many points on the outline."""
    corners = geometry.outline(shape, segments=720, **pose)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1)))
    at = np.linspace(0.0, along[-1], 4000)
    return np.stack([np.interp(at, along, corners[:, axis]) for axis in (0, 1)], axis=1)


def crossing(shape: Shape, points: np.ndarray) -> np.ndarray:
    """Whether points are inside the outline, by counting crossings: knows nothing of distances."""
    corners = geometry.outline(shape, segments=2000)
    inside = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        straddles = (y0 > points[:, 1]) != (y1 > points[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            at = x0 + (points[:, 1] - y0) / (y1 - y0) * (x1 - x0)
        inside ^= straddles & (points[:, 0] < at)
    return inside


# Distances


@pytest.mark.parametrize("name", BOUNDED)
def test_distance_is_that_to_the_nearest_point_of_the_outline(name):
    shape = SHAPES[name]
    surface = dense(shape)
    nearest = np.min(np.linalg.norm(POINTS[:, None] - surface[None], axis=2), axis=1)
    distance = geometry.signed_distance(shape, POINTS)
    assert np.allclose(np.abs(distance), nearest, atol=2e-3)
    clear = nearest > 1e-3
    assert np.array_equal((distance < 0.0)[clear], crossing(shape, POINTS)[clear])
    assert (distance < 0.0).any() and (distance > 0.0).any()


def test_a_half_plane_is_solid_behind_its_normal():
    floor = Shape(role="collider", kind="half_plane", center=(5.0, 1.0), normal=(0.0, 3.0))
    points = np.array([[0.0, 0.0], [9.0, 1.0], [2.0, 3.5]])
    assert np.allclose(geometry.signed_distance(floor, points), [-1.0, 0.0, 2.5])
    turned = geometry.signed_distance(floor, points, (5.0, 1.0), math.pi / 2)  # normal to the left
    assert np.allclose(turned, [5.0, -4.0, 3.0])


@pytest.mark.parametrize("name", SHAPES)
def test_the_slope_of_a_distance_is_one(name):
    shape, step = SHAPES[name], 1e-6
    moves = np.eye(2) * step
    slope = [
        (geometry.signed_distance(shape, POINTS + m) - geometry.signed_distance(shape, POINTS - m))
        / (2 * step)
        for m in moves
    ]
    # Only on the skeleton, where the nearest point changes, it is not; a point is there by chance.
    assert np.mean(np.abs(np.hypot(*slope) - 1.0) < 1e-4) > 0.99


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("box", {"half_size": (1.0, 0.5)}, [-0.5, 1.0, math.hypot(1.0, 1.0), -0.1]),
        ("circle", {"radius": 1.0}, [-1.0, 1.0, math.hypot(2.0, 1.5) - 1.0, -0.1]),
        ("capsule", {"half_length": 0.5, "radius": 0.5}, [-0.5, 1.0, 1.6213, -0.1]),
    ],
)
def test_known_distances(kind, keys, expected):
    shape = Shape(role="drain", kind=kind, center=(0.0, 0.0), **keys)
    points = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.5], [0.9, 0.0]])
    assert np.allclose(geometry.signed_distance(shape, points), expected, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_a_given_pose_moves_the_shape_rigidly(name):
    shape = SHAPES[name]
    center, angle = np.array([1.5, -0.7]), 2.1
    local = geometry.to_local(shape, POINTS)
    moved = geometry.to_world(shape, local, center, angle)
    there = geometry.signed_distance(shape, moved, center, angle)
    assert np.allclose(there, geometry.signed_distance(shape, POINTS), atol=1e-12)
    assert np.allclose(geometry.to_local(shape, moved, center, angle), local, atol=1e-12)


def test_angles_turn_counter_clockwise():
    bar = Shape(role="drain", kind="box", center=(0.0, 0.0), angle=45.0, half_size=(1.0, 0.1))
    assert geometry.contains(bar, np.array([[0.6, 0.6], [0.6, -0.6]])).tolist() == [True, False]


# Outlines, areas, bounds


@pytest.mark.parametrize("name", SHAPES)
def test_outlines_are_closed_counter_clockwise_and_on_the_surface(name):
    shape = SHAPES[name]
    outline = geometry.outline(shape)
    assert np.array_equal(outline[0], outline[-1])
    x, y = outline.T
    assert np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) > 0.0
    if name == "half_plane":
        outline = np.array([outline[0], outline[-2]])  # the two corners on the surface
    assert np.allclose(geometry.signed_distance(shape, outline), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", BOUNDED)
def test_area_thickness_and_bounds_fit_the_outline(name):
    shape = SHAPES[name]
    outline = geometry.outline(shape, segments=2000)
    x, y = outline.T
    area = 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])
    assert geometry.area(shape) == pytest.approx(area, rel=1e-4)
    box = geometry.bounds(shape)
    assert np.allclose(box, [x.min(), y.min(), x.max(), y.max()], atol=1e-4)
    turns = np.linspace(0.0, math.pi, 4001)
    widths = [np.ptp(outline @ [math.cos(t), math.sin(t)]) for t in turns]
    assert geometry.thickness(shape) == pytest.approx(min(widths), abs=1e-3)


def test_bounds_of_a_half_plane_are_infinite_where_it_goes_on():
    floor = Shape(role="drain", kind="half_plane", center=(5.0, 1.0), normal=(0.0, 1.0))
    assert geometry.bounds(floor) == (-math.inf, -math.inf, math.inf, 1.0)
    wall = Shape(role="drain", kind="half_plane", center=(5.0, 1.0), normal=(-1.0, 0.0))
    assert geometry.bounds(wall) == (5.0, -math.inf, math.inf, math.inf)
    assert geometry.bounds(SHAPES["half_plane"]) == (-math.inf, -math.inf, math.inf, math.inf)


def test_a_half_plane_is_cut_off_at_the_domain():
    slope = Shape(role="drain", kind="half_plane", center=(1.0, 1.0), normal=(1.0, 1.0))
    outline = geometry.outline(slope, domain=(4.0, 3.0))
    assert {tuple(p) for p in outline.round(9)} == {(0.0, 0.0), (2.0, 0.0), (0.0, 2.0)}
    far = Shape(role="drain", kind="half_plane", center=(-1.0, 1.0), normal=(1.0, 0.0))
    assert geometry.outline(far, domain=(4.0, 3.0)).shape == (0, 2)
    whole = Shape(role="drain", kind="half_plane", center=(9.0, 1.0), normal=(1.0, 0.0))
    assert len(geometry.outline(whole, domain=(4.0, 3.0))) == 5


# Poses


def moving(motion: Motion) -> Shape:
    return Shape(
        role="collider", kind="circle", center=(9.0, 9.0), angle=30.0, radius=1.0, motion=motion
    )


def frames(repeat: str) -> Shape:
    return moving(
        Motion(
            repeat=repeat,
            keyframes=(
                Keyframe(time=1.0, center=(0.0, 0.0), angle=0.0),
                Keyframe(time=2.0, center=(1.0, 0.0), angle=90.0),
                Keyframe(time=4.0, center=(1.0, 4.0)),
            ),
        )
    )


ONCE = [(0.0, 0, 0, 0), (1.0, 0, 0, 0), (1.5, 0.5, 0, 45), (3.0, 1, 2, 90), (4.0, 1, 4, 90)]


@pytest.mark.parametrize("repeat", ["once", "loop", "pingpong"])
@pytest.mark.parametrize(("time", "x", "y", "degrees"), ONCE[:4])
def test_keyframes_are_joined_by_straight_lines(repeat, time, x, y, degrees):
    center, angle = geometry.pose(frames(repeat), time)
    assert np.allclose(center, [x, y])
    assert angle == pytest.approx(math.radians(degrees))
    assert center.dtype == np.float64


@pytest.mark.parametrize(
    ("repeat", "time", "x", "y"),
    [
        ("once", 4.0, 1, 4),
        ("once", 1e6, 1, 4),
        ("loop", 4.5, 0.5, 0),
        ("loop", 3.0 + 3.0 * 1000, 1, 2),
        ("pingpong", 4.0, 1, 4),
        ("pingpong", 5.0, 1, 2),
        ("pingpong", 6.5, 0.5, 0),
        ("pingpong", 7.5, 0.5, 0),
        ("pingpong", 3.0 + 6.0 * 1000, 1, 2),
    ],
)
def test_motions_repeat_as_they_say(repeat, time, x, y):
    assert np.allclose(geometry.pose(frames(repeat), time)[0], [x, y], atol=1e-9)


def test_a_constant_rate_turns_about_the_center():
    center, angle = geometry.pose(moving(Motion(angular_velocity=-2.0)), 3.0)
    assert np.allclose(center, [9.0, 9.0])
    assert angle == pytest.approx(math.radians(30.0) - 6.0)


def test_what_no_keyframe_gives_is_the_shapes_own():
    turning = moving(Motion(keyframes=(Keyframe(time=0.0, angle=0.0), Keyframe(time=2, angle=10))))
    center, angle = geometry.pose(turning, 1.0)
    assert np.allclose(center, [9.0, 9.0])
    assert angle == pytest.approx(math.radians(5.0))
    still = SHAPES["box"]
    center, angle = geometry.pose(still, 5.0)
    assert np.allclose(center, still.center)
    assert angle == pytest.approx(math.radians(25.0))


@given(st.floats(0.0, 100.0), st.floats(0.0, 1e-3), st.sampled_from(["once", "pingpong"]))
def test_motion_has_no_jumps(time, step, repeat):
    a, b = (geometry.pose(frames(repeat), t)[0] for t in (time, time + step))
    assert np.linalg.norm(b - a) <= 2.0 * step + 1e-9  # 2 m/s is its fastest leg


LOOPS = [(0.0, 360.0), (0.0, 720.0), (90.0, -270.0), (0.0, 350.0), (0.0, 0.0)]


@pytest.mark.parametrize(("first", "last"), LOOPS)
@pytest.mark.parametrize(("start", "end"), [(1.9, 2.1), (1.9, 2.0), (2.0, 2.1), (5.9, 6.1)])
def test_a_loop_that_begins_again_is_no_way(first, last, start, end):
    """What a collider sweeps is the way along its keyframes: whole turns carry over the loop, and a
    jump back, by an angle or by metres, is never swept.

    Caught: from 0 to 360 degrees and again, the tick of the loop swept back by a whole turn.
    """
    shape = moving(
        Motion(
            repeat="loop",
            keyframes=(
                Keyframe(time=0.0, center=(0.0, 0.0), angle=first),
                Keyframe(time=2.0, center=(4.0, 0.0), angle=last),
            ),
        )
    )
    way, turn = geometry.travel(shape, start, end)
    assert np.allclose(way, [2.0 * (end - start), 0.0])
    assert turn == pytest.approx(math.radians(last - first) / 2.0 * (end - start))
    # Where nothing jumps, the way is the difference of two poses.
    (before, angle), (after, angle_after) = (geometry.pose(shape, t) for t in (0.3, 0.5))
    way, turn = geometry.travel(shape, 0.3, 0.5)
    assert np.allclose(way, after - before) and turn == pytest.approx(angle_after - angle)


@given(st.floats(0.0, 50.0), st.floats(0.0, 9.0), st.sampled_from(["once", "loop", "pingpong"]))
def test_ways_add_up_and_end_at_the_pose_but_for_jumps(time, step, repeat):
    shape = frames(repeat)
    way, turn = geometry.travel(shape, time, time + step)
    middle = time + 0.4 * step
    parts = [geometry.travel(shape, *ends) for ends in ((time, middle), (middle, time + step))]
    assert np.allclose(way, parts[0][0] + parts[1][0], atol=1e-9)
    assert turn == pytest.approx(parts[0][1] + parts[1][1], abs=1e-9)
    if repeat != "loop":
        assert np.allclose(
            geometry.pose(shape, time)[0] + way, geometry.pose(shape, time + step)[0]
        )


def test_a_motion_without_keyframes_has_a_way_as_well():
    way, turn = geometry.travel(moving(Motion(angular_velocity=-2.0)), 1.0, 4.0)
    assert not way.any() and turn == pytest.approx(-6.0)
    way, turn = geometry.travel(SHAPES["box"], 0.0, 5.0)
    assert not way.any() and turn == 0.0


# Sites


def scene(shapes: str, per_cell: int = 4) -> Scene:
    return loads(
        'name = "sites"\n[domain]\nsize = [1.6, 0.8]\ncell = 0.1\n'
        f"[solver]\nparticles_per_cell = {per_cell}\n{shapes}"
    )


def fill(kind: str, rest: str, material: str = "water") -> str:
    return f'[[shapes]]\nrole = "fill"\nkind = "{kind}"\nmaterial = "{material}"\n{rest}\n'


def wall(rest: str) -> str:
    return f'[[shapes]]\nrole = "collider"\nkind = "box"\n{rest}\n'


@pytest.mark.parametrize("per_cell", [1, 4, 9, 16, 25])
def test_a_box_of_whole_cells_has_each_of_their_sites_once(per_cell):
    world = scene(fill("box", "center = [0.5, 0.4]\nhalf_size = [0.3, 0.2]"), per_cell)
    sites = geometry.fill_sites(world, world.shapes[0])
    assert len(sites) == 6 * 4 * per_cell
    assert len(np.unique(sites.round(9), axis=0)) == len(sites)
    h = 0.1 / math.isqrt(per_cell)
    assert world.spacing == pytest.approx(h)
    lattice = sites / h - 0.5
    assert np.allclose(lattice, lattice.round(), atol=1e-9)
    assert sites.min(axis=0) == pytest.approx([0.2 + h / 2, 0.2 + h / 2])


def test_sites_come_in_rows_from_below_and_from_the_left():
    world = scene(fill("circle", "center = [0.8, 0.4]\nradius = 0.33"))
    sites = geometry.fill_sites(world, world.shapes[0])
    order = np.lexsort((sites[:, 0], sites[:, 1]))
    assert np.array_equal(order, np.arange(len(sites)))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["box", "circle", "capsule", "polygon", "half_plane"]),
    st.floats(-0.5, 2.0),
    st.floats(-0.5, 1.5),
    st.floats(-180.0, 180.0),
    st.floats(0.01, 1.0),
)
def test_sites_are_just_those_of_the_lattice_in_the_shape(kind, x, y, angle, size):
    keys = {
        "box": f"half_size = [{size}, 0.2]",
        "circle": f"radius = {size}",
        "capsule": f"half_length = {size}\nradius = 0.1",
        "polygon": f"points = [[0, 0], [{size}, 0.1], [0.2, {size + 0.5}]]",
        "half_plane": "normal = [1, 2]",
    }[kind]
    world = scene(fill(kind, f"center = [{x}, {y}]\nangle = {angle}\n{keys}"))
    gx, gy = np.meshgrid((np.arange(32) + 0.5) * 0.05, (np.arange(16) + 0.5) * 0.05)
    lattice = np.stack([gx.ravel(), gy.ravel()], axis=1)
    inside = geometry.signed_distance(world.shapes[0], lattice) <= 1e-10
    sites = geometry.fill_sites(world, world.shapes[0])
    assert np.allclose(sites, lattice[inside], atol=1e-12)


def test_blocks_make_no_difference(monkeypatch):
    world = scene(fill("circle", "center = [0.8, 0.4]\nradius = 0.33"))
    whole = geometry.fill_sites(world, world.shapes[0])
    monkeypatch.setattr(geometry, "BLOCK", 7)
    assert np.array_equal(geometry.fill_sites(world, world.shapes[0]), whole)


def test_a_fill_outside_the_domain_has_no_sites():
    world = scene(fill("circle", "center = [5, 5]\nradius = 0.33"))
    assert geometry.fill_sites(world, world.shapes[0]).shape == (0, 2)
    assert geometry.seed_fills(world)[0][1].shape == (0, 2)


def test_sites_in_colliders_are_left_out():
    world = scene(
        fill("box", "center = [0.8, 0.4]\nhalf_size = [0.8, 0.4]")
        + wall("center = [0.8, 0.4]\nhalf_size = [0.2, 0.1]")
    )
    free = geometry.fill_sites_free(world, world.shapes[0])
    assert len(free) == 32 * 16 - 8 * 4
    assert (geometry.signed_distance(world.shapes[1], free) >= 0.0).all()


def test_a_moving_collider_takes_its_place_at_the_start():
    world = scene(
        fill("box", "center = [0.8, 0.4]\nhalf_size = [0.8, 0.4]")
        + wall(
            "center = [0.8, 0.4]\nhalf_size = [0.2, 0.1]\n"
            "motion = { keyframes = [{ time = 3, center = [0.2, 0.1] }] }"
        )
    )
    free = geometry.fill_sites_free(world, world.shapes[0])
    taken = (np.abs(free - [0.2, 0.1]) < [0.2, 0.1]).all(axis=1)
    assert not taken.any()
    assert len(free) == 32 * 16 - 8 * 4


@pytest.mark.parametrize(
    ("material", "friction", "clamped"),
    [
        ("jelly", '"stick"', True),
        ("jelly", '"slip"', False),
        ("jelly", "0.5", False),
        ("water", '"stick"', False),
        ("sand", '"stick"', False),
        ("putty", '"stick"', False),
    ],
)
def test_only_elastic_matter_in_a_stick_collider_is_clamped(material, friction, clamped):
    world = scene(
        fill("box", "center = [0.8, 0.4]\nhalf_size = [0.8, 0.4]", material)
        + wall(f"center = [0.8, 0.4]\nhalf_size = [0.2, 0.1]\nfriction = {friction}")
    )
    free = geometry.fill_sites_free(world, world.shapes[0])
    assert len(free) == 32 * 16 - (0 if clamped else 8 * 4)


def test_where_fills_overlap_the_earlier_one_has_the_site():
    world = scene(
        fill("box", "center = [0.4, 0.4]\nhalf_size = [0.4, 0.4]")
        + fill("box", "center = [0.8, 0.4]\nhalf_size = [0.6, 0.4]", "oil")
        + fill("box", "center = [0.8, 0.4]\nhalf_size = [0.8, 0.4]", "sand")
    )
    seeds = geometry.seed_fills(world)
    assert [shape.index for shape, _ in seeds] == [0, 1, 2]
    assert [len(sites) for _, sites in seeds] == [16 * 16, 12 * 16, 4 * 16]
    together = np.concatenate([sites for _, sites in seeds])
    assert len(np.unique(together.round(9), axis=0)) == 32 * 16


def test_what_an_earlier_fill_could_not_have_a_later_one_may():
    block = "center = [0.8, 0.4]\nhalf_size = [0.8, 0.4]"
    world = scene(
        fill("box", block, "water")
        + fill("box", block, "jelly")
        + wall('center = [0.8, 0.4]\nhalf_size = [0.2, 0.1]\nfriction = "stick"')
    )
    water, jelly = (sites for _, sites in geometry.seed_fills(world))
    assert (len(water), len(jelly)) == (32 * 16 - 8 * 4, 8 * 4)


def test_a_million_sites_take_a_second_at_most():
    world = loads(
        'name = "big"\n[domain]\nsize = [8.0, 8.0]\ncell = 0.0125\n'
        "[solver]\ncapacity = 2000000\n" + fill("circle", "center = [4, 4]\nradius = 3.6")
    )
    start = time.perf_counter()
    ((_, sites),) = geometry.seed_fills(world)
    assert time.perf_counter() - start < 3.0  # measured 0.2 s; slow machines and company
    assert len(sites) == pytest.approx(math.pi * 3.6**2 / world.spacing**2, rel=1e-3)
