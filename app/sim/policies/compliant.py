"""Compliant PB-MPM: the rounds converge to backward Euler with the material's true modulus.

Every round scatters the inertial state of the substep's start plus a stress impulse S,
m (d_0 + (D_0 + S) o_i), and moves S toward the impulse that belongs to the gathered gradient,

    S_t(D) = -4 dt^2 / (rho dx^2) tau((I + D) F) (I + D)^-T,

tau the Kirchhoff stress after return mapping. With z = 4 dt^2 H / (rho dx^2), H the stiffest modulus
(so z = 4 CFL^2), the linear problem has eigenvalues from 1 (smooth modes) to 1 + z (grid-scale
modes); Chebyshev's semi-iteration (Golub and Varga 1961; Saad, Iterative Methods, 12.3) damps all of
them evenly. The recurrence's omegas depend on the number of rounds alone, so every particle takes
the step of its own stiffness: that is Chebyshev preconditioned by the diagonal 1 + z, whose
eigenvalues stay within the interval where stiff and soft matter meet.

With one round, a full step and nothing to accelerate, the same loop is explicit MLS-MPM.
"""

import math

import taichi as ti
import taichi.math as tm

from app.sim.materials import ELASTIC, LIQUID, SAND
from app.sim.materials.elastic import elastic_kirchhoff_stress
from app.sim.materials.liquid import liquid_kirchhoff_stress
from app.sim.materials.sand import sand_kirchhoff_stress
from app.sim.materials.visco import visco_kirchhoff_stress

MARGIN = 3.0
"""Bound 1/3 of the error polynomial: the update of a single mode is stable while it is above -1/3."""
DETERMINANT_FLOOR = 0.1


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


@ti.func
def compliant_impulse(model, p, gradient, deformation, volume_ratio, plastic, dt):
    """S_t(D) of one particle; p in MATERIAL_PARAMETERS order."""
    identity = tm.mat2(1.0, 0.0, 0.0, 1.0)
    stress = tm.mat2(0.0, 0.0, 0.0, 0.0)
    pulled_back = identity
    if model == LIQUID:
        stress = liquid_kirchhoff_stress(gradient, volume_ratio, p[3], p[4], dt)
    else:
        trial = deformation + gradient @ deformation
        if model == ELASTIC:
            stress = elastic_kirchhoff_stress(trial, p[1], p[2])
        elif model == SAND:
            stress = sand_kirchhoff_stress(trial, plastic, p[1], p[2], p[6], p[7])
        else:
            stress = visco_kirchhoff_stress(trial, p[1], p[2], p[5], p[4], dt)
        step = identity + gradient
        det = ti.max(step.determinant(), DETERMINANT_FLOOR)
        pulled_back = tm.mat2(step[1, 1], -step[1, 0], -step[0, 1], step[0, 0]) / det
    return -4.0 * dt * dt * (stress @ pulled_back)


@ti.func
def compliant_stiffness(model, p, dt):
    """z of one particle: 4 dt^2 times its stiffest modulus over density, plus its viscosity."""
    z = 4.0 * dt * dt * (2.0 * p[1] + p[2] + p[3])
    if model == LIQUID:
        z += 8.0 * dt * p[4]
    return z
