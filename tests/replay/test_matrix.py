"""Contract: hundreds of ticks of every shipped scene make the same bits, whatever the conditions.

The long form of test_replay.py, which says what is held. Conditions are those of play_scenes.py,
with the scenes in the opposite order; kernels compiled anew, by one CPU thread; and the same
kernels from the cache under two threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.scene import list_scenes
from app.sim import device

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TICKS = 600
SOFTWARE_TICKS = 22
"""Under a software driver, which takes seconds a tick: a burst of input, a restart, and again."""

COLD, WARM = "cold cache, one thread", "warm cache, two threads"
IN_PROCESS = ("played", "restarted", "resumed", "heavy", "rendered", "scrambled")
CONDITIONS = (*IN_PROCESS, COLD, WARM)


def script(*arguments: object, cache: Path | None = None) -> list[dict]:
    """What play_scenes.py says, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        environment["TI_OFFLINE_CACHE_FILE_PATH"] = str(cache)
    done = subprocess.run(
        [sys.executable, str(HERE / "play_scenes.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(
    scope="module",
    params=[
        "cpu",
        *(pytest.param(arch, marks=getattr(pytest.mark, arch)) for arch in ("vulkan", "cuda")),
    ],
)
def matrix(request, tmp_path_factory, keep_results):
    """How every scene differs under every condition, by (scene, condition)."""
    arch = request.param
    info = next(info for info in device.available() if info.arch == arch)
    ticks = SOFTWARE_TICKS if info.kind == "software" else TICKS
    folder = tmp_path_factory.mktemp(arch)
    cache = tmp_path_factory.mktemp("kernels")
    scenes = list_scenes()
    files = [folder / f"{path.stem}.mbr" for path in scenes]
    half = len(scenes) // 2
    found = {}

    def take(said, condition=None):
        rows = [
            {
                "run": "matrix",
                "arch": arch,
                "subject": entry["name"],
                "condition": condition or entry["condition"],
                "count": entry["ticks"],
                "unit": "ticks",
                "seconds": entry["seconds"],
                "digest": entry["digest"],
                "verdict": "holds" if entry["difference"] is None else "fails",
                "note": entry["difference"] or "",
            }
            for entry in said
        ]
        for row in rows:
            found[row["subject"], row["condition"]] = row
        keep_results(*rows)

    def compare(condition):
        take(script("compare", arch, 0, condition, *files[::-1]))

    def compile_anew():
        take(script("compare", arch, 1, "played", *files, cache=cache), COLD)
        kernels = set(cache.rglob("*.tic"))
        assert kernels
        take(script("compare", arch, 2, "played", *files, cache=cache), WARM)
        assert set(cache.rglob("*.tic")) == kernels  # nothing was compiled a second time

    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2) + 1) as pool:
        parts = [
            pool.submit(script, "record", arch, ticks, folder, *part)
            for part in (scenes[:half], scenes[half:])
        ]
        for part in parts:
            part.result()
        jobs = [pool.submit(compile_anew), *(pool.submit(compare, name) for name in IN_PROCESS)]
        for job in jobs:
            job.result()
    return found, ticks


@pytest.mark.soak
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", [path.stem for path in list_scenes()])
def test_the_bits_are_those_of_the_recording(name, condition, matrix):
    found, ticks = matrix
    row = found[name, condition]
    assert (row["verdict"], row["note"], row["count"]) == ("holds", "", ticks)
