"""The scene menu: every shipped scene with what it shows, after the user's own."""

from __future__ import annotations

from pathlib import Path

from imgui_bundle import imgui

from app.ui import style
from app.ui.catalog import SceneEntry
from app.ui.panels.widgets import mark
from app.ui.workbench import Workbench

FLAGS = (
    imgui.WindowFlags_.no_title_bar
    | imgui.WindowFlags_.no_resize
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
)
WIDTH_EMS = 30.0


def draw(
    bench: Workbench,
    entries: list[SceneEntry],
    top: float,
    height: float,
    fonts: style.Fonts,
    *,
    appearing: bool,
) -> None:
    """Below the tool bar's scene button; a click elsewhere closes it."""
    imgui.set_next_window_pos((style.em(0.6), top + style.em(0.4)))
    imgui.set_next_window_size_constraints(
        (style.em(WIDTH_EMS), 0.0), (style.em(WIDTH_EMS), height - style.em(1.2))
    )
    imgui.set_next_window_size((style.em(WIDTH_EMS), 0.0))
    if appearing:
        imgui.set_next_window_focus()
    imgui.push_style_color(imgui.Col_.window_bg, style.CARD)
    imgui.push_style_var(imgui.StyleVar_.window_border_size, 1.0)
    imgui.begin("scene menu", None, FLAGS)
    mixed = len({entry.shipped for entry in entries}) == 2
    before = None
    for entry in entries:
        if mixed and entry.shipped != before:
            if before is not None:
                imgui.dummy((0.0, style.em(0.3)))
            before = entry.shipped
            title = "Scenes of Matterbox" if entry.shipped else str(entry.path.parent)
            imgui.text_colored(style.FAINT, title)
        if _row(entry, _same(entry.path, bench.scene_path), fonts):
            bench.open_scene(entry.path)
    away = imgui.is_mouse_clicked(imgui.MouseButton_.left) and not imgui.is_window_hovered(
        imgui.HoveredFlags_.root_and_child_windows
        | imgui.HoveredFlags_.allow_when_blocked_by_active_item
    )
    imgui.end()
    imgui.pop_style_var()
    imgui.pop_style_color()
    # The scene button toggles the menu by itself.
    if away and not appearing and imgui.get_io().mouse_pos.y > top:
        bench.scenes_shown = False


def _row(entry: SceneEntry, current: bool, fonts: style.Fonts) -> bool:
    width = imgui.get_content_region_avail().x
    pad = style.em(0.55)
    wrap = width - 2 * pad
    text_height = imgui.calc_text_size(entry.description, False, wrap).y if entry.description else 0
    height = imgui.get_text_line_height() + text_height + 2 * pad * 0.8 + style.em(0.15)
    pressed = imgui.invisible_button(f"scene {entry.path}", (width, height))
    mark(f"scene.{entry.path.stem}")
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    draw = imgui.get_window_draw_list()
    if imgui.is_item_hovered():
        draw.add_rect_filled(low, high, style.u32(style.FIELD_HOVERED), style.em(0.45))
    if current:
        draw.add_rect_filled(
            (low.x, low.y + pad),
            (low.x + style.em(0.16), high.y - pad),
            style.u32(style.ACCENT),
            2.0,
        )
    y = low.y + pad * 0.8
    imgui.push_font(fonts.bold, 0.0)
    draw.add_text((low.x + pad, y), style.u32(style.ACCENT if current else style.TEXT), entry.name)
    imgui.pop_font()
    if entry.description:
        draw.add_text(
            fonts.regular,
            imgui.get_font_size(),
            (low.x + pad, y + imgui.get_text_line_height() + style.em(0.15)),
            style.u32(style.DIM),
            entry.description,
            wrap,
        )
    return pressed


def _same(path: Path, other: Path | None) -> bool:
    return other is not None and path == other.resolve()
