"""Contract of app/scene_import.py: JSON scenes of EA's pbmpm demo, versions 1 and 2, become scenes.

- The result is TOML that loads; shapes, materials, gravity and time step say in SI units what the
  file says in pixels and shares. Numbers may be text.
- What has no counterpart is a note; nothing is dropped in silence.
- Anything else than such a file, however hostile, is a SceneImportError of one sentence.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import geometry
from app.errors import SceneImportError
from app.scene import Scene, loads
from app.scene_import import import_scene


def box(x: Any, y: Any, hx: Any, hy: Any, function: Any, **keys: Any) -> dict[str, Any]:
    return {
        "id": "shape0",
        "position": {"x": x, "y": y},
        "rotation": 0,
        "halfSize": {"x": hx, "y": hy},
        "shape": "0",
        "function": function,
        "emitMaterial": "0",
        "emissionRate": "1",
        "radius": 100.0,
        **keys,
    }


def foreign(*shapes: dict[str, Any], version: Any = 2, **settings: Any) -> dict[str, Any]:
    data = {"version": version, "resolution": [1280, 720], "shapes": list(shapes)}
    if version == 2:
        data["settings"] = [
            {"name": name, "type": "range", "value": value} for name, value in settings.items()
        ]
    return data


def imported(*shapes: dict[str, Any], **keys: Any) -> tuple[Scene, list[str]]:
    text, notes = import_scene(json.dumps(foreign(*shapes, **keys)), "sample")
    return loads(text), notes


# Space. 1280 x 720 pixels at 8 a cell are 160 x 90 cells, of which the outer four hold no matter.


def test_the_domain_is_the_grid_without_its_border():
    scene, _ = imported()
    assert scene.domain.cells == (152, 82)
    assert 0.0125 <= scene.domain.cell <= 0.02
    assert scene.name == "sample"
    assert "version 2" in scene.description


@pytest.mark.parametrize("divisor", [1, 4, "8", 16.0])
def test_a_cell_is_as_many_pixels_as_the_divisor_says(divisor):
    scene, _ = imported(simResDivisor=divisor)
    pixels = float(divisor)
    assert scene.domain.cells == (1280 // pixels - 8, 720 // pixels - 8)


def test_positions_are_measured_upwards_and_from_the_border():
    scene, _ = imported(box("640", 80, 40, "20", "3"))
    cell = scene.domain.cell
    (fill,) = scene.shapes
    assert (fill.role, fill.kind, fill.name) == ("fill", "box", "shape0")
    assert fill.center == pytest.approx(((80 - 4) * cell, (90 - 10 - 4) * cell))
    assert fill.half_size == pytest.approx((5 * cell, 2.5 * cell))


def test_a_turn_is_clockwise_on_the_screen():
    scene, _ = imported(box(640, 360, 200, 8, 1, rotation="45"))
    (bar,) = scene.shapes
    middle = np.array(bar.center)
    low_right = middle + np.array([0.5, -0.5]) * bar.half_size[0]
    high_right = middle + np.array([0.5, 0.5]) * bar.half_size[0]
    assert geometry.contains(bar, np.array([low_right, high_right])).tolist() == [True, False]


def test_roles_forms_and_materials():
    scene, _ = imported(
        box(640, 360, 80, 80, "0", emitMaterial="3"),
        box(200, 360, 80, 80, "1"),
        box(640, 600, 80, 80, "2"),
        box(900, 360, 80, 80, "3", emitMaterial="1", shape="1", radius="40"),
        box(900, 160, 80, 80, 3, emitMaterial=2),
        box(300, 160, 80, 80, 3.0, emitMaterial="0"),
    )
    roles = [shape.role for shape in scene.shapes]
    assert roles == ["emitter", "collider", "drain", "fill", "fill", "fill"]
    assert scene.shapes[3].kind == "circle"
    assert scene.shapes[3].radius == pytest.approx(5 * scene.domain.cell)
    names = [shape.material for shape in scene.shapes]
    assert names == ["visco", None, None, "elastic", "sand", "liquid"]
    assert {name: m.model for name, m in scene.materials.items()} == {
        name: name for name in ("liquid", "elastic", "sand", "visco")
    }
    assert scene.shapes[1].friction == "slip"


def test_the_number_of_particles_is_that_of_the_demo():
    # The demo puts 2 x 2 particles into each cell of an initial box.
    scene, _ = imported(box(640, 360, 80, 80, "3"))
    ((_, sites),) = geometry.seed_fills(scene)
    assert len(sites) == 20 * 20 * 4


# Time


def test_a_fall_across_the_domain_takes_as_long_as_in_the_demo():
    scene, _ = imported(gravityStrength="2.5")
    height = 90 * scene.domain.cell
    assert math.sqrt(2 * height / -scene.environment.gravity[1]) == pytest.approx(
        math.sqrt(2 / 2.5), rel=1e-5
    )
    assert scene.environment.gravity[0] == 0.0


@pytest.mark.parametrize(
    ("rate", "ticks", "substeps"), [(240, 60, 4), ("1200", 60, 20), (30, 30, 1), (60, 60, 1)]
)
def test_substeps_keep_the_rate(rate, ticks, substeps):
    scene, notes = imported(simRate=rate)
    assert (scene.solver.tick_rate, scene.solver.min_substeps) == (ticks, substeps)
    assert not any("simRate" in note for note in notes)


def test_a_rate_that_does_not_fit_is_noted():
    scene, notes = imported(simRate=250)
    assert scene.solver.min_substeps == 5
    assert any("simRate = 250" in note and "300" in note for note in notes)


def test_rounds_are_what_the_demo_performs():
    # The demo of version 2 solves once less than its iterationCount, that of version 1 does not.
    assert imported(iterationCount=10)[0].solver.rounds == 9
    assert imported(iterationCount=1)[0].solver.rounds == 1
    assert imported()[0].solver.rounds == 4
    assert imported(version=1)[0].solver.rounds == 2


def test_the_policy_is_the_demos():
    scene, _ = imported(elasticRelaxation=1.2, liquidRelaxation="1.1", elasticityRatio="0.07")
    assert scene.solver.method == "classic"
    assert scene.solver.classic.relaxation == 1.2
    assert scene.solver.classic.liquid_relaxation == 1.1
    assert scene.solver.classic.elasticity_ratio == 0.07


# Matter


def test_viscosity_takes_away_the_same_share_of_shear():
    scene, _ = imported(box(640, 360, 80, 80, 3), liquidViscosity=0.1, iterationCount=6)
    water = scene.materials["liquid"]
    kept = 1 / (1 + 8 * water.viscosity / (240 * water.density * scene.domain.cell**2))
    assert kept == pytest.approx(0.9**5, rel=1e-4)
    clear, _ = imported(box(640, 360, 80, 80, 3), liquidViscosity="0")
    assert clear.materials["liquid"].viscosity == 0.0
    solid, _ = imported(box(640, 360, 80, 80, 3), liquidViscosity="1")
    assert solid.materials["liquid"].viscosity > 1e3


def test_plastic_matter_yields_at_the_demos_stretch():
    keys = {"emitMaterial": "3"}
    scene, _ = imported(box(640, 360, 80, 80, 3, **keys), plasticity=0.93)
    clay = scene.materials["visco"]
    shear = clay.youngs_modulus / (2 * (1 + clay.poissons_ratio))
    # At a Hencky strain of (h, -h) the deviator is 2 mu (h, -h); von Mises: sqrt(3/2) of its norm.
    assert math.sqrt(1.5) * 2 * shear * math.sqrt(2) * 0.07 == pytest.approx(
        clay.yield_stress, rel=1e-4
    )
    firm, _ = imported(box(640, 360, 80, 80, 3, **keys), plasticity=0)
    assert firm.materials["visco"].yield_stress > 10 * clay.yield_stress


def test_elastic_matter_is_as_stiff_as_rounds_and_step_made_it():
    keys = {"emitMaterial": "1"}
    few, _ = imported(box(640, 360, 80, 80, 3, **keys), iterationCount=5)
    many, _ = imported(box(640, 360, 80, 80, 3, **keys), iterationCount=17)
    ratio = many.materials["elastic"].wave_speed / few.materials["elastic"].wave_speed
    assert ratio == pytest.approx(2.0, rel=1e-4)  # sqrt(16 / 4)
    cells = few.materials["elastic"].wave_speed / (240 * few.domain.cell)
    assert cells == pytest.approx(0.615 * 2, rel=1e-3)


def test_the_friction_angle_goes_to_sand():
    scene, notes = imported(box(640, 360, 80, 80, 3, emitMaterial="2"), frictionAngle="22")
    assert scene.materials["sand"].friction_angle == 22.0
    assert any("liquidViscosity" in note for note in notes)


@pytest.mark.parametrize(("friction", "edge"), [("0", "slip"), ("1", "stick"), ("0.25", 0.25)])
def test_walls(friction, edge):
    scene, notes = imported(borderFriction=friction)
    assert {scene.domain.edges.left, scene.domain.edges.top} == {edge}
    assert any("borderFriction" in note for note in notes) == (edge == 0.25)


def test_an_emitter_makes_as_much_matter():
    # 400 cells, 4 sites each; a site fires every floor(240 / 7) = 34 substeps.
    scene, _ = imported(box(640, 360, 80, 80, "0", emissionRate="7"))
    (emitter,) = scene.shapes
    assert emitter.rate == pytest.approx(400 * scene.domain.cell**2 * 240 / 34, rel=1e-5)
    assert emitter.speed == 0.0
    none, _ = imported(box(640, 360, 80, 80, "0", emissionRate="0"))
    assert none.shapes[0].rate == 0.0
    outside, _ = imported(box(0, 360, 80, 80, "0", emissionRate="7"))
    assert outside.shapes[0].rate == pytest.approx(emitter.rate * 0.3, rel=0.05)


def test_capacity_holds_what_comes_and_room_to_paint():
    scene, notes = imported(box(640, 360, 560, 300, "3"))
    ((_, sites),) = geometry.seed_fills(scene)
    assert len(sites) < scene.solver.capacity < 200_000
    assert not any("capacity" in note for note in notes)
    flow, _ = imported(box(640, 360, 80, 80, "0"))
    assert flow.solver.capacity >= 152 * 82 * 4


# What has no counterpart


def test_a_note_for_each_setting_without_counterpart():
    _, notes = imported(
        fixedPointMultiplierExponent="8",
        mouseFunction="1",
        renderMode="0",
        useGridVolumeForLiquid=False,
        newFangled="3",
    )
    for name in ("fixedPoint", "mouseFunction", "renderMode", "useGridVolume", "newFangled"):
        assert sum(name in note for note in notes) == 1, (name, notes)


def test_more_than_25_particles_a_cell_are_noted():
    scene, notes = imported(particlesPerCellAxis="8")
    assert scene.solver.particles_per_cell == 25
    assert any("particlesPerCellAxis = 8" in note for note in notes)
    assert imported(particlesPerCellAxis="3")[0].solver.particles_per_cell == 9


def test_a_shape_without_area_is_left_out_with_a_note():
    scene, notes = imported(box(640, 360, 0, 80, "1"), box(640, 360, 80, 80, "1"))
    assert len(scene.shapes) == 1
    assert any("shapes[0]" in note for note in notes)


def test_version_1_is_played_with_the_defaults_of_its_time():
    scene, notes = imported(box(640, 360, 80, 80, 3), version=1)
    assert scene.solver.min_substeps == 8
    assert scene.domain.edges.left == "stick"
    assert any("version 1" in note for note in notes)


def test_a_clean_import_has_no_notes():
    assert imported(box(640, 360, 80, 80, 3), borderFriction=0)[1] == []


def test_warnings_of_the_scene_are_among_the_notes():
    _, notes = imported(
        box(640, 360, 80, 80, 3), box(640, 360, 80, 40, 1), borderFriction=0, simRate=480
    )
    assert any("overlaps collider" in note for note in notes)


# What is refused


def broken(**changes: Any) -> str:
    data = foreign(box(640, 360, 80, 80, 3))
    data.update(changes)
    return json.dumps(data)


def broken_shape(**changes: Any) -> str:
    return json.dumps(foreign({**box(640, 360, 80, 80, 3), **changes}))


REFUSED = [
    ("", "JSON"),
    ("{", "line 1"),
    ("[]", "scene of EA's pbmpm demo"),
    ("3", "scene of EA's pbmpm demo"),
    ("null", "scene of EA's pbmpm demo"),
    ('{"version": 2}', "scene of EA's pbmpm demo"),
    ('{"version": NaN, "shapes": []}', "NaN"),
    ("[" * 100_000, "nested"),
    ('{"a":' * 50_000, "nested"),
    ('{"version": ' + "9" * 5000 + "}", "JSON"),
    (" " * (1 << 21), "bytes"),
    (broken(version=3), "version"),
    (broken(version="two"), "version"),
    (broken(version=None), "version: found nothing"),
    (broken(resolution=[1280]), "resolution"),
    (broken(resolution=["x", 720]), "resolution[0]"),
    (broken(resolution=[64, 64]), "8 x 8 cells"),
    (broken(resolution=[1e5, 1e5]), "cells"),
    (broken(resolution=[-1, 720]), "resolution[0]"),
    (broken(shapes={}), "shapes"),
    (broken(shapes=[3]), "shapes[0]"),
    (broken(shapes=[None] * 300), "at most 256"),
    (broken(settings={}), "settings"),
    (broken(settings=[3]), "settings[0]"),
    (broken(settings=[{"value": 3}]), "settings[0]"),
    (broken(settings=[{"name": "simRate", "value": "1e9"}]), "simRate"),
    (broken(settings=[{"name": "simRate", "value": "nan"}]), "simRate"),
    (broken(settings=[{"name": "simRate", "value": [1]}]), "simRate"),
    (broken(settings=[{"name": "simRate"}]), "simRate): found nothing"),
    (broken(settings=[{"name": "iterationCount", "value": "2.5"}]), "whole number"),
    (broken(settings=[{"name": "simResDivisor", "value": "0"}]), "simResDivisor"),
    (broken_shape(function="4"), "shapes[0].function"),
    (broken_shape(function="1.5"), "shapes[0].function"),
    (broken_shape(shape="2"), "shapes[0].shape"),
    (broken_shape(emitMaterial="4"), "shapes[0].emitMaterial"),
    (broken_shape(position=None), "shapes[0].position"),
    (broken_shape(position={"x": 1}), "shapes[0].position.y: found nothing"),
    (broken_shape(position={"x": "1e999", "y": 1}), "shapes[0].position.x"),
    (broken_shape(position={"x": True, "y": 1}), "shapes[0].position.x"),
    (broken_shape(position={"x": 10**400, "y": 1}), "shapes[0].position.x"),
    (broken_shape(halfSize={"x": -1, "y": 1}), "shapes[0].halfSize.x"),
    (broken_shape(rotation="x" * 10_000), "shapes[0].rotation"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_anything_else_is_one_sentence(text, words):
    start = time.perf_counter()
    with pytest.raises(SceneImportError) as caught:
        import_scene(text, "bad.json")
    message = str(caught.value)
    assert words in message
    assert message.startswith("bad.json: ")
    assert "\n" not in message and len(message) < 400
    assert time.perf_counter() - start < 5.0


def test_a_hostile_name_or_id_does_no_harm():
    data = foreign(box(640, 360, 80, 80, 3, id='"]\n[evil]'), renderMode='"\n[x]\ny = 1')
    text, notes = import_scene(json.dumps(data), 'a"\n[evil]\n' + "b" * 1000)
    scene = loads(text)
    assert len(scene.name) <= 120 and "\n" not in scene.name
    assert scene.shapes[0].name is None
    assert all("\n" not in note for note in notes)
    assert loads(import_scene(json.dumps(data), "\n\t")[0]).name == "Imported scene"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_imported_or_refused(data):
    sample = foreign(box(640, 360, 80, 80, 3), box(300, 360, 80, 80, 0), simRate=480)
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = sample
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and data.draw(st.booleans()):
                place = place[key]
                continue
            if data.draw(st.booleans()):
                place[key] = data.draw(JSON_VALUES)
            else:
                del place[key]
            break
    try:
        text, _ = import_scene(json.dumps(sample), "damaged.json")
    except SceneImportError as error:
        assert "\n" not in str(error)
    else:
        assert loads(text).name == "damaged.json"
