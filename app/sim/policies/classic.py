"""Classic PB-MPM (Lewin, SIGGRAPH Talks 2024): every round relaxes D toward a target shape.

D <- D + omega (T F^-1 - I - D). Nothing here scales with a modulus and dt^2, so nothing explodes;
how stiff matter looks depends on omega, rounds and dt. A soft record keeps a part of its softness:
omega is multiplied by z / (1 + z), z = 4 dt^2 (2 mu + lambda) / (rho dx^2), the compliance factor
of XPBD (Macklin et al. 2016), which is 1 for anything stiffer than a substep can resolve.
"""

import taichi as ti
import taichi.math as tm

from app.sim.materials import LIQUID, SAND
from app.sim.materials.elastic import elastic_classic_shape
from app.sim.materials.liquid import liquid_classic_target
from app.sim.materials.sand import sand_classic_shape


@ti.func
def classic_gradient(model, p, gradient, deformation, volume_ratio, plastic, tuning, dt, rounds):
    """Displacement gradient that a particle scatters in this round.

    p: the record's parameters (MATERIAL_PARAMETERS order); tuning: (relaxation, liquid relaxation,
    elasticity ratio).
    """
    result = gradient
    if model == LIQUID:
        result = liquid_classic_target(gradient, volume_ratio, tuning.y, p[4], dt, rounds)
    else:
        trial = deformation + gradient @ deformation
        shape = tm.mat2(1.0, 0.0, 0.0, 1.0)
        if model == SAND:
            shape = sand_classic_shape(trial, tuning.z, plastic)
        else:
            shape = elastic_classic_shape(trial, tuning.z)
        z = 4.0 * dt * dt * (2.0 * p[1] + p[2])
        omega = tuning.x * z / (1.0 + z)
        wanted = shape @ deformation.inverse() - tm.mat2(1.0, 0.0, 0.0, 1.0)
        result = gradient + omega * (wanted - gradient)
    return result
