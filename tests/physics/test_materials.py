"""Contract: each material does what it is for, and each gate rejects the material that does not.

- A liquid levels out; sand comes to rest in a heap, no steeper than its friction angle, and steeper
  the rougher it is.
- An elastic block springs back to its shape after a push; a plastic one keeps the dent.
"""

import numpy as np
import pytest
from simulations import box, fill, material, scene, shape

from app.events import Push, SetDamping

CELL = 0.02
COLUMN = 16  # cells wide, standing at the left wall


def collapsed(world, of, *extra, ticks=150, damping=0.3):
    """A column that has fallen down on a floor that holds, beside a slippery wall."""
    matter = shape("fill", "box", **box((0, 0), (COLUMN, 20), CELL), material=of)
    edges = {"left": "slip", "right": "slip", "bottom": "stick", "top": "open"}
    sim = world(
        scene(
            *extra, matter, cells=(64, 32), cell=CELL, edges=edges, damping=damping, min_substeps=4
        )
    )
    sim.step(ticks)
    return sim


def heights(sim, bins=16):
    """Area of matter over each of the bins' width: mean height of matter [cells]."""
    cells = sim.scene.domain.cells[0]
    x = np.clip(sim.positions()[:, 0] / sim.scene.domain.cell, 0.0, cells - 1e-3)
    return np.bincount((x * bins / cells).astype(int), minlength=bins) / 4 * bins / cells


def slope_angle(sim):
    """Angle [degrees] of the surface where matter lies more than a cell high, from the heights."""
    height = heights(sim, 32)
    lies = height > 1.0
    if lies.sum() < 3:
        return 0.0
    run = np.arange(32)[lies] * sim.scene.domain.cells[0] / 32
    return -np.degrees(np.arctan(np.polyfit(run, height[lies], 1)[0]))


def grains(angle):
    return material("grains", base="sand", friction_angle=angle)


def test_a_liquid_levels_out(world):
    """Within a fifth of a cell per cell, and without a slope."""
    sim = collapsed(world, "water", damping=2.0)
    height = heights(sim)
    level = COLUMN * 20 / 64
    assert np.abs(height - level).max() < 0.2 * level
    assert abs(slope_angle(sim)) < 2.0


def test_sand_heaps_and_rougher_sand_heaps_higher(world):
    """Fully rolled out a column ends less steep than its friction angle, never steeper; at rest.

    Without friction it runs flat: the heap comes from the friction angle and from nothing else.
    """
    angles = {}
    for friction in (0.0, 20.0, 40.0):
        sim = collapsed(world, "grains", grains(friction))
        angles[friction] = slope_angle(sim)
        if friction:
            assert 0.3 * friction < angles[friction] < friction + 2.0
            energy = sim.aggregates().kinetic_energy
            assert energy < 1e-3 * sim.aggregates().mass * 9.81 * 20 * CELL
    assert angles[0.0] < 4.0
    assert angles[20.0] + 6.0 < angles[40.0]
    assert heights(sim).max() > 2 * COLUMN * 20 / 64  # the gate of the liquid rejects it


# -- springing back, and not -----------------------------------------------------------------------


def pressed(world, of):
    """A block on a floor that a press has dented by five of its twelve cells and left.

    Returns the height of its middle [cells] before, under the press, and after.
    """
    low = {"time": 0.7, "center": [0.32, 0.13]}
    keyframes = [{"time": 0.0, "center": [0.32, 0.19]}, low, {"time": 1.2, "center": [0.32, 0.25]}]
    press = shape(
        "collider",
        "box",
        center=(0.32, 0.19),
        half_size=(0.06, 0.06),
        motion={"keyframes": keyframes},
    )
    edges = {"left": "slip", "right": "slip", "bottom": "stick", "top": "slip"}
    sim = world(scene(fill((20, 0), (44, 12), of), press, edges=edges, min_substeps=4))
    middle = np.abs(sim.positions()[:, 0] - 0.32) < 0.03

    def height():
        return np.percentile(sim.positions()[middle, 1], 98) / 0.01

    before = height()
    sim.step(42)
    under = height()
    sim.step(40)
    sim.apply(SetDamping(5.0))
    sim.step(60)
    return before, under, height()


@pytest.mark.parametrize(
    ("of", "springs"), [("jelly", True), ("rubber", True), ("plasticine", False)]
)
def test_elastic_springs_back_and_plastic_keeps_the_dent(world, of, springs):
    before, under, after = pressed(world, of)
    assert before - under > 3.5
    left = (before - after) / (before - under)
    assert left < 0.2 if springs else left > 0.8


def test_a_pushed_block_returns_to_its_shape(world):
    """A jelly on a floor that holds it, pushed askew by more than a cell, then left alone."""
    edges = {"left": "slip", "right": "slip", "bottom": "stick", "top": "slip"}
    sim = world(scene(fill((24, 0), (40, 14), "jelly"), edges=edges, min_substeps=4))
    sim.apply(SetDamping(5.0))
    sim.step(60)
    rest = sim.positions()
    sim.apply(SetDamping(0.0))
    for _ in range(6):
        sim.apply(Push((0.22, 0.12), 0.2, 20.0))
        sim.step(1)
    askew = np.abs(sim.positions() - rest).max() / 0.01
    assert askew > 1.0
    sim.apply(SetDamping(3.0))
    sim.step(120)
    assert np.abs(sim.positions() - rest).max() / 0.01 < 0.1 * askew
