"""Material models, one file each, behind one constitutive interface.

Each file offers, for a trial state of one particle:
  classic_target   the displacement gradient that classic PB-MPM relaxes toward
  kirchhoff_stress of the trial state after return mapping, over density and cell^2 [1/s^2]
  return_map       the state that is kept at the end of a substep
MODELS gives the order in which records name them; `pack` turns a record into grid units.
"""

import math

from app.sim.state import MATERIAL_PARAMETERS

MODELS = ("liquid", "elastic", "neo_hookean", "sand", "visco", "snow", "clay")
LIQUID, ELASTIC, NEO_HOOKEAN, SAND, VISCO, SNOW, CLAY = range(len(MODELS))

FLOWING = (LIQUID, SAND, VISCO, CLAY)
"""Models whose particles change neighbours, and whose volume the grid therefore measures."""


def pack(record, densest, particle_volume, cell):
    """Parameters of one record in grid units, in the order of `MATERIAL_PARAMETERS`.

    record: a scene's Material; densest [kg/m^3]: density of the heaviest; particle_volume [cells];
    cell [m].
    """
    scale = 1.0 / (record.density * cell * cell)
    values = dict.fromkeys(MATERIAL_PARAMETERS, 0.0)
    values["mass"] = particle_volume * record.density / densest
    if record.viscosity is not None:
        values["viscosity"] = record.viscosity * scale
    if record.model == "liquid":
        values["bulk"] = record.bulk_modulus * scale
    else:
        _pack_solid(values, record, scale)
    return tuple(values.values())


def _pack_solid(values, record, scale):
    young, poisson = record.youngs_modulus, record.poissons_ratio
    mu = young / (2 * (1 + poisson))
    lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    values["mu"] = mu * scale
    values["lam"] = lam * scale
    if record.yield_stress is not None:
        # Mises: the Frobenius norm of the stress deviator is at most sqrt(2/3) of the yield stress.
        values["yield_strain"] = math.sqrt(2 / 3) * record.yield_stress / (2 * mu)
    if record.model == "clay":
        values["hardening"] = record.hardening_modulus / (3 * mu)
    if record.model == "sand":
        # Coulomb's law where matter slides, t <= p tan(phi) + c: t and p are half the difference
        # and the mean of the principal stresses (see sand.py), written for Hencky strains:
        # |dev e| <= slope * (-tr e) + cohesion_strain.
        friction = math.tan(math.radians(record.friction_angle))
        values["friction_slope"] = friction * (mu + lam) / (math.sqrt(2) * mu)
        values["cohesion_strain"] = record.cohesion / (math.sqrt(2) * mu)
    if record.model == "snow":
        values["compression"] = record.critical_compression
        values["stretch"] = record.critical_stretch
        values["hardening"] = record.hardening
