"""What a tool is, and the cursor's path between two ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.events import Event
from app.ui.tools.brush import Brush

Point = tuple[float, float]
Color = tuple[float, float, float, float]

# A stroke may not put more than this many discs into one tick: a tick's cost stays bounded, and
# the rest of a long stroke follows in the next ticks.
DISCS_PER_TICK = 24
# Neighbouring discs of a stroke lie this fraction of a radius apart: close enough that the edge of
# the painted band ripples by less than 4% of the radius.
DISC_SPACING = 0.5


@dataclass(frozen=True)
class Hand:
    """What the hand does beside holding a button, at one tick.

    seconds: simulated time of a tick [s]. reach: the fastest that matter can be moved before the
    time step caps it [m/s]. inverted: Shift is held. resting: no tick runs (paused), so only a
    path that was not there before makes events.
    """

    seconds: float
    reach: float = math.inf
    inverted: bool = False
    resting: bool = False


class Stroke:
    """One press of a mouse button, from press to release; `points` is the path not yet used."""

    def __init__(self, start: Point):
        self.points: list[Point] = [start]
        self.released = False
        self.used = False  # at least one tick has seen it: a quick click is never lost

    def move(self, point: Point) -> None:
        """Append the cursor's place [m] in world coordinates."""
        if point != self.points[-1]:
            self.points.append(point)

    def release(self) -> None:
        self.released = True

    @property
    def finished(self) -> bool:
        """Released, and nothing of its path is still to be used."""
        return self.released and self.used and len(self.points) == 1

    def events(self, brush: Brush, hand: Hand) -> list[Event]:
        """The events of one tick; called once before every tick while the stroke lasts."""
        raise NotImplementedError


class DiscStroke(Stroke):
    """A stroke that leaves a row of discs along its path, without gaps at any speed."""

    def disc(self, center: Point, brush: Brush) -> Event:
        raise NotImplementedError

    def events(self, brush: Brush, hand: Hand) -> list[Event]:
        centers: list[Point] = []
        if not self.used:
            centers.append(self.points[0])
        walked, self.points = walk(
            self.points, brush.radius * DISC_SPACING, DISCS_PER_TICK - len(centers)
        )
        centers += walked
        if not centers and not hand.resting and not self.released:
            centers.append(self.points[-1])
        self.used = True
        return [self.disc(center, brush) for center in centers]


class Tool:
    """A tool: how it is shown, and the stroke that it begins."""

    name = ""
    label = ""
    help = ""

    def begin(self, point: Point) -> Stroke:
        raise NotImplementedError

    def ring(self, brush: Brush, inverted: bool) -> Color:
        """Colour of the radius ring, RGBA 0..1 (sRGB)."""
        raise NotImplementedError


def walk(points: list[Point], spacing: float, limit: int) -> tuple[list[Point], list[Point]]:
    """Centers along a path, at most `spacing` apart, and what of the path is left.

    The path's first point counts as done; its end is always reached unless `limit` centers came
    first. What is left begins with the last point done.
    """
    centers: list[Point] = []
    done = points[0]
    for index, goal in enumerate(points[1:], start=1):
        length = math.dist(done, goal)
        last = index == len(points) - 1
        if not last and length < spacing:
            continue  # a cursor's path is much finer than the discs: skip to where one is due
        steps = max(1, math.ceil(length / spacing - 1e-9)) if length > 0 else 0
        start = done
        for step in range(1, steps + 1):
            if len(centers) == limit:
                return centers, [done, *points[index:]]
            part = step / steps
            done = (
                start[0] + (goal[0] - start[0]) * part,
                start[1] + (goal[1] - start[1]) * part,
            )
            centers.append(done)
    return centers, [points[-1]]
