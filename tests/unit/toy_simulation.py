"""A world of a few integers that answers like `app.simulation.Simulation`.

It lets the tests of sessions and recordings run in milliseconds and without Taichi: every event
and every tick changes the state in a way that no other sequence of events and ticks would.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from app.errors import MatterboxError
from app.events import Erase, Event, Grab, Paint, Push, Restart, SetDamping, SetGravity, SetMaterial
from app.fingerprint import combined_digest
from app.scene import Scene, loads

SCENE = """\
format = 1
name = "Toy"
seed = 7

[domain]
size = [1.0, 1.0]
cell = 0.125
edges = { bottom = "stick", left = "slip", right = "slip", top = "open" }

[materials.water]
base = "water"

[[shapes]]
role = "fill"
kind = "box"
center = [0.5, 0.5]
half_size = [0.2, 0.2]
material = "water"
"""


STATE = ("tick", "gravity", "damping", "viscosity", "hand", "particles")


@dataclass(frozen=True)
class ToySnapshot:
    """What answers like `app.snapshot.Snapshot` of a toy world."""

    state: dict
    pending: tuple[Event, ...]
    nbytes: ClassVar[int] = 1000

    @property
    def tick(self) -> int:
        return self.state["tick"]

    @property
    def arrays(self) -> dict:
        return {"position": np.array(self.state["particles"], np.int64)}

    @property
    def made(self) -> dict:
        return {"arch": "cpu", "device": "toy processor"}

    def difference(self, other: ToySnapshot) -> str | None:
        return None if self.state == other.state else "field particles"

    def save(self, path) -> None:
        path.write_text(repr(self.state))

    def digest(self) -> str:
        return f"{hash_of((self.state, self.pending)):016x}"


class ToySimulation:
    """Particles are integers below 2^31; `applied` remembers (step, event) for the tests."""

    def __init__(self, scene: Scene | str = SCENE, *, arch: str = "auto", seed: int | None = None):
        self.scene = loads(scene) if isinstance(scene, str) else scene
        self.arch = "cpu" if arch == "auto" else arch
        self.device = "toy processor"
        self.seed = self.scene.seed if seed is None else seed
        self.materials = self.scene.materials
        self.steps = 0
        self.heavy = False
        self.resumed = False
        self.applied: list[tuple[int, Event]] = []
        self.stepped: list[int] = []
        self._queue: list[Event] = []
        self._reset()

    @classmethod
    def from_scene(
        cls, scene: Scene | str, *, arch: str = "auto", seed: int | None = None
    ) -> ToySimulation:
        return cls(scene, arch=arch, seed=seed)

    def _reset(self) -> None:
        self.tick = 0
        self.resumed = False
        self.gravity = self.scene.environment.gravity
        self.damping = self.scene.environment.damping
        self.viscosity = 0.0
        self.hand = (0.0, 0.0)
        self.particles = [(self.seed * 7919 + i * 104729) % 2**31 for i in range(16)]

    def apply(self, event: Event) -> None:
        if isinstance(event, Paint) and event.material not in self.scene.materials:
            raise MatterboxError(f"no material {event.material!r}")
        self.applied.append((self.steps, event))
        self._queue.append(event)

    def step(self, n: int = 1) -> None:
        for _ in range(n):
            for event in self._queue:
                self._take(event)
            self._queue.clear()
            salt = hash_of((self.tick, self.gravity, self.damping, self.viscosity, self.hand))
            self.particles = [(p * 1103515245 + salt) % 2**31 for p in self.particles]
            self.hand = (0.0, 0.0)
            self.tick += 1
            self.steps += 1
            self.stepped.append(n)

    def step_in_stages(self, on_stage) -> None:
        """Two stages: the events, and all else."""
        on_stage("events")
        self.step()
        on_stage("end of the tick")

    def stage_arrays(self) -> dict:
        return self.snapshot().arrays

    def _take(self, event: Event) -> None:
        match event:
            case SetGravity():
                self.gravity = event.gravity
            case SetDamping():
                self.damping = event.damping
            case SetMaterial():
                self.viscosity = event.value
            case Paint():
                self.particles.append(hash_of((event.center, event.radius)))
            case Erase():
                del self.particles[-1:]
            case Grab() | Push():
                self.hand = event.center
            case Restart():
                self._reset()

    def digests(self) -> dict[str, str]:
        return {
            "position": f"{hash_of(self.particles):016x}",
            "gravity": f"{hash_of(self.gravity):016x}",
            "material": f"{hash_of((self.viscosity, self.damping)):016x}",
            "tick": f"{hash_of(self.tick):016x}",
        }

    def digest(self) -> str:
        return combined_digest(self.digests())

    def aggregates(self) -> SimpleNamespace:
        live = len(self.particles)
        mean = sum(self.particles) / live / 2**31 if live else float("nan")
        return SimpleNamespace(
            mass=float(live),
            momentum=(0.0, mean),
            center_of_mass=(mean, 0.5),
            kinetic_energy=1.0,
            live=live,
        )

    def snapshot(self) -> ToySnapshot:
        state = {name: getattr(self, name) for name in STATE}
        return ToySnapshot(state | {"particles": list(self.particles)}, tuple(self._queue))

    def restore(self, snapshot: ToySnapshot) -> None:
        vars(self).update(snapshot.state)
        self.particles = list(self.particles)
        self._queue = list(snapshot.pending)
        self.resumed = True

    def status(self) -> SimpleNamespace:
        live = len(self.particles)
        return SimpleNamespace(
            tick=self.tick,
            substeps=2,
            required_substeps=2,
            rounds=5,
            live=live,
            capacity=100,
            emitted=live,
            drained=0,
            counters={"capacity_reached": 0, "node_displacement_capped": 3},
        )

    def close(self) -> None:
        pass


def hash_of(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "big")
