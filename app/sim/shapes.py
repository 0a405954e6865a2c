"""Shapes on the device: signed distances, poses that move within a tick, and contact at a node."""

import math

import numpy as np
import taichi as ti
import taichi.math as tm

from app import geometry
from app.sim.grid import MARGIN
from app.sim.state import MAX_SHAPES

KINDS = ("box", "circle", "capsule", "polygon", "half_plane")
BOX, CIRCLE, CAPSULE, POLYGON, HALF_PLANE = range(len(KINDS))
BRUSH = MAX_SHAPES
"""Row of the table for the disc of a tool, beyond the scene's own shapes."""
MAX_VERTICES = 16

REACH = 3.0
"""Distance [cells] beyond which a solid cannot matter to a node, nor to a particle in its cell: the
displacement cap, the support of a spline, a particle's radius, and some room for rounding."""

ROUNDING = 1e-5
"""Approach [cells] past a surface that counts as none."""

EDGE_NORMALS = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
"""Inward normals of the edges: left, right, bottom, top."""

STICK = -1.0
OPEN = -2.0
"""Friction codes: a Coulomb coefficient from 0 (slip) up, or one of these."""


def friction_code(friction):
    """Device code of a scene's friction: "stick", "slip", "open" or a Coulomb coefficient."""
    return {"stick": STICK, "slip": 0.0, "open": OPEN}.get(friction, friction)


@ti.func
def box_distance(local, size):
    """Signed distance [cells] and outward normal of a box of half sizes `size`, in its own axes."""
    q = ti.abs(local) - size
    side = tm.vec2(1.0 if local.x >= 0.0 else -1.0, 1.0 if local.y >= 0.0 else -1.0)
    outside = ti.max(q, tm.vec2(0.0, 0.0))
    distance = outside.norm()
    normal = tm.vec2(side.x, 0.0)
    if distance > 0.0:
        normal = side * outside / distance
    else:
        distance = ti.max(q.x, q.y)
        if q.y > q.x:
            normal = tm.vec2(0.0, side.y)
    return distance, normal


@ti.func
def capsule_distance(local, half_length, radius):
    """Signed distance and normal of a capsule along local x; half_length 0 makes it a circle."""
    nearest = tm.vec2(tm.clamp(local.x, -half_length, half_length), 0.0)
    away = local - nearest
    length = away.norm()
    normal = tm.vec2(0.0, 1.0)
    if length > 1e-9:
        normal = away / length
    return length - radius, normal


@ti.data_oriented
class ShapeTable:
    """Rows of shapes in cells; poses are given at a tick's two ends and move straight between."""

    def __init__(self):
        rows = MAX_SHAPES + 1
        self.kind = ti.field(ti.i32, rows)
        self.size = ti.Vector.field(2, ti.f32, rows)
        self.bound = ti.field(ti.f32, rows)
        self.friction = ti.field(ti.f32, rows)
        self.vertex_count = ti.field(ti.i32, rows)
        self.vertices = ti.Vector.field(2, ti.f32, (rows, MAX_VERTICES))
        self.pose_start = ti.Vector.field(3, ti.f32, rows)
        self.pose_end = ti.Vector.field(3, ti.f32, rows)
        self.center = ti.Vector.field(2, ti.f32, rows)
        self.axis = ti.Vector.field(2, ti.f32, rows)
        self.step = ti.Vector.field(3, ti.f32, rows)
        self.colliders = ti.field(ti.i32, rows)
        self.collider_count = ti.field(ti.i32, ())
        self.drains = ti.field(ti.i32, rows)
        self.drain_count = ti.field(ti.i32, ())
        self.edge_friction = ti.field(ti.f32, 4)

    def load(self, scene):
        """Copy a scene's shapes and edges to the device."""
        self.cell = scene.domain.cell
        self.shapes = scene.shapes
        rows = MAX_SHAPES + 1
        kind = np.zeros(rows, np.int32)
        size = np.zeros((rows, 2), np.float32)
        bound = np.zeros(rows, np.float32)
        friction = np.zeros(rows, np.float32)
        count = np.zeros(rows, np.int32)
        vertices = np.zeros((rows, MAX_VERTICES, 2), np.float32)
        for row, shape in enumerate(self.shapes):
            kind[row] = KINDS.index(shape.kind)
            if shape.kind == "box":
                size[row] = np.asarray(shape.half_size) / self.cell
            elif shape.kind == "circle":
                size[row, 1] = shape.radius / self.cell
            elif shape.kind == "capsule":
                size[row] = shape.half_length / self.cell, shape.radius / self.cell
            elif shape.kind == "polygon":
                count[row] = len(shape.points)
                vertices[row, : count[row]] = np.asarray(shape.points) / self.cell
            bound[row] = _bounding_radius(shape) / self.cell
            if shape.role == "collider":
                friction[row] = friction_code(shape.friction)
        kind[BRUSH] = CIRCLE
        for field, values in (
            (self.kind, kind),
            (self.size, size),
            (self.bound, bound),
            (self.friction, friction),
            (self.vertex_count, count),
            (self.vertices, vertices),
        ):
            field.from_numpy(values)
        self._list(self.colliders, self.collider_count, "collider")
        self._list(self.drains, self.drain_count, "drain")
        edges = scene.domain.edges
        sides = (edges.left, edges.right, edges.bottom, edges.top)
        self.edge_friction.from_numpy(np.array([friction_code(s) for s in sides], np.float32))
        self.moving = any(shape.moving for shape in self.shapes)
        self.place(0.0, 0.0)

    def _list(self, rows, count, role):
        members = [row for row, shape in enumerate(self.shapes) if shape.role == role]
        values = np.zeros(MAX_SHAPES + 1, np.int32)
        values[: len(members)] = members
        rows.from_numpy(values)
        count[None] = len(members)

    def place(self, start, end):
        """Set the poses at the two ends of a tick [s], from absolute time in double precision.

        The second is the first and the way along the keyframes, so a loop that begins again
        elsewhere jumps between two ticks and never sweeps what lies on the way.
        """
        poses = np.zeros((2, MAX_SHAPES + 1, 3), np.float32)
        for row, shape in enumerate(self.shapes):
            x, y, angle = _device_pose(shape, start, self.cell)
            way, turn = geometry.travel(shape, start, end)
            angle = math.fmod(angle, 2 * math.pi)
            poses[0, row] = x, y, angle
            poses[1, row] = x + way[0] / self.cell, y + way[1] / self.cell, angle + turn
        self.pose_start.from_numpy(poses[0])
        self.pose_end.from_numpy(poses[1])
        self.advance(0, 1)

    @ti.kernel
    def advance(self, substep: ti.i32, substeps: ti.i32):
        """Poses at the start of a substep and the step each makes during it."""
        self.move_to_substep(substep, substeps)

    @ti.func
    def move_to_substep(self, substep, substeps):
        for row in range(MAX_SHAPES):
            start = self.pose_start[row]
            whole = self.pose_end[row] - start
            pose = start + whole * (ti.cast(substep, ti.f32) / substeps)
            self.center[row] = pose.xy
            self.axis[row] = tm.vec2(ti.cos(pose.z), ti.sin(pose.z))
            self.step[row] = whole / substeps

    @ti.kernel
    def set_brush(self, x: ti.f32, y: ti.f32, radius: ti.f32):
        """Place the disc of a tool [cells]."""
        self.center[BRUSH] = tm.vec2(x, y)
        self.axis[BRUSH] = tm.vec2(1.0, 0.0)
        self.size[BRUSH] = tm.vec2(0.0, radius)

    @ti.func
    def polygon_distance(self, row, local):
        """Signed distance and normal of a convex counter-clockwise polygon, in its own axes."""
        nearest = 1e30
        normal = tm.vec2(0.0, 1.0)
        inside = -1e30
        inside_normal = tm.vec2(0.0, 1.0)
        count = self.vertex_count[row]
        for k in range(count):
            a = self.vertices[row, k]
            b = self.vertices[row, (k + 1) % count]
            edge = b - a
            outward = tm.vec2(edge.y, -edge.x) / edge.norm()
            height = (local - a).dot(outward)
            if height > inside:
                inside = height
                inside_normal = outward
            along = tm.clamp((local - a).dot(edge) / edge.dot(edge), 0.0, 1.0)
            away = local - a - along * edge
            if away.norm() < nearest:
                nearest = away.norm()
                if nearest > 1e-9:
                    normal = away / nearest
                else:
                    normal = outward
        distance = nearest
        if inside <= 0.0:
            distance = inside
            normal = inside_normal
        return distance, normal

    @ti.func
    def distance(self, row, point):
        """Signed distance [cells] of a point to a shape, negative inside; outward normal."""
        axis = self.axis[row]
        away = point - self.center[row]
        local = tm.vec2(axis.x * away.x + axis.y * away.y, axis.x * away.y - axis.y * away.x)
        size = self.size[row]
        value = local.y
        normal = tm.vec2(0.0, 1.0)
        kind = self.kind[row]
        if kind == BOX:
            value, normal = box_distance(local, size)
        elif kind == CIRCLE or kind == CAPSULE:
            value, normal = capsule_distance(local, size.x, size.y)
        elif kind == POLYGON:
            value, normal = self.polygon_distance(row, local)
        world = tm.vec2(
            axis.x * normal.x - axis.y * normal.y, axis.y * normal.x + axis.x * normal.y
        )
        return value, world

    @ti.func
    def step_at(self, row, point):
        """Displacement of a shape's material point over this substep [cells]."""
        away = point - self.center[row]
        step = self.step[row]
        return step.xy + step.z * tm.vec2(-away.y, away.x)

    @ti.func
    def inside_collider(self, point):
        """Whether a point lies inside any collider."""
        found = False
        for k in range(self.collider_count[None]):
            value, _normal = self.distance(self.colliders[k], point)
            if value < 0.0:
                found = True
        return found

    @ti.func
    def is_near(self, row, point):
        """Whether a point may lie within REACH of a shape: a cheap test that never misses one."""
        away = point - self.center[row]
        step = self.step[row]
        limit = self.bound[row] * (1.0 + ti.abs(step.z)) + REACH + step.xy.norm()
        return away.dot(away) < limit * limit

    @ti.func
    def survey(self, point, lower, upper):
        """What a node needs to know of the solids around it in this substep.

        Returns (near, walled, share, backing, grip). near: bits of the colliders within REACH, the
        last one for all from the 31st on; walled: whether any solid, edges included, is within
        REACH; share: part of the node's support that no solid covers, what a rest packing could
        fill; backing: (g, g . step) of `wall_backing`, summed over solids; grip: g of those that
        stick, and the two parts of dev sym(step g^T). Share and backing are exact for one flat
        surface and for two at right angles.
        """
        near = 0
        walled = 0
        share = 1.0
        backing = tm.vec3(0.0, 0.0, 0.0)
        grip = tm.vec4(0.0, 0.0, 0.0, 0.0)
        for k in range(self.collider_count[None]):
            row = self.colliders[k]
            if self.is_near(row, point):
                gap, normal = self.distance(row, point)
                step = self.step_at(row, point)
                if gap < REACH + step.norm():
                    near |= 1 << ti.min(k, 30)
                    walled = 1
                    share *= support_above(gap)
                    g = wall_backing(gap) * normal
                    backing += tm.vec3(g, g.dot(step))
                    if self.friction[row] == STICK:
                        shear = tm.vec2(step.x * g.x - step.y * g.y, step.x * g.y + step.y * g.x)
                        grip += tm.vec4(g, 0.5 * shear)
        gaps = (point.x - lower.x, upper.x - point.x, point.y - lower.y, upper.y - point.y)
        for k in ti.static(range(4)):
            if self.edge_friction[k] != OPEN and gaps[k] < REACH:
                walled = 1
                share *= support_above(gaps[k])
                inward = ti.static(EDGE_NORMALS[k])
                g = wall_backing(gaps[k]) * tm.vec2(inward[0], inward[1])
                backing += tm.vec3(g, 0.0)
                if self.edge_friction[k] == STICK:
                    grip += tm.vec4(g, 0.0, 0.0)
        return near, walled, share, backing, grip

    @ti.func
    def resolve_colliders(self, point, displacement, near):
        """Displacement of a node after contact with the colliders in `near`, in scene order."""
        result = displacement
        if near != 0:
            for k in range(self.collider_count[None]):
                if (near >> ti.min(k, 30)) & 1 == 1:
                    row = self.colliders[k]
                    gap, normal = self.distance(row, point)
                    step = self.step_at(row, point)
                    result = contact(result, gap, normal, step, self.friction[row])
        return result

    @ti.func
    def resolve_edges(self, point, displacement, lower, upper):
        """The same for the four edges of the domain between `lower` and `upper` [cells]."""
        gaps = (point.x - lower.x, upper.x - point.x, point.y - lower.y, upper.y - point.y)
        result = displacement
        for k in ti.static(range(4)):
            inward = tm.vec2(ti.static(EDGE_NORMALS[k][0]), ti.static(EDGE_NORMALS[k][1]))
            still = tm.vec2(0.0, 0.0)
            result = contact(result, gaps[k], inward, still, self.edge_friction[k])
        return result

    @ti.func
    def hold_out(self, point, displacement, radius, near, lower, upper):
        """Displacement of a particle whose matter reaches `radius` [cells] around it.

        Nodes stop at a surface, but a particle moves with the mean of its nodes, those outside
        included. So the rule of the nodes holds for particles too: approach is free until matter
        touches, and nothing is pushed out. Distance to a convex solid is a convex function, so a
        step that does not approach it cannot enter it: however thin, no wall leaks. Where several
        solids meet, a second pass mends what a later one undid of an earlier, and a third stops
        what two passes could not settle.
        """
        result = displacement
        for attempt in range(3):
            result = self.hold_at_edges(point, result, radius, lower, upper)
            if near != 0:
                for k in range(self.collider_count[None]):
                    if (near >> ti.min(k, 30)) & 1 == 1:
                        row = self.colliders[k]
                        gap, normal = self.distance(row, point)
                        step = self.step_at(row, point)
                        room = ti.max(gap - radius, 0.0)
                        if attempt < 2:
                            coulomb = ti.max(self.friction[row], 0.0)
                            result = contact(result, room, normal, step, coulomb)
                        elif (result - step).dot(normal) < -room - ROUNDING:
                            result = step
        return self.hold_at_edges(point, result, radius, lower, upper)

    @ti.func
    def hold_at_edges(self, point, displacement, radius, lower, upper):
        """The same at the edges of the domain that are not open."""
        result = displacement
        for axis in ti.static(range(2)):
            if self.edge_friction[2 * axis] != OPEN:
                room = point[axis] - lower[axis] - radius
                result[axis] = ti.max(result[axis], -ti.max(room, 0.0))
            if self.edge_friction[2 * axis + 1] != OPEN:
                room = upper[axis] - point[axis] - radius
                result[axis] = ti.min(result[axis], ti.max(room, 0.0))
        return result


def _bounding_radius(shape):
    """Radius [m] of a circle about the center that holds the shape, at any angle."""
    if shape.kind == "box":
        return math.hypot(*shape.half_size)
    if shape.kind == "polygon":
        return max(math.hypot(*point) for point in shape.points)
    if shape.kind == "half_plane":
        return 1e9
    return (shape.half_length or 0.0) + shape.radius


def _device_pose(shape, time, cell):
    """Pose in cells with the grid's margin; a half-plane's local y axis is its normal."""
    center, angle = geometry.pose(shape, time)
    if shape.kind == "half_plane":
        angle += math.atan2(shape.normal[1], shape.normal[0]) - math.pi / 2
    return center[0] / cell + MARGIN, center[1] / cell + MARGIN, angle


@ti.func
def contact(displacement, gap, normal, step, friction):
    """Predictive contact of a node with a surface `gap` away that itself moves by `step`.

    Approach is free until the surface is reached: only what would pass it is taken away, and
    Coulomb friction acts with exactly that normal impulse. Inside the solid no positional push is
    made (it would add energy). A stick surface holds what is inside and what touches it.
    """
    relative = displacement - step
    approach = relative.dot(normal)
    allowed = -ti.max(gap, 0.0)
    result = displacement
    if friction == STICK and gap <= 0.0:
        result = step
    elif friction != OPEN and approach < allowed:
        tangential = relative - approach * normal
        size = tangential.norm()
        kept = 0.0
        if friction != STICK and size > 1e-12:
            kept = ti.max(0.0, 1.0 - friction * (allowed - approach) / size)
        result = step + allowed * normal + kept * tangential
    return result


@ti.func
def support_above(gap):
    """Share of a node's quadratic B-spline on the near side of a surface `gap` cells away."""
    g = tm.clamp(gap, -1.5, 1.5)
    outer = 1.5 - ti.abs(g)
    below = outer**3 / 6.0
    if ti.abs(g) < 0.5:
        below = 0.5 - (0.75 * ti.abs(g) - ti.abs(g) ** 3 / 3.0)
    return below if g < 0.0 else 1.0 - below


@ti.func
def wall_backing(gap):
    """g of a node `gap` [cells] from a wall, along the wall's normal.

    Matter in contact with a wall ends there, and the sum that makes a node's force of its stress,
    sum_p m S w o, ends too: under a uniform pressure what is left pulls the nodes next to the wall
    into it, and matter would sink a cell deep before its stress balances. What the missing half
    would have given is S M, M = int w(y) y dy from the gap on, along the normal; shared out over
    the matter that is there, g = M / share. Inside the wall nodes cannot approach it, and g is 0.
    """
    distance = tm.clamp(gap, 0.0, 1.5)
    outer = 1.5 - distance
    moment = 0.25 * outer**3 - 0.125 * outer**4
    if distance < 0.5:
        moment = 13.0 / 64.0 - 0.375 * distance**2 + 0.25 * distance**4
    return 0.0 if gap < 0.0 else moment / support_above(gap)
