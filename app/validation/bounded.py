"""Nothing blows up: acoustic CFL 50, one round, a collider that crosses a cell in every substep.

A paddle runs through a jelly block and stops. Unresolved matter sticks to what pushes it, so it may
have the paddle's speed v and little more: its kinetic energy is m v^2 / 2, the work that the paddle
has then done, and a fifth is left for what rebounds (a body that bounced off as a whole, without
loss, would have four times as much). After the paddle has stopped it must die away.
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
    scene_of,
)

CELL = 0.01
RATE, SUBSTEPS = 60, 4
CFL = 50.0
START, WAY = 10, 48
REBOUND, LEFT = 1.2, 0.25


def scene(substeps: int) -> str:
    """The block, and the paddle on its way of 48 cells, one in a substep."""
    dt = 1.0 / (RATE * substeps)
    young = 1000.0 * (CFL * CELL / dt) ** 2
    moves = f"""[shapes.motion]
keyframes = [
  {{ time = 0, center = [{START * CELL}, 0.12] }},
  {{ time = {WAY * dt:.9g}, center = [{(START + WAY) * CELL:.9g}, 0.12] }},
]
"""
    body = (
        elastic("jelly", young, 0.0)
        + box("fill", (20, 0), (36, 16), 'material = "jelly"')
        + box("collider", (START - 4, -4), (START + 4, 28), f'friction = "slip"\n{moves}')
    )
    return scene_of("Paddle", (120, 40), body, edges="slip", substeps=substeps, rounds=1)


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Largest kinetic energy over m v^2 / 2, and what is left; wrong: a faster paddle."""
    speed = CELL * RATE * SUBSTEPS
    with world.open(scene(5 if wrong else SUBSTEPS)) as simulation:
        live = simulation.aggregates().live
        energies = []
        for _ in range(60):
            simulation.step()
            now = simulation.aggregates()
            energies.append(now.kinetic_energy / (0.5 * now.mass * speed**2))
    most = float(np.nan_to_num(energies, nan=np.inf, posinf=np.inf).max())
    time = np.arange(1, 61) / RATE
    return Measurement(
        [
            at_most("kinetic energy over m v^2 / 2", "1", most, REBOUND),
            at_most("the same a second later", "1", energies[-1], LEFT),
            at_least("particles left", "1", now.live / live, 1.0),
        ],
        (
            Panel(
                "time",
                "s",
                "kinetic energy over m v^2 / 2",
                "1",
                measured=(Curve(time, energies),),
                theory=(Curve([0.0, WAY / (RATE * SUBSTEPS)], [1.0, 1.0]),),
                limits=(
                    between(0.0, REBOUND, (0.0, time[-2])),
                    between(0.0, LEFT, (time[-2], time[-1] + 1 / RATE)),
                ),
                source="work of the paddle",
            ),
        ),
    )


GATE = Gate(
    name="bounded",
    title="Acoustic CFL 50, one round, a paddle at a cell a substep",
    theory="the work of the paddle is m v^2 / 2 once all matter moves with it",
    wrong="a paddle that is a quarter faster",
    measure=measure,
    cheap=True,
)
