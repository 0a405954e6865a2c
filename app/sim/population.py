"""Who lives: emission into free space, removal, and the free list of slots.

Ranks of new particles and of freed slots come from a prefix sum over sites or slots in their fixed
order, never from a racing cursor, so the slot that a particle gets is the same in every run.
"""

import taichi as ti
import taichi.math as tm

from app.sim.bspline import bspline_cell
from app.sim.linear import noise
from app.sim.materials import ELASTIC
from app.sim.state import FREE, LEAVING, LIVE, integer_index

CHUNK = 256
MAX_SITES = 1 << 18
"""Lattice sites that one emission looks at; the host cuts larger regions into bands."""
JITTER = 0.5
"""Width [site spacings] over which a new particle of loose matter is scattered."""


@ti.data_oriented
class Population:
    """Kernels that create and remove particles of a State."""

    def __init__(self, state, shapes):
        self.state = state
        self.shapes = shapes
        size = max(state.capacity, MAX_SITES)
        self.flags = ti.field(ti.i32, size)
        self.ranks = ti.field(ti.i32, size)
        self.site_count = ti.field(ti.i32, MAX_SITES)
        self.chunk_sums = ti.field(ti.i32, -(-size // CHUNK))
        self.total = ti.field(ti.i32, ())
        self.allowed = ti.field(ti.i32, ())
        self.first_rank = ti.field(ti.i32, ())
        self.budget = ti.field(ti.i32, ())
        self.axis_sites = ti.field(ti.i32, ())

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
    def find_sites(self, row: ti.i32, left: ti.i32, bottom: ti.i32, width: ti.i32, height: ti.i32):
        """Flag the free lattice sites of shape `row` in a band of sites, and rank them.

        Sites lie `axis_sites` to a cell; left, bottom, width, height are in sites and cover whole
        cells. A site is free when nothing is in it, its cell holds less than a rest packing (so
        compressed matter is never emitted into) and no collider covers it.
        """
        for k in range(width * height):
            self.site_count[k] = 0
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            if self.state.status[particle] == LIVE:
                site = bspline_cell(self.state.x[particle] * self.axis_sites[None])
                i = site.x - left
                j = site.y - bottom
                if i >= 0 and i < width and j >= 0 and j < height:
                    self.site_count[j * width + i] += 1
        for k in range(width * height):
            i = k % width
            j = k // width
            n = self.axis_sites[None]
            in_cell = 0
            for a in range(i - i % n, i - i % n + n):
                for b in range(j - j % n, j - j % n + n):
                    in_cell += self.site_count[b * width + a]
            point = (tm.vec2(left + i, bottom + j) + 0.5) / n
            free = self.site_count[k] == 0 and in_cell < n * n
            value, _normal = self.shapes.distance(row, point)
            free = free and value < 0.0
            if free:
                free = not self.shapes.inside_collider(point)
            self.flags[k] = ti.cast(free, ti.i32)
        self.rank_flags(width * height)

    @ti.kernel
    def fill_sites(
        self,
        left: ti.i32,
        bottom: ti.i32,
        width: ti.i32,
        height: ti.i32,
        material: ti.i32,
        group: ti.i32,
        vx: ti.f32,
        vy: ti.f32,
    ):
        """Create particles on the ranked sites, what is left of the budget at the most.

        vx, vy [cells/substep]. Where there are more sites than the budget, the run of ranks starts
        at a place that changes from tick to tick, or the lower left would be favoured.
        """
        for _ in range(1):
            tick = self.state.integers[ti.static(integer_index("tick"))]
            seed = self.state.integers[ti.static(integer_index("seed"))]
            free = self.state.integers[ti.static(integer_index("free_count"))]
            wanted = ti.min(self.total[None], self.budget[None])
            self.budget[None] -= wanted
            self.allowed[None] = ti.min(wanted, free)
            start = ti.cast(noise(seed, tick, material) * self.total[None], ti.i32)
            self.first_rank[None] = ti.min(start, ti.max(self.total[None] - 1, 0))
            if wanted > free:
                place = ti.static(integer_index("capacity_reached"))
                self.state.integers[place] += wanted - free
        for k in range(width * height):
            self.fill_site(k, left, bottom, width, material, group, tm.vec2(vx, vy))
        for _ in range(1):
            made = self.allowed[None]
            self.state.integers[ti.static(integer_index("free_count"))] -= made
            self.state.integers[ti.static(integer_index("emitted"))] += made

    @ti.func
    def fill_site(self, k, left, bottom, width, material, group, velocity):
        """Create the particle of one site if its rank is within the allowance."""
        total = self.total[None]
        if self.flags[k] == 1:
            self.flags[k] = 0
            rank = (self.ranks[k] - self.first_rank[None] + total) % total
            if rank < self.allowed[None]:
                free = self.state.integers[ti.static(integer_index("free_count"))]
                slot = self.state.free_slots[free - 1 - rank]
                self.state.free_slots[free - 1 - rank] = 0
                site = tm.ivec2(left + k % width, bottom + k // width)
                offset = tm.vec2(0.5, 0.5)
                if self.state.material_model[material] != ELASTIC:
                    seed = self.state.integers[ti.static(integer_index("seed"))]
                    tick = self.state.integers[ti.static(integer_index("tick"))]
                    key = site.y * 65536 + site.x
                    offset += JITTER * (
                        tm.vec2(noise(seed + 1, tick, key), noise(seed + 2, tick, key)) - 0.5
                    )
                self.state.x[slot] = (tm.vec2(site.x, site.y) + offset) / self.axis_sites[None]
                self.state.displacement[slot] = velocity
                self.state.deformation_gradient[slot] = tm.mat2(1.0, 0.0, 0.0, 1.0)
                self.state.volume_ratio[slot] = 1.0
                self.state.material[slot] = material
                self.state.group[slot] = group
                self.state.status[slot] = LIVE
                place = ti.static(integer_index("high_water"))
                if slot + 1 > self.state.integers[place]:
                    ti.atomic_max(self.state.integers[place], slot + 1)

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
