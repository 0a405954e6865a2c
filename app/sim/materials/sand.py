"""Sand: Hencky elasticity with a Drucker-Prager cone, matched to Coulomb's law where it slides.

A record's friction angle and cohesion are those of a plane along which matter slides, t = s
tan(phi) + c, as a shear box and a tilting plane measure them. Flow that keeps the volume is coaxial
with the stress only where the principal stresses stand at 45 degrees to that plane; then s is their
mean p, and t half their difference (Davis, Theories of plasticity and the failure of soil masses,
in Lee (ed.), Soil Mechanics, 1968). So the cone is half the difference <= p tan(phi) + c. Cohesion
apart it is that of Mohr and Coulomb in plane strain with sin(phi_MC) = tan(phi), the larger angle
that a biaxial test would read, and it ends at phi = 45 degrees, where phi_MC is 90 and the lesser
principal stress is zero.
"""

import taichi as ti
import taichi.math as tm

from app.sim.linear import diagonal, signed_svd


@ti.func
def hencky_strain(sigma):
    """Logarithmic principal strains; a collapsed or inverted axis reads as 1e-3."""
    return ti.log(ti.max(sigma, tm.vec2(1e-3, 1e-3)))


@ti.func
def sand_classic_shape(trial, elasticity_ratio, plastic):
    """Unilateral target: compressed axes go back to 1, stretched ones stay as they are."""
    u, sigma, v = signed_svd(trial)
    target = tm.clamp(sigma, 1.0, 1000.0)
    if plastic > 0.0:
        target = sigma
    area = ti.sqrt(tm.clamp(ti.abs(sigma.x * sigma.y), 0.1, 1.0))
    blended = elasticity_ratio * target + (1.0 - elasticity_ratio) * sigma / area
    return u @ diagonal(blended) @ v.transpose()


@ti.func
def sand_yield(strain, slope, cohesion_strain):
    """Return mapping in principal Hencky strains (Klar et al. 2016, section 7).

    Past the tip of the cone the grains part and carry nothing but cohesion; outside the cone the
    deviator shrinks onto it at constant volume.
    """
    trace = strain.x + strain.y
    deviatoric = strain - 0.5 * trace
    tip = cohesion_strain / ti.max(slope, 1e-6)
    result = strain
    if trace >= tip:
        result = tm.vec2(0.5 * tip, 0.5 * tip)
    else:
        allowed = cohesion_strain - slope * trace
        size = deviatoric.norm()
        if size > allowed:
            result = 0.5 * trace + deviatoric * (allowed / size)
    return result


@ti.func
def hencky_stress(u, strain, mu, lam):
    """Kirchhoff stress of principal Hencky strains [1/s^2]."""
    principal = 2.0 * mu * strain + lam * (strain.x + strain.y)
    return u @ diagonal(principal) @ u.transpose()


@ti.func
def sand_kirchhoff_stress(trial, plastic, mu, lam, slope, cohesion_strain):
    """Stress of the trial state after return mapping [1/s^2]."""
    u, sigma, _v = signed_svd(trial)
    strain = sand_yield(hencky_strain(sigma) + 0.5 * plastic, slope, cohesion_strain)
    return hencky_stress(u, strain, mu, lam)


@ti.func
def sand_return_map(deformation, plastic, density, slope, cohesion_strain):
    """Elastic deformation and volume debt at the end of a substep.

    The debt (Klar et al. 2016; Tampubolon et al. 2017) is the log volume gained by parting; closing
    it costs no force. It is bounded by what the grid measures, so that sand which is in fact dense
    cannot go on yielding space it never gained.
    """
    u, sigma, v = signed_svd(deformation)
    trial = hencky_strain(sigma) + 0.5 * plastic
    strain = sand_yield(trial, slope, cohesion_strain)
    debt = trial.x + trial.y - strain.x - strain.y
    room = ti.max(-ti.log(ti.max(density, 1e-3)), 0.0)
    return u @ diagonal(ti.exp(strain)) @ v.transpose(), tm.clamp(debt, 0.0, room)
