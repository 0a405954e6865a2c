"""Elastic energy over ten thousand substeps: it may be lost, never gained.

A jelly block rings freely. Its energy is the kinetic one, with the share of the velocity gradients
(Jiang et al. 2015), and the elastic one of the fixed corotated law, mu |F - R|^2 +
lambda / 2 (J - 1)^2 (Stomakhin et al. 2012), summed in double precision from the deformation
gradients.
"""

from __future__ import annotations

import numpy as np

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
    elastic,
    lame,
    scene_of,
)

CELL = 0.01
YOUNG, POISSON, DENSITY = 1.0e4, 0.3, 1000.0
SUBSTEPS = 10_000
GAIN = 1e-3


def scene(cfl: float, method: str) -> str:
    """Two halves of one block that fly apart and are held together by what they are."""
    speed = np.sqrt(YOUNG * (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON)) / DENSITY)
    rate = round(speed / CELL / cfl / 10)
    body = (
        elastic("jelly", YOUNG, POISSON, DENSITY)
        + box("fill", (12, 16), (16, 20), 'material = "jelly"\nvelocity = [-0.2, 0]')
        + box("fill", (16, 16), (20, 20), 'material = "jelly"\nvelocity = [0.2, 0]')
    )
    return scene_of(
        "Energy",
        (32, 36),
        body,
        gravity="[0, 0]",
        tick_rate=rate,
        substeps=10,
        rounds=5,
        method=method,
    )


def energy(simulation) -> float:
    """Kinetic and elastic energy [J/m]."""
    from app.sim.state import float_index

    dt = float(simulation._solver.state.floats[float_index("dt")])
    velocity = simulation.velocities().astype(np.float64)
    gradient = simulation._live("displacement_gradient").astype(np.float64) / dt
    square = (velocity**2).sum(1) + 0.25 * CELL**2 * (gradient**2).sum((1, 2))
    kinetic = 0.5 * float(simulation.masses() @ square)
    f = simulation.deformation_gradients().astype(np.float64)
    stretch = np.linalg.svd(f, compute_uv=False)
    det = np.linalg.det(f)
    stretch[:, 1] *= np.sign(det)
    shear, lam = lame(YOUNG, POISSON)
    density = shear * ((stretch - 1.0) ** 2).sum(1) + 0.5 * lam * (det - 1.0) ** 2
    area = CELL**2 / simulation.scene.solver.particles_per_cell
    return kinetic + area * float(density.sum())


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Largest energy over that after the first substeps; wrong: explicit beyond its limit."""
    if wrong:
        text, ticks = scene(2.0, "explicit"), 50
    else:
        text, ticks = scene(0.5, "compliant"), (SUBSTEPS // 10 if not quick else 100)
    values = []
    with world.open(text) as simulation:
        values.append(energy(simulation))
        for _ in range(ticks):
            simulation.step()
            values.append(energy(simulation))
    values = np.nan_to_num(np.array(values), nan=np.inf)
    substeps = 10.0 * np.arange(len(values))
    end = float(SUBSTEPS)
    return Measurement(
        [
            at_most("energy gained", "1", values.max() / values[0] - 1.0, GAIN),
            at_least("energy kept", "1", values[-1] / values[0], 0.0),
        ],
        (
            Panel(
                "substeps",
                "1",
                "energy over that at the start",
                "1",
                measured=(Curve(substeps[1:], values[1:] / values[0]),),
                theory=(Curve([10.0, end], [1.0, 1.0]),),
                limits=(between(0.0, 1.0 + GAIN, (10.0, end)),),
                logarithmic="xy",
                source="conserved",
            ),
        ),
    )


GATE = Gate(
    name="energy",
    title="Energy of a ringing jelly block",
    theory="conservation; backward Euler may lose, never gain",
    wrong="explicit at twice its stable step",
    measure=measure,
)
