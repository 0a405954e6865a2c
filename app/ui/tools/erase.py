"""Erase: remove matter; its slots go back to the free list."""

from __future__ import annotations

from app.events import Erase, Event
from app.ui.tools.brush import Brush
from app.ui.tools.stroke import Color, DiscStroke, Point, Stroke, Tool


class EraseStroke(DiscStroke):
    """Discs of nothing along the path."""

    def disc(self, center: Point, brush: Brush) -> Event:
        return Erase(center=center, radius=brush.radius)


class EraseTool(Tool):
    name = "erase"
    label = "Erase"
    help = "Removes the matter under the ring. The right mouse button erases with any tool."

    def begin(self, point: Point) -> Stroke:
        return EraseStroke(point)

    def ring(self, brush: Brush, inverted: bool) -> Color:
        return (1.0, 0.52, 0.46, 1.0)
