"""Shapes and the domain's border as triangles, each made anew only when it changes."""

from __future__ import annotations

from ctypes import byref, c_void_p
from itertools import pairwise

import numpy as np

from app.render.frame import Frame, Friction, ShapeView, encoded_rgb
from app.render.opengl import gl
from app.render.theme import Theme

# Columns of a corner, as shape.vert.glsl declares them.
_FIELDS = (
    ("position", 2),
    ("offset", 2),
    ("limit", 1),
    ("depth", 1),
    ("local", 2),
    ("axis", 2),
    ("normal", 2),
    ("color", 4),
    ("style", 2),
)
_WIDTHS = dict(_FIELDS)
_WIDTH = sum(_WIDTHS.values())
_COLUMNS = {}
_start = 0
for _name, _count in _FIELDS:
    _COLUMNS[_name] = slice(_start, _start + _count)
    _start += _count

PLAIN, BODY, ZONE, BORDER, DASHES = range(5)  # patterns of shape.frag.glsl

FEATHER = 0.75  # half width of the soft edge [window points]
BEVEL = 6.0  # width of the band inside the outline that light and lines are drawn in [points]
FAR = 1e9  # no limit [m]


class ShapeMesh:
    """A vertex buffer of all shapes of a frame. The context must be current."""

    def __init__(self) -> None:
        self._border = 0  # corners of the border, which come first
        self._corners = 0
        self._key: tuple | None = None
        self._parts: list[ShapePart] = []
        self._buffer = gl.GLuint()
        self._array = gl.GLuint()
        gl.glGenBuffers(1, byref(self._buffer))
        gl.glGenVertexArrays(1, byref(self._array))
        gl.glBindVertexArray(self._array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        for location, (name, count) in enumerate(_FIELDS):
            start = c_void_p(4 * _COLUMNS[name].start)
            gl.glEnableVertexAttribArray(location)
            gl.glVertexAttribPointer(location, count, gl.GL_FLOAT, gl.GL_FALSE, 4 * _WIDTH, start)
        gl.glBindVertexArray(0)

    def update(self, frame: Frame, theme: Theme) -> None:
        """Build the triangles anew if a shape, the border or the theme has changed."""
        key = (theme, frame.domain, frame.edges, np.asarray(frame.palette).tobytes())
        if key != self._key:
            self._parts = []
        known = self._parts + [None] * (len(frame.shapes) - len(self._parts))
        parts = [
            part if part is not None and part.shows(shape) else ShapePart(frame, shape, theme)
            for part, shape in zip(known, frame.shapes, strict=False)
        ]
        if key == self._key and parts == self._parts:
            return
        self._key, self._parts = key, parts
        border = _border(frame, theme)
        corners = np.concatenate([border, *_ordered(parts)])
        self._border = len(border)
        self._corners = len(corners)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        gl.glBufferData(
            gl.GL_ARRAY_BUFFER, corners.nbytes, corners.ctypes.data_as(c_void_p), gl.GL_STREAM_DRAW
        )

    def draw_shapes(self) -> None:
        """Draw the shapes with the current program."""
        gl.glBindVertexArray(self._array)
        gl.glDrawArrays(gl.GL_TRIANGLES, self._border, self._corners - self._border)

    def draw_border(self) -> None:
        """Draw the domain's border with the current program."""
        gl.glBindVertexArray(self._array)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, self._border)

    def close(self) -> None:
        """Free the buffer; the context must be current."""
        gl.glDeleteVertexArrays(1, byref(self._array))
        gl.glDeleteBuffers(1, byref(self._buffer))


class ShapePart:
    """The triangles of one shape as it was when they were made.

    corners: (m, 18) float32 arrays. Shapes at rest keep theirs while others move.
    """

    def __init__(self, frame: Frame, shape: ShapeView, theme: Theme) -> None:
        self.outline = np.array(shape.outline, dtype=np.float64)
        self.look = _look(shape)
        self.zone = shape.role in ("emitter", "drain")
        self.corners: list[np.ndarray] = []
        points = _counter_clockwise(self.outline)
        if points is None:
            return
        if shape.role == "collider":
            rough = roughness(shape.friction)
            tone = tuple(a + (b - a) * rough for a, b in zip(theme.slip, theme.stick, strict=True))
            self.corners = [_filled(points, (*tone, 1.0), BODY, rough)]
        elif self.zone:
            tone = (*_zone_color(frame, shape, theme), 0.9)
            self.corners = [_filled(points, tone, ZONE, 1.0), *_arrows(points, shape, tone)]

    def shows(self, shape: ShapeView) -> bool:
        """Whether the triangles are those of this shape as it is now."""
        return _look(shape) == self.look and np.array_equal(shape.outline, self.outline)


def _look(shape: ShapeView) -> tuple:
    """What the triangles of a shape depend on besides its outline."""
    return shape.role, shape.material, shape.direction, shape.friction


def _ordered(parts: list[ShapePart]) -> list[np.ndarray]:
    """The triangles of all parts, in the order in which they are drawn."""
    return [
        corners
        for zone in (False, True)
        for part in parts
        if part.zone == zone
        for corners in part.corners
    ]


def roughness(friction: Friction) -> float:
    """0 for "slip", 1 for "stick", between for a Coulomb coefficient; 0 for an open side."""
    if isinstance(friction, str):
        return 1.0 if friction == "stick" else 0.0
    return 0.2 + 0.6 * min(1.0, max(0.0, float(friction)))


def _zone_color(frame: Frame, shape: ShapeView, theme: Theme) -> tuple[float, float, float]:
    """A drain has the theme's colour, an emitter the colour of what it emits."""
    if shape.role == "drain" or shape.material is None:
        return theme.drain
    matter = encoded_rgb(frame.palette[shape.material])
    return tuple(float(m + 0.35 * (t - m)) for m, t in zip(matter, theme.mark, strict=True))


def _counter_clockwise(outline: np.ndarray) -> np.ndarray | None:
    """The outline's corners once each, counter-clockwise; None if they enclose nothing."""
    points = np.asarray(outline, dtype=np.float64).reshape(-1, 2)
    distinct = np.any(points != np.roll(points, -1, axis=0), axis=1)
    points = points[distinct]
    if len(points) < 3 or not np.isfinite(points).all():
        return None
    following = np.roll(points, -1, axis=0)
    doubled_area = np.sum(points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0])
    if doubled_area == 0.0:
        return None
    return points if doubled_area > 0.0 else points[::-1]


def _filled(points: np.ndarray, rgba: tuple, pattern: int, strength: float) -> np.ndarray:
    """A convex outline: per side a soft edge, a band inside it and a slice of the middle."""
    count = len(points)
    middle = points.mean(axis=0)
    side = np.roll(points, -1, axis=0) - points
    length = np.hypot(side[:, 0], side[:, 1])
    along = side / length[:, None]
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1)
    # Offsets that keep the sides parallel; a sharp corner's is cut off at four times the width.
    before = np.roll(outward, 1, axis=0)
    miter = outward + before
    miter /= np.maximum(np.sum(miter * outward, axis=1), 0.25)[:, None]
    inradius = _inradius(points)

    ends = [np.arange(count), (np.arange(count) + 1) % count]
    # A body's pattern is fixed to it: its axes follow the first side.
    axes = np.stack([along[0], -outward[0]], axis=1)
    walked = np.concatenate([[0.0], np.cumsum(length)])

    def ring(inset: float) -> list[np.ndarray]:
        """Both end corners of every side, moved inwards by `inset` points: two (count, width)."""
        corners = []
        for which, end in enumerate(ends):
            block = np.zeros((count, _WIDTH), dtype=np.float32)
            block[:, _COLUMNS["position"]] = points[end]
            block[:, _COLUMNS["offset"]] = -inset * miter[end]
            reach = np.hypot(*miter[end].T)
            block[:, _COLUMNS["limit"]] = (0.9 * inradius * reach if inset > 0 else reach * FAR)[
                :, None
            ]
            block[:, _COLUMNS["depth"]] = inset
            if pattern == ZONE:
                block[:, _COLUMNS["local"].start] = walked[which : count + which]
            else:
                block[:, _COLUMNS["local"]] = (points[end] - middle) @ axes
                block[:, _COLUMNS["axis"]] = along[0]
            block[:, _COLUMNS["normal"]] = outward
            corners.append(block)
        return corners

    outer, inner, deep = ring(-FEATHER), ring(FEATHER), ring(BEVEL)
    hub = deep[0].copy()
    hub[:, _COLUMNS["position"]] = middle
    hub[:, _COLUMNS["offset"]] = 0.0
    if pattern != ZONE:
        hub[:, _COLUMNS["local"]] = 0.0
    strips = [
        *(outer[0], outer[1], inner[1], outer[0], inner[1], inner[0]),
        *(inner[0], inner[1], deep[1], inner[0], deep[1], deep[0]),
        *(deep[0], deep[1], hub),
    ]
    corners = np.stack(strips, axis=1).reshape(-1, _WIDTH)
    corners[:, _COLUMNS["color"]] = rgba
    corners[:, _COLUMNS["style"]] = pattern, strength
    return corners


def _arrows(points: np.ndarray, shape: ShapeView, rgba: tuple) -> list[np.ndarray]:
    """Marks of constant size: the way an emitter throws matter, or four ways into a drain."""
    middle = points.mean(axis=0)
    room = 0.8 * _inradius(points)
    if shape.direction is None:
        glyph = np.concatenate([_chevron(turn, -11.0) for turn in range(4)])
        return [_mark(middle, glyph, room, rgba)]
    ahead = np.asarray(shape.direction, dtype=np.float64)
    across = np.array([-ahead[1], ahead[0]])
    glyph = np.concatenate([_chevron(0, -4.5), _chevron(0, 4.5)]) @ np.stack([ahead, across])
    reach = float(np.max(np.abs((points - middle) @ across)))
    spots = (0.0,) if reach < 4.0 * room else (-0.6, 0.0, 0.6)
    return [_mark(middle + across * reach * spot, glyph, room, rgba) for spot in spots]


def _chevron(quarter_turns: int, start: float) -> np.ndarray:
    """Triangle corners (12, 2) [points] of a ">" whose middle is `start` along its direction."""
    arm = np.array([(4.0, 0.0), (-2.0, 6.0), (-5.0, 6.0), (1.0, 0.0)])
    upper = arm[[0, 1, 2, 0, 2, 3]]
    both = np.concatenate([upper, upper * (1.0, -1.0)]) + np.array((start, 0.0))
    ahead = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][quarter_turns])
    return both @ np.stack([ahead, (-ahead[1], ahead[0])])


def _mark(place: np.ndarray, glyph: np.ndarray, room: float, rgba: tuple) -> np.ndarray:
    """A glyph (m, 2) [points] at `place` [m], shrunk where it would reach beyond `room` [m]."""
    corners = np.zeros((len(glyph), _WIDTH), dtype=np.float32)
    corners[:, _COLUMNS["position"]] = place
    corners[:, _COLUMNS["offset"]] = glyph
    # The limit is a length, and all corners must shrink alike.
    reach = np.hypot(glyph[:, 0], glyph[:, 1])
    corners[:, _COLUMNS["limit"]] = (room * reach / reach.max())[:, None]
    corners[:, _COLUMNS["depth"]] = 1.0
    corners[:, _COLUMNS["normal"]] = 0.0, 1.0
    corners[:, _COLUMNS["color"]] = rgba
    corners[:, _COLUMNS["style"]] = PLAIN, 1.0
    return corners


def _inradius(points: np.ndarray) -> float:
    """Distance from the mean of the corners to the nearest side [m]."""
    side = np.roll(points, -1, axis=0) - points
    outward = np.stack([side[:, 1], -side[:, 0]], axis=1)
    outward /= np.hypot(side[:, 0], side[:, 1])[:, None]
    return float(np.min(np.sum((points - points.mean(axis=0)) * outward, axis=1)))


def _border(frame: Frame, theme: Theme) -> np.ndarray:
    """A band along each side of the domain: dashes where it is open, ticks where it is rough."""
    width, height = frame.domain
    left, right, bottom, top = frame.edges
    corners_of_domain = np.array([(0, 0), (width, 0), (width, height), (0, height), (0, 0)], float)
    sides = []
    for (start, end), friction in zip(
        pairwise(corners_of_domain), (bottom, right, top, left), strict=True
    ):
        length = float(np.hypot(*(end - start)))
        along = (end - start) / length
        outward = np.array([along[1], -along[0]])
        quad = np.zeros((4, _WIDTH), dtype=np.float32)
        quad[:, _COLUMNS["position"]] = start, end, end, start
        depths = np.array([-9.0, -9.0, 3.0, 3.0])
        quad[:, _COLUMNS["offset"]] = -depths[:, None] * outward
        quad[:, _COLUMNS["limit"]] = FAR
        quad[:, _COLUMNS["depth"]] = depths[:, None]
        quad[:, _COLUMNS["local"].start] = 0.0, length, length, 0.0
        quad[:, _COLUMNS["normal"]] = outward
        quad[:, _COLUMNS["color"]] = theme.border
        pattern = DASHES if friction == "open" else BORDER
        quad[:, _COLUMNS["style"]] = pattern, roughness(friction)
        sides.append(quad[[0, 1, 2, 0, 2, 3]])
    return np.concatenate(sides)
