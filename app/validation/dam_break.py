"""Front of a collapsing water column against the experiments of Martin and Moyce.

J. C. Martin and W. J. Moyce, An experimental study of the collapse of liquid columns on a rigid
horizontal plane, Phil. Trans. R. Soc. A 244 (1952) 312-324: column of width a = 2.25 inches and
height 2 a, front Z = x / a over T = t sqrt(2 g / a). `TABLE` is their table 2 as it is distributed
with the solver Ocellaris (demos of the dam break). Their figure 3, as distributed with PySPH
(pysph.examples.db_exp_data), gives fronts of columns of 1.125 and 2.25 inches that differ by up to
8 % at equal T: that is the scatter. The start of their clock is uncertain by the opening of the
gate, so the front is compared from T = 1.19 on.

Water does not slip on a floor, so the floor holds it. On a slippery floor the front runs ahead of
the table by a constant 0.16 in T, up to 10 % of Z; a single drop may be ahead of the front.
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import (
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    around,
    at_most,
    box,
    scene_of,
)

CELL = 0.01
WIDTH = 16
GRAVITY = 9.81
TABLE = (
    (1.19, 1.44),
    (1.43, 1.67),
    (1.63, 1.89),
    (1.83, 2.11),
    (1.98, 2.33),
    (2.20, 2.56),
    (2.32, 2.78),
    (2.51, 3.00),
    (2.65, 3.22),
    (2.83, 3.44),
    (2.98, 3.67),
    (3.11, 3.89),
    (3.33, 4.11),
)
SCATTER = 0.08
RATE = 240


def scene(gravity: float) -> str:
    """A column in the corner of a tank."""
    water = """
[materials.water_column]
model = "liquid"
density = 1000
bulk_modulus = 2e5
viscosity = 0.001
"""
    body = water + box("fill", (0, 0), (WIDTH, 2 * WIDTH), 'material = "water_column"')
    return scene_of(
        "Dam break",
        (100, 40),
        body,
        edges="slip",
        sides='bottom = "stick"',
        gravity=f"[0, {-gravity}]",
        tick_rate=RATE,
        substeps=4,
        rounds=6,
    )


def front(world: World, gravity: float) -> tuple[np.ndarray, np.ndarray]:
    """T and Z tick by tick, T by the true gravity; the front is the tenth particle from it."""
    width = WIDTH * CELL
    scale = np.sqrt(2.0 * GRAVITY / width)
    with world.open(scene(gravity)) as simulation:
        times, places = [], []
        while simulation.time * scale < 3.4:
            simulation.step(2)
            times.append(simulation.time * scale)
            places.append(float(np.sort(simulation.positions()[:, 0])[-10]) / width)
    return np.array(times), np.array(places)


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Largest and mean deviation of the front from the table; wrong: 30 % more gravity."""
    times, places = front(world, GRAVITY * (1.3 if wrong else 1.0))
    table = np.array(TABLE)
    off = np.interp(table[:, 0], times, places) / table[:, 1] - 1.0
    experiment = Curve(table[:, 0], table[:, 1])
    return Measurement(
        [
            at_most("largest deviation of the front", "1", np.abs(off).max(), SCATTER),
            at_most("mean deviation of the front", "1", abs(off.mean()), SCATTER),
        ],
        (
            Panel(
                "time t sqrt(2 g / a)",
                "1",
                "front x / a",
                "1",
                measured=(Curve(times, places),),
                theory=(experiment,),
                limits=(around(experiment, SCATTER),),
                source="Martin and Moyce (1952)",
            ),
        ),
    )


GATE = Gate(
    name="dam_break",
    title="Front of a collapsing water column",
    theory="experiments of Martin and Moyce (1952), table 2",
    wrong="gravity 30 % too strong",
    measure=measure,
    cheap=True,
)
