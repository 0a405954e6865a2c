"""Where the scene lies in the window: fitted beside the panels until the user moves the camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MARGIN = 0.035  # of the free area, left around the domain
ZOOM_PER_NOTCH = 1.18
PAN_PER_KEY = 0.06  # of the free area's smaller side
ZOOM_RANGE = (0.4, 60.0)  # relative to the fitted view: the scene can neither vanish nor be lost


@dataclass(frozen=True)
class Area:
    """A rectangle of the window, y up: in framebuffer pixels where the camera is concerned."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        return max(self.right - self.left, 1.0)

    @property
    def height(self) -> float:
        return max(self.top - self.bottom, 1.0)

    def scaled(self, ratio: float) -> Area:
        return Area(self.left * ratio, self.bottom * ratio, self.right * ratio, self.top * ratio)


class View:
    """A camera over the whole window, and the area of it that no panel covers."""

    def __init__(self, camera: Any, domain: tuple[float, float] = (1.0, 1.0)):
        self.camera = camera
        self.domain = domain
        width, height = camera.viewport
        self.area = Area(0.0, 0.0, float(width), float(height))
        self.fitted = True

    def layout(self, viewport: tuple[int, int], area: Area) -> None:
        """Take the window's size [px] and its free area of this frame."""
        if tuple(viewport) == tuple(self.camera.viewport) and area == self.area:
            return
        if not self.fitted:
            # Keep the scale and what lies in the middle of the free area.
            middle = self._middle()
            anchor = self.camera.pixel_to_world(middle)
            scale = self.camera.pixels_per_meter
        self.area = area
        self.camera.resize(*viewport)
        if self.fitted:
            self.fit()
        else:
            self.camera.height = self.camera.viewport[1] / scale
            self._center_on(anchor)

    def show(self, domain: tuple[float, float], start: Any = None) -> None:
        """A scene of this size [m] was opened; `start` is its own camera, if it has one."""
        self.domain = (float(domain[0]), float(domain[1]))
        self.fit()
        if start is not None:
            scale = self.area.height / start.height
            self.fitted = False
            self.camera.height = self.camera.viewport[1] / scale
            self._center_on(start.center)

    def _center_on(self, point: tuple[float, float]) -> None:
        """Put a world point [m] in the middle of the free area."""
        seen = self.world(*self._middle())
        center = self.camera.center
        self.camera.center = (
            float(center[0] + point[0] - seen[0]),
            float(center[1] + point[1] - seen[1]),
        )

    def fit(self) -> None:
        """The whole domain in the middle of the free area; and it stays so when that changes."""
        self.fitted = True
        scale = self._fitted_scale()
        width, height = self.camera.viewport
        self.camera.height = height / scale
        middle = self._middle()
        self.camera.center = (
            self.domain[0] / 2 - (middle[0] - width / 2) / scale,
            self.domain[1] / 2 - (middle[1] - height / 2) / scale,
        )

    def zoom(self, notches: float, pixel: tuple[float, float] | None = None) -> None:
        """Come closer by `notches` at a pixel, or at the middle of the free area."""
        fitted = self._fitted_scale()
        scale = self.camera.pixels_per_meter
        wanted = min(
            max(scale * ZOOM_PER_NOTCH**notches, fitted * ZOOM_RANGE[0]), fitted * ZOOM_RANGE[1]
        )
        self.camera.zoom_at(pixel if pixel is not None else self._middle(), wanted / scale)
        self._hold()
        self.fitted = False

    def pan(self, dx: float, dy: float) -> None:
        """Drag the world by (dx, dy) [px]."""
        self.camera.pan(dx, dy)
        self._hold()
        self.fitted = False

    def pan_by_key(self, x: int, y: int) -> None:
        """Look further left (-1, 0), up (0, 1) and so on."""
        step = PAN_PER_KEY * min(self.area.width, self.area.height)
        self.pan(-x * step, -y * step)

    def world(self, x: float, y: float) -> tuple[float, float]:
        """World point [m] under a pixel [px]."""
        point = self.camera.pixel_to_world((x, y))
        return (float(point[0]), float(point[1]))

    def pixel(self, point: tuple[float, float]) -> tuple[float, float]:
        """Pixel [px] of a world point [m]."""
        place = self.camera.world_to_pixel(point)
        return (float(place[0]), float(place[1]))

    def _middle(self) -> tuple[float, float]:
        return (
            (self.area.left + self.area.right) / 2,
            (self.area.bottom + self.area.top) / 2,
        )

    def _fitted_scale(self) -> float:
        free = 1.0 - 2.0 * MARGIN
        return min(
            self.area.width * free / self.domain[0], self.area.height * free / self.domain[1]
        )

    def _hold(self) -> None:
        """Keep some of the domain in the middle of the free area."""
        seen = self.camera.pixel_to_world(self._middle())
        self._center_on(
            tuple(min(max(place, 0.0), side) for place, side in zip(seen, self.domain, strict=True))
        )
