"""The bar along the top: scene menu, time, recording, and what belongs to the window."""

from __future__ import annotations

from imgui_bundle import imgui

from app.ui import keys, style
from app.ui.panels import icons
from app.ui.panels.widgets import button, mark, tip_with_key
from app.ui.quantities import digits
from app.ui.workbench import Workbench

FLAGS = (
    imgui.WindowFlags_.no_decoration
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_bring_to_front_on_focus
)


def draw(bench: Workbench, width: float, height: float, fonts: style.Fonts) -> None:
    imgui.set_next_window_pos((0.0, 0.0))
    imgui.set_next_window_size((width, height))
    imgui.push_style_var(imgui.StyleVar_.window_rounding, 0.0)
    imgui.push_style_var(
        imgui.StyleVar_.window_padding,
        (style.em(0.6), (height - imgui.get_frame_height()) / 2),
    )
    imgui.begin("tool bar", None, FLAGS)
    imgui.pop_style_var(2)

    def act(action: str, icon: str, text: str, **more: object) -> None:
        tip = tip_with_key(text, keys.shortcut(action))
        if button(action, icon, size=(style.em(2.3), 0.0), tip=tip, **more):
            bench.act(action)

    session = bench.session
    imgui.push_font(fonts.bold, 0.0)
    if button(
        "scenes",
        f"{icons.SCENE}  {bench.scene.name}   {icons.MORE}",
        active=bench.scenes_shown,
        quiet=True,
    ):
        bench.act("scenes")
    imgui.pop_font()
    gap()
    act("restart", icons.RESTART, "Restart the scene; edits are undone too")
    imgui.same_line()
    if session.paused:
        act("pause", icons.PLAY, "Go on", active=True)
    else:
        act("pause", icons.PAUSE, "Pause")
    imgui.same_line()
    act("step", icons.STEP, "One tick")
    gap()
    _speed(bench)
    gap()
    if not session.replaying:
        if session.recording:
            act("record", icons.STOP, "Finish the recording", color=style.BAD, active=True)
        else:
            act("record", icons.RECORD, "Record into a file", color=style.BAD)

    right = style.em(2.3) * 3 + imgui.get_style().item_spacing.x * 2 + style.em(0.6)
    imgui.same_line(max(width - right, imgui.get_cursor_pos_x()))
    act("fit", icons.FIT, "Show the whole scene", quiet=True, enabled=not bench.view.fitted)
    imgui.same_line()
    act("panels", icons.PANELS, "Hide the panels", quiet=True)
    imgui.same_line()
    act("help", icons.HELP, "Keys and mouse", quiet=True, active=bench.help_shown)
    imgui.end()


def gap() -> None:
    imgui.same_line(0.0, style.em(1.2))


def _speed(bench: Workbench) -> None:
    """Slower, the factor, faster: one group."""
    tip = "Speed of the simulation: {}"
    slower, faster = keys.shortcut("slower"), keys.shortcut("faster")
    if button(
        "slower",
        icons.SLOWER,
        size=(style.em(2.0), 0.0),
        tip=tip_with_key(tip.format("slower"), slower),
    ):
        bench.act("slower")
    imgui.same_line(0.0, 2.0)
    factor = f"{digits(bench.session.speed)}×"
    real_time = bench.session.speed == 1.0
    if button(
        "real_time",
        factor,
        size=(style.em(3.2), 0.0),
        color=style.TEXT if real_time else style.ACCENT,
        tip="Simulated seconds per second. Click for 1×.",
    ):
        bench.set_speed(1.0)
    mark("speed")
    imgui.same_line(0.0, 2.0)
    if button(
        "faster",
        icons.FASTER,
        size=(style.em(2.0), 0.0),
        tip=tip_with_key(tip.format("faster"), faster),
    ):
        bench.act("faster")
