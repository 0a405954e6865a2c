"""The line along the bottom: how fast it runs, how full it is, and every counter that fired."""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import style
from app.ui.panels.tool_bar import FLAGS
from app.ui.panels.widgets import mark, tooltip
from app.ui.quantities import clock, digits, grouped
from app.ui.workbench import Workbench


def draw(bench: Workbench, top: float, width: float, height: float) -> None:
    imgui.set_next_window_pos((0.0, top))
    imgui.set_next_window_size((width, height))
    imgui.push_style_var(imgui.StyleVar_.window_rounding, 0.0)
    imgui.push_style_var(imgui.StyleVar_.window_min_size, (1.0, 1.0))
    imgui.push_style_var(
        imgui.StyleVar_.window_padding,
        (style.em(0.9), (height - imgui.get_text_line_height()) / 2),
    )
    imgui.begin("status line", None, FLAGS)
    imgui.pop_style_var(3)
    status, session = bench.status, bench.session
    _item(clock(status.time), f"Time of the world: {digits(status.time)} s, tick {status.tick}")
    _item(f"{bench.frames_per_second:.0f} fps", "Frames drawn a second")
    _item(f"{session.ms_per_tick:.1f} ms/tick", "Wall time of one tick")
    speed = session.simulation_speed
    slow = not session.paused and speed < 0.95 * session.speed
    shown = "paused" if session.paused else f"{speed * 100:.0f}% speed"
    _item(
        shown,
        "Simulated seconds per second that are reached. A slow machine runs slow: "
        "the physics stays the same.",
        color=style.WARNING if slow else None,
    )
    full = status.free == 0
    _item(
        f"{grouped(status.live)} / {grouped(status.capacity)} particles",
        f"{status.live} live, {status.free} free slots, capacity {status.capacity}",
        color=style.WARNING if full else None,
    )
    _item(f"{status.substeps} substeps", "Substeps a tick; see Time step in the panel")
    for name, count in status.counters.items():
        if count:
            _item(
                f"{name.replace('_', ' ')} {grouped(count)}",
                COUNTERS.get(name, "A clamp or an overflow fired this often."),
                color=style.WARNING,
            )
            mark(f"counter.{name}")
    device = f"{session.simulation.arch} · {session.simulation.device}"
    extent = imgui.calc_text_size(device)
    right = width - extent.x - style.em(0.9)
    if right > imgui.get_cursor_pos_x() + style.em(1.0):
        imgui.same_line(right)
        imgui.text_colored(style.FAINT, device)
    imgui.end()


COUNTERS: dict[str, str] = {}


def _item(text: str, tip: str, *, color: imgui.ImVec4 | None = None) -> None:
    imgui.text_colored(color or style.DIM, text)
    tooltip(tip)
    imgui.same_line(0.0, style.em(1.3))
