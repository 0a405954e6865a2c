"""Clay: Hencky elasticity, Mises yield that rises with the plastic strain; volume kept."""

import taichi as ti

from app.sim.linear import diagonal, signed_svd
from app.sim.materials.liquid import SPARSE_DENSITY
from app.sim.materials.sand import hencky_strain, hencky_stress


@ti.func
def clay_yield(strain, worked, yield_strain, hardening_ratio):
    """Radial return with linear isotropic hardening (Simo and Hughes 1998, box 3.1).

    worked: plastic strain so far. hardening_ratio is H / (3 mu); the new plastic strain is
    (|dev e| - yield) / (1 + H / (3 mu)). Returns the elastic strain and the plastic strain.
    """
    mean = 0.5 * (strain.x + strain.y)
    deviatoric = strain - mean
    size = deviatoric.norm()
    limit = yield_strain + hardening_ratio * worked
    result = strain
    total = worked
    if size > limit:
        flow = (size - limit) / (1.0 + hardening_ratio)
        result = mean + deviatoric * ((size - flow) / size)
        total += flow
    return result, total


@ti.func
def clay_kirchhoff_stress(trial, worked, mu, lam, yield_strain, hardening_ratio):
    """Stress of the trial state after return mapping [1/s^2]."""
    u, sigma, _v = signed_svd(trial)
    strain, _total = clay_yield(hencky_strain(sigma), worked, yield_strain, hardening_ratio)
    return hencky_stress(u, strain, mu, lam)


@ti.func
def clay_return_map(deformation, worked, density, yield_strain, hardening_ratio):
    """Elastic deformation and plastic strain at the end of a substep; gaps are forgotten."""
    u, sigma, v = signed_svd(deformation)
    strain, total = clay_yield(hencky_strain(sigma), worked, yield_strain, hardening_ratio)
    if density < SPARSE_DENSITY:
        strain -= 0.5 * ti.max(strain.x + strain.y, 0.0)
    return u @ diagonal(ti.exp(strain)) @ v.transpose(), total
