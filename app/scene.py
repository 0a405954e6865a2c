"""Scenes: TOML in SI units <-> a validated, frozen `Scene`.

World coordinates are metres, y up, the origin in the lower left corner of the domain. A scene knows
nothing of grid units, and gravity and damping belong to its environment, never to a material.

`loads` reports every fault of a text at once, with line, key, what was found and what was expected.
Nothing is clamped silently: a value is taken as it stands, or it is a fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import BaseModel, ValidationInfo, WithJsonSchema, field_validator

from app.errors import Fault, MatterboxError, SceneError
from app.material import MATERIAL_FIELDS, MODELS, FieldSpec, Material, library
from app.paths import scenes_dir
from app.scene_keys import (
    MAX_LENGTH,
    Part,
    Position,
    choice,
    key,
    pair,
    real,
    suggestion,
    surface,
    text_of,
    whole,
    wrong,
)
from app.shape import KIND_KEYS, KINDS, ROLE_KEYS, ROLES, Keyframe, Motion, Shape

__all__ = [
    "FORMAT",
    "KINDS",
    "KIND_KEYS",
    "MATERIAL_FIELDS",
    "METHODS",
    "MODELS",
    "ROLES",
    "ROLE_KEYS",
    "Camera",
    "Classic",
    "Domain",
    "Edges",
    "Environment",
    "FieldSpec",
    "Keyframe",
    "Material",
    "Motion",
    "Scene",
    "Shape",
    "Solver",
    "builtin",
    "dumps",
    "json_schema",
    "library",
    "list_scenes",
    "load",
    "loads",
    "scene_report",
]

FORMAT = 1
METHODS = ("compliant", "classic", "explicit")

MAX_TEXT = 1 << 20  # bytes of a scene file
MAX_NODES = 1 << 26  # grid nodes
MAX_SIDE = 1 << 15  # cells along one side
MIN_SIDE = 8
MAX_CAPACITY = 50_000_000
MAX_SHAPES = 256
MAX_MATERIALS = 64

Edge = surface(("stick", "slip", "open"))


class Edges(Part):
    """What the four sides of the domain do to matter."""

    left: Edge = key("slip", help="Left side: stick, slip, open, or a friction coefficient.")
    right: Edge = key("slip", help="Right side.")
    bottom: Edge = key("slip", help="Lower side.")
    top: Edge = key("slip", help="Upper side; open lets matter leave for good.")


class Domain(Part):
    """The rectangle in which matter lives, and the grid over it."""

    cell: real(1e-5, 1e3, "m") = key(unit="m", help="Side of a grid cell.")
    size: pair(1e-4, MAX_LENGTH, "m") = key(
        unit="m", help="Width and height, each a whole number of cells."
    )
    edges: Edges = key(Edges(), help="What the four sides do to matter.")

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
            raise wrong(
                f"a whole number of cells of {cell:g} m; the nearest that fit are "
                f"{fitting[0]} m wide and {fitting[1]} m high"
            )
        if any(not MIN_SIDE <= n <= MAX_SIDE for n in whole) or whole[0] * whole[1] > MAX_NODES:
            raise wrong(
                f"{MIN_SIDE} to {MAX_SIDE} cells a side and at most {MAX_NODES} cells",
                f"{whole[0]} x {whole[1]} cells",
            )
        return size

    @property
    def cells(self) -> tuple[int, int]:
        """Number of cells (nx, ny)."""
        return (round(self.size[0] / self.cell), round(self.size[1] / self.cell))


class Environment(Part):
    """What acts on all matter alike."""

    gravity: pair(-1e4, 1e4, "m/s^2") = key(
        (0.0, -9.81), unit="m/s^2", help="Acceleration of all matter."
    )
    damping: real(0.0, 1e4, "1/s") = key(
        0.0, unit="1/s", help="Rate at which velocities die away: they shrink by exp(-damping t)."
    )


class Classic(Part):
    """Settings of the classic method (the relaxation of PB-MPM)."""

    relaxation: real(0.0, 10.0, "") = key(
        1.5, help="Share of the way to its target shape that solid matter goes in a round."
    )
    liquid_relaxation: real(0.0, 10.0, "") = key(1.5, help="The same for the volume of liquids.")
    elasticity_ratio: real(0.0, 1.0, "") = key(
        1.0, help="1 keeps the shape, 0 only the volume, in between a blend of both."
    )


class Solver(Part):
    """How the scene is computed."""

    method: Annotated[str, choice(METHODS), WithJsonSchema({"enum": list(METHODS)})] = key(
        "compliant", help="Constraint policy: how a round couples matter."
    )
    tick_rate: whole(10, 1000, "1/s") = key(60, unit="1/s", help="Ticks in a second of the world.")
    min_substeps: whole(1, 256) = key(2, help="Fewest substeps of a tick.")
    max_substeps: whole(1, 256) = key(16, help="Most substeps of a tick; at least min_substeps.")
    rounds: whole(1, 100) = key(5, help="Scatter-solve-gather rounds of a substep.")
    capacity: whole(1, MAX_CAPACITY, "particles") = key(
        200_000, help="How many particles can live at once."
    )
    particles_per_cell: Annotated[
        whole(1, 25), WithJsonSchema({"type": "integer", "enum": [1, 4, 9, 16, 25]})
    ] = key(4, help="Particles in a filled cell.")
    body_friction: real(0.0, 100.0, "") = key(
        0.3, help="Friction coefficient between bodies of different groups."
    )
    acoustic: Annotated[
        str, choice(("show", "bind")), WithJsonSchema({"enum": ["show", "bind"]})
    ] = key("show", help="Whether the acoustic limit is only shown, or also binds the substeps.")
    classic: Classic = key(Classic(), help="Settings of the classic method.")

    @field_validator("max_substeps")
    @classmethod
    def _ordered(cls, value: int, info: ValidationInfo) -> int:
        least = info.data.get("min_substeps")
        if least is not None and value < least:
            raise wrong(f"at least min_substeps, which is {least}")
        return value

    @field_validator("particles_per_cell")
    @classmethod
    def _square(cls, value: int) -> int:
        if math.isqrt(value) ** 2 != value:
            raise wrong("a square number: 1, 4, 9, 16 or 25")
        return value

    @property
    def acoustic_binds(self) -> bool:
        """Whether sound sets the substeps: where the scene says so, and under explicit always,
        which is unstable beyond that limit."""
        return self.acoustic == "bind" or self.method == "explicit"

    @property
    def axis(self) -> int:
        """Particles along one side of a filled cell."""
        return math.isqrt(self.particles_per_cell)


class Camera(Part):
    """Where the window looks at first; without it, at the whole domain."""

    center: Position = key(unit="m", help="The world position in the middle of the view.")
    height: real(1e-4, MAX_LENGTH, "m") = key(unit="m", help="Height of the view.")


class Scene(Part):
    """A validated scene. Made by `load` or `loads`, which check what goes across sections."""

    format: Annotated[Literal[1], WithJsonSchema({"const": FORMAT})] = key(
        FORMAT, help="Version of the format."
    )
    name: text_of(120, empty=False) = key(help="Title.")
    description: text_of(4000, empty=True) = key("", help="What there is to see.")
    seed: whole(0, 2**32 - 1) = key(0, help="Seed of everything random in the scene.")
    domain: Domain = key(help="The rectangle in which matter lives.")
    environment: Environment = key(
        Environment(), help="Gravity and damping, which act on all matter alike."
    )
    solver: Solver = key(Solver(), help="Method, time step and capacity.")
    materials: dict[str, Material] = key({}, help="Records of matter by name.")
    shapes: tuple[Shape, ...] = key((), help="Fills, emitters, drains and colliders.")
    camera: Camera | None = key(None, help="Where the window looks at first.")
    source: str = ""
    origin: str = "<text>"
    warnings: tuple[str, ...] = ()

    @field_validator("format", mode="before")
    @classmethod
    def _known_format(cls, value: Any) -> Any:
        if isinstance(value, bool) or value != FORMAT:
            raise wrong(f"{FORMAT}, the format that this version of Matterbox reads")
        return int(value)

    @field_validator("materials", "shapes", mode="before")
    @classmethod
    def _not_too_many(cls, value: Any, info: ValidationInfo) -> Any:
        most = MAX_SHAPES if info.field_name == "shapes" else MAX_MATERIALS
        if isinstance(value, dict | list | tuple) and len(value) > most:
            raise wrong(f"at most {most} {info.field_name}", f"{len(value)}")
        return value

    def __eq__(self, other: object) -> bool:
        """Equal in what they say, wherever they were read and however they were written."""
        if not isinstance(other, Scene):
            return NotImplemented
        mine, theirs = self.model_dump(exclude=UNSAID), other.model_dump(exclude=UNSAID)
        return mine == theirs and list(self.materials) == list(other.materials)

    def __hash__(self) -> int:
        return hash((self.name, self.seed, self.domain, self.shapes))

    @property
    def spacing(self) -> float:
        """Distance of neighbouring particles of a fill [m]."""
        return self.domain.cell / self.solver.axis

    @property
    def groups(self) -> int:
        """Number of groups of bodies, each with a velocity field of its own."""
        return 1 + max((shape.group or 0 for shape in self.shapes), default=0)

    def fills(self) -> tuple[Shape, ...]:
        """Its shapes of role "fill", in order."""
        return tuple(shape for shape in self.shapes if shape.role == "fill")

    def colliders(self) -> tuple[Shape, ...]:
        """Its shapes of role "collider", in order."""
        return tuple(shape for shape in self.shapes if shape.role == "collider")


UNSAID = {"source", "origin", "warnings"}
"""What a scene knows of its text, and the text does not say."""


# ---------------------------------------------------------------------------------------------
# Reading


def load(path: str | Path) -> Scene:
    """Read a scene file. Raises SceneError with every fault, also if there is no such file."""
    path = Path(path)
    origin = "".join(c if c.isprintable() else "?" for c in str(path))
    try:
        if path.is_dir():
            raise SceneError([Fault(origin, None, "file", "a directory", "a scene file (TOML)")])
        with path.open("rb") as file:
            data = file.read(MAX_TEXT + 1)
    except FileNotFoundError:
        others = [p.stem for p in list_scenes()]
        hint = suggestion(path.stem, others)
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
    from app.scene_reader import Reading  # builds a Scene, so it cannot be imported before it

    if len(text) > MAX_TEXT:
        raise SceneError([_too_long(origin)])
    return Reading(text, origin).scene()


def _too_long(origin: str) -> Fault:
    return Fault(origin, None, "file", f"more than {MAX_TEXT} bytes", f"at most {MAX_TEXT} bytes")


# ---------------------------------------------------------------------------------------------
# Writing


def dumps(scene: Scene) -> str:
    """The scene as TOML that loads to an equal scene, whatever the library will hold then."""
    document = tomlkit.document()
    for name in ("format", "name", "description", "seed"):
        if name == "description" and not scene.description:
            continue
        document[name] = getattr(scene, name)
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
    for name in type(part).model_fields:
        value = getattr(part, name)
        if value is None or name in skip:
            continue
        if isinstance(value, Motion):
            table[name] = motion = tomlkit.table()
            if value.angular_velocity is not None:
                motion["angular_velocity"] = value.angular_velocity
            else:
                motion["repeat"] = value.repeat
                frames = tomlkit.array().multiline(True)
                frames.extend(_inline(frame) for frame in value.keyframes)
                motion["keyframes"] = frames
        elif isinstance(value, BaseModel):
            table[name] = _table(value)
        else:
            table[name] = _value(value)
    return table


def _inline(part: BaseModel) -> Any:
    table = tomlkit.inline_table()
    for name in type(part).model_fields:
        if getattr(part, name) is not None:
            table[name] = _value(getattr(part, name))
    return table


def _value(value: Any) -> Any:
    return [_value(part) for part in value] if isinstance(value, tuple) else value


# ---------------------------------------------------------------------------------------------
# What is shipped


def list_scenes() -> list[Path]:
    """The shipped scenes, by file name."""
    return sorted(scenes_dir().glob("*.toml"))


def builtin(name: str) -> Path:
    """Path of the shipped scene of that name (file name without .toml).

    Raises MatterboxError if there is none.
    """
    names = {path.stem: path for path in list_scenes()}
    if name not in names:
        known = ", ".join(names) or "none"
        raise MatterboxError(
            f'no shipped scene "{name}"{suggestion(name, names)} (there are: {known})'
        )
    return names[name]


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scene file."""
    from app.scene_schema import json_schema as schema

    return schema()


def scene_report(scene: Scene) -> Any:
    """What the scene asks for in numbers: see `app.scene_report.SceneReport`."""
    from app.scene_report import scene_report as report

    return report(scene)
