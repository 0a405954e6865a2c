"""The frame: all that a renderer may know about one picture. Plain data, no OpenGL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.render.camera import Camera

NOTHING = 255  # material byte of a slot that holds no particle

# One side of the domain, or one collider: how matter behaves at the surface.
Friction = str | float


class Ring(NamedTuple):
    """A tool's reach: a circle about `center` [m] of `radius` [m]; rgba is sRGB, 0..1."""

    center: tuple[float, float]
    radius: float
    rgba: tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class ShapeView:
    """One shape of the scene, as it is now.

    role: "emitter", "drain" or "collider" ("fill" is not drawn)
    kind: the shape's kind; a renderer needs it for nothing but marks
    outline: (k, 2) corners of a convex outline [m], either winding, first point repeated or not
    material: index into the frame's palette, for an emitter
    direction: (x, y) unit vector in which an emitter throws matter
    label: the shape's name
    friction: "stick", "slip" or a Coulomb coefficient, for a collider
    """

    role: str
    kind: str
    outline: np.ndarray
    material: int | None = None
    direction: tuple[float, float] | None = None
    label: str = ""
    friction: Friction = "slip"


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture.

    points: (n, 3) float32: x [m], y [m] and 32 bits: bits 0-7 the material index (255: no particle
        here), bits 8-23 the value of the view (0..65535 over `view_range`), bits 24-31 the grain
    palette: (k, 3) float32 linear rgb 0..1, one colour a material
    models: k material models: "liquid", "elastic", "sand", ...
    shapes: the shapes to draw, lowest first
    domain: (width, height) [m]; the lower left corner is the origin
    edges: (left, right, bottom, top), each "stick", "slip", "open" or a Coulomb coefficient
    particle_size: distance between neighbouring particles at rest [m]
    camera: what is seen; its viewport is the size of the picture in framebuffer pixels
    view: "matter", or the name of a quantity that colours the particles by their value
    view_range: (low, high) of that quantity, in its own unit; for legends
    ring: a tool's reach, or None
    theme: a key of THEMES
    pixel_ratio: framebuffer pixels per window point; lines keep their apparent width on hi-DPI
    """

    points: np.ndarray
    palette: np.ndarray
    models: tuple[str, ...]
    shapes: tuple[ShapeView, ...]
    domain: tuple[float, float]
    edges: tuple[Friction, Friction, Friction, Friction]
    particle_size: float
    camera: Camera
    view: str = "matter"
    view_range: tuple[float, float] = (0.0, 1.0)
    ring: Ring | tuple | None = None
    theme: str = "dark"
    pixel_ratio: float = 1.0


def linear_rgb(color: str) -> tuple[float, float, float]:
    """Linear rgb, 0..1, of an sRGB colour "#rrggbb"."""
    encoded = (int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in encoded)


def encoded_rgb(linear: np.ndarray) -> np.ndarray:
    """sRGB, 0..1, of linear rgb, the same shape."""
    c = np.clip(np.asarray(linear, dtype=np.float64), 0.0, 1.0)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1.0 / 2.4) - 0.055)
