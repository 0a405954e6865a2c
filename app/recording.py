"""Recordings: write one while a world runs, read one that anybody may have made, verify one.

A recording (`.mbr`) is a zip of a header, the scene, the events by step and a digest per step;
docs/recording.md is its reference. Steps count from 0. Events listed under step n are applied at
the edge before step n runs; the digest listed under step n is of the state after it.

While recording, everything goes to an append-only journal beside the file, one JSON value a line.
Closing turns the journal into the zip under a temporary name and renames that, so the final name
never holds half a recording. A journal that was never closed is read up to its last whole line.
"""

from __future__ import annotations

import errno
import math
import os
import re
import threading
import time
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from app import fingerprint
from app.archive import Limits, dump_json, opened, parse_json, plain, readable, reason, replacing
from app.desync import Desync, examine
from app.errors import DeviceError, MatterboxError, RecordingError, SceneError
from app.events import Event, EventError, from_json
from app.fingerprint import combined_digest

if TYPE_CHECKING:
    from app.scene import Scene
    from app.simulation import Simulation

FORMAT = 1
SUFFIX = ".mbr"
JOURNAL_SUFFIX = ".part"

# Limits of the format: a reader refuses what is beyond them before reading it, a recorder ends
# the recording before it gets there. 512 MiB of text is about ten hours of play.
MAX_BYTES = 512 << 20
MAX_LINE = 4 << 20
MAX_HEADER = 1 << 16
MAX_SCENE = 4 << 20
MAX_STEPS = 20_000_000
MAX_FIELDS = 256
MAX_MEMBERS = 64
MAX_RATIO = 200  # unpacked / packed, of a member larger than BOMB_SIZE: digests do not pack well
BOMB_SIZE = 16 << 20

SYNC_SECONDS = 0.5  # how often the journal is forced to the disk
KEPT_STEPS = 64  # `verify` keeps a snapshot every so many steps, for the case that one diverges
AGGREGATE_STEPS = 60  # aggregates are written every so many steps, and at the end

_HEADER, _SCENE = "header.json", "scene.toml"
_LINES = ("events", "digests", "aggregates")  # the .jsonl members, in their order in the zip
_DIGEST = re.compile(r"[0-9a-f]{16}\Z")
_FIELD_DIGEST = re.compile(r"[0-9a-f]{8}\Z")
_JOURNAL_LINE = re.compile(rb'\{"step":\d+,"(events|digest|aggregates)":')
_KEY_TO_MEMBER = {b"events": "events", b"digest": "digests", b"aggregates": "aggregates"}


# -- what a recording says about itself ----------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """Where a recording comes from. All strings are for comparison and for messages."""

    format: int
    matterbox: str
    python: str
    taichi: str
    numpy: str
    system: str
    machine: str
    arch: str
    device: str
    driver: str
    code: str
    seed: int
    start_step: int
    scene: str
    created: str
    fields: tuple[str, ...]

    def differences(self, other: Header) -> list[str]:
        """What differs of all that bits may depend on, one phrase each, `self` being the older."""
        return fingerprint.differences(vars(self), vars(other), "recorded")


def describe(simulation: Simulation, *, start_step: int = 0) -> Header:
    """The header that a recording of `simulation` made here and now would get."""
    return Header(
        format=FORMAT,
        **fingerprint.of(simulation),
        seed=int(getattr(simulation, "seed", simulation.scene.seed)),
        start_step=start_step,
        scene=simulation.scene.name,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        fields=tuple(simulation.digests()),
    )


# -- writing -------------------------------------------------------------------------------------


class Recorder:
    """Writes one recording. `before` and `after` surround every step; `close` makes the file.

    Attributes:
        path: the recording's final name.
        journal: the file being written until then.
        notice: one sentence about a journal that an earlier crash left here, or None.
    """

    def __init__(
        self,
        path: str | Path,
        simulation: Simulation,
        *,
        history: Iterable[tuple[int, Sequence[Event]]] = (),
        start_step: int = 0,
    ):
        """Open the journal of `path`, with the events of the steps before `start_step`.

        A journal left here by a crash is first made into a recording of its own. Raises
        RecordingError when the journal cannot be written or another program is writing it.
        """
        self.path = Path(path)
        self.journal = journal_of(self.path)
        self.notice = _rescue(self.path)
        self._simulation = simulation
        self._header = describe(simulation, start_step=start_step)
        self._next = start_step
        self._open_step = False
        self._sampled: int | None = None
        self._known: dict[str, str] = {}
        self._bytes = 0
        self._ended = False
        first = dump_json({"header": asdict(self._header), "scene": simulation.scene.source})
        try:
            self._file = self.journal.open("xb", buffering=0)
            _lock(self._file)
            self._disk = _DiskSync(self._file)
            self._append(first + b"\n")
        except OSError as error:
            raise RecordingError(
                f"cannot record into {self.path}: {reason(error)}; choose another place"
            ) from None
        for step, events in history:
            self._write_events(step, events)

    @property
    def steps(self) -> int:
        """Steps recorded so far."""
        return self._next - self._header.start_step

    def before(self, step: int, events: Sequence[Event]) -> None:
        """Note the events that were applied at the edge before `step` [steps since the start]."""
        if step != self._next:
            raise ValueError(f"step {step} cannot follow a recording of {self._next} steps")
        self._open_step = True
        self._write_events(step, events)

    def after(self, step: int) -> None:
        """Note the digests of the state that `step` has led to."""
        digests = self._simulation.digests()
        found = {name: digest[:8] for name, digest in digests.items()}
        # A field that did not change is written as null: most digests of most steps.
        changed = [
            None if self._known.get(name) == found[name] else found[name]
            for name in self._header.fields
        ]
        self._known = found
        self._write({"step": step, "digest": combined_digest(digests), "fields": changed})
        self._next = step + 1
        self._open_step = False
        if self._next % AGGREGATE_STEPS == 0:
            self._sample(step)

    def close(self) -> Path:
        """Finish: last aggregates, then the zip in place of the journal. Returns the file.

        Raises RecordingError when that fails; what was recorded is then kept in the journal. A
        recording that has ended before (with an error) is left as it is.
        """
        last = self._next - 1
        if self._ended:
            return self.path
        try:
            if self.steps and not self._open_step and self._sampled != last:
                self._sample(last)
        finally:
            if not self._ended:
                self._release()
                _finish(self.journal, self.path)
        return self.path

    def _write(self, value: dict[str, Any]) -> None:
        """Append a line. Raises RecordingError, and ends the recording, when that fails."""
        try:
            line = dump_json(value) + b"\n"
            if len(line) > MAX_LINE:
                raise OSError(errno.EFBIG, "more events in one tick than a recording can hold")
            if self._bytes + len(line) > MAX_BYTES - MAX_LINE:
                raise OSError(errno.EFBIG, "it has reached the largest size of a recording")
            self._append(line)
        except OSError as error:
            self._release()
            ended = f"the recording ended after {self.steps} ticks ({reason(error)})"
            try:
                _finish(self.journal, self.path)
            except RecordingError:
                raise RecordingError(
                    f"{ended}; they are kept in {self.journal}: 'matterbox replay {self.journal}'"
                ) from None
            raise RecordingError(f"{ended}; they are saved in {self.path}") from None

    # One line is one write: after a kill the journal holds whole lines and at most one cut one.
    def _append(self, line: bytes) -> None:
        self._disk.check()
        view = memoryview(line)
        while view:
            view = view[self._file.write(view) :]
        self._bytes += len(line)
        self._disk.dirty = True

    def _write_events(self, step: int, events: Sequence[Event]) -> None:
        if events:
            self._write({"step": step, "events": [event.to_json() for event in events]})

    def _sample(self, step: int) -> None:
        self._sampled = step
        self._write({"step": step, "aggregates": aggregates_of(self._simulation)})

    def _release(self) -> None:
        self._ended = True
        self._disk.stop()
        self._file.close()


class _DiskSync:
    """Forces a file to the disk twice a second from a thread of its own.

    A write alone survives the death of this process, not that of the machine; and waiting for a
    disk in the thread that draws would be seen.
    """

    def __init__(self, file: IO[bytes]):
        self.dirty = False
        self._file = file
        self._error: OSError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recording-sync", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what the thread met, if anything."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._sync()

    def _run(self) -> None:
        while not self._stop.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        if not self.dirty:
            return
        self.dirty = False
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            # Pipes and some network folders cannot be synced; a full disk is worth a word.
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                self._error = error


def journal_of(path: str | Path) -> Path:
    """The journal's name of a recording: `session.mbr` -> `session.mbr.part`."""
    path = Path(path)
    return path.with_name(path.name + JOURNAL_SUFFIX)


def _finish(journal: Path, path: Path) -> None:
    """Make the journal the recording `path`, replacing an older one only by a complete one."""
    try:
        with (
            replacing(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive,
        ):
            _assemble(journal, archive)
    except OSError as error:
        raise RecordingError(
            f"cannot write {path} ({reason(error)}); the recording is kept in {journal}: "
            f"'matterbox replay {journal}'"
        ) from None
    with suppress(OSError):
        journal.unlink()


def _assemble(journal: Path, archive: zipfile.ZipFile) -> None:
    first, last = _survey(journal)
    archive.writestr(_HEADER, dump_json(first["header"]))
    archive.writestr(_SCENE, first["scene"])
    for member in _LINES:
        info = zipfile.ZipInfo(f"{member}.jsonl", time.localtime()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(info, "w") as target:
            for name, line in _journal_lines(journal):
                # Events of a step that never ended have no digest and belong to no step.
                if name == member and _step_of(line) <= last:
                    target.write(line)


# -- journals that were left behind ----------------------------------------------------------------


def _rescue(path: Path) -> str | None:
    """Before recording into `path`: save a journal that an earlier crash left of that name."""
    journal = journal_of(path)
    if not journal.exists():
        return None
    if _in_use(journal):
        raise RecordingError(f"{path} is being recorded already; choose another name")
    ticks = _survey_ticks(journal)
    if not ticks:
        journal.unlink()
        return None
    number = 1
    while True:
        target = path.with_name(f"{path.stem}.recovered-{number}{path.suffix}")
        if not target.exists():
            break
        number += 1
    _finish(journal, target)
    return f"{journal} was left by a crash: recovered {ticks} ticks into {target}"


def _survey_ticks(journal: Path) -> int:
    with _readable(journal):
        first, last = _survey(journal)
    return last + 1 - first["header"]["start_step"]


def _survey(journal: Path) -> tuple[dict[str, Any], int]:
    """First line of a journal, and the last step that has a digest. Raises RecordingError."""
    first = _journal_start(journal)
    last = first["header"]["start_step"] - 1
    for name, line in _journal_lines(journal):
        if name == "digests":
            last = _step_of(line)
    return first, last


def _journal_start(journal: Path) -> dict[str, Any]:
    with open(journal, "rb") as file:
        line = file.readline(MAX_HEADER + 6 * MAX_SCENE)
    try:
        first = parse_json(line)
        header, scene = first["header"], first["scene"]
        start = header["start_step"]
    except (ValueError, TypeError, KeyError):
        raise RecordingError(f"{journal} is no journal of a recording, or has no start") from None
    if not line.endswith(b"\n") or not isinstance(scene, str) or not _is_step(start):
        raise RecordingError(f"{journal} is no journal of a recording, or has no start")
    return first


def _journal_lines(journal: Path) -> Iterator[tuple[str, bytes]]:
    """(member, line) of a journal up to its first line that is not whole.

    A machine that lost power may leave zeros or half a line at the end; nothing after the first
    such place can be trusted.
    """
    with open(journal, "rb") as file:
        file.readline(MAX_HEADER + 6 * MAX_SCENE)
        while True:
            line = file.readline(MAX_LINE + 1)
            match = _JOURNAL_LINE.match(line)
            if match is None or len(line) > MAX_LINE or not line.endswith(b"}\n"):
                return
            try:
                parse_json(line)
            except ValueError:
                return
            yield _KEY_TO_MEMBER[match[1]], line


def _step_of(line: bytes) -> int:
    return int(line[len(b'{"step":') : line.index(b",")])


def _lock(file: IO[bytes]) -> None:
    """Mark a journal as being written, where the system can; the mark dies with the process."""
    with suppress(ImportError):
        import fcntl

        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _in_use(journal: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: a file that is open for writing cannot be renamed
        try:
            os.replace(journal, journal)
        except OSError:
            return True
        return False
    try:
        with open(journal, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Divergence:
    """The first step whose state was not the recorded one, and the first field that differed."""

    step: int
    field: str


class Replay:
    """A recording that was read whole and checked, and the comparison of a run with it.

    Attributes:
        path, header, scene_text: where from, what it says about itself, the scene as TOML.
        last_step: the last step with a digest, -1 if there is none.
        divergence: the first difference met by `check`, latched; None while all is equal.
        notice: one sentence about how the file was recovered, or None.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        scene_text: str,
        events: dict[int, bytes],
        digests: array[int],
        field_digests: array[int],
        aggregates: dict[int, dict[str, Any]],
        notice: str | None = None,
    ):
        """Use `Replay.read`. `field_digests` holds one number a field and step, step after step."""
        self.path = path
        self.header = header
        self.scene_text = scene_text
        self.aggregates = aggregates
        self.notice = notice
        self.divergence: Divergence | None = None
        self.last_step = header.start_step + len(digests) - 1 if digests else -1
        self._events = events
        self._digests = digests
        self._field_digests = field_digests
        self._scene: Scene | None = None

    @classmethod
    def read(cls, path: str | Path | Replay, *, to: int | None = None) -> Replay:
        """Read a recording, or a journal that a crash left, up to step `to` (exclusive).

        What was read already is returned as it is.

        Everything is checked here, so that what follows can trust it. Raises RecordingError with
        one line for a file that is missing, damaged, hostile or of another format.
        """
        if isinstance(path, Replay):
            return path
        path = Path(path)
        if path.suffix == JOURNAL_SUFFIX:
            replay = _read_left(path)
        elif journal_of(path).is_file() and not path.exists():
            replay = _recover(path)
        else:
            with _readable(path):
                replay = _read_zip(path)
            if journal_of(path).is_file():
                replay.notice = (
                    f"{journal_of(path)} holds a newer recording that was never closed: "
                    f"'matterbox replay {journal_of(path)}' shows it"
                )
        if to is not None:
            replay.last_step = min(replay.last_step, to - 1)
        return replay

    @property
    def start_step(self) -> int:
        """The first step with a digest; the steps before it only lead there."""
        return self.header.start_step

    @property
    def ticks(self) -> int:
        """How many steps are compared."""
        return max(self.last_step + 1 - self.start_step, 0)

    def scene(self) -> Scene:
        """The recorded scene. Raises RecordingError if it does not validate."""
        from app.scene import loads

        try:
            if self._scene is None:
                self._scene = loads(self.scene_text, origin=f"{self.path}:{_SCENE}")
            return self._scene
        except SceneError as error:
            more = len(error.faults) - 1
            raise RecordingError(
                f"the scene inside does not validate: {plain(error.faults[0], 300)}"
                + (f" (and {more} more)" if more else "")
            ) from None

    def events_at(self, step: int) -> tuple[Event, ...]:
        """The events to apply at the edge before `step`."""
        line = self._events.get(step)
        if line is None or step > self.last_step:
            return ()
        return tuple(from_json(event) for event in parse_json(line)["events"])

    def expected(self, step: int) -> str | None:
        """The recorded digest after `step` (16 hex digits); None where none was recorded."""
        index = step - self.start_step
        return f"{self._digests[index]:016x}" if 0 <= index < len(self._digests) else None

    def expected_fields(self, step: int) -> dict[str, str] | None:
        """The recorded digest of each field after `step` (its first 8 hex digits), or None."""
        index = step - self.start_step
        if not 0 <= index < len(self._digests):
            return None
        names = self.header.fields
        row = self._field_digests[index * len(names) : (index + 1) * len(names)]
        return {name: f"{digest:08x}" for name, digest in zip(names, row, strict=True)}

    def apply(self, step: int, simulation: Simulation) -> None:
        """Queue the events of `step`. Raises RecordingError for one that does not fit the scene."""
        try:
            for event in self.events_at(step):
                simulation.apply(event)
        except (MatterboxError, EventError) as error:
            raise RecordingError(
                f"{self.path}: an event of step {step} does not fit the scene: {plain(error)}"
            ) from None

    def check(self, step: int, simulation: Simulation) -> bool:
        """Compare the state after `step` with the recorded one; latches the first divergence."""
        expected = self.expected_fields(step)
        if expected is None or self.divergence is not None:
            return self.divergence is None
        digests = simulation.digests()
        found = {name: digest[:8] for name, digest in digests.items()}
        if found == expected and combined_digest(digests) == self.expected(step):
            return True
        names = (*expected, *(name for name in found if name not in expected))
        field = next((n for n in names if found.get(n) != expected.get(n)), "digest")
        self.divergence = Divergence(step, field)
        return False

    def reject(self, step: int) -> None:
        """Latch that an event of `step` does not fit the scene: a divergence of field "events"."""
        if self.divergence is None:
            self.divergence = Divergence(step, "events")

    def rewind(self) -> None:
        """Forget the divergence: the comparison begins again."""
        self.divergence = None


def _read_left(journal: Path) -> Replay:
    """Read a journal where it is."""
    with _readable(journal):
        replay = _read_journal(journal)
    replay.notice = f"{journal} was never closed: it holds {replay.ticks} ticks"
    return replay


def _recover(path: Path) -> Replay:
    """Read recording `path` of which a crash left only the journal, and finish it if possible."""
    journal = journal_of(path)
    if _in_use(journal):
        raise RecordingError(f"{path} is still being recorded; end that recording first")
    replay = _read_left(journal)
    try:
        _finish(journal, path)
    except RecordingError:  # a folder that is not ours to write to: the journal serves as well
        return replay
    replay.path = path
    replay.notice = f"{journal} was left by a crash: recovered {replay.ticks} ticks into {path}"
    return replay


def _read_zip(path: Path) -> Replay:
    limits = Limits("recording", MAX_BYTES, MAX_MEMBERS, MAX_RATIO, BOMB_SIZE)
    with opened(path, limits) as (archive, members):
        _check_members(members)
        header = archive.read(members[_HEADER])
        scene = archive.read(members[_SCENE])
        lines = {
            name: (lambda name=name: _member_lines(archive, members[f"{name}.jsonl"]))
            for name in _LINES
        }
        return _read_parts(path, header, scene, lines)


def _check_members(members: dict[str, zipfile.ZipInfo]) -> None:
    wanted = (_HEADER, _SCENE, *(f"{name}.jsonl" for name in _LINES))
    missing = [name for name in wanted if name not in members]
    if missing:
        raise RecordingError(f"no recording, or a truncated one: {', '.join(missing)} is missing")
    for name, largest in ((_HEADER, MAX_HEADER), (_SCENE, MAX_SCENE)):
        if members[name].file_size > largest:
            raise RecordingError(f"{name} is larger than {largest} bytes")


def _readable(path: Path) -> AbstractContextManager[None]:
    return readable(path, "recording", RecordingError)


def _read_journal(path: Path) -> Replay:
    if path.stat().st_size > MAX_BYTES:
        raise RecordingError("larger than a recording may be")
    first, last = _survey(path)
    lines = {
        name: (
            lambda name=name: (
                line
                for member, line in _journal_lines(path)
                if member == name and _step_of(line) <= last
            )
        )
        for name in _LINES
    }
    return _read_parts(path, dump_json(first["header"]), first["scene"].encode(), lines)


def _member_lines(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as member:
        while line := member.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise RecordingError(f"{plain(info.filename)} has a line beyond {MAX_LINE} bytes")
            yield line


def _read_parts(
    path: Path,
    header_text: bytes,
    scene_text: bytes,
    lines: dict[str, Callable[[], Iterator[bytes]]],
) -> Replay:
    header = _read_header(header_text)
    digests, field_digests = _read_digests(header, lines["digests"]())
    last = header.start_step + len(digests) - 1
    replay = Replay(
        path=path,
        header=header,
        scene_text=scene_text.decode(),
        events=_read_events(lines["events"](), last),
        digests=digests,
        field_digests=field_digests,
        aggregates=_read_aggregates(lines["aggregates"](), last),
    )
    replay.scene()
    return replay


def _read_header(text: bytes) -> Header:
    data = parse_json(text)
    if not isinstance(data, dict):
        raise RecordingError("header.json is not an object")
    version = data.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RecordingError(f"header.json has no format number, found {plain(repr(version))}")
    if version > FORMAT:
        raise RecordingError(
            f"written in format {version}; this Matterbox reads up to format {FORMAT}: update it"
        )
    for field in fields(Header):
        value = data.get(field.name)
        kind = {"int": int, "str": str}.get(field.type, list)
        good = isinstance(value, kind) and not isinstance(value, bool)
        if kind is str:
            good = good and len(value) <= 4096
        if kind is list:
            good = good and all(isinstance(name, str) and len(name) <= 256 for name in value)
            good = good and len(value) <= MAX_FIELDS and len(set(value)) == len(value)
        if not good:
            raise RecordingError(
                f"header.json: {field.name}: found {plain(repr(value))}, expected {field.type}"
            )
    if not _is_step(data["start_step"]):
        raise RecordingError(f"header.json: start_step {plain(data['start_step'])} is no step")
    if not 0 <= data["seed"] < 2**32:
        raise RecordingError(f"header.json: seed {plain(data['seed'])} does not fit 32 bits")
    values = {field.name: data[field.name] for field in fields(Header)}
    return Header(**{**values, "fields": tuple(values["fields"])})


def _read_digests(header: Header, lines: Iterator[bytes]) -> tuple[array[int], array[int]]:
    digests = array("Q")
    field_digests = array("I")
    row = [-1] * len(header.fields)
    for line in lines:
        step = header.start_step + len(digests)
        data = _step_line("digests", line)
        digest, changed = data.get("digest"), data.get("fields")
        if data["step"] != step or step >= MAX_STEPS:
            raise RecordingError(f"digests.jsonl: found step {data['step']}, expected {step}")
        if not isinstance(digest, str) or not _DIGEST.match(digest):
            raise RecordingError(f"digests.jsonl: step {step}: digest is not 16 hex digits")
        if not isinstance(changed, list) or len(changed) != len(row):
            raise RecordingError(f"digests.jsonl: step {step}: expected {len(row)} fields")
        for index, value in enumerate(changed):
            if value is None:
                continue
            if not isinstance(value, str) or not _FIELD_DIGEST.match(value):
                raise RecordingError(f"digests.jsonl: step {step}: a field is not 8 hex digits")
            row[index] = int(value, 16)
        if -1 in row:
            raise RecordingError(f"digests.jsonl: step {step}: a field was never given")
        digests.append(int(digest, 16))
        field_digests.extend(row)
    return digests, field_digests


def _read_events(lines: Iterator[bytes], last: int) -> dict[int, bytes]:
    """Lines by step. They are kept as text: a third of the memory that event objects would take."""
    events: dict[int, bytes] = {}
    previous = -1
    for line in lines:
        data = _step_line("events", line)
        step, listed = data["step"], data.get("events")
        if step <= previous:
            raise RecordingError(f"events.jsonl: step {step} comes after step {previous}")
        if step > last:
            raise RecordingError(f"events.jsonl: step {step} is after the last digest, {last}")
        if not isinstance(listed, list) or not listed:
            raise RecordingError(f"events.jsonl: step {step}: expected a list of events")
        for event in listed:
            try:
                from_json(event)
            except EventError as error:
                raise RecordingError(f"events.jsonl: step {step}: {plain(error, 300)}") from None
        previous = step
        events[step] = line
    return events


def _read_aggregates(lines: Iterator[bytes], last: int) -> dict[int, dict[str, Any]]:
    aggregates: dict[int, dict[str, Any]] = {}
    previous = -1
    for line in lines:
        data = _step_line("aggregates", line)
        step, values = data["step"], data.get("aggregates")
        if not previous < step <= last:
            raise RecordingError(f"aggregates.jsonl: step {step} is out of order")
        if not isinstance(values, dict):
            raise RecordingError(f"aggregates.jsonl: step {step}: expected an object")
        for name in _AGGREGATES:
            value = values.get(name)
            parts = value if isinstance(value, list) and len(value) == 2 else [value]
            if len(parts) != (2 if name in _VECTORS else 1) or not all(map(_is_number, parts)):
                raise RecordingError(
                    f"aggregates.jsonl: step {step}: {name}: found {plain(repr(value))}"
                )
        previous = step
        aggregates[step] = {name: values[name] for name in _AGGREGATES}
    return aggregates


def _step_line(member: str, line: bytes) -> dict[str, Any]:
    data = parse_json(line)
    if not isinstance(data, dict) or not _is_step(data.get("step")):
        raise RecordingError(f"{member}.jsonl: a line has no step: {plain(line[:60])}")
    return data


def _is_step(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_STEPS


def _is_number(value: Any) -> bool:
    """A finite number, or null for one that was not finite."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


# -- verifying -------------------------------------------------------------------------------------

_AGGREGATES = ("mass", "momentum", "center_of_mass", "kinetic_energy", "live")
_VECTORS = ("momentum", "center_of_mass")

# How far aggregates of another device or code may be from the recorded ones. A scene that mixes
# is chaotic: one different bit moves single particles anywhere in a second or two, while sums
# over all of them hardly move. The scales are the scene's own, see `compare_aggregates`. These are
# about twice of what another seed, which moves every particle a little at the start, made of three
# scenes in four seconds: 1.6, 1.6, 0.5, 3.2 and 6.4 percent at most.
TOLERANCES = {
    "mass": 0.03,
    "live": 0.03,
    "center_of_mass": 0.01,
    "momentum": 0.07,
    "kinetic_energy": 0.13,
}
SCALES = {
    "mass": "the recorded mass",
    "live": "the recorded number, at least 400",
    "center_of_mass": "the diagonal of the domain",
    "momentum": "the largest recorded sqrt(2 mass kinetic energy)",
    "kinetic_energy": "the largest recorded one",
}


@dataclass(frozen=True)
class VerifyResult:
    """Outcome of `verify`.

    Attributes:
        code: the exit status. 0: every digest equal, same device and code. 3: same device and
            code, yet different bits. 4: another device or code, so bits were not the question.
        text: the outcome in sentences, for people.
        ticks: steps that were compared.
        divergence: the first step and field that differed, or None.
        differences: what differs of device and code, one phrase each.
        deviations: for code 4, aggregates out of tolerance, one phrase each.
        desync: for code 3, what is known of the tick that diverged; None where an event did not
            fit.
    """

    code: int
    text: str
    ticks: int
    divergence: Divergence | None
    differences: tuple[str, ...]
    deviations: tuple[str, ...]
    desync: Desync | None = None


def verify(
    path: str | Path | Replay,
    *,
    arch: str | None = None,
    to: int | None = None,
    start: Callable[..., Simulation] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyResult:
    """Replay a recording headless and compare every step's digests.

    `arch` is the recording's own unless given; `to` ends before that step; `start(scene, arch=,
    seed=)` makes the simulation (`Simulation.from_scene`); `progress(done, total)` is called
    after every step. Raises RecordingError for a file that cannot be read or whose events do not
    fit its scene, and DeviceError when the arch does not start here.
    """
    replay = Replay.read(path, to=to)
    simulation = start_replay(replay, arch=arch, start=start)
    here = describe(simulation, start_step=replay.start_step)
    differences = tuple(replay.header.differences(here))
    found: dict[int, dict[str, Any]] = {}
    kept = (0, simulation.snapshot())  # a moment that was as recorded, to run again from
    compared = 0
    for step in range(replay.last_step + 1):
        replay.apply(step, simulation)
        simulation.step()
        equal = replay.check(step, simulation)
        compared += step >= replay.start_step
        if progress is not None:
            progress(step + 1, replay.last_step + 1)
        if not equal and not differences:
            break
        if (step + 1) % KEPT_STEPS == 0 and not differences:
            kept = (step + 1, simulation.snapshot())
        if differences and step in replay.aggregates:
            found[step] = aggregates_of(simulation)
    if differences:
        return _compare_elsewhere(replay, compared, differences, found, simulation.scene)
    divergence = replay.divergence
    if divergence is None:
        text = f"verified: all {compared} ticks are bit for bit as recorded"
        return VerifyResult(0, text, compared, None, (), ())
    text = (
        f"diverged at step {divergence.step}: field {plain(divergence.field)} differs "
        f"({compared - 1} ticks before it were equal), on the device and the code of the recording"
    )
    step = divergence.step
    desync = examine(
        simulation,
        step + 1,
        replay.expected_fields(step),
        replay.expected(step),
        kept,
        replay.events_at,
    )
    return VerifyResult(3, text, compared, divergence, (), (), desync)


def start_replay(
    replay: Replay, *, arch: str | None = None, start: Callable[..., Simulation] | None = None
) -> Simulation:
    """The simulation that `replay` is to be played in, at the recording's first step.

    Raises DeviceError when the recording's arch (or `arch`) does not start here.
    """
    if start is None:
        from app.simulation import Simulation

        start = Simulation.from_scene
    scene = replay.scene()
    header = replay.header
    try:
        return start(scene, arch=arch or header.arch, seed=header.seed)
    except DeviceError as error:
        if arch is not None:
            raise
        raise DeviceError(
            f"{replay.path} was recorded on {plain(header.arch)} ({plain(header.device)}), which "
            f"does not start here; --arch cpu compares its aggregates instead ({plain(error)})"
        ) from None


def _compare_elsewhere(
    replay: Replay,
    compared: int,
    differences: tuple[str, ...],
    found: dict[int, dict[str, Any]],
    scene: Scene,
) -> VerifyResult:
    recorded = {step: replay.aggregates[step] for step in found}
    deviations = tuple(compare_aggregates(recorded, found, scene.domain.size))
    divergence = replay.divergence
    lines = [f"not the same device or code: {'; '.join(differences)}"]
    if divergence is None:
        lines.append(f"even so, all {compared} ticks are bit for bit as recorded")
    else:
        lines.append(
            f"bits differ from step {divergence.step} on (field {plain(divergence.field)}), "
            "as they may"
        )
    stated = ", ".join(f"{name} {100 * share:g}%" for name, share in TOLERANCES.items())
    if not found:
        lines.append("too short to compare aggregates: none were recorded")
    elif deviations:
        lines.append(f"NOT statistically equivalent: {'; '.join(deviations[:5])}")
        if len(deviations) > 5:
            lines.append(f"and {len(deviations) - 5} more")
        lines.append(f"tolerances: {stated}")
    else:
        samples = "1 sample" if len(found) == 1 else f"{len(found)} samples"
        lines.append(f"statistically equivalent at {samples} (tolerances: {stated})")
    return VerifyResult(4, "\n".join(lines), compared, divergence, differences, deviations)


def compare_aggregates(
    recorded: dict[int, dict[str, Any]],
    found: dict[int, dict[str, Any]],
    domain: tuple[float, float],
) -> list[str]:
    """Phrases for the aggregates of `found` that are out of TOLERANCES; empty if equivalent.

    Both map steps to aggregates (mass [kg/m], momentum [kg/s], center_of_mass [m],
    kinetic_energy [J/m], live). A tolerance is a share of the scale that SCALES names; `domain`
    is the domain's size [m].
    """
    if not recorded:
        return []
    energy = max(sample["kinetic_energy"] or 0.0 for sample in recorded.values())
    impulse = max(
        math.sqrt(2.0 * abs((s["mass"] or 0.0) * (s["kinetic_energy"] or 0.0)))
        for s in recorded.values()
    )
    deviations = []
    for step, sample in sorted(recorded.items()):
        scales = {
            "mass": abs(sample["mass"] or 0.0),
            "live": max(abs(sample["live"] or 0), 400),
            "center_of_mass": math.hypot(*domain),
            "kinetic_energy": energy,
            "momentum": impulse,
        }
        for name, tolerance in TOLERANCES.items():
            distance = _distance(sample[name], found[step][name])
            if distance > tolerance * scales[name]:
                share = distance / scales[name] if scales[name] else math.inf
                deviations.append(f"step {step}: {name} is off by {100 * share:.3g}%")
    return deviations


def _distance(a: Any, b: Any) -> float:
    """Euclidean distance of two numbers or vectors; null equals null only."""
    pairs = list(zip(a, b, strict=True)) if isinstance(a, list | tuple) else [(a, b)]
    if any((x is None) != (y is None) for x, y in pairs):
        return math.inf
    return math.hypot(*(x - y for x, y in pairs if x is not None))


def aggregates_of(simulation: Simulation) -> dict[str, Any]:
    """Aggregates as JSON values; what is not finite (the centre of nothing) becomes null."""
    aggregates = simulation.aggregates()
    values: dict[str, Any] = {}
    for name in _AGGREGATES:
        value = getattr(aggregates, name)
        if name in _VECTORS:
            values[name] = [finite(part) for part in value]
        else:
            values[name] = int(value) if name == "live" else finite(value)
    return values


def finite(value: float) -> float | None:
    """A float that JSON can hold: None for what is not finite."""
    return float(value) if math.isfinite(value) else None
