"""Shapes: regions of the world, and what each of them does to matter."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema, field_validator

from app.scene_keys import (
    MAX_LENGTH,
    Angle,
    Part,
    Position,
    UnitVector,
    Velocity,
    choice,
    described,
    key,
    number_of,
    pair,
    real,
    surface,
    text_of,
    whole,
    wrong,
)

ROLES = ("fill", "emitter", "drain", "collider")
KINDS = ("box", "circle", "capsule", "polygon", "half_plane")
MAX_KEYFRAMES = 1024
MAX_GROUPS = 4

Role = Literal["fill", "emitter", "drain", "collider"]
Kind = Literal["box", "circle", "capsule", "polygon", "half_plane"]

Friction = surface(("stick", "slip"))


def _moment(value: Any) -> float:
    """A time that may be never: inf."""
    if value != math.inf and number_of(value) is None:
        raise wrong("a number of seconds, or inf")
    return float(value)


Moment = Annotated[float, BeforeValidator(_moment), WithJsonSchema({"type": "number"})]


class Keyframe(Part):
    """A pose at a time; what it leaves out is interpolated between the keyframes that have it."""

    time: real(0.0, 1e6, "s") = key(unit="s", help="Time of the pose, later than the last one.")
    center: Position | None = key(None, unit="m", help="Center at that time.")
    angle: Angle | None = key(None, unit="degrees", help="Angle at that time.")


class Motion(Part):
    """How a collider moves: along keyframes, or turning about its center at a constant rate."""

    keyframes: tuple[Keyframe, ...] = key((), help="Poses by time, joined by straight lines.")
    repeat: Annotated[str, choice(("once", "loop", "pingpong"))] = key(
        "once", help="What follows the last keyframe: rest, the first again, or the way back."
    )
    angular_velocity: real(-1e4, 1e4, "rad/s") | None = key(
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
            raise wrong(f"an array of at most {MAX_KEYFRAMES} keyframes")
        return value

    @field_validator("keyframes")
    @classmethod
    def _in_order(cls, value: tuple[Keyframe, ...]) -> tuple[Keyframe, ...]:
        for before, after in itertools.pairwise(value):
            if after.time <= before.time:
                raise wrong(
                    "times that increase from keyframe to keyframe",
                    f"{before.time:g} s and then {after.time:g} s",
                )
        return value

    @field_validator("repeat")
    @classmethod
    def _has_span(cls, value: str, info: ValidationInfo) -> str:
        if value != "once" and len(info.data.get("keyframes", (1, 2))) < 2:
            raise wrong(f'two keyframes or more to "{value}" between')
        return value

    @field_validator("angular_velocity")
    @classmethod
    def _one_way(cls, value: float | None, info: ValidationInfo) -> float | None:
        if "keyframes" in info.data and (value is not None) == bool(info.data["keyframes"]):
            raise wrong(
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
    "fill": {"material": ..., "group": 0, "velocity": (0.0, 0.0), "angular_velocity": 0.0},
    "emitter": {
        "material": ...,
        "group": 0,
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


class Shape(Part):
    """A region of the world and what it does. Keys of other roles and kinds are None."""

    index: int = 0
    name: text_of(64, empty=False) | None = key(None, help="A name to tell it by.")
    role: Annotated[Role, choice(ROLES)] = key(
        help="fill puts matter there at the start, emitter adds matter, drain takes it away, "
        "collider keeps it out."
    )
    kind: Annotated[Kind, choice(KINDS)] = key(help="The form of the region.")
    center: Position = key(
        None,
        unit="m",
        help="Position of the form; only a polygon may leave it out, then it is [0, 0].",
        always=True,
    )
    angle: Angle = key(0.0, unit="degrees", help="How far it is turned, counter-clockwise.")
    half_size: pair(1e-6, MAX_LENGTH, "m") | None = key(
        None, unit="m", help="box: half its width and half its height.", always=True
    )
    half_length: real(0.0, MAX_LENGTH, "m") | None = key(
        None,
        unit="m",
        help="capsule: half the length of its axis, which lies along x at angle 0.",
        always=True,
    )
    radius: real(1e-6, MAX_LENGTH, "m") | None = key(
        None, unit="m", help="circle and capsule: the radius.", always=True
    )
    points: tuple[Position, ...] | None = key(
        None,
        unit="m",
        help="polygon: 3 to 16 corners of a convex outline, relative to center.",
        always=True,
    )
    normal: UnitVector | None = key(
        None, help="half_plane: direction out of the solid; center is on its surface.", always=True
    )
    material: text_of(64, empty=False) | None = key(
        None, help="fill and emitter: a declared material, or one of the library.", always=True
    )
    group: whole(0, MAX_GROUPS - 1) | None = key(
        None,
        help="fill and emitter: bodies of different groups touch and part, those of one group "
        "stick where they meet.",
        always=True,
    )
    velocity: Velocity | None = key(
        None, unit="m/s", help="fill: velocity at the start.", always=True
    )
    angular_velocity: real(-1e4, 1e4, "rad/s") | None = key(
        None, unit="rad/s", help="fill: rate of turning about center at the start.", always=True
    )
    rate: real(0.0, 1e4, "m^2/s") | None = key(
        None, unit="m^2/s", help="emitter: area of new matter per second.", always=True
    )
    speed: real(0.0, 1e4, "m/s") | None = key(
        None, unit="m/s", help="emitter: speed of new matter.", always=True
    )
    direction: UnitVector | None = key(None, help="emitter: direction of that speed.", always=True)
    start: real(0.0, 1e9, "s") | None = key(
        None, unit="s", help="emitter: when it begins.", always=True
    )
    stop: Moment | None = key(None, unit="s", help="emitter: when it ends; inf never.", always=True)
    friction: Friction | None = key(
        None, help="collider: stick, slip, or a friction coefficient.", always=True
    )
    motion: Motion | None = key(None, help="collider: how it moves.", always=True)

    @field_validator("kind")
    @classmethod
    def _emits(cls, kind: str, info: ValidationInfo) -> str:
        if kind == "half_plane" and info.data.get("role") == "emitter":
            raise wrong('"box", "circle", "capsule" or "polygon" for an emitter')
        return kind

    @field_validator("center", mode="before")
    @classmethod
    def _placed(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            if info.data.get("kind", "polygon") != "polygon":
                raise wrong("two numbers, its position in m")
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
                raise wrong(described(cls, key))
        elif value is not None:
            owners = [other for other, keys in KIND_KEYS.items() if key in keys]
            raise wrong(
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
            raise wrong(f"no such key: {key} belongs to {' and '.join(owners)}, this is a {role}")
        if value is not None:
            return value
        default = ROLE_KEYS[role][key]
        if default is ...:
            raise wrong(described(cls, key))
        return default

    @field_validator("stop", mode="after")
    @classmethod
    def _after_start(cls, stop: float | None, info: ValidationInfo) -> float | None:
        start = info.data.get("start")
        if stop is not None and start is not None and not stop > start:
            raise wrong(f"a time later than start, which is {start:g} s")
        return stop

    @field_validator("points", mode="before")
    @classmethod
    def _corner_count(cls, value: Any) -> Any:
        if value is not None and not (isinstance(value, list | tuple) and 3 <= len(value) <= 16):
            raise wrong("3 to 16 corners, each of two numbers in m")
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
        raise wrong("corners that differ", f"corners {i} and {(i + 1) % count} in one place")
    # A simple convex outline turns to one side at every corner, and by one full turn in all: a
    # pentagram, say, also turns to one side only, but twice around.
    turns = []
    for i in range(count):
        (ax, ay), (bx, by) = edges[i - 1], edges[i]
        turns.append(math.atan2(ax * by - ay * bx, ax * bx + ay * by))
    side = math.copysign(1.0, sum(turns))
    for i, turn in enumerate(turns):
        if side * turn <= 1e-9 or side * turn >= math.pi - 1e-9:
            raise wrong("a convex outline", f"corner {i} not turning as the others do")
    if abs(abs(sum(turns)) - 2.0 * math.pi) > 1e-6:
        raise wrong("a convex outline", "an outline that winds around more than once")
    return points if side > 0.0 else points[::-1]
