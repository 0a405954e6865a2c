"""Contract: whatever is in a recording, a snapshot, a scene or a file to import, reading takes it
or refuses it with one line: never a traceback, never more than 10 s of processor time or 512 MiB.

Mutated are bytes; texts (TOML and JSON) by their values and lines; zips by their members, their
packing and the fields of their headers. read_strangers.py holds it in a process of limited memory.
Large texts that take much work are held here.

Caught: a `kind`, `role` or `model` that was a list, beside an unknown key, ended in a traceback; a
scene of 34,000 materials took 12 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.errors import SceneError
from app.scene import MAX_TEXT, loads

HERE = Path(__file__).parent
PATHS = (HERE.parents[1], HERE.parent, HERE.parent / "unit")
HEAD = 'format = 1\nname = "x"\n[domain]\nsize = [1.0, 1.0]\ncell = 0.125\n'

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are read from /proc")


def read_strangers(what: str, examples: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(HERE / "read_strangers.py"), what, str(examples)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PATHS))},
    )
    assert done.returncode == 0, done.stderr[-6000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["refused"] > examples / 10
    return counts


@linux
@pytest.mark.parametrize("what", ["recording", "snapshot", "scene", "import"])
def test_mutated_files_are_harmless(what):
    read_strangers(what, 60)


@linux
@pytest.mark.soak
@pytest.mark.parametrize("what", ["recording", "snapshot", "scene", "import"])
def test_thousands_of_mutated_files_are_harmless(what, keep_results):
    start = time.perf_counter()
    counts = read_strangers(what, 5000)
    row = {"run": "fuzz", "arch": "cpu", "subject": what, "condition": "mutated"}
    row |= {
        "count": counts["refused"] + counts.get("taken", 0),
        "unit": "files",
        "verdict": "holds",
    }
    said = f"{counts.get('taken', 0)} taken, {counts['refused']} refused"
    row |= {"note": f"{said}, the slowest in {counts['slowest']:.2f} s"}
    keep_results(row | {"seconds": f"{time.perf_counter() - start:.0f}"})


def test_the_head_of_large_scenes_is_taken():
    """Else they would be refused for a reason of no interest."""
    assert loads(HEAD).name == "x"


def filled(line: str, head: str = HEAD, end: str = "") -> str:
    """A text of the largest size, made of a line that may hold its number."""
    lines, size, number = [head], len(head) + len(end), 0
    while size + len(text := line.replace("%", str(number))) < MAX_TEXT:
        lines.append(text)
        size += len(text)
        number += 1
    return "".join([*lines, end])


SHAPE = '[[shapes]]\nrole = "collider"\nkind = "polygon"\ncenter = [0, 0]\n'
LARGE = {
    "shapes": filled("[[shapes]]\n"),
    "shapes of unknown matter": filled('[[shapes]]\nmaterial = "wter%"\n'),
    "keys": filled("k% = 1\n"),
    "tables": filled("[t%]\n"),
    "materials": filled('[materials.m%]\nbase = "watr"\n'),
    "materials and shapes": filled(
        "[materials.m%]\n",
        HEAD + "".join(f'[[shapes]]\nmaterial = "wter{n}"\n' for n in range(256)),
    ),
    "dotted keys": filled("a.b%.c = 1\n"),
    "deep keys": filled(".".join(["a"] * 30) + ".k% = 1\n"),
    "points": filled("[0.00%, 0.5],", HEAD + SHAPE + "points = [", "]\n"),
    "deep arrays": filled("[", HEAD + "a = "),
    "digits": filled("1", HEAD + "a = "),
    "quotes": filled('""\\"', HEAD + 'description = """', '"""\n'),
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_scenes_are_refused_in_time(text):
    start = time.process_time()
    with pytest.raises(SceneError):
        loads(text)
    assert time.process_time() - start < 10.0


@pytest.mark.parametrize("value", ["[1]", "{ a = 1 }", "1", "true"])
@pytest.mark.parametrize(
    "table",
    [
        '[[shapes]]\nkind = "box"\nrole = VALUE\nunknown = 1\n',
        '[[shapes]]\nrole = "fill"\nkind = VALUE\nunknown = 1\n',
        "[materials.a]\nmodel = VALUE\nunknown = 1\n",
        '[materials.a]\nbase = "water"\nmodel = VALUE\nunknown = 1\n',
    ],
)
def test_what_is_no_word_is_a_fault_beside_an_unknown_key(table, value):
    with pytest.raises(SceneError) as caught:
        loads(HEAD + table.replace("VALUE", value))
    text = str(caught.value)
    assert "unknown" in text and any(word in text for word in ("role:", "kind:", "model:"))
