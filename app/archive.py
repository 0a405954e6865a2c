"""Zip files of ours: written whole or not at all, and read as if a stranger had made them.

Recordings and snapshots are such archives. Everything that a reader is told about sizes is bounded
before memory is spent on it, and everything that a damaged or hostile file can raise becomes one
error with one line.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.errors import MatterboxError
from app.events import EventError

MAX_DIRECTORY = 1 << 16  # bytes of a zip's table of contents


class ArchiveError(MatterboxError):
    """What is wrong with an archive, without its name; `readable` adds that."""


@dataclass(frozen=True)
class Limits:
    """What an archive may hold at most, and what it is called in messages.

    bytes bounds the file, and all of it unpacked. A member of more than `unchecked` bytes may be at
    most `ratio` times its packed size.
    """

    noun: str
    bytes: int
    members: int
    ratio: int
    unchecked: int


# -- reading ---------------------------------------------------------------------------------------


@contextmanager
def readable(path: Path, noun: str, error_class: type[MatterboxError]) -> Iterator[None]:
    """Turn everything that reading a hostile file can raise into one `error_class` of one line."""
    try:
        yield
    except (ArchiveError, error_class) as error:
        message = plain(error, 600)
        prefix = f"{path}: "
        raise error_class(message if message.startswith(str(path)) else prefix + message) from None
    except OSError as error:
        raise error_class(f"{path}: {reason(error)}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise error_class(f"{path}: damaged or no {noun} ({plain(error)})") from None
    except EventError as error:
        raise error_class(f"{path}: {plain(error, 300)}") from None
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError) as error:
        raise error_class(
            f"{path}: damaged or no {noun} ({type(error).__name__}: {plain(error)})"
        ) from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or an unknown compression
        raise error_class(f"{path}: cannot be unpacked ({plain(error)})") from None


@contextmanager
def opened(
    path: Path, limits: Limits
) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """An archive and its members by name, after bounding each member and their sum.

    Raises ArchiveError, OSError, and what zipfile raises: see `readable`.
    """
    with open(path, "rb") as file:
        size = _check_directory(file, limits)
        with zipfile.ZipFile(file) as archive:
            yield archive, _check_members(archive, size, limits)


def _check_directory(file: IO[bytes], limits: Limits) -> int:
    """Bound the zip's table of contents before zipfile reads all of it; returns the file's size."""
    size = file.seek(0, os.SEEK_END)
    if size > limits.bytes:
        raise ArchiveError(f"larger than a {limits.noun} may be")
    start = max(size - (1 << 16) - 42, 0)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        raise ArchiveError(f"damaged or no {limits.noun} (it has no end of a zip file)")
    entries = int.from_bytes(tail[at + 10 : at + 12], "little")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    many = entries > limits.members or directory > MAX_DIRECTORY
    if many or b"PK\6\7" in tail[max(at - 20, 0) : at]:
        raise ArchiveError(f"more than {limits.members} members: no {limits.noun} of ours")
    file.seek(0)
    return size


def _check_members(
    archive: zipfile.ZipFile, size: int, limits: Limits
) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    unpacked = packed = 0
    for info in archive.infolist():
        if info.filename in members:
            raise ArchiveError(f"member {plain(info.filename)} occurs twice")
        if info.file_size > max(limits.unchecked, limits.ratio * info.compress_size):
            raise ArchiveError(f"member {plain(info.filename)} is packed beyond reason")
        unpacked += info.file_size
        packed += info.compress_size
        members[info.filename] = info
    if unpacked > limits.bytes:
        raise ArchiveError(f"unpacks to {unpacked} bytes, more than a {limits.noun} may hold")
    if packed > size:
        raise ArchiveError("damaged: its members overlap")
    return members


# -- writing ---------------------------------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` once it is whole and on the disk.

    It is written under a temporary name in the same folder: whoever is killed, or runs out of disk,
    leaves what was there before. Raises OSError.
    """
    if path.exists() and not path.is_file():
        raise OSError(None, "it is no regular file")
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # Windows cannot open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- text ------------------------------------------------------------------------------------------


def dump_json(value: Any) -> bytes:
    """JSON on one line. Raises ValueError for a number that is not finite."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def parse_json(text: bytes) -> Any:
    """JSON without NaN and infinities. Raises ValueError for anything that is not JSON."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def plain(value: Any, longest: int = 80) -> str:
    """A stranger's text, fit for one line on a terminal."""
    text = "".join(c if c.isprintable() else "?" for c in str(value)[: longest + 1])
    return text if len(text) <= longest else text[:longest] + "..."


def reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return plain(error.strerror or error)
