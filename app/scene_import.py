"""Scenes of EA's pbmpm demo (JSON versions 1 and 2) turned into scenes of ours.

What such a file says, and what becomes of it:
- Lengths are pixels, y down. A grid cell is `simResDivisor` pixels; here it becomes 1.25 to 2 cm,
  so that the domain is about 2 m high. The outer four cells of its grid hold no matter; they are
  left out, and the sides of the domain stand where its walls stood.
- Gravity is in domain heights per s^2, so a fall across the domain takes as long here as there.
- Its matter has no moduli: how stiff it looks is made by rounds and step. Elastic and plastic
  matter gets the modulus whose waves are as fast as those that a bar of it showed, 0.615 sqrt(n)
  cells a substep with n rounds.
- Viscosity is the share of the rate of shear that a round takes away. A substep of n rounds leaves
  (1 - share)^n of it, where a liquid of viscosity eta leaves 1 / (1 + 8 eta dt / (rho dx^2)).
- Plastic matter clamps its principal stretches to exp(1 - plasticity). That Hencky strain is
  reached at a von Mises stress of 2 sqrt(3) mu (1 - plasticity).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import tomlkit

from app.errors import SceneError, SceneImportError
from app.geometry import signed_distance
from app.material import MATERIAL_FIELDS, library
from app.scene import MAX_TEXT, loads
from app.scene_keys import number_of, show
from app.shape import Shape

BORDER = 4  # cells on each side of its grid that matter never enters
MAX_CELLS = 1 << 22
MAX_SHAPES = 256
MAX_SETTINGS = 256
MAX_PARTICLES = 1_000_000  # the demo's own capacity
ROOM = 50_000  # particles that can be painted on top of what the fills need
BAR_SPEED = 0.615  # cells a substep and root of a round
TICK_RATE = 60

MATERIALS = (
    ("liquid", "water"),
    ("elastic", "jelly"),
    ("sand", "sand"),
    ("visco", "plasticine"),
)
"""emitMaterial -> (name in the scene, material of the library it is based on)."""

_MAIN = {
    "simRate": 240.0,
    "iterationCount": 5.0,
    "simResDivisor": 8.0,
    "particlesPerCellAxis": 2.0,
    "gravityStrength": 2.5,
    "liquidViscosity": 0.01,
    "liquidRelaxation": 1.5,
    "elasticRelaxation": 1.5,
    "elasticityRatio": 1.0,
    "frictionAngle": 30.0,
    "plasticity": 0.9,
    "borderFriction": 0.5,
}
_SIGGRAPH = {
    **_MAIN,
    "simRate": 480.0,
    "iterationCount": 2.0,
    "liquidRelaxation": 2.0,
    "plasticity": 0.0,
    "borderFriction": 1.0,
}
_RANGES = {
    "simRate": (15.0, 2400.0),
    "iterationCount": (1.0, 100.0),
    "simResDivisor": (1.0, 64.0),
    "particlesPerCellAxis": (1.0, 8.0),
    "gravityStrength": (0.0, 100.0),
    "liquidViscosity": (0.0, 1.0),
    "liquidRelaxation": (0.0, 10.0),
    "elasticRelaxation": (0.0, 10.0),
    "elasticityRatio": (0.0, 1.0),
    "frictionAngle": (0.0, 45.0),
    "plasticity": (0.0, 1.0),
    "borderFriction": (0.0, 1.0),
}
_WHOLE = ("iterationCount", "particlesPerCellAxis")
_NO_COUNTERPART = {
    "fixedPointMultiplierExponent": "the fixed-point scale follows from the scene here",
    "useGridVolumeForLiquid": "the volume of liquids is always drawn toward the grid's",
    "mouseFunction": "tools are chosen in the window",
    "mouseRadius": "the radius of tools is set in the window",
    "renderMode": "views are chosen in the window",
}


def import_scene(json_text: str, name: str) -> tuple[str, list[str]]:
    """Turn a scene of EA's pbmpm demo into one of ours.

    json_text: the file's text; name: title of the scene, also used in messages. Returns the scene
    as TOML text, which loads, and a note for each thing that has no counterpart. Raises
    SceneImportError with one sentence for a text that is no such scene.
    """
    return _Import(json_text, name).scene()


class _Import:
    """One foreign file on its way to a scene."""

    def __init__(self, text: str, name: str):
        self.name = " ".join("".join(c if c.isprintable() else " " for c in name).split())[:120]
        self.name = self.name or "Imported scene"
        self.notes: list[str] = []
        self.data = self.parsed(text)
        self.version = self.integer(self.data.get("version"), "version", 1, 2)
        self.values = self.settings()
        self.measure()

    def scene(self) -> tuple[str, list[str]]:
        shapes = [
            shape
            for index, given in enumerate(self.listed("shapes", MAX_SHAPES))
            if (shape := self.shape(index, given)) is not None
        ]
        if self.version == 1:
            self.note("version 1 holds no settings: the defaults of its time are used")
        text = self.toml(shapes)
        try:
            scene = loads(text, self.name)
        except SceneError as error:  # nothing that the checks above foresee
            raise self.error(f"it makes no valid scene: {error.faults[0]}") from None
        self.notes.extend(scene.warnings)
        return text, self.notes

    # What the file says

    def parsed(self, text: str) -> dict[str, Any]:
        if len(text) > MAX_TEXT:
            raise self.error(f"found more than {MAX_TEXT} bytes, expected a scene of at most that")

        def no_number(word: str) -> Any:
            raise self.error(f"found {word}, expected a finite number")

        try:
            data = json.loads(text.removeprefix("\ufeff"), parse_constant=no_number)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise self.error(f"expected JSON, found at {place}: {error.msg}") from None
        except RecursionError:
            raise self.error("expected a scene, found JSON nested without end") from None
        except ValueError as error:  # a number of too many digits
            raise self.error(f"expected JSON: {error}") from None
        if not isinstance(data, dict) or "shapes" not in data or "version" not in data:
            raise self.error(
                "expected a scene of EA's pbmpm demo, an object with version, resolution and shapes"
            )
        return data

    def settings(self) -> dict[str, float]:
        values = dict(_SIGGRAPH if self.version == 1 else _MAIN)
        if "settings" not in self.data:
            return values
        for index, setting in enumerate(self.listed("settings", MAX_SETTINGS)):
            key = f"settings[{index}]"
            if not isinstance(setting, dict) or not isinstance(setting.get("name"), str):
                raise self.error(f"{key}: found {show(setting)}, expected an object with a name")
            name, value = setting["name"], setting.get("value")
            if name in _RANGES:
                values[name] = self.number(value, f"{key} ({name})", *_RANGES[name])
                if name in _WHOLE and values[name] != int(values[name]):
                    raise self.error(
                        f"{key} ({name}): found {show(value)}, expected a whole number"
                    )
            elif name in _NO_COUNTERPART:
                self.note(f"{name} = {_bare(value)} is left out: {_NO_COUNTERPART[name]}")
            else:
                self.note(f"{show(name)} = {_bare(value)} is left out: an unknown setting")
        return values

    def measure(self) -> None:
        """The grid of the file, and the metres of ours."""
        resolution = self.data.get("resolution")
        if not isinstance(resolution, list) or len(resolution) != 2:
            raise self.error(f"resolution: found {show(resolution)}, expected width and height")
        self.pixels = self.values["simResDivisor"]
        canvas = [self.number(v, f"resolution[{i}]", 1.0, 1e5) for i, v in enumerate(resolution)]
        grid = [int(side // self.pixels) for side in canvas]
        self.grid_height = grid[1]
        self.cells = [side - 2 * BORDER for side in grid]
        if min(self.cells) < 8 or grid[0] * grid[1] > MAX_CELLS:
            raise self.error(
                f"resolution: found a grid of {grid[0]} x {grid[1]} cells, expected at least "
                f"{8 + 2 * BORDER} cells a side and at most {MAX_CELLS} in all"
            )
        # About 2 m high, and a cell that reads well.
        self.cell = min(max(round(2.0 / grid[1] / 0.0025) * 0.0025, 0.0125), 0.02)
        self.cell = round(self.cell, 4)
        self.size = [round(count * self.cell, 10) for count in self.cells]

    def shape(self, index: int, given: Any) -> dict[str, Any] | None:
        """One shape as a table of ours, None for one without area."""
        key = f"shapes[{index}]"
        if not isinstance(given, dict):
            raise self.error(f"{key}: found {show(given)}, expected an object")
        role = self.integer(given.get("function"), f"{key}.function", 0, 3)
        form = self.integer(given.get("shape"), f"{key}.shape", 0, 1)
        table: dict[str, Any] = {"role": ("emitter", "collider", "drain", "fill")[role]}
        label = given.get("id")
        if isinstance(label, str) and label.strip() and len(label) <= 64 and label.isprintable():
            table["name"] = label
        x, y = self.vector(given.get("position"), f"{key}.position", -1e5, 1e5)
        center = [x / self.pixels - BORDER, self.grid_height - y / self.pixels - BORDER]
        table["kind"] = "circle" if form == 1 else "box"
        table["center"] = [self.metres(part) for part in center]
        if form == 1:
            radius = self.number(given.get("radius"), f"{key}.radius", 0.0, 1e5)
            table["radius"] = self.metres(radius / self.pixels)
            sides = [table["radius"]]
        else:
            half = self.vector(given.get("halfSize"), f"{key}.halfSize", 0.0, 1e5)
            table["half_size"] = sides = [self.metres(side / self.pixels) for side in half]
            turn = self.number(given.get("rotation", 0), f"{key}.rotation", -1e6, 1e6)
            if turn:
                table["angle"] = round(-turn, 6)
        if min(sides) < 1e-6:
            self.note(f"{key} is left out: it has no area")
            return None
        if table["role"] in ("fill", "emitter"):
            material = self.integer(given.get("emitMaterial"), f"{key}.emitMaterial", 0, 3)
            table["material"] = MATERIALS[material][0]
        if table["role"] == "emitter":
            rate = self.number(given.get("emissionRate"), f"{key}.emissionRate", 0.0, 1e4)
            table["rate"] = self.area_rate(table, rate)
        return table

    def area_rate(self, table: dict[str, Any], rate: float) -> float:
        """Area of matter per second [m^2/s] of an emitter each of whose sites fires `rate` times.

        A site fires every whole number of substeps, and only inside the domain.
        """
        if rate <= 0.0:
            return 0.0
        every = max(math.floor(self.values["simRate"] / rate), 1)
        shape = Shape(**{**table, "rate": 0.0})
        x, y = np.meshgrid(*((np.arange(n) + 0.5) * self.cell for n in self.cells))
        inside = signed_distance(shape, np.stack([x.ravel(), y.ravel()], axis=1)) <= 0.0
        area = float(inside.sum()) * self.cell**2
        return float(f"{area * self.values['simRate'] / every:.6g}")

    # What becomes of it

    def toml(self, shapes: list[dict[str, Any]]) -> str:
        used = {shape["material"] for shape in shapes if "material" in shape}
        document = tomlkit.document()
        document["format"] = 1
        document["name"] = self.name
        document["description"] = (
            f"Imported from a scene of EA's pbmpm demo, JSON version {self.version}."
        )
        document["domain"] = {"size": self.size, "cell": self.cell}
        edges = tomlkit.inline_table()
        edges.update(dict.fromkeys(("left", "right", "bottom", "top"), self.edge()))
        document["domain"]["edges"] = edges
        full = (self.grid_height * self.cell) * self.values["gravityStrength"]
        document["environment"] = {"gravity": [0.0, -float(f"{full:.6g}")]}
        document["solver"] = self.solver(shapes)
        records = {name: self.record(name, base) for name, base in MATERIALS if name in used}
        if records:
            document["materials"] = records
        if shapes:
            tables = tomlkit.aot()
            for shape in shapes:
                tables.append(tomlkit.item(shape))
            document["shapes"] = tables
        if "sand" in used and self.values["liquidViscosity"] > 0.0:
            self.note("liquidViscosity is left out for sand: our sand has no viscosity")
        return tomlkit.dumps(document)

    def edge(self) -> str | float:
        friction = self.values["borderFriction"]
        if friction in (0.0, 1.0):
            return "stick" if friction else "slip"
        self.note(
            f"borderFriction = {friction:g}, the share of the speed along a wall lost in a round, "
            "is taken as a friction coefficient"
        )
        return friction

    def substeps(self) -> tuple[int, int]:
        """(ticks a second, substeps a tick) nearest to its rate, never below."""
        rate = self.values["simRate"]
        ticks = TICK_RATE if rate >= TICK_RATE else max(round(rate), 10)
        count = max(math.ceil(rate / ticks - 1e-9), 1)
        if count * ticks != rate:
            self.note(f"simRate = {rate:g} becomes {count * ticks} substeps a second")
        return ticks, count

    def rounds(self) -> int:
        # The current demo ends its last iteration before solving; that of 2024-08 did not.
        count = int(self.values["iterationCount"])
        return max(count if self.version == 1 else count - 1, 1)

    def axis(self) -> int:
        axis = int(self.values["particlesPerCellAxis"])
        if axis > 5:
            self.note(f"particlesPerCellAxis = {axis} becomes 5, 25 particles a cell")
        return min(axis, 5)

    def solver(self, shapes: list[dict[str, Any]]) -> dict[str, Any]:
        ticks, substeps = self.substeps()
        axis = self.axis()
        per_cell = axis * axis
        full = self.cells[0] * self.cells[1] * per_cell
        if any(shape["role"] == "emitter" for shape in shapes):
            needed = min(full + full // 8, MAX_PARTICLES)
        else:
            needed = min(self.filled(shapes) * per_cell + ROOM, full + full // 8)
        return {
            "method": "classic",
            "tick_rate": ticks,
            "min_substeps": substeps,
            # A splash is faster than a fall; the demo let matter cross any number of cells.
            "max_substeps": max(substeps, min(2 * self.substeps_to_fall(ticks), 256)),
            "rounds": self.rounds(),
            "capacity": math.ceil(needed / 1000) * 1000,
            "particles_per_cell": per_cell,
            "classic": {
                "relaxation": self.values["elasticRelaxation"],
                "liquid_relaxation": self.values["liquidRelaxation"],
                "elasticity_ratio": self.values["elasticityRatio"],
            },
        }

    def substeps_to_fall(self, ticks: int) -> int:
        """Substeps at which a fall through the domain stays under a cell a substep."""
        fall = math.sqrt(2.0 * self.values["gravityStrength"] * self.grid_height * self.cells[1])
        return min(math.ceil(fall / ticks), 256)

    def filled(self, shapes: list[dict[str, Any]]) -> int:
        """Cells that the fills cover, at most."""
        total = 0.0
        for shape in shapes:
            if shape["role"] == "fill":
                half = shape.get("half_size") or [shape["radius"]] * 2
                sides = [min(2.0 * h, math.hypot(*self.size)) / self.cell + 2.0 for h in half]
                total += math.prod(sides)
        return math.ceil(min(total, MAX_CELLS))

    def record(self, name: str, base: str) -> dict[str, Any]:
        """The material of a kind: that of the library, with what the settings say of it."""
        values = self.values
        record: dict[str, Any] = {"base": base, "density": 1000.0}
        ticks, substeps = self.substeps()
        rate = ticks * substeps
        if name == "liquid":
            kept = max((1.0 - values["liquidViscosity"]) ** self.rounds(), 1e-12)
            eta = 1000.0 * self.cell**2 * rate / 8.0 * (1.0 / kept - 1.0)
            record["viscosity"] = _rounded(min(eta, MATERIAL_FIELDS["liquid"]["viscosity"].maximum))
        elif name == "sand":
            record["friction_angle"] = values["frictionAngle"]
        else:
            ratio = library()[base]["poissons_ratio"]
            speed = BAR_SPEED * math.sqrt(self.rounds()) * self.cell * rate
            young = 1000.0 * speed**2 * (1.0 + ratio) * (1.0 - 2.0 * ratio) / (1.0 - ratio)
            record["youngs_modulus"] = _rounded(young)
            if name == "visco":
                shear = young / (2.0 * (1.0 + ratio))
                strain = 1.0 - values["plasticity"]
                record["yield_stress"] = _rounded(2.0 * math.sqrt(3.0) * shear * strain)
                record["viscosity"] = 0.0
        return record

    # Reading values

    def error(self, message: str) -> SceneImportError:
        return SceneImportError(f"{self.name}: {message}")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def listed(self, key: str, most: int) -> list[Any]:
        value = self.data[key]
        if not isinstance(value, list) or len(value) > most:
            raise self.error(f"{key}: found {show(value)}, expected a list of at most {most}")
        return value

    def number(self, value: Any, key: str, low: float, high: float) -> float:
        """A number, or the text of one: the demo writes what its controls hold."""
        number = number_of(value)
        if isinstance(value, str) and len(value) <= 64 and _NUMBER.fullmatch(value.strip()):
            number = number_of(float(value))
        if number is None or not low <= number <= high:
            raise self.error(
                f"{key}: found {_bare(value)}, expected a number from {low:g} to {high:g}"
            )
        return number

    def integer(self, value: Any, key: str, low: int, high: int) -> int:
        number = self.number(value, key, low, high)
        if number != int(number):
            raise self.error(f"{key}: found {_bare(value)}, expected one of {low} to {high}")
        return int(number)

    def vector(self, value: Any, key: str, low: float, high: float) -> tuple[float, float]:
        if not isinstance(value, dict):
            raise self.error(f"{key}: found {show(value)}, expected an object with x and y")
        return (
            self.number(value.get("x"), f"{key}.x", low, high),
            self.number(value.get("y"), f"{key}.y", low, high),
        )

    def metres(self, cells: float) -> float:
        return round(cells * self.cell, 9)


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _bare(value: Any) -> str:
    return "nothing" if value is None else show(value)
