"""The window: one loop that takes input, advances the session, and draws scene and panels.

One frame, in order: pyglet's input -> ImGui takes what is its own -> tools and panels turn the rest
into events -> the session runs the ticks that are due -> the scene is drawn -> the panels over it.
Physics never runs from a scheduled function: the loop below is the only clock.

`MATTERBOX_STATUS_FILE=path` makes the window write its state as one JSON object into that file,
five times a second and in one piece: for scripts, continuous integration and overlays of streams.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from app.errors import MatterboxError
from app.events import EventError
from app.ui.display import imgui_renderer, open_window
from app.ui.hands import Hands
from app.ui.status_file import StatusFile
from app.ui.view import Area, View
from app.ui.workbench import Workbench

TICK_BUDGET = 0.025  # [s]
IDLE_AFTER = 2.0  # [s] without input while paused: then frames are drawn less often
IDLE_RATE = 20.0  # [1/s]
DEFAULT_RECORDING = "session.mbr"


def run_window(
    scene_path: str | Path | None,
    *,
    arch: str = "auto",
    record: str | Path | None = None,
    replay: Any = None,
    seed: int | None = None,
) -> int:
    """Open the sandbox window and run it until it is closed; returns the exit code.

    scene_path: the scene to open, or a shipped scene's name; None with `replay`.
    record: record from the first tick into this file; it is finished when the window closes.
    replay: show this recording (a path, or a Replay that was read already); the world then takes
        no input, and "auto" means the arch that it was recorded on, where that starts.
    seed: in place of the seed of the first scene.

    Raises RenderError without a display or OpenGL 3.3, SceneError, RecordingError and DeviceError
    when there is nothing to show from the start. Later ones are shown in the window.
    """
    from app.recording import Replay
    from app.scene import builtin, load

    replayed = Replay.read(replay) if isinstance(replay, str | Path) else replay
    if replayed is not None:
        scene, path = replayed.scene(), None
        seed = replayed.header.seed
        arch = replayed.header.arch if arch == "auto" else arch
    else:
        path = _scene_file(scene_path if scene_path is not None else "playground", builtin)
        scene = load(path)
    sandbox = Sandbox(record_path=Path(record) if record is not None else None)
    try:
        sandbox.start(scene, path, arch=arch, seed=seed, replay=replayed, record=record is not None)
        sandbox.run()
    finally:
        saved = sandbox.close()
        if saved is not None:
            print(f"Recording saved: {saved}")
    return 0


def _scene_file(scene: str | Path, builtin: Any) -> Path:
    """A path as given; a bare name is a shipped scene's."""
    path = Path(scene)
    return builtin(str(scene)) if not path.suffix and not path.exists() else path


class Sandbox:
    """The window with everything in it. `start` shows a scene, `run` plays until it is closed."""

    def __init__(self, *, record_path: Path | None = None):
        self.window = open_window()
        try:
            self._furnish(record_path)
        except BaseException:
            self.window.close()
            raise

    def _furnish(self, record_path: Path | None) -> None:
        """Everything that needs the window's OpenGL context."""
        import pyglet
        from imgui_bundle import imgui

        from app.render import Camera, Renderer
        from app.ui import style
        from app.ui.imgui_bridge import ImguiBridge

        # pyglet's own loop is not run, but what it does once is wanted: macOS brings the window to
        # the front, Windows wakes up in time from short sleeps.
        pyglet.app.platform_event_loop.start()
        self._imgui_context = imgui.create_context()
        io = imgui.get_io()
        io.set_ini_filename("")
        io.set_log_filename("")
        # A slip in a panel is told on the console; it is not worth the user's world.
        io.config_error_recovery_enable_assert = False
        self._gui = imgui_renderer()
        self.fonts = style.Fonts()
        style.apply(self.window.scale)
        self.bridge = ImguiBridge(self.window, io)
        self.bridge.attach()
        self.window.push_handlers(
            on_close=self._on_close,
            on_scale=lambda scale, dpi: style.apply(scale),
            on_hide=lambda: setattr(self, "_visible", False),
            on_show=lambda: setattr(self, "_visible", True),
            on_file_drop=self._on_file_drop,
            on_draw=lambda: True,
        )
        self.renderer = Renderer()
        self.bench = Workbench(
            View(Camera(viewport=self.window.get_framebuffer_size())),
            record_path=record_path or Path(DEFAULT_RECORDING),
        )
        self.hands = Hands(self.bench)
        self.status_file = StatusFile.from_environment()
        self.arch = "auto"
        self._visible = True
        self._closing = False
        self._shade = ""
        self._scene_entries: list | None = None
        self._last = time.perf_counter()
        self._last_input = self._last
        self._draw_seconds = 0.0
        self._frame_times: list[float] = []

    # -- scenes ------------------------------------------------------------------------------------

    def start(
        self,
        scene: Any,
        path: Path | None,
        *,
        arch: str,
        seed: int | None = None,
        replay: Any = None,
        record: bool = False,
    ) -> None:
        """Show the first scene; while its kernels compile, a first picture says so."""
        self.arch = arch
        self._splash(scene.name, "Compiling kernels: a few seconds, the first time up to a minute")
        self._begin(scene, path, seed=seed, replay=replay, record=record)

    def _begin(
        self,
        scene: Any,
        path: Path | None,
        *,
        seed: int | None = None,
        replay: Any = None,
        record: bool = False,
        snapshot: Any = None,
    ) -> None:
        """A new simulation and session in place of the present one; `snapshot` to go on from."""
        from app.session import Session
        from app.simulation import Simulation
        from app.timeline import Timeline

        simulation = Simulation.from_scene(scene, arch=self.arch, seed=seed)
        self.arch = simulation.arch  # "auto" is settled once; a second device would start anew
        session = Session(simulation, replay=replay, timeline=Timeline(simulation))
        if record:
            session.start_recording(self.bench.record_path)
        # The first tick compiles what is not yet in the cache: better now than in the first frame.
        session.step_once()
        if snapshot is not None:
            session.restore(snapshot)
        self.bench.attach(session, path)
        if record:
            self.bench.recording_path = self.bench.record_path
            self.bench.recording_since = self.bench.clock()
        notice = getattr(replay, "notice", None)
        if notice:
            self.bench.say(notice, "warning")
        name = f"{scene.name} (replay)" if replay is not None else scene.name
        self.window.set_caption(f"{name} - Matterbox")
        self.hands.let_go()
        self._last = time.perf_counter()

    def _open(self, path: Path) -> None:
        """Open another scene file; if that fails, the reason is shown and the old one plays on."""
        from app.scene import load

        bench = self.bench
        bench.trouble = None
        try:
            scene = load(path)
        except (MatterboxError, OSError) as error:
            bench.report(error, "This scene cannot be opened", str(path))
            return
        self._replace(scene, path)

    def _resume(self, snapshot: Any) -> None:
        """Go on from a snapshot of another scene than the one shown."""
        self.bench.trouble = None
        if self._replace(snapshot.scene, None, seed=snapshot.seed, snapshot=snapshot):
            self.bench.say_loaded(snapshot)

    def _replace(self, scene: Any, path: Path | None, **begin: Any) -> bool:
        """Show another scene; where it cannot be played, the old one begins anew."""
        bench = self.bench
        bench.stop_recording()
        old, old_path = bench.session, bench.scene_path
        old.close()
        old.simulation.close()
        try:
            self._begin(scene, path, **begin)
        except MatterboxError as error:
            bench.report(error, "This scene cannot be played", str(path or scene.name))
            self._begin(old.simulation.scene, old_path)
            return False
        return True

    # -- the loop ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Frames until the window is closed."""
        while not self._closing:
            start = time.perf_counter()
            self.window.switch_to()
            self.window.dispatch_events()
            if self._closing:
                break
            self._frame(start)
            if self._visible:
                drawn = time.perf_counter()
                self.window.flip()
                self._draw_seconds += time.perf_counter() - drawn
            self._answer_requests()
            self._pace(start)

    def _frame(self, now: float) -> None:
        bench = self.bench
        seconds, self._last = now - self._last, now
        self._measure(now)
        self.bridge.begin_frame(seconds)
        self._lay_out()
        entries = self.bridge.take()
        if entries:
            self._last_input = now
        self.hands.take(entries, now, over_panel=self.bridge.captures_mouse)
        self._panels()
        try:
            ticks = bench.session.advance(0.0 if self._shade else seconds, self._budget())
        except EventError as error:
            bench.say(str(error), "error")
            ticks = 0
        bench.after_ticks(ticks)
        drawn = time.perf_counter()
        if self._visible:
            self._draw_scene()
        self._finish_gui()
        self._draw_seconds = time.perf_counter() - drawn
        self.status_file.write(self, now)

    def _budget(self) -> float:
        """Wall time that ticks may take in this frame [s]: about what drawing takes.

        Where drawing is slow (no graphics card), fewer frames with more ticks in each keep the
        simulation's speed; where it is fast, ticks leave room for 30 frames a second.
        """
        return min(max(TICK_BUDGET, self._draw_seconds), 2.0 * TICK_BUDGET)

    def _lay_out(self) -> None:
        """Where the bars lie [window units], and what of the window they leave to the scene."""
        from app.ui import style

        width, height = self.window.get_size()
        pixels = self.window.get_framebuffer_size()
        shown = self.bench.panels_shown
        self.top = round(style.em(style.TOOL_BAR_EMS)) if shown else 0
        self.line = round(style.em(style.STATUS_LINE_EMS)) if shown else 0
        self.bottom = self.line + (round(style.em(style.TIMELINE_EMS)) if shown else 0)
        side = min(style.em(style.SIDE_BAR_EMS), 0.45 * width)
        self.side = round(side) if shown else 0
        self.size = (float(width), float(height))
        ratio = self.pixel_ratio = pixels[0] / max(width, 1)
        self.area = Area(0.0, self.bottom, width - self.side, height - self.top)
        area = self.area.scaled(ratio)
        if width > 1 and height > 1:  # a minimised window may have no size at all
            self.bench.view.layout(pixels, area)

    def _to_screen(self, pixel: tuple[float, float]) -> tuple[float, float]:
        """Framebuffer pixel, y up -> ImGui's units, y down."""
        return (pixel[0] / self.pixel_ratio, self.size[1] - pixel[1] / self.pixel_ratio)

    # -- drawing -----------------------------------------------------------------------------------

    def _draw_scene(self) -> None:
        from app.render import Ring, frame_of

        bench, tool = self.bench, self.hands.tool
        ring = None
        if tool is not None:
            ring = Ring(bench.cursor, bench.brush.radius, tool.ring(bench.brush, bench.inverted))
        frame = frame_of(
            bench.session.simulation,
            bench.view.camera,
            ring=ring,
            pixel_ratio=self.window.scale,
        )
        self.renderer.draw(frame)

    def _panels(self) -> None:
        from app.ui.panels import overlay, scene_menu, side_bar, status_line, timeline, tool_bar
        from app.ui.panels.widgets import state

        state.places.clear()
        bench, (width, height) = self.bench, self.size
        pad = 0.8 * self.top or 14.0
        overlay.draw_ghosts(bench, self._to_screen)
        overlay.draw_badges(bench, pad * 0.5, self.top + pad * 0.5)
        if bench.panels_shown:
            tool_bar.draw(bench, width, float(self.top), self.fonts)
            side_bar.draw(
                bench,
                width - self.side,
                float(self.top),
                float(self.side),
                height - self.top - self.bottom,
                self.fonts,
            )
            timeline.draw(bench, height - self.bottom, width, float(self.bottom - self.line))
            status_line.draw(bench, height - self.line, width, float(self.line))
        if bench.scenes_shown:
            appearing = self._scene_entries is None
            if appearing:
                from app.ui.catalog import entries

                self._scene_entries = entries(bench.scene_path)
            free = height - self.top - self.bottom
            scene_menu.draw(
                bench, self._scene_entries, float(self.top), free, self.fonts, appearing=appearing
            )
        else:
            self._scene_entries = None
        if bench.help_shown:
            overlay.draw_help(bench, self.area, height, self.fonts)
        if bench.trouble is not None:
            overlay.draw_trouble(bench, self.area, height, self.fonts)
        overlay.draw_notices(bench, self.area, height)
        if self._shade:
            overlay.draw_closing_shade(width, height, self._shade)
        self.bridge.show_cursor("CURSOR_CROSSHAIR" if self.hands.tool is not None else None)

    def _finish_gui(self) -> None:
        from imgui_bundle import imgui

        imgui.render()
        if self._visible:
            self._gui.render(imgui.get_draw_data())

    def _splash(self, title: str, text: str) -> None:
        """Some frames of the first picture, so that it is on the screen before work begins."""
        from imgui_bundle import imgui
        from pyglet import gl

        from app.ui.panels import overlay

        for _ in range(3):
            self.window.switch_to()
            self.window.dispatch_events()
            self.bridge.begin_frame(1.0 / 60.0)
            self.bridge.take()
            width, height = self.window.get_size()
            gl.glClearColor(0.07, 0.09, 0.12, 1.0)
            gl.glClear(gl.GL_COLOR_BUFFER_BIT)
            overlay.draw_splash(title, text, float(width), float(height), self.fonts)
            imgui.render()
            self._gui.render(imgui.get_draw_data())
            self.window.flip()

    # -- the window itself -------------------------------------------------------------------------

    def _answer_requests(self) -> None:
        """What the workbench asked of the window, after the frame that shows it was asked."""
        requests, self.bench.requests = self.bench.requests, []
        for action, value in requests:
            if action in ("open", "resume") and not self._shade:
                # One more frame first, which says what is going on.
                name = value.scene.name if action == "resume" else Path(value).stem
                self._shade = f"Opening {name.replace('_', ' ')} ..."
                self.bench.requests.append((action, value))
            elif action == "open":
                self._shade = ""
                self._open(Path(value))
            elif action == "resume":
                self._shade = ""
                self._resume(value)
            elif action == "quit":
                self._closing = True
            elif action == "fullscreen":
                self.window.set_fullscreen(not self.window.fullscreen)

    def _on_close(self) -> bool:
        self._closing = True
        return True

    def _on_file_drop(self, x: int, y: int, paths: list[str]) -> None:
        if paths:
            self.bench.open_scene(Path(paths[0]))

    def _measure(self, now: float) -> None:
        self._frame_times.append(now)
        while len(self._frame_times) > 2 and now - self._frame_times[0] > 1.0:
            self._frame_times.pop(0)
        span = now - self._frame_times[0]
        count = len(self._frame_times) - 1
        self.bench.frames_per_second = count / span if span > 0.0 else 0.0

    def _pace(self, start: float) -> None:
        """Where vertical sync does not wait, this does: no frame is drawn that nobody sees."""
        rate = 60.0
        idle = self.bench.session.paused and start - self._last_input > IDLE_AFTER
        if not self._visible or idle:
            rate = IDLE_RATE
        # A little early, so that the wait for the screen's own beat stays with the driver.
        rest = 0.97 / rate - (time.perf_counter() - start)
        if rest > 0.0:
            time.sleep(rest)

    def close(self) -> Path | None:
        """Finish what is being recorded and close the window; returns the recording's file."""
        saved = None
        try:
            session = self.bench.session
            if session is not None:
                saved = session.close()
                session.simulation.close()
        finally:
            import pyglet

            self.status_file.close()
            self.renderer.close()
            self.window.close()
            pyglet.app.platform_event_loop.stop()
        return saved
