"""Pressure and compression of a liquid at rest.

At a depth that carries the weight rho g h0 (h0 counted in the matter at rest) the pressure is
rho g h0 and the volume ratio 1 - rho g h0 / K, for a pressure linear in the volume ratio
(Batchelor, An Introduction to Fluid Dynamics, section 1.4). The pressure is the model's, of every
particle; the compression is geometry alone, from the number of particles below a height. The weight
is that of the matter which really stands on the region, away from walls.
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
    between,
    box,
    close,
    scene_of,
)

CELL = 0.01
WIDTH, HEIGHT = 40, 26
DENSITY, BULK, GRAVITY = 1000.0, 1.0e4, 9.81
WALL = 6
"""Width [cells] of what is left out at each side."""
REGION = (2.0, 10.0)
"""Heights [cells] between which compression is measured."""
LIMIT = 0.03


def scene(bulk: float) -> str:
    """A tank with slippery walls; damping brings the liquid to rest."""
    liquid = f"""
[materials.liquid]
model = "liquid"
density = {DENSITY}
bulk_modulus = {bulk}
viscosity = 1.0
"""
    body = liquid + box("fill", (0, 0), (WIDTH, HEIGHT), 'material = "liquid"')
    return scene_of(
        "Liquid at rest",
        (WIDTH, HEIGHT + 8),
        body,
        edges="slip",
        damping=10,
        gravity=f"[0, {-GRAVITY}]",
    )


def profile(simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heights [cells], volume ratios, and weight above over width [Pa], away from the walls."""
    places = simulation.positions().astype(np.float64) / CELL
    inner = (places[:, 0] > WALL) & (places[:, 0] < WIDTH - WALL)
    height = places[inner, 1]
    weight = simulation.masses()[inner] * GRAVITY / ((WIDTH - 2 * WALL) * CELL)
    order = np.argsort(-height)
    above = np.empty(len(height))
    above[order] = np.cumsum(weight[order]) - 0.5 * weight[order]
    return height, simulation.volume_ratios()[inner], above


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Pressure at the bottom by a line through that of the lower half; compression of a region."""
    pressures, totals, measured, expected = [], [], [], []
    with world.open(scene(BULK * (1.15 if wrong else 1.0))) as simulation:
        simulation.step(60)
        for _ in range(4):
            simulation.step(6)
            height, ratio, above = profile(simulation)
            region = (height > REGION[0]) & (height < REGION[1])
            line = np.polyfit(above[region], BULK * (1.0 - ratio[region]), 1)
            totals.append(above.max())
            pressures.append(np.polyval(line, above.max()))
            ranks = np.argsort(np.argsort(height))
            rows = np.polyfit(height[region], ranks[region], 1)[0] / 4.0  # cells of matter a cell
            measured.append(1.0 - (WIDTH - 2 * WALL) / rows)
            expected.append(above[region].mean() / BULK)
    return Measurement(
        [
            close("bottom pressure", "Pa", np.mean(pressures), np.mean(totals), LIMIT),
            close("compression", "1", np.mean(measured), np.mean(expected), LIMIT),
        ],
        (pressure(height, ratio, above, line), compression(height, above)),
    )


def pressure(height: np.ndarray, ratio: np.ndarray, above: np.ndarray, line: np.ndarray) -> Panel:
    """Mean pressure of particles by half cells of height, and what the line gives at the bottom."""
    _rows, row = np.unique(np.floor(2.0 * height), return_inverse=True)
    mean = lambda values: np.bincount(row, values) / np.bincount(row)  # noqa: E731
    theory = Curve(np.append(0.0, mean(height) * CELL), np.append(above.max(), mean(above)))
    bottom = Curve([0.0], [np.polyval(line, above.max())], "bottom, by the line")
    reach = LIMIT * above.max()
    return Panel(
        "height",
        "m",
        "pressure",
        "Pa",
        measured=(Curve(theory.x[1:], BULK * (1.0 - mean(ratio)), "particles"), bottom),
        theory=(theory,),
        limits=(between(above.max() - reach, above.max() + reach, (-0.3 * CELL, 0.3 * CELL)),),
    )


def compression(height: np.ndarray, above: np.ndarray) -> Panel:
    """Compression from the number of particles below a height, by windows of the region."""
    ranks = np.argsort(np.argsort(height))
    places, measured, expected = [], [], []
    for low in np.arange(REGION[0], REGION[1] - 3.0):
        window = (height > low) & (height < low + 4.0)
        rows = np.polyfit(height[window], ranks[window], 1)[0] / 4.0
        places.append((low + 2.0) * CELL)
        measured.append(1.0 - (WIDTH - 2 * WALL) / rows)
        expected.append(above[window].mean() / BULK)
    theory = Curve(places, expected)
    return Panel(
        "height",
        "m",
        "compression",
        "1",
        measured=(Curve(places, measured),),
        theory=(theory,),
        limits=(around(theory, LIMIT),),
    )


GATE = Gate(
    name="hydrostatic",
    title="Liquid at rest",
    theory="p = rho g h, compression rho g h / K (Batchelor, section 1.4)",
    wrong="bulk modulus 15 % too high",
    measure=measure,
    cheap=True,
)
