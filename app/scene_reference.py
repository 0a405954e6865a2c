"""The tables of docs/scenes.md, written from the models, so that they say what the program checks.

`python -m app.scene_reference docs/scenes.md` writes them anew between their marks.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from app.material import MATERIAL_FIELDS, Material, library
from app.scene_schema import json_schema
from app.shape import KIND_KEYS, ROLE_KEYS

_MARK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_PARTS = ("Domain", "Edges", "Environment", "Solver", "Classic", "Camera", "Motion", "Keyframe")


_EMPTY = {"stop": "inf", "base": "none", "color": "its model's", "camera": "the whole domain"}
"""What stands for a default that no value can show."""


def tables() -> dict[str, str]:
    """Name of a table in docs/scenes.md -> its Markdown."""
    schema = json_schema()
    parts = schema["$defs"]
    result = {"scene": _keys(schema)}
    for name in _PARTS:
        result[name.lower()] = _keys(parts[name])
    shape = parts["Shape"]["properties"]
    own = {key for keys in (*KIND_KEYS.values(), *ROLE_KEYS.values()) for key in keys}
    common = {key: spec for key, spec in shape.items() if key not in own}
    result["shape"] = _keys({"properties": common, "required": ["role", "kind"]})
    for name, keys in KIND_KEYS.items():
        result[name] = _keys({"properties": {key: shape[key] for key in keys}, "required": keys})
    for name, defaults in ROLE_KEYS.items():
        needed = [key for key, default in defaults.items() if default is ...]
        chosen = {key: shape[key] for key in defaults}
        if chosen:
            result[name] = _keys({"properties": chosen, "required": needed})
    record = {key: parts["Material"]["properties"][key] for key in ("base", "model", "color")}
    result["record"] = _keys({"properties": record})
    for model, specs in MATERIAL_FIELDS.items():
        rows = [
            (
                f"`{name}`",
                "" if spec.unit == "1" else spec.unit,
                _plain(spec.default),
                f"{spec.help} {_plain(spec.minimum)} to {_plain(spec.maximum)}.",
            )
            for name, spec in specs.items()
        ]
        result[model] = _table(("key", "unit", "default", "meaning"), rows)
    result["library"] = _library()
    return result


def refreshed(text: str) -> str:
    """The document with its tables written anew. Raises KeyError for a mark of no table."""
    made = tables()
    return _MARK.sub(lambda mark: f"{mark[1]}{made[mark[2]]}{mark[4]}", text)


def marks(text: str) -> list[str]:
    """Names of the tables that a document has marks for."""
    return [mark[2] for mark in _MARK.finditer(text)]


def _keys(part: dict[str, Any]) -> str:
    rows = []
    for key, spec in part["properties"].items():
        unit = spec.get("unit", "")
        meaning = spec.get("description") or spec.get("$ref", "").rpartition("/")[2]
        meaning = re.sub(r"^[a-z_]+( and [a-z_]+)?: ", "", meaning.replace(f" [{unit}].", "."))
        meaning = meaning[:1].upper() + meaning[1:]
        if key in part.get("required", ()):
            default = "*needed*"
        else:
            default = (
                _plain(spec["default"]) if _simple(spec.get("default")) else _EMPTY.get(key, "")
            )
        rows.append((f"`{key}`", unit, default, f"{meaning} {_allowed(spec)}".strip()))
    return _table(("key", "unit", "default", "meaning"), rows)


def _simple(value: Any) -> bool:
    return value not in (None, "", [], {}) and not isinstance(value, dict)


def _allowed(spec: dict[str, Any]) -> str:
    """The range of a number, or the words to choose from."""
    if "minimum" in spec:
        return f"{_plain(spec['minimum'])} to {_plain(spec['maximum'])}."
    words = spec.get("enum", [])
    if words and len(words) <= 5:
        return f"{', '.join(f'`{json.dumps(word)}`' for word in words)}."
    return ""


def _library() -> str:
    rows = []
    for name, values in library().items():
        material = Material(name=name, **values)
        numbers = [
            f"{key} {_plain(getattr(material, key))}"
            + ("" if spec.unit == "1" else f" {spec.unit}")
            for key, spec in MATERIAL_FIELDS[material.model].items()
        ]
        rows.append(
            (f"`{name}`", material.model, ", ".join(numbers), f"{material.wave_speed:.1f} m/s")
        )
    return _table(("name", "model", "record", "waves"), rows)


def _plain(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        if value == int(value) and abs(value) < 1e10:
            return f"{value:.0f}"
        return f"{value:g}".replace("e+", "e")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_plain(part) for part in value)}]"
    return f"`{json.dumps(value)}`"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(refreshed(document.read_text(encoding="utf-8")), encoding="utf-8")
