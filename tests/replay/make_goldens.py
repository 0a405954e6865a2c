"""Records the golden recordings that test_goldens.py compares with: `make goldens`.

A golden whose bits are still those that physics makes here is left as it is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from play_scenes import record
from simulations import box, fill, material, scene, shape, simulate

from app.recording import Replay
from app.scene import Scene

FOLDER = Path(__file__).parent / "goldens"
ARCH = "cpu"
TICKS = 96  # a burst of input of every kind, a restart, and the same again


def pour() -> Scene:
    """Liquids: a source, drains, a turning paddle, an open edge."""
    return scene(
        fill((2, 2), (18, 12), "water", velocity=(1.0, 0.0)),
        fill((24, 2), (36, 8), "honey"),
        shape("emitter", "box", **box((4, 30), (8, 33)), material="water", rate=0.01, speed=1.0),
        shape("drain", "circle", center=(0.38, 0.02), radius=0.02),
        shape(
            "collider",
            "capsule",
            center=(0.2, 0.15),
            half_length=0.05,
            radius=0.015,
            friction=0.3,
            motion={"angular_velocity": 4.0},
        ),
        cells=(40, 40),
        edges={"left": "slip", "right": 0.3, "bottom": "stick", "top": "open"},
        capacity=2500,
    )


def grains() -> Scene:
    """Sand, snow, clay and plasticine on each other, on a round stone."""
    return scene(
        fill((2, 10), (12, 24), "sand"),
        fill((14, 10), (22, 20), "snow", velocity=(0.0, -1.0)),
        fill((24, 10), (32, 18), "clay"),
        fill((14, 24), (24, 30), "plasticine"),
        shape("collider", "circle", center=(0.18, 0.05), radius=0.04, friction="stick"),
        cells=(36, 36),
        capacity=2500,
    )


def solids() -> Scene:
    """Jelly and gel in groups of their own that meet, under a press that comes down."""
    press = [
        {"time": 0.0, "center": [0.18, 0.33], "angle": 0.0},
        {"time": 0.6, "center": [0.18, 0.2], "angle": 8.0},
    ]
    return scene(
        fill((6, 2), (16, 12), "jelly", group=1),
        fill((18, 3), (30, 11), "gel", angular_velocity=5.0),
        shape("collider", "box", **box((10, 31), (26, 35)), motion={"keyframes": press}),
        cells=(36, 36),
        capacity=2500,
    )


def classic() -> Scene:
    """The classic method: jelly dropped into water."""
    return scene(
        fill((1, 1), (31, 10), "water"),
        fill((10, 14), (20, 22), "jelly"),
        cells=(32, 32),
        capacity=2500,
        method="classic",
    )


def explicit() -> Scene:
    """The explicit method: soft jelly and sand, bound by the speed of sound."""
    return scene(
        material("curd", "jelly", youngs_modulus=3000.0),
        fill((4, 4), (14, 14), "curd", angular_velocity=4.0),
        fill((16, 2), (26, 12), "sand"),
        cells=(32, 32),
        capacity=2500,
        method="explicit",
        acoustic="bind",
        max_substeps=24,
    )


GOLDENS = {function.__name__: function for function in (pour, grains, solids, classic, explicit)}


def same_bits(one: Path, other: Path) -> bool:
    """Whether two recordings have the same environment, events and digests."""
    a, b = Replay.read(one), Replay.read(other)
    steps = range(max(a.last_step, b.last_step) + 1)
    return (
        all(phrase.startswith("code ") for phrase in a.header.differences(b.header))
        and (a.header.fields, a.scene_text) == (b.header.fields, b.scene_text)
        and all(a.events_at(step) == b.events_at(step) for step in steps)
        and all(a.expected_fields(step) == b.expected_fields(step) for step in steps)
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.mbr"):
        if path.stem not in GOLDENS:
            path.unlink()
            print(f"{path.name}: no longer made, removed")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in GOLDENS.items():
            fresh, golden = Path(folder, f"{name}.mbr"), FOLDER / f"{name}.mbr"
            world = make()
            simulate(world).close()  # the roomy solver of the tests: one compilation for all
            record(fresh, world, ARCH, TICKS)
            if golden.exists() and same_bits(golden, fresh):
                print(f"{golden.name}: unchanged")
                continue
            golden.write_bytes(fresh.read_bytes())
            print(f"{golden.name}: written, {golden.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
