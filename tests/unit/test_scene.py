"""Contract of app/scene.py: TOML in SI units to a validated, frozen Scene, and back.

- Every fault of a text is reported at once, with line, key, what was found and what was expected.
- An unknown key is a fault that names the nearest valid one, or the table where the key belongs.
- Nothing is clamped silently, and no text makes the program allocate or run without bound.
- What cannot come out as written is a warning with numbers.
- dumps() gives TOML that loads to an equal scene.
- Schema and document say what validation checks.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import scene as scenes
from app.errors import MatterboxError, SceneError
from app.scene import MATERIAL_FIELDS, dumps, library, load, loads, scene_report
from app.scene_reference import marks, refreshed, tables
from app.scene_report import stiffness_share
from app.toml_lines import key_lines

ROOT = Path(__file__).parents[2]

DAM = """\
format = 1
name = "Dam break"
seed = 7

[domain]
size = [4.0, 2.25]
cell = 0.0125
edges = { bottom = "stick", left = "slip", right = 0.3, top = "open" }

[environment]
gravity = [0.0, -9.81]
damping = 0.0                 # 1/s

[solver]
method = "classic"
tick_rate = 60
min_substeps = 2
max_substeps = 16
rounds = 5
capacity = 200000
particles_per_cell = 4

[materials.water]
base = "water"
viscosity = 0.002

[[shapes]]
role = "fill"
kind = "box"
center = [1.0, 1.0]
half_size = [0.9, 0.9]
material = "water"

[[shapes]]
role = "fill"
kind = "circle"
center = [3.0, 1.0]
radius = 0.3
material = "jelly"
"""

SMALL = """\
name = "small"
[domain]
size = [1.0, 1.0]
cell = 0.05
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(SceneError) as caught:
        loads(text, "t.toml")
    return [str(fault) for fault in caught.value.faults]


def changed(old: str, new: str, text: str = DAM) -> str:
    assert old in text
    return text.replace(old, new, 1)


def shape(role: str, kind: str, rest: str) -> str:
    return f'{SMALL}[[shapes]]\nrole = "{role}"\nkind = "{kind}"\n{rest}\n'


# What is read


def test_the_issues_scene_is_read():
    scene = loads(DAM, "dam.toml")
    assert (scene.name, scene.seed, scene.origin, scene.source) == (
        "Dam break",
        7,
        "dam.toml",
        DAM,
    )
    assert scene.domain.cells == (320, 180)
    assert scene.domain.edges.right == 0.3
    assert scene.spacing == 0.00625
    assert scene.materials["water"].viscosity == 0.002
    assert scene.materials["water"].density == library()["water"]["density"]
    assert scene.shapes[1].index == 1


def test_a_library_material_needs_no_declaration():
    scene = loads(DAM)
    assert list(scene.materials) == ["water", "jelly"]
    assert scene.materials["jelly"].base == "jelly"


def test_what_is_left_out_has_its_default():
    scene = loads(SMALL)
    assert scene.environment.gravity == (0.0, -9.81)
    assert scene.environment.damping == 0.0
    assert scene.solver.rounds == 5
    assert scene.domain.edges.left == "slip"
    assert scene.shapes == ()


def test_a_material_without_base_has_the_defaults_of_its_model():
    for model, specs in MATERIAL_FIELDS.items():
        material = loads(f'{SMALL}[materials.x]\nmodel = "{model}"\n').materials["x"]
        for name, spec in specs.items():
            assert getattr(material, name) == spec.default
        others = {n for fields in MATERIAL_FIELDS.values() for n in fields} - set(specs)
        assert all(getattr(material, name) is None for name in others)


def test_a_scene_is_frozen():
    scene = loads(DAM)
    with pytest.raises(ValueError):
        scene.seed = 8
    with pytest.raises(ValueError):
        scene.solver.rounds = 8


def test_polygons_are_counter_clockwise_and_directions_have_length_one():
    text = shape("collider", "polygon", "points = [[0, 0], [0, 1], [1, 0]]")
    assert loads(text).shapes[0].points == ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
    text = shape("drain", "half_plane", "center = [0.5, 0.5]\nnormal = [3, 4]")
    assert loads(text).shapes[0].normal == (0.6, 0.8)


def test_line_ends_and_byte_order_mark_do_not_matter(tmp_path):
    path = tmp_path / "dam.toml"
    path.write_bytes(b"\xef\xbb\xbf" + DAM.replace("\n", "\r\n").encode())
    assert load(path) == loads(DAM)


# What is refused. Each row: what is changed, the line of the fault, and words that it must have.

WRONG = [
    ('bottom = "stick"', 'bottom = "stik"', 8, ["domain.edges.bottom", '"stik"', '"stick"']),
    ("right = 0.3", "right = -0.3", 8, ["domain.edges.right", "-0.3", "0 to 100"]),
    ('bottom = "stick"', 'botom = "stick"', 8, ["domain.edges.botom", '"bottom"']),
    ("size = [4.0, 2.25]", "size = [4.0, 2.255]", 6, ["domain.size", "2.25 or 2.2625 m high"]),
    ("size = [4.0, 2.25]", "size = [4.0]", 6, ["domain.size", "two numbers"]),
    ("size = [4.0, 2.25]", "size = [4.0, 0.05]", 6, ["domain.size", "320 x 4 cells"]),
    ("cell = 0.0125", "cell = 0.00001", 6, ["domain.size", "400000 x 225000 cells"]),
    ("cell = 0.0125", "cell = nan", 7, ["domain.cell", "nan", "m"]),
    ("cell = 0.0125", "cell = true", 7, ["domain.cell", "true"]),
    ("cell = 0.0125", 'cell = "0.0125"', 7, ["domain.cell", '"0.0125"']),
    ("cell = 0.0125\n", "", 5, ["domain.cell", "nothing", "side of a grid cell"]),
    ("gravity = [0.0, -9.81]", "gravity = -9.81", 11, ["environment.gravity", "two numbers"]),
    ("damping = 0.0 ", "damping = -1.0 ", 12, ["environment.damping", "-1", "1/s"]),
    ('"classic"', '"clasic"', 15, ["solver.method", '"clasic"', '"classic"']),
    ("min_substeps = 2", "min_substeps = 20", 18, ["solver.max_substeps", "16", "20"]),
    ("rounds = 5", "rounds = 5.5", 19, ["solver.rounds", "5.5", "whole number"]),
    ("rounds = 5", "iterations = 5", 19, ["solver.iterations", "[solver], as rounds"]),
    ("capacity = 200000", "capacity = 50000001", 20, ["solver.capacity", "50000000"]),
    ("particles_per_cell = 4", "particles_per_cell = 5", 21, ["1, 4, 9, 16 or 25"]),
    ('base = "water"', 'base = "watr"', 24, ["materials.water.base", '"watr"', '"water"']),
    ('base = "water"', 'base = "water"\nmodel = "sand"', 25, ["materials.water.model", '"liquid"']),
    ('base = "water"\n', "", 23, ["materials.water", "neither base nor model", 'base = "water"']),
    ("viscosity = 0.002", "viscosity = -1", 25, ["materials.water.viscosity", "-1", "Pa s"]),
    ("viscosity = 0.002", "viscocity = 1", 25, ["materials.water.viscocity", '"viscosity"']),
    ("viscosity = 0.002", "gravity = [0, 1]", 25, ["water.gravity", "[environment]"]),
    ("viscosity = 0.002", "damping = 1", 25, ["water.damping", "[environment]"]),
    ("viscosity = 0.002", "relaxation = 1", 25, ["water.relaxation", "[solver.classic]"]),
    ("viscosity = 0.002", "elasticity_ratio = 1", 25, ["[solver.classic]"]),
    ("viscosity = 0.002", "iterations = 1", 25, ["[solver], as rounds"]),
    ("viscosity = 0.002", "yield_stress = 1", 25, ["belongs to visco", "this is liquid"]),
    (
        'base = "water"\nviscosity = 0.002',
        'model = "sand"\nfriction_angle = 50',
        25,
        ["materials.water.friction_angle", "50", "0 to 45 degrees"],
    ),
    ("viscosity = 0.002", 'color = "blue"', 25, ["materials.water.color", "#rrggbb"]),
    ("viscosity = 0.002", 'name = "x"', 25, ["materials.water.name", "unknown key"]),
    ('role = "fill"', 'role = "fil"', 28, ["shapes[0].role", '"fil"', '"fill"']),
    ('kind = "box"', 'kind = "boxes"', 29, ["shapes[0].kind", '"boxes"', '"box"']),
    ("center = [1.0, 1.0]\n", "", 27, ["shapes[0].center", "nothing"]),
    ("half_size = ", "halfsize = ", 31, ["shapes[0].halfsize", '"half_size"']),
    ("half_size = ", "radius = 1\nhalf_size = ", 31, ["radius belongs to circle and capsule"]),
    ('material = "water"', 'material = "watr"', 32, ["shapes[0].material", '"water"']),
    ('material = "jelly"', 'material = "jely"', 39, ["shapes[1].material", '"jelly"']),
    ('material = "water"', "", 27, ["shapes[0].material", "nothing"]),
    ("radius = 0.3", "radius = 0", 38, ["shapes[1].radius", "found 0"]),
    ("radius = 0.3", "radius = 0.3\nfriction = 1", 39, ["belongs to collider", "this is a fill"]),
    ("radius = 0.3", "radius = 0.3\nindex = 1", 39, ["shapes[1].index", "unknown key"]),
    ("format = 1", "format = 2", 1, ["format", "found 2", "1"]),
    ("seed = 7", "seed = -1", 3, ["seed", "-1", "4294967295"]),
    ("seed = 7", 'seed = 7\nwarnings = ["x"]', 4, ["warnings", "unknown key"]),
    ("seed = 7", "seed = 7\ngravity = [0, 1]", 4, ["gravity", "[environment]"]),
    ('name = "Dam break"', 'name = "\\u0007"', 2, ["name", "control characters"]),
    ('name = "Dam break"', 'name = " "', 2, ["name", "1 to 120 characters"]),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=lambda v: str(v)[:30])
def test_a_fault_names_line_key_found_and_expected(old, new, line, words):
    text = changed(old, new)
    found = [fault for fault in faults_of(text) if fault.startswith(f"t.toml:{line}: ")]
    assert any(all(word in fault for word in words) for fault in found), faults_of(text)


WRONG_SHAPES = [
    ("collider", "polygon", "points = [[0,0],[1,1],[1,0],[0,1]]", "convex outline"),  # a bow
    ("collider", "polygon", "points = [[0,0],[2,0],[1,0.2],[1,2]]", "convex outline"),  # a dent
    ("collider", "polygon", "points = [[0,0],[1,0],[2,0]]", "convex outline"),  # a line
    ("collider", "polygon", "points = [[0,0],[0,0],[1,0],[0,1]]", "corners that differ"),
    ("collider", "polygon", "points = [[0,0],[1,0]]", "3 to 16 corners"),
    ("collider", "polygon", 'points = [[0,0],[1,"a"],[0,1]]', "shapes[0].points[1]"),
    ("collider", "half_plane", "center = [0,0]\nnormal = [0,0]", "not zero"),
    ("emitter", "half_plane", 'center=[0,0]\nnormal=[0,1]\nmaterial="sand"\nrate=1', "an emitter"),
    (
        "emitter",
        "circle",
        'center=[0.5,0.5]\nradius=0.1\nmaterial="sand"\nrate=1\nstart=2\nstop=1',
        "later than start",
    ),
    ("emitter", "circle", 'center=[0.5,0.5]\nradius=0.1\nmaterial="sand"', "shapes[0].rate"),
    ("drain", "circle", 'center=[0.5,0.5]\nradius=0.1\nmaterial="sand"', "this is a drain"),
]


@pytest.mark.parametrize(("role", "kind", "rest", "words"), WRONG_SHAPES)
def test_a_wrong_shape_is_refused(role, kind, rest, words):
    assert any(words in fault for fault in faults_of(shape(role, kind, rest)))


def test_a_pentagram_is_refused_though_it_turns_to_one_side_only():
    turns = [2 * math.pi * 2 * i / 5 for i in range(5)]
    corners = [[math.cos(t), math.sin(t)] for t in turns]
    text = shape("collider", "polygon", f"points = {corners}")
    assert "more than once" in faults_of(text)[0]


WRONG_MOTIONS = [
    ("keyframes = [{time = 1, angle = 0}, {time = 1, angle = 9}]", "increase"),
    ("keyframes = [{time = 1}]\nangular_velocity = 1", "both"),
    ("", "neither"),
    ('keyframes = [{time = 1}]\nrepeat = "loop"', "two keyframes"),
    ('keyframes = [{time = 1}]\nrepeat = "lop"', '"loop"'),
    ("keyframes = [{tme = 1}]", '"time"'),
    ("keyframes = 3", "keyframes"),
]


@pytest.mark.parametrize(("motion", "words"), WRONG_MOTIONS)
def test_a_wrong_motion_is_refused(motion, words):
    text = shape("collider", "circle", f"center=[0.5,0.5]\nradius=0.2\n[shapes.motion]\n{motion}")
    assert any(words in fault for fault in faults_of(text))


def test_every_fault_is_told_at_once():
    text = DAM
    for old, new in (
        ("size = [4.0, 2.25]", "size = [4.001, 2.25]"),
        ("min_substeps = 2", "min_substeps = 20"),
        ("viscosity = 0.002", "viscosity = -1\ngravity = 3"),
        ("half_size = ", "halfsize = "),
        ('"jelly"', '"jely"'),
    ):
        text = changed(old, new, text)
    places = [fault.split(":")[1] for fault in faults_of(text)]
    assert places == ["6", "18", "25", "26", "28", "32", "40"]


def test_faults_are_listed_up_to_a_number_and_then_counted():
    text = SMALL + "".join(f"key{i} = {i}\n" for i in range(20_000))
    start = time.perf_counter()
    found = faults_of(text)
    assert time.perf_counter() - start < 10.0
    assert len(found) == 101
    assert "19900 more faults" in found[-1]


SYNTAX = [
    ("[domain\n", 1),
    ("a = 1\na = 2\n", 2),
    ("a = \n", 1),
    ('a = "\n', 1),
    ("x = 1\ny = [1, 2\n", 3),
    ("a = 1\nx = " + "9" * 5000, 2),
    ("\x00", 1),
]


@pytest.mark.parametrize(("text", "line"), SYNTAX, ids=lambda v: str(v)[:12])
def test_a_syntax_error_is_one_fault_with_its_line(text, line):
    found = faults_of(text)
    assert len(found) == 1
    assert re.match(rf"t\.toml:[{line - 1 or 1}{line}]: TOML syntax", found[0]), found
    assert "\x00" not in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 50_000,
        "a = " + "{a = " * 20_000,
        "a" + ".a" * 200_000 + " = 1",
        "a" * 500_000,
        "x = '''" + "'\n" * 400_000,
        "[" + ".".join("ab" for _ in range(100_000)) + "]",
        "#" + "a.b" * 300_000,
        "n" * (1 << 21),
    ],
    ids=lambda text: text[:9],
)
def test_a_hostile_text_ends_soon_in_a_fault(text):
    start = time.perf_counter()
    assert faults_of(text)
    assert time.perf_counter() - start < 10.0


def test_fills_too_big_to_be_looked_at_are_refused():
    fill = '[[shapes]]\nrole="fill"\nkind="circle"\ncenter=[4,4]\nradius=9\nmaterial="sand"\n'
    text = f'name = "x"\n[domain]\ncell = 0.001\nsize = [8, 8]\n{fill * 4}'
    assert "sites" in faults_of(text)[0]


def test_too_many_shapes_are_refused():
    drain = '[[shapes]]\nrole="drain"\nkind="circle"\ncenter=[0,0]\nradius=1\n'
    assert "at most 256" in faults_of(SMALL + drain * 257)[0]


def test_a_file_that_is_no_scene_is_one_sentence(tmp_path):
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"name = 1\n\xff\xfe\x00")
    latin = tmp_path / "latin.toml"
    latin.write_bytes('name = "Sch\xe4fte"'.encode("latin-1"))
    long = tmp_path / "long.toml"
    long.write_bytes(b"#" * (1 << 21))
    for path, words in (
        (tmp_path / "none.toml", "no such file"),
        (tmp_path, "directory"),
        (binary, ":2: file: found byte 0xff"),
        (latin, ":1: file: found byte 0xe4"),
        (long, "1048576 bytes"),
        ("a\0b", "file:"),
    ):
        with pytest.raises(SceneError) as caught:
            load(path)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


# Where keys stand


def test_lines_are_found_through_every_form_of_toml():
    text = (
        "# comment = 1\n"
        'a = """\n[not.a.table]\n"""\n'
        '"quoted key".b = 2\n'
        "c = [\n  1, # one\n  [2,\n   3],\n]\n"
        "[t.u]\n"
        "d = { e = 1, f = { g = ']' } }\n"
        "[[s]]\nx = 1\n[[s]]\nx = 2\n[s.m]\ny = '''\n'''\nz = 1979-05-27 07:32:00\n"
    )
    lines = key_lines(text)
    expected = {
        ("a",): 2,
        ("quoted key", "b"): 5,
        ("c",): 6,
        ("c", 0): 7,
        ("c", 1, 0): 8,
        ("c", 1, 1): 9,
        ("t", "u"): 11,
        ("t", "u", "d", "f", "g"): 12,
        ("s", 0): 13,
        ("s", 0, "x"): 14,
        ("s", 1, "x"): 16,
        ("s", 1, "m"): 17,
        ("s", 1, "m", "z"): 20,
    }
    assert {path: lines.get(path) for path in expected} == expected
    assert ("not", "a", "table") not in lines


# Warnings


def warnings_of(text: str) -> str:
    return "\n".join(loads(text).warnings)


CLEAN_WALL = "center = [0.5, 0.5]\nhalf_size = [0.05, 0.2]"


def test_a_clean_scene_has_no_warnings():
    text = changed("right = 0.3", 'right = "slip"')
    assert loads(text).warnings == ()
    assert loads(shape("collider", "box", CLEAN_WALL)).warnings == ()


@pytest.mark.parametrize(
    ("kind", "rest", "cells"),
    [
        ("box", "center = [0.5, 0.5]\nhalf_size = [0.04, 0.2]", "1.6 cells"),
        ("circle", "center = [0.5, 0.5]\nradius = 0.03", "1.2 cells"),
        ("capsule", "center = [0.5, 0.5]\nradius = 0.03\nhalf_length = 1", "1.2 cells"),
        ("polygon", "points = [[0,0],[1,0],[1,0.06],[0,0.06]]\nangle = 30", "1.2 cells"),
    ],
)
def test_a_thin_wall_is_warned_of(kind, rest, cells):
    assert cells in warnings_of(shape("collider", kind, rest))


def test_fills_in_colliders_are_warned_of_and_elastic_ones_are_clamped():
    wall = '[[shapes]]\nrole="collider"\nkind="box"\ncenter=[0.5,0]\nhalf_size=[1,0.2]\n'
    fill = '[[shapes]]\nrole="fill"\nkind="box"\ncenter=[0.5,0.4]\nhalf_size=[0.1,0.3]\n'
    sites = 8 * 4  # 0.2 m by 0.1 m at 0.025 m
    sand = warnings_of(f'{SMALL}{wall}{fill}material="sand"\n')
    assert f"overlaps collider shapes[0] by {sites} particles" in sand
    slip = warnings_of(f'{SMALL}{wall}{fill}material="jelly"\n')
    assert f"overlaps collider shapes[0] by {sites} particles" in slip
    stick = warnings_of(f'{SMALL}{wall}friction="stick"\n{fill}material="jelly"\n')
    assert "clamped" in stick and f"{sites} particles" in stick


def test_a_small_capacity_is_warned_of_with_numbers():
    text = changed("capacity = 200000", "capacity = 80000")
    report = scene_report(loads(text))
    assert report.particles == 288 * 288 + report.fills[1].particles
    assert f"need {report.particles} particles, capacity is 80000" in "\n".join(report.warnings)


def test_a_big_scene_is_estimated_when_loaded_and_counted_when_asked():
    text = changed("cell = 0.0125", "cell = 0.00125")
    scene = loads(text)
    assert "about" in "\n".join(scene.warnings)
    report = scene_report(scene)
    assert report.exact
    assert report.fills[0].particles == 2880**2


@pytest.mark.parametrize(
    ("role", "kind", "rest", "words"),
    [
        ("emitter", "circle", 'center=[3,3]\nradius=0.1\nmaterial="sand"\nrate=1', "lies outside"),
        ("emitter", "circle", 'center=[1,0.5]\nradius=0.1\nmaterial="sand"\nrate=1', "0.1 m"),
        ("emitter", "circle", 'center=[0.5,0.5]\nradius=0.01\nmaterial="sand"\nrate=1', "no site"),
        ("fill", "circle", 'center=[3,3]\nradius=0.1\nmaterial="sand"', "holds no particle"),
        ("drain", "circle", "center=[3,3]\nradius=0.1", "outside the domain"),
        ("collider", "circle", "center=[3,3]\nradius=0.1", "outside the domain"),
    ],
)
def test_shapes_that_do_nothing_are_warned_of(role, kind, rest, words):
    assert words in warnings_of(shape(role, kind, rest))


def test_a_fast_or_jumping_collider_is_warned_of():
    moving = "center=[0.5,0.5]\nradius=0.2\n[shapes.motion]\n"
    frames = "keyframes = [{time=0, center=[0,0]}, {time=0.01, center=[1,0]}]"
    text = warnings_of(shape("collider", "circle", f"{moving}{frames}"))
    assert "100 m/s" in text and "34 substeps" in text
    for last, words in (
        ("angle=350", "jumps by 10 degrees"),
        ("angle=-710", "jumps by 10 degrees"),
        ("angle=0, center=[0.2,0.5]", "jumps by 0.3 m"),
        ("angle=360", ""),
        ("angle=-720, center=[0.5,0.5]", ""),
    ):
        first = "{time=0, angle=0, center=[0.5,0.5]}"
        frames = f'repeat="loop"\nkeyframes = [{first}, {{time=9, {last}}}]'
        text = warnings_of(shape("collider", "circle", f"{moving}{frames}"))
        assert words in text and bool(words) == bool(text)


def test_the_acoustic_limit_is_told_by_what_the_method_makes_of_it():
    stiff = changed("viscosity = 0.002", "bulk_modulus = 4e8")
    wave = math.sqrt(4e8 / 1000)
    need = math.ceil(wave / (60 * 0.0125))
    report = scene_report(loads(stiff))
    assert report.warnings == ()
    assert any(f"needs {need} substeps" in note for note in report.notes)
    bound = changed('method = "classic"', 'method = "classic"\nacoustic = "bind"', stiff)
    assert f"needs {need} substeps" in warnings_of(bound)
    assert "explodes" in warnings_of(changed('"classic"', '"explicit"', stiff))
    assert "of its stiffness" in warnings_of(changed('"classic"', '"compliant"', stiff))
    table = {material.name: material for material in report.materials}
    assert table["water"].wave_speed == pytest.approx(wave)
    assert table["water"].cfl_at_max_substeps == pytest.approx(wave / 960 / 0.0125)
    assert table["water"].cfl_at_min_substeps == pytest.approx(wave / 120 / 0.0125)


def test_softening_is_none_while_resolved_and_grows_beyond():
    for rounds in (3, 5, 8, 12):
        assert stiffness_share(0.4 * rounds, rounds) == 1.0
        beyond = [stiffness_share(cfl * rounds, rounds) for cfl in (0.5, 0.7, 1.0, 2.0, 10.0)]
        assert beyond == sorted(beyond, reverse=True)
        assert all(0.0 < share < 1.0 for share in beyond)
    # A bar at CFL 10 with 5 rounds was measured to swing 4.06 / 1.065 times slower.
    assert 1.0 / math.sqrt(stiffness_share(10.0, 5)) == pytest.approx(4.06 / 1.065, rel=0.05)


def test_the_range_of_the_transfer_is_told_and_few_quanta_are_warned_of():
    mist = '[materials.mist]\nmodel = "liquid"\nbulk_modulus = 1e3\ndensity = {}\n'
    rock = '[materials.rock]\nmodel = "elastic"\ndensity = 8000\n'
    report = scene_report(loads(SMALL + mist.format(800.0) + rock))
    transfer = report.transfer
    assert (transfer.lightest, transfer.quanta) == ("mist", (1 << 24) // 4 // 10)
    # 2^31 quanta less one unit, over 3.0625 times 1.5 and 8, for four particles a cell
    assert (transfer.most_in_cell, transfer.most_in_cell_fast) == (110, 20)
    assert "quanta" not in " ".join(report.warnings)
    warned = warnings_of(SMALL + mist.format(4.0) + rock)
    assert "mist" in warned and f"{(1 << 24) // 4 // 2000} quanta" in warned
    assert scene_report(loads(SMALL)).transfer is None


def test_reading_a_scene_loads_no_simulator():
    code = (
        "import sys; from app.scene import loads; loads(sys.argv[1]);"
        "print([m for m in ('taichi', 'pyglet', 'imgui_bundle', 'OpenGL') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, DAM], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


# The library


def test_wave_speeds_follow_from_the_record():
    materials = loads(
        f'{SMALL}[materials.a]\nmodel="liquid"\nbulk_modulus=4e5\ndensity=1000\n'
        '[materials.b]\nmodel="elastic"\nyoungs_modulus=1e5\npoissons_ratio=0.25\ndensity=1200\n'
    ).materials
    assert materials["a"].wave_speed == pytest.approx(20.0)
    lame, shear = 1e5 * 0.25 / (1.25 * 0.5), 1e5 / 2.5
    assert materials["b"].stiffest_modulus == pytest.approx(lame + 2 * shear)
    assert materials["b"].wave_speed == pytest.approx(math.sqrt((lame + 2 * shear) / 1200))


def test_every_library_record_is_whole_and_valid():
    assert {"water", "honey", "oil", "jelly", "rubber", "soft_jelly"} <= set(library())
    assert {"sand", "wet_sand", "plasticine", "putty"} <= set(library())
    text = SMALL + "".join(f'[materials.{name}]\nbase = "{name}"\n' for name in library())
    scene = loads(text)
    for name, record in library().items():
        assert set(record) == {"model", "color", *MATERIAL_FIELDS[record["model"]]}
        assert scene.materials[name].color == record["color"]


def test_library_waves_are_resolved_by_the_default_solver_at_the_usual_cell():
    for name, record in library().items():
        material = scenes.Material(name=name, **record)
        cfl = material.wave_speed / (60 * 16 * 0.0125)
        assert stiffness_share(cfl, scenes.Solver().rounds) == 1.0, name


def test_the_library_cannot_be_changed_from_outside():
    library()["water"]["density"] = 1.0
    assert library()["water"]["density"] == 1000.0


# Colour vision deficiencies as matrices on linear RGB (Machado et al. 2009, severity 1.0).
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def lab(color: str, sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of an sRGB colour as it is seen."""
    value = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_library_colours_stay_apart(sight):
    for (a, one), (b, other) in itertools.combinations(library().items(), 2):
        gap = np.linalg.norm(lab(one["color"], SIGHT[sight]) - lab(other["color"], SIGHT[sight]))
        assert gap > 15.0, (a, b, gap)  # 2.3 is a just noticeable difference


# Writing


@st.composite
def scene_texts(draw) -> str:
    """Scenes of every role and kind with values from all over their ranges."""
    length = st.floats(-50.0, 50.0, allow_nan=False)
    positive = st.floats(1e-3, 100.0)
    title = draw(st.text('ab "\\é', min_size=1).filter(str.strip))
    lines = [
        f"name = {json.dumps(title)}",
        f"seed = {draw(st.integers(0, 2**32 - 1))}",
        f"[domain]\ncell = 0.1\nsize = [{draw(st.integers(8, 40)) / 10}, 2.0]",
        f"[environment]\ngravity = [{draw(length)}, {draw(length)}]",
        f"[solver]\nmethod = {json.dumps(draw(st.sampled_from(scenes.METHODS)))}",
    ]
    if draw(st.booleans()):
        lines.append(f"[camera]\ncenter = [{draw(length)}, 1]\nheight = {draw(positive)}")
    name = draw(st.sampled_from(["a", "b-c", "d e", "é", "x.y"]))
    base = draw(st.sampled_from(list(library())))
    lines.append(f"[materials.{json.dumps(name)}]\nbase = {json.dumps(base)}")
    lines.append(f"density = {draw(st.floats(1.0, 3e4))}")
    for _ in range(draw(st.integers(0, 4))):
        role = draw(st.sampled_from(scenes.ROLES))
        kind = draw(st.sampled_from(scenes.KINDS))
        if role == "emitter" and kind == "half_plane":
            continue
        lines.append(f'[[shapes]]\nrole = "{role}"\nkind = "{kind}"')
        lines.append(f"center = [{draw(length)}, {draw(length)}]\nangle = {draw(length)}")
        lines.append(
            {
                "box": f"half_size = [{draw(positive)}, {draw(positive)}]",
                "circle": f"radius = {draw(positive)}",
                "capsule": f"radius = {draw(positive)}\nhalf_length = {draw(positive)}",
                "polygon": "points = [[0, 0], [0, 1.5], [1.25, 0]]",
                "half_plane": f"normal = [{draw(length)}, {draw(positive)}]",
            }[kind]
        )
        if role == "fill":
            lines.append(f"material = {json.dumps(draw(st.sampled_from([name, 'oil'])))}")
            lines.append(f"velocity = [{draw(length)}, 0]\nangular_velocity = {draw(length)}")
        if role == "emitter":
            lines.append(f"material = {json.dumps(name)}\nrate = {draw(positive)}")
            lines.append(f"direction = [{draw(length)}, {draw(positive)}]")
            lines.append(f"stop = {draw(st.sampled_from(['inf', '2.5']))}")
        if role == "collider":
            friction = draw(st.sampled_from([0.25, "stick", "slip"]))
            lines.append(f"friction = {json.dumps(friction)}")
            motion = draw(st.sampled_from(["", "angular", "frames"]))
            if motion == "angular":
                lines.append(f"motion = {{ angular_velocity = {draw(length)} }}")
            if motion == "frames":
                frames = (
                    f"{{ time = 0.5, center = [{draw(length)}, 1] }}, {{ time = 2, angle = 3 }}"
                )
                repeat = draw(st.sampled_from(["once", "loop", "pingpong"]))
                lines.append(f'motion = {{ repeat = "{repeat}", keyframes = [{frames}] }}')
    return "\n".join(lines) + "\n"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scene_texts())
def test_dumps_gives_text_that_loads_to_an_equal_scene(text):
    scene = loads(text)
    again = loads(dumps(scene))
    assert again == scene
    assert list(again.materials) == list(scene.materials)
    assert again.warnings == scene.warnings
    assert dumps(again) == dumps(scene)


def test_equal_scenes_differ_when_a_number_or_the_order_of_materials_does():
    assert loads(DAM) != loads(changed("viscosity = 0.002", "viscosity = 0.003"))
    assert loads(DAM) == loads(changed("# 1/s", "# per second"))
    a, b = '[materials.a]\nbase = "oil"\n', '[materials.b]\nbase = "oil"\n'
    assert loads(SMALL + a + b) != loads(SMALL + b + a)


def test_dumps_does_not_depend_on_the_library():
    text = dumps(loads(DAM))
    for record in (library()["water"], library()["jelly"]):
        for key in MATERIAL_FIELDS[record["model"]]:
            assert key in text


# Schema, document, shipped files


def test_the_schema_is_json_and_knows_every_key():
    schema = json.loads(json.dumps(scenes.json_schema(), allow_nan=False))
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {
        *("format", "name", "description", "seed", "domain", "environment"),
        *("solver", "materials", "shapes", "camera"),
    }
    assert schema["required"] == ["name", "domain"]
    material = schema["$defs"]["Material"]["properties"]
    assert set(material) == {"base", "model", "color"} | {
        name for fields in MATERIAL_FIELDS.values() for name in fields
    }
    assert material["base"]["enum"] == list(library())
    shapes = schema["$defs"]["Shape"]["properties"]
    assert "index" not in shapes and "half_size" in shapes


def test_the_document_has_every_key_and_the_tables_of_the_models():
    text = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    assert sorted(marks(text)) == sorted(tables())
    assert refreshed(text) == text, "run: python -m app.scene_reference docs/scenes.md"
    schema = scenes.json_schema()
    for part in (schema, *schema["$defs"].values()):
        for key in part["properties"]:
            assert f"| `{key}` |" in text, key


def test_shipped_scenes_are_found_by_name_and_load():
    for path in scenes.list_scenes():
        assert scenes.builtin(path.stem) == path
        assert load(path).shapes
    with pytest.raises(MatterboxError, match="no shipped scene"):
        scenes.builtin("no such scene")
