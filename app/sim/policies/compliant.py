"""Compliant PB-MPM: the rounds converge to backward Euler with the material's true modulus.

Every round scatters the inertial state of the substep's start plus a stress impulse S,
m (d_0 + (D_0 + S) o_i), and moves S toward the impulse that belongs to the gathered gradient,

    S_t(D) = -4 dt^2 / (rho dx^2) sym(tau((I + D) F) (I + D)^-T),

tau the Kirchhoff stress after return mapping. Backward Euler has it without sym(), the symmetric
part; but a force that points where matter will be turns its spin down by omega^2 dt a second (a
jelly lost a third of it in three turns). A symmetric impulse has no torque where matter is, and
angular momentum is conserved at any dt; the two differ by a term of first order in dt. With z = 4
dt^2 H / (rho dx^2), H the stiffest modulus (so z = 4 CFL^2), the linear problem has eigenvalues
from 1 (smooth modes) to 1 + z (grid-scale modes); Chebyshev's semi-iteration (Golub and Varga 1961;
Saad, Iterative Methods, 12.3) damps all of them evenly. The recurrence's omegas depend on the
number of rounds alone, so every particle takes the step of its own stiffness: that is Chebyshev
preconditioned by the diagonal 1 + z, whose eigenvalues stay within the interval where stiff and
soft matter meet.

With one round, a full step and nothing to accelerate, the same loop is explicit MLS-MPM.
"""

import taichi as ti
import taichi.math as tm

from app.sim.linear import largest_stretch_squared
from app.sim.materials import ELASTIC, LIQUID, NEO_HOOKEAN, SAND, SNOW, VISCO
from app.sim.materials.clay import clay_kirchhoff_stress
from app.sim.materials.elastic import elastic_kirchhoff_stress, neo_hookean_kirchhoff_stress
from app.sim.materials.liquid import liquid_kirchhoff_stress
from app.sim.materials.sand import sand_kirchhoff_stress
from app.sim.materials.snow import snow_kirchhoff_stress, snow_stiffening
from app.sim.materials.visco import visco_kirchhoff_stress

DETERMINANT_FLOOR = 0.1


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
        elif model == NEO_HOOKEAN:
            stress = neo_hookean_kirchhoff_stress(trial, p[1], p[2])
        elif model == SAND:
            stress = sand_kirchhoff_stress(trial, plastic, p[1], p[2], p[6], p[7])
        elif model == VISCO:
            stress = visco_kirchhoff_stress(trial, p[1], p[2], p[5], p[4], dt)
        elif model == SNOW:
            stress = snow_kirchhoff_stress(trial, plastic, p[1], p[2], p[8], p[9], p[10])
        else:
            stress = clay_kirchhoff_stress(trial, plastic, p[1], p[2], p[5], p[10])
        step = identity + gradient
        det = ti.max(step.determinant(), DETERMINANT_FLOOR)
        pulled_back = tm.mat2(step[1, 1], -step[1, 0], -step[0, 1], step[0, 0]) / det
    impulse = stress @ pulled_back
    return -2.0 * dt * dt * (impulse + impulse.transpose())


@ti.func
def compliant_stiffness(model, p, trial, plastic, dt):
    """z of one particle: 4 dt^2 times its stiffest modulus over density, plus its viscosity.

    A particle without neighbours keeps all of its D, and meets the modulus of a uniform stretch in
    the plane, 2 (lambda + mu), which is 1 / (1 - nu) times that of the wave. Taken for less, bits
    of jelly that have come off explode. A lone particle of liquid has no pressure.

    Stretched by s, a solid resists further strain s^2 times as much (the stress is pushed forward
    by F on both sides). Taken for less, its rounds diverge: a shred of jelly pulled along by what
    flows round it never came back, and struck its nodes at every round.
    """
    z = 4.0 * dt * dt * (2.0 * (p[1] + p[2]) + p[3])
    if model == SNOW:
        z *= snow_stiffening(plastic, p[10])
    if model == LIQUID:
        z += 8.0 * dt * p[4]
    else:
        z *= ti.max(1.0, largest_stretch_squared(trial))
    return z
