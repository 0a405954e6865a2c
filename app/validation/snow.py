"""Snow packs and hardens under its own weight as its law says.

Stomakhin, Schroeder, Chai, Teran and Selle, A material point method for snow simulation (2013),
sections 5 and 7: the stretch of the elastic part is at least 1 - critical_compression; what is
beyond it goes into the plastic volume J_p; both moduli are multiplied by exp(hardening (1 - J_p)).
For a stretch s along the column alone, with the elastic part c: tau_yy = exp(hardening (1 - s / c))
(2 mu (c - 1) c + lambda (c - 1) c), c = max(s, 1 - critical_compression), without a limit.
"""

from __future__ import annotations

import numpy as np

from app.validation.compression import compared, stretches
from app.validation.gate import Gate, Measurement, World, lame

DENSITY, YOUNG, POISSON = 400.0, 2.0e4, 0.2
COMPRESSION, HARDENING = 0.025, 10.0
LIMIT = 0.05


def record(hardening: float) -> str:
    """TOML of the snow; it crumbles under no stretch here."""
    return f"""
[materials.matter]
model = "snow"
density = {DENSITY}
youngs_modulus = {YOUNG}
poissons_ratio = {POISSON}
critical_compression = {COMPRESSION}
critical_stretch = 0.0075
hardening = {hardening}
"""


def stress(stretch: np.ndarray) -> np.ndarray:
    """Kirchhoff stress along the column [Pa]."""
    shear, lam = lame(YOUNG, POISSON)
    elastic = np.maximum(stretch, 1.0 - COMPRESSION)
    hardened = np.exp(HARDENING * (1.0 - stretch / elastic))
    return hardened * (2.0 * shear + lam) * (elastic - 1.0) * elastic


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Compression of three parts of the column."""
    found = stretches(world, record(0.7 * HARDENING if wrong else HARDENING))
    return compared(found, stress, DENSITY, LIMIT)


GATE = Gate(
    name="snow",
    title="Snow under its own weight",
    theory="critical compression and hardening (Stomakhin et al. 2013, sections 5 and 7)",
    wrong="hardening 30 % too low",
    measure=measure,
    cheap=True,
)
