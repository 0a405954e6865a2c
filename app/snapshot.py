"""Snapshots: a world between two ticks, with everything that later ticks depend on.

A snapshot (`.mbs`) is a zip of plain NumPy arrays, the scene and a header; docs/snapshots.md is its
reference. `Simulation.snapshot` makes one, `Simulation.restore` and `Simulation.from_snapshot` go
on from one. A file is written whole or not at all, and read as if a stranger had made it.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app import fingerprint
from app import scene as scenes
from app.archive import Limits, dump_json, opened, parse_json, plain, readable, reason, replacing
from app.difference import field_difference
from app.errors import SceneError, SnapshotError
from app.events import Event, EventError, SetDamping, SetGravity, SetMaterial, from_json
from app.scene import MATERIAL_FIELDS, Environment, Material, Scene
from app.simulation import check_event, edited

FORMAT = 1
SUFFIX = ".mbs"

# Limits of the format. A snapshot's members are stored, not packed, so none of them can grow in
# memory: its arrays never take more than its file does. Just under 2 GiB is room for 29 million
# particles, and 4 MiB for what somebody paints in ten minutes while the world is paused.
MAX_BYTES = (1 << 31) - 1
MAX_HEADER = 4 << 20
MAX_SCENE = scenes.MAX_TEXT
MAX_MEMBERS = 64

_LIMITS = Limits("snapshot", MAX_BYTES, MAX_MEMBERS, ratio=1, unchecked=0)
_HEADER, _SCENE, _DIGEST = "header.json", "scene.toml", "digest.txt"
_MADE = ("matterbox", "python", *fingerprint.COMPARED)
_CHUNK = 1 << 20  # bytes read at a time


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A world between two ticks.

    Attributes:
        scene, seed: what the world began with.
        environment, materials: as edited since.
        pending: events that wait for the next tick's edge.
        arrays: name -> array of the state, in canonical order, in grid units.
        made: versions, device and code that it was made with (`fingerprint.of`).
        origin: how messages call it: its file, once it was read from one.
    """

    scene: Scene
    seed: int
    environment: Environment
    materials: dict[str, Material]
    pending: tuple[Event, ...]
    arrays: dict[str, np.ndarray]
    made: dict[str, str]
    origin: str = "the snapshot"

    @property
    def tick(self) -> int:
        """Ticks from the scene's initial state to here."""
        from app.sim.state import integer_index

        return int(self.arrays["integers"][integer_index("tick")])

    @property
    def nbytes(self) -> int:
        """Memory of its arrays [bytes]."""
        return sum(array.nbytes for array in self.arrays.values())

    def difference(self, other: Snapshot) -> str | None:
        """The first field, entry and values (floats in hex) that differ in `other`, or None."""
        for name, mine in self.arrays.items():
            theirs = other.arrays[name]
            if mine.shape != theirs.shape:
                return f"field {name}, {len(mine)} entries against {len(theirs)}"
            found = field_difference(name, mine, theirs, listed=1)
            if found is not None:
                (entry,) = found.entries
                return f"field {name}, entry {entry.place}: {entry.first} against {entry.second}"
        for name in ("environment", "materials", "pending", "seed"):
            if getattr(self, name) != getattr(other, name):
                return f"field {name}"
        return None

    def differences_here(self, here: dict[str, str]) -> list[str]:
        """What of device and code is another than `here` (see `fingerprint.of`), in phrases: later
        ticks then need not have the bits that they had there."""
        return fingerprint.differences(self.made, here, "then")

    # -- files -------------------------------------------------------------------------------------

    def digest(self) -> str:
        """SHA-256 of all that the snapshot holds, as its file has it."""
        total = hashlib.sha256()
        for name, parts in self._members():
            _absorb(total, name, parts)
        return total.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write the snapshot; an older file stays until this one is whole. Equal worlds make equal
        files. Raises SnapshotError, with one line, when that fails."""
        path = Path(path)
        total = hashlib.sha256()
        try:
            if self.nbytes > MAX_BYTES - MAX_HEADER - MAX_SCENE - (1 << 20):
                raise OSError(None, "more particles than a snapshot can hold")
            with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
                for name, parts in self._members():
                    _absorb(total, name, parts)
                    with archive.open(zipfile.ZipInfo(name), "w") as member:
                        for part in parts:
                            member.write(part)
                archive.writestr(zipfile.ZipInfo(_DIGEST), total.hexdigest())
        except OSError as error:
            raise SnapshotError(f"cannot write {path}: {reason(error)}") from None
        return path

    def _members(self) -> Iterator[tuple[str, list[Any]]]:
        """(name, buffers) of the file's members, the digest apart."""
        from app.sim.saved_state import layout_hash

        header = {
            "format": FORMAT,
            **{name: self.made[name] for name in _MADE},
            "layout": layout_hash(),
            "fields": {
                name: _declared(array.dtype, array.shape) for name, array in self.arrays.items()
            },
            "name": self.scene.name,
            "tick": self.tick,
            "seed": self.seed,
            "edits": [event.to_json() for event in self._edits()],
            "events": [event.to_json() for event in self.pending],
        }
        texts = {_HEADER: dump_json(header), _SCENE: scenes.dumps(self.scene).encode()}
        for name, most, cause in (
            (_HEADER, MAX_HEADER, "too much input waits; run a tick first"),
            (_SCENE, MAX_SCENE, "its scene is too long"),
        ):
            if len(texts[name]) > most:
                raise SnapshotError(f"{name} cannot have more than {most} bytes: {cause}")
            yield name, [texts[name]]
        for name, array in self.arrays.items():
            data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            head = _array_header(array.dtype, array.shape)
            yield _member(name), [head, data.reshape(-1).view(np.uint8)]

    def _edits(self) -> Iterator[Event]:
        """The events that turn the scene's environment and records into what they are now."""
        before, now = self.scene.environment, self.environment
        if now.gravity != before.gravity:
            yield SetGravity(now.gravity)
        if now.damping != before.damping:
            yield SetDamping(now.damping)
        for name, record in self.materials.items():
            for field in MATERIAL_FIELDS[record.model]:
                if getattr(record, field) != getattr(self.scene.materials[name], field):
                    yield SetMaterial(name, field, getattr(record, field))

    @classmethod
    def load(cls, path: str | Path) -> Snapshot:
        """Read a snapshot. Everything is checked here, so that what follows can trust it.

        Raises SnapshotError with one line for a file that is missing, damaged, altered, hostile, of
        another format, or of another layout of the state.
        """
        path = Path(path)
        with readable(path, "snapshot", SnapshotError), opened(path, _LIMITS) as (archive, members):
            return _Reading(archive, members).snapshot(str(path))


class _Reading:
    """One file while it is read: its members in their order, and the digest of them so far."""

    def __init__(self, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]):
        from app.sim.state import FIELDS

        self.archive = archive
        self.members = members
        self.digest = hashlib.sha256()
        arrays = [_member(field.name) for field in FIELDS]
        self.wanted = (_HEADER, _SCENE, *arrays, _DIGEST)

    def snapshot(self, origin: str) -> Snapshot:
        from app.sim.saved_state import expect_sound

        if _HEADER not in self.members:
            raise SnapshotError(f"no snapshot, or a truncated one: {_HEADER} is missing")
        header = _checked_header(parse_json(self._text(_HEADER, MAX_HEADER)))
        missing = [name for name in self.wanted if name not in self.members]
        if missing or len(self.members) > len(self.wanted):
            raise SnapshotError("no snapshot, or an altered one: its members are others")
        scene = _scene(self._text(_SCENE, MAX_SCENE), f"{origin}:{_SCENE}")
        arrays = self._arrays(header, scene)
        with self.archive.open(self.members[_DIGEST]) as member:
            if member.read(65) != self.digest.hexdigest().encode():
                raise SnapshotError("altered: its contents do not have the digest that it names")
        expect_sound(scene, header["seed"], arrays)
        environment, materials = _edited(scene, header["edits"])
        snapshot = Snapshot(
            scene=scene,
            seed=header["seed"],
            environment=environment,
            materials=materials,
            pending=tuple(_event(data, scene, materials) for data in header["events"]),
            arrays=arrays,
            made={name: header[name] for name in _MADE},
            origin=plain(origin, 400),
        )
        if snapshot.tick != header.get("tick"):
            raise SnapshotError("header.json: its tick is not that of the state")
        return snapshot

    def _text(self, name: str, longest: int) -> bytes:
        if self.members[name].file_size > longest:
            raise SnapshotError(f"{name} is larger than {longest} bytes")
        text = self.archive.read(self.members[name])
        _absorb(self.digest, name, [text])
        return text

    def _arrays(self, header: dict[str, Any], scene: Scene) -> dict[str, np.ndarray]:
        from app.sim.saved_state import expected_arrays

        high_water = header["fields"]["status"]["shape"][0]
        if not _is_whole(high_water, scene.solver.capacity):
            raise SnapshotError("header.json: more particles than the capacity of its scene")
        expected = expected_arrays(high_water, scene.solver.capacity)
        if header["fields"] != {name: _declared(*what) for name, what in expected.items()}:
            raise SnapshotError("header.json: its fields are not those of a state of its scene")
        return {name: self._array(name, *what) for name, what in expected.items()}

    def _array(self, name: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """One member: the header of a .npy, then its numbers. Sizes are compared before any
        memory is taken."""
        head = _array_header(dtype, shape)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        info = self.members[_member(name)]
        if info.file_size != len(head) + size:
            raise SnapshotError(f"{info.filename} has not the size of {dtype} of shape {shape}")
        with self.archive.open(info) as member:
            if member.read(len(head)) != head:
                raise SnapshotError(f"{info.filename} is no array of {dtype} of shape {shape}")
            array = np.empty(shape, dtype)
            view = memoryview(array.reshape(-1).view(np.uint8))
            for start in range(0, size, _CHUNK):
                piece = member.read(min(_CHUNK, size - start))
                if len(piece) < min(_CHUNK, size - start):
                    raise SnapshotError(f"{info.filename} is cut short")
                view[start : start + len(piece)] = piece
            if member.read(1):
                raise SnapshotError(f"{info.filename} is longer than it says")
        _absorb(self.digest, info.filename, [head, view])
        return array


def _declared(dtype: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"dtype": str(dtype), "shape": list(shape)}


def _member(field: str) -> str:
    return f"{field}.npy"


def _absorb(total: Any, name: str, parts: list[Any]) -> None:
    size = sum(memoryview(part).nbytes for part in parts)
    total.update(f"{name}\0{size}\0".encode())
    for part in parts:
        total.update(part)


def _array_header(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """What a .npy file of format 1.0 begins with; NumPy itself may pad it otherwise."""
    descr = np.dtype(dtype).newbyteorder("<").str
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    size = -(-(len(text) + 11) // 64) * 64
    prefix = b"\x93NUMPY\x01\x00" + (size - 10).to_bytes(2, "little")
    return prefix + text.encode().ljust(size - 11) + b"\n"


# -- the header ------------------------------------------------------------------------------------


def _checked_header(data: Any) -> dict[str, Any]:
    from app.sim.saved_state import layout_hash

    if not isinstance(data, dict):
        raise SnapshotError("header.json is not an object")
    version = data.get("format")
    if not _is_whole(version, 1 << 31) or version < 1:
        raise SnapshotError(f"header.json has no format number, found {plain(repr(version))}")
    if version > FORMAT:
        raise SnapshotError(
            f"written in format {version}; this Matterbox reads up to format {FORMAT}: update it"
        )
    if "layout" not in data:
        raise SnapshotError("no snapshot: its header names no layout of a state")
    for name in (*_MADE, "layout"):
        value = data.get(name)
        if not isinstance(value, str) or len(value) > 4096:
            raise SnapshotError(f"header.json: {name}: found {plain(repr(value))}, expected text")
    if data["layout"] != layout_hash():
        raise SnapshotError(
            f"made by a Matterbox ({plain(data['matterbox'])}) whose state has another layout: "
            "only that one can go on from it"
        )
    if not _is_whole(data.get("seed"), (1 << 32) - 1):
        raise SnapshotError(f"header.json: seed {plain(data.get('seed'))} does not fit 32 bits")
    for name, kind in (("edits", list), ("events", list), ("fields", dict)):
        if not isinstance(data.get(name), kind):
            raise SnapshotError(f"header.json: {name}: expected {kind.__name__}")
    return data


def _is_whole(value: Any, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest


def _scene(text: bytes, origin: str) -> Scene:
    try:
        return scenes.loads(text.decode(), origin=origin)
    except SceneError as error:
        raise SnapshotError(
            f"the scene inside does not validate: {plain(error.faults[0], 300)}"
        ) from None


def _event(data: Any, scene: Scene, materials: dict[str, Material]) -> Event:
    event = from_json(data)
    check_event(event, scene, materials)
    return event


def _edited(scene: Scene, edits: list[Any]) -> tuple[Environment, dict[str, Material]]:
    environment, materials = scene.environment, dict(scene.materials)
    for data in edits:
        event = _event(data, scene, materials)
        if not isinstance(event, SetGravity | SetDamping | SetMaterial):
            raise EventError(f"event {event.kind!r} is no edit of environment or materials")
        environment, materials = edited(environment, materials, event)
    return environment, materials
