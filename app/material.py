"""Materials: the records that matter refers to, their fields, and the shipped library."""

from __future__ import annotations

import copy
import functools
import math
import re
import tomllib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ValidationInfo, WithJsonSchema, field_validator

from app.errors import MatterboxError
from app.paths import assets_dir
from app.scene_keys import Part, choice, key, number_of, range_text, text_of, wrong

MODELS = ("liquid", "elastic", "neo_hookean", "sand", "visco", "snow", "clay")

Model = Literal["liquid", "elastic", "neo_hookean", "sand", "visco", "snow", "clay"]


@dataclass(frozen=True)
class FieldSpec:
    """One number of a material record: its unit, its range (both ends included), its default."""

    unit: str
    minimum: float
    maximum: float
    default: float
    label: str
    help: str


def _density(default: float) -> FieldSpec:
    return FieldSpec(
        "kg/m^3", 1.0, 3.0e4, default, "density", "Mass of the unstrained matter per volume."
    )


def _young(default: float) -> FieldSpec:
    return FieldSpec(
        "Pa", 1.0, 1.0e12, default, "Young's modulus", "Stress needed per relative stretch."
    )


def _poisson(default: float) -> FieldSpec:
    return FieldSpec(
        "1",
        0.0,
        0.495,
        default,
        "Poisson's ratio",
        "How much it narrows when stretched; near 0.5 it keeps its volume.",
    )


MATERIAL_FIELDS: dict[str, dict[str, FieldSpec]] = {
    "liquid": {
        "density": _density(1000.0),
        "bulk_modulus": FieldSpec(
            "Pa", 1.0, 1.0e12, 2.0e5, "bulk modulus", "Pressure per relative loss of volume."
        ),
        "viscosity": FieldSpec(
            "Pa s", 0.0, 1.0e6, 0.001, "viscosity", "Shear stress per rate of shear."
        ),
    },
    "elastic": {
        "density": _density(1000.0),
        "youngs_modulus": _young(2.5e4),
        "poissons_ratio": _poisson(0.3),
    },
    "neo_hookean": {
        "density": _density(1000.0),
        "youngs_modulus": _young(2.5e4),
        "poissons_ratio": _poisson(0.4),
    },
    "sand": {
        "density": _density(1600.0),
        "youngs_modulus": _young(1.0e6),
        "poissons_ratio": _poisson(0.3),
        # At 45 degrees sand shears with its lesser principal stress at zero; steeper is tension.
        "friction_angle": FieldSpec(
            "degrees", 0.0, 45.0, 33.0, "friction angle", "Slope at which a layer of it slides."
        ),
        "cohesion": FieldSpec(
            "Pa", 0.0, 1.0e9, 0.0, "cohesion", "Shear stress that it bears without pressure."
        ),
    },
    "visco": {
        "density": _density(1500.0),
        "youngs_modulus": _young(1.0e5),
        "poissons_ratio": _poisson(0.35),
        "yield_stress": FieldSpec(
            "Pa", 0.0, 1.0e12, 1.0e3, "yield stress", "Stress (von Mises) above which it flows."
        ),
        "viscosity": FieldSpec(
            "Pa s", 0.0, 1.0e6, 10.0, "viscosity", "Stress over the yield stress per rate of shear."
        ),
    },
    "snow": {
        "density": _density(400.0),
        "youngs_modulus": _young(1.4e5),
        "poissons_ratio": _poisson(0.2),
        "critical_compression": FieldSpec(
            "1", 0.0, 0.5, 0.025, "critical compression", "Compression at which it packs for good."
        ),
        "critical_stretch": FieldSpec(
            "1", 0.0, 0.5, 0.0075, "critical stretch", "Stretch at which it crumbles."
        ),
        "hardening": FieldSpec(
            "1", 0.0, 30.0, 10.0, "hardening", "How fast packing stiffens it (an exponent)."
        ),
    },
    "clay": {
        "density": _density(1700.0),
        "youngs_modulus": _young(2.0e5),
        "poissons_ratio": _poisson(0.35),
        "yield_stress": FieldSpec(
            "Pa", 0.0, 1.0e12, 2.0e3, "yield stress", "Stress (von Mises) above which it flows."
        ),
        "hardening_modulus": FieldSpec(
            "Pa", 0.0, 1.0e12, 1.0e4, "hardening", "Rise of the yield stress per plastic strain."
        ),
    },
}
"""model -> field -> spec. Validation, the material panel, documents and the schema read this."""

MATERIAL_NUMBERS = tuple(
    dict.fromkeys(name for specs in MATERIAL_FIELDS.values() for name in specs)
)

_MODEL_COLORS = {
    "liquid": "#2a8fe6",
    "elastic": "#00b296",
    "neo_hookean": "#ba2978",
    "sand": "#f5e3a0",
    "visco": "#6f36cf",
    "snow": "#f2f8ff",
    "clay": "#991f1a",
}


class Material(Part):
    """One record of matter. Numbers that its model does not have are None."""

    name: text_of(64, empty=False)
    base: Annotated[str | None, WithJsonSchema({"type": "string"})] = key(
        None, help="Material of the shipped library whose record is taken over."
    )
    model: Annotated[Model, choice(MODELS)] = key(
        help="How the matter behaves; given by base where there is one."
    )
    color: str | None = key(None, help="Colour, as #rrggbb.", always=True)
    density: float | None = key(None, always=True)
    bulk_modulus: float | None = key(None, always=True)
    viscosity: float | None = key(None, always=True)
    youngs_modulus: float | None = key(None, always=True)
    poissons_ratio: float | None = key(None, always=True)
    friction_angle: float | None = key(None, always=True)
    cohesion: float | None = key(None, always=True)
    yield_stress: float | None = key(None, always=True)
    critical_compression: float | None = key(None, always=True)
    critical_stretch: float | None = key(None, always=True)
    hardening: float | None = key(None, always=True)
    hardening_modulus: float | None = key(None, always=True)

    @field_validator("color", mode="before")
    @classmethod
    def _colour(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return _MODEL_COLORS.get(info.data.get("model"))
        if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
            raise wrong("a colour as #rrggbb")
        return value.lower()

    @field_validator(*MATERIAL_NUMBERS, mode="before")
    @classmethod
    def _record_number(cls, value: Any, info: ValidationInfo) -> float | None:
        model, name = info.data.get("model"), info.field_name
        if model is None:  # a fault of its own
            return None
        spec = MATERIAL_FIELDS[model].get(name)
        if spec is None:
            if value is None:
                return None
            owners = [other for other, specs in MATERIAL_FIELDS.items() if name in specs]
            raise wrong(
                f"no such key: {name} belongs to {' and '.join(owners)}, this is {model} and has "
                + ", ".join(MATERIAL_FIELDS[model])
            )
        if value is None:
            return spec.default
        number = number_of(value)
        if number is None or not spec.minimum <= number <= spec.maximum:
            raise wrong(range_text(spec.minimum, spec.maximum, spec.unit))
        return number

    @property
    def stiffest_modulus(self) -> float:
        """Modulus of its fastest wave [Pa]: K of a liquid, lambda + 2 mu of a solid."""
        if self.model == "liquid":
            return self.bulk_modulus
        nu = self.poissons_ratio
        return self.youngs_modulus * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))

    @property
    def area_modulus(self) -> float:
        """Stress of a uniform stretch in the plane over the stretch [Pa]: 2 (lambda + mu).

        The stiffest that a particle of a solid meets, when it is alone. K of a liquid, since a lone
        particle of it bears nothing.
        """
        if self.model == "liquid":
            return self.bulk_modulus
        return self.stiffest_modulus / (1.0 - self.poissons_ratio)

    @property
    def wave_speed(self) -> float:
        """Speed of its fastest wave [m/s]."""
        return math.sqrt(self.stiffest_modulus / self.density)


@functools.cache
def _library() -> dict[str, dict[str, Any]]:
    try:
        return tomllib.loads((assets_dir() / "materials.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MatterboxError(f"the material library cannot be read: {error}") from None


def library() -> dict[str, dict[str, Any]]:
    """The shipped materials: name -> record (model, color, and its numbers in SI units)."""
    return copy.deepcopy(_library())
