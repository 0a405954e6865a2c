"""Contract of determinism, held by every shipped scene with input of every kind.

- Recorded in two processes, which play the scenes in opposite orders, every digest of every field
  of every tick is equal.
- After a restart the world is the fresh world, bit for bit.
- The number of CPU threads, and whether a recording is made, do not change a bit.
- From a snapshot taken at some tick, another process goes on with the same bits, twice. Two
  processes write the same bytes into that snapshot.
- A restart out of another life, heavy mode, and drawing a picture of every tick change nothing.
- With every particle in another slot from the load on, each particle and the world are the same.
- A recording verifies in another process with status 0; with one flipped bit, or one changed event,
  it ends with status 3.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from play_scenes import QUIET, TICKS, restart_tick
from simulations import fill, scene
from slotless import slotless_digest

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


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def python(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def verified(arch: str, *files: Path) -> dict[str, dict]:
    """What `verify` says of recordings, in a process of its own: name -> code and text."""
    out = python(HERE / "play_scenes.py", "verify", arch, *files)
    entries = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {entry["name"]: entry for entry in entries}


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("scene") / "everything.toml"
    path.write_text(EVERYTHING)
    return path


@pytest.fixture(scope="module")
def recordings(tmp_path_factory, everything) -> tuple[Path, Path]:
    """Two folders with a recording of each scene, made by two processes at the same time."""
    files = [*list_scenes(), everything]
    folders = tmp_path_factory.mktemp("forwards"), tmp_path_factory.mktemp("backwards")
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "play_scenes.py", "record", "cpu", str(TICKS), folder, *order],
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for folder, order in zip(folders, (files, files[::-1]), strict=True)
    ]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    return folders


SCENES = [*(path.stem for path in list_scenes()), "everything"]


@pytest.mark.parametrize("name", SCENES)
def test_two_processes_make_the_same_bits(name, recordings):
    one, other = (Replay.read(folder / f"{name}.mbr") for folder in recordings)
    assert one.header.fields == other.header.fields
    assert one.ticks == other.ticks == TICKS
    for step in range(TICKS):
        a, b = one.expected_fields(step), other.expected_fields(step)
        assert [field for field in a if a[field] != b[field]] == [], f"tick {step}"
        assert one.expected(step) == other.expected(step), f"tick {step}"
    assert one.aggregates == other.aggregates


@pytest.mark.parametrize("name", SCENES)
def test_world_after_a_restart_is_the_fresh_world(name, recordings):
    replay = Replay.read(recordings[0] / f"{name}.mbr")
    restart = restart_tick(TICKS)
    for step in range(restart):
        if restart + step < TICKS:
            a, b = replay.expected_fields(step), replay.expected_fields(restart + step)
            assert [field for field in a if a[field] != b[field]] == [], f"tick {step}"


# What is held by every scene here, and what by some; test_matrix.py takes all and every condition.
SOME = ("everything", "fountain")
OF_SOME = ("restarted", "heavy", "scrambled", "rendered")
COMPARED = [(name, "resumed") for name in SCENES]
COMPARED += [(name, condition) for name in SOME for condition in OF_SOME]


@pytest.fixture(scope="module")
def compared(recordings) -> dict[tuple[str, str], str | None]:
    """How runs in another process differ from the recordings, by scene and condition."""
    everything, some = (
        [recordings[0] / f"{name}.mbr" for name in names] for names in (SCENES, SOME)
    )
    groups = ("resumed", *everything, "--", ",".join(OF_SOME), *some)
    out = python(HERE / "play_scenes.py", "compare", "cpu", 0, *groups)
    said = [json.loads(line) for line in out.splitlines()]
    assert all(entry["ticks"] == TICKS for entry in said)
    return {(entry["name"], entry["condition"]): entry["difference"] for entry in said}


@pytest.mark.parametrize(("name", "condition"), COMPARED)
def test_the_bits_are_those_of_the_recording(name, condition, compared):
    assert compared[name, condition] is None


def test_comparisons_without_slots_have_teeth(world):
    sim = world(scene(fill((4, 4), (12, 12), "water"), fill((20, 4), (28, 12), "sand")))
    sim.step(2)
    arrays = sim.snapshot().arrays
    whole = slotless_digest(arrays)
    order = np.random.default_rng(1).permutation(len(arrays["x"]))
    moved = {
        name: values[order] if len(values) == len(order) else values
        for name, values in arrays.items()
    }
    assert slotless_digest(moved) == whole
    for name in ("x", "plastic", "material", "floats", "emitter_debt"):
        values = arrays[name].copy()
        values.view(np.uint32).reshape(-1)[3] ^= 1
        assert slotless_digest(arrays | {name: values}) != whole, name
    swapped = arrays["displacement"].copy()
    swapped[[3, 300]] = swapped[[300, 3]]  # of water and sand
    assert slotless_digest(arrays | {"displacement": swapped}) != whole


@pytest.mark.parametrize("name", SCENES)
def test_two_processes_write_the_same_snapshot(name, recordings):
    one, other = (folder / f"{name}.mbs" for folder in recordings)
    assert one.read_bytes() == other.read_bytes()


def test_a_run_cut_in_two_by_a_snapshot_ends_as_a_whole_one(everything, tmp_path):
    command = ("-m", "app", "simulate")
    end = ("--arch", "cpu", "--json")
    cut = tmp_path / "cut.mbs"
    whole = json.loads(python(*command, everything, "--ticks", 14, *end).splitlines()[-1])
    python(*command, everything, "--ticks", 8, "--snapshot", cut, *end)
    rest = python(*command, "--resume", cut, "--ticks", 6, "--heavy", *end)
    rest = json.loads(rest.splitlines()[-1])
    assert rest["digests"] == whole["digests"]
    assert (rest["ticks"], rest["emitted"]) == (6, whole["emitted"])


def test_verification_finds_one_flipped_bit_and_one_changed_event(recordings, tmp_path):
    source = recordings[0] / "everything.mbr"

    def flip(line: bytes) -> bytes:
        digest = json.loads(line)["digest"]
        return line.replace(digest.encode(), f"{int(digest, 16) ^ 1:016x}".encode())

    flipped, changed = tmp_path / "flipped.mbr", tmp_path / "changed.mbr"
    rewrite(source, flipped, "digests.jsonl", lambda step, line: flip(line) if step == 5 else line)
    rewrite(
        source,
        changed,
        "events.jsonl",
        lambda step, line: line.replace(b"[1.5,-7.0]", b"[1.5,-7.000001]"),
    )
    found = verified("cpu", source, flipped, changed)
    assert found["everything"]["code"] == 0, found["everything"]["text"]
    assert f"all {TICKS} ticks" in found["everything"]["text"]
    assert found["flipped"]["code"] == 3
    assert "step 5: field digest" in found["flipped"]["text"]
    assert found["changed"]["code"] == 3
    assert f"step {QUIET}: field" in found["changed"]["text"]


def rewrite(source: Path, target: Path, member: str, edit) -> None:
    """Copy a recording with the lines of one member changed by edit(step, line)."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    lines = members[member].splitlines(keepends=True)
    edited = [edit(json.loads(line)["step"], line) for line in lines]
    assert edited != lines
    members[member] = b"".join(edited)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_threads_and_recording_do_not_change_a_bit(everything, tmp_path):
    command = ("-m", "app", "simulate", everything, "--ticks", 12, "--arch", "cpu", "--json")
    one = json.loads(python(*command, "--threads", 1).splitlines()[-1])
    record = tmp_path / "a.mbr"
    two = json.loads(python(*command, "--threads", 2, "--record", record).splitlines()[-1])
    assert one["digests"] == two["digests"]
    assert one["digest"] == two["digest"] == Replay.read(record).expected(11)


def starts(arch: str) -> bool:
    return next(info for info in device.available() if info.arch == arch).starts is not False


@pytest.mark.parametrize(
    "arch",
    [
        # Mesa's software driver takes seconds a tick; test_backends.py holds it on a tiny scene.
        pytest.param("vulkan", marks=[pytest.mark.vulkan, pytest.mark.soak]),
        pytest.param("cuda", marks=pytest.mark.cuda),
        pytest.param("metal", marks=pytest.mark.metal),
    ],
)
def test_other_devices_repeat_themselves_and_are_equivalent_to_the_cpu(
    arch, everything, recordings, tmp_path
):
    if not starts(arch):
        pytest.skip(f"{arch} does not start here")
    python(HERE / "play_scenes.py", "record", arch, TICKS, tmp_path, everything)
    here = tmp_path / "here.mbr"
    (tmp_path / "everything.mbr").rename(here)
    found = verified(arch, here, recordings[0] / "everything.mbr")
    assert found["here"]["code"] == 0, found["here"]["text"]
    assert found["everything"]["code"] == 4
    assert "statistically equivalent" in found["everything"]["text"]
    assert "NOT" not in found["everything"]["text"]
