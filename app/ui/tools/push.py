"""Push: blow matter away from the cursor, or draw it in."""

from __future__ import annotations

from app.events import Event, Push
from app.ui.tools.brush import Brush
from app.ui.tools.stroke import Color, Hand, Point, Stroke, Tool


class PushStroke(Stroke):
    """An acceleration around the cursor at every tick; the path between ticks does not matter."""

    def events(self, brush: Brush, hand: Hand) -> list[Event]:
        self.points = self.points[-1:]
        if hand.resting or (self.released and self.used):
            return []
        self.used = True
        sign = -1.0 if hand.inverted else 1.0
        return [
            Push(
                center=self.points[0],
                radius=brush.radius,
                acceleration=sign * brush.acceleration,
            )
        ]


class PushTool(Tool):
    name = "push"
    label = "Push"
    help = "Pushes matter away from the center of the ring. With Shift it pulls."

    def begin(self, point: Point) -> Stroke:
        return PushStroke(point)

    def ring(self, brush: Brush, inverted: bool) -> Color:
        return (0.79, 0.66, 1.0, 1.0) if inverted else (1.0, 0.82, 0.45, 1.0)
