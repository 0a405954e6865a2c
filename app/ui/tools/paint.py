"""Paint: pour matter of one material wherever there is room for it."""

from __future__ import annotations

from app.events import Event, Paint
from app.ui.tools.brush import Brush
from app.ui.tools.stroke import Color, DiscStroke, Hand, Point, Stroke, Tool


class PaintStroke(DiscStroke):
    """Discs of matter along the path; while the hand rests, it keeps pouring."""

    def disc(self, center: Point, brush: Brush) -> Event:
        return Paint(material=brush.material, center=center, radius=brush.radius)

    def events(self, brush: Brush, hand: Hand) -> list[Event]:
        if not brush.material:  # a scene that declares no material has nothing to paint with
            self.used, self.points = True, self.points[-1:]
            return []
        return super().events(brush, hand)


class PaintTool(Tool):
    name = "paint"
    label = "Paint"
    help = "Fills the free space under the ring with the chosen material. Occupied places stay."

    def begin(self, point: Point) -> Stroke:
        return PaintStroke(point)

    def ring(self, brush: Brush, inverted: bool) -> Color:
        return (0.62, 0.93, 0.74, 1.0)
