"""From TOML text to a scene: every fault at once, each with its line."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from pydantic import BaseModel, ValidationError

from app.errors import Fault, SceneError
from app.material import MATERIAL_FIELDS, MATERIAL_NUMBERS, MODELS, Material, library
from app.scene import (
    KIND_KEYS,
    MAX_CAPACITY,
    MAX_MATERIALS,
    MAX_SHAPES,
    ROLE_KEYS,
    UNSAID,
    Camera,
    Classic,
    Domain,
    Edges,
    Environment,
    Keyframe,
    Motion,
    Scene,
    Shape,
    Solver,
)
from app.scene_keys import described, nearest, show, suggestion
from app.scene_report import QUICK_SITES, covered_sites, scene_report
from app.toml_lines import key_lines

MAX_SITES = 4 * MAX_CAPACITY  # of the particle lattice, in the bounding boxes of all fills
MAX_FAULTS = 100  # how many are listed; the rest is counted
MAX_DEPTH = 32  # parts of a dotted key; reading one takes time that grows with their square

_PART = r"[A-Za-z0-9_\"'-]"
_DEEP = re.compile(rf"(?<!{_PART})(?:{_PART}+[ \t]*\.[ \t]*){{{MAX_DEPTH}}}")
_DIGITS = re.compile(r"[0-9_]{1000,}")

_INNER = {Scene: UNSAID, Material: {"name"}, Shape: {"index"}}
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


class Reading:
    """One text on its way to a scene, and the faults met so far."""

    def __init__(self, text: str, origin: str):
        self.text = text
        self.origin = origin
        self.faults: list[Fault] = []
        self.uncounted = 0  # faults that were not even looked at, after so many
        self.library_names: list[str] = []  # used by shapes without being declared
        self.raw: dict[str, Any] = {}
        self._lines: dict[tuple[str | int, ...], int] | None = None

    def scene(self) -> Scene:
        raw = self.raw = self.parsed()
        for key in UNSAID & set(raw):
            self.unknown((key,), raw.pop(key), Scene)
        declared = self.with_library(raw)
        shapes = raw.get("shapes")
        if isinstance(shapes, list) and len(shapes) <= MAX_SHAPES:
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
            details = error.errors(include_url=False)
            for detail in details[: 2 * MAX_FAULTS]:
                self.schema_fault(detail)
            self.uncounted = max(len(details) - 2 * MAX_FAULTS, 0)
        if self.faults or scene is None:
            raise SceneError(self.sorted_faults())
        return self.surveyed(scene)

    def surveyed(self, scene: Scene) -> Scene:
        """The scene with its warnings; a fault if its fills are too big to be looked at."""
        total = covered_sites(scene)
        if total > MAX_SITES:
            self.fault(("shapes",), f"fills over {total} sites", f"at most {MAX_SITES} in all")
            raise SceneError(self.faults)
        report = scene_report(scene, QUICK_SITES)
        return scene.model_copy(update={"warnings": report.warnings})

    def parsed(self) -> dict[str, Any]:
        found = column = ""
        line = None
        if deep := _DEEP.search(self.text):
            line = self.text.count("\n", 0, deep.start()) + 1
            found = f"a key of more than {MAX_DEPTH} parts"
        else:
            try:
                return tomllib.loads(self.text)
            except RecursionError:
                found = "arrays or tables nested too deep"
            except tomllib.TOMLDecodeError as error:
                place = re.search(
                    r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error)
                )
                found = str(error)[: place.start()] if place else str(error)
                found = f"{found[:1].lower()}{found[1:200]}"
                line = int(place[1]) if place and place[1] else self.text.rstrip().count("\n") + 1
                column = f", column {place[2]}" if place and place[2] else ""
            except ValueError:
                found = "a number of too many digits"
                digits = _DIGITS.search(self.text)
                line = self.text.count("\n", 0, digits.start()) + 1 if digits else None
        found = "".join(c if c.isprintable() else "?" for c in found)
        fault = Fault(self.origin, line, f"TOML syntax{column}", found, "a scene in TOML (toml.io)")
        raise SceneError([fault])

    def with_library(self, raw: dict[str, Any]) -> list[str]:
        """Resolve `base` in raw["materials"]; the names of all declared materials."""
        tables = raw.get("materials", {})
        if not isinstance(tables, dict):
            return []
        names = list(tables)
        if len(tables) > MAX_MATERIALS:
            return names[:MAX_MATERIALS]  # there is a fault for it; looking at each takes long
        resolved = {}
        for name, table in tables.items():
            if not isinstance(table, dict):
                self.fault(("materials", name), show(table), f"a table, [materials.{name}]")
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
                        show(base),
                        expected + suggestion(base, library()),
                    )
                    base = nearest(base, library())
                    if base is None and "model" not in table:
                        continue  # nothing else can be said about it
                record = library().get(base, {})
                if record and table.get("model", record["model"]) != record["model"]:
                    self.fault(
                        ("materials", name, "model"),
                        show(table["model"]),
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
                    show(name),
                    "a declared material or one of the library: "
                    + ", ".join(known[:20])
                    + suggestion(name, known),
                )

    def schema_fault(self, detail: Any) -> None:
        """Say one finding of the models in the words of the file."""
        path, kind = tuple(detail["loc"]), detail["type"]
        context = detail.get("ctx", {})
        model, key = _owner(path)
        if kind == "extra_forbidden":
            self.unknown(path, detail["input"], model)
        elif kind == "missing":
            self.fault(path, "nothing", described(model, key))
        elif kind == "scene":
            found = context.get("found")
            if found is None:
                found = "nothing" if detail["input"] is None else show(detail["input"])
            self.fault(path, found, context["expected"])
        else:
            self.fault(path, show(detail["input"]), _EXPECTED.get(key, "a table"))

    def unknown(self, path: tuple[str | int, ...], value: Any, model: type[BaseModel]) -> None:
        key = str(path[-1])
        home = _HOMES.get(key)
        if home and home[0] is not model:
            expected = f"no such key here: it belongs in {home[1]}"
        else:
            names = self.keys_at(path, model)
            close = nearest(key, names, likeness=0.7)
            expected = f'"{close}"' if close else f"one of {', '.join(names)}"
        self.fault(path, "an unknown key", expected)

    def keys_at(self, path: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
        """The keys that may stand beside the one at `path`: a record has only its model's."""
        names = _keys(model)
        parent = self.raw
        for part in path[:-1]:
            parent = parent[part]
        if model is Material and (word := _word(parent, "model")) in MATERIAL_FIELDS:
            numbers = MATERIAL_FIELDS[word]
            names = [name for name in names if name in numbers or name not in MATERIAL_NUMBERS]
        if model is Shape:
            others = {key for keys in KIND_KEYS.values() for key in keys}
            others |= {key for keys in ROLE_KEYS.values() for key in keys}
            own = {*KIND_KEYS.get(_word(parent, "kind"), others)}
            own |= {*ROLE_KEYS.get(_word(parent, "role"), others)}
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
            rest = f"{len(faults) - MAX_FAULTS + self.uncounted} more faults"
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


def _word(table: dict[str, Any], key: str) -> str | None:
    """What a table says under a key, if it is text: anything may stand there."""
    value = table.get(key)
    return value if isinstance(value, str) else None


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
            part = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else show(part)
            text += f".{part}" if text else part
    return text
