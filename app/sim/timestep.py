"""The adaptive time step: two limits, one ladder of substeps with hysteresis.

Advective: dt <= dx / max_p(|v| + 1.5 dx |C|_F), from the state of the last tick and the speed that
gravity will add in the next. Acoustic: dt <= dx / c of the stiffest material present. The number of
substeps climbs the ladder at once and comes down one rung at a time after a calm spell, so it does
not flicker. All of it is integers and state, decided on the device at the end of a tick: no frame
waits for it and replay repeats it.
"""

import taichi as ti
import taichi.math as tm

from app.sim.state import LIVE, MAX_MATERIALS, float_index, integer_index

LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Substeps a tick may have; a scene's minimum and maximum cut it, both ends included."""
CALM_TICKS = 12
CALM_SHARE = 0.8
"""One rung down after CALM_TICKS ticks that needed at most CALM_SHARE of the lower rung."""

EXPLICIT_CFL = 0.7
"""Acoustic CFL that binds the explicit method. Its step is stable up to an eigenvalue of 4, and a
lone particle of a solid has 4 CFL^2 / (1 - nu): so sqrt(1 - nu), 0.71 at the greatest ratio."""


def ladder_between(minimum, maximum):
    """Rungs of a scene: its minimum, the ladder's rungs strictly between, its maximum."""
    return sorted({minimum, maximum, *(rung for rung in LADDER if minimum < rung < maximum)})


@ti.data_oriented
class TimeStep:
    """Chooses the substeps of the next tick and counts what is there for the CFL monitor."""

    def __init__(self, state):
        self.state = state
        self.rungs = ti.field(ti.i32, len(LADDER) + 2)
        self.rung_count = ti.field(ti.i32, ())
        self.tick_dt = ti.field(ti.f32, ())
        self.cell = ti.field(ti.f32, ())
        self.bind_acoustic = ti.field(ti.i32, ())
        self.acoustic_cfl = ti.field(ti.f32, ())
        self.speed_floor = ti.field(ti.f32, ())
        self.live = ti.field(ti.i32, MAX_MATERIALS)
        self.substeps = ti.field(ti.i32, ())
        self.rescale = ti.field(ti.f32, ())

    def load(self, scene):
        """Take a scene's ladder; the speeds it declares bound the rate from below."""
        rungs = ladder_between(scene.solver.min_substeps, scene.solver.max_substeps)
        for place, rung in enumerate(rungs):
            self.rungs[place] = rung
        self.rung_count[None] = len(rungs)
        self.tick_dt[None] = 1.0 / scene.solver.tick_rate
        self.cell[None] = scene.domain.cell
        self.bind_acoustic[None] = int(scene.solver.acoustic_binds)
        explicit = scene.solver.method == "explicit"
        self.acoustic_cfl[None] = EXPLICIT_CFL if explicit else 1.0
        speeds = [shape.speed for shape in scene.shapes if shape.role == "emitter"]
        self.speed_floor[None] = max(speeds, default=0.0) / scene.domain.cell

    @ti.kernel
    def count_live(self):
        """Live particles of each record."""
        for m in range(MAX_MATERIALS):
            self.live[m] = 0
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            if self.state.status[particle] == LIVE:
                self.live[self.state.material[particle]] += 1

    @ti.kernel
    def choose(self, settle: ti.i32):
        """Rung of the next tick from the last tick's rates; `settle` skips the hysteresis (at
        load)."""
        for _ in range(1):
            self.choose_rung(settle)

    @ti.func
    def choose_rung(self, settle):
        peak = ti.static(integer_index("peak_rate_bits"))
        advective = ti.bit_cast(self.state.integers[peak], ti.f32)
        advective = ti.max(advective, self.speed_floor[None])
        acoustic = 0.0
        for m in range(MAX_MATERIALS):
            if self.live[m] > 0:
                p = self.state.material_parameters[m]
                stiffest = 2.0 * p[1] + p[2] + p[3]
                acoustic = ti.max(acoustic, ti.sqrt(stiffest))
        self.state.floats[ti.static(float_index("advective_rate"))] = advective
        self.state.floats[ti.static(float_index("acoustic_rate"))] = acoustic
        gravity = tm.vec2(
            self.state.floats[ti.static(float_index("gravity_x"))],
            self.state.floats[ti.static(float_index("gravity_y"))],
        )
        # Without what gravity adds, free fall would outrun its dt and be cut by the node's cap.
        rate = advective + gravity.norm() * self.tick_dt[None] / self.cell[None]
        if self.bind_acoustic[None] == 1:
            rate = ti.max(rate, acoustic / self.acoustic_cfl[None])
        required = ti.cast(ti.ceil(ti.min(rate * self.tick_dt[None], 1e6)), ti.i32)
        required = ti.max(required, 1)
        self.state.integers[ti.static(integer_index("required_substeps"))] = required
        self.climb(required, settle)
        self.state.integers[peak] = 0

    @ti.func
    def climb(self, required, settle):
        """Up at once to the first rung that suffices, down one rung after a calm spell."""
        place_rung = ti.static(integer_index("ladder_rung"))
        place_calm = ti.static(integer_index("ladder_calm"))
        rung = self.state.integers[place_rung]
        top = self.rung_count[None] - 1
        if settle == 1:
            rung = 0
        if required > self.rungs[top]:
            self.state.integers[ti.static(integer_index("substeps_limited"))] += 1
        calm = self.state.integers[place_calm] + 1
        while rung < top and self.rungs[rung] < required:
            rung += 1
            calm = 0
        if rung > 0:
            lower = self.rungs[rung - 1]
            if required > CALM_SHARE * lower:
                calm = 0
            if calm > CALM_TICKS:
                rung -= 1
                calm = 0
        self.state.integers[place_rung] = rung
        self.state.integers[place_calm] = ti.min(calm, CALM_TICKS + 1)

    @ti.kernel
    def begin_tick(self):
        """Apply the rung: the new dt, and the ratio by which displacements are rescaled."""
        for _ in range(1):
            rung = self.state.integers[ti.static(integer_index("ladder_rung"))]
            substeps = self.rungs[rung]
            dt = self.tick_dt[None] / substeps
            self.substeps[None] = substeps
            self.rescale[None] = dt / self.state.floats[ti.static(float_index("dt"))]
            self.state.floats[ti.static(float_index("dt"))] = dt
