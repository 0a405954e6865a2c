"""Nearly incompressible viscous liquid: a volume ratio J instead of a deformation gradient."""

import taichi as ti
import taichi.math as tm

from app.sim.linear import deviator


@ti.func
def liquid_classic_target(gradient, volume_ratio, relaxation, viscosity, dt, rounds):
    """Gradient after one relaxation of (1 + tr D) J = 1, and the implicit share of viscosity.

    Lewin 2024 (PB-MPM), with the viscosity made deviatoric: damping the trace as well would work
    against the volume constraint. A full substep damps shear by 1 / (1 + 8 eta dt / (rho dx^2)),
    the backward Euler factor of an affine particle; each of the rounds takes its root of it.
    """
    symmetric = 0.5 * (gradient + gradient.transpose())
    kept = ti.pow(1.0 + 8.0 * viscosity * dt, -1.0 / rounds)
    result = gradient - (1.0 - kept) * deviator(symmetric)
    missing = 0.5 * (1.0 / volume_ratio - result.trace() - 1.0)
    return result + relaxation * missing * tm.mat2(1.0, 0.0, 0.0, 1.0)


@ti.func
def liquid_kirchhoff_stress(gradient, volume_ratio, bulk, viscosity, dt):
    """Linear pressure of compression (no tension) and deviatoric viscous stress [1/s^2]."""
    compression = ti.min(volume_ratio * (1.0 + gradient.trace()) - 1.0, 0.0)
    pressure = bulk * volume_ratio * compression
    symmetric = 0.5 * (gradient + gradient.transpose())
    return pressure * tm.mat2(1.0, 0.0, 0.0, 1.0) + 2.0 * viscosity / dt * deviator(symmetric)


@ti.func
def liquid_return_map(volume_ratio, gradient, density, recovery):
    """Volume ratio at the end of a substep.

    Integrating J drifts, so it is drawn toward the grid's own measure 1/density where the grid is
    compressed. At a free surface the grid reads expanded for want of neighbours, so tension is not
    believed: there J may not exceed 1, or spray would pull itself together.
    """
    result = volume_ratio * (1.0 + gradient.trace())
    if density > 1.0:
        result += recovery * (1.0 / density - result)
    elif density < 0.8:
        result = ti.min(result, 1.0)
    return result
