"""A tick that made other bits than it should have: what is known of it, and its folder.

A divergence does not stop a world. What was there at the first tick that differs is kept: the state
that was found, the state that was expected where it can be had, and a text that names fields, slots
and values. The expected state of a recording, or of a moment between two snapshots, was never
stored; only its digests were. It can be had where running again from the state before leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from app.archive import plain, reason
from app.difference import FieldDifference, differences
from app.errors import MatterboxError, SnapshotError
from app.events import Event
from app.fingerprint import COMPARED, combined_digest

if TYPE_CHECKING:
    from app.simulation import Simulation
    from app.snapshot import Snapshot

FOLDER = "desync"
LOG = "desync.txt"


@dataclass(frozen=True)
class Desync:
    """The first tick that made other bits.

    Attributes:
        tick: its number; the state after it is the one that differs.
        stage: the stage of the tick after which the states differ first; "end of the tick" where
            only states between ticks were compared.
        verdict: what it comes to, in sentences.
        states: file name without suffix -> snapshot.
        digests: (field, found, expected) of the fields whose digests differ.
        names, differing: what the two compared states are called, and what differs between them;
            nothing where only one of them exists.
        made: versions, device and code (`fingerprint.of`).
        stages: (stage, digest of the first run, of the second) of a tick that was run in stages.
    """

    tick: int
    verdict: str
    states: Mapping[str, Snapshot]
    made: Mapping[str, str]
    digests: tuple[tuple[str, str, str], ...] = ()
    names: tuple[str, str] = ("found", "expected")
    differing: tuple[FieldDifference, ...] = ()
    stage: str = "end of the tick"
    stages: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)

    @property
    def field(self) -> str:
        """The first field that differs."""
        if self.differing:
            return self.differing[0].field
        return self.digests[0][0] if self.digests else "digest"

    def text(self) -> str:
        """All that is known, for people and for `diff`; floats in hexadecimal."""
        lines = [
            f"tick {self.tick}",
            f"stage: {self.stage}",
            f"field: {plain(self.field)}",
            self.verdict,
            "",
            *(f"{label}: {plain(self.made.get(key, ''))}" for key, label in COMPARED.items()),
        ]
        if self.digests:
            lines += ["", "digests of fields, found and expected:"]
            lines += [f"  {plain(name)} {found} {other}" for name, found, other in self.digests]
        first, second = self.names
        for difference in self.differing:
            lines += ["", f"field {difference.field}: {difference.count} of {difference.slots}"]
            lines[-1] += f" slots differ; the first values, {first} and {second}:"
            lines += [f"  slot {e.place}: {e.first} {e.second}" for e in difference.entries]
        if self.stages:
            lines += ["", f"digests after each stage, {first} and {second}:"]
            lines += [
                f"  {one} {other}{'' if one == other else '  differs'}  {stage}"
                for stage, one, other in self.stages
            ]
        return "\n".join(lines) + "\n"

    def save(self, beside: Path) -> Path:
        """Write states and text into a new folder `desync`, `desync-2`, ... in `beside`.

        An earlier folder is never touched. Raises MatterboxError, with one line, where that fails.
        """
        number = 1
        while True:
            folder = beside / (FOLDER if number == 1 else f"{FOLDER}-{number}")
            try:
                folder.mkdir()
                break
            except FileExistsError:
                number += 1
            except OSError as error:
                raise MatterboxError(f"cannot make {folder}: {reason(error)}") from None
        try:
            (folder / LOG).write_text(self.text(), encoding="utf-8")
            for name, snapshot in self.states.items():
                snapshot.save(folder / f"{name}.mbs")
        except OSError as error:
            raise SnapshotError(f"cannot write {folder / LOG}: {reason(error)}") from None
        return folder


def examine(
    simulation: Simulation,
    moment: int,
    expected: Mapping[str, str],
    expected_digest: str,
    base: tuple[int, Snapshot] | None,
    events_at: Callable[[int], Iterable[Event]],
) -> Desync:
    """What is known of a state that is not the one that it should be; the simulation keeps it.

    moment: ticks from the beginning to the state; the tick that led to it is the one before.
    expected, expected_digest: digests of its fields (their first 8 hex digits) and of the whole.
    base: an earlier moment whose state was as expected, with its snapshot; the world is run again
    from there, twice, with `events_at` of each moment. None where there is none.
    """
    steps, resumed = simulation.steps, simulation.resumed
    found, digests = simulation.snapshot(), simulation.digests()
    states = {"found": found}
    other: str | None = None  # the state that differs from what was found
    outcomes = []
    if base is not None:
        states["before"] = base[1]
        for _ in range(2):
            simulation.restore(base[1])
            for place in range(base[0], moment):
                for event in events_at(place):
                    simulation.apply(event)
                simulation.step()
            digest = simulation.digest()
            outcomes.append(digest)
            if other is None and digest == expected_digest:
                other = "expected"
                states[other] = simulation.snapshot()
        if other is None and set(outcomes) != {combined_digest(digests)}:
            other = "again"
            states[other] = simulation.snapshot()
        simulation.restore(found)
        # What was run again is no part of this world's own run.
        simulation.steps, simulation.resumed = steps, resumed
    differing = differences(found.arrays, states[other].arrays) if other else ()
    return Desync(
        tick=moment - 1,
        verdict=_verdict(base, other, outcomes.count(expected_digest)),
        states=states,
        made=found.made,
        digests=tuple(
            (name, digest[:8], expected.get(name, "none"))
            for name, digest in digests.items()
            if digest[:8] != expected.get(name)
        ),
        names=("found", other or "expected"),
        differing=differing,
    )


def _verdict(base: tuple[int, Snapshot] | None, other: str | None, agreed: int) -> str:
    """`other`: the state that there is beside the one found; `agreed`: runs with expected bits."""
    if base is None:
        return (
            "There is no earlier state to run again from, so the expected state cannot be had: "
            "found.mbs is what is there."
        )
    again = f"Run again twice from before.mbs, the state {base[0]} ticks from the beginning,"
    if other == "expected":
        return (
            f"{again} it made the expected bits in {agreed} of 2 runs: expected.mbs is that state. "
            "One state has several outcomes: a fault of device, driver or memory, or something "
            "that a tick reads is not in the state."
        )
    if other == "again":
        return (
            f"{again} it made neither the expected bits nor always those that were found: "
            "again.mbs is another outcome. One state has several outcomes: a fault of device, "
            "driver or memory, or something that a tick reads is not in the state."
        )
    return (
        f"{again} it made the bits that were found: this code on this device makes them. The "
        "expected state came from other code, another device or other input, or what was kept of "
        "it was altered; of it only digests are known."
    )
