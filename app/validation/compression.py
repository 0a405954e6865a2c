"""A column between slippery walls that its own weight compresses: the set-up of the gates of laws.

Between such walls all strain is along the column, so every layer is a test of the law on its own:
it bears what lies above it, tau_yy(stretch) / stretch = -load, the load being the weight above per
area of the floor and tau the Kirchhoff stress of the law. Gravity grows slowly and the motion is
damped, so that no layer bears more than its weight for a while: what yields does not come back. The
column is wide, since matter gives way by a part of a cell at each wall.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.events import SetGravity
from app.validation.gate import Curve, Measurement, Panel, World, around, box, close, scene_of

CELL = 0.01
WIDTH, HEIGHT = 32, 40
GRAVITY = 9.81
RAMP, HOLD = 60, 30
"""Ticks in which gravity grows, and in which it stays."""
LAYERS = ((4, 12), (12, 20), (20, 28))
"""Parts [cells of the unstrained column] whose mean stretches are compared."""


def stretches(world: World, record: str) -> np.ndarray:
    """Mean stretch of each of LAYERS; `record` is the TOML of a material named matter."""
    text = scene_of(
        "Column between walls",
        (WIDTH, HEIGHT + 8),
        record + box("fill", (0, 0), (WIDTH, HEIGHT), 'material = "matter"'),
        edges="slip",
        gravity="[0, 0]",
        damping=20,
        substeps=12,
        rounds=8,
    )
    with world.open(text) as simulation:
        start = simulation.positions()[:, 1].astype(np.float64) / CELL
        for tick in range(RAMP):
            simulation.apply(SetGravity(gravity=(0.0, -GRAVITY * (tick + 1) / RAMP)))
            simulation.step()
        simulation.step(HOLD)
        now = simulation.positions()[:, 1].astype(np.float64) / CELL

    def row(y: float) -> float:
        near = np.abs(start - y) < 0.5
        return now[near].mean() - start[near].mean()

    return np.array([1.0 + (row(high) - row(low)) / (high - low) for low, high in LAYERS])


def predicted(stress: Callable[[np.ndarray], np.ndarray], density: float) -> np.ndarray:
    """The same by a law: stress maps stretches to tau_yy [Pa], and must grow with compression."""
    middle = np.array([np.linspace(low, high, 81) for low, high in LAYERS])
    return np.trapezoid(_borne(stress, density, middle), dx=1 / 80, axis=1)


def _borne(
    stress: Callable[[np.ndarray], np.ndarray], density: float, height: np.ndarray
) -> np.ndarray:
    """Stretch at heights [cells] of the unstrained column that bears what lies above them."""
    load = density * GRAVITY * (HEIGHT - height) * CELL
    low, high = np.full_like(load, 0.2), np.ones_like(load)
    for _ in range(60):
        half = 0.5 * (low + high)
        short = -stress(half) / half < load
        low, high = np.where(short, low, half), np.where(short, half, high)
    return 0.5 * (low + high)


def compared(
    stretched: np.ndarray,
    stress: Callable[[np.ndarray], np.ndarray],
    density: float,
    limit: float,
) -> Measurement:
    """Measured stretches of LAYERS against the law, each within the relative `limit`."""
    found, told = 1.0 - stretched, 1.0 - predicted(stress, density)
    height = np.linspace(LAYERS[0][0], LAYERS[-1][1], 60)
    law = Curve(height * CELL, 1.0 - _borne(stress, density, height))
    return Measurement(
        [
            close(f"compression, {low} to {high} cells", "1", one, other, limit)
            for (low, high), one, other in zip(LAYERS, found, told, strict=True)
        ],
        (
            Panel(
                "height in the unstrained column",
                "m",
                "compression",
                "1",
                measured=(Curve(np.mean(LAYERS, axis=1) * CELL, found),),
                theory=(law,),
                limits=(around(law, limit),),
                source="law",
            ),
        ),
    )
