"""Time travel: the past of a world as a ring of snapshots, and the events between them.

Because a tick is exact, a moment need not be kept to be seen again: the nearest snapshot before it
is restored and the events are played from there. The digest noted when the moment was first reached
proves that it is the same one.

Moments are counted in ticks from where the timeline began, through restarts of the world. Playing
on from a moment that is not the last one begins another future there; the old one is forgotten.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.desync import Desync, examine
from app.events import Erase, Event, Grab, Paint, Push, Restart, SetMaterial
from app.fingerprint import combined_digest
from app.simulation import check_event

if TYPE_CHECKING:
    from app.simulation import Simulation
    from app.snapshot import Snapshot

BUDGET = 256 << 20  # bytes of snapshots
SPACING = 8  # ticks between snapshots, until the budget is reached
PAUSE = 30  # ticks between two changes of one value that still are one edit


class Timeline:
    """The past of one simulation, which nobody else may step, or restore, or change from here on.

    Attributes:
        position: the moment at which the simulation stands.
        length: the last moment that is known; past `position` after going back.
        spacing: ticks between snapshots now.
        diverged: the first moment whose state was not the one that had been, latched; None while
            all is equal.
        desync: what is known of that moment.
        nbytes: memory of the snapshots [bytes].
        compared: whether the present state was there before, and was held against what it was.
        edits: the moments before which nothing of a stroke, or of a change of one value, had
            happened yet: what undo goes back to, in order.
    """

    def __init__(self, simulation: Simulation, *, budget: int = BUDGET, spacing: int = SPACING):
        """Begin here. `budget` bounds the memory of the snapshots [bytes]; the one of the beginning
        is kept in any case."""
        self.simulation = simulation
        self.budget = budget
        self.spacing = spacing
        fresh = simulation.steps == 0 and not simulation.resumed
        self.begin([] if fresh else None)

    def begin(self, history: list[tuple[int, tuple[Event, ...]]] | None = None) -> None:
        """Forget everything and begin at the simulation's present state; `history` holds the events
        that led from the world's initial state to here, as (tick, events), where they are known."""
        self.position = 0
        self.diverged: int | None = None
        self.desync: Desync | None = None
        self.nbytes = 0
        self.compared = False
        self.edits: list[int] = []
        self._before = history
        self._snapshots: dict[int, Snapshot] = {}
        self._digests = array("Q")
        self._field_digests = array("I")  # one a field and moment, moment after moment
        self._events: dict[int, tuple[Event, ...]] = {}  # by the moment before their tick
        self._last_edits: dict[tuple[str, ...], int] = {}  # what was edited -> when last
        self._keep_digests()
        self._keep_snapshot()

    @property
    def length(self) -> int:
        return len(self._digests) - 1

    @property
    def moments(self) -> list[int]:
        """The moments of which there is a snapshot, in order."""
        return sorted(self._snapshots)

    def digest(self, moment: int) -> str:
        """Digest of the state that was at a moment, 16 hex digits."""
        return f"{self._digests[moment]:016x}"

    def field_digests(self, moment: int) -> dict[str, str]:
        """Digest of each field of the state that was at a moment, its first 8 hex digits."""
        row = self._field_digests[moment * len(self._fields) : (moment + 1) * len(self._fields)]
        return {name: f"{digest:08x}" for name, digest in zip(self._fields, row, strict=True)}

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
            self._note_edit(self.position)
        self.position += 1
        self.compared = False
        self._keep_digests()
        if self.position % self.spacing == 0:
            self._keep_snapshot()
            self._thin_out()

    def _keep_digests(self) -> None:
        digests = self.simulation.digests()
        self._fields = tuple(digests)
        self._digests.append(int(combined_digest(digests), 16))
        self._field_digests.extend(int(digest[:8], 16) for digest in digests.values())

    def _keep_snapshot(self) -> None:
        snapshot = self._snapshots[self.position] = self.simulation.snapshot()
        self.nbytes += snapshot.nbytes

    def _drop_snapshot(self, moment: int) -> None:
        self.nbytes -= self._snapshots.pop(moment).nbytes

    def _forget_future(self) -> None:
        if self.position == self.length:
            return
        del self._digests[self.position + 1 :]
        del self._field_digests[(self.position + 1) * len(self._fields) :]
        for moment in [moment for moment in self._events if moment >= self.position]:
            del self._events[moment]
        self.edits, self._last_edits = [], {}
        for moment in sorted(self._events):
            self._note_edit(moment)
        for moment in [moment for moment in self._snapshots if moment > self.position]:
            self._drop_snapshot(moment)
        if self.diverged is not None and self.diverged > self.position:
            self.diverged = self.desync = None  # that moment is no more

    def _thin_out(self) -> None:
        """Keep within the budget: every second snapshot goes, and new ones come half as often."""
        while self.nbytes > self.budget and len(self._snapshots) > 1:
            self.spacing *= 2
            for moment in [m for m in self._snapshots if m % self.spacing]:
                self._drop_snapshot(moment)

    # -- going back --------------------------------------------------------------------------------

    def seek(self, moment: int) -> bool:
        """Put the simulation into the state of a moment from 0 to `length`.

        Returns whether that is, bit for bit, the state that was; where it is not, `diverged` says
        from which moment on. Raises ValueError for a moment that is not known.
        """
        while not self.approach(moment):
            pass
        return self.is_equal(moment)

    def is_equal(self, moment: int) -> bool:
        """Whether no state up to a moment was another one when it was seen again."""
        return self.diverged is None or self.diverged > moment

    def approach(self, moment: int) -> bool:
        """One step of `seek`: restore a snapshot where that is nearer, else play one tick.

        Returns whether the moment is reached. Raises ValueError for one that is not known.
        """
        if not 0 <= moment <= self.length:
            raise ValueError(f"moment {moment} is not one of 0 to {self.length}")
        nearest = self._snapshot_before(moment + 1)
        if not nearest <= self.position <= moment:
            self.simulation.restore(self._snapshots[nearest])
            self.position = nearest
            self._compare()
        elif self.position < moment:
            for event in self.events_at(self.position):
                self.simulation.apply(event)
            self.simulation.step()
            self.position += 1
            self._compare()
        return self.position == moment

    def examine(self, expected: dict[str, str], digest: str) -> Desync:
        """What is known of the present state, which should have had these digests; see `desync`."""
        base = None
        if self.position > 0:
            moment = self._snapshot_before(self.position)
            base = (moment, self._snapshots[moment])
        return examine(self.simulation, self.position, expected, digest, base, self.events_at)

    def _snapshot_before(self, moment: int) -> int:
        """The last moment before `moment` of which there is a snapshot."""
        known = self.moments
        return known[bisect_right(known, moment - 1) - 1]

    def _compare(self) -> None:
        self.compared = True
        if self.diverged is not None:
            return
        expected = self.digest(self.position)
        if self.simulation.digest() != expected:
            self.diverged = self.position
            self.desync = self.examine(self.field_digests(self.position), expected)

    # -- edits -------------------------------------------------------------------------------------

    def _note_edit(self, moment: int) -> None:
        """A stroke acts in every tick while the button is down, so events of one kind in
        neighbouring ticks are one edit; a value that is dragged may rest for a while in between."""
        what = {_edited(event) for event in self._events[moment]}
        if not any(self._goes_on(key, self._last_edits.get(key), moment) for key in what):
            self.edits.append(moment)
        self._last_edits.update(dict.fromkeys(what, moment))

    def _goes_on(self, what: tuple[str, ...], last: int | None, moment: int) -> bool:
        if last is None or what[0] == Restart.kind:
            return False
        return moment - last <= (1 if what[0] in _STROKES else PAUSE)


_STROKES = {event.kind for event in (Paint, Erase, Grab, Push)}


def _edited(event: Event) -> tuple[str, ...]:
    """What an event changes, to tell one edit from another."""
    if isinstance(event, SetMaterial):
        return (event.kind, event.material, event.field)
    return (event.kind, event.material) if isinstance(event, Paint) else (event.kind,)
