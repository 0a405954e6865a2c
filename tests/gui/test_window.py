"""Contract: the real window does what its user does, and the recording proves it.

The window runs under an Xvfb of its own; xdotool moves the mouse and types. What is seen is read
from screenshots, what is meant from the window's status file (MATTERBOX_STATUS_FILE), what was done
from the recording, which must replay to the same digests. Conditions are waited for, never times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.gui

ROOT = Path(__file__).resolve().parents[2]
COLD_START = 240.0  # [s]; kernels may have to be compiled
PATIENCE = 60.0  # [s]; a slow machine draws few frames

SCENE = """
format = 1
name = "{name}"
description = "{name}, to try the window on."
[domain]
size = [1.6, 1.0]
cell = 0.05
[environment]
gravity = [0.0, 0.0]
damping = 2.0
[solver]
capacity = 4000
max_substeps = 4
rounds = 2
[materials.water]
base = "water"
bulk_modulus = 2e4
[materials.jelly]
base = "jelly"
[[shapes]]
role = "fill"
kind = "circle"
center = [0.3, 0.5]
radius = 0.15
material = "jelly"
"""


class Screen:
    """An X server without a screen."""

    def __init__(self):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "840x560x24", "-nolisten", "tcp"],
            pass_fds=(writer,),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(writer)
        with os.fdopen(reader) as numbers:
            self.display = f":{numbers.readline().strip()}"
        assert self.display != ":", "Xvfb did not start"

    def close(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="module")
def screen():
    screen = Screen()
    yield screen
    screen.close()


class Sandbox:
    """A running window, and hands to drive it."""

    def __init__(self, screen, folder, *arguments):
        self.folder = folder
        self.status_path = folder / "status.json"
        self.env = {
            **os.environ,
            "DISPLAY": screen.display,
            "MATTERBOX_STATUS_FILE": str(self.status_path),
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "PYTHONPATH": str(ROOT),
        }
        self.env.pop("WAYLAND_DISPLAY", None)
        self.log = folder / "window.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", *map(str, arguments)],
                cwd=folder,
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.wait(lambda status: True, COLD_START)
        self.window = self.xdo("search", "--name", " - Matterbox").split()[-1]

    def status(self):
        try:
            return json.loads(self.status_path.read_text())
        except OSError:
            return None

    def wait(self, condition, seconds=PATIENCE):
        """The first status that meets the condition."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            status = self.status()
            if status is not None and condition(status):
                return status
            time.sleep(0.05)
        raise AssertionError(f"waited in vain; last status {status}\n{self.log.read_text()}")

    def fresh(self):
        """A status that was written after this call."""
        before = self.status_path.stat().st_mtime_ns
        end = time.monotonic() + PATIENCE
        while self.status_path.stat().st_mtime_ns == before:
            assert time.monotonic() < end
            time.sleep(0.02)
        return self.status()

    def xdo(self, *words):
        done = subprocess.run(
            ["xdotool", *map(str, words)], env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def move(self, place):
        self.xdo("mousemove", "--window", self.window, round(place[0]), round(place[1]))

    def key(self, name):
        self.xdo("key", name)

    def at(self, x, y):
        """World point [m] -> the window's pixel, y down."""
        left, top, right, bottom = self.status()["domain"]
        return left + x / 1.6 * (right - left), bottom - y / 1.0 * (bottom - top)

    def widget(self, name, part=0.5):
        left, top, right, bottom = self.wait(lambda s: name in s["places"])["places"][name]
        return left + part * (right - left), (top + bottom) / 2

    def click(self, name):
        self.move(self.widget(name))
        self.fresh()
        self.xdo("click", 1)

    def drag(self, *places, button=1):
        self.move(places[0])
        self.fresh()
        self.xdo("mousedown", button)
        self.fresh()
        for place in places[1:]:
            self.move(place)
            self.fresh()
        self.xdo("mouseup", button)

    def colors(self, *points):
        """What is seen at world points: RGB each, of a frame drawn after this call."""
        from PIL import ImageGrab

        self.fresh()
        self.fresh()
        picture = ImageGrab.grab(xdisplay=self.env["DISPLAY"])
        shape = dict(
            line.split("=")
            for line in self.xdo("getwindowgeometry", "--shell", self.window).split()
        )
        left, top = int(shape["X"]), int(shape["Y"])
        return [
            picture.getpixel((round(left + x), round(top + y)))[:3]
            for x, y in (self.at(*point) for point in points)
        ]

    def paused(self, paused):
        if self.status()["paused"] != paused:
            self.key("space")
        return self.wait(lambda s: s["paused"] is paused)

    def quit(self):
        self.key("ctrl+q")
        assert self.process.wait(PATIENCE) == 0, self.log.read_text()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(20)


@pytest.fixture
def open_window(screen, tmp_path):
    opened = []

    def open_(*arguments):
        opened.append(Sandbox(screen, tmp_path, *arguments))
        return opened[-1]

    yield open_
    for sandbox in opened:
        sandbox.end()


@pytest.fixture
def scenes(tmp_path):
    """Three scenes in a folder; the third is broken."""
    (tmp_path / "first.toml").write_text(SCENE.format(name="First"))
    (tmp_path / "second.toml").write_text(SCENE.format(name="Second"))
    (tmp_path / "third.toml").write_text(SCENE.format(name="Third") + "densety = 3\n")
    return tmp_path


def command(*arguments, folder):
    return subprocess.run(
        [sys.executable, "-m", "app", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=COLD_START,
    )


def events(path):
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("events.jsonl").decode().splitlines()
    return [event for line in lines for event in json.loads(line)["events"]]


def is_blue(color, than):
    return color[2] > than[2] + 60 and color[2] > color[0] + 60


def is_near(color, other):
    return max(abs(a - b) for a, b in zip(color, other, strict=True)) < 25


def test_paint_erase_pause_gravity_record_and_open(open_window, scenes):
    window = open_window("run", "first.toml", "--arch", "cpu")
    start = window.status()
    assert start["scene"] == "First"
    empty_spot, painted_spot = (0.8, 0.85), (1.2, 0.65)
    background, before = window.colors(empty_spot, painted_spot)

    window.key("r")
    window.wait(lambda s: s["recording"])

    # Paint: matter appears, it is blue, and it is where the mouse was.
    window.key("3")
    window.wait(lambda s: s["tool"] == "paint")
    window.click("swatch.water")
    window.wait(lambda s: s["material"] == "water")
    window.drag(window.at(1.1, 0.65), window.at(1.2, 0.65), window.at(1.3, 0.65))
    painted = window.wait(lambda s: s["live"] > start["live"] + 20)
    window.paused(True)
    assert is_blue(window.colors(painted_spot)[0], than=before)

    # Paused: nothing moves; one step is one tick.
    tick = window.fresh()["tick"]
    assert window.fresh()["tick"] == tick
    window.key("period")
    window.wait(lambda s: s["tick"] == tick + 1)
    window.paused(False)

    # Erase with the right button, whatever the tool.
    window.drag(*(window.at(x, 0.65) for x in (1.0, 1.1, 1.2, 1.3, 1.4)), button=3)
    window.wait(lambda s: s["live"] <= start["live"] + 5)
    window.paused(True)
    assert is_near(window.colors(painted_spot)[0], before)
    window.paused(False)
    assert painted["live"] > window.status()["live"]

    # Gravity, by its slider: what was painted falls out of its place.
    window.drag(window.at(1.1, 0.65), window.at(1.2, 0.65), window.at(1.3, 0.65))
    window.wait(lambda s: s["live"] > start["live"] + 20)
    window.drag(*(window.widget("environment.gravity_y", part) for part in (0.5, 0.4, 0.3)))
    fallen = window.wait(lambda s: s["gravity"][1] < -5.0)
    assert fallen["gravity"][0] == 0.0
    window.wait(lambda s: s["tick"] > fallen["tick"] + 90)
    assert is_near(window.colors(painted_spot)[0], before)
    assert is_near(window.colors(empty_spot)[0], background)

    window.key("r")
    window.wait(lambda s: s["recording"] is None)
    recording = scenes / "session.mbr"

    # Another scene, from the menu; a broken one is explained and changes nothing.
    window.click("scenes")
    window.click("scene.second")
    window.wait(lambda s: s["scene"] == "Second", COLD_START)
    window.key("o")
    window.click("scene.third")
    window.wait(lambda s: s["trouble"])
    tick = window.fresh()["tick"]
    window.wait(lambda s: s["scene"] == "Second" and s["tick"] > tick)
    window.key("Escape")
    window.wait(lambda s: s["trouble"] is None)
    window.quit()

    kinds = [event["kind"] for event in events(recording)]
    assert {"paint", "erase", "set_gravity"} <= set(kinds)
    painted_at = [event["center"] for event in events(recording) if event["kind"] == "paint"]
    assert all(1.05 < x < 1.35 and abs(y - 0.65) < 0.02 for x, y in painted_at)
    verified = command("replay", recording, "--verify", folder=scenes)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_closing_while_recording_finishes_it_and_the_window_replays_it(open_window, scenes):
    window = open_window("run", "first.toml", "--arch", "cpu", "--record", "closed.mbr")
    assert window.wait(lambda s: s["recording"])["recording"].endswith("closed.mbr")
    window.key("2")
    window.wait(lambda s: s["tool"] == "push")
    window.drag(window.at(0.25, 0.45), window.at(0.3, 0.5), window.at(0.35, 0.55))
    window.key("h")
    window.wait(lambda s: not s["panels_shown"])
    window.xdo("windowsize", window.window, 800, 500)
    resized = window.wait(lambda s: s["window"] == [800, 500])
    left, top, right, bottom = resized["domain"]
    assert 0 <= left < right <= 800 and 0 <= top < bottom <= 500
    window.quit()
    assert not (scenes / "closed.mbr.part").exists()
    assert "push" in {event["kind"] for event in events(scenes / "closed.mbr")}

    replay = open_window("replay", "closed.mbr", "--arch", "cpu")
    playing = replay.wait(lambda s: s["replaying"])
    replay.key("3")
    replay.drag(replay.at(1.1, 0.65), replay.at(1.3, 0.65))
    ended = replay.wait(lambda s: s["finished"])
    assert ended["diverged"] is None
    assert ended["live"] == playing["live"]
    replay.quit()


def test_a_moment_is_saved_and_loaded_also_by_a_later_window(open_window, scenes):
    window = open_window("run", "first.toml", "--arch", "cpu")
    live = window.status()["live"]
    window.paused(True)
    window.key("F5")
    saved = window.fresh()["tick"]
    window.paused(False)
    window.key("r")
    window.wait(lambda s: s["recording"])
    window.key("3")
    window.wait(lambda s: s["tool"] == "paint")
    window.drag(window.at(1.1, 0.65), window.at(1.3, 0.65))
    window.wait(lambda s: s["live"] > live + 20)
    window.paused(True)
    assert window.fresh()["tick"] > saved
    window.key("F9")
    back = window.wait(lambda s: s["tick"] == saved)
    assert (back["live"], back["recording"]) == (live, None)
    window.key("period")
    window.wait(lambda s: s["tick"] == saved + 1)
    window.quit()
    verified = command("replay", "session.mbr", "--verify", folder=scenes)
    assert verified.returncode == 0, verified.stdout + verified.stderr

    window = open_window("run", "second.toml", "--arch", "cpu")
    window.wait(lambda s: s["scene"] == "Second")
    window.paused(True)
    window.key("F9")
    window.wait(lambda s: s["scene"] == "First", COLD_START)
    assert window.wait(lambda s: s["tick"] >= saved)["live"] == live
    window.quit()


def test_time_is_scrubbed_undone_redone_and_branched(open_window, scenes):
    window = open_window("run", "first.toml", "--arch", "cpu")
    live = window.status()["live"]
    window.key("3")
    window.wait(lambda s: s["tool"] == "paint")
    window.drag(window.at(1.1, 0.65), window.at(1.3, 0.65))
    window.wait(lambda s: s["live"] > live + 20)
    window.paused(True)
    end = window.fresh()
    (edit,) = end["timeline"]["edits"]
    length = end["timeline"]["length"]

    window.key("ctrl+z")
    back = window.wait(lambda s: s["timeline"]["position"] == edit)
    assert back["live"] == live and back["timeline"]["compared"] and back["timeline"]["equal"]
    window.key("ctrl+y")
    again = window.wait(lambda s: s["timeline"]["position"] == length)
    assert again["live"] == end["live"]
    assert again["timeline"]["digest"] == end["timeline"]["digest"]
    window.key("comma")
    window.wait(lambda s: s["timeline"]["position"] == length - 1)

    window.drag(window.widget("timeline", 0.3), window.widget("timeline", 0.0))
    first = window.wait(lambda s: s["timeline"]["position"] == 0)
    assert first["timeline"]["goal"] is None and first["timeline"]["equal"] and first["paused"]
    assert first["timeline"]["length"] == length
    window.paused(False)
    told = window.wait(lambda s: s["notices"])
    assert told["notices"] == ["Another future begins here: one edit of the old one is forgotten"]
    assert told["timeline"]["edits"] == [] and told["live"] == live
    window.quit()


def test_a_replay_that_diverges_is_shown_red_and_kept(open_window, scenes):
    made = command(
        "simulate", "first.toml", "--arch", "cpu", "--ticks", 40, "--record", "a.mbr", folder=scenes
    )
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(scenes / "a.mbr") as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    lines = members["digests.jsonl"].splitlines()
    digest = json.loads(lines[20])["digest"]
    lines[20] = lines[20].replace(digest, digest[::-1])
    members["digests.jsonl"] = "\n".join(lines) + "\n"
    with zipfile.ZipFile(scenes / "a.mbr", "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)

    window = open_window("replay", "a.mbr", "--arch", "cpu")
    ended = window.wait(lambda s: s["finished"])
    assert ended["diverged"] == 20
    assert any("desync" in notice for notice in ended["notices"])
    left, top, right, bottom = ended["places"]["timeline"]
    from PIL import ImageGrab

    window.move((left, top - 60))
    window.fresh()
    picture = ImageGrab.grab(xdisplay=window.env["DISPLAY"]).crop((left, top, right, bottom))
    colors = picture.convert("RGB").getcolors(1 << 20)
    assert sum(n for n, c in colors if c[0] > 200 and c[1] < 140 and c[2] < 140) > 20
    window.quit()
    text = (scenes / "desync" / "desync.txt").read_text()
    assert text.startswith("tick 20\n") and "only digests are known" in text
