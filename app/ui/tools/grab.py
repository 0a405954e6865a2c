"""Grab: matter under the ring follows the hand."""

from __future__ import annotations

import math

from app.events import Event, Grab
from app.ui.tools.brush import Brush
from app.ui.tools.stroke import Color, Hand, Point, Stroke, Tool

# The hand covers this part of its way to the cursor in each tick. It smooths a cursor that is read
# once a frame while ticks come none, one or two to the frame, at the price of about one tick's lag.
FOLLOW = 0.45


class GrabStroke(Stroke):
    """A hand that chases the cursor in simulated time; its velocity is what matter takes on."""

    def __init__(self, start: Point):
        super().__init__(start)
        self.hand = start

    def events(self, brush: Brush, hand: Hand) -> list[Event]:
        self.points = self.points[-1:]
        if hand.resting or (self.released and self.used):
            return []
        self.used = True
        way = (self.points[0][0] - self.hand[0], self.points[0][1] - self.hand[1])
        velocity = (FOLLOW * way[0] / hand.seconds, FOLLOW * way[1] / hand.seconds)
        speed = math.hypot(*velocity)
        if speed > hand.reach:
            # Matter could not keep up with the hand: let the hand wait for the matter instead.
            velocity = (velocity[0] * hand.reach / speed, velocity[1] * hand.reach / speed)
        center = self.hand
        self.hand = (
            self.hand[0] + velocity[0] * hand.seconds,
            self.hand[1] + velocity[1] * hand.seconds,
        )
        return [Grab(center=center, velocity=velocity, radius=brush.radius)]


class GrabTool(Tool):
    name = "grab"
    label = "Grab"
    help = "Takes hold of the matter under the ring and moves it with the cursor."

    def begin(self, point: Point) -> Stroke:
        return GrabStroke(point)

    def ring(self, brush: Brush, inverted: bool) -> Color:
        return (0.56, 0.83, 1.0, 1.0)
