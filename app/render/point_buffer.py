"""The particles on the graphics card: one buffer, written once a frame."""

from __future__ import annotations

from ctypes import byref, c_void_p

import numpy as np

from app.render.frame import NOTHING
from app.render.opengl import gl

STRIDE = 12  # two floats and 32 bits


class PointBuffer:
    """A vertex buffer of (n, 3) float32 rows that grows and is reused. The context must be current.

    Attribute 0 is the position [m], attribute 1 the 32 bits of the third column.
    """

    def __init__(self) -> None:
        self.count = 0
        self._capacity = 0
        self._buffer = gl.GLuint()
        self._array = gl.GLuint()
        gl.glGenBuffers(1, byref(self._buffer))
        gl.glGenVertexArrays(1, byref(self._array))
        gl.glBindVertexArray(self._array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        gl.glEnableVertexAttribArray(0)
        gl.glVertexAttribPointer(0, 2, gl.GL_FLOAT, gl.GL_FALSE, STRIDE, c_void_p(0))
        gl.glEnableVertexAttribArray(1)
        gl.glVertexAttribIPointer(1, 1, gl.GL_UNSIGNED_INT, STRIDE, c_void_p(8))
        gl.glBindVertexArray(0)

    def upload(self, points: np.ndarray) -> None:
        """Send the rows up to the last one that holds a particle."""
        points = np.ascontiguousarray(points, dtype=np.float32)
        live = (points.view(np.uint32)[:, 2] & 0xFF) != NOTHING
        # argmax of the reversed mask finds the last live slot without building an index list.
        self.count = len(live) - int(np.argmax(live[::-1])) if live.any() else 0
        if not self.count:
            return
        if self.count > self._capacity:
            self._capacity = max(self.count, self._capacity + self._capacity // 2, 1024)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        # Fresh storage each frame: the driver need not wait for the last frame's draw.
        gl.glBufferData(gl.GL_ARRAY_BUFFER, self._capacity * STRIDE, None, gl.GL_STREAM_DRAW)
        gl.glBufferSubData(
            gl.GL_ARRAY_BUFFER, 0, self.count * STRIDE, points.ctypes.data_as(c_void_p)
        )

    def draw(self) -> None:
        """Draw every row that was sent as one point, with the current program."""
        if self.count:
            gl.glBindVertexArray(self._array)
            gl.glDrawArrays(gl.GL_POINTS, 0, self.count)

    def close(self) -> None:
        """Free the buffer; the context must be current."""
        gl.glDeleteVertexArrays(1, byref(self._array))
        gl.glDeleteBuffers(1, byref(self._buffer))
