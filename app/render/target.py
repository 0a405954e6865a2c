"""A target: textures that are drawn into instead of the window."""

from __future__ import annotations

from ctypes import byref

from app.errors import RenderError
from app.render.opengl import gl

HALF = gl.GL_RGBA16F
BYTE = gl.GL_RGBA8


class Target:
    """`layers` textures of one size with a framebuffer over them. The context must be current."""

    def __init__(self, internal_format: int, layers: int = 1):
        self.format = internal_format
        self.size = (0, 0)
        self.textures = [gl.GLuint() for _ in range(layers)]
        self.framebuffer = gl.GLuint()
        self._drawn = 0

    def resize(self, width: int, height: int) -> None:
        """Make the textures at least this large; they never shrink by less than half."""
        wanted = (max(1, width), max(1, height))
        fits = all(w <= s <= 2 * w + 64 for w, s in zip(wanted, self.size, strict=True))
        if not fits:
            self._allocate(*wanted)

    def fix(self, width: int, height: int) -> None:
        """Make the textures exactly this large."""
        if self.size != (width, height):
            self._allocate(width, height)

    def bind(self, layers: int = 1) -> None:
        """Draw into the first `layers` textures from now on."""
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.framebuffer)
        if layers != self._drawn:
            buffers = (gl.GLenum * layers)(*(gl.GL_COLOR_ATTACHMENT0 + i for i in range(layers)))
            gl.glDrawBuffers(layers, buffers)
            self._drawn = layers

    def sample(self, first_unit: int = 0) -> None:
        """Bind the textures to texture units `first_unit`, `first_unit` + 1, ..."""
        for i, texture in enumerate(self.textures):
            gl.glActiveTexture(gl.GL_TEXTURE0 + first_unit + i)
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture)

    def close(self) -> None:
        """Free textures and framebuffer; the context must be current."""
        if self.framebuffer.value:
            gl.glDeleteFramebuffers(1, byref(self.framebuffer))
            for texture in self.textures:
                gl.glDeleteTextures(1, byref(texture))
        self.framebuffer = gl.GLuint()
        self.textures = [gl.GLuint() for _ in self.textures]
        self.size = (0, 0)
        self._drawn = 0

    def _allocate(self, width: int, height: int) -> None:
        self.close()
        kind = gl.GL_HALF_FLOAT if self.format == HALF else gl.GL_UNSIGNED_BYTE
        gl.glGenFramebuffers(1, byref(self.framebuffer))
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.framebuffer)
        for i, texture in enumerate(self.textures):
            gl.glGenTextures(1, byref(texture))
            gl.glActiveTexture(gl.GL_TEXTURE0)
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
            gl.glTexImage2D(
                gl.GL_TEXTURE_2D, 0, self.format, width, height, 0, gl.GL_RGBA, kind, None
            )
            for name, value in (
                (gl.GL_TEXTURE_MIN_FILTER, gl.GL_LINEAR),
                (gl.GL_TEXTURE_MAG_FILTER, gl.GL_LINEAR),
                (gl.GL_TEXTURE_WRAP_S, gl.GL_CLAMP_TO_EDGE),
                (gl.GL_TEXTURE_WRAP_T, gl.GL_CLAMP_TO_EDGE),
                (gl.GL_TEXTURE_MAX_LEVEL, 0),
            ):
                gl.glTexParameteri(gl.GL_TEXTURE_2D, name, value)
            gl.glFramebufferTexture2D(
                gl.GL_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0 + i, gl.GL_TEXTURE_2D, texture, 0
            )
        self.size = (width, height)
        status = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
        if status != gl.GL_FRAMEBUFFER_COMPLETE:
            raise RenderError(
                f"the graphics driver gives no {width}x{height} drawing target "
                f"(status {status:#x}); a smaller picture or a newer driver would do"
            )
