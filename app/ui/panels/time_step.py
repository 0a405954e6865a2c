"""Time step: the two CFL limits, which of them binds, and what the ladder made of it."""

from __future__ import annotations

import itertools
import math

from imgui_bundle import imgui

from app.ui import style
from app.ui.panels.widgets import row, tooltip
from app.ui.quantities import digits, quantity
from app.ui.workbench import Workbench

BINDING = {
    "advective": "advective limit",
    "acoustic": "acoustic limit",
    "minimum": "scene's minimum",
    "maximum": "scene's maximum",
}
BINDING_HELP = {
    "advective": "The fastest matter decides: it may not cross more than a cell in a substep.",
    "acoustic": "The fastest wave decides: it may not cross more than a cell in a substep.",
    "minimum": "No limit needs more substeps than the scene runs at least.",
    "maximum": "More substeps are needed than the scene allows; motion is capped at one cell "
    "a substep, and the capped nodes are counted below.",
}


def draw(bench: Workbench, fonts: style.Fonts) -> None:
    status = bench.status
    short = status.required_substeps > status.max_substeps
    _headline(status, fonts, short)
    _gauge(status, short)
    _history(bench, short)
    row(
        "Set by",
        BINDING.get(status.binding, status.binding),
        color=style.BAD if status.binding == "maximum" else style.TEXT,
        tip=BINDING_HELP.get(status.binding, ""),
    )
    _limit(
        "Advective limit",
        status.advective_dt,
        status.dt,
        binds=status.binding == "advective",
        tip="Longest substep in which no matter crosses more than a cell. It always binds.",
    )
    acoustic_binds = bench.scene.solver.acoustic_binds
    _limit(
        "Acoustic limit",
        status.acoustic_dt,
        status.dt,
        binds=status.binding == "acoustic",
        informative=not acoustic_binds,
        tip="Longest substep in which no sound wave crosses more than a cell. "
        + ("The scene lets it bind." if acoustic_binds else "This scene only shows it."),
    )
    row("Fastest |v| + 1.5 dx |C|", quantity(status.advective_speed, "m/s"))
    row("Substep dt", quantity(status.dt, "s"))
    row(
        "Method",
        f"{bench.scene.solver.method}, {status.rounds} rounds",
        tip="The constraint policy, and its rounds in each substep.",
    )
    if status.materials:
        _acoustics(bench)


def _headline(status: object, fonts: style.Fonts, short: bool) -> None:
    """The number that matters, large."""
    start = imgui.get_cursor_pos()
    width = imgui.get_content_region_avail().x
    imgui.push_font(fonts.bold, style.FONT_SIZE * 1.7)
    color = style.BAD if short else style.TEXT
    imgui.text_colored(color, str(status.substeps))
    number = imgui.get_item_rect_size()
    imgui.pop_font()
    line = start.y + number.y - imgui.get_text_line_height() - style.em(0.22)
    imgui.set_cursor_pos((start.x + number.x + style.em(0.4), line))
    imgui.text_colored(style.DIM, "substeps a tick")
    needed = f"{status.required_substeps} required"
    extent = imgui.calc_text_size(needed)
    imgui.set_cursor_pos((start.x + width - extent.x, line))
    imgui.text_colored(style.BAD if short else style.DIM, needed)
    imgui.set_cursor_pos((start.x, start.y + number.y + style.em(0.1)))


def _gauge(status: object, short: bool) -> None:
    """Substeps between the scene's minimum and maximum, on a logarithmic scale."""
    width, height = imgui.get_content_region_avail().x, style.em(0.42)
    position = imgui.get_cursor_screen_pos()
    imgui.dummy((width, height))
    tooltip(f"From {status.min_substeps} to {status.max_substeps} substeps, as the scene allows.")
    low, high = status.min_substeps, max(status.max_substeps, status.min_substeps + 1)

    def place(count: float) -> float:
        part = math.log(max(count, low) / low) / math.log(high / low)
        return position.x + width * min(max(part, 0.0), 1.0)

    draw = imgui.get_window_draw_list()
    bottom = position.y + height
    draw.add_rect_filled(position, (position.x + width, bottom), style.u32(style.FIELD), height / 2)
    color = style.BAD if short else style.ACCENT
    filled = max(place(status.substeps), position.x + height)
    draw.add_rect_filled(position, (filled, bottom), style.u32(color, 0.75), height / 2)
    needed = place(status.required_substeps)
    draw.add_line(
        (needed, position.y - 2.0), (needed, bottom + 2.0), style.u32(style.TEXT), style.em(0.12)
    )
    imgui.push_font(None, style.FONT_SIZE * 0.8)
    text = f"max {status.max_substeps}"
    extent = imgui.calc_text_size(text)
    start = imgui.get_cursor_pos()
    imgui.text_colored(style.FAINT, f"min {status.min_substeps}")
    imgui.set_cursor_pos((start.x + width - extent.x, start.y))
    imgui.text_colored(style.FAINT, text)
    imgui.pop_font()


def _history(bench: Workbench, short: bool) -> None:
    """Substeps (filled) and required ones (line) over the last ticks."""
    width, height = imgui.get_content_region_avail().x, style.em(2.6)
    position = imgui.get_cursor_screen_pos()
    imgui.dummy((width, height))
    tooltip("Substeps over the last ticks, and as a line what the limits required.")
    draw = imgui.get_window_draw_list()
    low, high = position, (position.x + width, position.y + height)
    draw.add_rect_filled(low, high, style.u32(style.FIELD, 0.6), style.em(0.3))
    history = list(bench.substep_history)
    if not history:
        return
    top = max(bench.status.max_substeps, 1) * 1.15
    capacity = bench.substep_history.maxlen or len(history)
    step = width / capacity
    left = high[0] - step * len(history)

    def y(count: float) -> float:
        return high[1] - min(count / top, 1.0) * (height - 2.0)

    runs: list[tuple[int, int, int]] = []  # equal neighbours become one bar
    for index, (count, _required) in enumerate(history):
        if runs and runs[-1][2] == count:
            runs[-1] = (runs[-1][0], index + 1, count)
        else:
            runs.append((index, index + 1, count))
    draw.push_clip_rect(low, high, True)
    for start, stop, count in runs:
        draw.add_rect_filled(
            (left + start * step, y(count)),
            (left + stop * step, high[1]),
            style.u32(style.ACCENT, 0.28),
        )
    points = [
        imgui.ImVec2(left + (index + 0.5) * step, y(required))
        for index, (_count, required) in enumerate(history)
    ]
    color = style.u32(style.BAD if short else style.TEXT, 0.8)
    for one, other in itertools.pairwise(points):
        draw.add_line(one, other, color, style.em(0.09))
    limit = y(bench.status.max_substeps)
    draw.add_line((low.x, limit), (high[0], limit), style.u32(style.FAINT, 0.8), 1.0)
    draw.pop_clip_rect()


def _limit(
    label: str, limit: float, dt: float, *, binds: bool, tip: str, informative: bool = False
) -> None:
    value = quantity(limit, "s") if math.isfinite(limit) else "none"
    color = style.TEXT
    if binds:
        value, color = f"binds  {value}", style.ACCENT
    elif dt > limit * 1.0001:
        value = f"exceeded  {value}" if not informative else value
        color = style.DIM if informative else style.WARNING
    row(label, value, color=color, tip=tip)


def _acoustics(bench: Workbench) -> None:
    """A table: each material's acoustic CFL, and how much of its stiffness the rounds leave it."""
    entries = bench.status.materials
    shares = any(entry.stiffness_share is not None for entry in entries)
    width = imgui.get_content_region_avail().x
    share_width = style.em(3.6) if shares else 0.0
    start = imgui.get_cursor_pos()
    imgui.set_cursor_pos((start.x, start.y + style.em(0.25)))
    imgui.text_colored(style.FAINT, "Acoustic CFL")
    tooltip("Cells that a wave crosses in one substep, c dt / dx. The tick on the bar is 1.")
    if shares:
        extent = imgui.calc_text_size("stiffness")
        imgui.set_cursor_pos((start.x + width - extent.x, start.y + style.em(0.25)))
        imgui.text_colored(style.FAINT, "stiffness")
        tooltip(
            "What the rounds leave of the record's modulus in smooth motion at this substep. "
            "More rounds or more substeps make it exact."
        )
    for entry in entries:
        _acoustic(bench, entry, width, share_width)


def _acoustic(bench: Workbench, entry: object, width: float, share_width: float) -> None:
    start, position = imgui.get_cursor_pos(), imgui.get_cursor_screen_pos()
    material = bench.session.simulation.materials[entry.name]
    present = entry.live > 0
    text_color = style.TEXT if present else style.FAINT
    middle = position.y + imgui.get_text_line_height() / 2
    draw = imgui.get_window_draw_list()

    radius = style.em(0.28)
    center = (position.x + radius, middle)
    draw.add_circle_filled(center, radius, style.u32(style.from_hex(material.color)), 20)
    imgui.set_cursor_pos((start.x + style.em(0.95), start.y))
    imgui.text_colored(text_color, entry.name)
    tooltip(
        f"Wave speed {quantity(entry.wave_speed, 'm/s')}"
        + ("" if present else "; none of it is in the scene now")
    )

    thick = style.em(0.28)
    left = position.x + width * 0.42
    right = position.x + width - share_width - style.em(3.1)
    top, bottom = middle - thick / 2, middle + thick / 2
    draw.add_rect_filled((left, top), (right, bottom), style.u32(style.FIELD), thick / 2)
    filled = max((right - left) * _cfl_part(entry.acoustic_cfl), thick)
    color = style.u32(style.ACCENT, 0.85 if present else 0.3)
    draw.add_rect_filled((left, top), (left + filled, bottom), color, thick / 2)
    one = left + (right - left) * _cfl_part(1.0)
    draw.add_line((one, middle - thick), (one, middle + thick), style.u32(style.DIM), 1.0)

    value = digits(entry.acoustic_cfl)
    extent = imgui.calc_text_size(value)
    imgui.set_cursor_pos((start.x + width - share_width - extent.x, start.y))
    imgui.text_colored(text_color, value)
    if entry.stiffness_share is not None:
        share = entry.stiffness_share
        text = "exact" if share > 0.995 else f"{share:.0%}"
        color = style.GOOD if share > 0.995 else style.WARNING if share < 0.9 else style.TEXT
        extent = imgui.calc_text_size(text)
        imgui.set_cursor_pos((start.x + width - extent.x, start.y))
        imgui.text_colored(color if present else style.FAINT, text)


def _cfl_part(cfl: float) -> float:
    """Place on a logarithmic scale from 0.01 to 100."""
    if not cfl > 0.0:
        return 0.0
    return min(max((math.log10(cfl) + 2.0) / 4.0, 0.0), 1.0)
