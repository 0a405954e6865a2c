"""Snow (Stomakhin et al. 2013): corotated, hardens when packed, crumbles when torn."""

import taichi as ti

from app.sim.linear import diagonal, signed_svd
from app.sim.materials.elastic import elastic_kirchhoff_stress

STIFFENING_LIMIT = 20.0
"""Most that packing may multiply the moduli by; past it snow counts as ice."""


@ti.func
def snow_stiffening(packing, hardening):
    """exp(xi (1 - J_p)), the factor of both moduli; `packing` is 1 - J_p, 0 for fresh snow."""
    return ti.min(ti.exp(hardening * packing), STIFFENING_LIMIT)


@ti.func
def snow_yield(sigma, compression, stretch):
    """Principal stretches within the critical compression and stretch (section 7)."""
    return ti.min(ti.max(sigma, 1.0 - compression), 1.0 + stretch)


@ti.func
def snow_kirchhoff_stress(trial, packing, mu, lam, compression, stretch, hardening):
    """Stress of the trial state after return mapping [1/s^2]."""
    u, sigma, v = signed_svd(trial)
    elastic = u @ diagonal(snow_yield(sigma, compression, stretch)) @ v.transpose()
    factor = snow_stiffening(packing, hardening)
    return elastic_kirchhoff_stress(elastic, mu * factor, lam * factor)


@ti.func
def snow_return_map(deformation, packing, compression, stretch):
    """Elastic deformation and packing at the end of a substep; what yields goes into J_p."""
    u, sigma, v = signed_svd(deformation)
    kept = snow_yield(sigma, compression, stretch)
    plastic_volume = (1.0 - packing) * (sigma.x * sigma.y) / (kept.x * kept.y)
    return u @ diagonal(kept) @ v.transpose(), 1.0 - ti.max(plastic_volume, 0.05)
