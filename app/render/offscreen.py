"""An OpenGL context without a visible window, for pictures from headless commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.errors import RenderError

if TYPE_CHECKING:
    from app.render.renderer import Renderer

_LINUX_CURE = (
    "install Mesa's drivers (Debian/Ubuntu: apt install libegl1 libgl1 libgl1-mesa-dri) "
    "or start it in a desktop session"
)
_OTHER_CURE = "install the graphics card's driver or start it in a desktop session"


@contextmanager
def offscreen(width: int, height: int, *, quality: float | str = 1.0) -> Iterator[Renderer]:
    """A Renderer of its own, without a visible window, that is freed at the end.

    On Linux without a display this is a headless EGL context, elsewhere an invisible window. The
    context that was current before is current again afterwards. Frames may have any size: their
    camera's viewport says so; `width` and `height` [px] are what the targets start with.

    Raises RenderError when there is no OpenGL 3.3.
    """
    window, previous = _hidden_window()
    try:
        from app.render.renderer import Renderer
        from app.render.target import BYTE, Target

        target = Target(BYTE)
        target.fix(max(1, int(width)), max(1, int(height)))
        renderer = Renderer(quality=quality, target=target)
        try:
            yield renderer
        finally:
            window.switch_to()
            renderer.close()
            target.close()
    finally:
        _close(window)
        if previous is not None:
            previous.set_current()


def _hidden_window() -> tuple[Any, Any]:
    """An invisible window whose context is current, and the context that was current before."""
    cure = _LINUX_CURE if sys.platform.startswith("linux") else _OTHER_CURE
    try:
        from app.render.opengl import gl  # isort: skip, it settles where windows go
        from pyglet import window

        previous = gl.current_context
        # A 1x1 window is enough: pictures are drawn into a target of their own, because what
        # lies behind an invisible window is undefined.
        config = gl.Config(major_version=3, minor_version=3, double_buffer=True)
        hidden = window.Window(1, 1, visible=False, vsync=False, config=config)
    except Exception as error:
        # pyglet, EGL, GLX and ctypes each raise their own kinds here; none helps the user as is.
        import pyglet

        where = "no display, headless EGL" if pyglet.options["headless"] else "this display"
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RenderError(
            f"no OpenGL 3.3 context for pictures ({where}: {reason}); {cure}"
        ) from error
    info = hidden.context.get_info()
    if not info.have_version(3, 3):
        version = info.get_version_string()
        _close(hidden)
        raise RenderError(f"OpenGL 3.3 is needed, the driver offers {version}; {cure}")
    return hidden, previous


def _close(window: Any) -> None:
    surface = getattr(window, "_egl_surface", None)
    connection = getattr(window, "_egl_display_connection", None)
    window.close()
    if surface is not None:  # pyglet's headless window leaves its surface behind
        from pyglet.libs.egl import egl

        egl.eglDestroySurface(connection, surface)
