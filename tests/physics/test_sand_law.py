"""Contract: friction angle and cohesion of a record are those of the plane along which sand slides.

One particle is sheared for long at constant pressure on its plane; the shear stress that it comes
to bear is s tan(friction_angle) + cohesion, s the pressure on the plane. Caught a cone matched to
sin(friction_angle), which slides at 29.8 degrees for 35.
"""

import math

import numpy as np
import pytest
import taichi as ti
import taichi.math as tm

from app.scene import loads
from app.sim.materials import pack
from app.sim.materials.sand import sand_kirchhoff_stress, sand_return_map
from app.sim.state import MATERIAL_PARAMETERS

STEPS, SHEAR = 4000, 1e-5


@ti.kernel
def shear(
    pressed: ti.f32,
    mu: ti.f32,
    lam: ti.f32,
    slope: ti.f32,
    cohesion: ti.f32,
    out: ti.types.ndarray(dtype=ti.f32, ndim=1),
):
    """Press a particle, shear it at constant volume, and read the stress (xx, xy, yy)."""
    for _ in range(1):
        deformation = tm.mat2(pressed, 0.0, 0.0, pressed)
        step = tm.mat2(1.0, SHEAR, 0.0, 1.0)
        for _k in range(STEPS):
            deformation, _debt = sand_return_map(step @ deformation, 0.0, 1.0, slope, cohesion)
        stress = sand_kirchhoff_stress(deformation, 0.0, mu, lam, slope, cohesion)
        out[0] = stress[0, 0]
        out[1] = stress[0, 1]
        out[2] = stress[1, 1]


def borne(record):
    """Pressure on the plane and shear stress along it [Pa], after 0.1 % of compression."""
    values = dict(zip(MATERIAL_PARAMETERS, pack(record, record.density, 1.0, 1.0), strict=True))
    out = np.zeros(3, np.float32)
    names = ("mu", "lam", "friction_slope", "cohesion_strain")
    shear(0.999, *(values[name] for name in names), out)
    _along, shear_stress, across = out.astype(float) * record.density
    return -across, shear_stress


def sand(**values):
    keys = "\n".join(f"{name} = {value}" for name, value in values.items())
    record = f'[materials.grains]\nmodel = "sand"\n{keys}\n'
    room = 'name = "Grains"\n[domain]\nsize = [1, 1]\ncell = 0.1\n'
    return loads(room + record).materials["grains"]


@pytest.mark.parametrize("cohesion", [0.0, 200.0])
@pytest.mark.parametrize("angle", [15.0, 35.0, 45.0])
def test_shear_strength_is_that_of_the_record(cpu, angle, cohesion):
    pressure, strength = borne(sand(friction_angle=angle, cohesion=cohesion))
    assert pressure > 1e3
    told = pressure * math.tan(math.radians(angle)) + cohesion
    assert strength == pytest.approx(told, rel=0.01)
    # The gate tells it from the cone of sin(friction_angle).
    if angle > 15.0:
        other = pressure * math.sin(math.radians(angle)) + cohesion
        assert strength > 1.1 * other
