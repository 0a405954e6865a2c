"""Nearly incompressible viscous liquid: a volume ratio J instead of a deformation gradient."""

import taichi as ti
import taichi.math as tm

from app.sim.linear import deviator

SMOOTHING = 0.5
"""Share of the way toward its surroundings that a particle's J goes in a substep. Without it single
particles kept J from 0.80 to 1.15 in a settled pool whose mean was right."""
RECOVERY = 0.1
"""Share of the way toward the grid's measure of volume in a substep."""
WALLED_ROOM = 0.7
"""Share of room that walls leave a particle below which recovery only ever compresses. The grid's
measure is coarsest there, and what it gave back to matter along a floor kept a jet going: a pool of
30 cells stayed at 0.9 % of the energy of a fall from its surface, and with this comes to 0.13 %."""
SPARSE_DENSITY = 0.8
"""Grid density below which matter is no longer packed: spray, or lumps that have come apart."""


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
def liquid_return_map(volume_ratio, gradient, around):
    """Volume ratio at the end of a substep.

    around: (density, room, ratio) as the grid measures them. Integrating J alone drifts, and the
    grid cannot see what single particles believe as long as their mean is right. So J is drawn
    toward the mean of its surroundings, and, away from walls, toward the grid's own measure of
    volume, 1/density where matter is compressed (a density summation; Kot 2010) and 1 elsewhere:
    at a free surface the grid reads expanded for want of neighbours, and tension is never trusted.
    """
    result = volume_ratio + SMOOTHING * (around.z - volume_ratio)
    result *= 1.0 + gradient.trace()
    target = ti.min(1.0 / around.x, 1.0)
    recovery = RECOVERY
    if target > result:
        recovery *= tm.smoothstep(WALLED_ROOM, 1.0, around.y)
    result += recovery * (target - result)
    if around.x < SPARSE_DENSITY:
        result = ti.min(result, 1.0)
    return result


@ti.func
def liquid_spray_gradient(gradient, density):
    """Displacement gradient that spray keeps: none of its expansion.

    A drop of one particle that parts from the rest keeps its D on the grid, with nobody to share it
    with: the last push of pressure would go on for ever, and drive the time step.
    """
    result = gradient
    if density < SPARSE_DENSITY:
        result -= 0.5 * ti.max(gradient.trace(), 0.0) * tm.mat2(1.0, 0.0, 0.0, 1.0)
    return result
