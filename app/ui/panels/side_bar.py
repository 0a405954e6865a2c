"""The docked bar at the right: tools, Environment, Materials, Time step; each its own section."""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import style
from app.ui.panels import environment, icons, materials, palette, time_step
from app.ui.panels.tool_bar import FLAGS
from app.ui.panels.widgets import section
from app.ui.workbench import Workbench


def draw(
    bench: Workbench, left: float, top: float, width: float, height: float, fonts: style.Fonts
) -> None:
    imgui.set_next_window_pos((left, top))
    imgui.set_next_window_size((width, height))
    imgui.push_style_var(imgui.StyleVar_.window_rounding, 0.0)
    flags = FLAGS & ~imgui.WindowFlags_.no_scrollbar
    imgui.begin("side bar", None, flags)
    imgui.pop_style_var()
    # The scrollbar may come and go; the widgets keep their width.
    inner = width - 2 * imgui.get_style().window_padding.x - imgui.get_style().scrollbar_size * 0.4
    imgui.begin_child("sections", (inner, 0.0), imgui.ChildFlags_.auto_resize_y)
    frozen = not bench.editable
    if frozen:
        imgui.begin_disabled()
    palette.draw(bench)
    space()
    if section("environment", icons.ENVIRONMENT, "Environment"):
        environment.draw(bench)
        space()
    if section("materials", icons.MATERIALS, "Materials"):
        materials.draw(bench)
        space()
    if frozen:
        imgui.end_disabled()
    if section("time_step", icons.TIME_STEP, "Time step"):
        time_step.draw(bench, fonts)
        space()
    warnings = bench.scene.warnings
    if warnings and section(
        "warnings", icons.WARNING, "Warnings", open_first=False, note=str(len(warnings))
    ):
        for text in warnings:
            imgui.push_text_wrap_pos(0.0)
            imgui.text_colored(style.WARNING, text)
            imgui.pop_text_wrap_pos()
        space()
    imgui.end_child()
    imgui.end()


def space() -> None:
    imgui.dummy((0.0, style.em(0.3)))
