"""Drawing: a frame of plain data in, pixels out. Reads the simulation, never changes it.

Importing this package loads no OpenGL: pyglet comes in with the first name that needs it, so that
headless commands run on machines without a display. The context manager `offscreen` comes from its
own module, `app.render.offscreen`, whose name it shares.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Camera": "camera",
    "Frame": "frame",
    "NullRenderer": "null",
    "Renderer": "renderer",
    "Ring": "frame",
    "ShapeView": "frame",
    "THEMES": "theme",
    "frame_of": "picture",
    "save_picture": "picture",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
