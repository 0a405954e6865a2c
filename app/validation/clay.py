"""Clay yields and hardens under its own weight as its law says.

Mises yield with linear isotropic hardening (Simo and Hughes, Computational Inelasticity, section
1.2 and box 3.1), in logarithmic strains: |s| <= sqrt(2/3) (yield_stress + hardening_modulus
alpha), alpha = sqrt(2/3) |e_p|, s = 2 mu e the deviator of stress and e_p the plastic strain. For a
stretch along the column alone the deviator of strain is log(stretch) / 2 (-1, 1).
"""

from __future__ import annotations

import numpy as np

from app.validation.compression import compared, stretches
from app.validation.gate import Gate, Measurement, World, lame

DENSITY, YOUNG, POISSON = 1700.0, 1.0e5, 0.1
YIELD, HARDENING = 500.0, 2.0e4
LIMIT = 0.05


def record(yield_stress: float, hardening: float) -> str:
    """TOML of the clay."""
    return f"""
[materials.matter]
model = "clay"
density = {DENSITY}
youngs_modulus = {YOUNG}
poissons_ratio = {POISSON}
yield_stress = {yield_stress}
hardening_modulus = {hardening}
"""


def stress(stretch: np.ndarray) -> np.ndarray:
    """Kirchhoff stress along the column [Pa]."""
    shear, lam = lame(YOUNG, POISSON)
    strain = np.log(stretch)
    trial = 2.0 * shear * np.abs(strain) / np.sqrt(2.0)
    allowed = np.sqrt(2.0 / 3.0) * YIELD
    plastic = np.maximum(trial - allowed, 0.0) / (2.0 * shear + 2.0 / 3.0 * HARDENING)
    deviator = (trial - 2.0 * shear * plastic) / np.sqrt(2.0)
    return (lam + shear) * strain - deviator


def measure(world: World, wrong: bool, quick: bool) -> Measurement:
    """Compression of three parts of the column; wrong: without hardening."""
    found = stretches(world, record(YIELD, 0.0 if wrong else HARDENING))
    return compared(found, stress, DENSITY, LIMIT)


GATE = Gate(
    name="clay",
    title="Clay under its own weight",
    theory="Mises yield with linear hardening (Simo and Hughes, box 3.1)",
    wrong="no hardening",
    measure=measure,
    cheap=True,
)
