"""A renderer that draws nothing: headless runs and tests drive it as they would the real one."""

from __future__ import annotations

import numpy as np

from app.render.frame import Frame


class NullRenderer:
    """Takes the calls of `Renderer`; needs no OpenGL. `frames` counts what it was given."""

    def __init__(self) -> None:
        self.frames = 0
        self.last: Frame | None = None

    def draw(self, frame: Frame) -> None:
        """Accept a frame."""
        self.frames += 1
        self.last = frame

    def read_pixels(self) -> np.ndarray:
        """A black picture of the last frame's size: (h, w, 4) uint8, opaque."""
        width, height = self.last.camera.viewport if self.last else (1, 1)
        pixels = np.zeros((height, width, 4), dtype=np.uint8)
        pixels[..., 3] = 255
        return pixels

    def close(self) -> None:
        """Nothing to free."""
