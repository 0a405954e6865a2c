"""The scenes that the menu offers: those beside the one that is open, and the shipped ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

MAX_BESIDE = 60  # files of a user's folder that are listed; a menu is no file browser


@dataclass(frozen=True)
class SceneEntry:
    """A line of the scene menu. `shipped`: one of Matterbox's own scenes."""

    path: Path
    name: str
    description: str
    shipped: bool


def entries(current: Path | None) -> list[SceneEntry]:
    """Scene files beside the current scene, if that is a user's; then the shipped scenes."""
    from app.scene import list_scenes

    shipped = [Path(path).resolve() for path in list_scenes()]
    listed = []
    if current is not None and current.parent.is_dir():
        beside = (path.resolve() for path in sorted(current.parent.glob("*.toml")))
        own = [path for path in beside if path not in shipped]
        found = [read_entry(path, shipped=False) for path in own[:MAX_BESIDE]]
        # Other TOML files lie about in a folder; only what looks like a scene is offered.
        listed = [entry for entry in found if entry.name or entry.path == current.resolve()]
    listed += [read_entry(path, shipped=True) for path in shipped]
    return [
        entry if entry.name else SceneEntry(entry.path, entry.path.stem, "", entry.shipped)
        for entry in listed
    ]


def read_entry(path: Path, *, shipped: bool) -> SceneEntry:
    """Name and description only; a file that is no scene gets an empty name, not an error.

    Validation happens when the scene is opened, where its faults can be shown.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return SceneEntry(path, path.stem if shipped else "", "", shipped)
    name, description = table.get("name"), table.get("description", "")
    looks_like_scene = isinstance(name, str) and "format" in table and "domain" in table
    return SceneEntry(
        path,
        name if looks_like_scene else "",
        " ".join(description.split()) if isinstance(description, str) else "",
        shipped,
    )
