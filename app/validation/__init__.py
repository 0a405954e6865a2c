"""Gates that hold the physics against theory, experiments and conservation laws.

Each file is one gate: its scenes as TOML, what is measured, the theory with its source, the limit,
a variant that is wrong on purpose and must be rejected, and the curves of its figure. `matterbox
validate` runs them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches

from app.errors import MatterboxError
from app.validation.gate import Check, Gate, Measurement, World

__all__ = ["NAMES", "Check", "Gate", "Measurement", "World", "gates"]

NAMES = (
    "cantilever",
    "hydrostatic",
    "bar",
    "bodies",
    "incline",
    "rotation",
    "policies",
    "sloshing",
    "dam_break",
    "sand_collapse",
    "poiseuille",
    "bingham",
    "energy",
    "bounded",
    "snow",
    "clay",
    "scatter_order",
)
"""Every gate, by the name of its file."""


def gates(names: Iterable[str] = ()) -> list[Gate]:
    """The gates of these names, or all. Raises MatterboxError for a name that is none."""
    wanted = list(names) or list(NAMES)
    for name in wanted:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise MatterboxError(f"there is no gate {name!r}{hint} (there are: {', '.join(NAMES)})")
    return [importlib.import_module(f"app.validation.{name}").GATE for name in wanted]
