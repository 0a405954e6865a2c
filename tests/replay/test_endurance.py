"""Contract: a hundred thousand ticks of emission, draining, painting, erasing and going back in
time lose no slot, take no more memory than the first ones, and make the same digests when they are
played again.

In blocks of ticks. After each, every slot is live or free, once; in every block the timeline
goes back to a moment before and returns, and each time finds the bits that were there. The memory
of the process is read once it has taken what it needs, and may then grow by no more than what the
allocator keeps at hand; the digests that the timeline notes of every tick are in that.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import pytest
from simulations import box, expect_sound_slots, fill, scene, shape

from app.events import Erase, Event, Grab, Paint, Push
from app.session import Session
from app.timeline import Timeline

CAPACITY = 2000
SETTLED = 0.1  # share of a run after which memory is read first
BUDGET = 64 << 20  # bytes of the timeline's snapshots
PER_TICK = 200  # bytes that timeline and session keep of a tick: a digest, at times its events
SLACK = 24 << 20  # bytes
CENTERS = ((0.1, 0.2), (0.3, 0.25), (0.2, 0.1))


def busy():
    """A source that fills the world up to its capacity, two drains, a turning paddle, jelly."""
    return scene(
        fill((2, 2), (38, 8), "water"),
        fill((16, 24), (24, 30), "jelly"),
        shape("emitter", "box", **box((3, 32), (12, 37)), material="water", rate=0.03, speed=1.0),
        shape("emitter", "box", **box((30, 33), (36, 37)), material="sand", rate=0.015, speed=0.5),
        shape("drain", "box", **box((0, 0), (4, 1))),
        shape("drain", "circle", center=(0.38, 0.02), radius=0.02),
        shape(
            "collider",
            "capsule",
            center=(0.2, 0.15),
            half_length=0.05,
            radius=0.015,
            motion={"angular_velocity": 2.0},
        ),
        cells=(40, 40),
        rounds=1,
        min_substeps=1,
        max_substeps=2,
        capacity=CAPACITY,
    )


def events_of(tick: int) -> list[Event]:
    """Input of a tick: a stroke of paint, of the eraser, a grab or a push, some of the time."""
    center = CENTERS[tick // 40 % len(CENTERS)]
    if tick % 40 in (3, 4):
        return [Paint(("water", "jelly", "sand")[tick // 40 % 3], center, 0.04)]
    if tick % 40 in (20, 21):
        return [Erase(CENTERS[(tick // 40 + 1) % len(CENTERS)], 0.06)]
    if tick % 40 == 30:
        return [Grab(center, (0.5, 0.5), 0.06), Push(center, 0.08, 30.0)]
    return []


def resident() -> int:
    """Memory of this process [bytes]; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def play(sim, ticks: int, block: int) -> list[str]:
    """Digests at the end of each block."""
    digests = []
    for tick in range(ticks):
        for event in events_of(tick):
            sim.apply(event)
        sim.step()
        if (tick + 1) % block == 0:
            digests.append(sim.digest())
    return digests


def play_back_and_forth(sim, ticks: int, block: int) -> tuple[list[str], int]:
    """The same, with a moment before gone back to in each block; and by how much memory grew after
    it had settled [bytes]."""
    chance = random.Random(1)
    timeline = Timeline(sim, budget=BUDGET)
    session = Session(sim, timeline=timeline)
    digests, settled = [], 0
    for begin in range(0, ticks, block):
        for tick in range(begin, begin + block):
            for event in events_of(tick):
                session.emit(event)
            session.step_once()
        end = timeline.position
        digests.append(sim.digest())
        back = end - chance.randrange(1, block)
        for moment in (back, end):
            assert session.seek(moment), f"tick {moment} is not what it was"
            assert sim.digest() == timeline.digest(moment)
            expect_sound_slots(sim, CAPACITY)
        assert sim.digest() == digests[-1]
        assert np.isfinite(sim.positions()).all()
        assert timeline.nbytes <= BUDGET
        if begin + block <= SETTLED * ticks:
            settled = resident()
    return digests, resident() - settled if settled else 0


def endure(world, ticks: int, block: int) -> tuple[dict[str, object], float]:
    """The whole contract; what a row of results says of it, and the seconds it took."""
    start = time.perf_counter()
    sim = world(busy())
    digests, growth = play_back_and_forth(sim, ticks, block)
    status = sim.status()
    assert growth <= SLACK + PER_TICK * ticks, f"memory grew by {growth} bytes"
    assert status.emitted > 0 and status.drained > 0
    assert status.counters["capacity_reached"] > 0  # the world was full at times
    assert status.counters["nonfinite_removed"] == 0
    seconds = time.perf_counter() - start
    assert play(world(busy()), ticks, block) == digests
    note = (
        f"{status.emitted} emitted, {status.drained} drained, {len(digests)} times back and forth, "
        f"memory grew by {growth / 2**20:.1f} MiB after the first {100 * SETTLED:.0f} %"
    )
    return {"digest": digests[-1], "note": note}, seconds


def test_some_ticks(world):
    endure(world, 240, 60)


@pytest.mark.soak
def test_a_hundred_thousand_ticks(world, keep_results):
    ticks = 100_000
    found, seconds = endure(world, ticks, 250)
    row = {"run": "endurance", "arch": "cpu", "subject": "source, drains, paint, eraser, timeline"}
    row |= {"condition": "played, then played again without going back", "count": ticks}
    row |= {"unit": "ticks", "seconds": f"{seconds:.0f}", "verdict": "holds"}
    keep_results(row | found)
