"""Contract of determinism, held by every shipped scene with input of every kind.

- Recorded in one process and replayed in another, which plays the scenes in the opposite order,
  every digest of every tick is equal.
- After a restart the world is the fresh world, bit for bit.
- The number of CPU threads, and whether a recording is made, do not change a bit.
- A recording with one flipped bit, or one changed event, ends with status 3.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from play_scenes import QUIET, RESTART, TICKS

from app.recording import Replay
from app.scene import list_scenes
from app.sim import device

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

# Shipped scenes may be many or few; this one has all of it in the smallest space.
EVERYTHING = """\
format = 1
name = "Everything"
seed = 3

[domain]
size = [1.6, 0.8]
cell = 0.02
edges = { bottom = "stick", left = "slip", right = 0.4, top = "open" }

[solver]
capacity = 9000

[materials.water]
base = "water"

[materials.jelly]
base = "jelly"

[materials.sand]
base = "sand"

[materials.honey]
base = "honey"

[[shapes]]
role = "fill"
kind = "box"
center = [0.3, 0.3]
half_size = [0.2, 0.2]
material = "water"

[[shapes]]
role = "fill"
kind = "circle"
center = [0.8, 0.5]
radius = 0.15
material = "jelly"
velocity = [0.5, 0.0]
angular_velocity = 3.0

[[shapes]]
role = "fill"
kind = "box"
center = [1.3, 0.3]
half_size = [0.15, 0.2]
material = "sand"

[[shapes]]
role = "emitter"
kind = "box"
center = [1.1, 0.7]
half_size = [0.05, 0.05]
material = "honey"
rate = 0.2
speed = 1.5
direction = [0.0, -1.0]

[[shapes]]
role = "drain"
kind = "box"
center = [0.1, 0.05]
half_size = [0.1, 0.05]

[[shapes]]
role = "drain"
kind = "circle"
center = [0.15, 0.1]
radius = 0.08

[[shapes]]
role = "collider"
kind = "capsule"
center = [0.8, 0.2]
half_length = 0.15
radius = 0.05
motion = { angular_velocity = 2.0 }
"""


def python(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("scene") / "everything.toml"
    path.write_text(EVERYTHING)
    return path


@pytest.fixture(scope="module")
def recordings(tmp_path_factory, everything) -> Path:
    """A folder with a recording of each scene, made in a process of its own."""
    folder = tmp_path_factory.mktemp("recordings")
    python(HERE / "play_scenes.py", "record", folder, "cpu", *list_scenes(), everything)
    return folder


@pytest.fixture(scope="module")
def verified(recordings, everything) -> dict[str, dict]:
    """What another process says of each recording."""
    files = [*list_scenes(), everything][::-1]
    out = python(HERE / "play_scenes.py", "verify", recordings, "cpu", *files)
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {Path(entry["scene"]).stem: entry for entry in found}


SCENES = [*(path.stem for path in list_scenes()), "everything"]


@pytest.mark.parametrize("name", SCENES)
def test_every_digest_is_equal_in_another_process(name, verified):
    assert verified[name]["code"] == 0, verified[name]["text"]
    assert f"all {TICKS} ticks" in verified[name]["text"]


@pytest.mark.parametrize("name", SCENES)
def test_world_after_a_restart_is_the_fresh_world(name, recordings):
    replay = Replay.read(recordings / f"{name}.mbr")
    for step in range(QUIET):
        fresh, again = replay.expected_fields(step), replay.expected_fields(RESTART + step)
        assert [n for n in fresh if fresh[n] != again[n]] == [], f"tick {step}"
    for step in range(QUIET, RESTART):
        assert replay.expected(step) == replay.expected(RESTART + step), f"tick {step}"


def simulate(everything: Path, *arguments: object) -> dict:
    out = python(
        "-m", "app", "simulate", everything, "--ticks", 12, "--arch", "cpu", "--json", *arguments
    )
    return json.loads(out.splitlines()[-1])


def test_threads_and_recording_do_not_change_a_bit(everything, tmp_path):
    one = simulate(everything, "--threads", 1)
    two = simulate(everything, "--threads", 2, "--record", tmp_path / "a.mbr")
    assert one["digests"] == two["digests"]
    assert one["digest"] == two["digest"] == Replay.read(tmp_path / "a.mbr").expected(11)
    assert simulate(everything, "--seed", 4)["digest"] != one["digest"]


def test_one_flipped_bit_or_changed_event_is_named(recordings, tmp_path, everything):
    for name, member, old, new in (
        ("flipped", "digests.jsonl", None, None),
        ("changed", "events.jsonl", b"[1.5,-7.0]", b"[1.5,-7.000001]"),
    ):
        with zipfile.ZipFile(recordings / "everything.mbr") as archive:
            members = {entry: archive.read(entry) for entry in archive.namelist()}
        if old is None:
            lines = members[member].splitlines(keepends=True)
            digest = json.loads(lines[5])["digest"]
            flipped = f"{int(digest, 16) ^ 1:016x}"
            lines[5] = lines[5].replace(digest.encode(), flipped.encode())
            members[member] = b"".join(lines)
        else:
            assert old in members[member]
            members[member] = members[member].replace(old, new)
        with zipfile.ZipFile(tmp_path / f"{name}.mbr", "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, data in members.items():
                archive.writestr(entry, data)
    files = [tmp_path / "flipped.toml", tmp_path / "changed.toml"]
    out = python(HERE / "play_scenes.py", "verify", tmp_path, "cpu", *files)
    flipped, changed = (json.loads(line) for line in out.splitlines() if line.startswith("{"))
    assert flipped["code"] == 3
    assert "step 5: field digest" in flipped["text"]
    assert changed["code"] == 3
    assert f"step {QUIET}: field" in changed["text"]


def starts(arch: str) -> bool:
    return next(info for info in device.available() if info.arch == arch).starts is not False


@pytest.mark.parametrize(
    "arch",
    [
        pytest.param("vulkan", marks=pytest.mark.vulkan),
        pytest.param("cuda", marks=pytest.mark.cuda),
        pytest.param("metal", marks=pytest.mark.metal),
    ],
)
def test_other_devices_repeat_themselves_and_are_equivalent_to_the_cpu(
    arch, everything, recordings, tmp_path
):
    if not starts(arch):
        pytest.skip(f"{arch} does not start here")
    python(HERE / "play_scenes.py", "record", tmp_path, arch, everything)
    out = python(HERE / "play_scenes.py", "verify", tmp_path, arch, everything)
    assert json.loads(out.splitlines()[-1])["code"] == 0, out
    out = python(HERE / "play_scenes.py", "verify", recordings, arch, everything)
    elsewhere = json.loads(out.splitlines()[-1])
    assert elsewhere["code"] == 4
    assert "statistically equivalent" in elsewhere["text"]
    assert "NOT" not in elsewhere["text"]
