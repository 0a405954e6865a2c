"""Contract: hundreds of ticks of every shipped scene make the same bits, whatever the conditions.

The long form of test_replay.py, which says what is held. Each scene is recorded in one process and
compared in another, under two CPU threads and the conditions of play_scenes.py. At the end all
scenes are played by one thread in the opposite order, in the memory that the one before has used:
by kernels compiled anew, and by the same kernels from the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from soak_results import COLD, IN_PROCESS, WARM

from app.scene import list_scenes
from app.sim import device

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TICKS = 600
SOFTWARE_TICKS = 22
"""Under a software driver, which takes seconds a tick: a burst of input, a restart, and again."""
SHIPPED = list_scenes()
MILLION = [HERE / "million.toml"]

CONDITIONS = (*IN_PROCESS, COLD, WARM)


def script(*arguments: object, cache: Path | None = None) -> Iterator[dict]:
    """What play_scenes.py says in a process of its own, as it says it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        environment["TI_OFFLINE_CACHE_FILE_PATH"] = str(cache)
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, str(HERE / "play_scenes.py"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):
        yield from map(json.loads, process.stdout)
        code = process.wait()
        errors.seek(0)
        assert code == 0, errors.read()


class Matrix:
    """Scenes under all conditions on one arch; `rows` of results by (scene, condition)."""

    def __init__(self, arch: str, scenes: list[Path], folder: Path, keep):
        self.arch = arch
        self.scenes = scenes
        self.folder = folder
        self.keep = keep
        self.rows: dict[tuple[str, str], dict] = {}
        info = next(info for info in device.available() if info.arch == arch)
        self.ticks = SOFTWARE_TICKS if info.kind == "software" else TICKS

    def run(self) -> None:
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2) + 1) as pool:
            list(pool.map(self.play, self.scenes))
        cache = self.folder / "kernels"
        files = [self.folder / f"{path.stem}.mbr" for path in self.scenes[::-1]]
        self.take(self.compare(1, "played", *files, cache=cache), COLD)
        kernels = set(cache.glob("*.tic"))
        assert kernels
        self.take(self.compare(1, "played", *files, cache=cache), WARM)
        assert set(cache.glob("*.tic")) == kernels  # nothing was compiled a second time

    def play(self, scene: Path) -> None:
        for _ in script("record", self.arch, self.ticks, self.folder, scene):
            pass
        self.take(self.compare(2, ",".join(IN_PROCESS), self.folder / f"{scene.stem}.mbr"))

    def compare(self, threads: int, conditions: str, *files: Path, cache: Path | None = None):
        return script("compare", self.arch, threads, conditions, *files, cache=cache)

    def take(self, said: Iterable[dict], condition: str | None = None) -> None:
        for entry in said:
            row = {
                "run": "matrix",
                "arch": self.arch,
                "subject": entry["name"],
                "condition": condition or entry["condition"],
                "count": entry["ticks"],
                "unit": "ticks",
                "seconds": entry["seconds"],
                "digest": entry["digest"],
                "verdict": "holds" if entry["difference"] is None else "fails",
                "note": entry["difference"] or "",
            }
            self.rows[row["subject"], row["condition"]] = row
            self.keep(row)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("cpu", SHIPPED), id="cpu"),
        pytest.param(("vulkan", SHIPPED), id="vulkan", marks=pytest.mark.vulkan),
        pytest.param(("cuda", SHIPPED), id="cuda", marks=pytest.mark.cuda),
        pytest.param(("cuda", MILLION), id="million-cuda", marks=pytest.mark.cuda),
    ],
)
def matrix(request, tmp_path_factory, keep_results):
    arch, scenes = request.param
    made = Matrix(arch, scenes, tmp_path_factory.mktemp(arch), keep_results)
    made.run()
    return made


@pytest.mark.soak
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_bits_are_those_of_the_recording(condition, matrix):
    for scene in matrix.scenes:
        row = matrix.rows[scene.stem, condition]
        found = (row["verdict"], row["note"], row["count"])
        assert found == ("holds", "", matrix.ticks), scene.stem
