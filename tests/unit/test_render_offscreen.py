"""Contract: `offscreen` gives a working renderer without a window, as often as asked, frees what it
made, gives the context that was current back, and says in one sentence what is missing when there
is no OpenGL. Importing the package needs neither OpenGL nor imgui nor Taichi."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

from app.errors import RenderError
from app.render import Camera, Frame, NullRenderer

DRAW = """
import numpy as np
from app.render import Camera, Frame
from app.render.offscreen import offscreen
frame = Frame(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), (), (), (1.0, 1.0),
              ("slip",) * 4, 0.01, Camera((0.5, 0.5), 1.0, (40, 30)))
with offscreen(40, 30) as renderer:
    renderer.draw(frame)
    print(renderer.read_pixels().shape, renderer.read_pixels().max() > 20)
"""


def frame(viewport=(40, 30)):
    return Frame(
        points=np.zeros((0, 3), np.float32),
        palette=np.zeros((0, 3), np.float32),
        models=(),
        shapes=(),
        domain=(1.0, 1.0),
        edges=("slip", "slip", "stick", "open"),
        particle_size=0.01,
        camera=Camera((0.5, 0.5), 1.0, viewport),
    )


@pytest.fixture
def offscreen():
    from app.render.offscreen import offscreen

    try:
        with offscreen(8, 8):
            pass
    except RenderError as error:
        pytest.skip(f"no OpenGL 3.3 without a window here: {error}")
    return offscreen


def run(code, **environment):
    """A fresh interpreter's output; None removes a variable."""
    variables = {**os.environ, **environment}
    variables = {name: value for name, value in variables.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120
    )


def test_it_can_be_used_again_and_again_and_inside_itself(offscreen):
    pictures = []
    for _ in range(3):
        with offscreen(40, 30) as outer:
            outer.draw(frame())
            before = outer.read_pixels()
            with offscreen(64, 64) as inner:
                inner.draw(frame((64, 64)))
                assert inner.read_pixels().shape == (64, 64, 4)
            outer.draw(frame())
            np.testing.assert_array_equal(outer.read_pixels(), before)
            pictures.append(before)
    for later in pictures[1:]:
        np.testing.assert_array_equal(later, pictures[0])


def test_it_gives_back_the_context_that_was_current(offscreen):
    from app.render.opengl import gl

    before = gl.current_context
    with offscreen(16, 16):
        during = gl.current_context
        assert during is not before
    assert gl.current_context is before
    with pytest.raises(ZeroDivisionError), offscreen(16, 16):
        raise ZeroDivisionError
    assert gl.current_context is before


def test_a_fresh_process_needs_no_display(offscreen):
    for display in (None, ":987"):  # none, and one that nobody serves
        result = run(DRAW, DISPLAY=display, WAYLAND_DISPLAY=None)
        assert result.stdout.split("\n")[0] == "(30, 40, 4) True", result.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hides EGL's drivers, on Linux")
def test_without_opengl_one_sentence_says_what_is_missing():
    code = (
        "from app.errors import RenderError\n"
        "from app.render.offscreen import offscreen\n"
        "try:\n    offscreen(40, 30).__enter__()\n"
        "except RenderError as error:\n    print(error)\n"
    )
    hidden = {
        "__EGL_VENDOR_LIBRARY_DIRS": "/nowhere",
        "__EGL_VENDOR_LIBRARY_FILENAMES": None,
        "LIBGL_DRIVERS_PATH": "/nowhere",
    }
    for repeat in (code, code + code[code.index("try:") :]):  # the second try says it as well
        result = run(repeat, DISPLAY=None, WAYLAND_DISPLAY=None, **hidden)
        lines = result.stdout.strip().split("\n")
        assert len(lines) == repeat.count("try:"), result.stdout + result.stderr
        for line in lines:
            assert line.startswith("no OpenGL 3.3") and "apt install" in line


def test_importing_the_package_loads_no_opengl_no_imgui_and_no_taichi():
    code = (
        "import sys, app.render, app.render.picture, app.render.null\n"
        "app.render.Camera, app.render.Frame, app.render.frame_of, app.render.NullRenderer\n"
        "print([m for m in ('pyglet', 'OpenGL', 'imgui_bundle', 'taichi') if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"
    code = (
        "import sys, app.render.offscreen, app.render.renderer\n"
        "print([m for m in ('OpenGL', 'imgui_bundle', 'taichi') if m in sys.modules])"
    )
    result = run(code, DISPLAY=None)
    assert result.stdout.strip() == "[]" or "EGL" in result.stderr


def test_a_null_renderer_takes_the_same_calls(offscreen):
    from app.render import Renderer

    for name, method in inspect.getmembers(NullRenderer, inspect.isfunction):
        if name != "__init__":
            assert inspect.signature(method) == inspect.signature(getattr(Renderer, name)), name
    public = {name for name in vars(Renderer) if not name.startswith("_")}
    assert public <= set(dir(NullRenderer))
    renderer = NullRenderer()
    renderer.draw(frame())
    assert renderer.read_pixels().shape == (30, 40, 4)
    assert renderer.last is not None and renderer.frames == 1
    renderer.close()
