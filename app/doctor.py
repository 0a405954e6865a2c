"""What this machine offers: versions, devices that really start, OpenGL, and what is missing.

A driver can crash or hang the process that asks it, so every question to one is put by a child
process with a time limit, and the answer "it crashed" is an answer like any other.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from app import __version__, paths

PACKAGES = (
    "taichi",
    "numpy",
    "pyglet",
    "PyOpenGL",
    "imgui-bundle",
    "pydantic",
    "tomlkit",
    "rich",
    "pillow",
    "platformdirs",
)
OPENGL_NEEDED = (3, 3)
TIME_LIMIT = 60.0
"""Seconds after which a driver that does not answer counts as one that hangs."""


@dataclass(frozen=True)
class Check:
    """One question and its answer.

    `ok` is True, False (something to mend; `cure` says how), or None for what merely is not there.
    """

    name: str
    ok: bool | None
    text: str
    cure: str = ""


def report() -> list[Check]:
    """Every check, in an order that reads well. Never raises; takes a few seconds."""
    questions: list[Callable[[], list[Check]]] = [
        _python,
        _packages,
        _own_files,
        _devices,
        _display,
        _opengl,
        _system_libraries,
    ]
    with ThreadPoolExecutor(max_workers=len(questions)) as pool:
        return [check for checks in pool.map(_answer, questions) for check in checks]


def _answer(question: Callable[[], list[Check]]) -> list[Check]:
    try:
        return question()
    except Exception as error:  # a doctor that faints helps nobody
        name = question.__name__.strip("_").replace("_", " ")
        return [Check(name, False, f"could not be checked: {type(error).__name__}: {error}")]


# ---------------------------------------------------------------- this installation


def _python() -> list[Check]:
    fits = (3, 11) <= sys.version_info[:2] < (3, 14)
    text = f"{platform.python_version()} ({sys.executable}), Matterbox {__version__}"
    cure = "" if fits else "install Python 3.11, 3.12 or 3.13 (3.14 has no Taichi wheel)"
    machine = f"{platform.system()} {platform.release()} on {platform.machine()}"
    return [Check("Python", fits, text, cure), Check("system", True, machine)]


def _packages() -> list[Check]:
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    checks = [Check("packages", not missing, ", ".join(found))]
    if missing:
        cure = f"{Path(sys.executable).name} -m pip install {' '.join(missing)}"
        checks.append(Check("missing packages", False, ", ".join(missing), cure))
    return checks


def _own_files() -> list[Check]:
    try:
        assets, scenes = paths.assets_dir(), paths.scenes_dir()
    except FileNotFoundError as error:
        return [Check("files", False, str(error), "install Matterbox again")]
    count = len(list(scenes.glob("*.toml")))
    cure = "" if count else "install Matterbox again"
    return [Check("files", count > 0, f"{count} scenes in {scenes}, assets in {assets}", cure)]


# ---------------------------------------------------------------- devices

_LIST_DEVICES = """
import dataclasses, json
from app.sim import device
print(json.dumps([dataclasses.asdict(info) for info in device.available()]))
"""

_START_DEVICE = """
import json, sys, time
from app.errors import DeviceError
from app.sim import device
began = time.perf_counter()
try:
    info = device.start(sys.argv[1])
    import taichi as ti
    field = ti.field(ti.i32, 1000)
    field.fill(7)
    if int(field.to_numpy().sum()) != 7000:
        raise DeviceError("it starts but computes wrong numbers")
    answer = {"arch": info.arch, "seconds": time.perf_counter() - began}
except DeviceError as error:
    answer = {"error": str(error)}
print(json.dumps(answer))
"""


def _devices() -> list[Check]:
    devices = _ask(_LIST_DEVICES)
    if isinstance(devices, str):
        return [Check("devices", False, f"looking for them failed: {devices}", "mend the driver")]
    checks = [_device(info) for info in devices]
    checks.append(_automatic_choice())
    return checks


def _device(info: dict[str, Any]) -> Check:
    name = f"arch {info['arch']}"
    if info["starts"] is False:
        return Check(name, None, info["note"])
    answer = _ask(_START_DEVICE, info["arch"])
    failure = answer if isinstance(answer, str) else answer.get("error")
    if failure:
        cure = f"update the driver of {info['name']}, or choose another arch"
        return Check(name, False, f"{info['name']} is there but does not start: {failure}", cure)
    note = f" ({info['note']})" if info["note"] else ""
    return Check(name, True, f"starts in {answer['seconds']:.1f} s on {info['name']}{note}")


def _automatic_choice() -> Check:
    answer = _ask(_START_DEVICE, "auto")
    failure = answer if isinstance(answer, str) else answer.get("error")
    if failure:
        return Check("arch auto", False, f"starts nothing: {failure}", "use --arch cpu")
    return Check("arch auto", True, f"takes {answer['arch']}")


# ---------------------------------------------------------------- display and OpenGL

_OPENGL = """
import json, sys
import pyglet
pyglet.options.headless = sys.argv[1] == "headless"
pyglet.options.shadow_window = False
window = pyglet.window.Window(width=16, height=16, visible=False)
info = window.context.get_info()
print(json.dumps({
    "version": [info.get_version()[0], info.get_version()[1]],
    "text": info.get_version_string(), "renderer": info.get_renderer()}))
"""


def _has_display() -> bool:
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY"))
    return True


def _display() -> list[Check]:
    if not sys.platform.startswith("linux"):
        return [Check("display", True, "the desktop of this session")]
    if display := os.environ.get("DISPLAY"):
        return [Check("display", True, f"DISPLAY={display}")]
    if wayland := os.environ.get("WAYLAND_DISPLAY"):
        text = f"WAYLAND_DISPLAY={wayland}, but the window needs X11 and DISPLAY is not set"
        return [Check("display", False, text, "install and start XWayland")]
    text = "none: no window can open, `matterbox simulate` plays without one"
    return [Check("display", None, text)]


def _opengl() -> list[Check]:
    checks = []
    if _has_display():
        checks.append(_opengl_of("OpenGL in a window", "window"))
    if sys.platform.startswith("linux"):
        checks.append(_opengl_of("OpenGL without a window", "headless"))
    return checks


def _opengl_of(name: str, mode: str) -> Check:
    answer = _ask(_OPENGL, mode)
    if isinstance(answer, str):
        cure = "install the graphics driver, and on Linux the system libraries named below"
        if mode == "window":
            cure = f"see that the display is there and lets you in, else {cure}"
        return Check(name, False, f"no context: {answer}", cure)
    text = f"{answer['text']}, {answer['renderer']}"
    if tuple(answer["version"]) < OPENGL_NEEDED:
        return Check(name, False, f"{text}: too old, 3.3 is needed", "update the graphics driver")
    return Check(name, True, text)


_FIND_LIBRARIES = """
import ctypes, json, sys
def loads(soname):
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True
print(json.dumps([any(map(loads, entry.split("|"))) for entry in sys.argv[1:]]))
"""


def _system_libraries() -> list[Check]:
    if not sys.platform.startswith("linux"):
        return []
    table = [
        line.split(maxsplit=2)
        for line in (paths.assets_dir() / "system_libraries.txt").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    answer = _ask(_FIND_LIBRARIES, *(entry[0] for entry in table))
    if isinstance(answer, str):
        return [Check("system libraries", False, f"could not be checked: {answer}")]
    missing = [entry for entry, found in zip(table, answer, strict=True) if not found]
    if not missing:
        return [Check("system libraries", True, f"all {len(table)} are there")]
    packages = " ".join(entry[1] for entry in missing)
    return [
        Check(
            "system libraries",
            False,
            "missing " + ", ".join(f"{entry[0].split('|')[0]} ({entry[2]})" for entry in missing),
            f"on Debian and Ubuntu: sudo apt-get install {packages}; elsewhere the packages that "
            "bring these libraries",
        )
    ]


# ---------------------------------------------------------------- asking in a child process


def _ask(code: str, *arguments: str) -> Any:
    """What the child prints as JSON on its last line, or a str that says how it failed."""
    # The child must find the same package, wherever this one was imported from.
    package_parent = str(Path(__file__).resolve().parent.parent)
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (package_parent, environment.get("PYTHONPATH")))
    )
    try:
        child = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=TIME_LIMIT,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {TIME_LIMIT:.0f} s"
    except OSError as error:
        return str(error)
    # A driver may crash on its way out, after the answer: then the answer still counts.
    for line in reversed(child.stdout.splitlines()):
        if line.startswith(("{", "[")):
            with contextlib.suppress(ValueError):
                return json.loads(line)
    if child.returncode < 0:
        return f"the driver crashed (signal {-child.returncode})"
    said = [line.strip() for line in child.stderr.splitlines() if line.strip()]
    if not said:
        return f"ended with status {child.returncode}"
    return re.sub(r"^[\w.]+(Error|Exception): ", "", said[-1])
