"""Reads mutated files in a process of limited memory: `python read_strangers.py FORMAT EXAMPLES`.

Each file is taken, or refused with a MatterboxError of one line, within SECONDS of processor time
and MEMORY beyond what the process had at the start; anything else ends the process with a
traceback. Prints a JSON object: how many were taken and refused, and the time of the slowest [s].
"""

from __future__ import annotations

import io
import json
import resource
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_simulation import ToySimulation

from app.errors import MatterboxError, SceneError
from app.events import Paint, Restart, SetGravity
from app.recording import Recorder, Replay
from app.scene import builtin, dumps, load
from app.scene_import import import_scene
from app.session import Session
from app.snapshot import Snapshot

SECONDS = 10
MEMORY = 512 << 20  # bytes: what a recording may unpack to, the largest limit of any format

KEEP = "surrogateescape"  # bytes that are no text come back as they were
NUMBERS = (0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
# Offsets and widths of the fields of a zip's local headers, its directory, and the directory's end.
ZIP_FIELDS = {
    b"PK\3\4": ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)),
    b"PK\1\2": ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4)),
    b"PK\5\6": ((4, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
}
NAMES = ("", "../x", "/etc/passwd", "x" * 60_000, "a\0b", "\x1b[2J", "header.json", "scene.toml")
DEEP = "[" * 20_000 + "]" * 20_000
TEXTS = (
    *("null", "true", "-1", "0", "1e400", "-1e308", "NaN", "Infinity", "nan", "inf", "1e-320"),
    *("9" * 30, "9" * 5000, "[]", "{}", '""', '"\\ud800"', '"\\u001b[2J"', '"' + "x" * 5000 + '"'),
    *(
        "[[1]]",
        '["x"]',
        '{"a": 1}',
        "{ a = 1 }",
        "{ a = [1] }",
        "1979-05-27",
        "0x" + "f" * 99,
        DEEP,
    ),
    '{"a":' * 5000 + "1" + "}" * 5000,
)
KEYS = (
    "kind",
    "role",
    "model",
    "base",
    "material",
    "motion",
    "points",
    "size",
    "format",
    "unknown",
)


class TooLong(BaseException):
    """An example that takes longer than SECONDS; nothing may catch it."""


# -- files to begin with ---------------------------------------------------------------------------


def recording() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        simulation = ToySimulation()
        session = Session(simulation, recorder=Recorder(Path(folder, "a.mbr"), simulation))
        for event in (SetGravity((0.5, -9.0)), Paint("water", (0.2, 0.7), 0.1), Restart()):
            session.emit(event)
            session.step_once()
        return session.close().read_bytes()


def snapshot() -> bytes:
    from simulations import fill, scene, simulate

    simulation = simulate(scene(fill((2, 2), (8, 8), "water"), cells=(16, 16), capacity=400))
    simulation.apply(SetGravity((1.0, -9.0)))
    simulation.step()
    with tempfile.TemporaryDirectory() as folder:
        return simulation.snapshot().save(Path(folder, "a.mbs")).read_bytes()


def scene_text() -> bytes:
    return builtin("mixer").read_bytes()


def foreign_scene() -> bytes:
    shape = {"function": 3, "shape": 0, "position": {"x": 300, "y": 300}, "emitMaterial": 0}
    shape |= {"halfSize": {"x": 80, "y": 60}, "radius": 40, "rotation": 10, "emissionRate": 2}
    settings_ = [{"name": "simRate", "value": 240}, {"name": "iterationCount", "value": 5}]
    shapes = [shape, shape | {"function": 0, "shape": 1}, shape | {"function": 1}]
    data = {"version": 2, "resolution": [800, 600], "shapes": shapes, "settings": settings_}
    return json.dumps(data).encode()


# -- mutations -------------------------------------------------------------------------------------


def changed_bytes(draw, data: bytes) -> bytes:
    """Bytes flipped, cut off, doubled, moved."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        size = draw(st.integers(0, 300))
        part = data[at : at + size]
        data = draw(
            st.sampled_from(
                (
                    data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :],
                    data[:at],
                    data[:at] + data[at + size :],
                    data[:at] + part * 3 + data[at + size :],
                    part + data,
                    data + part,
                )
            )
        )
    return data


def changed_text(draw, text: str) -> str:
    """The text of a number, word, list or line replaced, doubled, moved or left out."""
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        line, value = lines[at], draw(st.sampled_from(TEXTS))
        marks = [k for k, c in enumerate(line) if c in "=:,[{"]
        what = draw(st.integers(0, 4))
        if what == 0 and marks:
            begin = draw(st.sampled_from(marks)) + 1
            ends = [k for k in range(begin, len(line)) if line[k] in ",]}\n"] or [len(line)]
            lines[at] = f"{line[:begin]} {value}{line[draw(st.sampled_from(ends)) :]}"
        elif what == 1:
            lines.insert(at, f"{draw(st.sampled_from(KEYS))} = {value}\n")
        elif what == 2:
            lines[at] = line * 2
        elif what == 3:
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif len(lines) > 1:
            del lines[at]
    return "".join(lines)


def changed_zip(draw, data: bytes) -> bytes:
    """Members changed, renamed, doubled, left out, packed otherwise; fields of headers overwritten.

    What is changed inside a snapshot gets a digest that fits, so that it is looked at.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(members) - 1))
        name, content = members[at]
        what = draw(st.integers(0, 6))
        if what <= 2 and name.endswith((".json", ".jsonl", ".toml")):
            content = changed_text(draw, content.decode(errors=KEEP)).encode(errors=KEEP)
        elif what <= 3:
            content = changed_bytes(draw, content)
        elif what == 4:
            name = draw(st.sampled_from(NAMES))
        elif what == 5:
            content = draw(st.sampled_from((b" ", b"\0", b"\n", b"[", b'{"step":0}\n'))) * (1 << 20)
        members[at] = name, content
        if what == 6:
            members = draw(st.sampled_from((members[:at], members[at:], members + members[at:])))
        if not members:
            break
    total = sha256()
    for name, content in members:
        if name != "digest.txt":
            total.update(f"{name}\0{len(content)}\0".encode() + content)
    out = io.BytesIO()
    packing = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    method = packing[max(draw(st.integers(-6, 3)), 0)]
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            fitting = total.hexdigest().encode() if name == "digest.txt" else content
            archive.writestr(zipfile.ZipInfo(name), fitting, method)
    changed = bytearray(out.getvalue())
    for _ in range(draw(st.integers(0, 2))):
        mark = draw(st.sampled_from(sorted(ZIP_FIELDS)))
        places = [k for k in range(len(changed)) if changed.startswith(mark, k)]
        if places:
            offset, width = draw(st.sampled_from(ZIP_FIELDS[mark]))
            begin = draw(st.sampled_from(places)) + offset
            value = draw(st.sampled_from(NUMBERS)) & ((1 << 8 * width) - 1)
            changed[begin : begin + width] = value.to_bytes(width, "little")
    return bytes(changed)


# -- readers ---------------------------------------------------------------------------------------


def read_recording(path: Path) -> None:
    replay = Replay.read(path)
    for step in range(min(replay.last_step + 1, 100)):
        replay.events_at(step)
        replay.expected_fields(step)


def read_scene(path: Path) -> None:
    from app.cli import run_command

    scene = load(path)
    dumps(scene)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert run_command(["check", str(path)]) == 0


def read_foreign(path: Path) -> None:
    from app.cli import run_command

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = run_command(["import", str(path), "-o", str(path.with_suffix(".toml"))])
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except ValueError:
        assert code == 2
        raise MatterboxError("no text") from None
    try:
        import_scene(text, path.stem)
    finally:
        assert code in (0, 2)


FORMATS = {
    "recording": (".mbr", recording, read_recording, (changed_bytes, changed_zip, changed_zip)),
    "snapshot": (".mbs", snapshot, Snapshot.load, (changed_bytes, changed_zip, changed_zip)),
    "scene": (".toml", scene_text, read_scene, (changed_bytes, changed_text, changed_text)),
    "import": (".json", foreign_scene, read_foreign, (changed_bytes, changed_text, changed_text)),
}


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def main(name: str, examples: int) -> None:
    warnings.simplefilter("ignore", UserWarning)  # zipfile on members of one name, which are meant
    suffix, make, read, mutations = FORMATS[name]
    good = make()
    counts: Counter[str] = Counter()
    slowest = [0.0]
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, f"a{suffix}")
    path.write_bytes(good)
    read(path)  # what is not changed is taken; and all imports are made
    limit_memory()

    def too_long(*_) -> None:
        counts["too long"] += 1
        raise TooLong

    signal.signal(signal.SIGPROF, too_long)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def harmless(data) -> None:
        mutate = data.draw(st.sampled_from(mutations))
        source = good.decode() if mutate is changed_text else good
        changed = mutate(data.draw, source)
        if isinstance(changed, str):
            changed = changed.encode(errors=KEEP)
        path.write_bytes(changed)
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            read(path)
            counts["taken"] += 1
        except MatterboxError as error:
            counts["refused"] += 1
            lines = error.faults if isinstance(error, SceneError) else [error]
            for line in map(str, lines):
                assert line and "\n" not in line and line.isprintable(), repr(line)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            slowest[0] = max(slowest[0], time.process_time() - start)
        assert not counts["too long"]

    harmless()
    folder.cleanup()
    print(json.dumps({**counts, "slowest": slowest[0]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
