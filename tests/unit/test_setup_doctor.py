"""Contract of app.doctor: it always answers, with a cure for what is wrong.

A driver that crashes or hangs, a package or library that is missing and a display that refuses are
answers; none of them ends or stalls the report.
"""

import sys
from importlib import metadata

import pytest

from app import doctor

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 and EGL are Linux's")


def test_the_report_covers_everything_and_every_fault_has_a_cure():
    checks = doctor.report()
    names = [check.name for check in checks]
    for name in ("Python", "packages", "files", "arch cpu", "arch auto", "display"):
        assert name in names
    assert all(check.text for check in checks)
    assert all(check.cure for check in checks if check.ok is False)
    assert next(check for check in checks if check.name == "arch cpu").ok


def test_a_child_that_crashes_is_an_answer():
    answer = doctor._ask("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert answer == "the driver crashed (signal 11)"


def test_a_child_that_crashes_after_its_answer_has_answered():
    code = "import os; print('{\"a\": 1}', flush=True); os.abort()"
    assert doctor._ask(code) == {"a": 1}


def test_a_child_that_hangs_is_an_answer(monkeypatch):
    monkeypatch.setattr(doctor, "TIME_LIMIT", 0.5)
    assert doctor._ask("import time; time.sleep(60)").startswith("no answer within")


def test_a_child_that_raises_is_an_answer_without_the_traceback():
    assert doctor._ask("raise ImportError('Library EGL not found.')") == "Library EGL not found."


def test_a_check_that_fails_itself_does_not_end_the_report():
    def _display():
        raise KeyError("surprise")

    [check] = doctor._answer(_display)
    assert (check.name, check.ok) == ("display", False) and "surprise" in check.text


def test_a_missing_package_is_named_with_its_cure(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "imgui-bundle":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    _, missing = doctor._packages()
    assert missing.ok is False and missing.text == "imgui-bundle"
    assert missing.cure.endswith("pip install imgui-bundle")


@linux
def test_missing_libraries_are_named_with_their_packages(monkeypatch, tmp_path):
    (tmp_path / "system_libraries.txt").write_text(
        "# a comment\nlibc.so.6 libc6 everything\nlibabsent.so.7|libgone.so.1 libabsent7 a test\n"
    )
    monkeypatch.setattr(doctor.paths, "assets_dir", lambda: tmp_path)
    [check] = doctor._system_libraries()
    assert check.ok is False
    assert check.text == "missing libabsent.so.7 (a test)"
    assert "apt-get install libabsent7" in check.cure


@linux
def test_a_display_that_refuses_is_told(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":12345")
    check = doctor._opengl_of("OpenGL in a window", "window")
    assert check.ok is False and check.cure and "Traceback" not in check.text


@linux
def test_no_display_is_no_fault(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    [check] = doctor._display()
    assert check.ok is None
    assert [check.name for check in doctor._opengl()] == ["OpenGL without a window"]
