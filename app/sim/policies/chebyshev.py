"""Chebyshev's coefficients for the rounds of the compliant policy, and what they leave unresolved.

Plain arithmetic: the solver takes the coefficients, the scene report and the panel the softening.
"""

import math

MARGIN = 3.0
"""Bound 1/3 of the error polynomial: the update of a single mode is stable while it is above
-1/3."""


class Acceleration:
    """Chebyshev's coefficients for a number of rounds: `omegas`, `reach` (b*) and `share`.

    A particle's step is gamma = share / max(1 + z, reach).
    """

    def __init__(self, rounds):
        self.rounds = rounds
        self.w0 = math.cosh(math.acosh(MARGIN) / rounds)
        self.reach = (self.w0 + 1.0) / (self.w0 - math.cos(math.pi / (2 * rounds)))
        self.share = (self.w0 + 1.0) / self.w0
        rho = 1.0 / self.w0
        self.omegas = [1.0]
        for k in range(1, rounds):
            last = self.omegas[-1]
            self.omegas.append(1.0 / (1.0 - rho * rho * (0.5 if k == 1 else 0.25 * last)))

    def stiffness_share(self, z):
        """Effective over true modulus of smooth motion: 1 - T_n(w0 - w1) / m, 1 where resolved."""
        b = max(1.0 + z, self.reach)
        argument = self.w0 - (self.w0 + 1.0) / b
        if abs(argument) <= 1.0:
            value = math.cos(self.rounds * math.acos(argument))
        else:
            value = math.cosh(self.rounds * math.acosh(argument))
        return 1.0 - value / MARGIN if 1.0 + z > self.reach else 1.0
