"""The camera: which part of the world is seen, and where on the picture it lands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# Beyond these heights single precision on the graphics card no longer places a particle well.
MIN_HEIGHT = 1e-4
MAX_HEIGHT = 1e4


@dataclass
class Camera:
    """A view without rotation onto the plane, in framebuffer pixels.

    Pixel (0, 0) is the lower left corner of the picture and y points up, as in OpenGL and in
    pyglet's mouse events; the centre of the lower left pixel is (0.5, 0.5). On a hi-DPI screen
    these are pixels of the framebuffer, not points of the window.

    The methods that move the camera change it in place and return it, so that calls can be chained.

    center: (x, y) of the middle of the picture [m]
    height: extent of the picture in y [m]; its extent in x follows from the viewport
    viewport: (width, height) of the picture [px]
    """

    center: tuple[float, float] = (0.0, 0.0)
    height: float = 1.0
    viewport: tuple[int, int] = (1280, 720)

    def __post_init__(self) -> None:
        self.center = (float(self.center[0]), float(self.center[1]))
        self.resize(*self.viewport)
        self.height = _clamped(float(self.height))

    @property
    def pixels_per_meter(self) -> float:
        """Scale of the picture [px/m], the same in x and y."""
        return self.viewport[1] / self.height

    @property
    def meters_per_pixel(self) -> float:
        """The inverse of `pixels_per_meter` [m/px]."""
        return self.height / self.viewport[1]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The part of the world that is seen: (xmin, ymin, xmax, ymax) [m]."""
        half_width = 0.5 * self.viewport[0] * self.meters_per_pixel
        half_height = 0.5 * self.height
        x, y = self.center
        return x - half_width, y - half_height, x + half_width, y + half_height

    def world_to_pixel(self, point: Sequence[float] | np.ndarray) -> np.ndarray:
        """Pixels of world points: (2,) or (n, 2) [m] -> the same shape, float64 [px]."""
        offset = np.asarray(point, dtype=np.float64) - self.center
        return offset * self.pixels_per_meter + 0.5 * np.asarray(self.viewport, dtype=np.float64)

    def pixel_to_world(self, pixel: Sequence[float] | np.ndarray) -> np.ndarray:
        """World points under pixels: (2,) or (n, 2) [px] -> the same shape, float64 [m]."""
        offset = np.asarray(pixel, dtype=np.float64) - 0.5 * np.asarray(self.viewport)
        return offset * self.meters_per_pixel + np.asarray(self.center)

    def zoom_at(self, pixel: Sequence[float], factor: float) -> Camera:
        """Magnify by `factor` (> 1 comes closer); the point under `pixel` [px] stays there."""
        if not (math.isfinite(factor) and factor > 0.0):
            return self
        anchor = self.pixel_to_world(pixel)
        height = _clamped(self.height / factor)
        kept = height / self.height
        self.center = tuple(
            float(a + (c - a) * kept) for a, c in zip(anchor, self.center, strict=True)
        )
        self.height = height
        return self

    def pan(self, dx: float, dy: float) -> Camera:
        """Drag the world by (dx, dy) [px]: what was under the mouse stays under it."""
        scale = self.meters_per_pixel
        self.center = (self.center[0] - dx * scale, self.center[1] - dy * scale)
        return self

    def fit(self, domain: Sequence[float], margin: float = 0.04) -> Camera:
        """See the whole domain (width, height) [m], with a `margin` in parts of the picture."""
        width, height = float(domain[0]), float(domain[1])
        aspect = self.viewport[0] / self.viewport[1]
        self.center = (0.5 * width, 0.5 * height)
        self.height = _clamped(max(height, width / aspect) / (1.0 - 2.0 * margin))
        return self

    def resize(self, width: int, height: int) -> Camera:
        """Take a new picture size [px]; centre and height in metres stay."""
        self.viewport = (max(1, int(width)), max(1, int(height)))
        return self

    def with_viewport(self, width: int, height: int) -> Camera:
        """A copy that shows at least what this camera shows, on a picture of another size [px]."""
        old_aspect = self.viewport[0] / self.viewport[1]
        new_aspect = max(1, width) / max(1, height)
        grown = self.height * max(1.0, old_aspect / new_aspect)
        return replace(self, height=grown, viewport=(width, height))


def _clamped(height: float) -> float:
    return min(max(height, MIN_HEIGHT), MAX_HEIGHT)
