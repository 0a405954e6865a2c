"""What every test shares: quiet Taichi, and which tests this machine can run.

A test that needs what is not there is skipped with the reason. Where CI is set in the environment
only the CUDA tests are: a virtual screen and Mesa's drivers can be installed anywhere, so there
their absence is a failure, not a silent gap.
"""

import os
import shutil
import sys

import hypothesis
import pytest

from app.sim import device

hypothesis.settings.register_profile("matterbox", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("matterbox")


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
    for item in items:
        for marker in ("vulkan", "cuda", "gui"):
            if item.get_closest_marker(marker) is None:
                continue
            if marker not in answers:
                answers[marker] = _missing(marker)
            if answers[marker] and (marker == "cuda" or "CI" not in os.environ):
                item.add_marker(pytest.mark.skip(reason=answers[marker]))
