"""A tiny world on another backend, for test_backends.py: `python backend.py ARCH`.

Prints one JSON object: digests after each tick of two runs of one scene, aggregates, finiteness,
and the digests where two runs from a snapshot at tick 2 end, at tick 4.
"""

import json
import sys
from dataclasses import asdict

import numpy as np
from simulations import box, fill, scene, shape

from app.simulation import Simulation

TICKS = 8


def tiny():
    """Water, jelly and sand in a box of 32 x 32 cells, with a source, a drain and a ball."""
    return scene(
        fill((2, 8), (10, 16), "water", velocity=(0.5, 0.0)),
        fill((12, 10), (18, 16), "jelly", angular_velocity=5.0),
        fill((20, 8), (28, 14), "sand"),
        shape("emitter", "box", **box((4, 24), (10, 28)), material="water", rate=0.03, speed=0.5),
        shape("drain", "circle", center=(0.3, 0.02), radius=0.03),
        shape("collider", "circle", center=(0.15, 0.06), radius=0.03, friction=0.3),
        cells=(32, 32),
        capacity=1500,
        max_substeps=2,
        rounds=3,
    )


def run(arch):
    """What test_backends.py compares, of `arch`."""
    sim = Simulation.from_scene(tiny(), arch=arch)
    runs = []
    for _ in range(2):
        digests = []
        for _ in range(TICKS):
            sim.step(1)
            digests.append(sim.digests())
        runs.append(digests)
        result = asdict(sim.aggregates()) | {"arch": sim.arch, "device": sim.device}
        result["finite"] = bool(np.isfinite(sim.positions()).all())
        integers = sim._solver.integers()
        result |= {name: integers[name] for name in ("emitted", "drained", "nonfinite_removed")}
        sim.close()
        sim = Simulation.from_scene(tiny(), arch=arch)
    sim.step(2)
    taken = sim.snapshot()
    resumed = []
    for _ in range(2):
        sim.restore(taken)
        sim.step(2)
        resumed.append(sim.digests())
    sim.close()
    return result | {"runs": runs, "resumed": resumed}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1])))
