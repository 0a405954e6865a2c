"""A shader program: GLSL from assets/shaders, compiled, with its uniforms by name."""

from __future__ import annotations

import re
from ctypes import POINTER, c_float, c_int
from functools import cache
from typing import Any

import numpy as np

from app.errors import RenderError
from app.paths import assets_dir
from app.render.opengl import Shader, ShaderException, ShaderProgram, gl

_INCLUDE = re.compile(r'^#include "([\w.]+)"$', re.MULTILINE)
_UNIFORM = re.compile(r"^uniform\s+(\w+)\s+(\w+)(\[\w+\])?;", re.MULTILINE)


class Program:
    """`name`.vert.glsl and `name`.frag.glsl, linked. The context must be current.

    fragment: another name for the fragment shader's file
    define: a macro that chooses a variant of the fragment shader

    Raises RenderError, naming the file, when the graphics driver refuses the text.
    """

    def __init__(self, name: str, fragment: str | None = None, define: str | None = None):
        texts = {
            "vertex": shader_text(f"{name}.vert.glsl"),
            "fragment": shader_text(f"{fragment or name}.frag.glsl"),
        }
        if define is not None:
            version, rest = texts["fragment"].split("\n", 1)
            texts["fragment"] = f"{version}\n#define {define}\n{rest}"
        try:
            shaders = [Shader(text, stage) for stage, text in texts.items()]
            self._program = ShaderProgram(*shaders)
            for shader in shaders:
                shader.delete()
        except ShaderException as error:
            # pyglet's message starts with the whole source; the driver's own words come after.
            words = str(error).split("OpenGL returned the following message")[-1].splitlines()
            reason = next((line for line in words if "error" in line.lower()), words[-1])
            raise RenderError(
                f"the graphics driver refuses shader {name!r}: {reason}; "
                "an OpenGL 3.3 driver is needed, see `matterbox doctor`"
            ) from error
        self._id = self._program.id
        self._types = {
            uniform: kind for text in texts.values() for kind, uniform, _ in _UNIFORM.findall(text)
        }
        self._locations = {
            uniform: gl.glGetUniformLocation(self._id, uniform.encode()) for uniform in self._types
        }

    def use(self, **uniforms: Any) -> None:
        """Make this the current program and set uniforms.

        A name that the shader does not declare is a KeyError; one that is declared but that the
        driver found unused is passed over.
        """
        gl.glUseProgram(self._id)
        for name, value in uniforms.items():
            _SETTERS[self._types[name]](self._locations[name], value)

    def close(self) -> None:
        """Free the program; the context must be current."""
        if self._program.id is not None:
            self._program.delete()


@cache
def shader_text(file_name: str) -> str:
    """The text of one file of assets/shaders with its `#include`s filled in."""
    text = (assets_dir() / "shaders" / file_name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: shader_text(match[1]), text)


def _set_matrix(location: int, value: Any) -> None:
    """Sets a matrix from its columns, one after the other."""
    data = np.ascontiguousarray(value, dtype=np.float32)
    gl.glUniformMatrix4fv(location, 1, gl.GL_FALSE, data.ctypes.data_as(POINTER(c_float)))


def _setter(function: Any, width: int, dtype: type, ctype: type) -> Any:
    """Sets a uniform, or an array of them, of `width` numbers each."""

    def set_uniform(location: int, value: Any) -> None:
        data = np.ascontiguousarray(value, dtype=dtype)
        function(location, data.size // width, data.ctypes.data_as(POINTER(ctype)))

    return set_uniform


_SETTERS = {
    "float": _setter(gl.glUniform1fv, 1, np.float32, c_float),
    "vec2": _setter(gl.glUniform2fv, 2, np.float32, c_float),
    "vec3": _setter(gl.glUniform3fv, 3, np.float32, c_float),
    "vec4": _setter(gl.glUniform4fv, 4, np.float32, c_float),
    "int": _setter(gl.glUniform1iv, 1, np.int32, c_int),
    "ivec2": _setter(gl.glUniform2iv, 2, np.int32, c_int),
    "mat4": _set_matrix,
    "sampler2D": _setter(gl.glUniform1iv, 1, np.int32, c_int),
}
