"""Scenes: TOML in SI units <-> a validated, frozen `Scene`.

World coordinates are metres, y up, the origin in the lower left corner of the domain. A scene knows
nothing of grid units, and gravity and damping belong to its environment, never to a material.

`loads` reports every fault of a text at once, with line, key, what was found and what was expected.
Nothing is clamped silently: a value is taken as it stands, or it is a fault.
"""

from __future__ import annotations

import copy
import difflib
import functools
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from app.errors import Fault, MatterboxError, SceneError
from app.toml_lines import key_lines

FORMAT = 1
METHODS = ("classic",)

MAX_TEXT = 1 << 20  # bytes of a scene file
MAX_NODES = 1 << 26  # grid nodes
MAX_SIDE = 1 << 15  # cells along one side
MIN_SIDE = 8
MAX_CAPACITY = 50_000_000
MAX_SITES = 4 * MAX_CAPACITY  # of the particle lattice, in the bounding boxes of all fills
MAX_SHAPES = 256
MAX_MATERIALS = 64
MAX_KEYFRAMES = 1024
MAX_FAULTS = 100  # how many are listed; the rest is counted
MAX_LENGTH = 1e6  # metres: beyond it positions of float32 lose the centimetre

MODELS = ("liquid", "elastic", "sand", "visco")
ROLES = ("fill", "emitter", "drain", "collider")
KINDS = ("box", "circle", "capsule", "polygon", "half_plane")

Model = Literal["liquid", "elastic", "sand", "visco"]
Role = Literal["fill", "emitter", "drain", "collider"]
Kind = Literal["box", "circle", "capsule", "polygon", "half_plane"]


# ---------------------------------------------------------------------------------------------
# Fields of the material records


@dataclass(frozen=True)
class FieldSpec:
    """One number of a material record: its unit, its range (both ends included), its default."""

    unit: str
    minimum: float
    maximum: float
    default: float
    label: str
    help: str


def _density(default: float) -> FieldSpec:
    return FieldSpec(
        "kg/m^3", 1.0, 3.0e4, default, "density", "Mass of the unstrained matter per volume."
    )


def _young(default: float) -> FieldSpec:
    return FieldSpec(
        "Pa", 1.0, 1.0e12, default, "Young's modulus", "Stress needed per relative stretch."
    )


def _poisson(default: float) -> FieldSpec:
    return FieldSpec(
        "1",
        0.0,
        0.495,
        default,
        "Poisson's ratio",
        "How much it narrows when stretched; near 0.5 it keeps its volume.",
    )


MATERIAL_FIELDS: dict[str, dict[str, FieldSpec]] = {
    "liquid": {
        "density": _density(1000.0),
        "bulk_modulus": FieldSpec(
            "Pa", 1.0, 1.0e12, 2.0e5, "bulk modulus", "Pressure per relative loss of volume."
        ),
        "viscosity": FieldSpec(
            "Pa s", 0.0, 1.0e6, 0.001, "viscosity", "Shear stress per rate of shear."
        ),
    },
    "elastic": {
        "density": _density(1000.0),
        "youngs_modulus": _young(2.5e4),
        "poissons_ratio": _poisson(0.3),
    },
    "sand": {
        "density": _density(1600.0),
        "youngs_modulus": _young(1.0e6),
        "poissons_ratio": _poisson(0.3),
        "friction_angle": FieldSpec(
            "degrees", 0.0, 60.0, 35.0, "friction angle", "About the steepest slope of a heap."
        ),
        "cohesion": FieldSpec(
            "Pa", 0.0, 1.0e9, 0.0, "cohesion", "Shear stress that it bears without pressure."
        ),
    },
    "visco": {
        "density": _density(1500.0),
        "youngs_modulus": _young(1.0e5),
        "poissons_ratio": _poisson(0.35),
        "yield_stress": FieldSpec(
            "Pa", 0.0, 1.0e12, 1.0e3, "yield stress", "Shear stress above which it flows."
        ),
        "viscosity": FieldSpec(
            "Pa s", 0.0, 1.0e6, 10.0, "viscosity", "Stress over the yield stress per rate of shear."
        ),
    },
}
"""model -> field -> spec. Validation, the material panel, documents and the schema read this."""

_MATERIAL_NUMBERS = tuple(
    dict.fromkeys(name for specs in MATERIAL_FIELDS.values() for name in specs)
)

_MODEL_COLORS = {"liquid": "#2f8fe0", "elastic": "#17a37b", "sand": "#ecd9a0", "visco": "#7b5fd0"}


# ---------------------------------------------------------------------------------------------
# Building blocks of the models


def _wrong(expected: str, found: str | None = None) -> PydanticCustomError:
    """A validation error that carries its own words for a fault."""
    context = {"expected": expected}
    if found is not None:
        context["found"] = found
    return PydanticCustomError("scene", "expected {expected}", context)


def _number(value: Any) -> float | None:
    """`value` as a finite float, None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _plain(number: float) -> str:
    return f"{number:g}"


def _range_text(minimum: float, maximum: float, unit: str) -> str:
    text = f"a number from {_plain(minimum)} to {_plain(maximum)}"
    return text if unit in ("", "1") else f"{text} {unit}"


def _real(minimum: float, maximum: float, unit: str) -> Any:
    """A finite number within a range; whole numbers are taken too, text and booleans are not."""
    text = _range_text(minimum, maximum, unit)

    def check(value: Any) -> float:
        number = _number(value)
        if number is None or not minimum <= number <= maximum:
            raise _wrong(text)
        return number

    return Annotated[
        float,
        BeforeValidator(check),
        WithJsonSchema({"type": "number", "minimum": minimum, "maximum": maximum}),
    ]


def _whole(minimum: int, maximum: int, unit: str = "") -> Any:
    text = f"a whole number from {minimum} to {maximum}" + (f" {unit}" if unit else "")

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise _wrong(text)
        return value

    return Annotated[
        int,
        BeforeValidator(check),
        WithJsonSchema({"type": "integer", "minimum": minimum, "maximum": maximum}),
    ]


def _pair(minimum: float, maximum: float, unit: str) -> Any:
    """Two finite numbers within a range."""
    text = f"two numbers from {_plain(minimum)} to {_plain(maximum)}" + (f" {unit}" if unit else "")

    def check(value: Any) -> tuple[float, float]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise _wrong(text)
        numbers = tuple(_number(part) for part in value)
        if any(part is None or not minimum <= part <= maximum for part in numbers):
            raise _wrong(text)
        return numbers

    return Annotated[
        tuple[float, float],
        BeforeValidator(check),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "number", "minimum": minimum, "maximum": maximum},
                "minItems": 2,
                "maxItems": 2,
            }
        ),
    ]


def _unit_vector(value: Any) -> tuple[float, float]:
    """Two numbers, not both zero, scaled to length 1 (left alone where that is their length)."""
    parts = value if isinstance(value, list | tuple) else ()
    numbers = tuple(_number(part) for part in parts)
    if len(numbers) != 2 or None in numbers:
        raise _wrong("two numbers, a direction")
    length = math.hypot(*numbers)
    if not 1e-12 <= length <= 1e12:
        raise _wrong("two numbers, a direction that is not zero")
    if abs(length - 1.0) <= 1e-15:
        return numbers
    return (numbers[0] / length, numbers[1] / length)


def _text(longest: int, *, empty: bool) -> Any:
    wanted = f"text of {0 if empty else 1} to {longest} characters"

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest or not (empty or value.strip()):
            raise _wrong(wanted)
        if any(not (char.isprintable() or char in "\n\t") for char in value):
            raise _wrong("text without control characters")
        return value

    return Annotated[
        str,
        BeforeValidator(check),
        WithJsonSchema({"type": "string", "minLength": int(not empty), "maxLength": longest}),
    ]


def _word(words: tuple[str, ...], text: str) -> Any:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise _wrong(text + _suggestion(value, words))
        return value

    return BeforeValidator(check)


def _choice(words: tuple[str, ...]) -> Any:
    return _word(words, _one_of(words))


def _one_of(words: Iterable[str]) -> str:
    words = [f'"{word}"' for word in words]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _suggestion(value: Any, words: Iterable[str]) -> str:
    close = nearest(value, words)
    return f'; did you mean "{close}"?' if close else ""


def nearest(value: Any, words: Iterable[str]) -> str | None:
    """The word that `value` was probably meant to be; None if nothing is near."""
    if not isinstance(value, str):
        return None
    table = {word.lower(): word for word in words}
    found = difflib.get_close_matches(value[:100].lower(), table, n=1, cutoff=0.6)
    return table[found[0]] if found else None


def _surface(words: tuple[str, ...]) -> Any:
    """Words, or a Coulomb friction coefficient."""
    text = f"{', '.join(_quoted(words))} or a friction coefficient from 0 to 100"

    def check(value: Any) -> str | float:
        if isinstance(value, str):
            if value not in words:
                raise _wrong(text + _suggestion(value, words))
            return value
        number = _number(value)
        if number is None or not 0.0 <= number <= 100.0:
            raise _wrong(text)
        return number

    return Annotated[
        str | float,
        BeforeValidator(check),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "enum": list(words)},
                    {"type": "number", "minimum": 0, "maximum": 100},
                ]
            }
        ),
    ]


def _quoted(words: Iterable[str]) -> list[str]:
    return [f'"{word}"' for word in words]


def _key(default: Any = ..., *, unit: str = "", help: str = "", always: bool = False) -> Any:
    """A key of the file: its default, its unit and its meaning (for the schema and documents).

    `always`: its validators see the default too, since that depends on other keys.
    """
    return Field(
        default,
        description=f"{help} [{unit}]" if unit else help,
        json_schema_extra={"unit": unit},
        validate_default=always,
    )


Position = _pair(-MAX_LENGTH, MAX_LENGTH, "m")
Velocity = _pair(-1e4, 1e4, "m/s")
Edge = _surface(("stick", "slip", "open"))
Friction = _surface(("stick", "slip"))
Angle = _real(-1e6, 1e6, "degrees")
UnitVector = Annotated[
    tuple[float, float],
    BeforeValidator(_unit_vector),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


# ---------------------------------------------------------------------------------------------
# The models


class Edges(_Part):
    """What the four sides of the domain do to matter."""

    left: Edge = _key("slip", help="Left side: stick, slip, open, or a friction coefficient.")
    right: Edge = _key("slip", help="Right side.")
    bottom: Edge = _key("slip", help="Lower side.")
    top: Edge = _key("slip", help="Upper side; open lets matter leave for good.")


class Domain(_Part):
    """The rectangle in which matter lives, and the grid over it."""

    cell: _real(1e-5, 1e3, "m") = _key(unit="m", help="Side of a grid cell.")
    size: _pair(1e-4, MAX_LENGTH, "m") = _key(
        unit="m", help="Width and height, each a whole number of cells."
    )
    edges: Edges = _key(Edges(), help="What the four sides do to matter.")

    @field_validator("size")
    @classmethod
    def _whole_cells(cls, size: tuple[float, float], info: ValidationInfo) -> tuple[float, float]:
        cell = info.data.get("cell")
        if cell is None:
            return size
        counts = [side / cell for side in size]
        whole = [max(round(count), 1) for count in counts]
        if any(abs(c - n) > 1e-6 * n for c, n in zip(counts, whole, strict=True)):
            fitting = []
            for count, side in zip(counts, size, strict=True):
                below = max(math.floor(count + 1e-9), MIN_SIDE)
                sizes = sorted({below, max(math.ceil(count - 1e-9), MIN_SIDE)})
                fitting.append(
                    " or ".join(f"{n * cell:.10g}" for n in sizes)
                    if abs(count - round(count)) > 1e-6 * max(round(count), 1)
                    else f"{side:.10g}"
                )
            raise _wrong(
                f"a whole number of cells of {cell:g} m; the nearest that fit are "
                f"{fitting[0]} m wide and {fitting[1]} m high"
            )
        if any(not MIN_SIDE <= n <= MAX_SIDE for n in whole) or whole[0] * whole[1] > MAX_NODES:
            raise _wrong(
                f"{MIN_SIDE} to {MAX_SIDE} cells a side and at most {MAX_NODES} cells",
                f"{whole[0]} x {whole[1]} cells",
            )
        return size

    @property
    def cells(self) -> tuple[int, int]:
        """Number of cells (nx, ny)."""
        return (round(self.size[0] / self.cell), round(self.size[1] / self.cell))


class Environment(_Part):
    """What acts on all matter alike."""

    gravity: _pair(-1e4, 1e4, "m/s^2") = _key(
        (0.0, -9.81), unit="m/s^2", help="Acceleration of all matter."
    )
    damping: _real(0.0, 1e4, "1/s") = _key(
        0.0, unit="1/s", help="Rate at which velocities die away: they shrink by exp(-damping t)."
    )


class Classic(_Part):
    """Settings of the classic method (the relaxation of PB-MPM)."""

    relaxation: _real(0.0, 10.0, "") = _key(
        1.5, help="Share of the way to its target shape that solid matter goes in a round."
    )
    liquid_relaxation: _real(0.0, 10.0, "") = _key(1.5, help="The same for the volume of liquids.")
    elasticity_ratio: _real(0.0, 1.0, "") = _key(
        1.0, help="1 keeps the shape, 0 only the volume, in between a blend of both."
    )


class Solver(_Part):
    """How the scene is computed."""

    method: Annotated[str, _choice(METHODS), WithJsonSchema({"enum": list(METHODS)})] = _key(
        "classic", help="Constraint policy."
    )
    tick_rate: _whole(10, 1000, "1/s") = _key(
        60, unit="1/s", help="Ticks in a second of the world."
    )
    min_substeps: _whole(1, 256) = _key(2, help="Fewest substeps of a tick.")
    max_substeps: _whole(1, 256) = _key(16, help="Most substeps of a tick; at least min_substeps.")
    rounds: _whole(1, 100) = _key(5, help="Scatter-solve-gather rounds of a substep.")
    capacity: _whole(1, MAX_CAPACITY, "particles") = _key(
        200_000, help="How many particles can live at once."
    )
    particles_per_cell: _whole(1, 25) = _key(
        4, help="Particles in a filled cell: 1, 4, 9, 16 or 25."
    )
    acoustic: Annotated[
        str, _choice(("show", "bind")), WithJsonSchema({"enum": ["show", "bind"]})
    ] = _key("show", help="Whether the acoustic limit is only shown, or also binds the substeps.")
    classic: Classic = _key(Classic(), help="Settings of the classic method.")

    @field_validator("max_substeps")
    @classmethod
    def _ordered(cls, value: int, info: ValidationInfo) -> int:
        least = info.data.get("min_substeps")
        if least is not None and value < least:
            raise _wrong(f"at least min_substeps, which is {least}")
        return value

    @field_validator("particles_per_cell")
    @classmethod
    def _square(cls, value: int) -> int:
        if math.isqrt(value) ** 2 != value:
            raise _wrong("a square number: 1, 4, 9, 16 or 25")
        return value

    @property
    def axis(self) -> int:
        """Particles along one side of a filled cell."""
        return math.isqrt(self.particles_per_cell)


class Camera(_Part):
    """Where the window looks at first; without it, at the whole domain."""

    center: Position = _key(unit="m", help="The world position in the middle of the view.")
    height: _real(1e-4, MAX_LENGTH, "m") = _key(unit="m", help="Height of the view.")


class Material(_Part):
    """One record of matter. Numbers that its model does not have are None."""

    name: _text(64, empty=False)
    base: Annotated[str | None, WithJsonSchema({"type": "string"})] = _key(
        None, help="Material of the shipped library whose record is taken over."
    )
    model: Annotated[Model, _choice(MODELS)] = _key(
        help="How the matter behaves; given by base where there is one."
    )
    color: str | None = _key(None, help="Colour, as #rrggbb.", always=True)
    density: float | None = _key(None, always=True)
    bulk_modulus: float | None = _key(None, always=True)
    viscosity: float | None = _key(None, always=True)
    youngs_modulus: float | None = _key(None, always=True)
    poissons_ratio: float | None = _key(None, always=True)
    friction_angle: float | None = _key(None, always=True)
    cohesion: float | None = _key(None, always=True)
    yield_stress: float | None = _key(None, always=True)

    @field_validator("color", mode="before")
    @classmethod
    def _colour(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return _MODEL_COLORS.get(info.data.get("model"))
        if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
            raise _wrong("a colour as #rrggbb")
        return value.lower()

    @field_validator(*_MATERIAL_NUMBERS, mode="before")
    @classmethod
    def _record_number(cls, value: Any, info: ValidationInfo) -> float | None:
        model, name = info.data.get("model"), info.field_name
        if model is None:  # a fault of its own
            return None
        spec = MATERIAL_FIELDS[model].get(name)
        if spec is None:
            if value is None:
                return None
            owners = [other for other, specs in MATERIAL_FIELDS.items() if name in specs]
            raise _wrong(
                f"no such key: {name} belongs to {' and '.join(owners)}, this is {model} and has "
                + ", ".join(MATERIAL_FIELDS[model])
            )
        if value is None:
            return spec.default
        number = _number(value)
        if number is None or not spec.minimum <= number <= spec.maximum:
            raise _wrong(_range_text(spec.minimum, spec.maximum, spec.unit))
        return number

    @property
    def stiffest_modulus(self) -> float:
        """Modulus of its fastest wave [Pa]: K of a liquid, lambda + 2 mu of a solid."""
        if self.model == "liquid":
            return self.bulk_modulus
        nu = self.poissons_ratio
        return self.youngs_modulus * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))

    @property
    def wave_speed(self) -> float:
        """Speed of its fastest wave [m/s]."""
        return math.sqrt(self.stiffest_modulus / self.density)


class Keyframe(_Part):
    """A pose at a time; what it leaves out is interpolated between the keyframes that have it."""

    time: _real(0.0, 1e6, "s") = _key(unit="s", help="Time of the pose, later than the last one.")
    center: Position | None = _key(None, unit="m", help="Center at that time.")
    angle: Angle | None = _key(None, unit="degrees", help="Angle at that time.")


class Motion(_Part):
    """How a collider moves: along keyframes, or turning about its center at a constant rate."""

    keyframes: tuple[Keyframe, ...] = _key((), help="Poses by time, joined by straight lines.")
    repeat: Annotated[str, _choice(("once", "loop", "pingpong"))] = _key(
        "once", help="What follows the last keyframe: rest, the first again, or the way back."
    )
    angular_velocity: _real(-1e4, 1e4, "rad/s") | None = _key(
        None, unit="rad/s", help="Constant rate of turning, counter-clockwise.", always=True
    )

    @functools.cached_property
    def center_track(self) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
        """Times [s] and centers [m] of the keyframes that give a center."""
        given = [frame for frame in self.keyframes if frame.center is not None]
        return tuple(frame.time for frame in given), tuple(frame.center for frame in given)

    @functools.cached_property
    def angle_track(self) -> tuple[tuple[float, ...], tuple[tuple[float], ...]]:
        """Times [s] and angles [degrees] of the keyframes that give an angle."""
        given = [frame for frame in self.keyframes if frame.angle is not None]
        return tuple(frame.time for frame in given), tuple((frame.angle,) for frame in given)

    @field_validator("keyframes", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) > MAX_KEYFRAMES:
            raise _wrong(f"an array of at most {MAX_KEYFRAMES} keyframes")
        return value

    @field_validator("keyframes")
    @classmethod
    def _in_order(cls, value: tuple[Keyframe, ...]) -> tuple[Keyframe, ...]:
        for before, after in itertools.pairwise(value):
            if after.time <= before.time:
                raise _wrong(
                    "times that increase from keyframe to keyframe",
                    f"{before.time:g} s and then {after.time:g} s",
                )
        return value

    @field_validator("repeat")
    @classmethod
    def _has_span(cls, value: str, info: ValidationInfo) -> str:
        if value != "once" and len(info.data.get("keyframes", (1, 2))) < 2:
            raise _wrong(f'two keyframes or more to "{value}" between')
        return value

    @field_validator("angular_velocity")
    @classmethod
    def _one_way(cls, value: float | None, info: ValidationInfo) -> float | None:
        if "keyframes" in info.data and (value is not None) == bool(info.data["keyframes"]):
            raise _wrong(
                "either keyframes or an angular_velocity",
                "both" if value is not None else "neither",
            )
        return value


KIND_KEYS = {
    "box": ("half_size",),
    "circle": ("radius",),
    "capsule": ("half_length", "radius"),
    "polygon": ("points",),
    "half_plane": ("normal",),
}
"""kind -> the keys that only some kinds have; all of them are needed."""

ROLE_KEYS: dict[str, dict[str, Any]] = {
    "fill": {"material": ..., "velocity": (0.0, 0.0), "angular_velocity": 0.0},
    "emitter": {
        "material": ...,
        "rate": ...,
        "speed": 0.0,
        "direction": (0.0, -1.0),
        "start": 0.0,
        "stop": math.inf,
    },
    "drain": {},
    "collider": {"friction": "slip", "motion": None},
}
"""role -> the keys that only some roles have -> default (... where the key is needed)."""

_KIND_ONLY = tuple(dict.fromkeys(key for keys in KIND_KEYS.values() for key in keys))
_ROLE_ONLY = tuple(dict.fromkeys(key for keys in ROLE_KEYS.values() for key in keys))


class Shape(_Part):
    """A region of the world and what it does. Keys of other roles and kinds are None."""

    index: int = 0
    name: _text(64, empty=False) | None = _key(None, help="A name to tell it by.")
    role: Annotated[Role, _choice(ROLES)] = _key(
        help="fill puts matter there at the start, emitter adds matter, drain takes it away, "
        "collider keeps it out."
    )
    kind: Annotated[Kind, _choice(KINDS)] = _key(help="The form of the region.")
    center: Position = _key(
        None,
        unit="m",
        help="Position of the form; only a polygon may leave it out, then it is [0, 0].",
        always=True,
    )
    angle: Angle = _key(0.0, unit="degrees", help="How far it is turned, counter-clockwise.")
    half_size: _pair(1e-6, MAX_LENGTH, "m") | None = _key(
        None, unit="m", help="box: half its width and half its height.", always=True
    )
    half_length: _real(0.0, MAX_LENGTH, "m") | None = _key(
        None,
        unit="m",
        help="capsule: half the length of its axis, which lies along x at angle 0.",
        always=True,
    )
    radius: _real(1e-6, MAX_LENGTH, "m") | None = _key(
        None, unit="m", help="circle and capsule: the radius.", always=True
    )
    points: tuple[Position, ...] | None = _key(
        None,
        unit="m",
        help="polygon: 3 to 16 corners of a convex outline, relative to center.",
        always=True,
    )
    normal: UnitVector | None = _key(
        None, help="half_plane: direction out of the solid; center is on its surface.", always=True
    )
    material: _text(64, empty=False) | None = _key(
        None, help="fill and emitter: a declared material, or one of the library.", always=True
    )
    velocity: Velocity | None = _key(
        None, unit="m/s", help="fill: velocity at the start.", always=True
    )
    angular_velocity: _real(-1e4, 1e4, "rad/s") | None = _key(
        None, unit="rad/s", help="fill: rate of turning about center at the start.", always=True
    )
    rate: _real(0.0, 1e4, "m^2/s") | None = _key(
        None, unit="m^2/s", help="emitter: area of new matter per second.", always=True
    )
    speed: _real(0.0, 1e4, "m/s") | None = _key(
        None, unit="m/s", help="emitter: speed of new matter.", always=True
    )
    direction: UnitVector | None = _key(None, help="emitter: direction of that speed.", always=True)
    start: _real(0.0, 1e9, "s") | None = _key(
        None, unit="s", help="emitter: when it begins.", always=True
    )
    stop: float | None = _key(None, unit="s", help="emitter: when it ends; inf never.", always=True)
    friction: Friction | None = _key(
        None, help="collider: stick, slip, or a friction coefficient.", always=True
    )
    motion: Motion | None = _key(None, help="collider: how it moves.", always=True)

    @field_validator("kind")
    @classmethod
    def _emits(cls, kind: str, info: ValidationInfo) -> str:
        if kind == "half_plane" and info.data.get("role") == "emitter":
            raise _wrong('"box", "circle", "capsule" or "polygon" for an emitter')
        return kind

    @field_validator("center", mode="before")
    @classmethod
    def _placed(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            if info.data.get("kind", "polygon") != "polygon":
                raise _wrong("two numbers, its position in m")
            return (0.0, 0.0)
        return value

    @field_validator(*_KIND_ONLY, mode="before")
    @classmethod
    def _of_kind(cls, value: Any, info: ValidationInfo) -> Any:
        kind, key = info.data.get("kind"), info.field_name
        if kind is None:  # a fault of its own
            return None
        if key in KIND_KEYS[kind]:
            if value is None:
                raise _wrong(_described(cls, key))
        elif value is not None:
            owners = [other for other, keys in KIND_KEYS.items() if key in keys]
            raise _wrong(
                f"no such key: {key} belongs to {' and '.join(owners)}, this is a {kind} and has "
                + " and ".join(KIND_KEYS[kind])
            )
        return value

    @field_validator(*_ROLE_ONLY, mode="before")
    @classmethod
    def _of_role(cls, value: Any, info: ValidationInfo) -> Any:
        role, key = info.data.get("role"), info.field_name
        if role is None:  # a fault of its own
            return None
        if key not in ROLE_KEYS[role]:
            if value is None:
                return None
            owners = [other for other, keys in ROLE_KEYS.items() if key in keys]
            raise _wrong(f"no such key: {key} belongs to {' and '.join(owners)}, this is a {role}")
        if value is not None:
            return value
        default = ROLE_KEYS[role][key]
        if default is ...:
            raise _wrong(_described(cls, key))
        return default

    @field_validator("stop", mode="after")
    @classmethod
    def _after_start(cls, stop: float | None, info: ValidationInfo) -> float | None:
        start = info.data.get("start")
        if stop is not None and start is not None and not stop > start:
            raise _wrong(f"a time later than start, which is {start:g} s")
        return stop

    @field_validator("points", mode="before")
    @classmethod
    def _corner_count(cls, value: Any) -> Any:
        if value is not None and not (isinstance(value, list | tuple) and 3 <= len(value) <= 16):
            raise _wrong("3 to 16 corners, each of two numbers in m")
        return value

    @field_validator("points")
    @classmethod
    def _convex(cls, points: tuple[tuple[float, float], ...] | None) -> Any:
        return None if points is None else _convex_counter_clockwise(points)

    @property
    def moving(self) -> bool:
        """Whether its pose changes with time."""
        return self.motion is not None

    @property
    def label(self) -> str:
        """What to call it in a message."""
        return f'"{self.name}"' if self.name else f"shapes[{self.index}]"


def _convex_counter_clockwise(
    points: tuple[tuple[float, float], ...],
) -> tuple[tuple[float, float], ...]:
    """The same corners, counter-clockwise; a fault unless they are the outline of a convex area."""
    count = len(points)
    edges = [
        (points[(i + 1) % count][0] - points[i][0], points[(i + 1) % count][1] - points[i][1])
        for i in range(count)
    ]
    lengths = [math.hypot(*edge) for edge in edges]
    if min(lengths) <= 1e-9 * max(lengths):
        i = lengths.index(min(lengths))
        raise _wrong("corners that differ", f"corners {i} and {(i + 1) % count} in one place")
    # A simple convex outline turns to one side at every corner, and by one full turn in all: a
    # pentagram, say, also turns to one side only, but twice around.
    turns = []
    for i in range(count):
        (ax, ay), (bx, by) = edges[i - 1], edges[i]
        turns.append(math.atan2(ax * by - ay * bx, ax * bx + ay * by))
    side = math.copysign(1.0, sum(turns))
    for i, turn in enumerate(turns):
        if side * turn <= 1e-9 or side * turn >= math.pi - 1e-9:
            raise _wrong("a convex outline", f"corner {i} not turning as the others do")
    if abs(abs(sum(turns)) - 2.0 * math.pi) > 1e-6:
        raise _wrong("a convex outline", "an outline that winds around more than once")
    return points if side > 0.0 else points[::-1]


def _described(model: type[BaseModel], key: str) -> str:
    return f"{key}, {model.model_fields[key].description}"


class Scene(_Part):
    """A validated scene. Made by `load` or `loads`, which check what goes across sections."""

    format: Annotated[Literal[1], WithJsonSchema({"const": FORMAT})] = _key(
        FORMAT, help="Version of the format."
    )
    name: _text(120, empty=False) = _key(help="Title.")
    description: _text(4000, empty=True) = _key("", help="What there is to see.")
    seed: _whole(0, 2**32 - 1) = _key(0, help="Seed of everything random in the scene.")
    domain: Domain = _key(help="The rectangle in which matter lives.")
    environment: Environment = _key(Environment(), help="What acts on all matter alike.")
    solver: Solver = _key(Solver(), help="How the scene is computed.")
    materials: dict[str, Material] = _key({}, help="Records of matter by name.")
    shapes: tuple[Shape, ...] = _key((), help="Fills, emitters, drains and colliders.")
    camera: Camera | None = _key(None, help="Where the window looks at first.")
    source: str = ""
    origin: str = "<text>"
    warnings: tuple[str, ...] = ()

    @field_validator("format", mode="before")
    @classmethod
    def _known_format(cls, value: Any) -> Any:
        if isinstance(value, bool) or value != FORMAT:
            raise _wrong(f"{FORMAT}, the format that this version of Matterbox reads")
        return int(value)

    @field_validator("materials", "shapes", mode="before")
    @classmethod
    def _not_too_many(cls, value: Any, info: ValidationInfo) -> Any:
        most = MAX_SHAPES if info.field_name == "shapes" else MAX_MATERIALS
        if isinstance(value, dict | list | tuple) and len(value) > most:
            raise _wrong(f"at most {most} {info.field_name}", f"{len(value)}")
        return value

    def __eq__(self, other: object) -> bool:
        """Equal in what they say, wherever they were read and however they were written."""
        if not isinstance(other, Scene):
            return NotImplemented
        mine, theirs = self.model_dump(exclude=_UNSAID), other.model_dump(exclude=_UNSAID)
        return mine == theirs and list(self.materials) == list(other.materials)

    def __hash__(self) -> int:
        return hash((self.name, self.seed, self.domain, self.shapes))

    @property
    def spacing(self) -> float:
        """Distance of neighbouring particles of a fill [m]."""
        return self.domain.cell / self.solver.axis

    def fills(self) -> tuple[Shape, ...]:
        """Its shapes of role "fill", in order."""
        return tuple(shape for shape in self.shapes if shape.role == "fill")

    def colliders(self) -> tuple[Shape, ...]:
        """Its shapes of role "collider", in order."""
        return tuple(shape for shape in self.shapes if shape.role == "collider")


_UNSAID = {"source", "origin", "warnings"}
_INNER = {Scene: _UNSAID, Material: {"name"}, Shape: {"index"}}
_PARTS: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (Scene, "domain"): Domain,
    (Scene, "environment"): Environment,
    (Scene, "solver"): Solver,
    (Scene, "materials"): Material,
    (Scene, "shapes"): Shape,
    (Scene, "camera"): Camera,
    (Domain, "edges"): Edges,
    (Solver, "classic"): Classic,
    (Shape, "motion"): Motion,
    (Motion, "keyframes"): Keyframe,
}


# ---------------------------------------------------------------------------------------------
# Reading


def load(path: str | Path) -> Scene:
    """Read a scene file. Raises SceneError with every fault, also if there is no such file."""
    path = Path(path)
    origin = str(path)
    try:
        if path.is_dir():
            raise SceneError([Fault(origin, None, "file", "a directory", "a scene file (TOML)")])
        with path.open("rb") as file:
            data = file.read(MAX_TEXT + 1)
    except FileNotFoundError:
        others = [p.stem for p in list_scenes()]
        hint = _suggestion(path.stem, others)
        raise SceneError(
            [Fault(origin, None, "file", "no such file", f"a scene file (TOML){hint}")]
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneError(
            [Fault(origin, None, "file", reason.lower(), "a scene file that can be read")]
        ) from None
    if len(data) > MAX_TEXT:
        raise SceneError([_too_long(origin)])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}, which is not UTF-8"
        line = data[: error.start].count(b"\n") + 1
        raise SceneError([Fault(origin, line, "file", found, "TOML text in UTF-8")]) from None
    return loads(text, origin)


def loads(text: str, origin: str = "<text>") -> Scene:
    """Read a scene from TOML text; `origin` names its source in messages.

    Raises SceneError with every fault of the text.
    """
    if len(text) > MAX_TEXT:
        raise SceneError([_too_long(origin)])
    return _Reading(text, origin).scene()


def _too_long(origin: str) -> Fault:
    return Fault(origin, None, "file", f"more than {MAX_TEXT} bytes", f"at most {MAX_TEXT} bytes")


class _Reading:
    """One text on its way to a scene, and the faults met so far."""

    def __init__(self, text: str, origin: str):
        self.text = text
        self.origin = origin
        self.faults: list[Fault] = []
        self.library_names: list[str] = []  # used by shapes without being declared
        self.raw: dict[str, Any] = {}
        self._lines: dict[tuple[str | int, ...], int] | None = None

    def scene(self) -> Scene:
        raw = self.raw = self.parsed()
        for key in _UNSAID & set(raw):
            self.unknown((key,), raw.pop(key), Scene)
        declared = self.with_library(raw)
        shapes = raw.get("shapes")
        if isinstance(shapes, list):
            shapes = raw["shapes"] = [
                self.indexed(shape, index) for index, shape in enumerate(shapes)
            ]
            self.check_names(shapes, declared)
            for name in self.library_names:
                record = {**library()[name], "base": name, "name": name}
                raw.setdefault("materials", {}).setdefault(name, record)
        scene = None
        try:
            scene = Scene(**raw, source=self.text, origin=self.origin)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self.schema_fault(detail)
        if self.faults or scene is None:
            raise SceneError(self.sorted_faults())
        return self.surveyed(scene)

    def surveyed(self, scene: Scene) -> Scene:
        """The scene with its warnings; a fault if its fills are too big to be looked at."""
        from app import scene_report  # reads Scene, so it cannot be imported before it

        total = scene_report.covered_sites(scene)
        if total > MAX_SITES:
            self.fault(("shapes",), f"fills over {total} sites", f"at most {MAX_SITES} in all")
            raise SceneError(self.faults)
        report = scene_report.scene_report(scene, scene_report.QUICK_SITES)
        return scene.model_copy(update={"warnings": report.warnings})

    def parsed(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except RecursionError:
            fault = Fault(self.origin, None, "file", "tables nested without end", "a scene in TOML")
        except ValueError as error:  # TOMLDecodeError, and numbers with too many digits
            message = str(error)
            place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
            line = int(place[1]) if place else max(self.text.rstrip().count("\n") + 1, 1)
            column = f", column {place[2]}" if place else ""
            reason = re.sub(r" \(at .*\)$", "", message)[:200]
            fault = Fault(
                self.origin, line, f"TOML syntax{column}", reason, "a scene in TOML (toml.io)"
            )
        raise SceneError([fault])

    def with_library(self, raw: dict[str, Any]) -> list[str]:
        """Resolve `base` in raw["materials"]; the names of all declared materials."""
        tables = raw.get("materials", {})
        if not isinstance(tables, dict):
            return []
        names = list(tables)
        resolved = {}
        for name, table in tables.items():
            if not isinstance(table, dict):
                self.fault(("materials", name), _show(table), f"a table, [materials.{name}]")
                continue
            if "name" in table:
                table = dict(table)
                self.unknown(("materials", name, "name"), table.pop("name"), Material)
            record: dict[str, Any] = {}
            if "base" in table:
                base = table["base"]
                if not isinstance(base, str) or base not in library():
                    expected = "a material of the library: " + ", ".join(library())
                    self.fault(
                        ("materials", name, "base"),
                        _show(base),
                        expected + _suggestion(base, library()),
                    )
                    base = nearest(base, library())
                    if base is None and "model" not in table:
                        continue  # nothing else can be said about it
                record = library().get(base, {})
                if record and table.get("model", record["model"]) != record["model"]:
                    self.fault(
                        ("materials", name, "model"),
                        _show(table["model"]),
                        f'"{record["model"]}" as in its base "{base}", or no base',
                    )
                    table = {**table, "model": record["model"]}
            elif "model" not in table:
                hint = nearest(name, library())
                self.fault(
                    ("materials", name),
                    "neither base nor model",
                    f"base (one of {', '.join(library())}) or model (one of {', '.join(MODELS)})"
                    + (f'; did you mean base = "{hint}"?' if hint else ""),
                )
                continue
            resolved[name] = {**record, **table, "name": name}
        raw["materials"] = resolved
        return names

    def indexed(self, shape: Any, index: int) -> Any:
        if not isinstance(shape, dict):
            return shape
        if "index" in shape:
            shape = dict(shape)
            self.unknown(("shapes", index, "index"), shape.pop("index"), Shape)
        return {**shape, "index": index}

    def check_names(self, shapes: list[Any], declared: list[str]) -> None:
        """Fault unknown materials of shapes; note those that only the library has."""
        known = list(dict.fromkeys([*declared, *library()]))
        for index, shape in enumerate(shapes):
            name = shape.get("material") if isinstance(shape, dict) else None
            if not isinstance(name, str) or name in declared:
                continue
            if name in library():
                self.library_names.append(name)
            else:
                self.fault(
                    ("shapes", index, "material"),
                    _show(name),
                    "a declared material or one of the library: "
                    + ", ".join(known[:20])
                    + _suggestion(name, known),
                )

    def schema_fault(self, detail: Any) -> None:
        """Say one finding of the models in the words of the file."""
        path, kind = tuple(detail["loc"]), detail["type"]
        context = detail.get("ctx", {})
        model, key = _owner(path)
        if kind == "extra_forbidden":
            self.unknown(path, detail["input"], model)
        elif kind == "missing":
            self.fault(path, "nothing", _described(model, key))
        elif kind == "scene":
            found = context.get("found")
            if found is None:
                found = "nothing" if detail["input"] is None else _show(detail["input"])
            self.fault(path, found, context["expected"])
        else:
            self.fault(path, _show(detail["input"]), _EXPECTED.get(key, "a table"))

    def unknown(self, path: tuple[str | int, ...], value: Any, model: type[BaseModel]) -> None:
        key = str(path[-1])
        home = _HOMES.get(key)
        if home and home[0] is not model:
            expected = f"no such key here: it belongs in {home[1]}"
        else:
            names = self.keys_at(path, model)
            close = nearest(key, names)
            expected = f'"{close}"' if close else f"one of {', '.join(names)}"
        self.fault(path, "an unknown key", expected)

    def keys_at(self, path: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
        """The keys that may stand beside the one at `path`: a record has only its model's."""
        names = _keys(model)
        parent = self.raw
        for part in path[:-1]:
            parent = parent[part]
        if model is Material and parent.get("model") in MATERIAL_FIELDS:
            numbers = MATERIAL_FIELDS[parent["model"]]
            names = [name for name in names if name in numbers or name not in _MATERIAL_NUMBERS]
        if model is Shape:
            others = {key for keys in KIND_KEYS.values() for key in keys}
            others |= {key for keys in ROLE_KEYS.values() for key in keys}
            own = {*KIND_KEYS.get(parent.get("kind"), others)}
            own |= {*ROLE_KEYS.get(parent.get("role"), others)}
            names = [name for name in names if name in own or name not in others]
        return names

    def fault(self, path: tuple[str | int, ...], found: str, expected: str) -> None:
        self.faults.append(
            Fault(self.origin, self.line_of(path), _path_text(path), found, expected)
        )

    def line_of(self, path: tuple[str | int, ...]) -> int | None:
        """Line of the key, or of the nearest table around it."""
        if self._lines is None:
            self._lines = key_lines(self.text)
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return None

    def sorted_faults(self) -> list[Fault]:
        faults = sorted(dict.fromkeys(self.faults), key=lambda fault: fault.line or 0)
        if len(faults) > MAX_FAULTS:
            rest = f"{len(faults) - MAX_FAULTS} more faults"
            faults = [*faults[:MAX_FAULTS], Fault(self.origin, None, "file", rest, "none")]
        return faults


def _owner(path: tuple[str | int, ...]) -> tuple[type[BaseModel], str]:
    """The model whose key a path ends at, and that key."""
    model: type[BaseModel] = Scene
    key = ""
    rest = list(path)
    while rest:
        key = str(rest.pop(0))
        part = _PARTS.get((model, key))
        if part is None:
            break
        if key == "materials" and rest:
            rest.pop(0)
        while rest and isinstance(rest[0], int):
            rest.pop(0)
        if rest:
            model = part
    return model, key


def _keys(model: type[BaseModel]) -> list[str]:
    """The keys that a file may have in a part of a scene."""
    return [key for key in model.model_fields if key not in _INNER.get(model, ())]


_HOMES: dict[str, tuple[type[BaseModel], str]] = {
    **{key: (Environment, "[environment]") for key in Environment.model_fields},
    **{key: (Domain, "[domain]") for key in Domain.model_fields},
    **{key: (Solver, "[solver]") for key in Solver.model_fields},
    **{key: (Classic, "[solver.classic]") for key in Classic.model_fields},
    "iterations": (Scene, "[solver], as rounds"),
    "substeps": (Scene, "[solver], as min_substeps and max_substeps"),
}
"""Keys that are often put into the wrong table -> the table where they belong."""

_EXPECTED = {
    "shapes": "tables, each headed [[shapes]]",
    "materials": "tables, each headed [materials.NAME]",
    "points": "corners, each of two numbers in m",
    "base": "text, the name of a material of the library",
    "stop": "a number of seconds",
}


def _path_text(path: tuple[str | int, ...]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            part = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else _show(part)
            text += f".{part}" if text else part
    return text


def _show(value: Any) -> str:
    """A value of the file in a few words, however big it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:57] + "..."
        return '"' + "".join(c if c.isprintable() else "?" for c in text) + '"'
    if isinstance(value, int):
        return str(value) if value.bit_length() < 200 else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return f"a table of {len(value)} keys"
    if isinstance(value, list | tuple):
        parts = [
            part if isinstance(part, list | tuple | dict) else _show(part) for part in value[:4]
        ]
        if len(value) <= 4 and all(isinstance(part, str) for part in parts):
            return f"[{', '.join(parts)}]"
        return f"an array of {len(value)} elements"
    return f"{value}"[:60]


# ---------------------------------------------------------------------------------------------
# Writing


def dumps(scene: Scene) -> str:
    """The scene as TOML that loads to an equal scene, whatever the library will hold then."""
    document = tomlkit.document()
    for key in ("format", "name", "description", "seed"):
        if key == "description" and not scene.description:
            continue
        document[key] = getattr(scene, key)
    domain = tomlkit.table()
    domain["size"] = list(scene.domain.size)
    domain["cell"] = scene.domain.cell
    domain["edges"] = _inline(scene.domain.edges)
    document["domain"] = domain
    document["environment"] = _table(scene.environment)
    document["solver"] = _table(scene.solver)
    if scene.camera:
        document["camera"] = _table(scene.camera)
    if scene.materials:
        document["materials"] = materials = tomlkit.table(is_super_table=True)
        for name, material in scene.materials.items():
            materials[name] = _table(material, skip={"name"})
    if scene.shapes:
        document["shapes"] = shapes = tomlkit.aot()
        for shape in scene.shapes:
            shapes.append(_table(shape, skip={"index"}))
    return tomlkit.dumps(document)


def _table(part: BaseModel, skip: Iterable[str] = ()) -> Any:
    table = tomlkit.table()
    for key in type(part).model_fields:
        value = getattr(part, key)
        if value is None or key in skip:
            continue
        if isinstance(value, Motion):
            table[key] = motion = tomlkit.table()
            if value.angular_velocity is not None:
                motion["angular_velocity"] = value.angular_velocity
            else:
                motion["repeat"] = value.repeat
                frames = tomlkit.array().multiline(True)
                frames.extend(_inline(frame) for frame in value.keyframes)
                motion["keyframes"] = frames
        elif isinstance(value, BaseModel):
            table[key] = _table(value)
        else:
            table[key] = _value(value)
    return table


def _inline(part: BaseModel) -> Any:
    table = tomlkit.inline_table()
    for key in type(part).model_fields:
        if getattr(part, key) is not None:
            table[key] = _value(getattr(part, key))
    return table


def _value(value: Any) -> Any:
    return [_value(part) for part in value] if isinstance(value, tuple) else value


# ---------------------------------------------------------------------------------------------
# What is shipped


def shipped(folder: str) -> Path:
    """The folder "assets" or "scenes" that came with the program: in the package, or beside it."""
    inside = Path(__file__).parent / folder
    return inside if inside.is_dir() else Path(__file__).parent.parent / folder


def list_scenes() -> list[Path]:
    """The shipped scenes, by file name."""
    return sorted(shipped("scenes").glob("*.toml"))


def builtin(name: str) -> Path:
    """Path of the shipped scene of that name (file name without .toml).

    Raises MatterboxError if there is none.
    """
    names = {path.stem: path for path in list_scenes()}
    if name not in names:
        known = ", ".join(names) or "none"
        raise MatterboxError(
            f'no shipped scene "{name}"{_suggestion(name, names)} (there are: {known})'
        )
    return names[name]


@functools.cache
def _library() -> dict[str, dict[str, Any]]:
    path = shipped("assets") / "materials.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MatterboxError(f"the material library {path} cannot be read: {error}") from None


def library() -> dict[str, dict[str, Any]]:
    """The shipped materials: name -> record (model, color, and its numbers in SI units)."""
    return copy.deepcopy(_library())


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scene file."""
    return Scene.model_json_schema()
