"""The kinds of values that a scene file can have, and the words for one that is wrong."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

MAX_LENGTH = 1e6  # metres: beyond it positions of float32 lose the centimetre


def wrong(expected: str, found: str | None = None) -> PydanticCustomError:
    """A validation error that carries its own words for a fault."""
    context = {"expected": expected}
    if found is not None:
        context["found"] = found
    return PydanticCustomError("scene", "expected {expected}", context)


def number_of(value: Any) -> float | None:
    """`value` as a finite float, None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e7 else f"{number:g}"


def range_text(minimum: float, maximum: float, unit: str) -> str:
    text = f"a number from {_plain(minimum)} to {_plain(maximum)}"
    return text if unit in ("", "1") else f"{text} {unit}"


def real(minimum: float, maximum: float, unit: str) -> Any:
    """A finite number within a range; whole numbers are taken too, text and booleans are not."""
    text = range_text(minimum, maximum, unit)

    def check(value: Any) -> float:
        number = number_of(value)
        if number is None or not minimum <= number <= maximum:
            raise wrong(text)
        return number

    return Annotated[
        float,
        BeforeValidator(check),
        WithJsonSchema({"type": "number", "minimum": minimum, "maximum": maximum}),
    ]


def whole(minimum: int, maximum: int, unit: str = "") -> Any:
    text = f"a whole number from {minimum} to {maximum}" + (f" {unit}" if unit else "")

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise wrong(text)
        return value

    return Annotated[
        int,
        BeforeValidator(check),
        WithJsonSchema({"type": "integer", "minimum": minimum, "maximum": maximum}),
    ]


def pair(minimum: float, maximum: float, unit: str) -> Any:
    """Two finite numbers within a range."""
    text = f"two numbers from {_plain(minimum)} to {_plain(maximum)}" + (f" {unit}" if unit else "")

    def check(value: Any) -> tuple[float, float]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise wrong(text)
        numbers = tuple(number_of(part) for part in value)
        if any(part is None or not minimum <= part <= maximum for part in numbers):
            raise wrong(text)
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
    numbers = tuple(number_of(part) for part in parts)
    if len(numbers) != 2 or None in numbers:
        raise wrong("two numbers, a direction")
    length = math.hypot(*numbers)
    if not 1e-12 <= length <= 1e12:
        raise wrong("two numbers, a direction that is not zero")
    if abs(length - 1.0) <= 1e-15:
        return numbers
    return (numbers[0] / length, numbers[1] / length)


UnitVector = Annotated[
    tuple[float, float],
    BeforeValidator(_unit_vector),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
]
"""Two numbers that are scaled to length 1."""


def text_of(longest: int, *, empty: bool) -> Any:
    wanted = f"text of {0 if empty else 1} to {longest} characters"

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest or not (empty or value.strip()):
            raise wrong(wanted)
        if any(not (char.isprintable() or char in "\n\t") for char in value):
            raise wrong("text without control characters")
        return value

    return Annotated[
        str,
        BeforeValidator(check),
        WithJsonSchema({"type": "string", "minLength": int(not empty), "maxLength": longest}),
    ]


def _word(words: tuple[str, ...], text: str) -> Any:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise wrong(text + suggestion(value, words))
        return value

    return BeforeValidator(check)


def choice(words: tuple[str, ...]) -> Any:
    return _word(words, _one_of(words))


def _one_of(words: Iterable[str]) -> str:
    words = [f'"{word}"' for word in words]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def suggestion(value: Any, words: Iterable[str]) -> str:
    close = nearest(value, words)
    return f'; did you mean "{close}"?' if close else ""


def nearest(value: Any, words: Iterable[str], likeness: float = 0.6) -> str | None:
    """The word that `value` was probably meant to be; None if nothing is near."""
    if not isinstance(value, str):
        return None
    table = {word.lower(): word for word in words}
    value = value[:100].lower()
    begun = [word for word in table if len(value) > 2 and word.startswith(value)]
    found = begun or difflib.get_close_matches(value, table, n=1, cutoff=likeness)
    return table[found[0]] if found else None


def surface(words: tuple[str, ...]) -> Any:
    """Words, or a Coulomb friction coefficient."""
    text = f"{', '.join(_quoted(words))} or a friction coefficient from 0 to 100"

    def check(value: Any) -> str | float:
        if isinstance(value, str):
            if value not in words:
                raise wrong(text + suggestion(value, words))
            return value
        number = number_of(value)
        if number is None or not 0.0 <= number <= 100.0:
            raise wrong(text)
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


def key(default: Any = ..., *, unit: str = "", help: str = "", always: bool = False) -> Any:
    """A key of the file: its default, its unit and its meaning (for the schema and documents).

    `always`: its validators see the default too, since that depends on other keys.
    """
    return Field(
        default,
        description=help,
        json_schema_extra={"unit": unit},
        validate_default=always,
    )


Position = pair(-MAX_LENGTH, MAX_LENGTH, "m")
Velocity = pair(-1e4, 1e4, "m/s")
Angle = real(-1e6, 1e6, "degrees")


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def described(model: type[BaseModel], name: str) -> str:
    """A key with its unit and its meaning, for a message that it is missing."""
    field = model.model_fields[name]
    unit = field.json_schema_extra["unit"]
    meaning = field.description.removesuffix(".")
    return f"{name}{f' [{unit}]' if unit else ''} ({meaning[0].lower()}{meaning[1:]})"


def show(value: Any) -> str:
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
            part if isinstance(part, list | tuple | dict) else show(part) for part in value[:4]
        ]
        if len(value) <= 4 and all(isinstance(part, str) for part in parts):
            return f"[{', '.join(parts)}]"
        return f"an array of {len(value)} elements"
    return f"{value}"[:60]
