"""THE table of input events. Everything that changes a running world from outside is one of these.

The window, the recorder, the replayer and the documentation all read this one table. An event holds
world units (metres, seconds, pascals), never pixels and never wall time, so a recording means the
same on every screen. It takes effect at a tick's edge, before that tick's substeps.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

Vector = tuple[float, float]

REGISTRY: dict[str, type[Event]] = {}


class EventError(ValueError):
    """An event that cannot be read back: unknown kind, missing field or a value out of range."""


@dataclass(frozen=True)
class Event:
    """Base of all events. `kind` is the name under which an event is written."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.kind] = cls

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _checked(self, field, getattr(self, field.name)))

    def to_json(self) -> dict[str, Any]:
        """The event as JSON values: its kind and its fields."""
        return {"kind": self.kind, **asdict(self)}


def from_json(data: Any) -> Event:
    """Read an event back from `to_json`'s values. Raises EventError for anything else."""
    if not isinstance(data, dict):
        raise EventError(f"an event is an object, found {type(data).__name__}")
    values = dict(data)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in REGISTRY:
        raise EventError(
            f"unknown event kind {kind!r}, expected one of {', '.join(sorted(REGISTRY))}"
        )
    cls = REGISTRY[kind]
    known = {field.name for field in fields(cls)}
    if set(values) != known:
        raise EventError(f"event {kind!r} has fields {sorted(values)}, expected {sorted(known)}")
    return cls(**values)


def _checked(event: Event, field: Any, value: Any) -> Any:
    """One field's value in its declared type, or an EventError that names event and field."""
    place = f"event {event.kind!r}, field {field.name!r}"
    if field.type == "Vector":
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise EventError(f"{place}: found {value!r}, expected two numbers")
        return tuple(_finite(place, part) for part in value)
    if field.type == "float":
        return _finite(place, value)
    if not isinstance(value, str):
        raise EventError(f"{place}: found {value!r}, expected a string")
    return value


def _finite(place: str, value: Any) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond every float
            number = float(value)
    if not math.isfinite(number):
        raise EventError(f"{place}: found {str(value)[:40]!r}, expected a finite number")
    return number


@dataclass(frozen=True)
class SetGravity(Event):
    """Gravity of the scene [m/s^2]."""

    kind: ClassVar[str] = "set_gravity"
    gravity: Vector


@dataclass(frozen=True)
class SetDamping(Event):
    """Damping of the scene, a rate [1/s]: velocities shrink by exp(-damping t)."""

    kind: ClassVar[str] = "set_damping"
    damping: float


@dataclass(frozen=True)
class SetMaterial(Event):
    """One field of one material record, in the record's own unit."""

    kind: ClassVar[str] = "set_material"
    material: str
    field: str
    value: float


@dataclass(frozen=True)
class Paint(Event):
    """Fill the free space in a disc [m] with matter at rest; occupied sites stay as they are."""

    kind: ClassVar[str] = "paint"
    material: str
    center: Vector
    radius: float


@dataclass(frozen=True)
class Erase(Event):
    """Remove the matter in a disc [m]; the slots return to the free list."""

    kind: ClassVar[str] = "erase"
    center: Vector
    radius: float


@dataclass(frozen=True)
class Grab(Event):
    """For one tick, matter in a disc [m] follows a hand that moves at `velocity` [m/s]."""

    kind: ClassVar[str] = "grab"
    center: Vector
    velocity: Vector
    radius: float


@dataclass(frozen=True)
class Push(Event):
    """For one tick, matter in a disc [m] is pushed away from its center.

    `acceleration` [m/s^2] is felt at the center and fades to zero at the rim; negative pulls.
    """

    kind: ClassVar[str] = "push"
    center: Vector
    radius: float
    acceleration: float


@dataclass(frozen=True)
class Restart(Event):
    """Back to the scene's initial state; edits of environment and materials are undone too."""

    kind: ClassVar[str] = "restart"
