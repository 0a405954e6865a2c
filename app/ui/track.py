"""Tracks: how the length of a slider maps to the values of a quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.ui.quantities import rounded

ZERO_PART = 0.05  # of a logarithmic slider that reaches zero: this much of its left end is zero
ZERO_DECADES = 5.0  # and it shows this many decades below its upper end


@dataclass(frozen=True)
class Track:
    """How a slider's length maps to values, linear or logarithmic, with zero at the left or not.

    minimum, maximum: what may be set at all (typed); low, high: what the slider reaches.
    """

    low: float
    high: float
    minimum: float
    maximum: float
    logarithmic: bool = False
    unit: str = ""

    def fraction(self, value: float) -> float:
        """Place of a value on the slider, 0 to 1."""
        if self.logarithmic:
            low, start = self._log_low, self._log_start
            if value <= 0.0 or value < 10**low * 0.999:
                return 0.0
            part = (math.log10(value) - low) / (math.log10(self.high) - low)
            return min(start + part * (1.0 - start), 1.0)
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def value(self, fraction: float) -> float:
        """Value at a place, to as many digits as a hand can tell apart."""
        fraction = min(max(fraction, 0.0), 1.0)
        if self.logarithmic:
            low, start = self._log_low, self._log_start
            if fraction < start or (start and fraction == 0.0):
                return 0.0
            part = (fraction - start) / (1.0 - start)
            return self.clamp(rounded(10 ** (low + part * (math.log10(self.high) - low)), 3))
        places = max(0, 3 - math.ceil(math.log10(self.high - self.low)))
        return self.clamp(round(self.low + fraction * (self.high - self.low), places))

    def clamp(self, value: float) -> float:
        return min(max(value, self.minimum), self.maximum)

    @property
    def _log_low(self) -> float:
        return math.log10(self.low if self.low > 0.0 else self.high) - (
            0.0 if self.low > 0.0 else ZERO_DECADES
        )

    @property
    def _log_start(self) -> float:
        return 0.0 if self.low > 0.0 else ZERO_PART


def field_track(minimum: float, maximum: float, usual: float, unit: str) -> Track:
    """A track for a quantity that may lie in a wide range: the slider spans what makes sense.

    A range over more than two decades gets a logarithmic slider around its `usual` value; typing
    reaches the rest.
    """
    if minimum >= 0.0 and maximum > 100.0 * max(minimum, 1e-12) and maximum > 100.0:
        if minimum > 0.0:
            low = max(minimum, usual / 100.0)
            return Track(low, min(maximum, usual * 100.0), minimum, maximum, True, unit)
        high = min(maximum, 1000.0 * usual) if usual > 0.0 else min(maximum, 1.0e5)
        return Track(0.0, high, minimum, maximum, True, unit)
    return Track(minimum, maximum, minimum, maximum, False, unit)
