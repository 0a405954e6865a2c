"""Elastic solids: fixed corotated, and Neo-Hookean for large stretch."""

import taichi as ti
import taichi.math as tm

from app.sim.linear import rotation_of


@ti.func
def elastic_classic_shape(trial, elasticity_ratio):
    """What classic PB-MPM relaxes toward: a rotation, blended with an area-keeping F."""
    det = trial.determinant()
    isochoric = trial / ti.sqrt(tm.clamp(ti.abs(det), 0.1, 1000.0))
    if det < 0.0:
        isochoric = rotation_of(trial)
    return elasticity_ratio * rotation_of(trial) + (1.0 - elasticity_ratio) * isochoric


@ti.func
def elastic_kirchhoff_stress(trial, mu, lam):
    """Stomakhin et al. 2012: tau = 2 mu (F - R) F^T + lambda (J - 1) J I [1/s^2]."""
    det = trial.determinant()
    rotation = rotation_of(trial)
    shear = 2.0 * mu * (trial - rotation) @ trial.transpose()
    return shear + lam * (det - 1.0) * det * tm.mat2(1.0, 0.0, 0.0, 1.0)


@ti.func
def neo_hookean_kirchhoff_stress(trial, mu, lam):
    """Bonet and Wood 2008, 6.4.3: tau = mu (F F^T - I) + lambda log(J) I [1/s^2].

    The logarithm is finite only for J > 0; a collapsed or inverted particle feels J = 0.05.
    """
    log_volume = ti.log(ti.max(trial.determinant(), 0.05))
    identity = tm.mat2(1.0, 0.0, 0.0, 1.0)
    return mu * (trial @ trial.transpose() - identity) + lam * log_volume * identity
