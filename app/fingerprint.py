"""What must be the same for a recording to replay bit for bit: the code and the machine under it.

`code_hash` covers every file whose change may change a bit of a run; `environment` names the
versions and the platform. Neither needs Taichi to be imported, so a header costs milliseconds.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import __version__
from app.archive import plain
from app.paths import assets_dir

if TYPE_CHECKING:
    from app.simulation import Simulation

PACKAGE = Path(__file__).resolve().parent

# What physics reads: the solver, the door to it, the events, the scenes, and the library of
# materials that a scene's `base` draws on (a scene's own text travels inside the recording).
HASHED = (
    "sim/**/*.py",
    "simulation.py",
    "events.py",
    "scene.py",
    "scene_reader.py",
    "scene_keys.py",
    "material.py",
    "shape.py",
    "geometry.py",
)
_LIBRARY = "materials.toml"

# What of `of` decides about equal bits. The version of Python is told but not compared: no
# arithmetic of the physics is Python's own.
COMPARED = {
    "arch": "arch",
    "device": "device",
    "driver": "driver",
    "system": "operating system",
    "machine": "machine type",
    "taichi": "version of Taichi",
    "numpy": "version of NumPy",
    "code": "code",
}


def of(simulation: Simulation) -> dict[str, str]:
    """Everything that the bits of a run depend on, as text; and the version of Python."""
    return {
        **environment(),
        "arch": simulation.arch,
        "device": simulation.device,
        "driver": driver(simulation.arch),
        "code": code_hash(),
    }


def differences(older: Mapping[str, Any], here: Mapping[str, Any], made: str) -> list[str]:
    """What differs of COMPARED, one phrase each; `made` is what was done to the older: recorded."""
    return [
        f"{label} ({plain(older[name])} {made}, {plain(here[name])} here)"
        for name, label in COMPARED.items()
        if older[name] != here[name]
    ]


@cache
def code_hash() -> str:
    """SHA-256 (first 32 hex digits) over the sources that physics is made of.

    Line ends are normalised, so a checkout with CRLF has the hash of one with LF.
    """
    files = {
        path.relative_to(PACKAGE).as_posix(): path
        for pattern in HASHED
        for path in PACKAGE.glob(pattern)
    }
    with suppress(FileNotFoundError):
        files[f"assets/{_LIBRARY}"] = assets_dir() / _LIBRARY
    total = hashlib.sha256()
    for name in sorted(files):
        text = files[name].read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{name}\0{len(text)}\0".encode())
        total.update(text)
    return total.hexdigest()[:32]


def commit() -> str:
    """The commit of the checkout that holds this code, with a plus where it was changed; an empty
    string outside a checkout."""
    folder = PACKAGE.parent
    if shutil.which("git") is None or not (folder / ".git").exists():
        return ""
    try:
        words = ["git", "-C", str(folder), "describe", "--always", "--abbrev=12", "--exclude=*"]
        done = subprocess.run([*words, "--dirty=+"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def combined_digest(digests: dict[str, str]) -> str:
    """One digest (16 hex digits) of the digests of all fields, which are in canonical order."""
    text = "\n".join(f"{name} {value}" for name, value in digests.items())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def environment() -> dict[str, str]:
    """Versions and platform: matterbox, python, taichi, numpy, system, machine."""
    return {
        "matterbox": __version__,
        "python": platform.python_version(),
        "taichi": version("taichi"),
        "numpy": version("numpy"),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def driver(arch: str) -> str:
    """The GPU driver's version where the system names it, else an empty string.

    Only the NVIDIA kernel module on Linux says it without starting a device.
    """
    if arch not in ("cuda", "vulkan"):
        return ""
    try:
        return "nvidia " + Path("/sys/module/nvidia/version").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


@cache
def version(distribution: str) -> str:
    """The installed version of a distribution, or "unknown" (a source tree never installed)."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
