"""Time travel: the past of a world as a ring of snapshots, and the events between them.

Because a tick is exact, a moment need not be kept to be seen again: the nearest snapshot before it
is restored and the events are played from there. The digest noted when the moment was first reached
proves that it is the same one.

Moments are counted in ticks from where the timeline began, through restarts of the world. Playing
on from a moment that is not the last one begins another future there; the old one is forgotten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.events import Event, Restart
from app.simulation import check_event

if TYPE_CHECKING:
    from app.simulation import Simulation
    from app.snapshot import Snapshot

BUDGET = 256 << 20  # bytes of snapshots
SPACING = 8  # ticks between snapshots, until the budget is reached


class Timeline:
    """The past of one simulation, which nobody else may step, or restore, or change from here on.

    Attributes:
        position: the moment at which the simulation stands.
        length: the last moment that is known; past `position` after going back.
        spacing: ticks between snapshots now.
        diverged: the first moment whose state was not the one that had been, latched; None while
            all is equal.
    """

    def __init__(self, simulation: Simulation, *, budget: int = BUDGET, spacing: int = SPACING):
        """Begin here. `budget` bounds the memory of the snapshots [bytes]; the one of the beginning
        is kept in any case."""
        self.simulation = simulation
        self.budget = budget
        self.spacing = spacing
        self.diverged: int | None = None
        fresh = simulation.steps == 0 and not simulation.resumed
        self.begin([] if fresh else None)

    def begin(self, history: list[tuple[int, tuple[Event, ...]]] | None = None) -> None:
        """Forget everything and begin at the simulation's present state; `history` holds the events
        that led from the world's initial state to here, as (tick, events), where they are known."""
        self.position = 0
        self._before = history
        self._snapshots: dict[int, Snapshot] = {0: self.simulation.snapshot()}
        self._digests = [self.simulation.digest()]
        self._events: dict[int, tuple[Event, ...]] = {}  # by the moment before their tick

    @property
    def length(self) -> int:
        return len(self._digests) - 1

    @property
    def nbytes(self) -> int:
        """Memory of the snapshots [bytes]."""
        return sum(snapshot.nbytes for snapshot in self._snapshots.values())

    @property
    def moments(self) -> list[int]:
        """The moments of which there is a snapshot, in order."""
        return sorted(self._snapshots)

    def digest(self, moment: int) -> str:
        """Digest of the state that was at a moment, 16 hex digits."""
        return self._digests[moment]

    def events_at(self, moment: int) -> tuple[Event, ...]:
        """The events that were applied at a moment's edge, before the tick that follows it."""
        return self._events.get(moment, ())

    def history(self) -> list[tuple[int, tuple[Event, ...]]] | None:
        """The events that led from the world's initial state to here, as (tick, events); None where
        they are not known."""
        past = sorted(moment for moment in self._events if moment < self.position)
        for place in reversed(range(len(past))):
            begin, events = past[place], self._events[past[place]]
            restarts = [k for k, event in enumerate(events) if isinstance(event, Restart)]
            if restarts:
                first = [(0, after)] if (after := events[restarts[-1] + 1 :]) else []
                return first + [(m - begin, self._events[m]) for m in past[place + 1 :]]
        if self._before is None:
            return None
        begun = self._snapshots[0].tick
        return self._before + [(begun + moment, self._events[moment]) for moment in past]

    # -- going on ----------------------------------------------------------------------------------

    def step(self, events: Iterable[Event] = ()) -> None:
        """Run one tick with events. Raises EventError, and runs none, where the world cannot carry
        one of them out."""
        events = tuple(events)
        for event in events:
            check_event(event, self.simulation.scene, self.simulation.materials)
        for event in events:
            self.simulation.apply(event)
        self.simulation.step()
        self.note(events)

    def note(self, events: Iterable[Event]) -> None:
        """Take down a tick that has just run, with the events that it began with."""
        self._forget_future()
        if events := tuple(events):
            self._events[self.position] = events
        self.position += 1
        self._digests.append(self.simulation.digest())
        if self.position % self.spacing == 0:
            self._snapshots[self.position] = self.simulation.snapshot()
            self._thin_out()

    def _forget_future(self) -> None:
        if self.position == self.length:
            return
        del self._digests[self.position + 1 :]
        for known in (self._events, self._snapshots):
            last = self.position if known is self._snapshots else self.position - 1
            for moment in [moment for moment in known if moment > last]:
                del known[moment]

    def _thin_out(self) -> None:
        """Keep within the budget: every second snapshot goes, and new ones come half as often."""
        while self.nbytes > self.budget and len(self._snapshots) > 1:
            self.spacing *= 2
            for moment in [m for m in self._snapshots if m % self.spacing]:
                del self._snapshots[moment]

    # -- going back --------------------------------------------------------------------------------

    def seek(self, moment: int) -> bool:
        """Put the simulation into the state of a moment from 0 to `length`.

        Returns whether that is, bit for bit, the state that was; where it is not, `diverged` says
        from which moment on. Raises ValueError for a moment that is not known.
        """
        if not 0 <= moment <= self.length:
            raise ValueError(f"moment {moment} is not one of 0 to {self.length}")
        known = self.moments
        nearest = known[bisect_right(known, moment) - 1]
        if not nearest <= self.position <= moment:
            self.simulation.restore(self._snapshots[nearest])
            self.position = nearest
            self._compare()
        while self.position < moment:
            for event in self.events_at(self.position):
                self.simulation.apply(event)
            self.simulation.step()
            self.position += 1
            self._compare()
        return self.diverged is None or self.diverged > moment

    def _compare(self) -> None:
        if self.diverged is None and self.simulation.digest() != self._digests[self.position]:
            self.diverged = self.position
