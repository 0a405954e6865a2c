"""Contract of recordings.

- What was recorded verifies with status 0 on the same device and code; one changed bit of a digest
  or one changed event is status 3 with the first step and field; another device or code is
  status 4, never 0, and aggregates are compared within stated tolerances.
- SIGKILL at any time loses at most one second and leaves no broken final file; an old file of the
  same name is replaced only by a complete new one. A full disk ends with one sentence.
- Reading a damaged or hostile file raises RecordingError with one line, and nothing else.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_simulation import SCENE, ToySimulation

from app import recording
from app.errors import DeviceError, RecordingError
from app.events import Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.recording import Recorder, Replay, compare_aggregates, journal_of
from app.session import Session

EVENTS = {
    0: [SetGravity((0.5, -9.0))],
    3: [Paint("water", (0.25, 0.75), 0.1), Grab((0.5, 0.5), (1.0, 0.0), 0.2)],
    7: [SetMaterial("water", "viscosity", 0.5), SetDamping(0.25)],
    9: [Restart()],
    11: [Push((0.5, 0.5), 0.25, -3.0)],
}
TICKS = 130


def make(path: Path, ticks: int = TICKS) -> Path:
    simulation = ToySimulation()
    session = Session(simulation, recorder=Recorder(path, simulation))
    for step in range(ticks):
        for event in EVENTS.get(step, ()):
            session.emit(event)
        session.step_once()
    return session.close()


def verify(path, **options):
    return recording.verify(path, start=options.pop("start", ToySimulation.from_scene), **options)


@contextmanager
def rewriting(path: Path):
    """The members of a recording as a dict of bytes; written back as a zip on leaving."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    yield members
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@contextmanager
def editing_lines(path: Path, member: str):
    with rewriting(path) as members:
        lines = [json.loads(line) for line in members[member].splitlines()]
        yield lines
        members[member] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def read_refused(path: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        Replay.read(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert message.isprintable()
    return message


@pytest.fixture
def file(tmp_path) -> Path:
    return make(tmp_path / "a.mbr")


# -- the round trip --------------------------------------------------------------------------------


def test_file_holds_what_happened(file):
    replay = Replay.read(file)
    assert (replay.start_step, replay.last_step, replay.ticks) == (0, TICKS - 1, TICKS)
    assert replay.header.seed == 7
    assert replay.header.scene == "Toy"
    assert replay.header.fields == ("position", "gravity", "material", "tick")
    assert replay.scene_text == SCENE
    assert {step: list(replay.events_at(step)) for step in EVENTS} == EVENTS
    assert replay.events_at(1) == ()
    assert sorted(replay.aggregates) == [59, 119, 129]
    simulation = ToySimulation()
    simulation.apply(EVENTS[0][0])
    simulation.step()
    assert replay.expected(0) == simulation.digest()
    found = {name: digest[:8] for name, digest in simulation.digests().items()}
    assert replay.expected_fields(0) == found
    assert replay.expected(TICKS) is None
    assert not journal_of(file).exists()


def test_verifies(file):
    result = verify(file)
    assert (result.code, result.ticks, result.divergence) == (0, TICKS, None)
    assert "130 ticks" in result.text


def test_verifies_up_to_a_tick(file):
    seen = []
    result = verify(file, to=10, progress=lambda done, total: seen.append((done, total)))
    assert (result.code, result.ticks) == (0, 10)
    assert seen == [(n, 10) for n in range(1, 11)]


def test_empty_recording_is_a_recording(tmp_path):
    result = verify(make(tmp_path / "a.mbr", ticks=0))
    assert (result.code, result.ticks) == (0, 0)


def test_digests_stay_compact(tmp_path):
    path = make(tmp_path / "long.mbr", ticks=2000)
    assert path.stat().st_size / 2000 < 40


# -- what verify must find -------------------------------------------------------------------------


@pytest.mark.parametrize("bit", [0, 17, 63])
def test_flipped_bit_of_a_digest_is_named(file, bit):
    with editing_lines(file, "digests.jsonl") as lines:
        lines[42]["digest"] = f"{int(lines[42]['digest'], 16) ^ 1 << bit:016x}"
    result = verify(file)
    assert result.code == 3
    assert (result.divergence.step, result.divergence.field) == (42, "digest")
    assert "step 42" in result.text and "digest" in result.text


def test_flipped_bit_of_a_field_is_named(file):
    with editing_lines(file, "digests.jsonl") as lines:
        assert lines[7]["fields"][2] is not None  # the material was edited at this step
        lines[7]["fields"][2] = f"{int(lines[7]['fields'][2], 16) ^ 1:08x}"
    result = verify(file)
    assert result.code == 3
    assert (result.divergence.step, result.divergence.field) == (7, "material")


@pytest.mark.parametrize(
    ("step", "index", "key", "value", "field"),
    [
        (0, 0, "gravity", [0.5, -9.000000000000002], "position"),
        (3, 0, "radius", 0.1000000000000001, "position"),
        (7, 1, "damping", 0.5, "position"),
        (11, 0, "center", [0.5, 0.25], "position"),
    ],
)
def test_changed_event_is_detected(file, step, index, key, value, field):
    with editing_lines(file, "events.jsonl") as lines:
        line = next(line for line in lines if line["step"] == step)
        line["events"][index][key] = value
    result = verify(file)
    assert result.code == 3
    assert (result.divergence.step, result.divergence.field) == (step, field)


def test_moved_and_missing_events_are_detected(file, tmp_path):
    with editing_lines(file, "events.jsonl") as lines:
        lines[1]["step"] = 4
    assert verify(file).divergence.step == 3
    other = make(tmp_path / "b.mbr")
    with editing_lines(other, "events.jsonl") as lines:
        del lines[2]
    assert verify(other).divergence.step == 7


def test_changed_scene_or_seed_is_detected(file, tmp_path):
    with rewriting(file) as members:
        members["scene.toml"] += b"\n[environment]\ngravity = [0.0, -1.0]\n"
    assert verify(file).code == 3
    other = make(tmp_path / "b.mbr")
    with rewriting(other) as members:
        members["header.json"] = members["header.json"].replace(b'"seed":7', b'"seed":8')
    assert verify(other).divergence.step == 0


@pytest.mark.parametrize("key", ["device", "arch", "driver", "taichi", "code", "machine", "numpy"])
def test_other_device_or_code_is_never_status_0(file, key):
    with rewriting(file) as members:
        header = json.loads(members["header.json"])
        header[key] = "another"
        members["header.json"] = json.dumps(header).encode()
    result = verify(file, arch="cpu")
    assert result.code == 4
    assert "another" in result.text
    assert "bit for bit" in result.text  # equal all the same, and the text says so
    assert "statistically equivalent" in result.text
    assert result.deviations == ()


def test_other_python_is_told_but_not_compared(file):
    with rewriting(file) as members:
        header = json.loads(members["header.json"])
        header["python"] = "3.99"
        members["header.json"] = json.dumps(header).encode()
    assert verify(file).code == 0


def test_other_device_whose_aggregates_are_off_says_where(file):
    class Leaky(ToySimulation):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.device = "other processor"

        def _reset(self):
            super()._reset()
            del self.particles[8:]

    result = verify(file, start=Leaky.from_scene)
    assert result.code == 4
    assert result.divergence.step == 0
    assert "NOT statistically equivalent" in result.text
    assert "step 59: mass" in result.text
    assert "tolerances: mass 3%" in result.text


def test_tolerances_scale_with_the_scene():
    sample = {
        "mass": 100.0,
        "momentum": [0.0, 0.0],
        "center_of_mass": [1.0, 1.0],
        "kinetic_energy": 50.0,
        "live": 1000,
    }
    domain = (3.0, 4.0)

    def off(**change):
        return compare_aggregates({9: sample}, {9: {**sample, **change}}, domain)

    assert off() == []
    assert off(mass=102.9, live=1029, center_of_mass=[1.04, 1.0]) == []
    assert off(kinetic_energy=56.4, momentum=[6.9, 0.0]) == []
    assert off(mass=103.1) == ["step 9: mass is off by 3.1%"]
    assert off(center_of_mass=[1.055, 1.0]) == ["step 9: center_of_mass is off by 1.1%"]
    assert off(center_of_mass=[None, None]) == ["step 9: center_of_mass is off by inf%"]
    assert len(off(kinetic_energy=57.0, momentum=[0.0, 7.1], live=1031)) == 3


def test_arch_that_does_not_start_says_what_to_do(file):
    def start(scene, *, arch, seed):
        raise DeviceError("no CUDA device")

    with pytest.raises(DeviceError, match=r"recorded on cpu \(toy processor\).*--arch"):
        verify(file, start=start)
    with pytest.raises(DeviceError, match="no CUDA device"):
        verify(file, start=start, arch="cuda")


def test_event_that_does_not_fit_the_scene_is_the_files_fault(file):
    with editing_lines(file, "events.jsonl") as lines:
        lines[1]["events"][0]["material"] = "lava"
    with pytest.raises(RecordingError, match="step 3"):
        verify(file)
    replay = Replay.read(file)
    session = Session(ToySimulation(), replay=replay)
    while session.step_once():
        pass
    assert (replay.divergence.step, replay.divergence.field) == (3, "events")


# -- crashes ---------------------------------------------------------------------------------------

RECORD_FOREVER = """
import sys, time
from toy_simulation import ToySimulation
from app.events import SetGravity
from app.recording import Recorder
from app.session import Session

simulation = ToySimulation()
session = Session(simulation, recorder=Recorder(sys.argv[1], simulation))
while True:
    session.emit(SetGravity((0.0, -float(simulation.steps))))
    session.step_once()
    print(simulation.steps, time.monotonic(), flush=True)
    time.sleep(0.003)
"""


def record_forever(path: Path) -> subprocess.Popen:
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(here), str(here.parents[1])))}
    return subprocess.Popen(
        [sys.executable, "-c", RECORD_FOREVER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("older", [False, True])
def test_sigkill_loses_at_most_a_second(tmp_path, older):
    path = tmp_path / "killed.mbr"
    before = make(path).read_bytes() if older else None
    with record_forever(path) as process:
        said = [process.stdout.readline() for _ in range(200)]
        if not older:
            # The journal of a recording that runs is nobody else's.
            with pytest.raises(RecordingError, match="still being recorded"):
                Replay.read(path)
        with pytest.raises(RecordingError, match="being recorded already"):
            Recorder(path, ToySimulation())
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    steps, moment = said[-1].split()
    if older:
        assert path.read_bytes() == before
        replay = Replay.read(path)
        assert "newer recording" in replay.notice
        replay = Replay.read(journal_of(path))
    else:
        assert not path.exists()
        replay = Replay.read(path)
        assert "recovered" in replay.notice
        assert path.exists() and not journal_of(path).exists()
    reached = dict(line.split() for line in said)[str(replay.last_step + 1)]
    assert float(moment) - float(reached) <= 1.0
    assert int(steps) - replay.ticks <= 1  # in truth nothing that was said is lost
    assert verify(replay).code == 0


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_sigkill_while_recording_a_hundred_times(tmp_path, keep_results):
    """At a moment by chance, from the first tick on: no tick that was said is lost, and what is
    recovered verifies."""
    chance = random.Random(5)
    start = time.perf_counter()
    lost = []
    for number in range(100):
        path = tmp_path / f"{number}.mbr"
        with record_forever(path) as process:
            said = [process.stdout.readline()]
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(chance.random() * 0.6)
            process.send_signal(signal.SIGKILL)
            said += process.stdout.readlines()
        whole = [line.split() for line in said if line.endswith("\n") and len(line.split()) == 2]
        moments = {int(steps): float(moment) for steps, moment in whole}
        replay = Replay.read(path)
        reached = min(replay.ticks, max(moments))
        lost.append(max(moments.values()) - moments[reached])
        assert lost[-1] <= 1.0
        assert verify(replay).code == 0
    row = {"run": "kills", "arch": "cpu", "subject": "a recording", "condition": "while recording"}
    row |= {"count": 100, "unit": "kills", "seconds": f"{time.perf_counter() - start:.0f}"}
    keep_results(row | {"verdict": "holds", "note": f"at most {max(lost):.3f} s lost"})


def test_journal_cut_anywhere_is_read_up_to_there(tmp_path):
    path = tmp_path / "a.mbr"
    simulation = ToySimulation()
    recorder = Recorder(path, simulation)
    session = Session(simulation, recorder=recorder)
    for step in range(20):
        for event in EVENTS.get(step, ()):
            session.emit(event)
        session.step_once()
    journal = journal_of(path).read_bytes()
    recorder.close()
    first = journal.index(b"\n") + 1
    left = tmp_path / "b.mbr.part"
    ticks = []
    for size in range(first, len(journal) + 1, 7):
        for junk in (b"", b"\0" * 100, b'{"step":3,'):
            left.write_bytes(journal[:size] + junk)
            ticks.append(Replay.read(left).ticks)
    assert ticks == sorted(ticks)
    assert verify(left).code == 0
    left.write_bytes(journal[: first - 1])
    read_refused(left)


def test_journal_left_by_a_crash_is_saved_before_recording_anew(tmp_path):
    path = tmp_path / "a.mbr"
    simulation = ToySimulation()
    session = Session(simulation, recorder=Recorder(path, simulation))
    for _ in range(5):
        session.step_once()
    data = journal_of(path).read_bytes()
    session.close()
    path.unlink()
    journal_of(path).write_bytes(data)
    recorder = Recorder(path, ToySimulation())
    assert "recovered 5 ticks" in recorder.notice
    recorder.close()
    assert verify(tmp_path / "a.recovered-1.mbr").ticks == 5


def test_foreign_file_under_the_journals_name_is_not_touched(tmp_path):
    journal_of(tmp_path / "a.mbr").write_text("my diary\n")
    with pytest.raises(RecordingError, match="no journal"):
        Recorder(tmp_path / "a.mbr", ToySimulation())
    assert journal_of(tmp_path / "a.mbr").read_text() == "my diary\n"


def test_old_file_stays_while_a_new_one_is_recorded(tmp_path):
    path = make(tmp_path / "a.mbr")
    before = path.read_bytes()
    recorder = Recorder(path, ToySimulation())
    assert path.read_bytes() == before
    recorder.close()
    assert path.read_bytes() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.mbr"]


def test_place_that_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(RecordingError, match=r"cannot record into .*No such file"):
        Recorder(tmp_path / "no" / "a.mbr", ToySimulation())


FULL_DISK = """
import errno, resource, sys
from toy_simulation import ToySimulation
from app import recording
from app.session import Session

def no_space(journal, archive):
    raise OSError(errno.ENOSPC, "No space left on device")

if sys.argv[2] == "full":
    recording._assemble = no_space  # not even the smaller zip fits
simulation = ToySimulation()
session = Session(simulation, recorder=recording.Recorder(sys.argv[1], simulation))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
while session.recording:
    session.step_once()
print(session.notice)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
@pytest.mark.parametrize("saved", [True, False])
def test_full_disk_is_one_sentence_and_keeps_what_was_written(tmp_path, saved):
    path = tmp_path / "a.mbr"
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(here), str(here.parents[1])))}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), "" if saved else "full"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stderr == ""
    said = done.stdout
    assert said.count("\n") == 1
    assert "the recording ended after" in said
    assert path.exists() is saved
    assert journal_of(path).exists() is not saved
    assert not list(tmp_path.glob("*.tmp"))
    replay = Replay.read(path if saved else journal_of(path))
    assert f"after {replay.ticks} ticks" in said
    assert replay.ticks > 0
    assert verify(replay).code == 0


# -- hostile files ---------------------------------------------------------------------------------


def test_missing_file_and_wrong_kinds_of_file(tmp_path):
    assert "No such file" in read_refused(tmp_path / "none.mbr")
    assert "directory" in read_refused(tmp_path)
    for data in (b"", b"PK", b"hello world" * 100, b"PK\5\6" + bytes(18)):
        path = tmp_path / "x.mbr"
        path.write_bytes(data)
        read_refused(path)


@pytest.mark.parametrize(
    "member", ["header.json", "scene.toml", "events.jsonl", "digests.jsonl", "aggregates.jsonl"]
)
def test_missing_member(file, member):
    with rewriting(file) as members:
        del members[member]
    assert member in read_refused(file)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 2),
        ("format", "1"),
        ("format", 0),
        ("format", True),
        ("seed", "7"),
        ("seed", 1 << 70),
        ("seed", 1.5),
        ("start_step", -1),
        ("start_step", 1 << 60),
        ("fields", "position"),
        ("fields", [1]),
        ("fields", ["a", "a", "b", "c"]),
        ("fields", ["x"] * 1000),
        ("device", None),
        ("device", "x" * 10_000),
        ("arch", ["cpu"]),
    ],
)
def test_wrong_header(file, key, value):
    with rewriting(file) as members:
        header = json.loads(members["header.json"])
        header[key] = value
        members["header.json"] = json.dumps(header).encode()
    message = read_refused(file)
    assert key in message
    if value == 2:
        assert "update" in message


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("header.json", b"[]"),
        ("header.json", b"{" * 100_000),
        ("header.json", b"[" * 60_000),
        ("header.json", b"\xff\xfe"),
        ("scene.toml", b"\xff\xfe"),
        ("scene.toml", b""),
        ("scene.toml", b'format = 1\nname = "\\u001b[2J"\n'),
        ("scene.toml", b"x = " + b"[" * 50_000),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"explode"}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[{"kind":["set_gravity"]}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"set_gravity","gravity":[0,NaN]}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"set_gravity","gravity":[0,1e999]}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"set_damping","damping":1%s}]}\n' % b"000"),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"set_damping","damping":"1"}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[{"kind":"restart","more":1}]}\n'),
        ("events.jsonl", b'{"step":0,"events":[]}\n'),
        ("events.jsonl", b'{"step":0,"events":{}}\n'),
        ("events.jsonl", b'{"step":0}\n'),
        ("events.jsonl", b'{"step":"0","events":[{"kind":"restart"}]}\n'),
        ("events.jsonl", b'{"step":true,"events":[{"kind":"restart"}]}\n'),
        ("events.jsonl", b'{"step":-1,"events":[{"kind":"restart"}]}\n'),
        ("events.jsonl", b'{"step":5,"events":[{"kind":"restart"}]}\n' * 2),
        ("events.jsonl", b'{"step":130,"events":[{"kind":"restart"}]}\n'),
        ("events.jsonl", b"null\n"),
        ("events.jsonl", b"\n"),
        ("events.jsonl", b" " * (recording.MAX_LINE + 1)),
        ("digests.jsonl", b'{"step":1,"digest":"0123456789abcdef","fields":[]}\n'),
        ("digests.jsonl", b'{"step":0,"digest":"0123","fields":["0","0","0","0"]}\n'),
        ("digests.jsonl", b'{"step":0,"digest":"0123456789abcdef"}\n'),
        ("digests.jsonl", b'{"step":0,"digest":"0123456789abcdef","fields":[null,0,0,0]}\n'),
        (
            "digests.jsonl",
            b'{"step":0,"digest":"0123456789abcdef","fields":[null,null,null,null]}\n',
        ),
        ("aggregates.jsonl", b'{"step":59,"aggregates":{"mass":1}}\n'),
        ("aggregates.jsonl", b'{"step":59,"aggregates":[]}\n'),
        ("aggregates.jsonl", b'{"step":500,"aggregates":{}}\n'),
    ],
)
def test_wrong_members(file, member, text):
    if b'damping":1000' in text:
        text = text.replace(b"1000", b"1" + b"0" * 400)  # an integer beyond every float
    with rewriting(file) as members:
        members[member] = text
    read_refused(file)


def test_terminal_codes_of_strangers_do_not_reach_the_terminal(file):
    with rewriting(file) as members:
        header = json.loads(members["header.json"])
        header["device"] = "\x1b[2Jevil\r\n"
        members["header.json"] = json.dumps(header).encode()
    result = verify(file)
    assert "\x1b" not in result.text
    assert "\r" not in result.text


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, file, monkeypatch):
    with rewriting(file) as members:
        members["extra"] = bytes(recording.BOMB_SIZE + 1)
    assert "beyond reason" in read_refused(file)

    make(file)
    with rewriting(file) as members:
        members["header.json"] = b" " * (recording.MAX_HEADER + 1)
    assert "larger than" in read_refused(file)

    make(file)
    with zipfile.ZipFile(file, "a") as archive:
        for number in range(100):
            archive.writestr(f"{number}", b"")
    assert "members" in read_refused(file)

    make(file)
    with pytest.warns(UserWarning), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("events.jsonl", b"")
    assert "twice" in read_refused(file)

    make(file)
    monkeypatch.setattr(recording, "MAX_BYTES", 5000)
    assert "more than a recording" in read_refused(file)


def test_encrypted_and_oddly_packed_members_are_refused(file):
    data = bytearray(file.read_bytes())
    at = data.index(b"PK\1\2")
    for offset, value in ((8, 1), (10, 97)):  # flags: encrypted; method: unknown
        broken = bytearray(data)
        broken[at + offset] |= value
        file.write_bytes(broken)
        read_refused(file)


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    return make(tmp_path_factory.mktemp("good") / "a.mbr", ticks=20).read_bytes()


hostile = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def harmless(path: Path, data: bytes) -> None:
    """Reading either works or raises RecordingError with one line."""
    path.write_bytes(data)
    try:
        replay = Replay.read(path)
    except RecordingError as error:
        assert "\n" not in str(error)
        return
    verify(replay, to=5)


@hostile
@given(cut=st.integers(0, 10_000))
def test_truncated_files_are_harmless(good, tmp_path, cut):
    harmless(tmp_path / "a.mbr", good[: cut % len(good)])


@hostile
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_mutated_files_are_harmless(good, tmp_path, changes):
    data = bytearray(good)
    for at, value in changes:
        data[at % len(data)] = value
    harmless(tmp_path / "a.mbr", bytes(data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@hostile
@given(
    member=st.sampled_from(["header.json", "events.jsonl", "digests.jsonl", "aggregates.jsonl"]),
    line=st.integers(0, 30),
    key=st.integers(0, 30),
    value=json_values,
)
def test_any_value_in_any_place_is_harmless(good, tmp_path, member, line, key, value):
    path = tmp_path / "a.mbr"
    path.write_bytes(good)
    with editing_lines(path, member) as lines:
        target = lines[line % len(lines)]
        while isinstance(target, dict | list) and target:
            places = list(target) if isinstance(target, dict) else list(range(len(target)))
            place = places[key % len(places)]
            if key % 3 == 0 or not isinstance(target[place], dict | list):
                target[place] = value
                break
            target = target[place]
    harmless(path, path.read_bytes())


@hostile
@given(data=st.binary(max_size=400), keep=st.booleans())
def test_any_journal_is_harmless(good, tmp_path, data, keep):
    first = b'{"header":{"start_step":0},"scene":"x"}\n' if keep else b""
    harmless(tmp_path / "x.mbr.part", first + data)


def test_time_to_read_a_long_recording(tmp_path):
    path = make(tmp_path / "long.mbr", ticks=5000)
    start = time.process_time()
    assert Replay.read(path).ticks == 5000
    assert time.process_time() - start < 2.0
