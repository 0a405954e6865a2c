"""The door to OpenGL: pyglet's bindings, loaded only after it is settled where windows go.

pyglet opens a hidden window as soon as its OpenGL module is imported, and decides then, once and
for all, between the desktop and headless EGL. So every file of this package takes `gl` from here.
"""

from __future__ import annotations

import os
import sys

import pyglet


def display_answers() -> bool:
    """Whether there is a desktop to open windows on. A stale DISPLAY is as good as none."""
    if not sys.platform.startswith("linux"):
        return True
    if not os.environ.get("DISPLAY"):
        return False
    try:
        from pyglet.libs.x11 import xlib
    except ImportError:
        return False
    display = xlib.XOpenDisplay(None)
    if not display:
        return False
    xlib.XCloseDisplay(display)
    return True


if "pyglet.gl" not in sys.modules:
    # pyglet would ask the driver for errors after every call; the tests ask once a frame.
    pyglet.options["debug_gl"] = False
    if not display_answers():
        pyglet.options["headless"] = True

from pyglet import gl  # noqa: E402
from pyglet.graphics.shader import Shader, ShaderException, ShaderProgram  # noqa: E402

__all__ = ["Shader", "ShaderException", "ShaderProgram", "display_answers", "gl"]
