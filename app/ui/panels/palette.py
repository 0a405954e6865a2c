"""The tools, the brush, and the materials to paint with."""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import keys, style
from app.ui.panels import icons
from app.ui.panels.widgets import button, mark, slider, tip_with_key, tooltip
from app.ui.tools import TOOLS
from app.ui.tools.brush import PUSH_LIMITS
from app.ui.track import Track
from app.ui.workbench import Workbench


def draw(bench: Workbench) -> None:
    spacing = style.em(0.4)
    width = imgui.get_content_region_avail().x
    count = len(TOOLS)
    size = ((width - (count - 1) * spacing) / count, style.em(3.3))
    for index, tool in enumerate(TOOLS.values()):
        if index:
            imgui.same_line(0.0, spacing)
        if _tool(tool.name, tool.label, size, chosen=tool.name == bench.tool_name):
            bench.act(f"tool_{tool.name}")
        tooltip(tip_with_key(tool.help, keys.shortcut(f"tool_{tool.name}")))
    imgui.dummy((0.0, style.em(0.1)))

    brush = bench.brush
    smallest, largest = brush.radius_limits
    radius = slider(
        "brush.radius",
        "Brush radius",
        brush.radius,
        Track(smallest, largest, smallest, largest, True, "m"),
        "Radius of the ring. The mouse wheel over the scene sets it too.",
    )
    if radius is not None:
        brush.set_radius(radius)
    if bench.tool_name == "push":
        low, high = PUSH_LIMITS
        acceleration = slider(
            "brush.acceleration",
            "Push",
            brush.acceleration,
            Track(low, high, low, high, True, "m/s^2"),
            "Acceleration at the center of the ring; it fades to nothing at the rim.",
        )
        if acceleration is not None:
            brush.set_acceleration(acceleration)
    if bench.tool_name == "paint":
        _swatches(bench)


def _tool(name: str, label: str, size: tuple[float, float], *, chosen: bool) -> bool:
    """An icon over a word."""
    pressed = button(f"tool.{name}", "", size=size, active=chosen)
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    draw = imgui.get_window_draw_list()
    color = style.u32(style.mix(style.TEXT, style.ACCENT, 0.35) if chosen else style.DIM)
    middle = (low.x + high.x) / 2
    icon = icons.TOOLS[name]
    imgui.push_font(None, style.FONT_SIZE * 1.15)
    extent = imgui.calc_text_size(icon)
    draw.add_text((middle - extent.x / 2, low.y + style.em(0.38)), color, icon)
    imgui.pop_font()
    imgui.push_font(None, style.FONT_SIZE * 0.87)
    extent = imgui.calc_text_size(label)
    draw.add_text((middle - extent.x / 2, high.y - extent.y - style.em(0.35)), color, label)
    imgui.pop_font()
    return pressed


def _swatches(bench: Workbench) -> None:
    """A chip of colour and a name for each material of the scene."""
    spacing = style.em(0.4)
    width = (imgui.get_content_region_avail().x - spacing) / 2
    height = style.em(2.05)
    for index, (name, material) in enumerate(bench.session.simulation.materials.items()):
        if index % 2:
            imgui.same_line(0.0, spacing)
        chosen = name == bench.brush.material
        if imgui.invisible_button(f"swatch {name}", (width, height)):
            bench.brush.material = name
        mark(f"swatch.{name}")
        tooltip(f"{name}: {material.model}, painted where there is room")
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        hovered = imgui.is_item_hovered()
        draw = imgui.get_window_draw_list()
        rounding = imgui.get_style().frame_rounding
        fill = style.FIELD_HOVERED if hovered or chosen else style.FIELD
        draw.add_rect_filled(low, high, style.u32(fill), rounding)
        if chosen:
            draw.add_rect(low, high, style.u32(style.ACCENT), rounding=rounding, thickness=1.5)
        middle = (low.y + high.y) / 2
        radius = style.em(0.5)
        center = (low.x + style.em(0.6) + radius, middle)
        color = style.from_hex(material.color)
        draw.add_circle_filled(center, radius, style.u32(color), 32)
        draw.add_circle(center, radius, style.u32(style.TEXT, 0.25), 32, 1.0)
        draw.push_clip_rect(low, (high.x - style.em(0.3), high.y), True)
        draw.add_text(
            (center[0] + radius + style.em(0.5), middle - imgui.get_font_size() / 2),
            style.u32(style.TEXT if chosen else style.DIM),
            name,
        )
        draw.pop_clip_rect()
