"""The display: a window with an OpenGL 3.3 context, and ImGui's renderer in it."""

from __future__ import annotations

import os
import sys
from typing import Any

from app.errors import RenderError

WINDOW_SIZE = (1360, 820)  # at 96 dots per inch; smaller where the screen is
MINIMUM_SIZE = (760, 480)


def open_window() -> Any:
    """A pyglet window with an OpenGL 3.3 context, or RenderError in one sentence."""
    import pyglet

    pyglet.options.dpi_scaling = "scaled"
    if "pyglet.gl" not in sys.modules:
        pyglet.options.shadow_window = False
    from app.render.opengl import display_answers

    try:
        if not display_answers() or pyglet.options.headless:
            raise RenderError(
                "there is no display to open a window on; 'matterbox simulate' plays a scene "
                "without one"
            )
        import pyglet.window

        config = pyglet.gl.Config(
            double_buffer=True, major_version=3, minor_version=3, forward_compatible=True
        )
        screen = pyglet.display.get_display().get_default_screen()
        scale = screen.get_scale() or 1.0
        # The window's frame and the desktop's bars want some room too.
        width = min(WINDOW_SIZE[0], int(screen.width / scale * 0.94))
        height = min(WINDOW_SIZE[1], int(screen.height / scale * 0.88))
        window = pyglet.window.Window(
            width,
            height,
            caption="Matterbox",
            resizable=True,
            vsync=True,
            config=config,
            file_drops=True,
        )
    except RenderError:
        raise
    except Exception as error:
        # pyglet, GLX, WGL and ctypes each raise their own kinds; none of them says what to do.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RenderError(
            f"no window with OpenGL 3.3 could be opened ({reason}); install the graphics card's "
            "driver, or play without a window: 'matterbox simulate'"
        ) from error
    info = window.context.get_info()
    if not info.have_version(3, 3):
        version = info.get_version_string()
        window.close()
        raise RenderError(
            f"the display offers OpenGL {version}, the window needs 3.3; a newer graphics driver "
            "would do, or play without a window: 'matterbox simulate'"
        )
    window.set_minimum_size(*(int(side * scale) for side in MINIMUM_SIZE))
    return window


def imgui_renderer() -> Any:
    """imgui_bundle's OpenGL renderer, told before its import which window system is there."""
    if sys.platform.startswith("linux"):
        # pyglet's windows are GLX's, under XWayland too; PyOpenGL would guess EGL from the session.
        os.environ["PYOPENGL_PLATFORM"] = "glx"
    import OpenGL

    if "OpenGL.GL" not in sys.modules:
        OpenGL.ERROR_CHECKING = False  # a check after every call costs more than the calls
        OpenGL.ERROR_LOGGING = False
    from imgui_bundle.python_backends.opengl_backend_programmable import (
        ProgrammablePipelineRenderer,
    )

    return ProgrammablePipelineRenderer()
