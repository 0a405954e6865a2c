"""Fonts, colours and spacing of the panels: dark, quiet, and in proportion to the font's size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imgui_bundle
from imgui_bundle import imgui

FONT_SIZE = 15.0  # [px] at 96 dots per inch
SIDE_BAR_EMS = 21.5  # about 320 px
TOOL_BAR_EMS = 2.9
STATUS_LINE_EMS = 1.85
TIMELINE_EMS = 2.3


def _color(text: str, alpha: float = 1.0) -> imgui.ImVec4:
    red, green, blue = (int(text[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return imgui.ImVec4(red, green, blue, alpha)


TEXT = _color("#dfe7f2")
DIM = _color("#8b98ad")
FAINT = _color("#56627a")
ACCENT = _color("#5db2ff")
GOOD = _color("#6fd49a")
WARNING = _color("#f5bd62")
BAD = _color("#ff7168")
PANEL = _color("#11161f")
CARD = _color("#161d28", 0.98)
FIELD = _color("#1b2330")
FIELD_HOVERED = _color("#232d3d")
FIELD_ACTIVE = _color("#2b374a")
LINE = _color("#222b39")


class Fonts:
    """Regular and bold text, each with the icons merged in."""

    def __init__(self) -> None:
        folder = Path(imgui_bundle.__file__).parent / "assets" / "fonts"
        self.regular = _font(folder / "Roboto" / "Roboto-Regular.ttf", folder)
        self.bold = _font(folder / "Roboto" / "Roboto-Bold.ttf", folder)


def _font(path: Path, folder: Path) -> Any:
    """A font from imgui_bundle's own assets (Roboto: Apache 2.0, Font Awesome: OFL 1.1)."""
    atlas = imgui.get_io().fonts
    if not path.is_file():
        return atlas.add_font_default()
    font = atlas.add_font_from_file_ttf(str(path), FONT_SIZE)
    icons = folder / "Font_Awesome_6_Free-Solid-900.otf"
    if icons.is_file():
        config = imgui.ImFontConfig()
        config.merge_mode = True
        config.glyph_min_advance_x = FONT_SIZE * 1.15
        atlas.add_font_from_file_ttf(str(icons), FONT_SIZE * 0.87, config)
    return font


def apply(scale: float) -> None:
    """Set ImGui's style for a screen of this scale (1 at 96 dots per inch)."""
    style = imgui.get_style()
    for name, value in {
        "window_padding": (12.0, 10.0),
        "frame_padding": (8.0, 5.0),
        "item_spacing": (8.0, 6.0),
        "item_inner_spacing": (6.0, 4.0),
        "scrollbar_size": 10.0,
        "grab_min_size": 10.0,
        "window_rounding": 10.0,
        "child_rounding": 8.0,
        "frame_rounding": 6.0,
        "popup_rounding": 8.0,
        "scrollbar_rounding": 6.0,
        "grab_rounding": 6.0,
        "tab_rounding": 6.0,
        "window_border_size": 0.0,
        "popup_border_size": 1.0,
        "frame_border_size": 0.0,
        "indent_spacing": 14.0,
    }.items():
        setattr(style, name, value)
    for name, color in {
        "text": TEXT,
        "text_disabled": DIM,
        "window_bg": PANEL,
        "child_bg": _color("#000000", 0.0),
        "popup_bg": CARD,
        "border": LINE,
        "frame_bg": FIELD,
        "frame_bg_hovered": FIELD_HOVERED,
        "frame_bg_active": FIELD_ACTIVE,
        "button": FIELD,
        "button_hovered": FIELD_HOVERED,
        "button_active": FIELD_ACTIVE,
        "header": _color("#000000", 0.0),
        "header_hovered": FIELD_HOVERED,
        "header_active": FIELD_ACTIVE,
        "separator": LINE,
        "slider_grab": ACCENT,
        "slider_grab_active": ACCENT,
        "check_mark": ACCENT,
        "scrollbar_bg": _color("#000000", 0.0),
        "scrollbar_grab": _color("#2a3445"),
        "scrollbar_grab_hovered": _color("#364359"),
        "scrollbar_grab_active": _color("#42516b"),
        "text_selected_bg": _color("#5db2ff", 0.35),
        "plot_lines": ACCENT,
        "plot_histogram": ACCENT,
        "modal_window_dim_bg": _color("#05070a", 0.55),
        "nav_cursor": _color("#000000", 0.0),
    }.items():
        style.set_color_(getattr(imgui.Col_, name), color)
    if scale != 1.0:
        style.scale_all_sizes(scale)
    style.font_size_base = FONT_SIZE
    style.font_scale_dpi = scale


def em(count: float = 1.0) -> float:
    """Lengths in multiples of the font's size [px]: they follow the screen's scale."""
    return count * imgui.get_font_size()


def u32(color: imgui.ImVec4, alpha: float = 1.0) -> int:
    """A colour for a draw list."""
    return imgui.get_color_u32(imgui.ImVec4(color.x, color.y, color.z, color.w * alpha))


def from_hex(color: str) -> imgui.ImVec4:
    """The colour of a material record, "#rrggbb"."""
    return _color(color)


def mix(one: imgui.ImVec4, other: imgui.ImVec4, part: float) -> imgui.ImVec4:
    return imgui.ImVec4(
        *(
            a + (b - a) * part
            for a, b in zip(
                (one.x, one.y, one.z, one.w), (other.x, other.y, other.z, other.w), strict=True
            )
        )
    )
