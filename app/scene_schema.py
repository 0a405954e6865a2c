"""JSON Schema of scene files, for editors: what `app.scene` checks, as far as schemas can say."""

from __future__ import annotations

from typing import Any

from app.material import MATERIAL_FIELDS, MODELS, library
from app.scene import UNSAID, Scene
from app.shape import KIND_KEYS, ROLE_KEYS


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scene file, as JSON values."""
    schema = _plain(Scene.model_json_schema())
    parts = schema["$defs"]
    for key in UNSAID:
        del schema["properties"][key]
    _material(parts["Material"])
    _shape(parts["Shape"])
    parts["Material"]["description"] = "A record of matter: a base, a model, or both."
    parts["Shape"]["description"] = "A region of the world and what it does to matter."
    motion = parts["Motion"]
    motion["oneOf"] = [{"required": ["keyframes"]}, {"required": ["angular_velocity"]}]
    motion["properties"]["keyframes"]["minItems"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Matterbox scene",
        "description": "A scene in SI units; y is up, the origin is the lower left corner.",
    }


def _plain(node: Any) -> Any:
    """Drop what is true of the Python models alone: titles, null as a value, empty units."""
    if isinstance(node, list):
        return [_plain(part) for part in node]
    if not isinstance(node, dict):
        return node
    plain = {}
    for key, value in node.items():
        if key == "properties":
            plain[key] = {name: _plain(part) for name, part in value.items()}
        elif key == "title" or (key == "default" and value is None) or (key, value) == ("unit", ""):
            continue
        else:
            plain[key] = _plain(value)
    choices = plain.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del plain["anyOf"]
        plain |= rest[0] if len(rest) == 1 else {"anyOf": rest}
    if "unit" in plain and "description" in plain:
        plain["description"] = f"{plain['description'].removesuffix('.')} [{plain['unit']}]."
    return plain


def _material(record: dict[str, Any]) -> None:
    """A record names its base or its model, and has the numbers of that model only."""
    properties = record["properties"]
    del properties["name"]
    record.pop("required", None)
    records = library()
    properties["base"]["enum"] = list(records)
    properties["color"]["pattern"] = "^#[0-9a-fA-F]{6}$"
    for name in dict.fromkeys(name for specs in MATERIAL_FIELDS.values() for name in specs):
        specs = [fields[name] for fields in MATERIAL_FIELDS.values() if name in fields]
        unit = "" if specs[0].unit == "1" else f" [{specs[0].unit}]"
        properties[name] = {
            "type": "number",
            "minimum": min(spec.minimum for spec in specs),
            "maximum": max(spec.maximum for spec in specs),
            "description": f"{specs[0].help.removesuffix('.')}{unit}.",
        }
    record["anyOf"] = [{"required": ["base"]}, {"required": ["model"]}]
    record["allOf"] = []
    for model in MODELS:
        own = MATERIAL_FIELDS[model]
        others = [name for name in properties if name in _numbers() and name not in own]
        bases = [name for name, values in records.items() if values["model"] == model]
        record["allOf"].append(
            {
                "if": {
                    "anyOf": [
                        {"required": ["model"], "properties": {"model": {"const": model}}},
                        {"required": ["base"], "properties": {"base": {"enum": bases}}},
                    ]
                },
                "then": {"properties": dict.fromkeys(others, False)},
            }
        )


def _numbers() -> set[str]:
    return {name for specs in MATERIAL_FIELDS.values() for name in specs}


def _shape(shape: dict[str, Any]) -> None:
    """Which keys a shape needs and may have follows from its role and its kind."""
    properties = shape["properties"]
    del properties["index"]
    shape["required"] = ["role", "kind"]
    corners = properties["points"]
    corners["minItems"], corners["maxItems"] = 3, 16
    every_kind = {key for keys in KIND_KEYS.values() for key in keys}
    every_role = {key for keys in ROLE_KEYS.values() for key in keys}
    rules = []
    for kind, keys in KIND_KEYS.items():
        needed = list(keys) if kind == "polygon" else ["center", *keys]
        rules.append(_rule("kind", kind, needed, sorted(every_kind - set(keys))))
    for role, keys in ROLE_KEYS.items():
        needed = [key for key, default in keys.items() if default is ...]
        rules.append(_rule("role", role, needed, sorted(every_role - set(keys))))
        for key, default in keys.items():
            if default not in (..., None, float("inf")):
                properties[key]["default"] = default
    shape["allOf"] = rules


def _rule(key: str, value: str, needed: list[str], barred: list[str]) -> dict[str, Any]:
    then: dict[str, Any] = {"properties": dict.fromkeys(barred, False)}
    if needed:
        then["required"] = needed
    return {"if": {"required": [key], "properties": {key: {"const": value}}}, "then": then}
