"""The timeline under the scene: where the world stands in its past, and the way back.

The track runs from the beginning to the last known moment; dragging on it scrubs. Below it lie the
snapshots, on it the edits; red is where a state was another one when it was seen again.
"""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import keys, style
from app.ui.panels import icons
from app.ui.panels.tool_bar import FLAGS
from app.ui.panels.widgets import button, mark, tip_with_key, tooltip
from app.ui.quantities import grouped
from app.ui.workbench import Workbench

LEAST_SPAN = 600  # ticks that the track shows at least: a young world does not race along it
MARK_GAP = 4.0  # [px] between marks of snapshots; what lies closer is left out


def draw(bench: Workbench, top: float, width: float, height: float) -> None:
    """The strip, `width` wide, in ImGui's units."""
    timeline = bench.session.timeline
    imgui.set_next_window_pos((0.0, top))
    imgui.set_next_window_size((width, height))
    imgui.push_style_var(imgui.StyleVar_.window_rounding, 0.0)
    imgui.push_style_var(
        imgui.StyleVar_.window_padding,
        (style.em(0.6), (height - imgui.get_frame_height()) / 2),
    )
    imgui.begin("timeline", None, FLAGS)
    imgui.pop_style_var(2)
    _buttons(bench)
    digest, digest_color, digest_tip = _digest(bench)
    memory = f"{timeline.nbytes / 2**20:.1f} / {timeline.budget / 2**20:.0f} MiB"
    place = f"{grouped(bench.moment)} / {grouped(bench.session.horizon)}"
    room = [imgui.calc_text_size(text).x for text in (place, digest, memory)]
    right = sum(room) + style.em(4.6)
    left = imgui.get_cursor_pos_x()
    _track(bench, max(width - left - right, style.em(6.0)))
    imgui.same_line(0.0, style.em(1.0))
    imgui.align_text_to_frame_padding()
    imgui.text(place)
    tooltip("Ticks from where this timeline begins, and how many are known")
    imgui.same_line(0.0, style.em(1.0))
    imgui.text_colored(digest_color, digest)
    mark("timeline.digest")
    tooltip(digest_tip)
    imgui.same_line(0.0, style.em(1.0))
    imgui.text_colored(style.DIM, memory)
    tooltip(
        f"Memory of {len(timeline.moments)} snapshots, one every {timeline.spacing} ticks. When "
        "the budget is used up every second one goes, and new ones come half as often."
    )
    imgui.end()


def _buttons(bench: Workbench) -> None:
    live = not bench.session.replaying
    for action, icon, text, enabled in (
        ("back", icons.BACK, "One tick back", True),
        ("undo", icons.UNDO, "To before the last stroke or edit", live),
        ("redo", icons.REDO, "On to the next one", live),
    ):
        tip = tip_with_key(text, keys.shortcut(action))
        if button(action, icon, size=(style.em(2.0), 0.0), quiet=True, tip=tip, enabled=enabled):
            bench.act(action)
        imgui.same_line(0.0, 2.0)
    imgui.same_line(0.0, style.em(0.8))


def _digest(bench: Workbench) -> tuple[str, imgui.ImVec4, str]:
    """Text, colour and explanation of the digest of what is shown."""
    session, timeline = bench.session, bench.session.timeline
    if session.goal is not None:
        return f"{'·' * 8} {icons.TIME_STEP}", style.DIM, "On the way to that moment"
    whole = timeline.digest(timeline.position)
    short = whole[:8]
    if not timeline.is_equal(timeline.position):
        tip = f"Not the state that was: tick {timeline.diverged - 1} made other bits"
        return f"{short} {icons.WARNING}", style.BAD, f"{tip}. What was: {whole}"
    if timeline.compared:
        return f"{short} {icons.CHECK}", style.GOOD, f"{whole}: bit for bit the state that was"
    # As wide as with a mark, so that the track does not jump.
    return f"{short} {icons.DIGEST}", style.DIM, f"{whole}: digest of the state, seen first now"


def _track(bench: Workbench, width: float) -> None:
    session, timeline = bench.session, bench.session.timeline
    height = imgui.get_frame_height()
    imgui.invisible_button("track", (width, height))
    mark("timeline")
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    span = max(session.horizon, LEAST_SPAN)
    inset = style.em(0.3)
    left, length = low.x + inset, high.x - low.x - 2 * inset
    active, hovered = imgui.is_item_active(), imgui.is_item_hovered()

    def x(moment: float) -> float:
        return left + length * moment / span

    pointed = round((imgui.get_io().mouse_pos.x - left) / length * span)
    pointed = min(max(pointed, 0), session.horizon)
    if active:
        bench.scrub(pointed)
    if hovered and not active:
        # Above the strip: below it lies the status line.
        imgui.set_next_window_pos(
            (imgui.get_io().mouse_pos.x, low.y - style.em(0.3)), 0, (0.5, 1.0)
        )
        imgui.set_tooltip(f"tick {grouped(pointed)}")
    if hovered or active:
        imgui.set_mouse_cursor(imgui.MouseCursor_.resize_ew)

    draw = imgui.get_window_draw_list()
    middle, thick = low.y + 0.45 * height, style.em(0.36)
    rows = (middle - thick / 2, middle + thick / 2)

    def bar(start: float, stop: float, color: int) -> None:
        draw.add_rect_filled((start, rows[0]), (stop, rows[1]), color, thick / 2)

    bar(left, left + length, style.u32(style.FIELD))
    bar(left, max(x(session.horizon), left + thick), style.u32(style.FIELD_ACTIVE))
    bar(left, max(x(timeline.length), left + thick), style.u32(style.ACCENT, 0.30))
    bar(left, max(x(timeline.position), left + thick), style.u32(style.ACCENT, 0.75))
    _snapshots(draw, timeline.moments, x, rows[1] + style.em(0.14), high.y - style.em(0.1))
    last = -MARK_GAP
    for moment in timeline.edits:
        if x(moment) - last >= MARK_GAP / 2:
            last = x(moment)
            draw.add_circle_filled((last, middle), style.em(0.16), style.u32(style.TEXT), 10)
    for moment, color in _divergences(bench):
        draw.add_rect_filled(
            (x(moment) - 1.5, low.y), (x(moment) + 1.5, high.y), style.u32(color), 1.0
        )
    knob = x(bench.moment)
    shown = style.TEXT if active or hovered else style.ACCENT
    draw.add_line((knob, low.y + 1.0), (knob, high.y - 1.0), style.u32(shown), style.em(0.12))
    draw.add_circle_filled((knob, middle), style.em(0.36), style.u32(shown), 24)


def _snapshots(draw, moments: list[int], x, top: float, bottom: float) -> None:
    last = -MARK_GAP
    for moment in moments:
        if x(moment) - last >= MARK_GAP:
            last = x(moment)
            draw.add_line((last, top), (last, bottom), style.u32(style.FAINT), 1.0)


def _divergences(bench: Workbench) -> list[tuple[int, imgui.ImVec4]]:
    """Moments after the first tick that made other bits, on the timeline and in a recording."""
    found = []
    session = bench.session
    if session.timeline.diverged is not None:
        found.append((session.timeline.diverged, style.BAD))
    if session.replaying and session.replay.divergence is not None:
        color = style.WARNING if bench.recorded_elsewhere else style.BAD
        found.append((session.replay.divergence.step + 1, color))
    return found
