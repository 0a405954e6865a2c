"""Material models, one file each, behind one constitutive interface.

Each file offers, for a trial state of one particle:
  classic_target   the displacement gradient that classic PB-MPM relaxes toward
  kirchhoff_stress of the trial state after return mapping, over density and cell^2 [1/s^2]
  return_map       the state that is kept at the end of a substep
MODELS gives the order in which records name them; `pack` turns a record into grid units.
"""

import math

MODELS = ("liquid", "elastic", "sand", "visco")
LIQUID, ELASTIC, SAND, VISCO = range(len(MODELS))


def pack(record, reference_density, particle_volume, cell):
    """Parameters of one record in grid units, in the order of `MATERIAL_PARAMETERS`.

    record: a scene's Material. reference_density [kg/m^3] is the scene's densest, particle_volume
    [cells], cell [m].
    """
    scale = 1.0 / (record.density * cell * cell)
    mass = particle_volume * record.density / reference_density
    if record.model == "liquid":
        return (mass, 0, 0, record.bulk_modulus * scale, record.viscosity * scale, 0, 0, 0)
    young, poisson = record.youngs_modulus, record.poissons_ratio
    mu = young / (2 * (1 + poisson))
    lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    viscosity = yield_strain = slope = cohesion_strain = 0.0
    if record.model == "visco":
        # Mises: the Frobenius norm of the stress deviator is at most sqrt(2/3) of the yield stress.
        yield_strain = math.sqrt(2 / 3) * record.yield_stress / (2 * mu)
        viscosity = record.viscosity * scale
    if record.model == "sand":
        # Mohr-Coulomb in the plane, |tau_1 - tau_2| <= -(tau_1 + tau_2) sin(phi) + 2 c cos(phi),
        # written for Hencky strains: |dev e| <= slope * (-tr e) + cohesion_strain.
        phi = math.radians(record.friction_angle)
        slope = math.sin(phi) * (mu + lam) / (math.sqrt(2) * mu)
        cohesion_strain = record.cohesion * math.cos(phi) / (math.sqrt(2) * mu)
    return (mass, mu * scale, lam * scale, 0, viscosity, yield_strain, slope, cohesion_strain)
