"""What a gate is: a scene, a measurement, a theory, a limit, and a wrong variant it must reject."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from app import scene as scenes
from app.simulation import Simulation

CAPACITY = 6000
MOST_CELLS = 128
"""Room that every gate fits in, so that one solver and its compiled kernels serve them all."""


@dataclass(frozen=True)
class Check:
    """One number held against one limit.

    `error` is what the limit bounds: a relative deviation for `close`, the number itself for
    `at_most` and `at_least`, whose `expected` is the limit.
    """

    quantity: str
    unit: str
    measured: float
    expected: float
    error: float
    limit: float
    relation: str

    @property
    def passed(self) -> bool:
        """Whether the number is within its limit; what is no number is not."""
        if self.relation == "at least":
            return self.error >= self.limit
        return self.error <= self.limit


def close(quantity: str, unit: str, measured: float, expected: float, limit: float) -> Check:
    """A number that must lie within the relative `limit` of what theory says."""
    error = abs(measured / expected - 1.0)
    return Check(quantity, unit, float(measured), float(expected), float(error), limit, "within")


def at_most(quantity: str, unit: str, measured: float, limit: float) -> Check:
    """A number that must not exceed a limit."""
    return Check(quantity, unit, float(measured), limit, float(measured), limit, "at most")


def at_least(quantity: str, unit: str, measured: float, limit: float) -> Check:
    """A number that must reach a limit."""
    return Check(quantity, unit, float(measured), limit, float(measured), limit, "at least")


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (x, y) in the units of a panel's axes, two arrays of equal length.

    `name` tells curves of one panel apart; what is measured and its theory bear the same one.
    """

    x: np.ndarray
    y: np.ndarray
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("x", "y"):
            object.__setattr__(self, field, np.atleast_1d(np.asarray(getattr(self, field), float)))
        if self.x.shape != self.y.shape or self.x.ndim != 1:
            raise ValueError(f"a curve of {self.x.shape} places and {self.y.shape} values")


@dataclass(frozen=True, eq=False)
class Band:
    """Where a limit allows what is measured to lie, between `low` and `high` over x."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray


def around(theory: Curve, limit: float) -> Band:
    """The band within the relative `limit` of a theory."""
    reach = limit * np.abs(theory.y)
    return Band(theory.x, theory.y - reach, theory.y + reach)


def between(low: float, high: float, x: tuple[float, float]) -> Band:
    """The band of one limit from x[0] to x[1]; an infinite bound is none."""
    return Band(np.array(x), np.full(2, low), np.full(2, high))


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a gate's figure: what was measured beside theory and limits.

    x, y: what the axes show. x_unit, y_unit: their units, "1" for a ratio. logarithmic: the axes
    ("", "x", "y", "xy") with a logarithmic scale. source: the legend's word for the theory.
    """

    x: str
    x_unit: str
    y: str
    y_unit: str
    measured: tuple[Curve, ...]
    theory: tuple[Curve, ...] = ()
    limits: tuple[Band, ...] = ()
    logarithmic: str = ""
    source: str = "theory"


@dataclass(frozen=True)
class Measurement:
    """What a gate found: its checks, and the curves they were taken from.

    Both variants of a gate return the same panels in the same order, so that a figure can show the
    wrong one beside the true one.
    """

    checks: list[Check]
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Gate:
    """One gate. `measure(world, wrong, quick)` runs its scenes and returns what it found.

    `wrong` asks for the variant that must fail, `quick` for fewer or shorter runs. `cheap` gates
    take seconds and are part of the tests of every commit.
    """

    name: str
    title: str
    theory: str
    wrong: str
    measure: Callable[[World, bool, bool], Measurement]
    cheap: bool = False


class World:
    """Opens worlds for gates, one after another, on one solver."""

    def __init__(self, arch: str = "auto"):
        self.arch = arch
        with self.open(_ROOM) as simulation:
            self.arch, self.device = simulation.arch, simulation.device

    @contextmanager
    def open(self, text: str) -> Iterator[Simulation]:
        """The initial state of a scene given as TOML; it is closed at the end of the block."""
        simulation = Simulation.from_scene(scenes.loads(text), arch=self.arch)
        try:
            yield simulation
        finally:
            simulation.close()


_ROOM = f"""
name = "Room for every gate"
[domain]
size = [{MOST_CELLS}, {MOST_CELLS}]
cell = 1
[solver]
capacity = {CAPACITY}
[[shapes]]
role = "fill"
kind = "box"
center = [20, 20]
half_size = [2, 2]
material = "jelly"
group = 1
"""


def lame(youngs_modulus: float, poissons_ratio: float) -> tuple[float, float]:
    """Shear modulus and Lame's first parameter [Pa]."""
    shear = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    return shear, 2.0 * shear * poissons_ratio / (1.0 - 2.0 * poissons_ratio)


def tilted(gravity: float, degrees: float) -> str:
    """TOML of gravity as it is on a plane that falls to the right by an angle."""
    angle = math.radians(degrees)
    return f"[{gravity * math.sin(angle):.9g}, {-gravity * math.cos(angle):.9g}]"


def scene_of(
    name: str,
    cells: tuple[int, int],
    body: str,
    *,
    cell: float = 0.01,
    edges: str = "open",
    sides: str = "",
    gravity: str = "[0, -9.81]",
    damping: float = 0.0,
    tick_rate: int = 60,
    substeps: int = 4,
    rounds: int = 5,
    method: str = "compliant",
    solver: str = "",
) -> str:
    """TOML of a scene with a fixed number of substeps; `body` has its materials and shapes.

    edges: what all four sides do. sides: keys of `edges` that differ, ending with a comma.
    """
    named = {part.split("=")[0].strip(): part for part in sides.split(",") if part.strip()}
    rest = {side: f'{side} = "{edges}"' for side in ("left", "right", "bottom", "top")}
    return f"""
name = "{name}"
[domain]
size = [{cells[0] * cell:.9g}, {cells[1] * cell:.9g}]
cell = {cell}
edges = {{ {", ".join({**rest, **named}.values())} }}
[environment]
gravity = {gravity}
damping = {damping}
[solver]
method = "{method}"
capacity = {CAPACITY}
tick_rate = {tick_rate}
min_substeps = {substeps}
max_substeps = {substeps}
rounds = {rounds}
{solver}
{body}
"""


def box(
    role: str, low: tuple[float, float], high: tuple[float, float], keys: str, cell: float = 0.01
) -> str:
    """TOML of a box between two corners [cells]; `keys` are further lines of its table."""
    (x0, y0), (x1, y1) = low, high
    return f"""
[[shapes]]
role = "{role}"
kind = "box"
center = [{0.5 * (x0 + x1) * cell:.9g}, {0.5 * (y0 + y1) * cell:.9g}]
half_size = [{0.5 * (x1 - x0) * cell:.9g}, {0.5 * (y1 - y0) * cell:.9g}]
{keys}
"""


def elastic(
    name: str, young: float, poisson: float, density: float = 1000.0, model: str = "elastic"
) -> str:
    """TOML of an elastic record."""
    return f"""
[materials.{name}]
model = "{model}"
density = {density}
youngs_modulus = {young}
poissons_ratio = {poisson}
"""
