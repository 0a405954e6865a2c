"""What particles hand over against what nodes receive, as integers: their difference must be 0.

Fixed-point shares sum to the particle's own amount (the node of most weight takes the remainder),
so conservation by the transfer is an identity, not a tolerance, and one that is checked every tick.
What walls answer is no particle's own: it is counted by itself and taken off.

The sums need more than 32 bits, and neither integers nor atomics of 64 exist on every device.
A sum is therefore kept in two limbs, high * 2^24 + low with 0 <= low < 2^24: 56 bits, 2^31 cells
full of matter. Each of LANES threads adds up every LANES-th entry, then fewer threads those sums.
"""

import numpy as np
import taichi as ti

from app.sim.bspline import bspline_cell
from app.sim.grid import NODES_PER_TILE, fixed_point
from app.sim.state import LIVE, integer_index

QUANTITIES = ("mass", "rest_volume", "momentum_x", "momentum_y")
LANE_GROUPS = 64
LANES = LANE_GROUPS * LANE_GROUPS
LIMB_BITS = 24
Amounts = ti.types.vector(len(QUANTITIES), ti.i32)
Totals = ti.types.matrix(2, len(QUANTITIES), ti.i32)


@ti.func
def totals_of(amounts):
    """The two limbs of each of four 32-bit integers."""
    totals = Totals(0)
    for k in ti.static(range(len(QUANTITIES))):
        totals[0, k] = amounts[k] >> LIMB_BITS
        totals[1, k] = amounts[k] & ti.static((1 << LIMB_BITS) - 1)
    return totals


@ti.func
def totals_sum(a, b):
    """a + b, carried."""
    totals = a + b
    for k in ti.static(range(len(QUANTITIES))):
        totals[0, k] += totals[1, k] >> LIMB_BITS
        totals[1, k] = totals[1, k] & ti.static((1 << LIMB_BITS) - 1)
    return totals


@ti.data_oriented
class Balance:
    """Sums of one round of a Substep, between its scatter and the motion of its particles."""

    def __init__(self, substep):
        self.substep = substep
        self.lane_handed_over = Totals.field(shape=LANES)
        self.lane_received = Totals.field(shape=LANES)

    def handed_over(self):
        """What particles handed over when last weighed: int64 (4,) of QUANTITIES, quantum 2^-24."""
        return self._total(self.lane_handed_over)

    def received(self):
        """What nodes received when last weighed: int64 (4,) of QUANTITIES, quantum 2^-24."""
        return self._total(self.lane_received)

    @staticmethod
    def _total(lanes):
        high, low = lanes[0].to_numpy().astype(np.int64)
        return (high << LIMB_BITS) + low

    @ti.kernel
    def weigh(self):
        """Sum up both sides after the last round of a substep; count if they differ."""
        for lane in range(LANES):
            totals = Totals(0)
            for k in range((self.substep.work[None] - lane + LANES - 1) // LANES):
                totals = totals_sum(totals, totals_of(self.of_particle(lane + k * LANES)))
            self.lane_handed_over[lane] = totals
        for lane in range(LANES):
            totals = Totals(0)
            nodes = self.substep.grid.active_count[None] * NODES_PER_TILE
            for k in range((nodes - lane + LANES - 1) // LANES):
                node = self.substep.active_node(lane + k * LANES)
                totals = totals_sum(totals, self.of_node(node))
            self.lane_received[lane] = totals
        for group in range(LANE_GROUPS):
            self.gather_lanes(group, LANE_GROUPS)
        for _ in range(1):
            self.gather_lanes(0, 1)
            if (self.lane_handed_over[0] != self.lane_received[0]).any():
                place = ti.static(integer_index("transfer_unbalanced"))
                self.substep.state.integers[place] += 1

    @ti.func
    def gather_lanes(self, first, stride):
        """Add the next LANE_GROUPS - 1 lanes, `stride` apart, to the first."""
        for k in range(1, LANE_GROUPS):
            other = first + k * stride
            self.lane_handed_over[first] = totals_sum(
                self.lane_handed_over[first], self.lane_handed_over[other]
            )
            self.lane_received[first] = totals_sum(
                self.lane_received[first], self.lane_received[other]
            )

    @ti.func
    def of_particle(self, particle):
        """What one particle handed over, what walls answered it included."""
        amounts = Amounts(0)
        if self.substep.state.status[particle] == LIVE:
            momentum = self.substep.handed_over(particle)
            if self.substep.wall_push(particle, bspline_cell(self.substep.state.x[particle])) > 0.0:
                momentum += self.substep.answered[particle]
            amounts[0] = fixed_point(self.substep.mass_of(particle))
            amounts[1] = fixed_point(self.substep.volume_of(particle))
            amounts[2] = momentum.x
            amounts[3] = momentum.y
        return amounts

    @ti.func
    def of_node(self, node):
        """What one node received, all groups together."""
        totals = totals_of(Amounts(0, self.substep.grid.volume[node], 0, 0))
        for group in range(self.substep.grid.groups[None]):
            place = self.substep.in_group(node, group)
            momentum = self.substep.grid.momentum[place]
            amounts = Amounts(self.substep.grid.mass[place], 0, momentum.x, momentum.y)
            totals = totals_sum(totals, totals_of(amounts))
        return totals
