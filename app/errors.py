"""Errors that a user can cause. Each carries one clear sentence: place, cause, cure."""

from __future__ import annotations

from dataclasses import dataclass


class MatterboxError(Exception):
    """Base of every error that is the user's to mend; commands print it and exit with status 2."""


class DeviceError(MatterboxError):
    """An arch that does not start, or a device too small for what was asked."""


class RecordingError(MatterboxError):
    """A recording that cannot be read, or one that does not fit this program."""


class SnapshotError(MatterboxError):
    """A snapshot that cannot be read or written, or that does not fit this program or device."""


class DivergenceError(MatterboxError):
    """A tick that made other bits when it was run again from the same state."""


class RenderError(MatterboxError):
    """No OpenGL context, or a picture that cannot be written."""


class SceneImportError(MatterboxError):
    """A foreign scene file that cannot be turned into a scene of ours."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong in a scene: where, what was found, what was expected."""

    origin: str
    line: int | None
    key: str
    found: str
    expected: str

    def __str__(self) -> str:
        place = self.origin if self.line is None else f"{self.origin}:{self.line}"
        found = f" found {self.found}," if self.found else ""
        return f"{place}: {self.key}:{found} expected {self.expected}"


class SceneError(MatterboxError):
    """A scene that does not validate; `faults` holds every fault, not only the first."""

    def __init__(self, faults: list[Fault]):
        self.faults = list(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))
