"""Digests of the state: one 64-bit number a field, made on the device from the bits themselves.

Each word is mixed with its place and the words are summed, so the sum does not depend on the order
in which threads add to it, yet swapping two particles changes it. Two sums with different mixing
make 64 bits.
"""

import taichi as ti

from app.sim.linear import mixed_bits
from app.sim.state import integer_index


@ti.data_oriented
class Digest:
    """Digests of every array of a State."""

    def __init__(self, state):
        self.state = state
        self.fields = list(state.arrays.items())
        self.particle_fields = list(state.arrays).index("free_slots")
        self.sums = ti.field(ti.i32, (len(self.fields), 2))

    @ti.func
    def absorb(self, place: ti.template(), index, word):
        """Add one word at one index to the two sums of a field."""
        mixed = mixed_bits(ti.cast(word, ti.u32) ^ mixed_bits(ti.cast(index, ti.u32) + ti.u32(1)))
        second = mixed_bits(mixed + ti.cast(index, ti.u32) * ti.u32(0x9E3779B1) + ti.u32(7))
        self.sums[place, 0] += ti.cast(mixed, ti.i32)
        self.sums[place, 1] += ti.cast(second, ti.i32)

    @ti.func
    def absorb_entry(self, place: ti.template(), field: ti.template(), index):
        """One entry of a one-dimensional field of scalars, vectors or matrices."""
        rows = ti.static(getattr(field, "n", 1))
        columns = ti.static(getattr(field, "m", 1))
        for i, j in ti.static(ti.ndrange(rows, columns)):
            word = 0
            if ti.static(columns > 1):
                word = ti.bit_cast(field[index][i, j], ti.i32)
            elif ti.static(rows > 1):
                word = ti.bit_cast(field[index][i], ti.i32)
            else:
                word = ti.bit_cast(field[index], ti.i32)
            self.absorb(place, index * rows * columns + i * columns + j, word)

    @ti.kernel
    def sum_words(self):
        """All sums anew. Slots from the high water mark up were never used and have no say."""
        for place, column in self.sums:
            self.sums[place, column] = 0
        for particle in range(self.state.integers[ti.static(integer_index("high_water"))]):
            for place in ti.static(range(len(self.fields))):
                if ti.static(self.fields[place][0] == "free_slots"):
                    # The stack's bottom still lists unused slots; used ones lie in its upper part.
                    capacity = self.state.integers[ti.static(integer_index("capacity"))]
                    place_of_slot = capacity - 1 - particle
                    self.absorb_entry(place, self.state.free_slots, place_of_slot)
                elif ti.static(place < self.particle_fields):
                    self.absorb_entry(place, ti.static(self.fields[place][1]), particle)
        for place in ti.static(range(len(self.fields))):
            if ti.static(place > self.particle_fields):
                for index in range(ti.static(self.fields[place][1].shape[0])):
                    self.absorb_entry(place, ti.static(self.fields[place][1]), index)

    def compute(self):
        """Digest of each field as 16 hex digits, in canonical order."""
        self.sum_words()
        sums = self.sums.to_numpy().view("uint32")
        return {
            name: f"{sums[place, 0]:08x}{sums[place, 1]:08x}"
            for place, (name, _field) in enumerate(self.fields)
        }
