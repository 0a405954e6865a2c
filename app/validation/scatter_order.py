"""What nodes receive does not depend on the order in which particles arrive.

256 particles at random places of 8 x 8 cells, each with a velocity of its own, are scattered in
their own order and in 128 others, (a k + 13) mod 256 with every odd a. Fixed-point integers sum to
the same in every order; the same shares as single-precision floats do not, and are the wrong
variant: the textbook transfer (Jiang et al. 2015, eq. 1 and 2), added one after the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.simulation import Simulation
from app.snapshot import Snapshot
from app.validation.gate import (
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    at_least,
    at_most,
    between,
    box,
    scene_of,
)

SIDE = 8
COUNT = 4 * SIDE * SIDE
MULTIPLIERS = range(1, COUNT, 2)
OFFSET = 13
NAMED = 97
LOW = 12
AGREEMENT = 2e-5
"""Of a cell full of matter: thirty-six roundings of a float of 24 bits, and of the quantum."""


def scene() -> str:
    """TOML of the cloud before it is scrambled: one substep of one round a tick, nothing acts."""
    corners = (LOW, LOW), (LOW + SIDE, LOW + SIDE)
    matter = box("fill", *corners, 'material = "jelly"')
    return scene_of("Cloud", (32, 32), matter, gravity="[0, 0]", substeps=1, rounds=1)


def cloud(simulation: Simulation) -> Snapshot:
    """The world with its particles at random places, at random velocities, unstrained."""
    snapshot = simulation.snapshot()
    arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
    random = np.random.default_rng(1)
    middle = arrays["x"].mean(axis=0)
    places = random.uniform(-0.5 * SIDE, 0.5 * SIDE, (COUNT, 2))
    arrays["x"][:] = (middle + places).astype(np.float32)
    arrays["displacement"][:] = random.uniform(-0.5, 0.5, (COUNT, 2)).astype(np.float32)
    arrays["displacement_gradient"][:] = 0.0
    return replace(snapshot, arrays=arrays)


def scattered(snapshot: Snapshot, order: np.ndarray) -> Snapshot:
    """The same world with its particles in other slots."""
    from app.sim.state import FIELDS, PARTICLES

    names = [field.name for field in FIELDS if field.length == PARTICLES]
    arrays = snapshot.arrays | {name: snapshot.arrays[name][order] for name in names}
    return replace(snapshot, arrays=arrays)


def in_integers(simulation: Simulation, snapshot: Snapshot, order: np.ndarray) -> np.ndarray:
    """Mass and momentum of every node after the simulation's own scatter, in quanta: (nodes, 3)."""
    simulation.restore(scattered(snapshot, order))
    simulation.step(1)
    grid = simulation._solver.grid
    return np.column_stack([grid.mass.to_numpy(), grid.momentum.to_numpy()])


def in_floats(snapshot: Snapshot, order: np.ndarray) -> np.ndarray:
    """The same in single precision, one particle after the other: (side, side, 3)."""
    arrays = scattered(snapshot, order).arrays
    mass = arrays["material_parameters"][0, 0]
    side = int(arrays["x"].max()) + 3
    nodes = np.zeros((side, side, 3), np.float32)
    for x, displacement in zip(arrays["x"], arrays["displacement"], strict=True):
        cell = np.floor(x).astype(int)
        r = (x - cell - np.float32(0.5)).astype(np.float32)
        half = np.float32(0.5)
        w = np.stack([half * (half - r) ** 2, np.float32(0.75) - r**2, half * (half + r) ** 2])
        share = w[:, None, 0] * w[None, :, 1] * mass
        quantities = np.array([1.0, *displacement], np.float32)
        column, row = cell
        nodes[column - 1 : column + 2, row - 1 : row + 2] += share[:, :, None] * quantities
    return nodes


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Nodes whose sums differ from those of the particles' own order, for every order.

    quick: every eighth of them, from the first on. wrong: in floats.
    """
    multipliers = np.array(MULTIPLIERS)[:: 8 if quick else 1]
    with world.open(scene()) as simulation:
        snapshot = cloud(simulation)
        exact = in_integers(simulation, snapshot, np.arange(COUNT))
        floats = in_floats(snapshot, np.arange(COUNT))

        def sums(order: np.ndarray) -> np.ndarray:
            return in_floats(snapshot, order) if wrong else in_integers(simulation, snapshot, order)

        first = floats if wrong else exact
        orders = (np.arange(COUNT)[None, :] * multipliers[:, None] + OFFSET) % COUNT
        differing = np.array([np.count_nonzero((sums(o) != first).any(axis=-1)) for o in orders])
    # Nodes lie elsewhere in memory on either side; sorted, their masses can be compared.
    quanta = np.sort(exact[exact[:, 0] > 0, 0])
    masses = np.sort(floats[floats[:, :, 0] > 0, 0])
    apart = np.abs(masses[-len(quanta) :] - quanta / 2.0**24).max()
    named = differing[multipliers == NAMED][0]
    checks = [
        at_least("nodes that receive mass", "1", len(quanta), (SIDE + 1) ** 2),
        at_most("node mass, floats against integers", "full cell", apart, AGREEMENT),
        at_most(f"nodes differing, order {NAMED} k + {OFFSET}", "1", named, 0),
        at_most("nodes differing, most of all orders", "1", differing.max(), 0),
        at_least(
            "orders that change no node", "1", np.count_nonzero(differing == 0), len(multipliers)
        ),
    ]
    panel = Panel(
        x="multiplier of the order",
        x_unit="1",
        y="nodes that differ",
        y_unit="1",
        measured=(Curve(multipliers, differing),),
        limits=(between(-0.5, 0.5, (0, COUNT)),),
    )
    return Measurement(checks, (panel,))


GATE = Gate(
    name="scatter_order",
    title="The scatter in 128 orders",
    theory="sums of integers do not depend on the order of their terms",
    wrong="the same shares as single-precision floats",
    measure=measure,
    cheap=True,
)
