"""Materials: the record of each material of the scene. Gravity and damping are not among them."""

from __future__ import annotations

from imgui_bundle import imgui

from app.scene import MATERIAL_FIELDS
from app.ui import style
from app.ui.panels.widgets import mark, slider, state
from app.ui.quantities import grouped
from app.ui.track import field_track
from app.ui.workbench import Workbench


def draw(bench: Workbench) -> None:
    live = {entry.name: entry.live for entry in bench.status.materials}
    for name, material in bench.session.simulation.materials.items():
        if _heading(name, material, live.get(name, 0)):
            _record(bench, name, material)


def _heading(name: str, material: object, live: int) -> bool:
    width, height = imgui.get_content_region_avail().x, style.em(1.8)
    if imgui.invisible_button(f"material {name}", (width, height)):
        state.toggle(f"material.{name}")
    mark(f"material.{name}")
    opened = state.folds.get(f"material.{name}", False)
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    hovered = imgui.is_item_hovered()
    draw = imgui.get_window_draw_list()
    if hovered or opened:
        draw.add_rect_filled(
            low,
            high,
            style.u32(style.FIELD_HOVERED if hovered else style.FIELD),
            imgui.get_style().frame_rounding,
        )
    middle = (low.y + high.y) / 2
    radius = style.em(0.42)
    center = (low.x + style.em(0.4) + radius, middle)
    draw.add_circle_filled(center, radius, style.u32(style.from_hex(material.color)), 32)
    text_y = middle - imgui.get_font_size() / 2
    text_x = center[0] + radius + style.em(0.5)
    draw.add_text((text_x, text_y), style.u32(style.TEXT), name)
    extent = imgui.calc_text_size(name)
    draw.add_text(
        (text_x + extent.x + style.em(0.6), text_y), style.u32(style.FAINT), material.model
    )
    count = grouped(live)
    extent = imgui.calc_text_size(count)
    draw.add_text((high.x - extent.x - style.em(0.5), text_y), style.u32(style.DIM), count)
    return opened


def _record(bench: Workbench, name: str, material: object) -> None:
    """The record's fields, each with the scene's own value to go back to."""
    start = bench.scene.materials[name]
    imgui.indent(style.em(0.5))
    for field, spec in MATERIAL_FIELDS[material.model].items():
        own = getattr(start, field)
        track = field_track(spec.minimum, spec.maximum, own or spec.default, spec.unit)
        label = spec.label[:1].upper() + spec.label[1:]
        value = slider(
            f"material.{name}.{field}",
            label,
            bench.material_value(name, field),
            track,
            spec.help,
            changed_from=own,
        )
        if value is not None:
            bench.set_material(name, field, value)
    imgui.unindent(style.em(0.5))
    imgui.dummy((0.0, style.em(0.15)))
