"""The few widgets that all panels are made of, in one look."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from imgui_bundle import imgui

from app.ui import style
from app.ui.quantities import parse, quantity
from app.ui.track import Track

LONG_PRESS = 0.25  # [s]


@dataclass
class Typing:
    """The one slider whose value is being typed."""

    name: str = ""
    text: str = ""
    focus: bool = False


@dataclass
class PanelState:
    """What the panels remember from frame to frame, beside what ImGui remembers itself.

    places: where the named widgets of this frame are, (left, top, right, bottom) [ImGui's units, y
    down], for tests and for the status file, which drive the window from outside.
    folds: which sections and records are open.
    """

    places: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    folds: dict[str, bool] = field(default_factory=dict)
    typing: Typing = field(default_factory=Typing)

    def toggle(self, name: str) -> None:
        self.folds[name] = not self.folds.get(name, False)


state = PanelState()  # one, as there is one ImGui context


def mark(name: str) -> None:
    """Remember where the last item is."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    state.places[name] = (low.x, low.y, high.x, high.y)


def slider(
    name: str,
    label: str,
    value: float,
    track: Track,
    help_text: str = "",
    changed_from: float | None = None,
    label_part: float = 0.43,
) -> float | None:
    """A labelled quantity; returns the new value in a frame that changed it, else None.

    Drag to set; double-click or Ctrl+click to type a value with or without unit. `changed_from`:
    the scene's own value; where the shown one differs, a dot beside the label puts it back.
    label_part: of the width, for the label.
    """
    result: float | None = None
    imgui.push_id(name)
    width = imgui.get_content_region_avail().x
    label_width = width * label_part
    start = imgui.get_cursor_pos()
    height = imgui.get_frame_height()

    imgui.align_text_to_frame_padding()
    if changed_from is not None and value != changed_from:
        imgui.text(label)
        radius = style.em(0.2)
        text = imgui.get_item_rect_max()
        center = (text.x + 4 * radius, (text.y + imgui.get_item_rect_min().y) / 2)
        imgui.same_line(0.0, 2.0 * radius)
        if imgui.invisible_button("back", (4 * radius, height)):
            result = changed_from
        hovered = imgui.is_item_hovered()
        draw = imgui.get_window_draw_list()
        draw.add_circle_filled(center, radius * (1.5 if hovered else 1.0), style.u32(style.ACCENT))
        tooltip(f"Back to {quantity(changed_from, track.unit)}")
    else:
        imgui.text_colored(style.DIM, label)
    if help_text:
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        if imgui.is_mouse_hovering_rect(low, high) and imgui.is_window_hovered():
            imgui.set_tooltip(help_text)

    imgui.set_cursor_pos((start.x + label_width, start.y))
    size = (width - label_width, height)
    typed = _typed(name, size, value, track) if state.typing.name == name else None
    if typed is not None:
        result = typed
    elif state.typing.name != name:
        dragged = _dragged(size, value, track)
        if dragged is not None:
            result = dragged
        if imgui.is_item_clicked() and (
            imgui.get_io().key_ctrl or imgui.is_mouse_double_clicked(imgui.MouseButton_.left)
        ):
            state.typing.name, state.typing.focus = name, True
            state.typing.text = f"{value:.6g}"
            result = None
    mark(name)
    imgui.pop_id()
    return result if result != value else None


def _dragged(size: tuple[float, float], value: float, track: Track) -> float | None:
    """The slider itself: a filled bar with the value in it."""
    imgui.invisible_button("drag", size)
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    active, hovered = imgui.is_item_active(), imgui.is_item_hovered()
    result = None
    if active and not imgui.get_io().key_ctrl:
        mouse = imgui.get_io().mouse_pos
        inset = style.em(0.15)
        fraction = (mouse.x - low.x - inset) / max(high.x - low.x - 2 * inset, 1.0)
        # A click alone is no edit (it may be the first of two, to type); a drag or a long press is.
        meant = imgui.is_mouse_dragging(imgui.MouseButton_.left, 2.0)
        meant = meant or imgui.get_io().mouse_down_duration[0] > LONG_PRESS
        if meant and abs(track.fraction(value) - fraction) * (high.x - low.x) >= 0.5:
            result = track.value(fraction)
    if hovered or active:
        imgui.set_mouse_cursor(imgui.MouseCursor_.resize_ew)
    draw = imgui.get_window_draw_list()
    rounding = imgui.get_style().frame_rounding
    frame = style.FIELD_ACTIVE if active else style.FIELD_HOVERED if hovered else style.FIELD
    draw.add_rect_filled(low, high, style.u32(frame), rounding)
    shown = result if result is not None else value
    filled = low.x + (high.x - low.x) * track.fraction(shown)
    zero = low.x
    if track.low < 0.0 < track.high:
        zero = low.x + (high.x - low.x) * track.fraction(0.0)
    left, right = min(zero, filled), max(zero, filled)
    if right - left > 0.5:
        draw.push_clip_rect((left, low.y), (right, high.y), True)
        draw.add_rect_filled(low, high, style.u32(style.ACCENT, 0.42 if active else 0.26), rounding)
        draw.pop_clip_rect()
    text = quantity(shown, track.unit)
    extent = imgui.calc_text_size(text)
    text_left = high.x - extent.x - style.em(0.5)
    edge = min(max(filled, low.x + 1.0), high.x - 1.0)
    color, thickness = style.u32(style.ACCENT, 0.9), style.em(0.11)
    if edge < text_left - style.em(0.2):
        draw.add_line((edge, low.y + 3.0), (edge, high.y - 3.0), color, thickness)
    else:  # the mark lies under the text: only its ends are drawn
        part = style.em(0.3)
        draw.add_line((edge, low.y + 1.0), (edge, low.y + part), color, thickness)
        draw.add_line((edge, high.y - part), (edge, high.y - 1.0), color, thickness)
    draw.add_text((text_left, (low.y + high.y - extent.y) / 2), style.u32(style.TEXT), text)
    return result


def _typed(name: str, size: tuple[float, float], value: float, track: Track) -> float | None:
    """The slider while its value is typed."""
    imgui.set_next_item_width(size[0])
    if state.typing.focus:
        imgui.set_keyboard_focus_here()
    flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.auto_select_all
    entered, state.typing.text = imgui.input_text("##typed", state.typing.text, flags)
    if state.typing.focus:
        state.typing.focus = False
        return None
    if imgui.is_key_pressed(imgui.Key.escape):
        state.typing.name = ""
        return None
    if entered or imgui.is_item_deactivated():
        state.typing.name = ""
        number = parse(state.typing.text, track.unit)
        return None if number is None else track.clamp(number)
    return None


def section(name: str, icon: str, title: str, *, open_first: bool = True, note: str = "") -> bool:
    """A heading that folds what follows; `note` stands at its right end."""
    opened = state.folds.setdefault(f"section.{name}", open_first)
    width, height = imgui.get_content_region_avail().x, style.em(2.0)
    if imgui.invisible_button(f"section {name}", (width, height)):
        opened = state.folds[f"section.{name}"] = not opened
    mark(f"section.{name}")
    hovered = imgui.is_item_hovered()
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    draw = imgui.get_window_draw_list()
    draw.add_line((low.x, low.y), (high.x, low.y), style.u32(style.LINE), 1.0)
    middle = (low.y + high.y) / 2
    color = style.TEXT if hovered or opened else style.DIM
    text_y = middle - imgui.get_font_size() / 2
    draw.add_text((low.x, text_y), style.u32(style.ACCENT if opened else style.DIM), icon)
    draw.add_text((low.x + style.em(1.6), text_y), style.u32(color), title)
    if note:
        extent = imgui.calc_text_size(note)
        draw.add_text((high.x - extent.x - style.em(1.5), text_y), style.u32(style.DIM), note)
    _chevron(draw, (high.x - style.em(0.6), middle), opened, style.DIM)
    return opened


def _chevron(draw: imgui.ImDrawList, center: tuple[float, float], down: bool, color) -> None:
    x, y = center
    a = style.em(0.24)
    points = (
        [(x - a, y - a / 2), (x, y + a / 2), (x + a, y - a / 2)]
        if down
        else [(x - a / 2, y - a), (x + a / 2, y), (x - a / 2, y + a)]
    )
    for start, end in itertools.pairwise(points):
        draw.add_line(start, end, style.u32(color), style.em(0.1))


def button(
    name: str,
    text: str,
    *,
    size: tuple[float, float] = (0.0, 0.0),
    active: bool = False,
    quiet: bool = False,
    color: imgui.ImVec4 | None = None,
    tip: str = "",
    enabled: bool = True,
) -> bool:
    """A button with an icon or a text; `active` shows it as chosen, `quiet` without a frame."""
    pushed = 0
    if active:
        imgui.push_style_color(imgui.Col_.button, style.mix(style.FIELD, style.ACCENT, 0.30))
        imgui.push_style_color(imgui.Col_.button_hovered, style.mix(style.FIELD, style.ACCENT, 0.4))
        imgui.push_style_color(imgui.Col_.text, style.mix(style.TEXT, style.ACCENT, 0.25))
        pushed = 3
    elif quiet:
        imgui.push_style_color(imgui.Col_.button, imgui.ImVec4(0, 0, 0, 0))
        pushed = 1
    if color is not None:
        imgui.push_style_color(imgui.Col_.text, color)
        pushed += 1
    if not enabled:
        imgui.begin_disabled()
    pressed = imgui.button(f"{text}##{name}", size)
    if not enabled:
        imgui.end_disabled()
    mark(name)
    if pushed:
        imgui.pop_style_color(pushed)
    if tip:
        tooltip(tip)
    return pressed


def tooltip(text: str) -> None:
    """A hint over the last item."""
    if text and imgui.is_item_hovered(
        imgui.HoveredFlags_.delay_short | imgui.HoveredFlags_.allow_when_disabled
    ):
        imgui.begin_tooltip()
        imgui.push_text_wrap_pos(style.em(24))
        imgui.text(text)
        imgui.pop_text_wrap_pos()
        imgui.end_tooltip()


def tip_with_key(text: str, chord: str) -> str:
    return f"{text}  ({chord})" if chord else text


def row(label: str, value: str, *, color: imgui.ImVec4 | None = None, tip: str = "") -> None:
    """A line with a dim label at the left and its value at the right."""
    width = imgui.get_content_region_avail().x
    start = imgui.get_cursor_pos()
    imgui.text_colored(style.DIM, label)
    tooltip(tip)
    extent = imgui.calc_text_size(value)
    imgui.same_line()
    imgui.set_cursor_pos((start.x + width - extent.x, start.y))
    imgui.text_colored(color or style.TEXT, value)
    tooltip(tip)


def dial(
    name: str, vector: tuple[float, float], radius: float, reach: float
) -> tuple[float, float] | None:
    """A vector as an arrow in a disc; dragging its tip returns the new vector, else None.

    reach: the length [unit of the vector] of an arrow that touches the rim.
    """
    imgui.invisible_button(name, (2 * radius, 2 * radius))
    mark(name)
    low = imgui.get_item_rect_min()
    center = (low.x + radius, low.y + radius)
    active, hovered = imgui.is_item_active(), imgui.is_item_hovered()
    result = None
    if active and not imgui.is_item_activated():
        mouse = imgui.get_io().mouse_pos
        dx, dy = (mouse.x - center[0]) / radius * reach, (center[1] - mouse.y) / radius * reach
        length = math.hypot(dx, dy)
        if length > reach:
            dx, dy = dx * reach / length, dy * reach / length
        if length < 0.04 * reach:
            dx = dy = 0.0  # easy to let everything float
        snap = 0.03 * reach
        dx, dy = (0.0 if abs(dx) < snap else dx), (0.0 if abs(dy) < snap else dy)
        wanted = (round(dx, 2), round(dy, 2))
        if wanted != vector:
            result = wanted
    shown = result or vector
    draw = imgui.get_window_draw_list()
    frame = style.FIELD_ACTIVE if active else style.FIELD_HOVERED if hovered else style.FIELD
    draw.add_circle_filled(center, radius, style.u32(frame), 48)
    draw.add_circle(center, radius * 0.5, style.u32(style.LINE), 40, 1.0)
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        draw.add_line(
            (center[0] + dx * radius * 0.9, center[1] + dy * radius * 0.9),
            (center[0] + dx * radius, center[1] + dy * radius),
            style.u32(style.FAINT),
            1.0,
        )
    length = math.hypot(*shown)
    if length > 0.0:
        part = min(length / reach, 1.0) / length
        tip = (center[0] + shown[0] * part * radius, center[1] - shown[1] * part * radius)
        draw.add_line(center, tip, style.u32(style.ACCENT), style.em(0.16))
        draw.add_circle_filled(tip, style.em(0.28), style.u32(style.ACCENT))
    draw.add_circle_filled(center, style.em(0.14), style.u32(style.TEXT))
    if hovered or active:
        imgui.set_mouse_cursor(imgui.MouseCursor_.hand)
    return result
