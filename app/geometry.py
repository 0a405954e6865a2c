"""Where shapes are: distances, outlines and poses, and the sites at which fills place matter.

World coordinates throughout: metres, y up; angles in radians here (scene files have degrees). A
pose is a (center, angle) pair; every function that takes none uses the shape's own, at rest.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from app.scene import Motion, Scene, Shape

Pose = tuple[np.ndarray, float]

REACH = 1.0e3  # metres: how far the outline of a half-plane goes where no domain bounds it
BLOCK = 1 << 18  # sites that are looked at in one go


def pose(shape: Shape, time: float) -> Pose:
    """Center (2,) float64 [m] and angle [rad] of `shape` at `time` [s] of the world.

    Before its first keyframe a shape stands at the first; between two it moves in a straight line.
    """
    motion = shape.motion
    if motion is not None and motion.angular_velocity is not None:
        turned = motion.angular_velocity * time
        return np.array(shape.center), math.radians(shape.angle) + turned
    center, degrees = shape.center, (shape.angle,)
    if motion is not None:
        _, now = _local_time(motion, time)
        center = _interpolated(*motion.center_track, now) or center
        degrees = _interpolated(*motion.angle_track, now) or degrees
    return np.array(center, dtype=np.float64), math.radians(degrees[0])


def travel(shape: Shape, start: float, end: float) -> Pose:
    """Way (2,) float64 [m] and turn [rad] that `shape` makes from `start` to `end` [s].

    Along its keyframes only: where a loop begins again elsewhere it jumps, and a jump is no way. So
    a loop from 0 to 360 degrees goes on turning, whatever its pose is called then.
    """
    (center, angle), (center_after, angle_after) = pose(shape, start), pose(shape, end)
    way, turn = center_after - center, angle_after - angle
    motion = shape.motion
    if motion is not None and motion.repeat == "loop":
        loops = _local_time(motion, end)[0] - _local_time(motion, start)[0]
        way = way + loops * np.array(_span(*motion.center_track) or (0.0, 0.0))
        turn += loops * math.radians(*(_span(*motion.angle_track) or (0.0,)))
    return way, turn


def _local_time(motion: Motion, time: float) -> tuple[int, float]:
    """How often a motion has begun again, and the time [s] within its keyframes.

    That is held at the ends, or folded back according to `repeat`.
    """
    first, last = motion.keyframes[0].time, motion.keyframes[-1].time
    if time <= first or motion.repeat == "once":
        return 0, min(max(time, first), last)
    span = last - first
    if motion.repeat == "loop":
        loops, phase = divmod(time - first, span)
        return int(loops), first + phase
    phase = math.fmod(time - first, 2.0 * span)
    return 0, first + (phase if phase <= span else 2.0 * span - phase)


def _span(
    times: tuple[float, ...], values: tuple[tuple[float, ...], ...]
) -> tuple[float, ...] | None:
    """The last value less the first, None where there are none."""
    return tuple(b - a for a, b in zip(values[0], values[-1], strict=True)) if times else None


def _interpolated(
    times: tuple[float, ...], values: tuple[tuple[float, ...], ...], now: float
) -> tuple[float, ...] | None:
    """The value at time `now` [s], None where there are none."""
    if not times:
        return None
    after = bisect.bisect_right(times, now)
    if after == 0:
        return values[0]
    if after == len(times):
        return values[-1]
    part = (now - times[after - 1]) / (times[after] - times[after - 1])
    return tuple(a + part * (b - a) for a, b in zip(values[after - 1], values[after], strict=True))


def signed_distance(
    shape: Shape,
    points: np.ndarray,
    center: np.ndarray | tuple[float, float] | None = None,
    angle: float | None = None,
) -> np.ndarray:
    """Distance [m] of `points` (n, 2) to the surface of `shape`, negative inside; (n,) float64.

    Exact, inside as well, for every kind. `center` [m] and `angle` [rad] put the shape elsewhere.
    """
    local = to_local(shape, points, center, angle)
    x, y = local[:, 0], local[:, 1]
    if shape.kind == "box":
        dx, dy = np.abs(x) - shape.half_size[0], np.abs(y) - shape.half_size[1]
        outside = np.hypot(np.maximum(dx, 0.0), np.maximum(dy, 0.0))
        return outside + np.minimum(np.maximum(dx, dy), 0.0)
    if shape.kind == "circle":
        return np.hypot(x, y) - shape.radius
    if shape.kind == "capsule":
        along = np.maximum(np.abs(x) - shape.half_length, 0.0)
        return np.hypot(along, y) - shape.radius
    if shape.kind == "half_plane":
        return x * shape.normal[0] + y * shape.normal[1]
    return _polygon_distance(np.asarray(shape.points, dtype=np.float64), local)


def _polygon_distance(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Signed distance to a convex polygon: to the nearest edge; inside, below all edge lines."""
    squared = np.full(len(points), np.inf)
    outermost = np.full(len(points), -np.inf)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        ex, ey = x1 - x0, y1 - y0
        length = math.hypot(ex, ey)
        px, py = points[:, 0] - x0, points[:, 1] - y0
        part = np.clip((px * ex + py * ey) / length**2, 0.0, 1.0)
        np.minimum(squared, (px - part * ex) ** 2 + (py - part * ey) ** 2, out=squared)
        np.maximum(outermost, (px * ey - py * ex) / length, out=outermost)
    return np.where(outermost > 0.0, np.sqrt(squared), outermost)


def to_local(
    shape: Shape,
    points: np.ndarray,
    center: np.ndarray | tuple[float, float] | None = None,
    angle: float | None = None,
) -> np.ndarray:
    """World `points` (n, 2) [m] in the shape's own frame: relative to its center, turned back."""
    center = shape.center if center is None else center
    angle = math.radians(shape.angle) if angle is None else angle
    local = np.asarray(points, dtype=np.float64).reshape(-1, 2) - np.asarray(center, np.float64)
    return _turned(local, -angle)


def to_world(
    shape: Shape,
    points: np.ndarray,
    center: np.ndarray | tuple[float, float] | None = None,
    angle: float | None = None,
) -> np.ndarray:
    """The inverse of `to_local`."""
    center = shape.center if center is None else center
    angle = math.radians(shape.angle) if angle is None else angle
    points = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    return _turned(points, angle) + np.asarray(center, np.float64)


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Points (n, 2) turned about the origin, counter-clockwise.

    Element by element: what a matrix product rounds to may depend on its neighbours in the array.
    """
    if not angle:
        return points
    cos, sin = math.cos(angle), math.sin(angle)
    x, y = points[:, 0], points[:, 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)


def contains(shape: Shape, points: np.ndarray) -> np.ndarray:
    """Which `points` (n, 2) [m] are in `shape` or on its surface; (n,) bool."""
    return signed_distance(shape, points) <= 0.0


def area(shape: Shape) -> float:
    """Area [m^2]; of a half-plane infinity."""
    if shape.kind == "box":
        return 4.0 * shape.half_size[0] * shape.half_size[1]
    if shape.kind == "circle":
        return math.pi * shape.radius**2
    if shape.kind == "capsule":
        return math.pi * shape.radius**2 + 4.0 * shape.half_length * shape.radius
    if shape.kind == "half_plane":
        return math.inf
    x, y = np.asarray(shape.points).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def thickness(shape: Shape) -> float:
    """Least width [m] over all directions; of a half-plane infinity."""
    if shape.kind == "box":
        return 2.0 * min(shape.half_size)
    if shape.kind in ("circle", "capsule"):
        return 2.0 * shape.radius
    if shape.kind == "half_plane":
        return math.inf
    corners = np.asarray(shape.points)
    widths = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = (end - start) / math.hypot(*(end - start))
        across = (corners - start) @ np.array([-edge[1], edge[0]])
        widths.append(float(across.max()))
    return min(widths)


def bounds(
    shape: Shape,
    center: np.ndarray | tuple[float, float] | None = None,
    angle: float | None = None,
) -> tuple[float, float, float, float]:
    """(xmin, ymin, xmax, ymax) [m]; sides towards which a half-plane goes on are infinite."""
    at = shape.center if center is None else center
    angle = math.radians(shape.angle) if angle is None else angle
    if shape.kind == "half_plane":
        low, high = [-math.inf, -math.inf], [math.inf, math.inf]
        normal = to_world(shape, np.array([shape.normal]), (0.0, 0.0), angle)[0]
        for axis in (0, 1):  # only a half-plane along an axis is bounded, and on one side
            if abs(normal[1 - axis]) < 1e-12:
                (high if normal[axis] > 0.0 else low)[axis] = float(at[axis])
        return (low[0], low[1], high[0], high[1])
    if shape.kind in ("circle", "capsule"):
        reach = shape.half_length or 0.0
        half = np.abs([reach * math.cos(angle), reach * math.sin(angle)]) + shape.radius
        return (*(float(v) for v in at - half), *(float(v) for v in at + half))
    corners = to_world(shape, _corners(shape), center, angle)
    return (*(float(v) for v in corners.min(axis=0)), *(float(v) for v in corners.max(axis=0)))


def _corners(shape: Shape) -> np.ndarray:
    """Corners of a box or polygon in its own frame, counter-clockwise."""
    if shape.kind == "polygon":
        return np.asarray(shape.points, dtype=np.float64)
    x, y = shape.half_size
    return np.array([[-x, -y], [x, -y], [x, y], [-x, y]])


def outline(
    shape: Shape,
    center: np.ndarray | tuple[float, float] | None = None,
    angle: float | None = None,
    segments: int = 48,
    domain: tuple[float, float] | None = None,
) -> np.ndarray:
    """Outline (k, 2) float64 [m], counter-clockwise and closed: the last point repeats the first.

    `segments`: how many straight pieces make a full circle. A half-plane is cut off at the domain
    of size `domain` [m] (nothing of it inside: (0, 2)), or far out where none is given.
    """
    if shape.kind in ("box", "polygon"):
        local = _corners(shape)
    elif shape.kind == "circle":
        turn = np.arange(segments) * (2.0 * math.pi / segments)
        local = shape.radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    elif shape.kind == "capsule":
        half = max(segments // 2, 1)
        turn = np.linspace(-0.5 * math.pi, 0.5 * math.pi, half + 1)
        cap = shape.radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        reach = np.array([shape.half_length, 0.0])
        local = np.concatenate([cap + reach, -cap - reach])
    else:
        return _half_plane_outline(shape, center, angle, domain)
    world = to_world(shape, local, center, angle)
    return np.concatenate([world, world[:1]])


def _half_plane_outline(
    shape: Shape,
    center: np.ndarray | tuple[float, float] | None,
    angle: float | None,
    domain: tuple[float, float] | None,
) -> np.ndarray:
    if domain is None:
        normal = np.array(shape.normal)
        along = np.array([-normal[1], normal[0]]) * REACH
        deep = -normal * REACH
        square = np.array([along, along + deep, -along + deep, -along])
        world = to_world(shape, square, center, angle)
        return np.concatenate([world, world[:1]])
    width, height = domain
    corners = np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]])
    distance = signed_distance(shape, corners, center, angle)
    kept = []
    for i in range(4):
        j = (i + 1) % 4
        if distance[i] <= 0.0:
            kept.append(corners[i])
        if (distance[i] < 0.0) != (distance[j] < 0.0) and distance[i] != 0.0 != distance[j]:
            part = distance[i] / (distance[i] - distance[j])
            kept.append(corners[i] + part * (corners[j] - corners[i]))
    if len(kept) < 3:
        return np.empty((0, 2))
    return np.array([*kept, kept[0]])


# ---------------------------------------------------------------------------------------------
# Sites of fills


def fill_sites(scene: Scene, shape: Shape) -> np.ndarray:
    """Sites (n, 2) float64 [m] of the domain's lattice that lie in `shape`.

    The lattice belongs to the domain, not to the shape: sub-cell k covers [k h, (k+1) h] on each
    axis with h = cell / sqrt(particles_per_cell), and its site is its middle; so two fills that
    touch neither overlap nor gape. Bottom to top, in a row from left to right, without jitter.
    """
    return _joined([to_sites(scene, sub) for sub in site_blocks(scene, shape)])


def fill_sites_free(scene: Scene, shape: Shape) -> np.ndarray:
    """The sites of `fill_sites` that are not inside a collider, as colliders stand at the start.

    An elastic fill keeps its sites in colliders whose friction is "stick": it is clamped there.
    """
    blocks = []
    for sub in site_blocks(scene, shape):
        sites = to_sites(scene, sub)
        blocks.append(sites[is_free(scene, shape, sites)])
    return _joined(blocks)


def seed_fills(scene: Scene) -> list[tuple[Shape, np.ndarray]]:
    """Each fill with the sites (n, 2) [m] that it gets: free of colliders and of earlier fills."""
    axis = scene.solver.axis
    nx, ny = scene.domain.cells
    taken = np.zeros((ny * axis, nx * axis), dtype=bool)
    seeds = []
    for shape in scene.fills():
        blocks = []
        for sub in site_blocks(scene, shape):
            sub = sub[~taken[sub[:, 1], sub[:, 0]]]
            sites = to_sites(scene, sub)
            free = is_free(scene, shape, sites)
            taken[sub[free, 1], sub[free, 0]] = True
            blocks.append(sites[free])
        seeds.append((shape, _joined(blocks)))
    return seeds


def is_free(scene: Scene, shape: Shape, sites: np.ndarray) -> np.ndarray:
    """Which `sites` (n, 2) [m] of a fill no collider claims at the start; (n,) bool."""
    free = np.ones(len(sites), dtype=bool)
    elastic = scene.materials[shape.material].model == "elastic"
    for collider in scene.colliders():
        if not (elastic and collider.friction == "stick"):
            free &= ~strictly_inside(collider, sites, *pose(collider, 0.0))
    return free


def strictly_inside(
    shape: Shape, points: np.ndarray, center: np.ndarray, angle: float
) -> np.ndarray:
    """Which `points` (n, 2) [m] are inside a shape at a pose, not on its surface; (n,) bool."""
    if len(points) == 0:
        return np.zeros(0, dtype=bool)
    left, bottom, right, top = bounds(shape, center, angle)
    low, high = points.min(axis=0), points.max(axis=0)
    if low[0] > right or low[1] > top or high[0] < left or high[1] < bottom:
        return np.zeros(len(points), dtype=bool)
    return signed_distance(shape, points, center, angle) < 0.0


def to_sites(scene: Scene, sub: np.ndarray) -> np.ndarray:
    """Middles (n, 2) float64 [m] of the sub-cells `sub` (n, 2) int."""
    return (sub + 0.5) * scene.spacing


def site_range(scene: Scene, shape: Shape) -> tuple[int, int, int, int]:
    """Sub-cells (kx0, ky0, kx1, ky1) of the domain, ends excluded, around all sites of `shape`."""
    axis = scene.solver.axis
    size = [count * axis for count in scene.domain.cells]
    box = bounds(shape)
    low = [min(max(b / scene.spacing - 1.0, 0.0), n) for b, n in zip(box[:2], size, strict=True)]
    high = [min(max(b / scene.spacing + 1.0, 0.0), n) for b, n in zip(box[2:], size, strict=True)]
    return (math.floor(low[0]), math.floor(low[1]), math.ceil(high[0]), math.ceil(high[1]))


def site_blocks(scene: Scene, shape: Shape) -> Iterator[np.ndarray]:
    """The sub-cells (n, 2) int64 of a fill in order, a block of rows at a time."""
    x0, y0, x1, y1 = site_range(scene, shape)
    if x1 <= x0:
        return
    # A site on the very edge of a shape belongs to it on every side, whatever rounding says.
    slack = 1e-9 * scene.domain.cell
    rows = max(BLOCK // (x1 - x0), 1)
    for start in range(y0, y1, rows):
        y, x = np.mgrid[start : min(start + rows, y1), x0:x1]
        sub = np.stack([x.ravel(), y.ravel()], axis=1)
        yield sub[signed_distance(shape, to_sites(scene, sub)) <= slack]


def _joined(blocks: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(blocks) if blocks else np.empty((0, 2))
