"""Contract of the other backends: they run, repeat themselves, and agree with the CPU.

The same bits on one device, run after run; between devices the same physics, so aggregates are
compared: particles and mass exactly, centre of mass, momentum and energy within what a chaotic
splash makes of a rounding error. Each backend runs in a process of its own, since a process has one
Taichi runtime.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backend import tiny
from simulations import simulate

HERE = Path(__file__).parent


def on(arch):
    answer = subprocess.run(
        [sys.executable, str(HERE / "backend.py"), arch],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, HERE.parents[:2]))},
        timeout=500,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "arch",
    [pytest.param(arch, marks=getattr(pytest.mark, arch)) for arch in ("vulkan", "cuda")],
)
def test_it_runs_repeats_and_agrees(arch):
    result = on(arch)
    assert result["arch"] == arch and result["device"]
    assert result["finite"] and result["nonfinite_removed"] == 0
    first, second = result["runs"]
    assert first == second
    assert first[0] != first[1]  # it moved
    assert result["resumed"] == [first[3], first[3]]  # from a snapshot, as if never interrupted

    sim = simulate(tiny())
    try:
        sim.step(len(first))
        here = sim.aggregates()
        integers = sim._solver.integers()
        size = sim.scene.domain.size[0]
    finally:
        sim.close()
    assert result["emitted"] == integers["emitted"]
    assert abs(result["drained"] - integers["drained"]) <= 10
    assert result["mass"] == pytest.approx(here.mass, rel=0.01)
    assert result["center_of_mass"] == pytest.approx(here.center_of_mass, abs=0.01 * size)
    speed = (2.0 * here.kinetic_energy / here.mass) ** 0.5
    assert result["momentum"] == pytest.approx(here.momentum, abs=0.1 * here.mass * speed)
    assert result["kinetic_energy"] == pytest.approx(here.kinetic_energy, rel=0.2)
