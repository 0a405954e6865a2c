"""Environment: gravity and damping, which belong to the scene as a whole."""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import style
from app.ui.panels.widgets import dial, slider
from app.ui.track import Track
from app.ui.workbench import Workbench

GRAVITY_REACH = 25.0  # [m/s^2] at the sliders' ends, or more where a scene starts with more
GRAVITY_LIMIT = 1.0e3  # [m/s^2] that can be typed
DAMPING_LIMIT = 1.0e3  # [1/s] that can be typed
DAMPING_REACH = 10.0  # [1/s]


def draw(bench: Workbench) -> None:
    scene = bench.scene
    start = scene.environment
    gravity = bench.gravity
    reach = max(GRAVITY_REACH, 1.5 * max(abs(part) for part in start.gravity))
    radius = style.em(2.15)
    origin = imgui.get_cursor_pos()
    width = imgui.get_content_region_avail().x

    pulled = dial("environment.gravity", gravity, radius, reach)
    below = imgui.get_cursor_pos()
    if pulled is not None:
        bench.set_gravity(pulled)

    left = 2 * radius + style.em(0.9)
    imgui.set_cursor_pos((origin.x + left, origin.y + style.em(0.05)))
    imgui.begin_child("gravity", (width - left, 2 * radius))
    track = Track(-reach, reach, -GRAVITY_LIMIT, GRAVITY_LIMIT, unit="m/s^2")
    for axis, label in enumerate(("Gravity x", "Gravity y")):
        value = slider(
            f"environment.gravity_{'xy'[axis]}",
            label,
            gravity[axis],
            track,
            "Acceleration of everything in the scene.",
            changed_from=start.gravity[axis],
            label_part=0.36,
        )
        if value is not None:
            bench.set_gravity((value, gravity[1]) if axis == 0 else (gravity[0], value))
    imgui.end_child()
    imgui.set_cursor_pos((origin.x, below.y + style.em(0.15)))

    damping = slider(
        "environment.damping",
        "Damping",
        bench.damping,
        Track(0.0, max(DAMPING_REACH, start.damping * 10.0), 0.0, DAMPING_LIMIT, True, "1/s"),
        "Rate at which all motion dies away: velocities shrink by exp(-damping · time).",
        changed_from=start.damping,
    )
    if damping is not None:
        bench.set_damping(damping)
