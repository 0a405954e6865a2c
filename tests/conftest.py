"""What every test shares: quiet Taichi, and which tests this machine can run.

A test that needs what is not there is skipped with the reason. Where CI is set in the environment
only the tests of CUDA and Metal are: a virtual screen and Mesa's drivers can be installed anywhere,
so there their absence is a failure, not a silent gap.
"""

import os
import shutil
import sys
from pathlib import Path

import hypothesis
import pyglet
import pytest
import soak_results

from app.sim import device

# pyglet settles where windows go when its first window module is imported, whichever test that is.
# In this process none may go to a desktop; real windows are tested in processes of their own.
if sys.platform.startswith("linux"):
    pyglet.options.headless = True

hypothesis.settings.register_profile("matterbox", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("matterbox")


def pytest_addoption(parser):
    parser.addoption(
        "--results",
        type=Path,
        metavar="F.csv",
        help="keep what long runs come to in this file, and write F.md from it",
    )


@pytest.fixture(scope="session")
def keep_results(request):
    """Called with rows of `soak_results.COLUMNS`: keeps them where --results says so."""
    path = request.config.getoption("--results")

    def keep(*rows):
        if path is not None:
            soak_results.keep(path, rows)

    return keep


@pytest.fixture
def cpu():
    """Taichi runs on the CPU."""
    return device.start("cpu")


@pytest.fixture
def world():
    """`simulate` of tests/simulations.py for one world at a time: the next one closes the last."""
    from simulations import simulate

    made = []

    def make(scene, seed=None):
        while made:
            made.pop().close()
        made.append(simulate(scene, seed))
        return made[0]

    yield make
    while made:
        made.pop().close()


HARDWARE = ("cuda", "metal")
INSTALLABLE = ("vulkan", "gui")


def _missing(marker):
    if marker == "gui":
        if not sys.platform.startswith("linux"):
            return "windows are driven under Xvfb, on Linux only"
        absent = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
        return f"{' and '.join(absent)} not found" if absent else None
    info = next(info for info in device.available() if info.arch == marker)
    return info.note if info.starts is False else None


def pytest_collection_modifyitems(items):
    answers = {}
    for marker in HARDWARE if "CI" in os.environ else HARDWARE + INSTALLABLE:
        for item in items:
            if item.get_closest_marker(marker) is None:
                continue
            if marker not in answers:
                answers[marker] = _missing(marker)
            if answers[marker]:
                item.add_marker(pytest.mark.skip(reason=answers[marker]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """In CI, a test that gives up while it runs has found missing what CI should have brought."""
    report = yield
    marked = item.get_closest_marker("skip") or item.get_closest_marker("skipif")
    if report.skipped and "CI" in os.environ and not marked and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {report.longrepr[-1]}"
    return report
