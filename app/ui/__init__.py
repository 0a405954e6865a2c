"""The window: ImGui panels and mouse tools over the drawn scene.

Nothing here changes a simulation except by `session.emit(event)`. Importing this package is cheap;
pyglet, OpenGL and ImGui are imported when a window is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def run_window(
    scene_path: str | Path | None,
    *,
    arch: str = "auto",
    record: str | Path | None = None,
    replay: Any = None,
    seed: int | None = None,
) -> int:
    """Open the sandbox window and run it until it is closed; see `app.ui.window.run_window`."""
    from app.ui.window import run_window as run

    return run(scene_path, arch=arch, record=record, replay=replay, seed=seed)
