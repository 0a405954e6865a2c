"""The kernels of one substep: bin, scatter, rounds of scatter-solve-gather, integrate.

Everything is in grid units: positions in cells, displacements d in cells a substep, displacement
gradients D = C dt. See docs/architecture.md for the loop and the papers behind it.
"""

import taichi as ti
import taichi.math as tm

from app.sim.bodies import bodies_exchange
from app.sim.bspline import BSPLINE_NODES, bspline_cell, bspline_offset, bspline_weights
from app.sim.fixed_point import (
    FACTOR_LIMIT,
    SCALE,
    SCATTER_CROWDING,
    SCATTER_LIMIT,
)
from app.sim.grid import (
    MARGIN,
    NODES_PER_TILE,
    TILE,
    TILE_BITS,
    fixed_point,
)
from app.sim.linear import deviator, diagonal, signed_svd
from app.sim.materials import CLAY, FLOWING, LIQUID, SAND, SNOW, VISCO
from app.sim.materials.clay import clay_return_map
from app.sim.materials.liquid import liquid_return_map, liquid_spray_gradient
from app.sim.materials.sand import sand_return_map
from app.sim.materials.snow import snow_return_map
from app.sim.materials.visco import visco_return_map
from app.sim.policies import CLASSIC, EXPLICIT
from app.sim.policies.classic import classic_gradient
from app.sim.policies.compliant import compliant_impulse, compliant_stiffness
from app.sim.shapes import OPEN
from app.sim.state import (
    FAR,
    LEAVING,
    LIVE,
    NO_SLOT,
    NONFINITE_FIELDS,
    float_index,
    integer_index,
)

STRETCH_MIN, STRETCH_MAX = 0.1, 10.0
GRADIENT_LIMIT = 2.0 / 3.0
"""Bound of |D|_F in a substep: what the advective limit, |d| + 1.5 |D| <= 1 cell, leaves."""
CLOSING_LIMIT = 2.0 / 3.0
"""Bound of the share of its volume that a particle loses in a substep when a wall closes on it."""
GIVE = 0.4
"""Depth [cells] in a wall at which the particles of a solid are held: less than half of the
thinnest wall of one cell."""
HAND_NONE, HAND_GRAB, HAND_PUSH = 0, 1, 2
GRAB_TIME = 0.015
"""Time [s] in which grabbed matter takes on the hand's velocity."""


@ti.data_oriented
class Substep:
    """Kernels over a State, a Grid, a ShapeTable and a TimeStep; `work` slots are visited."""

    def __init__(self, state, grid, shapes, time_step):
        self.state = state
        self.time_step = time_step
        self.grid = grid
        self.shapes = shapes
        self.work = ti.field(ti.i32, ())
        self.nonfinite_before = ti.field(ti.i32, ())
        self.most_in_cell = ti.field(ti.i32, ())
        self.answered = ti.Vector.field(2, ti.i32, state.capacity)
        self.body_friction = ti.field(ti.f32, ())
        self.dt = ti.field(ti.f32, ())
        self.rounds = ti.field(ti.i32, ())
        self.gravity = ti.Vector.field(2, ti.f32, ())
        self.damping_factor = ti.field(ti.f32, ())
        self.volume = ti.field(ti.f32, ())
        self.cell = ti.field(ti.f32, ())
        self.tuning = ti.Vector.field(3, ti.f32, ())
        self.lower = ti.Vector.field(2, ti.f32, ())
        self.upper = ti.Vector.field(2, ti.f32, ())
        self.method = ti.field(ti.i32, ())
        self.chebyshev_reach = ti.field(ti.f32, ())
        self.chebyshev_share = ti.field(ti.f32, ())
        self.closing = ti.Matrix.field(2, 2, ti.f32, state.capacity)
        self.inertial_displacement = ti.Vector.field(2, ti.f32, state.capacity)
        self.inertial_gradient = ti.Matrix.field(2, 2, ti.f32, state.capacity)
        self.impulse = ti.Matrix.field(2, 2, ti.f32, state.capacity)
        self.impulse_before = ti.Matrix.field(2, 2, ti.f32, state.capacity)
        self.hand = ti.field(ti.i32, ())
        self.hand_center = ti.Vector.field(2, ti.f32, ())
        self.hand_velocity = ti.Vector.field(2, ti.f32, ())
        self.hand_radius = ti.field(ti.f32, ())
        self.hand_acceleration = ti.field(ti.f32, ())

    # -- small pieces ------------------------------------------------------------------------------

    @ti.func
    def count(self, name: ti.template(), amount):
        """Add to a named counter."""
        self.state.integers[ti.static(integer_index(name))] += amount

    @ti.func
    def parameters(self, particle):
        """The record of a particle as one vector, in MATERIAL_PARAMETERS order."""
        return self.state.material_parameters[self.state.material[particle]]

    @ti.func
    def tile_of(self, cell):
        """Index of the tile that holds a node."""
        return (cell.y >> TILE_BITS) * self.grid.tiles_across[None] + (cell.x >> TILE_BITS)

    @ti.func
    def node_of(self, cell):
        """Index of a node in the tile-by-tile layout."""
        local = (cell.y & (TILE - 1)) * TILE + (cell.x & (TILE - 1))
        return self.tile_of(cell) * NODES_PER_TILE + local

    @ti.func
    def stencil(self, cell, group):
        """Places of the nine nodes around a cell in the fields of a group: the place of node (i, j)
        is columns[i] + rows[j]. Shared by all, since addressing costs as much as adding."""
        columns = tm.ivec3(0, 0, 0)
        rows = tm.ivec3(0, 0, 0)
        across = self.grid.tiles_across[None] * NODES_PER_TILE
        for k in ti.static(range(3)):
            x = cell.x + (k - 1)
            y = cell.y + (k - 1)
            columns[k] = (x >> TILE_BITS) * NODES_PER_TILE + (x & (TILE - 1))
            rows[k] = (y >> TILE_BITS) * across + (y & (TILE - 1)) * TILE
            rows[k] += self.in_group(0, group)
        return columns, rows

    @ti.func
    def point_of(self, node):
        """Position of a node [cells]."""
        tile = node >> (2 * TILE_BITS)
        local = node & (NODES_PER_TILE - 1)
        across = self.grid.tiles_across[None]
        row = tile // across
        x = (tile - row * across) * TILE + (local & (TILE - 1))
        y = row * TILE + (local >> TILE_BITS)
        return tm.vec2(x, y) + 0.5

    @ti.func
    def active_node(self, t):
        """The t-th node of the active tiles."""
        tile = self.grid.active_tiles[t >> (2 * TILE_BITS)]
        return tile * NODES_PER_TILE + (t & (NODES_PER_TILE - 1))

    @ti.func
    def touch(self, cell):
        """Put the tile of a node on the list of active tiles, once."""
        tile = self.tile_of(cell)
        if self.grid.tile_touched[tile] == 0:
            before = ti.atomic_max(self.grid.tile_touched[tile], 1)
            if before == 0:
                place = ti.atomic_add(self.grid.active_count[None], 1)
                self.grid.active_tiles[place] = tile

    # -- stages ------------------------------------------------------------------------------------

    @ti.kernel
    def prepare(self, substep: ti.i32):
        """Decide whether this substep of the tick is run at all, and place the shapes for it.

        A host that cannot read the ladder without waiting launches the scene's maximum; the surplus
        finds no work and leaves no trace.
        """
        planned = self.time_step.substeps[None]
        for _ in range(1):
            self.work[None] = 0
            if substep < planned:
                self.work[None] = self.state.integers[ti.static(integer_index("high_water"))]
            if substep > 0:
                self.time_step.rescale[None] = 1.0
        self.shapes.move_to_substep(ti.min(substep, planned - 1), planned)

    @ti.kernel
    def bin_particles(self):
        """Clear the nodes of the last substep; list the tiles that matter touches now, count cells.

        What is no number leaves here, before its place is used as an index and its momentum reaches
        its neighbours.
        """
        for t in range(self.grid.active_count[None] * NODES_PER_TILE):
            node = self.active_node(t)
            for group in range(self.grid.groups[None]):
                self.clear_field(self.in_group(node, group))
            self.grid.volume[node] = 0
            self.grid.liquid_volume[node] = 0
            self.grid.liquid_excess[node] = 0
            self.grid.occupancy[node] = 0
            self.grid.tile_touched[node >> (2 * TILE_BITS)] = 0
        for _ in range(1):
            self.grid.active_count[None] = 0
            self.grid.crowding[None] = 1
            removed = self.state.integers[ti.static(integer_index("nonfinite_removed"))]
            self.nonfinite_before[None] = removed
        for particle in range(self.work[None]):
            if self.state.status[particle] == LIVE:
                fields = self.nonfinite_fields(particle)
                if fields != 0:
                    self.expel_nonfinite(particle, fields)
            if self.state.status[particle] == LIVE:
                cell = bspline_cell(self.state.x[particle])
                for corner in ti.static(((-1, -1), (1, -1), (-1, 1), (1, 1))):
                    self.touch(cell + tm.ivec2(corner[0], corner[1]))
                self.grid.occupancy[self.node_of(cell)] += 1

    @ti.func
    def in_group(self, node, group):
        """Index of a node in the fields of a group."""
        return group * ti.static(self.grid.nodes) + node

    @ti.func
    def clear_field(self, place):
        """Empty one group's accumulators at a node."""
        self.grid.mass[place] = 0
        self.grid.momentum[place] = tm.ivec2(0, 0)
        if self.grid.groups[None] > 1:
            self.grid.mass_moment[place] = tm.ivec2(0, 0)

    @ti.func
    def nonfinite_fields(self, particle):
        """Bits of NONFINITE_FIELDS whose values are no number, or close to the end of the range."""
        sizes = ti.Vector(
            [
                ti.abs(self.state.x[particle]).sum(),
                ti.abs(self.state.displacement[particle]).sum(),
                ti.abs(self.state.displacement_gradient[particle]).sum(),
                ti.abs(self.state.deformation_gradient[particle]).sum(),
                ti.abs(self.state.volume_ratio[particle]),
                ti.abs(self.state.plastic[particle]),
            ]
        )
        bits = 0
        for k in ti.static(range(len(NONFINITE_FIELDS))):
            if not (sizes[k] < FAR):
                bits |= 1 << k
        return bits

    @ti.func
    def expel_nonfinite(self, particle, fields):
        """Remove a particle that is no number; note which, if it is of the first ones."""
        self.count("nonfinite_removed", 1)
        if self.nonfinite_before[None] == 0:
            slot = ti.static(integer_index("nonfinite_slot"))
            ti.atomic_max(self.state.integers[slot], NO_SLOT - particle)
            ti.atomic_or(self.state.integers[ti.static(integer_index("nonfinite_fields"))], fields)
        self.expel(particle)

    @ti.func
    def expel(self, particle):
        """Mark a live particle as leaving; its slot is freed at the end of the tick."""
        self.state.status[particle] = LEAVING
        self.state.integers[ti.static(integer_index("leaving"))] += 1

    @ti.kernel
    def push_and_scatter_mass(self):
        """First half of gravity and the tool's hand, then mass and rest volume to the grid.

        Gravity comes in halves around the solve (a kick-drift-kick), so that a tick ends with the
        velocity that belongs to its position and free fall is exact. Mass and volume depend on
        position alone and are scattered once for all rounds.
        """
        for t in range(self.grid.active_count[None] * NODES_PER_TILE):
            node = self.active_node(t)
            point = self.point_of(node)
            near, walled, share, backing, grip = self.shapes.survey(
                point, self.lower[None], self.upper[None]
            )
            self.grid.solids_near[node] = near
            self.grid.walled[node] = walled
            self.grid.open_share[node] = share
            self.grid.backing[node] = backing
            self.grid.grip[node] = grip
            crowd = ti.min(self.grid.occupancy[node], self.most_in_cell[None])
            if crowd > self.grid.crowding[None]:
                ti.atomic_max(self.grid.crowding[None], crowd)
        for particle in range(self.work[None]):
            if self.state.status[particle] == LIVE:
                self.kick(particle)
                self.scatter_mass(particle)

    @ti.func
    def cell_share(self, particle):
        """Part of its mass and volume that a particle hands over: 1 but in a cell so full that the
        sums of its nodes might pass 32 bits, whose particles weigh less together, as many as fit.

        Known before anything is added, so no sum ever wraps.
        """
        there = self.grid.occupancy[self.node_of(bspline_cell(self.state.x[particle]))]
        share = 1.0
        if there > self.most_in_cell[None]:
            share = ti.cast(self.most_in_cell[None], ti.f32) / ti.cast(there, ti.f32)
        return share

    @ti.func
    def mass_of(self, particle):
        """Mass that a particle hands over."""
        return self.cell_share(particle) * self.parameters(particle)[0]

    @ti.func
    def volume_of(self, particle):
        """Rest volume that a particle hands over."""
        return self.cell_share(particle) * self.volume[None]

    @ti.func
    def scatter_limit(self):
        """Bound that keeps the momentum of every node in 32 bits: SCATTER_LIMIT, and less while
        there is a cell with more than SCATTER_CROWDING fills."""
        crowding = self.volume[None] * ti.cast(self.grid.crowding[None], ti.f32)
        return SCATTER_LIMIT * ti.min(1.0, SCATTER_CROWDING / crowding)

    @ti.func
    def scatter_mass(self, particle):
        """Mass and rest volume to the grid; a liquid's also with its volume ratio less one.

        The nodes' shares of mass and volume sum to the particle's as integers.
        """
        x = self.state.x[particle]
        cell = bspline_cell(x)
        r = x - cell - 0.5
        w = bspline_weights(r)
        share = self.cell_share(particle)
        if share < 1.0:
            self.count("cell_overfull", 1)
        mass = share * self.parameters(particle)[0]
        volume = share * self.volume[None]
        group = self.state.group[particle]
        liquid = self.state.material_model[self.state.material[particle]] == LIQUID
        excess = tm.clamp(self.state.volume_ratio[particle] - 1.0, -1.0, FACTOR_LIMIT)
        mass_left = fixed_point(mass)
        volume_left = fixed_point(volume)
        columns, rows = self.stencil(cell, group)
        for i, j in ti.static(BSPLINE_NODES):
            weight = w[i, 0] * w[j, 1]
            place = columns[i] + rows[j]
            node = place - self.in_group(0, group)
            mass_share, volume_share = mass_left, volume_left
            if ti.static((i, j) != BSPLINE_NODES[-1]):
                mass_share = fixed_point(weight * mass)
                volume_share = fixed_point(weight * volume)
            mass_left -= mass_share
            volume_left -= volume_share
            self.grid.mass[place] += mass_share
            if self.grid.groups[None] > 1:
                moment = -weight * mass * bspline_offset(i, j, r)
                self.grid.mass_moment[place].x += fixed_point(moment.x)
                self.grid.mass_moment[place].y += fixed_point(moment.y)
            self.grid.volume[node] += volume_share
            if liquid:
                self.grid.liquid_volume[node] += volume_share
                self.grid.liquid_excess[node] += fixed_point(weight * volume * excess)

    @ti.func
    def kick(self, particle):
        """Half of gravity, the change of dt, and the hand of a tool."""
        dt = self.dt[None]
        d = self.state.displacement[particle] * self.time_step.rescale[None]
        self.state.displacement_gradient[particle] *= self.time_step.rescale[None]
        d += 0.5 * dt * dt * self.gravity[None]
        if self.hand[None] != HAND_NONE:
            away = self.state.x[particle] - self.hand_center[None]
            reach = 1.0 - away.norm() / self.hand_radius[None]
            if reach > 0.0:
                if self.hand[None] == HAND_GRAB:
                    share = tm.smoothstep(0.0, 0.35, reach) * (1.0 - ti.exp(-dt / GRAB_TIME))
                    d += share * (dt * self.hand_velocity[None] - d)
                else:
                    outward = away / ti.max(away.norm(), 1e-6)
                    d += dt * dt * self.hand_acceleration[None] * reach * outward
        self.state.displacement[particle] = d
        self.inertial_displacement[particle] = d
        self.inertial_gradient[particle] = self.state.displacement_gradient[particle]
        self.closing[particle] = tm.mat2(0.0, 0.0, 0.0, 0.0)
        self.impulse[particle] = tm.mat2(0.0, 0.0, 0.0, 0.0)
        self.impulse_before[particle] = tm.mat2(0.0, 0.0, 0.0, 0.0)

    @ti.kernel
    def solve_round(self, omega: ti.f32, last: ti.i32):
        """One round: constrain D and scatter momentum, solve the grid, gather d and D.

        omega: this round's coefficient of Chebyshev's recurrence (compliant only). After the last
        round the nodes keep their momentum, for the balance; the next substep clears them anyway.
        """
        for particle in range(self.work[None]):
            if self.state.status[particle] == LIVE:
                affine = self.constrained(particle, omega)
                self.scatter_momentum(particle, affine)
        for t in range(self.grid.active_count[None] * NODES_PER_TILE):
            self.solve_node(self.active_node(t), last)
        for particle in range(self.work[None]):
            if self.state.status[particle] == LIVE:
                self.gather(particle)
                self.close_on_walls(particle)

    @ti.func
    def constrained(self, particle, omega):
        """What the scene's policy scatters for a particle: the affine part, returned, around
        `inertial_displacement`."""
        p = self.parameters(particle)
        model = self.state.material_model[self.state.material[particle]]
        gradient = self.strain_step(particle)
        deformation = self.state.deformation_gradient[particle]
        ratio = self.state.volume_ratio[particle]
        plastic = self.state.plastic[particle]
        dt = self.dt[None]
        affine = gradient
        if self.method[None] == CLASSIC:
            # Here every round begins with what the last one made of the displacement.
            self.inertial_displacement[particle] = self.state.displacement[particle]
            rounds = ti.cast(self.rounds[None], ti.f32)
            affine = classic_gradient(
                model, p, gradient, deformation, ratio, plastic, self.tuning[None], dt, rounds
            )
        else:
            if self.method[None] == EXPLICIT:
                # F and J hold this D already; with it once more they would be a step ahead.
                if model == LIQUID:
                    ratio /= 1.0 + gradient.trace()
                else:
                    gradient = tm.mat2(0.0, 0.0, 0.0, 0.0)
            target = compliant_impulse(model, p, gradient, deformation, ratio, plastic, dt)
            step = 1.0
            if self.method[None] != EXPLICIT:
                trial = deformation + gradient @ deformation
                stiffness = compliant_stiffness(model, p, trial, plastic, dt)
                reach = ti.max(1.0 + stiffness, self.chebyshev_reach[None])
                step = self.chebyshev_share[None] / reach
            current = self.impulse[particle]
            before = self.impulse_before[particle]
            impulse = before + omega * (step * (target - current) + current - before)
            self.impulse_before[particle] = current
            self.impulse[particle] = impulse
            affine = self.inertial_gradient[particle] + impulse
        return affine

    @ti.func
    def is_flowing(self, particle):
        """Whether a particle's model is one of FLOWING."""
        model = self.state.material_model[self.state.material[particle]]
        flowing = False
        for one in ti.static(FLOWING):
            flowing = flowing or model == one
        return flowing

    @ti.func
    def is_backed(self, particle, cell):
        """Whether walls answer the stress of a particle: see `wall_backing`.

        A solid that keeps its neighbours carries its weight through the nodes that the wall stops;
        with its approach counted as compression, it would come to rest above the wall.
        """
        walled = self.grid.walled[self.node_of(cell)] != 0
        return walled and self.method[None] != CLASSIC and self.is_flowing(particle)

    @ti.func
    def handed_over(self, particle):
        """Momentum m d of a particle in a round, bounded, in fixed point."""
        mass = self.mass_of(particle)
        steady = self.steady_part(particle)
        return tm.ivec2(fixed_point(mass * steady.x), fixed_point(mass * steady.y))

    @ti.func
    def kept_back(self, particle):
        """Displacement that a particle keeps because its momentum is no whole number of quanta.

        Without it what is less than half a quantum would be lost every substep: light matter, or
        any in small steps, would not feel gravity.
        """
        scale = SCALE * self.mass_of(particle)
        quanta = self.handed_over(particle)
        steady = self.steady_part(particle)
        return (scale * steady - ti.cast(quanta, ti.f32)) / scale

    @ti.func
    def steady_part(self, particle):
        """The displacement that a particle hands over: half the limit is left to its affine part,
        but what a tick may move is never cut."""
        bound = ti.max(0.5 * self.scatter_limit(), 1.0)
        return tm.clamp(self.inertial_displacement[particle], -bound, bound)

    @ti.func
    def wall_push(self, particle, cell):
        """Pressure part of a particle's impulse that walls answer; 0 where none does."""
        push = 0.0
        if self.is_backed(particle, cell):
            push = 0.5 * ti.max(self.impulse[particle].trace(), 0.0)
        return push

    @ti.func
    def scatter_momentum(self, particle, affine):
        """m (d + A o_i) to the nine nodes (APIC; Jiang et al. 2015), and what walls answer.

        Where that would pass the limit, A shrinks as a whole: sum_i w_i o_i = 0, so a particle
        hands over its momentum m d whatever A is. Bounding each node's part would not keep it, and
        neither would rounding each: the node of most weight gets what the others leave, so that
        the shares sum to m d as integers.
        """
        limit = self.scatter_limit()
        mass = self.mass_of(particle)
        x = self.state.x[particle]
        cell = bspline_cell(x)
        r = x - cell - 0.5
        w = bspline_weights(r)
        steady = self.steady_part(particle)
        allowed = limit - ti.max(ti.abs(steady.x), ti.abs(steady.y))
        reach = ti.abs(affine) @ tm.vec2(1.5, 1.5)  # the most that |A o| is within the stencil
        needed = ti.max(reach.x, reach.y)
        share = 1.0
        if needed > allowed:
            share = allowed / needed
        columns, rows = self.stencil(cell, self.state.group[particle])
        first = self.in_group(0, self.state.group[particle])
        push = share * self.wall_push(particle, cell)
        drag = share * deviator(self.impulse[particle])
        left = self.handed_over(particle)
        answered = tm.ivec2(0, 0)
        for i, j in ti.static(BSPLINE_NODES):
            place = columns[i] + rows[j]
            weight = w[i, 0] * w[j, 1] * mass
            own = steady + share * (affine @ bspline_offset(i, j, r))
            part = left
            if ti.static((i, j) != BSPLINE_NODES[-1]):
                part = tm.ivec2(fixed_point(weight * own.x), fixed_point(weight * own.y))
            left -= part
            if push > 0.0:
                node = place - first
                answer = push * self.grid.backing[node].xy + drag @ self.grid.grip[node].xy
                answer = weight * (tm.clamp(own + answer, -limit, limit) - own)
                extra = tm.ivec2(fixed_point(answer.x), fixed_point(answer.y))
                answered += extra
                part += extra
            self.grid.momentum[place].x += part.x
            self.grid.momentum[place].y += part.y
        if push > 0.0:
            self.answered[particle] = answered
        if share < 1.0 or (steady != self.inertial_displacement[particle]).any():
            self.count("scatter_clamped", 1)

    @ti.func
    def solve_node(self, node, last):
        """Displacements of one node: momentum over mass, contact of bodies, contact with solids."""
        groups = self.grid.groups[None]
        for group in range(groups):
            self.free_displacement(self.in_group(node, group), last)
        for first in range(groups - 1):
            for second in range(first + 1, groups):
                self.touch_bodies(self.in_group(node, first), self.in_group(node, second))
        for group in range(groups):
            self.stop_at_solids(node, self.in_group(node, group))

    @ti.func
    def free_displacement(self, place, last):
        """Momentum over mass. The momentum is consumed and, but in the last round, zeroed: this is
        its only reader, so the next round finds a clean accumulator without a pass of its own."""
        mass = self.grid.mass[place]
        momentum = self.grid.momentum[place]
        displacement = tm.vec2(0.0, 0.0)
        if mass != 0:
            displacement = tm.vec2(momentum.x, momentum.y) / ti.cast(mass, ti.f32)
        if last == 0 and (momentum.x != 0 or momentum.y != 0):
            self.grid.momentum[place] = tm.ivec2(0, 0)
        self.grid.displacement[place] = displacement

    @ti.func
    def touch_bodies(self, first, second):
        """Contact of two groups at a node that both have mass at."""
        if self.grid.mass[first] != 0 and self.grid.mass[second] != 0:
            first_mass = ti.cast(self.grid.mass[first], ti.f32)
            second_mass = ti.cast(self.grid.mass[second], ti.f32)
            first_moment = self.grid.mass_moment[first]
            second_moment = self.grid.mass_moment[second]
            between = tm.vec2(second_moment.x, second_moment.y) / second_mass
            between -= tm.vec2(first_moment.x, first_moment.y) / first_mass
            one, other = bodies_exchange(
                self.grid.displacement[first],
                self.grid.displacement[second],
                second_mass / (first_mass + second_mass),
                between,
                self.body_friction[None],
            )
            self.grid.displacement[first] = one
            self.grid.displacement[second] = other

    @ti.func
    def stop_at_solids(self, node, place):
        """Contact with colliders and edges, then the cap of one cell."""
        if self.grid.mass[place] != 0:
            point = self.point_of(node)
            displacement = self.grid.displacement[place]
            displacement = self.shapes.resolve_colliders(
                point, displacement, self.grid.solids_near[node]
            )
            displacement = self.shapes.resolve_edges(
                point, displacement, self.lower[None], self.upper[None]
            )
            length = displacement.norm()
            if length > 1.0:
                displacement /= length
                self.count("node_displacement_capped", 1)
            self.grid.displacement[place] = displacement

    @ti.func
    def gather(self, particle):
        """d = sum w d_i, and what was kept back; D = 4 sum w d_i o_i^T, four being the inverse of
        the stencil's second moment."""
        x = self.state.x[particle]
        cell = bspline_cell(x)
        r = x - cell - 0.5
        w = bspline_weights(r)
        d = self.kept_back(particle)
        moment = tm.mat2(0.0, 0.0, 0.0, 0.0)
        columns, rows = self.stencil(cell, self.state.group[particle])
        for i, j in ti.static(ti.ndrange(3, 3)):
            place = columns[i] + rows[j]
            share = w[i, 0] * w[j, 1] * self.grid.displacement[place]
            d += share
            moment += share.outer_product(bspline_offset(i, j, r))
        self.state.displacement[particle] = d
        gradient = 4.0 * moment
        size = gradient.norm()
        if size > GRADIENT_LIMIT:
            gradient *= GRADIENT_LIMIT / size
            self.count("gradient_capped", 1)
        self.state.displacement_gradient[particle] = gradient

    @ti.func
    def close_on_walls(self, particle):
        """Strain of matter that moves against a wall: 4 sum w sym((d_i - step) g_i^T).

        The counterpart of the wall's answer to stress (`wall_backing`): what force does to a
        motion, the motion does to shape, so that no energy comes of it. Its divergence counts at
        any wall, its shear at one that sticks. Apart from D, which stays what the grid's velocities
        are: carried on as velocity it would drive a jet along the wall.
        """
        closing = 0.0
        slip = tm.vec2(0.0, 0.0)
        cell = bspline_cell(self.state.x[particle])
        if self.is_backed(particle, cell):
            w = bspline_weights(self.state.x[particle] - cell - 0.5)
            group = self.state.group[particle]
            columns, rows = self.stencil(cell, group)
            for i, j in ti.static(ti.ndrange(3, 3)):
                place = columns[i] + rows[j]
                backing = self.grid.backing[place - self.in_group(0, group)]
                grip = self.grid.grip[place - self.in_group(0, group)]
                weight = 2.0 * w[i, 0] * w[j, 1]
                d = self.grid.displacement[place]
                closing += weight * (d.dot(backing.xy) - backing.z)
                slip.x += weight * (d.x * grip.x - d.y * grip.y - 2.0 * grip.z)
                slip.y += weight * (d.x * grip.y + d.y * grip.x - 2.0 * grip.w)
            trace = self.state.displacement_gradient[particle].trace()
            least = ti.min(-0.5 * (CLOSING_LIMIT + trace), 0.0)
            bounded = tm.clamp(closing, least, 0.5 * CLOSING_LIMIT)
            size = slip.norm()
            if bounded != closing or size > 0.5 * CLOSING_LIMIT:
                self.count("gradient_capped", 1)
            closing = bounded
            slip *= 0.5 * CLOSING_LIMIT / ti.max(size, 0.5 * CLOSING_LIMIT)
        self.closing[particle] = tm.mat2(closing + slip.x, slip.y, slip.y, closing - slip.x)

    @ti.func
    def strain_step(self, particle):
        """Gradient by which a particle deforms: its own, and what a wall closes."""
        return self.state.displacement_gradient[particle] + self.closing[particle]

    @ti.kernel
    def integrate(self):
        """Move, deform and yield; second half of gravity; damping; who leaves; the fastest rate."""
        for particle in range(self.work[None]):
            if self.state.status[particle] == LIVE:
                self.deform(particle)
                self.move(particle)
                self.sort_out(particle)

    @ti.func
    def surroundings(self, particle):
        """(density, room, ratio) around a particle, as the grid measures them.

        density: rest volume over the room there, 1 where matter is packed at rest; room: what walls
        leave of the particle's support, so that a wall does not read as a surface; ratio: mean
        volume ratio of the liquid there.
        """
        x = self.state.x[particle]
        cell = bspline_cell(x)
        w = bspline_weights(x - cell - 0.5)
        volume = 0.0
        room = 0.0
        excess = 0.0
        columns, rows = self.stencil(cell, 0)
        for i, j in ti.static(ti.ndrange(3, 3)):
            node = columns[i] + rows[j]
            weight = w[i, 0] * w[j, 1]
            volume += weight * ti.cast(self.grid.volume[node], ti.f32)
            room += weight * self.grid.open_share[node]
            liquid = ti.cast(self.grid.liquid_volume[node], ti.f32)
            excess += weight * ti.cast(self.grid.liquid_excess[node], ti.f32) / ti.max(liquid, 1.0)
        return tm.vec3(volume / SCALE / ti.max(room, 0.1), room, 1.0 + excess)

    @ti.func
    def deform(self, particle):
        """F <- (I + D) F or J <- J (1 + tr D), return mapping, and the guard of extreme stretch."""
        gradient = self.strain_step(particle)
        p = self.parameters(particle)
        model = self.state.material_model[self.state.material[particle]]
        if model == LIQUID:
            around = self.surroundings(particle)
            density = around.x
            ratio = liquid_return_map(self.state.volume_ratio[particle], gradient, around)
            bounded = tm.clamp(ratio, STRETCH_MIN, STRETCH_MAX)
            if bounded != ratio:
                self.count("deformation_clamped", 1)
            self.state.volume_ratio[particle] = bounded
            kept = liquid_spray_gradient(self.state.displacement_gradient[particle], density)
            self.state.displacement_gradient[particle] = kept
        else:
            deformation = self.state.deformation_gradient[particle]
            deformation, plastic = self.returned(
                particle, model, p, deformation + gradient @ deformation
            )
            self.state.plastic[particle] = plastic
            self.state.deformation_gradient[particle] = self.guard_stretch(deformation)

    @ti.func
    def returned(self, particle, model, p, trial):
        """Return mapping of a solid: its elastic deformation and its plastic scalar."""
        deformation = trial
        plastic = self.state.plastic[particle]
        if model == SAND:
            density = self.surroundings(particle).x
            deformation, plastic = sand_return_map(trial, plastic, density, p[6], p[7])
        elif model == VISCO:
            density = self.surroundings(particle).x
            deformation = visco_return_map(trial, density, p[1], p[5], p[4], self.dt[None])
        elif model == SNOW:
            deformation, plastic = snow_return_map(trial, plastic, p[8], p[9])
        elif model == CLAY:
            density = self.surroundings(particle).x
            deformation, plastic = clay_return_map(trial, plastic, density, p[5], p[10])
        return deformation, plastic

    @ti.func
    def guard_stretch(self, deformation):
        """Keep both principal stretches in range; an inverted particle comes back thin."""
        u, sigma, v = signed_svd(deformation)
        bounded = tm.clamp(sigma, STRETCH_MIN, STRETCH_MAX)
        result = deformation
        if (bounded != sigma).any():
            result = u @ diagonal(bounded) @ v.transpose()
            self.count("deformation_clamped", 1)
        return result

    @ti.func
    def move(self, particle):
        """x <- x + d, kept within half the grid's margin; second half of gravity; damping."""
        dt = self.dt[None]
        start = self.state.x[particle]
        near = self.grid.solids_near[self.node_of(bspline_cell(start))]
        d = self.shapes.hold_out(
            start,
            self.state.displacement[particle],
            self.touching_distance(particle),
            near,
            self.lower[None],
            self.upper[None],
        )
        x = start + d
        d = (d + 0.5 * dt * dt * self.gravity[None]) * self.damping_factor[None]
        reach = ti.static(0.5 * MARGIN)
        bounded = tm.clamp(x, self.lower[None] - reach, self.upper[None] + reach)
        if (bounded != x).any():
            self.count("position_clamped", 1)
        self.state.x[particle] = bounded
        self.state.displacement[particle] = d
        self.state.displacement_gradient[particle] *= self.damping_factor[None]

    @ti.func
    def touching_distance(self, particle):
        """Distance [cells] from a surface nearer than which a particle is never let.

        Half its side, where it flows. A solid that keeps its neighbours is stopped by the nodes and
        remembers how far it was squeezed; held as well, it would forget: it may give way a little.
        Sand may come up to the surface: its friction on a floor is that of the nodes, and held off
        them it slides (a column ran out a third too far).
        """
        distance = -GIVE
        if self.state.material_model[self.state.material[particle]] == SAND:
            distance = 0.0
        elif self.is_flowing(particle):
            distance = 0.5 * ti.sqrt(self.volume[None])
        return distance

    @ti.func
    def sort_out(self, particle):
        """Mark what leaves through an open edge, a drain or by being no number; note the rate.

        A particle is marked once, whatever number of drains it is in: slots cannot be freed twice.
        """
        x = self.state.x[particle]
        d = self.state.displacement[particle]
        gradient = self.state.displacement_gradient[particle]
        rate = (d.norm() + 1.5 * gradient.norm()) / self.dt[None]
        edges = ti.Vector([self.shapes.edge_friction[k] for k in range(4)])
        gone = (
            (edges[0] == OPEN and x.x < self.lower[None].x)
            or (edges[1] == OPEN and x.x > self.upper[None].x)
            or (edges[2] == OPEN and x.y < self.lower[None].y)
            or (edges[3] == OPEN and x.y > self.upper[None].y)
        )
        for k in range(self.shapes.drain_count[None]):
            if self.shapes.is_near(self.shapes.drains[k], x):
                value, _normal = self.shapes.distance(self.shapes.drains[k], x)
                gone = gone or value < 0.0
        if not (rate < FAR):
            fields = self.nonfinite_fields(particle)
            displacement = ti.static(1 << NONFINITE_FIELDS.index("displacement"))
            self.expel_nonfinite(particle, ti.select(fields == 0, displacement, fields))
        elif gone:
            self.expel(particle)
        else:
            bits = ti.bit_cast(rate, ti.i32)
            peak = ti.static(integer_index("peak_rate_bits"))
            if bits > self.state.integers[peak]:
                ti.atomic_max(self.state.integers[peak], bits)

    @ti.kernel
    def set_environment(self):
        """Copy the scene's environment into grid units for the substeps of this tick."""
        dt = self.state.floats[ti.static(float_index("dt"))]
        gravity = tm.vec2(
            self.state.floats[ti.static(float_index("gravity_x"))],
            self.state.floats[ti.static(float_index("gravity_y"))],
        )
        self.gravity[None] = gravity / self.cell[None]
        self.damping_factor[None] = ti.exp(
            -self.state.floats[ti.static(float_index("damping"))] * dt
        )
        self.dt[None] = dt
