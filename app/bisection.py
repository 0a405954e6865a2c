"""Where in a tick a replay diverges: every tick twice from one state, compared stage by stage.

Two runs of one tick that differ show where the machine does not repeat itself. Two runs that agree
with each other and not with the recording show that other code or another device, or an altered
file, is the cause; then the recorded digests name the fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.archive import plain
from app.desync import Desync
from app.difference import FieldDifference, differences
from app.recording import Replay, describe, start_replay

if TYPE_CHECKING:
    from app.simulation import Simulation


@dataclass(frozen=True)
class Bisection:
    """Outcome of `bisect`.

    Attributes:
        code: the exit status. 0: all ticks twice alike and as recorded. 3: a tick that differed
            from itself, or, on the device and code of the recording, from the recording. 4: another
            device or code, and other bits than were recorded.
        text: the outcome in sentences, for people.
        ticks: how many were run twice.
        desync: what is known of the tick that differed; None where none did.
    """

    code: int
    text: str
    ticks: int
    desync: Desync | None


class Stages:
    """The stages of one run of a tick: their names, digests and arrays.

    An array that a stage left as it was is the very one of the stage before, so that a round costs
    the memory of what it changes. A second run given the `first` keeps arrays only of the stage
    after which the two differ.
    """

    def __init__(self, simulation: Simulation, first: Stages | None = None):
        self.names: list[str] = []
        self.digests: list[str] = []
        self.arrays: list[dict[str, np.ndarray]] = []
        self.differing: tuple[FieldDifference, ...] = ()
        self.differs_at: int | None = None
        self._simulation = simulation
        self._first = first
        self._hashes: dict[str, bytes] = {}
        self._substep = -1
        self._round = 0

    def take(self, stage: str) -> None:
        """Note the state after a stage (the callback of `Simulation.step_in_stages`)."""
        self.names.append(self._full_name(stage))
        arrays = self._simulation.stage_arrays()
        if self._substep < 0:  # what the grid still holds of the tick before is no one's input
            arrays = {name: array for name, array in arrays.items() if "grid." not in name}
        hashes = {name: _hash(array) for name, array in arrays.items()}
        self.digests.append(hashlib.sha256(b"".join(hashes.values())).hexdigest()[:16])
        if self._first is None:
            for name in arrays:
                if hashes[name] == self._hashes.get(name):
                    arrays[name] = self.arrays[-1][name]
            self.arrays.append(arrays)
        elif self.differs_at is None:
            self._compare(arrays)
        self._hashes = hashes

    def _compare(self, arrays: dict[str, np.ndarray]) -> None:
        place, first = len(self.digests) - 1, self._first
        if place < len(first.digests) and first.digests[place] == self.digests[place]:
            return
        self.differs_at = place
        if place < len(first.arrays):
            self.differing = differences(first.arrays[place], arrays)

    def _full_name(self, stage: str) -> str:
        """Stages of a substep with its number, rounds with theirs."""
        if stage == "binning":
            self._substep += 1
            self._round = 0
        self._round += stage == "round"
        numbered = f"round {self._round}" if stage == "round" else stage
        inside = stage in ("binning", "mass scatter", "round", "integration")
        return f"substep {self._substep + 1}, {numbered}" if inside else numbered


def bisect(
    replay: Replay,
    *,
    arch: str | None = None,
    start: Callable[..., Simulation] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Bisection:
    """Replay a recording headless, every tick twice, up to the first that differs.

    `arch`, `start` and `progress` as in `recording.verify`. Raises RecordingError for events that
    do not fit the scene, and DeviceError when the arch does not start here.
    """
    simulation = start_replay(replay, arch=arch, start=start)
    elsewhere = replay.header.differences(describe(simulation, start_step=replay.start_step))
    steps = replay.last_step + 1
    for step in range(steps):
        before = simulation.snapshot()
        first = _run(simulation, replay, step, Stages(simulation))
        after = simulation.snapshot()
        simulation.restore(before)
        second = _run(simulation, replay, step, Stages(simulation, first))
        states = {"before": before, "first": after}
        if progress is not None:
            progress(step + 1, steps)
        if second.differs_at is not None:
            states["second"] = simulation.snapshot()
            return _unrepeatable(step, first, second, states)
        if not replay.check(step, simulation):
            return _unlike(replay, step, elsewhere, first, second, simulation, states)
    text = f"no difference: all {steps} ticks ran twice alike, stage by stage, and as recorded"
    return Bisection(4 if elsewhere else 0, "\n".join([text, *_told(elsewhere)]), steps, None)


def _run(simulation: Simulation, replay: Replay, step: int, stages: Stages) -> Stages:
    replay.apply(step, simulation)
    simulation.step_in_stages(stages.take)
    return stages


def _unrepeatable(step: int, first: Stages, second: Stages, states: dict) -> Bisection:
    place = second.differs_at
    stage = second.names[place]
    verdict = (
        "Two runs of this tick from one state (before.mbs) differ, first after this stage: a fault "
        "of device, driver or memory, or something that the stage reads is not in the state. "
        "first.mbs and second.mbs are the states after the tick."
    )
    desync = Desync(
        tick=step,
        verdict=verdict,
        states=states,
        made=states["before"].made,
        names=("first run", "second run"),
        differing=second.differing,
        stage=stage,
        stages=_paired(first, second),
    )
    text = f"tick {step} differs from itself after {stage}"
    for found in second.differing[:1]:
        entry = found.entries[0]
        text += (
            f": field {found.field}, slot {entry.place}: {entry.first} in the first run, "
            f"{entry.second} in the second ({found.count} of {found.slots} slots differ)"
        )
    return Bisection(3, text, step + 1, desync)


def _unlike(
    replay: Replay,
    step: int,
    elsewhere: list[str],
    first: Stages,
    second: Stages,
    simulation: Simulation,
    states: dict,
) -> Bisection:
    digests = {name: digest[:8] for name, digest in simulation.digests().items()}
    recorded = replay.expected_fields(step)
    unlike = tuple(
        (name, digest, recorded.get(name, "none"))
        for name, digest in digests.items()
        if digest != recorded.get(name)
    )
    cause = (
        "device or code differ from those of the recording"
        if elsewhere
        else "what made the recording was another state or code, or the file was altered"
    )
    desync = Desync(
        tick=step,
        verdict=f"Two runs of this tick from one state (before.mbs) agree in every stage, and not "
        f"with the recording: {cause}. Of the recorded state only digests are known; first.mbs is "
        "the state here.",
        states=states,
        made=states["before"].made,
        digests=unlike,
        names=("first run", "second run"),
        stages=_paired(first, second),
    )
    names = ", ".join(plain(name) for name, _, _ in unlike) or "the digest alone"
    text = f"tick {step}: two runs agree with each other, not with the recording: {names}; {cause}"
    code = 4 if elsewhere else 3
    return Bisection(code, "\n".join([text, *_told(elsewhere)]), step + 1, desync)


def _told(elsewhere: list[str]) -> list[str]:
    return [f"not the same device or code: {'; '.join(elsewhere)}"] if elsewhere else []


def _paired(first: Stages, second: Stages) -> tuple[tuple[str, str, str], ...]:
    """(stage, digest of the first run, of the second); a run may have fewer substeps."""
    longer = max(first, second, key=lambda stages: len(stages.names))
    pad = [["-"] * (len(longer.names) - len(stages.names)) for stages in (first, second)]
    return tuple(zip(longer.names, first.digests + pad[0], second.digests + pad[1], strict=True))


def _hash(array: np.ndarray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).digest()
