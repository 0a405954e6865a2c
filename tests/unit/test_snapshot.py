"""Contract of snapshots.

- A world restored from one has, at every later tick and in every field, the bits of a world that
  was never saved: with events of every kind, in the same solver, a roomier one or another world's,
  from memory or from the file, twice, and with events that still wait. So has its status.
- Equal worlds make equal files. A file is written whole or not at all: an older one stays when the
  disk is full, the folder is not ours, or the process is killed.
- A file that is truncated, altered, of another layout, hostile or too large for the device is
  refused with one line, before more memory is taken than the file has.
- Heavy mode finds what a tick reads and a snapshot does not hold, and names the field.

Caught: tools met moving colliders where the last substep had left them, which no snapshot held.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulations import box, fill, scene, set_array, shape, simulate

from app import archive, snapshot
from app.errors import DeviceError, DivergenceError, SnapshotError
from app.events import Erase, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.scene import Solver
from app.simulation import Simulation
from app.snapshot import Snapshot

ROOT = Path(__file__).parents[2]
CENTER = (0.2, 0.15)
SCRIPT = {
    1: [SetGravity((1.0, -9.0)), SetMaterial("jelly", "youngs_modulus", 1e4)],
    3: [Paint("sand", CENTER, 0.05), Grab(CENTER, (1.0, 0.5), 0.1)],
    5: [Erase((0.1, 0.1), 0.05), SetDamping(0.25)],
    6: [Paint("water", CENTER, 0.12)],
    8: [Push(CENTER, 0.15, 60.0)],
    11: [Restart(), Paint("water", (0.3, 0.3), 0.03)],
}
TICKS = 14
ABSENT = object()
MUTATED = ["x", "status", "free_slots", "material", "group", "emitter_debt", "integers", "floats"]
HUGE = Solver(capacity=40_000_000)


def busy(**keys):
    """Kinds of matter with and without plastic state, two groups, a source, a drain, a fast fan."""
    return scene(
        fill((4, 4), (14, 14), "water", velocity=(0.5, 0.0)),
        fill((16, 20), (24, 28), "jelly", angular_velocity=6.0, group=1),
        fill((26, 4), (34, 14), "sand"),
        shape("emitter", "box", **box((4, 30), (10, 34)), material="water", rate=0.05, speed=1.0),
        shape("drain", "circle", center=(0.3, 0.02), radius=0.03),
        shape(
            "collider",
            "capsule",
            center=CENTER,
            half_length=0.06,
            radius=0.025,
            motion={"angular_velocity": 20.0},
        ),
        cells=(40, 40),
        capacity=2500,
        **keys,
    )


def play(sim, begin=0, end=TICKS):
    """Digests after each of the steps from `begin` to `end`, with their events."""
    made = {}
    for step in range(begin, end):
        for event in SCRIPT.get(step, ()):
            sim.apply(event)
        sim.step(1)
        made[step] = sim.digests()
    return made


def differences(one, other):
    """(step, fields) of the first difference of two runs in the steps that both have."""
    for tick in sorted(one.keys() & other.keys()):
        names = [name for name in one[tick] if one[tick][name] != other[tick][name]]
        if names:
            return tick, names
    return None


@pytest.fixture
def straight(world):
    """A run that was never saved, to its restart and beyond."""
    return play(world(busy()))


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    """A snapshot of the busy world after seven ticks."""
    sim = simulate(busy())
    try:
        play(sim, end=7)
        return sim.snapshot().save(tmp_path_factory.mktemp("good") / "a.mbs").read_bytes()
    finally:
        sim.close()


@pytest.fixture
def saved(tmp_path, good) -> Path:
    path = tmp_path / "a.mbs"
    path.write_bytes(good)
    return path


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 4, 6, 7, 10])
def test_a_restored_world_goes_on_with_the_same_bits_twice(world, straight, at, tmp_path):
    sim = world(busy())
    play(sim, end=at)
    taken = sim.snapshot()
    status = sim.status()
    read = Snapshot.load(taken.save(tmp_path / "a.mbs"))
    assert read.difference(taken) is None
    assert (read.tick, read.seed, read.scene) == (at, 0, sim.scene)
    for origin in (taken, read):
        play(sim, at)  # whatever happens in between leaves no trace
        sim.restore(origin)
        assert sim.tick == at and sim.resumed
        assert sim.status() == status
        assert sim.environment == taken.environment and sim.materials == taken.materials
        rest = play(sim, at)
        assert len(rest) == TICKS - at
        assert differences(rest, straight) is None


def test_the_comparison_has_teeth(world, straight, saved):
    """One bit of one particle in the snapshot is seen in the ticks after it."""
    taken = Snapshot.load(saved)
    taken.arrays["x"].view(np.uint32)[100, 0] ^= 1
    sim = world(busy())
    sim.restore(taken)
    step, names = differences(play(sim, 7), straight)
    assert step == 7 and "x" in names


def test_another_world_and_a_roomier_solver_take_it_over(world, straight, saved):
    other = world(scene(fill((0, 0), (60, 20), "honey"), gravity=(3.0, 2.0), min_substeps=5))
    other.apply(Grab((0.3, 0.1), (1.0, 1.0), 0.2))
    other.step(2)
    other.restore(Snapshot.load(saved))
    assert other.scene == busy()
    assert differences(play(other, 7), straight) is None
    other.close()
    fresh = Simulation.from_snapshot(saved)
    try:
        assert (fresh.tick, fresh.steps) == (7, 0)
        assert differences(play(fresh, 7), straight) is None
    finally:
        fresh.close()


def test_events_that_wait_are_part_of_it(world, tmp_path):
    sim = world(busy())
    sim.step(2)
    sim.apply(Paint("sand", (0.3, 0.3), 0.04))
    sim.apply(SetMaterial("water", "viscosity", 3.0))
    taken = sim.snapshot()
    sim.step(1)
    expected = sim.digests()
    sim.restore(Snapshot.load(taken.save(tmp_path / "a.mbs")))
    assert sim.materials["water"].viscosity != 3.0
    sim.step(1)
    assert sim.digests() == expected
    assert sim.materials["water"].viscosity == 3.0


def test_a_tool_meets_a_moving_collider_where_the_tick_finds_it(world):
    """A bar that turns by 19 degrees a tick: no grain is painted into it, also not after a restore.

    The last substep of the tick before left it several degrees short.
    """
    sim = world(
        scene(
            fill((1, 1), (2, 2), "sand"),
            shape(
                "collider",
                "box",
                center=(0.2, 0.2),
                half_size=(0.15, 0.03),
                motion={"angular_velocity": 20.0},
            ),
            cells=(40, 40),
            gravity=(0.0, 0.0),
            min_substeps=1,
            max_substeps=1,
        )
    )
    sim.step(3)
    taken = sim.snapshot()
    for _ in range(2):
        _center, angle = sim.shape_poses()[1]
        before = len(sim.positions())
        sim._solver.paint("sand", (0.2, 0.2), 0.12)
        grains = sim.positions()[before:] - (0.2, 0.2)
        c, s = np.cos(angle), np.sin(angle)
        across = np.abs(-s * grains[:, 0] + c * grains[:, 1])
        assert len(grains) > 200
        assert across.min() > 0.03 - 0.002  # a grain may lie a little off its site
        sim.restore(taken)


def test_a_snapshot_too_large_for_the_device_changes_nothing(world, saved, monkeypatch):
    sim = world(busy())
    play(sim, end=3)
    before = sim.digests()
    larger = Snapshot.load(saved)
    huge = busy(method="explicit")
    huge = huge.model_copy(
        update={"solver": huge.solver.model_copy(update={"capacity": 40_000_000})}
    )
    object.__setattr__(larger, "scene", huge)

    def no_room(cls, *_):
        raise DeviceError("the device has no room for 40000000 particles")

    monkeypatch.setattr(Simulation, "_acquire", classmethod(no_room))
    with pytest.raises(SnapshotError, match=r"a\.mbs is too large for the device: .*no room"):
        sim.restore(larger)
    assert sim.digests() == before
    with pytest.raises(SnapshotError, match="cannot be resumed here"):
        Simulation.from_snapshot(larger)


# -- heavy mode ------------------------------------------------------------------------------------


def test_heavy_mode_changes_no_bit_and_finds_none(world, straight):
    sim = world(busy())
    sim.heavy = True
    heavy = play(sim)
    assert (len(heavy), sim.steps, sim.resumed) == (TICKS, TICKS, False)
    assert differences(heavy, straight) is None


def test_heavy_mode_names_what_a_snapshot_does_not_hold(world):
    sim = world(busy())
    sim.step(2)
    sim.heavy = True
    sim.step(1)
    tick, runs = sim._solver.tick, []

    def leaky(on_stage):
        runs.append(1)
        sim._solver.set_gravity((0.1 * len(runs), -9.81))  # state beside the state
        tick(on_stage)

    sim._solver.tick = leaky
    with pytest.raises(DivergenceError) as caught:
        sim.step(1)
    del sim._solver.tick
    message = str(caught.value)
    assert (sim.tick, sim.steps) == (4, 4)
    assert message.startswith("tick 3 made other bits")
    assert "field x, entry 0[0]: 0x1." in message
    assert "\n" not in message


# -- files -----------------------------------------------------------------------------------------


def test_equal_worlds_make_equal_files(world, saved, tmp_path):
    sim = world(busy())
    play(sim, end=7)
    again = sim.snapshot().save(tmp_path / "b.mbs")
    assert again.read_bytes() == saved.read_bytes()
    sim.step(1)
    assert sim.snapshot().save(again).read_bytes() != saved.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mbs", "b.mbs"]


def test_the_members_are_plain_arrays(saved):
    with zipfile.ZipFile(saved) as members:
        assert members.testzip() is None
        header = json.loads(members.read("header.json"))
        assert header["format"] == 1 and header["tick"] == 7 and header["arch"] == "cpu"
        for name, field in header["fields"].items():
            with members.open(f"{name}.npy") as member:
                array = np.load(member)
            assert list(array.shape) == field["shape"] and array.dtype == field["dtype"]


@contextmanager
def rewriting(path: Path, *, digest: bool = True, pack: int = zipfile.ZIP_STORED):
    """The members of a snapshot as a dict of bytes; written back on leaving, with a digest that
    fits what is there then unless told otherwise."""
    with zipfile.ZipFile(path) as members:
        parts = {name: members.read(name) for name in members.namelist()}
    yield parts
    if digest and "digest.txt" in parts:
        total = sha256()
        for name, data in parts.items():
            if name != "digest.txt":
                total.update(f"{name}\0{len(data)}\0".encode() + data)
        parts["digest.txt"] = total.hexdigest().encode()
    with zipfile.ZipFile(path, "w", pack) as members:
        for name, data in parts.items():
            members.writestr(name, data)


@contextmanager
def editing(path: Path, name: str):
    """One array of a snapshot, to be changed in place."""
    with rewriting(path) as parts:
        head = parts[f"{name}.npy"].index(b"\n") + 1
        data = parts[f"{name}.npy"]
        dtype = np.float32 if b"<f4" in data[:head] else np.int32
        values = np.frombuffer(data[head:], dtype).copy()
        yield values
        parts[f"{name}.npy"] = data[:head] + values.tobytes()


def refused(path: Path) -> str:
    with pytest.raises(SnapshotError) as caught:
        Snapshot.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message and message.isprintable()
    return message


def test_rewriting_alone_changes_nothing(saved):
    with rewriting(saved):
        pass
    assert Snapshot.load(saved).tick == 7


def test_missing_and_foreign_files(tmp_path):
    assert "No such file" in refused(tmp_path / "none.mbs")
    assert "directory" in refused(tmp_path)
    for data in (b"", b"PK", b"hello world" * 100, b"PK\5\6" + bytes(18)):
        (tmp_path / "x.mbs").write_bytes(data)
        refused(tmp_path / "x.mbs")


@pytest.mark.parametrize("member", ["header.json", "scene.toml", "x.npy", "floats.npy"])
def test_an_altered_member_is_seen(saved, member):
    with rewriting(saved, digest=False) as parts:
        data = bytearray(parts[member])
        data[-3] = data[-3] + 1 if member != "scene.toml" else ord(" ")
        if member == "header.json":
            data = bytearray(parts[member].replace(b'"name":"test"', b'"name":"tent"'))
        parts[member] = bytes(data)
    assert "altered" in refused(saved)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("format", 2, "update it"),
        ("format", "1", "format number"),
        ("format", True, "format number"),
        ("layout", "0123456789abcdef", "another layout"),
        ("layout", None, "layout"),
        ("layout", ABSENT, "no snapshot"),
        ("arch", ABSENT, "arch"),
        ("seed", -1, "seed"),
        ("seed", 1, "seeds of header and state differ"),
        ("tick", 8, "tick"),
        ("device", 7, "device"),
        ("device", "x" * 5000, "device"),
        ("fields", None, "fields"),
        ("fields", {}, "damaged"),
        ("fields", {"status": {"shape": [1 << 60]}}, "more particles"),
        ("fields", {"status": {"shape": [100]}}, "not those"),
        ("edits", {}, "edits"),
        ("edits", [{"kind": "restart"}], "no edit"),
        ("edits", [{"kind": "set_gravity", "gravity": [0, 1e999]}], "Infinity"),
        ("edits", [{"kind": "set_material", "material": "lava", "field": "x", "value": 1}], "lava"),
        ("events", [{"kind": "explode"}], "explode"),
        ("events", [7], "event"),
    ],
)
def test_wrong_headers(saved, key, value, words):
    with rewriting(saved) as parts:
        header = json.loads(parts["header.json"])
        header[key] = value
        if value is ABSENT:
            del header[key]
        parts["header.json"] = json.dumps(header).encode()
    assert words in refused(saved)


def of_integer(name):
    from app.sim.state import integer_index

    return "integers", integer_index(name)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (of_integer("high_water"), 1 << 30, "high_water"),
        (of_integer("free_count"), -1, "free_count"),
        (of_integer("free_count"), 2501, "free_count"),
        (of_integer("capacity"), 1 << 20, "capacity"),
        (of_integer("ladder_rung"), 99, "ladder_rung"),
        (of_integer("leaving"), 3, "leaving"),
        (of_integer("tick"), -5, "tick"),
        (("status", 0), 7, "neither"),
        (("status", 0), 0, "slots are lost"),
        (("free_slots", 0), -1, "free list"),
        (("free_slots", 0), 1 << 20, "free list"),
        (("free_slots", 0), 0, "free list"),
        (("free_slots", 0), 2490, "lost or doubled"),
        (("material", 0), 64, "material"),
        (("material", 0), -1, "material"),
        (("group", 0), 2, "group"),
        (("x", 0), 1e6, "outside the grid"),
        (("x", 1), -3.0, "outside the grid"),
        (("emitter_debt", 2), -1, "emitter"),
        (("emitter_debt", 2), (1 << 31) - 1, "emitter"),
        (("floats", 0), 0.0, "dt"),
        (("floats", 0), np.nan, "dt"),
        (("floats", 0), 1e-30, "dt"),
    ],
)
def test_what_would_lead_a_kernel_astray_is_refused(saved, place, value, words):
    name, index = place
    with editing(saved, name) as values:
        values[index] = value
    assert words in refused(saved)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_a_particle_that_is_no_number_may_be_saved_and_leaves(world, saved, value):
    with editing(saved, "x") as values:
        values[20] = value
    sim = world(busy())
    sim.restore(Snapshot.load(saved))
    sim.step(1)
    assert sim.status().counters["nonfinite_removed"] == 1


@pytest.mark.parametrize(
    "text",
    [
        b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 117 + b"\n",
        b"\x93NUMPY\x02\x00\x76\x00\x00\x00" + b" " * 114 + b"{}\n",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }",
        b"\x93NUMPY\x01\x00\xff\xff{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
        b"not numpy at all",
    ],
)
def test_arrays_that_are_none(saved, text):
    with rewriting(saved) as parts:
        head = parts["floats.npy"].index(b"\n") + 1
        parts["floats.npy"] = text.ljust(head) + parts["floats.npy"][head:]
    refused(saved)


def test_bombs_take_no_memory(saved):
    """What is packed, overlaps, or claims a size that it does not have, is refused by its size."""
    good = saved.read_bytes()
    with rewriting(saved, pack=zipfile.ZIP_DEFLATED) as parts:
        parts["x.npy"] = parts["x.npy"][:128] + bytes(500 << 20)
    tracemalloc.start()
    assert "packed beyond reason" in refused(saved)
    assert tracemalloc.get_traced_memory()[1] < 2 << 20
    saved.write_bytes(good)
    with rewriting(saved) as parts:
        header = json.loads(parts["header.json"])
        for field in header["fields"].values():
            field["shape"][0] = 2500
        parts["header.json"] = json.dumps(header).encode()
    refused(saved)
    assert tracemalloc.get_traced_memory()[1] < 2 << 20
    tracemalloc.stop()
    with rewriting(saved) as parts:
        parts["more.npy"] = b""
    assert "others" in refused(saved)
    saved.write_bytes(good)
    with rewriting(saved) as parts:
        parts["header.json"] = b" " * (snapshot.MAX_HEADER + 1)
    assert "larger than" in refused(saved)


def test_overlapping_members_are_refused(saved):
    """A table of contents that lets every member be the whole file."""
    data = bytearray(saved.read_bytes())
    at = data.index(b"PK\1\2")
    while at >= 0:
        data[at + 20 : at + 28] = len(data).to_bytes(4, "little") * 2
        at = data.find(b"PK\1\2", at + 4)
    saved.write_bytes(data)
    assert "overlap" in refused(saved)


def test_more_than_a_snapshot_may_hold(world, saved, monkeypatch, tmp_path):
    sim = world(busy())
    monkeypatch.setattr(snapshot, "MAX_BYTES", 1000)
    with pytest.raises(SnapshotError, match="more particles than a snapshot can hold"):
        sim.snapshot().save(tmp_path / "b.mbs")
    monkeypatch.undo()
    monkeypatch.setattr(snapshot, "MAX_HEADER", 3000)
    for _ in range(50):
        sim.apply(Paint("sand", CENTER, 0.05))
    with pytest.raises(SnapshotError, match=r"header\.json .* 3000 bytes: too much input"):
        sim.snapshot().save(tmp_path / "b.mbs")
    assert not (tmp_path / "b.mbs").exists()
    limits = archive.Limits("snapshot", 1000, 64, 1, 0)
    monkeypatch.setattr(snapshot, "_LIMITS", limits)
    assert "larger than a snapshot" in refused(saved)


hostile = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def harmless(path: Path, data: bytes) -> Snapshot | None:
    """Reading either works or raises SnapshotError with one line."""
    path.write_bytes(data)
    try:
        return Snapshot.load(path)
    except SnapshotError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path))
        return None


@hostile
@given(cut=st.integers(0, 1 << 20))
def test_truncated_files_are_refused(good, tmp_path, cut):
    assert harmless(tmp_path / "a.mbs", good[: cut % len(good)]) is None


@hostile
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), min_size=1, max_size=6
    ),
    directory=st.booleans(),
)
def test_mutated_files_are_refused_or_the_same_world(good, tmp_path, changes, directory):
    """Whatever byte changes: nothing, or nothing that matters, or a refusal."""
    data = bytearray(good)
    span = 2000 if directory else len(data)  # the table of contents is small and all-important
    for at, value in changes:
        data[len(data) - 1 - at % span] ^= value
    read = harmless(tmp_path / "a.mbs", bytes(data))
    if read is not None:
        (tmp_path / "good.mbs").write_bytes(good)
        assert read.digest() == Snapshot.load(tmp_path / "good.mbs").digest()


@hostile
@given(
    name=st.sampled_from(
        ["x", "status", "free_slots", "material", "integers", "floats", "group", "emitter_debt"]
    ),
    changes=st.lists(
        st.tuples(st.integers(0, 1 << 20), st.integers(0, (1 << 32) - 1)), min_size=1, max_size=4
    ),
)
def test_mutated_states_are_harmless(good, tmp_path, world, name, changes):
    """States with a digest that fits: refused, or the world steps on without a crash."""
    path = tmp_path / "a.mbs"
    path.write_bytes(good)
    with editing(path, name) as values:
        for at, word in changes:
            values.view(np.uint32)[at % len(values)] = word
    read = harmless(path, path.read_bytes())
    if read is not None:
        sim = world(busy())
        sim.restore(read)
        sim.step(1)
        sim.status()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@hostile
@given(key=st.integers(0, 40), value=json_values)
def test_any_value_in_any_place_of_the_header_is_harmless(good, tmp_path, key, value):
    path = tmp_path / "a.mbs"
    path.write_bytes(good)
    with rewriting(path) as parts:
        target = header = json.loads(parts["header.json"])
        while isinstance(target, dict | list) and target:
            places = list(target) if isinstance(target, dict) else list(range(len(target)))
            place = places[key % len(places)]
            if key % 3 == 0 or not isinstance(target[place], dict | list):
                target[place] = value
                break
            target = target[place]
        parts["header.json"] = json.dumps(header).encode()
    harmless(path, path.read_bytes())


# -- what goes wrong while saving ------------------------------------------------------------------


def cannot_save(taken, path) -> str:
    with pytest.raises(SnapshotError) as caught:
        taken.save(path)
    message = str(caught.value)
    assert message.startswith(f"cannot write {path}: ") and "\n" not in message
    return message


def test_places_that_cannot_be_written(saved, tmp_path):
    taken = Snapshot.load(saved)
    assert "No such file" in cannot_save(taken, tmp_path / "no" / "a.mbs")
    (tmp_path / "folder.mbs").mkdir()
    assert "no regular file" in cannot_save(taken, tmp_path / "folder.mbs")
    if Path("/dev/full").exists():
        assert "no regular file" in cannot_save(taken, Path("/dev/full"))
        assert Path("/dev/full").is_char_device()
    if Path("/proc").is_dir():
        cannot_save(taken, Path("/proc/a.mbs"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mbs", "folder.mbs"]


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_a_folder_that_is_not_ours(saved, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    taken = Snapshot.load(saved)
    tmp_path.chmod(0o500)
    try:
        assert "ermission" in cannot_save(taken, tmp_path / "b.mbs")
    finally:
        tmp_path.chmod(0o700)


def test_a_disk_that_is_full_at_the_last_moment_keeps_the_older_file(saved, monkeypatch):
    taken = Snapshot.load(saved)
    before = saved.read_bytes()

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    assert "No space left" in cannot_save(taken, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["a.mbs"]


FULL_DISK = """
import resource, signal, sys
from app.errors import SnapshotError
from app.snapshot import Snapshot

taken = Snapshot.load(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
try:
    taken.save(sys.argv[1])
except SnapshotError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
def test_a_disk_that_fills_up_while_saving_keeps_the_older_file(saved):
    before = saved.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(saved)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""
    assert done.stdout.startswith(f"cannot write {saved}: ") and done.stdout.count("\n") == 1
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["a.mbs"]


SAVE_FOREVER = """
import sys
from app.snapshot import Snapshot

pair = [Snapshot.load(path) for path in sys.argv[1:3]]
print("ready", flush=True)
while True:
    for taken in pair:
        taken.save(sys.argv[3])
        print(taken.tick, flush=True)
"""


def kill_while_saving(saved: Path, world, times: int) -> None:
    sim = world(busy())
    play(sim, end=9)
    later = sim.snapshot().save(saved.with_name("later.mbs"))
    target = saved.with_name("target.mbs")
    whole = {saved.read_bytes(), later.read_bytes()}
    chance = random.Random(4)
    for number in range(times):
        with subprocess.Popen(
            [sys.executable, "-c", SAVE_FOREVER, str(saved), str(later), str(target)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:
            for _ in range(2 if not number else 1 + chance.randrange(5)):
                process.stdout.readline()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(chance.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        assert target.read_bytes() in whole
        assert Snapshot.load(target).tick in (7, 9)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_sigkill_while_saving_leaves_a_whole_file(saved, world):
    kill_while_saving(saved, world, 3)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_sigkill_while_saving_a_hundred_times(saved, world, keep_results):
    start = time.perf_counter()
    kill_while_saving(saved, world, 100)
    row = {"run": "kills", "arch": "cpu", "subject": "a snapshot", "condition": "while saving"}
    row |= {"count": 100, "unit": "kills", "seconds": f"{time.perf_counter() - start:.0f}"}
    keep_results(row | {"verdict": "holds", "note": "the file was whole each time"})


def test_a_nonfinite_number_in_a_world_is_saved_as_it_is(world, tmp_path):
    sim = world(busy())
    sim.step(1)
    values = sim._solver.state.arrays["x"].to_numpy()
    values[5] = np.nan
    set_array(sim, "x", values)
    taken = sim.snapshot()
    assert Snapshot.load(taken.save(tmp_path / "a.mbs")).difference(taken) is None
