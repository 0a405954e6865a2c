"""Contract: a domain of 4096 x 4096 cells is simulated as a small one is, in every corner of it.

In a process of its own: its grid takes more than a gigabyte. Capacity is reached by fills, by paint
and by an emitter; each time it is counted, and no slot is lost.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RUN = """
import numpy as np
from simulations import box, expect_sound_slots, fill, scene, shape
from app.events import Erase, Paint
from app.simulation import Simulation

N, CELL, CAPACITY = 4096, 0.01, 3000
corners = [(x, y) for x in (20, N - 30) for y in (20, N - 30)]
sim = Simulation.from_scene(scene(
    *(fill((x, y), (x + 10, y + 10), "jelly") for x, y in corners),
    shape("emitter", "box", **box((N - 60, N - 60), (N - 40, N - 40)), material="water", rate=2.0),
    cells=(N, N), capacity=CAPACITY), arch="cpu")
assert sim.status().live == 1600
start = sim.positions().astype(float)
sim.step(2)
fallen = start - sim.positions()[:1600]
# A position near 4096 cells is rounded to 1.2e-4 cells in each of the substeps.
np.testing.assert_allclose(fallen[:, 1], 9.81 * sim.time**2 / 2, atol=2e-5)
np.testing.assert_allclose(fallen[:, 0], 0.0, atol=2e-5)
sim.step(4)
full = sim.status()
assert full.live == CAPACITY and full.counters["capacity_reached"] > 0
expect_sound_slots(sim, CAPACITY)
sim.apply(Paint("jelly", (N * CELL / 2, N * CELL / 2), 0.5))
sim.step(1)
painted = sim.status()
assert painted.live == CAPACITY
assert painted.counters["capacity_reached"] > full.counters["capacity_reached"] + 20_000
sim.apply(Erase((N * CELL / 2, N * CELL / 2), N * CELL))
sim.step(1)
assert sim.positions().min() > (N - 65) * CELL  # nothing but what the emitter has made since
expect_sound_slots(sim, CAPACITY)
assert np.isfinite(sim.positions()).all() and sim.status().counters["nonfinite_removed"] == 0
print("done", sim.status().live)
"""


@pytest.mark.soak
def test_every_corner_of_4096_by_4096_cells():
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("done")
