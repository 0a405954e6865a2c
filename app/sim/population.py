"""Who lives: emission where there is room, removal, and the free list of slots.

Ranks of new particles and of freed slots come from a prefix sum over sites or slots in their fixed
order, never from a racing cursor, so the slot that a particle gets is the same in every run.
"""

import taichi as ti
import taichi.math as tm

from app.sim.bspline import bspline_cell, bspline_value
from app.sim.grid import fixed_point
from app.sim.linear import noise
from app.sim.materials import ELASTIC
from app.sim.state import FREE, LEAVING, LIVE, integer_index

CHUNK = 256
MAX_SITES = 1 << 18
"""Lattice sites that one emission looks at; the host cuts larger regions into bands."""
JITTER = 0.5
"""Width [site spacings] over which a new particle of loose matter is scattered."""
ROOM_NEEDED = 0.75
"""Share of a new particle's own measure that must have room. A hole in a rest packing leaves all of
it. At sites that happen to be empty amid settled sand, plasticine or water it was 0.5 at the most:
their particles keep no lattice, and single cells say little."""
LEAST_STEP = 1.0 / 16.0
MOST_STEP = 0.5
"""Bounds of a step along the way of a site, in site spacings and in cells: the one finds emitters
that are thinner than a spacing, the other colliders in the way."""
FRESH, OLD, CLOSED = 1, 2, 3
"""Sites that have entered an emitter since the last tick, those that were in it before, and those
that a solid takes away."""


@ti.func
def even_place(rank, wanted, total, phase):
    """Place in [0, wanted) of a rank in an even choice of `wanted` out of `total`; -1: not chosen.

    A rank is chosen where rank * wanted + phase passes a multiple of total (Bresenham 1965), with
    0 <= phase < total. Multiplied in two halves: MAX_SITES squared has no place in 32 bits.
    """
    high = (rank >> 9) * wanted
    rest = ((high % total) << 9) + (rank & 511) * wanted + phase
    place = ((high // total) << 9) + rest // total
    if phase >= wanted:
        place -= 1
    return ti.select(rest % total < wanted, place, -1)


@ti.data_oriented
class Population:
    """Kernels that create and remove particles of a State.

    Emission has a lattice of sites, `axis_sites` to a cell, that moves with the emitter's flow:
    what was made on it moves along with it, and the sites that the flow has brought into the
    emitter since the last tick are the room for new matter. At rest it is the lattice of fills. A
    band of it is given by left, bottom, width, height [sites] and by offset_x, offset_y [sites],
    how far it has moved beyond the lattice at rest.
    """

    def __init__(self, state, shapes):
        self.state = state
        self.shapes = shapes
        size = max(state.capacity, MAX_SITES)
        self.flags = ti.field(ti.i32, size)
        self.ranks = ti.field(ti.i32, size)
        self.site_count = ti.field(ti.i32, MAX_SITES)
        self.site_measure = ti.field(ti.i32, MAX_SITES)
        self.site_room = ti.field(ti.i32, MAX_SITES)
        self.room = ti.field(ti.i32, ())
        self.candidates = ti.field(ti.i32, MAX_SITES)
        self.admitted = ti.field(ti.i32, MAX_SITES)
        self.chunk_sums = ti.field(ti.i32, -(-size // CHUNK))
        self.total = ti.field(ti.i32, ())
        self.allowed = ti.field(ti.i32, ())
        self.phase = ti.field(ti.i32, ())
        self.budget = ti.field(ti.i32, ())
        self.axis_sites = ti.field(ti.i32, ())
        self.lower = ti.Vector.field(2, ti.f32, ())
        self.upper = ti.Vector.field(2, ti.f32, ())

    @ti.func
    def rank_flags(self, n):
        """Exclusive prefix sum of flags[0:n] into ranks; their number into total."""
        chunks = (n + CHUNK - 1) // CHUNK
        for c in range(chunks):
            running = 0
            for k in range(c * CHUNK, ti.min(c * CHUNK + CHUNK, n)):
                self.ranks[k] = running
                running += self.flags[k]
            self.chunk_sums[c] = running
        for _ in range(1):
            running = 0
            for c in range(chunks):
                size = self.chunk_sums[c]
                self.chunk_sums[c] = running
                running += size
            self.total[None] = running
        for k in range(n):
            self.ranks[k] += self.chunk_sums[k // CHUNK]

    # -- emission ----------------------------------------------------------------------------------

    @ti.kernel
    def begin_emission(self, row: ti.i32, share: ti.i32):
        """The budget of an emitter for this tick: its share of it, and what it still owes."""
        self.budget[None] = share + self.state.emitter_debt[row]

    @ti.kernel
    def end_emission(self, row: ti.i32, most: ti.i32):
        """Keep what is left of the budget as debt, up to `most`; the rest is given up and counted.

        A debt evens out that sites come in whole rows. It is bounded, or an emitter that could not
        get rid of its matter for a while would make up for all of it in one burst.
        """
        for _ in range(1):
            kept = ti.min(self.budget[None], most)
            place = ti.static(integer_index("emission_refused"))
            self.state.integers[place] += self.budget[None] - kept
            self.state.emitter_debt[row] = kept

    @ti.func
    def site_weight(self, apart):
        """Share [fixed point] of a cell that a particle `apart` [sites] of a site fills there."""
        n = ti.cast(self.axis_sites[None], ti.f32)
        return fixed_point(bspline_value(apart.x / n) * bspline_value(apart.y / n) / (n * n))

    @ti.kernel
    def measure_sites(
        self,
        left: ti.i32,
        bottom: ti.i32,
        width: ti.i32,
        height: ti.i32,
        offset_x: ti.f32,
        offset_y: ti.f32,
    ):
        """Count the particles in each site, and measure the rest volume around it.

        The measure is the one that the grid makes of matter, a quadratic B-spline of three cells,
        with the site in the place of the node: 1 in a rest packing.
        """
        for k in range(width * height):
            self.site_count[k] = 0
            self.site_measure[k] = 0
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            if self.state.status[particle] == LIVE:
                at = self.state.x[particle] * self.axis_sites[None]
                at -= tm.vec2(left + offset_x, bottom + offset_y)
                site = bspline_cell(at)
                reach = (3 * self.axis_sites[None] + 1) // 2
                if self.in_band(site, width, height):
                    self.site_count[site.y * width + site.x] += 1
                for b in range(ti.max(site.y - reach, 0), ti.min(site.y + reach + 1, height)):
                    for a in range(ti.max(site.x - reach, 0), ti.min(site.x + reach + 1, width)):
                        weight = self.site_weight(tm.vec2(a, b) + 0.5 - at)
                        self.site_measure[b * width + a] += weight

    @ti.func
    def in_band(self, site, width, height):
        """Whether a site, counted from the band's corner, lies in the band."""
        return site.x >= 0 and site.x < width and site.y >= 0 and site.y < height

    @ti.kernel
    def find_candidates(
        self,
        row: ti.i32,
        left: ti.i32,
        bottom: ti.i32,
        width: ti.i32,
        height: ti.i32,
        offset_x: ti.f32,
        offset_y: ti.f32,
        travel_x: ti.f32,
        travel_y: ti.f32,
    ):
        """Mark each empty site of shape `row` that has room for one more particle, by itself.

        travel_x, travel_y [cells]: the way of the flow in a tick. There is room up to the share of
        a site's surroundings that no solid covers. And in all there is room for no more particles
        than the shape's sites lack: matter that is squeezed by its own weight, or swings below a
        lid, leaves a gap that it will want back.
        """
        self.room[None] = 0
        for k in range(width * height):
            n = ti.cast(self.axis_sites[None], ti.f32)
            point = tm.vec2(left + k % width + offset_x, bottom + k // width + offset_y)
            point = (point + 0.5) / n
            kind = self.entry(row, point, tm.vec2(travel_x, travel_y))
            if kind != 0:
                self.room[None] += ti.cast(kind != CLOSED, ti.i32) - self.site_count[k]
            self.candidates[k] = 0
            if (kind == FRESH or kind == OLD) and self.site_count[k] == 0:
                _near, _walled, share, _backing, _grip = self.shapes.survey(
                    point, self.lower[None], self.upper[None]
                )
                needed = ROOM_NEEDED * bspline_value(0.0) ** 2 / (n * n)
                self.site_room[k] = fixed_point(share - needed) - self.site_measure[k]
                if self.site_room[k] >= 0:
                    self.candidates[k] = kind

    @ti.func
    def entry(self, row, point, travel):
        """FRESH or OLD for a point that was in shape `row` within the tick before, CLOSED where a
        solid is in the way, else 0.

        `travel` is the way of the flow in a tick: what a thin emitter lets go in a tick is beyond
        it by now. The way of this tick is looked at up the flow, then that of the tick before, by
        steps that a distance leaves free.
        """
        length = travel.norm()
        up = -travel / ti.max(length, 1e-9)
        least = LEAST_STEP / self.axis_sites[None]
        clear = (point > self.lower[None]).all() and (point < self.upper[None]).all()
        now = False
        before = False
        way = 0.0
        end = ti.max(length, least)
        while not before and way < end:
            sample = point + way * up
            if not now:
                clear = clear and not self.shapes.inside_collider(sample)
            value, _normal = self.shapes.distance(row, sample)
            way += tm.clamp(value, least, MOST_STEP)
            if value < 0.0:
                before = now
                now = True
                way = ti.max(way, length)
                end = 2.0 * length + least
        kind = ti.select(before, OLD, FRESH)
        return ti.select(now, ti.select(clear, kind, CLOSED), 0)

    @ti.kernel
    def admit_sites(self, width: ti.i32, height: ti.i32):
        """Admit candidates so that they have room together with those before them.

        Fresh sites come before old ones, else their order is the lattice's. A candidate counts
        those before it whether they are admitted or not: that never lets too many in, the first of
        any crowd is always among them, and all sites can be decided at once.
        """
        for k in range(width * height):
            self.admitted[k] = self.candidates[k]
            if self.candidates[k] != 0:
                reach = (3 * self.axis_sites[None] - 1) // 2
                i = k % width
                j = k // width
                taken = 0
                for b in range(ti.max(j - reach, 0), ti.min(j + reach + 1, height)):
                    for a in range(ti.max(i - reach, 0), ti.min(i + reach + 1, width)):
                        other = b * width + a
                        rank = self.candidates[other] - self.candidates[k]
                        if self.candidates[other] != 0 and (rank < 0 or (rank == 0 and other < k)):
                            taken += self.site_weight(tm.vec2(a - i, b - j))
                if taken > self.site_room[k]:
                    self.admitted[k] = 0

    @ti.kernel
    def fill_sites(
        self,
        row: ti.i32,
        kind: ti.i32,
        left: ti.i32,
        bottom: ti.i32,
        width: ti.i32,
        height: ti.i32,
        offset_x: ti.f32,
        offset_y: ti.f32,
        material: ti.i32,
        group: ti.i32,
        vx: ti.f32,
        vy: ti.f32,
    ):
        """Create particles on the admitted sites of a kind, what is left of the budget at the most.

        vx, vy [cells/substep]. Where there are more sites than the budget, they are chosen evenly,
        from a start that changes from tick to tick.
        """
        for k in range(width * height):
            self.flags[k] = ti.cast(self.admitted[k] == kind, ti.i32)
        self.rank_flags(width * height)
        for _ in range(1):
            tick = self.state.integers[ti.static(integer_index("tick"))]
            seed = self.state.integers[ti.static(integer_index("seed"))]
            free = self.state.integers[ti.static(integer_index("free_count"))]
            total = self.total[None]
            wanted = ti.min(total, self.budget[None], ti.max(self.room[None], 0))
            self.budget[None] -= wanted
            self.room[None] -= wanted
            self.allowed[None] = ti.min(wanted, free)
            start = ti.cast(noise(seed, tick, row) * total, ti.i32)
            self.phase[None] = ti.min(start, ti.max(total - 1, 0))
            if wanted > free:
                place = ti.static(integer_index("capacity_reached"))
                self.state.integers[place] += wanted - free
        for k in range(width * height):
            if self.flags[k] == 1:
                self.flags[k] = 0
                place = even_place(
                    self.ranks[k], self.allowed[None], self.total[None], self.phase[None]
                )
                if place >= 0:
                    site = tm.ivec2(left + k % width, bottom + k // width)
                    offset = tm.vec2(offset_x, offset_y)
                    self.create(place, site, offset, material, group, tm.vec2(vx, vy))
        for _ in range(1):
            made = self.allowed[None]
            self.state.integers[ti.static(integer_index("free_count"))] -= made
            self.state.integers[ti.static(integer_index("emitted"))] += made

    @ti.func
    def create(self, place, site, offset, material, group, velocity):
        """Create the particle of a site in the place-th of the free slots."""
        free = self.state.integers[ti.static(integer_index("free_count"))]
        slot = self.state.free_slots[free - 1 - place]
        self.state.free_slots[free - 1 - place] = 0
        point = tm.vec2(site.x, site.y) + offset + 0.5
        if self.state.material_model[material] != ELASTIC:
            seed = self.state.integers[ti.static(integer_index("seed"))]
            tick = self.state.integers[ti.static(integer_index("tick"))]
            key = site.y * 65536 + site.x
            scatter = tm.vec2(noise(seed + 1, tick, key), noise(seed + 2, tick, key)) - 0.5
            point += JITTER * scatter
        self.state.x[slot] = point / self.axis_sites[None]
        self.state.displacement[slot] = velocity
        self.state.deformation_gradient[slot] = tm.mat2(1.0, 0.0, 0.0, 1.0)
        self.state.volume_ratio[slot] = 1.0
        self.state.material[slot] = material
        self.state.group[slot] = group
        self.state.status[slot] = LIVE
        place_of_mark = ti.static(integer_index("high_water"))
        if slot + 1 > self.state.integers[place_of_mark]:
            ti.atomic_max(self.state.integers[place_of_mark], slot + 1)

    # -- removal -----------------------------------------------------------------------------------

    @ti.kernel
    def erase(self, row: ti.i32):
        """Mark the particles in a shape as leaving."""
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            if self.state.status[particle] == LIVE:
                value, _normal = self.shapes.distance(row, self.state.x[particle])
                if value < 0.0:
                    self.state.status[particle] = LEAVING
                    self.state.integers[ti.static(integer_index("leaving"))] += 1

    @ti.kernel
    def release(self):
        """Return the slots of all leaving particles to the free list, in slot order, zeroed."""
        high_water = self.state.integers[ti.static(integer_index("high_water"))]
        visited = 0
        if self.state.integers[ti.static(integer_index("leaving"))] > 0:
            visited = high_water
        for particle in range(visited):
            self.flags[particle] = ti.cast(self.state.status[particle] == LEAVING, ti.i32)
        self.rank_flags(visited)
        for particle in range(visited):
            if self.flags[particle] == 1:
                self.flags[particle] = 0
                free = self.state.integers[ti.static(integer_index("free_count"))]
                self.state.free_slots[free + self.ranks[particle]] = particle
                self.clear_slot(particle)
        for _ in range(1):
            self.state.integers[ti.static(integer_index("free_count"))] += self.total[None]
            self.state.integers[ti.static(integer_index("drained"))] += self.total[None]
            self.state.integers[ti.static(integer_index("leaving"))] = 0

    @ti.func
    def clear_slot(self, particle):
        """A free slot holds zeros, so that worlds that are equal have equal bits."""
        self.state.x[particle] = tm.vec2(0.0, 0.0)
        self.state.displacement[particle] = tm.vec2(0.0, 0.0)
        self.state.displacement_gradient[particle] = tm.mat2(0.0, 0.0, 0.0, 0.0)
        self.state.deformation_gradient[particle] = tm.mat2(0.0, 0.0, 0.0, 0.0)
        self.state.volume_ratio[particle] = 0.0
        self.state.plastic[particle] = 0.0
        self.state.material[particle] = 0
        self.state.group[particle] = 0
        self.state.status[particle] = FREE
