"""Run-out of a collapsing column of sand.

G. Lube, H. E. Huppert, R. S. J. Sparks and A. Freundt, Collapses of two-dimensional granular
columns, Phys. Rev. E 72 (2005) 041301: for h0 / d0 below about 1.8 the front comes to rest at
(d - d0) / d0 = 1.2 h0 / d0, whatever the grains, whose angle of repose was about 31 degrees; up to
h0 / d0 = 1.15 the column keeps its height at the wall.

It does not hold: the heap runs too far and sinks at the wall. The sand is weaker in shear than its
friction angle says, as the gate of the incline explains; with sin(phi) of the cone replaced by
tan(phi), that is with grains that slide at phi, the run-out was 1.35 and the height 18.4 cells.
"""

from __future__ import annotations

import numpy as np

from app.validation.gate import Check, Gate, World, box, close, scene_of

CELL = 0.01
WIDTH, HEIGHT = 20, 20
FRICTION_ANGLE = 31.0
LIMIT = 0.10


def scene(friction_angle: float) -> str:
    """A square column in a corner, on a floor that holds it."""
    sand = f"""
[materials.grains]
model = "sand"
density = 1600
youngs_modulus = 4e5
poissons_ratio = 0.3
friction_angle = {friction_angle}
"""
    body = sand + box("fill", (0, 0), (WIDTH, HEIGHT), 'material = "grains"')
    return scene_of(
        "Sand column",
        (90, 28),
        body,
        edges="slip",
        sides='bottom = "stick"',
        substeps=12,
        rounds=8,
    )


def measure(world: World, wrong: bool, quick: bool) -> list[Check]:
    """Where a heap at rest still is half a cell high, and its height at the wall."""
    with world.open(scene(18.0 if wrong else FRICTION_ANGLE)) as simulation:
        simulation.step(50)
        places = simulation.positions() / CELL
    # Matter of the columns in units of a filled cell: the outline of the heap, without its dust.
    count, edges = np.histogram(places[:, 0], bins=np.arange(91))
    foot = float(edges[np.flatnonzero(count / 4.0 >= 0.5)[-1] + 1])
    height = float(np.sort(places[places[:, 0] < 3, 1])[-6:].mean())
    return [
        close("run-out over width", "1", foot / WIDTH - 1.0, 1.2 * HEIGHT / WIDTH, LIMIT),
        close("height at the wall", "cells", height, HEIGHT, LIMIT),
    ]


GATE = Gate(
    name="sand_collapse",
    title="Collapse of a sand column",
    theory="Lube, Huppert, Sparks and Freundt (2005): run-out 1.2 h0 / d0",
    wrong="friction angle 18 degrees",
    measure=measure,
)
