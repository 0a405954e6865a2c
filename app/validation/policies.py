"""Explicit and compliant: two ways to the same motion once the step resolves the sound.

A jelly block is thrown at the floor, deforms, and bounces. The explicit policy (MLS-MPM, Hu et al.
2018) takes the stress from the start of a substep, the compliant one from its end; as dt goes to
zero both solve the same equations. They part by what backward Euler damps, which is of first order
in dt: 3.5 % of the way at twice this step. Positions after a second are
compared particle by particle.
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import (
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    at_most,
    between,
    box,
    elastic,
    scene_of,
)

CELL = 0.01
YOUNG = 1.0e4
LIMIT = 0.02


def scene(method: str, young: float) -> str:
    """The block in flight; sound crosses a thirtieth of a cell in a substep."""
    body = elastic("jelly", young, 0.3) + box(
        "fill", (8, 8), (18, 18), 'material = "jelly"\nvelocity = [0.3, 0]\nangular_velocity = 1'
    )
    return scene_of(
        "Two policies",
        (64, 40),
        body,
        edges="slip",
        gravity="[0, -2]",
        substeps=200,
        rounds=1,
        method=method,
    )


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Distance of the two over the way travelled, root mean square; wrong: modulus 30 % off."""
    ticks = 30 if quick else 60
    paths = []
    for method, young in (("explicit", YOUNG), ("compliant", YOUNG * (1.3 if wrong else 1.0))):
        with world.open(scene(method, young)) as simulation:
            path = [simulation.positions().astype(np.float64)]
            for _ in range(ticks):
                simulation.step()
                path.append(simulation.positions().astype(np.float64))
            paths.append(np.array(path))
    explicit, compliant = paths
    apart = np.sqrt(((explicit - compliant) ** 2).sum(2).mean(1))[1:]
    way = np.sqrt(((explicit - explicit[0]) ** 2).sum(2).mean(1))[1:]
    off = float(apart[-1] / way[-1])
    time = np.arange(ticks + 1) / 60
    return Measurement(
        [at_most(f"apart after {ticks / 60:g} s, over the way", "1", off, LIMIT)],
        (
            Panel(
                "time",
                "s",
                "height of the block",
                "m",
                measured=(Curve(time, compliant[:, :, 1].mean(1)),),
                theory=(Curve(time, explicit[:, :, 1].mean(1)),),
                source="explicit",
            ),
            Panel(
                "time",
                "s",
                "apart, over the way",
                "1",
                measured=(Curve(time[1:], apart / way),),
                limits=(between(0.0, LIMIT, (0, ticks / 60)),),
            ),
        ),
    )


GATE = Gate(
    name="policies",
    title="Explicit against compliant",
    theory="the same equations as dt goes to zero (MLS-MPM, Hu et al. 2018)",
    wrong="compliant with a modulus 30 % too high",
    measure=measure,
)
