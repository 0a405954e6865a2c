"""Run-out, height and slope of columns of sand that collapse.

G. Lube, H. E. Huppert, R. S. J. Sparks and A. Freundt, Collapses of two-dimensional granular
columns, Phys. Rev. E 72 (2005) 041301: for a = h0 / d0 below about 1.8 the front comes to rest at
(d - d0) / d0 = 1.2 a, whatever the grains, whose angle of repose was about 31 degrees; up to a =
1.15 the column keeps its height at the wall.

The law of sand has one angle, that at which it starts to slide, and real grains come to rest at a
lower one. A collapse is told by the former (Rousseau et al., Revisiting the role of friction
coefficients in granular collapses, J. Fluid Mech. 975 (2023) A14), which Lube et al. do not give.
It is taken from the first check, not from the run-out: behind a wall that is drawn away slowly,
sand with a friction angle of 34 degrees is left standing at about 31, as theirs.

Held half its side off a surface, as a liquid is, sand slides on it: fronts then ran out to 0.66,
1.61 and 2.44 for 0.6, 1.2 and 1.8. With no answer of the walls to pressure they ran out to 1.37 and
2.55 for the first two. Fronts still shorten with the substep: at 24, 48 and 96 to a tick the column
with a = 1.5 came to 2.03, 1.96 and 1.85, whose toe is a layer of a cell.

What this leaves open, measured with the contact before. A degree more of friction takes about 0.06
from the run-out of a = 1. A coarse column runs less far: with 20, 40 and 80 cells of width the last
particle came to 1.08, 1.26 and 1.24, and with 31 degrees to 1.28, 1.41 and 1.48. At a = 3, where
the law is 1.9 a^(2/3) = 3.95, a column of 20 cells came to 3.52, 11 % short, so tall columns are
not part of the gate. Friction has no rate of its own (mu(I)), and the experiment's channel had side
walls, which are missing here.
"""

from __future__ import annotations

import math

import numpy as np

from app.validation.gate import (
    Band,
    Curve,
    Gate,
    Measurement,
    Panel,
    World,
    around,
    box,
    close,
    scene_of,
)

CELL = 0.01
COLUMNS = ((54, 27), (36, 36), (30, 45))
"""Width and height [cells] of the columns: a = 0.5, 1 and 1.5."""
WIDE, HIGH = 128, 60
FRICTION_ANGLE, REPOSE = 34.0, 31.0
LIMIT = 0.10
STOOD, DRAWN, SPEED = (36, 20), 34, 6
"""The column that is let down slowly, how far [cells] its wall goes, and its speed [cells/s]."""


def grains(friction_angle: float) -> str:
    """TOML of the sand."""
    return f"""
[materials.grains]
model = "sand"
density = 1600
youngs_modulus = 4e5
poissons_ratio = 0.3
friction_angle = {friction_angle}
"""


def scene(size: tuple[int, int], friction_angle: float, wall: str = "", substeps: int = 48) -> str:
    """A column in a corner, on a floor that holds it."""
    return scene_of(
        "Sand column",
        (WIDE, HIGH),
        grains(friction_angle) + box("fill", (0, 0), size, 'material = "grains"') + wall,
        edges="slip",
        sides='bottom = "stick"',
        substeps=substeps,
        rounds=8,
    )


def tops(places: np.ndarray) -> np.ndarray:
    """Height [cells] of the uppermost particle over each cell of the floor, 0 where none is."""
    height = np.zeros(WIDE)
    np.maximum.at(height, np.clip(places[:, 0].astype(int), 0, WIDE - 1), places[:, 1])
    return height


def collapsed(world: World, size: tuple[int, int], friction_angle: float) -> tuple[float, float]:
    """Run-out over the width, and height at the wall over the width, of a heap that is at rest.

    The front is where matter still is half a cell deep, to a part of a cell: the outline of the
    heap without its dust.
    """
    with world.open(scene(size, friction_angle)) as simulation:
        simulation.step(60)
        places = simulation.positions().astype(np.float64) / CELL
    # A filled cell holds four particles: two in a strip of a cell are half a cell of depth.
    ordered = np.sort(places[:, 0])[::-1]
    dense = np.flatnonzero(ordered[:-1] - ordered[1:] < 0.5)
    foot = ordered[dense[0]]
    height = np.sort(places[places[:, 0] < 3, 1])[-6:].mean()
    return float(foot / size[0] - 1.0), float(height / size[0])


def slope(world: World, friction_angle: float) -> tuple[float, Curve]:
    """Slope [degrees] and outline [cells] of what a wall left behind that was drawn away slowly.

    It is fitted between a fifth and four fifths of the height, off the edge and off the toe.
    """
    x, y = STOOD[0] + 3, HIGH / 2
    end = 0.3 + DRAWN / SPEED
    frames = ", ".join(
        f"{{ time = {time:.9g}, center = [{(x + way) * CELL:.9g}, {y * CELL:.9g}] }}"
        for time, way in ((0.0, 0), (0.3, 0), (end, DRAWN))
    )
    wall = box("collider", (x - 3, 0), (x + 3, HIGH), f"motion = {{ keyframes = [{frames}] }}")
    with world.open(scene(STOOD, friction_angle, wall, substeps=12)) as simulation:
        simulation.step(math.ceil(60 * end) + 30)
        height = tops(simulation.positions() / CELL)
    face = (height > 0.2 * height.max()) & (height < 0.8 * height.max())
    fall = np.polyfit(np.arange(WIDE)[face], height[face], 1)[0]
    outline = Curve(np.arange(WIDE)[height > 0] + 0.5, height[height > 0])
    return math.degrees(math.atan(-fall)), outline


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Slope of a heap; run-outs of three columns; the height of those that keep it."""
    friction_angle = 18.0 if wrong else FRICTION_ANGLE
    stands, outline = slope(world, friction_angle)
    checks = [
        close("slope behind a slow wall, against repose", "degrees", stands, REPOSE, LIMIT),
        close("the same, against friction", "degrees", stands, FRICTION_ANGLE, LIMIT),
    ]
    found = []
    for size in COLUMNS:
        a = size[1] / size[0]
        run_out, height = collapsed(world, size, friction_angle)
        found.append((a, run_out, height))
        checks.append(close(f"run-out over width, a = {a:g}", "1", run_out, 1.2 * a, LIMIT))
        if a <= 1.15:
            checks.append(close(f"height at the wall over width, a = {a:g}", "1", height, a, LIMIT))
    return Measurement(checks, (standing(outline), collapses(found)))


def standing(outline: Curve) -> Panel:
    """The heap behind the slow wall, and through the middle of its face what Lube et al. saw.

    Shaded are the slopes that both checks of it allow.
    """
    face = (outline.y > 0.2 * outline.y.max()) & (outline.y < 0.8 * outline.y.max())
    middle, height = outline.x[face].mean(), outline.y[face].mean()
    x = outline.x[face][[0, -1]]
    angles = REPOSE, (1.0 - LIMIT) * FRICTION_ANGLE, (1.0 + LIMIT) * REPOSE
    repose, flat, steep = (height - math.tan(math.radians(a)) * (x - middle) for a in angles)
    return Panel(
        "distance from the wall",
        "cells",
        "height",
        "cells",
        measured=(outline,),
        theory=(Curve(x, repose),),
        limits=(Band(x, np.minimum(flat, steep), np.maximum(flat, steep)),),
        source=f"repose, {REPOSE:g} degrees",
    )


def collapses(found: list[tuple[float, float, float]]) -> Panel:
    """Run-outs and heights over the width by a; found: rows of a, run-out and height."""
    a, run_out, height = np.array(found).T
    keep = a <= 1.15
    names = "run-out", "height at the wall"
    aspects = np.linspace(0.4, 1.6, 25)
    ends = Curve(aspects, 1.2 * aspects, names[0])
    kept = Curve([0.4, 1.15], [0.4, 1.15], names[1])
    return Panel(
        "h0 / d0",
        "1",
        "over the width",
        "1",
        measured=(Curve(a, run_out, names[0]), Curve(a[keep], height[keep], names[1])),
        theory=(ends, kept),
        limits=(around(ends, LIMIT), around(kept, LIMIT)),
        source="Lube et al. (2005)",
    )


GATE = Gate(
    name="sand_collapse",
    title="Collapse of sand columns",
    theory="Lube, Huppert, Sparks and Freundt (2005): run-out 1.2 h0 / d0, repose at 31 degrees",
    wrong="friction angle 18 degrees",
    measure=measure,
)
