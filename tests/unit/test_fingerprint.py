"""Contract of the fingerprint, and of the document of recordings.

- The code hash covers every module of ours that a simulation is made of, whatever is imported in
  future, and the library of materials; it does not depend on line ends.
- docs/recording.md says what the code does: its tables are those that the code writes.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from app import events, fingerprint, recording_reference

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "recording.md"

# Imported by a simulation, but no bit of it depends on them.
WITHOUT_SAY = {
    "__init__.py": "names only",
    "archive.py": "how files are written",
    "errors.py": "sentences",
    "fingerprint.py": "digests of a state, no part of it",
    "paths.py": "where files lie",
    "toml_lines.py": "line numbers in messages",
    "scene_report.py": "warnings",
    "scene_schema.py": "for editors",
}


def test_hash_covers_every_module_that_physics_is_made_of():
    code = (
        "import sys; import app.simulation; from app.sim import device, solver, drawing\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.split('.')[0] == 'app': print(module.__file__)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout
    package = fingerprint.PACKAGE
    used = {
        Path(line).resolve().relative_to(package).as_posix()
        for line in out.splitlines()
        if line.endswith(".py")
    }
    hashed = {
        path.relative_to(package).as_posix()
        for pattern in fingerprint.HASHED
        for path in package.glob(pattern)
    }
    assert used - hashed - set(WITHOUT_SAY) == set()


def test_every_pattern_of_the_hash_finds_something():
    for pattern in fingerprint.HASHED:
        assert list(fingerprint.PACKAGE.glob(pattern)), pattern


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "solver.py").write_bytes(b"a = 1\n")
    (tmp_path / "events.py").write_bytes(b"b = 2\n")
    (tmp_path / "cli.py").write_bytes(b"c = 3\n")
    (tmp_path / "materials.toml").write_bytes(b"d = 4\n")
    monkeypatch.setattr(fingerprint, "PACKAGE", tmp_path)
    monkeypatch.setattr(fingerprint, "assets_dir", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "counts"),
    [
        ("sim/solver.py", b"a = 2\n", True),
        ("sim/solver.py", b"a = 1\r\n", False),
        ("sim/materials.py", b"", True),
        ("events.py", b"b = 3\n", True),
        ("materials.toml", b"d = 5\n", True),
        ("cli.py", b"c = 4\n", False),
    ],
)
def test_what_counts(copy, name, text, counts):
    before = fingerprint.code_hash.__wrapped__()
    (copy / name).write_bytes(text)
    assert (fingerprint.code_hash.__wrapped__() != before) is counts


def test_hash_is_fit_for_a_header():
    assert len(fingerprint.code_hash()) == 32
    assert all(fingerprint.environment().values())


def test_document_has_the_tables_that_the_code_writes():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert recording_reference.refreshed(text) == text, (
        "run: python -m app.recording_reference docs/recording.md"
    )
    for name in recording_reference.tables():
        assert f"<!-- table: {name} -->" in text


def test_document_knows_every_event_and_field():
    text = DOCUMENT.read_text(encoding="utf-8")
    for kind, event in events.REGISTRY.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{kind}` |"))
        for field in fields(event):
            assert f"`{field.name}`" in row
