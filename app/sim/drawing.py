"""The packed draw buffer: 12 bytes a slot, made on the device.

Columns: x [m], y [m], and a 32-bit word whose bits 0-7 are the material's number (255: nothing
here), bits 8-23 the view's value over its range, bits 24-31 a fixed random byte of the slot.
"""

import taichi as ti
import taichi.math as tm

from app.sim.grid import MARGIN
from app.sim.linear import mixed_bits
from app.sim.materials import LIQUID
from app.sim.state import LIVE, float_index, integer_index

VIEWS = ("matter", "speed", "volume")
"""matter has no value; speed [m/s]; volume: the ratio J to the volume at rest."""
NOTHING = 255


@ti.data_oriented
class DrawBuffer:
    """Packs a State for drawing; reads it, never changes it."""

    def __init__(self, state):
        self.state = state

    @ti.func
    def view_value(self, particle, view, cell):
        """The quantity of a view at one particle."""
        value = 0.0
        if view == ti.static(VIEWS.index("speed")):
            dt = self.state.floats[ti.static(float_index("dt"))]
            value = self.state.displacement[particle].norm() * cell / dt
        elif view == ti.static(VIEWS.index("volume")):
            value = self.state.deformation_gradient[particle].determinant()
            if self.state.material_model[self.state.material[particle]] == LIQUID:
                value = self.state.volume_ratio[particle]
        return value

    @ti.kernel
    def pack(
        self,
        out: ti.types.ndarray(dtype=ti.f32, ndim=2),
        cell: ti.f32,
        view: ti.i32,
        low: ti.f32,
        high: ti.f32,
    ):
        """Fill the first `high_water` rows of `out`, shape (>= high_water, 3)."""
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            word = ti.u32(NOTHING)
            point = tm.vec2(0.0, 0.0)
            if self.state.status[particle] == LIVE:
                point = (self.state.x[particle] - MARGIN) * cell
                share = tm.clamp(
                    (self.view_value(particle, view, cell) - low) / (high - low), 0.0, 1.0
                )
                word = ti.cast(self.state.material[particle], ti.u32)
                word |= ti.cast(share * 65535.0, ti.u32) << ti.u32(8)
                word |= (mixed_bits(particle) >> ti.u32(24)) << ti.u32(24)
            out[particle, 0] = point.x
            out[particle, 1] = point.y
            out[particle, 2] = ti.bit_cast(word, ti.f32)
