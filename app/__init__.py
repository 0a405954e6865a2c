"""Matterbox: a desktop sandbox for playing with matter in real time.

    from app import Simulation

    simulation = Simulation.from_scene("scenes/dam_break.toml", arch="cpu")
    simulation.step(60)
    simulation.positions()  # float32 (n, 2), metres

Importing the package loads neither Taichi nor pyglet nor NumPy: what it offers is looked up on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.scene import Scene
    from app.simulation import Simulation
    from app.snapshot import Snapshot

__all__ = ["Scene", "Simulation", "Snapshot", "__version__"]

__version__ = "0.1.0"

_HOME_OF = {"Scene": "app.scene", "Simulation": "app.simulation", "Snapshot": "app.snapshot"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
