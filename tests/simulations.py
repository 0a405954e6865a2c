"""Small worlds for tests.

A solver's kernels take seconds to compile, so the tests of a process share one: `simulate` first
makes a solver with room for every scene of the tests, and `Simulation.close` hands it to the next.
Tests take the fixture `world` (tests/conftest.py), which closes what it has handed out.
"""

import json

import numpy as np

from app import scene as scenes
from app.sim import device
from app.simulation import Simulation

CAPACITY = 6000
LARGEST = (1000, 1000)
CELL = 0.01
"""Room of the shared solver in particles and cells; side of a cell [m] by default."""


def toml(value):
    """A Python value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ", ".join(toml(part) for part in value) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    return repr(float(value))


def table(header, values):
    """A TOML table."""
    return "\n".join([header, *(f"{key} = {toml(value)}" for key, value in values.items()), ""])


def material(name, base=None, **values):
    """A record of matter: of its own with `model=...`, or of the library with `base`."""
    return table(f"[materials.{name}]", ({"base": base} if base else {}) | values)


def shape(role, kind, **values):
    """A shape in world units, as scene files write it."""
    return table("[[shapes]]", {"role": role, "kind": kind, **values})


def fill(low, high, of, **values):
    """A box of matter between two corners [cells of CELL]."""
    return shape("fill", "box", **box(low, high), material=of, **values)


def box(low, high, cell=CELL):
    """Keys of a box between two corners [cells]."""
    low, high = np.asarray(low, float) * cell, np.asarray(high, float) * cell
    return {"center": (low + high) / 2, "half_size": (high - low) / 2}


def scene(
    *parts, cells=(64, 64), cell=CELL, edges="slip", gravity=(0.0, -9.81), damping=0.0, **keys
):
    """A Scene of materials and shapes; further keys are those of [solver], and `seed`.

    edges: one word or coefficient for all four sides, or a dict by side.
    """
    sides = ("left", "right", "bottom", "top")
    edges = edges if isinstance(edges, dict) else dict.fromkeys(sides, edges)
    head = {"name": "test", "seed": keys.pop("seed", 0)}
    text = "".join(f"{key} = {toml(value)}\n" for key, value in head.items())
    domain = {"size": [count * cell for count in cells], "cell": cell, "edges": edges}
    text += table("[domain]", domain)
    text += table("[environment]", {"gravity": gravity, "damping": damping})
    text += table("[solver]", {"capacity": CAPACITY} | keys)
    return scenes.loads(text + "\n".join(parts))


def simulate(scene, seed=None):
    """A Simulation of `scene` on the CPU, on the shared solver where that one is idle."""
    from app.sim.solver import Layout

    device.start("cpu")
    room = _largest()
    if not any(solver.layout.holds(Layout.of(room)) for solver in Simulation._idle):
        Simulation.from_scene(room, arch="cpu").close()
    return Simulation.from_scene(scene, arch="cpu", seed=seed)


def _largest():
    return scene(fill((1, 1), (2, 2), "water"), cells=LARGEST)


def array(simulation, name):
    """A field of the state as NumPy array, all slots, in grid units."""
    return simulation._solver.state.arrays[name].to_numpy()


def set_array(simulation, name, values):
    """Overwrite a field of the state."""
    simulation._solver.state.arrays[name].from_numpy(values)


def integer(simulation, name):
    """A named integer of the state."""
    return simulation._solver.integers()[name]


def expect_sound_slots(sim, capacity=CAPACITY):
    """Each slot of the scene once: live, or in the list of free ones; free ones hold zeros."""
    status = array(sim, "status")
    live = np.flatnonzero(status == 1)
    count = integer(sim, "free_count")
    free = array(sim, "free_slots")[:count]
    assert set(np.unique(status)) <= {0, 1}
    assert len(live) + count == capacity
    assert (np.sort(np.concatenate([live, free])) == np.arange(capacity)).all()
    assert integer(sim, "emitted") - integer(sim, "drained") == len(live)
    assert integer(sim, "leaving") == 0
    unused = status == 0
    for name in ("x", "displacement", "deformation_gradient", "volume_ratio", "material"):
        assert not array(sim, name)[unused].any(), name
