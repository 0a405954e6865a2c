"""The brush that all tools share: a disc, a material to paint with, and how hard to push."""

from __future__ import annotations

from dataclasses import dataclass

RADIUS_STEP = 1.15  # one notch of the wheel, one press of [ or ]
PUSH_LIMITS = (5.0, 500.0)  # [m/s^2]; the low end is half of gravity, the high end throws matter


@dataclass
class Brush:
    """Shared by the tools, changed by wheel, keys and palette.

    radius: [m], kept within radius_limits. material: name of the record that paint lays down.
    acceleration: of the push at its center [m/s^2].
    """

    radius: float = 0.0
    radius_limits: tuple[float, float] = (0.01, 1.0)
    material: str = ""
    acceleration: float = 80.0

    def resize(self, notches: float) -> None:
        """Grow (or shrink, for negative `notches`) by a constant ratio per notch."""
        self.set_radius(self.radius * RADIUS_STEP**notches)

    def set_radius(self, radius: float) -> None:
        smallest, largest = self.radius_limits
        self.radius = min(max(radius, smallest), largest)

    def set_acceleration(self, acceleration: float) -> None:
        smallest, largest = PUSH_LIMITS
        self.acceleration = min(max(acceleration, smallest), largest)

    def fit(self, size: tuple[float, float], cell: float, materials: list[str]) -> None:
        """Suit a newly opened scene: limits from its domain [m] and cell [m], a material it has.

        A radius that still makes sense is kept, so that switching scenes does not reset the hand.
        """
        shorter = min(size)
        self.radius_limits = (min(1.5 * cell, shorter / 4), shorter / 2)
        smallest, largest = self.radius_limits
        if not 1.3 * smallest <= self.radius <= largest / 2:
            self.radius = max(shorter / 14, 2.5 * cell)
        self.set_radius(self.radius)
        if self.material not in materials:
            self.material = materials[0] if materials else ""

    def next_material(self, materials: list[str], step: int = 1) -> None:
        if materials:
            place = materials.index(self.material) if self.material in materials else -step
            self.material = materials[(place + step) % len(materials)]
