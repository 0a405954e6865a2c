"""A jelly disk spins freely: it keeps its angular momentum and its shape for ten turns.

Without outside forces the angular momentum about the centre of mass is conserved (Landau and
Lifshitz, Mechanics, section 9). A particle carries a part of it in its velocity gradient: with
quadratic B-splines m (dx^2 / 4) (C_yx - C_xy) (Jiang et al. 2015). The shape is compared with a
rigid turn of the disk at the start; what the spin stretches, rho (w R)^2 / E, is 0.1 %.
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
    between,
    close,
    elastic,
    scene_of,
)

CELL = 0.01
RADIUS, CENTER = 6, 20.0
SPIN = 2.0 * np.pi
YOUNG = 1.0e5
TURNS = 10
LIMIT = 0.01


def scene(damping: float) -> str:
    """The disk alone."""
    disk = f"""
[[shapes]]
role = "fill"
kind = "circle"
center = [{CENTER * CELL}, {CENTER * CELL}]
radius = {RADIUS * CELL}
material = "jelly"
angular_velocity = {SPIN:.9g}
"""
    return scene_of(
        "Free rotation",
        (40, 40),
        elastic("jelly", YOUNG, 0.3) + disk,
        gravity="[0, 0]",
        damping=damping,
        tick_rate=100,
        substeps=4,
        rounds=10,
    )


def angular_momentum(simulation) -> float:
    """About the centre of mass [kg m/s]."""
    from app.sim.state import float_index

    dt = float(simulation._solver.state.floats[float_index("dt")])
    mass = simulation.masses()
    place = simulation.positions().astype(np.float64)
    velocity = simulation.velocities().astype(np.float64)
    gradient = simulation._live("displacement_gradient").astype(np.float64) / dt
    place -= mass @ place / mass.sum()
    velocity -= mass @ velocity / mass.sum()
    orbital = place[:, 0] * velocity[:, 1] - place[:, 1] * velocity[:, 0]
    own = 0.25 * CELL**2 * (gradient[:, 1, 0] - gradient[:, 0, 1])
    return float(mass @ (orbital + own))


def misfit(start: np.ndarray, now: np.ndarray) -> float:
    """Root mean square distance from the best rigid motion of the start, over the radius."""
    a, b = start - start.mean(0), now - now.mean(0)
    turn = np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b).sum())
    c, s = np.cos(turn), np.sin(turn)
    moved = a @ np.array([[c, s], [-s, c]])
    return float(np.sqrt(((b - moved) ** 2).sum(1).mean()) / (RADIUS * CELL))


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Angular momentum and shape after ten turns (quick: two); wrong: a little damping."""
    turns = 2 if quick else TURNS
    with world.open(scene(0.02 / turns if wrong else 0.0)) as simulation:
        start = simulation.positions().astype(np.float64)
        momenta, departures = [angular_momentum(simulation)], [0.0]
        for _ in range(4 * turns):
            simulation.step(25)
            momenta.append(angular_momentum(simulation))
            departures.append(misfit(start, simulation.positions().astype(np.float64)))
    before, after, last = momenta[0], momenta[-1], departures[-1]
    turned = np.linspace(0, turns, 4 * turns + 1)
    kept = Curve(turned, np.full(len(turned), before))
    return Measurement(
        [
            close(f"angular momentum after {turns} turns", "kg m/s", after, before, LIMIT),
            at_most("departure from a rigid turn, over the radius", "1", last, LIMIT),
        ],
        (
            Panel(
                "turns",
                "1",
                "angular momentum",
                "kg m/s",
                measured=(Curve(turned, momenta),),
                theory=(kept,),
                limits=(around(kept, LIMIT),),
            ),
            Panel(
                "turns",
                "1",
                "departure over the radius",
                "1",
                measured=(Curve(turned[1:], departures[1:]),),
                limits=(between(0.0, LIMIT, (0, turns)),),
                logarithmic="y",
            ),
        ),
    )


GATE = Gate(
    name="rotation",
    title="Free rotation of a jelly disk",
    theory="conservation of angular momentum (Landau and Lifshitz, Mechanics, section 9)",
    wrong="damping of 2 % in all",
    measure=measure,
)
