"""Viscoplastic solid: Hencky elasticity with a Mises yield strain and Perzyna flow, volume kept."""

import taichi as ti

from app.sim.linear import diagonal, signed_svd
from app.sim.materials.liquid import SPARSE_DENSITY
from app.sim.materials.sand import hencky_strain, hencky_stress


@ti.func
def visco_yield(strain, yield_strain, relaxation_rate_dt):
    """Shrink the deviator toward the yield surface.

    Backward Euler of the Perzyna law: what exceeds the yield strain decays at 2 mu / eta; without
    viscosity (an infinite rate) the return is complete. The trace, and so the volume, is kept.
    """
    mean = 0.5 * (strain.x + strain.y)
    deviatoric = strain - mean
    size = deviatoric.norm()
    result = strain
    if size > yield_strain:
        excess = (size - yield_strain) / (1.0 + relaxation_rate_dt)
        result = mean + deviatoric * ((yield_strain + excess) / size)
    return result


@ti.func
def visco_relaxation(mu, viscosity, dt):
    """2 mu dt / eta, the substep over the relaxation time; huge where there is no viscosity."""
    return 2.0 * mu * dt / ti.max(viscosity, 1e-9 * mu * dt)


@ti.func
def visco_kirchhoff_stress(trial, mu, lam, yield_strain, viscosity, dt):
    """Stress of the trial state after return mapping [1/s^2]."""
    u, sigma, _v = signed_svd(trial)
    rate_dt = visco_relaxation(mu, viscosity, dt)
    return hencky_stress(u, visco_yield(hencky_strain(sigma), yield_strain, rate_dt), mu, lam)


@ti.func
def visco_return_map(deformation, density, mu, yield_strain, viscosity, dt):
    """Elastic deformation at the end of a substep.

    Where the grid has come apart the volume gained is a gap between lumps, not tension in them: it
    is forgotten, or the lumps would pull on one another when they meet again.
    """
    u, sigma, v = signed_svd(deformation)
    rate_dt = visco_relaxation(mu, viscosity, dt)
    strain = visco_yield(hencky_strain(sigma), yield_strain, rate_dt)
    if density < SPARSE_DENSITY:
        strain -= 0.5 * ti.max(strain.x + strain.y, 0.0)
    return u @ diagonal(ti.exp(strain)) @ v.transpose()
