"""What lies over the scene: badges, notices, ghosts of paint, help, trouble, the first picture."""

from __future__ import annotations

import time

from imgui_bundle import imgui

from app.events import Paint
from app.ui import keys, style
from app.ui.panels import icons
from app.ui.panels.widgets import button
from app.ui.quantities import clock, grouped
from app.ui.view import Area
from app.ui.workbench import Workbench

CARD_FLAGS = (
    imgui.WindowFlags_.no_title_bar
    | imgui.WindowFlags_.no_resize
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
)
KINDS = {
    "info": (icons.INFO, style.ACCENT),
    "good": (icons.CHECK, style.GOOD),
    "warning": (icons.WARNING, style.WARNING),
    "error": (icons.WARNING, style.BAD),
}


def draw_badges(bench: Workbench, left: float, top: float) -> None:
    """Recording, replay, pause: pills in the scene's upper left corner, y down."""
    session = bench.session
    if session.recording:
        blink = 0.55 + 0.45 * (int(time.monotonic() * 2) % 2)
        elapsed = clock(bench.clock() - bench.recording_since)
        name = bench.recording_path.name if bench.recording_path else ""
        left = _pill(left, top, elapsed, style.BAD, dot=blink, note=name)
    if session.replaying:
        replay = session.replay
        done = max(0, min(session.step, replay.last_step + 1))
        text = f"Replay  {grouped(done)} / {grouped(replay.last_step + 1)}"
        left = _pill(left, top, text, style.ACCENT, note=replay.path.name)
        if replay.divergence is not None and bench.recorded_elsewhere:
            text = f"Other bits from tick {replay.divergence.step} on: recorded elsewhere"
            left = _pill(left, top, text, style.WARNING)
        elif replay.divergence is not None:
            text = f"Diverged at tick {replay.divergence.step}: {replay.divergence.field}"
            left = _pill(left, top, text, style.BAD, filled=True)
        elif session.finished:
            left = _pill(left, top, "Finished, all equal", style.GOOD)
        elif done > replay.start_step:
            left = _pill(left, top, "Equal so far", style.GOOD)
    if session.paused:
        _pill(left, top, "Paused", style.TEXT)


def _pill(
    left: float,
    top: float,
    text: str,
    color: imgui.ImVec4,
    *,
    dot: float = 0.0,
    note: str = "",
    filled: bool = False,
) -> float:
    """A rounded label behind all windows; returns where the next one begins."""
    draw = imgui.get_background_draw_list()
    pad, height = style.em(0.75), style.em(1.9)
    extent = imgui.calc_text_size(text)
    dot_width = style.em(0.95) if dot else 0.0
    note_extent = imgui.calc_text_size(note).x + style.em(0.6) if note else 0.0
    width = extent.x + 2 * pad + dot_width + note_extent
    middle = top + height / 2
    fill = style.u32(style.BAD, 0.9) if filled else style.u32(style.PANEL, 0.86)
    draw.add_rect_filled((left, top), (left + width, top + height), fill, height / 2)
    x = left + pad
    if dot:
        draw.add_circle_filled(
            (x + style.em(0.3), middle), style.em(0.34), style.u32(style.BAD, dot), 24
        )
        x += dot_width
    text_y = middle - imgui.get_font_size() / 2
    draw.add_text((x, text_y), style.u32(style.TEXT if filled or dot else color), text)
    if note:
        draw.add_text((x + extent.x + style.em(0.6), text_y), style.u32(style.DIM), note)
    return left + width + style.em(0.5)


def draw_ghosts(bench: Workbench, to_screen) -> None:
    """Discs painted or erased while paused: they become real at the next tick."""
    draw = imgui.get_background_draw_list()
    scale = bench.view.camera.pixels_per_meter
    materials = bench.session.simulation.materials
    for event in bench.ghosts:
        center = to_screen(bench.view.pixel(event.center))
        if isinstance(event, Paint):
            # Opaque, so that the overlapping discs of a stroke become one band.
            color = style.mix(style.FIELD, style.from_hex(materials[event.material].color), 0.45)
        else:
            color = style.FIELD
        draw.add_circle_filled(center, event.radius * scale, style.u32(color), 48)


def draw_notices(bench: Workbench, area: Area, height: float) -> None:
    """Sentences at the lower edge of the scene, the newest lowest."""
    notices = bench.live_notices()
    if not notices:
        return
    middle = (area.left + area.right) / 2
    imgui.set_next_window_pos((middle, height - area.bottom - style.em(0.8)), 0, (0.5, 1.0))
    imgui.set_next_window_size_constraints(
        (0.0, 0.0), (max(area.width - style.em(2.0), 200.0), 10000.0)
    )
    imgui.push_style_color(imgui.Col_.window_bg, imgui.ImVec4(0, 0, 0, 0))
    flags = (
        CARD_FLAGS
        | imgui.WindowFlags_.always_auto_resize
        | imgui.WindowFlags_.no_inputs
        | imgui.WindowFlags_.no_focus_on_appearing
    )
    imgui.begin("notices", None, flags)
    draw = imgui.get_window_draw_list()
    wrap = min(area.width - style.em(6.0), style.em(46.0))
    for notice in notices:
        icon, color = KINDS[notice.kind]
        extent = imgui.calc_text_size(notice.text, False, wrap)
        pad = style.em(0.6)
        size = (extent.x + 2 * pad + style.em(1.7), extent.y + 1.4 * pad)
        start = imgui.get_cursor_screen_pos()
        imgui.dummy(size)
        end = (start.x + size[0], start.y + size[1])
        draw.add_rect_filled(start, end, style.u32(style.CARD, 0.95), style.em(0.5))
        draw.add_rect(start, end, style.u32(color, 0.35), rounding=style.em(0.5))
        draw.add_text((start.x + pad, start.y + 0.7 * pad), style.u32(color), icon)
        draw.add_text(
            imgui.get_font(),
            imgui.get_font_size(),
            (start.x + pad + style.em(1.7), start.y + 0.7 * pad),
            style.u32(style.TEXT),
            notice.text,
            wrap,
        )
    imgui.end()
    imgui.pop_style_color()


def draw_help(bench: Workbench, area: Area, height: float, fonts: style.Fonts) -> None:
    """All bindings and gestures, from the table that also drives them."""
    _begin_card("help", area, height, style.em(47.0))
    imgui.push_font(fonts.bold, style.FONT_SIZE * 1.2)
    imgui.text("Keys and mouse")
    imgui.pop_font()
    imgui.same_line(imgui.get_content_region_avail().x - style.em(0.9))
    if button("close_help", icons.CLOSE, quiet=True, tip=keys.shortcut("dismiss")):
        bench.help_shown = False
    imgui.dummy((0.0, style.em(0.4)))
    start, width = imgui.get_cursor_pos(), imgui.get_content_region_avail().x
    lowest = start.y
    left = ("Time", "Tools")
    columns = [left, [group for group in keys.groups() if group not in left]]
    if width < style.em(42.0):  # a narrow window: one column, which scrolls
        columns = [keys.groups()]
    for index, column in enumerate(columns):
        imgui.set_cursor_pos((start.x + index * width * 0.52, start.y))
        imgui.begin_group()
        for group in column:
            imgui.text_colored(style.ACCENT, group)
            for chords, text in keys.help_lines(group):
                _help_line(chords, text)
            imgui.dummy((0.0, style.em(0.5)))
        imgui.end_group()
        lowest = max(lowest, imgui.get_cursor_pos().y)
    imgui.set_cursor_pos((start.x, lowest))
    imgui.dummy((0.0, 0.0))
    imgui.end()
    _end_card()


def _help_line(chords: tuple[str, ...], text: str) -> None:
    """Keys as keys look, then what they do."""
    position = imgui.get_cursor_screen_pos()
    height = style.em(1.5)
    imgui.dummy((style.em(22.0), height))
    draw = imgui.get_window_draw_list()
    pad, x = style.em(0.4), position.x
    for chord in chords:
        extent = imgui.calc_text_size(chord)
        width = max(extent.x + 2 * pad, height * 0.95)
        low, high = (x, position.y), (x + width, position.y + height - style.em(0.12))
        draw.add_rect_filled(low, high, style.u32(style.FIELD_ACTIVE), style.em(0.3))
        draw.add_text(
            (x + (width - extent.x) / 2, (low[1] + high[1] - extent.y) / 2),
            style.u32(style.TEXT),
            chord,
        )
        x += width + style.em(0.3)
    text_y = position.y + (height - style.em(0.12) - imgui.get_font_size()) / 2
    text_x = max(position.x + style.em(9.2), x + style.em(0.4))
    draw.add_text((text_x, text_y), style.u32(style.DIM), text)


def draw_trouble(bench: Workbench, area: Area, height: float, fonts: style.Fonts) -> None:
    """An error as a card to read; what was playing goes on behind it."""
    trouble = bench.trouble
    _begin_card("trouble", area, height, style.em(46.0))
    imgui.text_colored(style.BAD, icons.WARNING)
    imgui.same_line()
    imgui.push_font(fonts.bold, style.FONT_SIZE * 1.15)
    imgui.text(trouble.title)
    imgui.pop_font()
    if trouble.place:
        imgui.text_colored(style.DIM, trouble.place)
    imgui.dummy((0.0, style.em(0.3)))
    # Many faults scroll; the buttons below them stay.
    imgui.set_next_window_size_constraints((0.0, 0.0), (1.0e6, max(height * 0.5, style.em(6.0))))
    imgui.begin_child("lines", (0.0, 0.0), imgui.ChildFlags_.auto_resize_y)
    for line in trouble.lines:
        imgui.text_colored(style.FAINT, "•")
        imgui.same_line()
        imgui.text_wrapped(line)
    imgui.end_child()
    imgui.dummy((0.0, style.em(0.4)))
    if button("close_trouble", "Close", tip=keys.shortcut("dismiss")):
        bench.trouble = None
    imgui.same_line()
    if button("copy_trouble", "Copy text", quiet=True):
        imgui.set_clipboard_text("\n".join((trouble.title, trouble.place, *trouble.lines)))
    imgui.end()
    _end_card()


def draw_splash(title: str, text: str, width: float, height: float, fonts: style.Fonts) -> None:
    """The first picture, while kernels compile."""
    draw = imgui.get_background_draw_list()
    top, bottom = style.u32(style.FIELD), style.u32(style.PANEL)
    draw.add_rect_filled_multi_color((0.0, 0.0), (width, height), top, top, bottom, bottom)
    y = height / 2 - style.em(3.5)
    for font, size, color, line, gap in (
        (fonts.bold, 2.6, style.TEXT, "Matterbox", 0.7),
        (fonts.regular, 1.25, style.ACCENT, title, 2.4),
        (fonts.regular, 1.0, style.DIM, text, 0.0),
    ):
        imgui.push_font(font, style.FONT_SIZE * size)
        extent = imgui.calc_text_size(line)
        draw.add_text(((width - extent.x) / 2, y), style.u32(color), line)
        y += extent.y
        imgui.pop_font()
        y += style.em(gap)


def draw_closing_shade(width: float, height: float, text: str) -> None:
    """A shade with a sentence while the window cannot answer."""
    draw = imgui.get_foreground_draw_list()
    draw.add_rect_filled((0.0, 0.0), (width, height), style.u32(style.PANEL, 0.72))
    extent = imgui.calc_text_size(text)
    draw.add_text(((width - extent.x) / 2, (height - extent.y) / 2), style.u32(style.TEXT), text)


def _begin_card(name: str, area: Area, height: float, card_width: float) -> None:
    """A card over the middle of the scene; `area` in ImGui's units, y up, `height` the window's."""
    card_width = min(card_width, max(area.width, style.em(30.0)) - style.em(1.0))
    middle = ((area.left + area.right) / 2, height - (area.bottom + area.top) / 2)
    middle = (max(middle[0], card_width / 2), middle[1])
    imgui.set_next_window_pos(middle, 0, (0.5, 0.5))
    imgui.set_next_window_size((card_width, 0.0))
    imgui.set_next_window_size_constraints((0.0, 0.0), (card_width, height - style.em(2.0)))
    imgui.push_style_color(imgui.Col_.window_bg, style.CARD)
    imgui.push_style_var(imgui.StyleVar_.window_border_size, 1.0)
    imgui.push_style_var(imgui.StyleVar_.window_padding, (style.em(1.5), style.em(1.3)))
    imgui.begin(name, None, CARD_FLAGS)
    if imgui.is_window_appearing():
        imgui.set_window_focus()


def _end_card() -> None:
    imgui.pop_style_var(2)
    imgui.pop_style_color()
