"""The public headless API: a world that is stepped, read and changed by events.

    from app import Simulation
    sim = Simulation.from_scene("scenes/dam_break.toml", arch="cpu")
    sim.step(60)
    sim.positions()

This is the only door through which anything outside app/sim changes physics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from app import fingerprint, geometry
from app import scene as scenes
from app.errors import DeviceError, DivergenceError, SnapshotError
from app.events import (
    Erase,
    Event,
    EventError,
    Grab,
    Paint,
    Push,
    Restart,
    SetDamping,
    SetGravity,
    SetMaterial,
)
from app.fingerprint import combined_digest
from app.scene import MATERIAL_FIELDS, Environment, Material, Scene

if TYPE_CHECKING:
    from app.snapshot import Snapshot

SPEED_COLORS = 0.75
"""Top of the speed view's range, as a share of the speed of a fall through the whole domain."""


@dataclass(frozen=True)
class MaterialStatus:
    """What the CFL monitor says of one record: live particles, wave speed [m/s], c dt / dx.

    `stiffness_share` is the effective over the true modulus of smooth motion at this step: 1 where
    the rounds resolve it, less where they leave it softer; None under "classic", whose stiffness is
    not the record's.
    """

    name: str
    live: int
    wave_speed: float
    acoustic_cfl: float
    stiffness_share: float | None


@dataclass(frozen=True)
class Status:
    """The state of a world in numbers, after its last tick. Times in seconds, speeds in m/s.

    `binding` says what set the substeps: a limit ("advective", "acoustic"), or the scene's
    "minimum" or "maximum" of substeps. `advective_speed` is the largest |v| + 1.5 dx |C|, C the
    velocity gradient: what the advective limit counts. `nonfinite` is the slot of the first
    particle since the start that was no number, and the fields in which it, or others of that
    substep, were none; None while all is well.
    """

    tick: int
    time: float
    live: int
    free: int
    capacity: int
    emitted: int
    drained: int
    substeps: int
    min_substeps: int
    max_substeps: int
    rounds: int
    dt: float
    advective_dt: float
    acoustic_dt: float
    binding: str
    required_substeps: int
    advective_speed: float
    counters: dict[str, int]
    materials: tuple[MaterialStatus, ...]
    nonfinite: tuple[int, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Aggregates:
    """Sums over live matter, per metre of depth: mass [kg/m], momentum [kg/s], energy [J/m]."""

    mass: float
    momentum: tuple[float, float]
    center_of_mass: tuple[float, float]
    kinetic_energy: float
    live: int


class Simulation:
    """One world on one device. Make it with `from_scene`; `close` gives its memory to the next.

    Attributes:
        scene, seed: what the world began with; `environment` and `materials` as edited since.
        arch, device: where it is computed.
        steps: ticks run here, restarts included.
        resumed: whether the state comes from a snapshot and not from the scene's initial state.
        heavy: run every tick twice from one state and compare all bits (see `step`).
    """

    _idle: ClassVar[list] = []

    def __init__(self, scene: Scene, solver, device, seed: int):
        self.scene = scene
        self.seed = seed
        self.arch: str = device.arch
        self.device: str = device.name
        self.steps = 0
        self.heavy = False
        self._solver = solver
        self._pending: list[Event] = []
        self._begin()

    @classmethod
    def from_scene(
        cls, scene: Scene | str | Path, *, arch: str = "auto", seed: int | None = None
    ) -> Simulation:
        """A world in the initial state of a scene (a Scene, a path, or a shipped scene's name).

        Raises SceneError for a scene that does not validate, DeviceError for an arch that does not
        start or a device without room for the scene.
        """
        from app.sim import device as devices

        if not isinstance(scene, Scene):
            path = Path(scene)
            shipped = not path.suffix and not path.exists()
            scene = scenes.load(scenes.builtin(str(scene)) if shipped else path)
        if not scene.materials:
            raise scenes.SceneError(
                [scenes.Fault(scene.origin, None, "materials", "none", "at least one material")]
            )
        running = devices.started()
        if running is None or (arch != "auto" and arch != running.arch):
            devices.reset()
            cls._idle.clear()
            running = devices.start(arch)
        solver = cls._acquire(scene, running)
        return cls(scene, solver, running, scene.seed if seed is None else seed)

    @classmethod
    def _acquire(cls, scene: Scene, device):
        """A solver with room for the scene: an idle one, or a new one."""
        from app.sim.solver import Layout, Solver

        wanted = Layout.of(scene)
        for solver in cls._idle:
            if solver.layout.holds(wanted):
                cls._idle.remove(solver)
                return solver
        return Solver(wanted, on_host=device.arch == "cpu")

    def close(self) -> None:
        """Hand the device memory to the next world. The simulation cannot be used afterwards."""
        if self._solver is not None:
            Simulation._idle.append(self._solver)
            self._solver = None

    def _begin(self) -> None:
        self.environment: Environment = self.scene.environment
        self.materials: dict[str, Material] = dict(self.scene.materials)
        self.resumed = False
        self._solver.load(self.scene, self.seed)

    # -- time and input ----------------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """Ticks since the initial state (a restart begins at 0 again)."""
        return self._solver.ticks

    @property
    def time(self) -> float:
        """Time of the world [s]."""
        return self.tick / self.scene.solver.tick_rate

    @property
    def material_names(self) -> list[str]:
        """Names of the records, in the order of `material_ids`."""
        return list(self.materials)

    def apply(self, event: Event) -> None:
        """Queue an event for the edge of the next tick; events take effect in the order given.

        Raises EventError for an event that this world cannot carry out (an unknown material or
        field, a value out of its range); the world is then unchanged.
        """
        check_event(event, self.scene, self.materials)
        self._pending.append(event)

    def step(self, n: int = 1) -> None:
        """Run n ticks.

        In heavy mode each is run, undone by restoring the state before it, and run again. Raises
        DivergenceError with the first field that differs then; the second run's state is kept.
        """
        for _ in range(n):
            difference = self._tick_twice() if self.heavy else self._tick()
            self.steps += 1
            if difference is not None:
                raise DivergenceError(
                    f"tick {self.tick - 1} made other bits when it was run again from the state "
                    f"before it: {difference}"
                )

    def step_in_stages(self, on_stage: Callable[[str], None]) -> None:
        """Run one tick and call `on_stage(name)` after each of its stages: the events and the
        emitters, then in each substep binning, mass scatter, every round and integration, then the
        release of slots. `stage_arrays` may be read there; nothing may be changed."""
        self._tick(on_stage)
        on_stage("end of the tick")
        self.steps += 1

    def stage_arrays(self) -> dict[str, np.ndarray]:
        """The state as `snapshot` has it, and the sums that the grid keeps from stage to stage
        ("grid.mass" and others; int32, fixed point). For `step_in_stages`."""
        from app.sim.grid import NODES_PER_TILE, tiles_for

        across, up = tiles_for(self.scene.domain.cells)
        grid, arrays = self._solver.grid, self._solver.save()
        for name in ("mass", "mass_moment", "volume", "liquid_volume", "liquid_excess"):
            sums = getattr(grid, name).to_numpy()
            if len(sums) >= grid.nodes:  # of each group, without the room beside the scene
                by_group = sums.reshape(-1, grid.nodes, *sums.shape[1:])
                sums = np.concatenate(by_group[:, : across * up * NODES_PER_TILE])
            arrays[f"grid.{name}"] = sums
        return arrays

    def _tick(self, on_stage: Callable[[str], None] = lambda stage: None) -> None:
        pending, self._pending = self._pending, []
        for event in pending:
            _APPLY[type(event)](self, event)
        on_stage("events")
        self._solver.tick(on_stage)

    def _tick_twice(self) -> str | None:
        """One tick, run twice from one state; the first difference of the two states after it."""
        before, resumed = self.snapshot(), self.resumed
        self._tick()
        first = self.snapshot()
        self.restore(before)
        self.resumed = resumed  # restoring what was here a moment ago is no beginning
        self._tick()
        return first.difference(self.snapshot())

    # -- snapshots ---------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """All that later ticks depend on, events that wait for the next tick included."""
        from app.snapshot import Snapshot

        return Snapshot(
            scene=self.scene,
            seed=self.seed,
            environment=self.environment,
            materials=dict(self.materials),
            pending=tuple(self._pending),
            arrays=self._solver.save(),
            made=fingerprint.of(self),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Put the world into the state of a snapshot, its scene and seed included.

        On the device and code that it was made with, every later tick then has the bits that it had
        there. Raises SnapshotError where the device has no room for it; nothing has changed then.
        """
        from app.sim.solver import Layout

        if not self._solver.layout.holds(Layout.of(snapshot.scene)):
            solver = self._roomier(snapshot)
            Simulation._idle.append(self._solver)
            self._solver = solver
        if snapshot.scene is not self.scene and snapshot.scene != self.scene:
            self.scene = snapshot.scene
        self.seed = snapshot.seed
        self.environment = snapshot.environment
        self.materials = dict(snapshot.materials)
        self.resumed = True
        self._pending = list(snapshot.pending)
        self._solver.restore(self.scene, snapshot.arrays)

    def _roomier(self, snapshot: Snapshot):
        from app.sim import device as devices

        try:
            return self._acquire(snapshot.scene, devices.started())
        except DeviceError as error:
            raise SnapshotError(f"{snapshot.origin} is too large for the device: {error}") from None

    @classmethod
    def from_snapshot(
        cls, snapshot: Snapshot | str | Path, *, arch: str | None = None
    ) -> Simulation:
        """A world in the state of a snapshot (or of a snapshot's file), on the arch that it was
        made on unless another is given.

        Raises SnapshotError, and DeviceError for an arch that does not start here.
        """
        from app.snapshot import Snapshot

        if not isinstance(snapshot, Snapshot):
            snapshot = Snapshot.load(snapshot)
        try:
            simulation = cls.from_scene(
                snapshot.scene, arch=arch or snapshot.made["arch"], seed=snapshot.seed
            )
        except DeviceError as error:
            made = f"{snapshot.origin}, made on {snapshot.made['arch']},"
            raise SnapshotError(f"{made} cannot be resumed here: {error}") from None
        simulation.restore(snapshot)
        return simulation

    # -- reading -----------------------------------------------------------------------------------

    def digests(self) -> dict[str, str]:
        """Digest of each field of the state, 16 hex digits, in canonical order."""
        return self._solver.digest.compute()

    def digest(self) -> str:
        """Digest of the whole state, 16 hex digits."""
        return combined_digest(self.digests())

    def _live(self, name: str) -> np.ndarray:
        arrays = self._solver.state.arrays
        return arrays[name].to_numpy()[arrays["status"].to_numpy() == 1]

    def positions(self) -> np.ndarray:
        """Positions of live particles [m], shape (live, 2), float32, in slot order."""
        from app.sim.grid import MARGIN

        return (self._live("x") - np.float32(MARGIN)) * np.float32(self.scene.domain.cell)

    def velocities(self) -> np.ndarray:
        """Velocities of live particles [m/s], shape (live, 2), float32, in slot order."""
        return self._live("displacement") * np.float32(self.scene.domain.cell / self._dt())

    def deformation_gradients(self) -> np.ndarray:
        """Elastic deformation gradients of live particles, shape (live, 2, 2), in slot order.

        Liquids carry none: theirs stays the identity (see `volume_ratios`).
        """
        return self._live("deformation_gradient")

    def volume_ratios(self) -> np.ndarray:
        """Volume over volume at rest of live particles, shape (live,), in slot order."""
        ratios = np.linalg.det(self.deformation_gradients().astype(np.float64))
        liquid = np.array([m.model == "liquid" for m in self.materials.values()])
        return np.where(liquid[self.material_ids()], self._live("volume_ratio"), ratios)

    def material_ids(self) -> np.ndarray:
        """Record numbers of live particles (see `material_names`), shape (live,), in slot order."""
        return self._live("material")

    def masses(self) -> np.ndarray:
        """Masses of live particles per metre of depth [kg/m], shape (live,), float64."""
        area = self.scene.domain.cell**2 / self.scene.solver.particles_per_cell
        densities = np.array([m.density for m in self.materials.values()])
        return densities[self.material_ids()] * area

    def aggregates(self) -> Aggregates:
        """Mass, momentum, centre of mass and kinetic energy of the live matter, in float64."""
        mass = self.masses()
        total = float(mass.sum())
        velocity = self.velocities().astype(np.float64)
        momentum = mass @ velocity
        center = mass @ self.positions().astype(np.float64) / total if total else np.zeros(2)
        energy = 0.5 * float(mass @ (velocity**2).sum(1))
        return Aggregates(
            total, tuple(map(float, momentum)), tuple(map(float, center)), energy, len(mass)
        )

    def _dt(self) -> float:
        return self._solver.floats()["dt"]

    def status(self) -> Status:
        """What the panel shows: population, substeps, time-step limits, counters."""
        solver = self._solver
        integers = solver.integers()
        cell = self.scene.domain.cell
        floats = solver.floats()
        advective, acoustic, dt = (
            floats[name] for name in ("advective_rate", "acoustic_rate", "dt")
        )
        live = solver.time_step.live.to_numpy()
        substeps = round(1.0 / (dt * self.scene.solver.tick_rate))
        required = integers["required_substeps"]
        return Status(
            tick=self.tick,
            time=self.time,
            live=int(live.sum()),
            free=integers["free_count"],
            capacity=self.scene.solver.capacity,
            emitted=integers["emitted"],
            drained=integers["drained"],
            substeps=substeps,
            min_substeps=self.scene.solver.min_substeps,
            max_substeps=self.scene.solver.max_substeps,
            rounds=self.scene.solver.rounds,
            dt=dt,
            advective_dt=1.0 / advective if advective > 0 else math.inf,
            acoustic_dt=1.0 / acoustic if acoustic > 0 else math.inf,
            binding=self._binding(required, advective, acoustic),
            required_substeps=required,
            advective_speed=advective * cell,
            counters=solver.counters(integers),
            materials=tuple(
                self._material_status(m, int(live[row]), m.wave_speed * dt / cell)
                for row, m in enumerate(self.materials.values())
            ),
            nonfinite=solver.nonfinite(integers),
        )

    def _material_status(self, material: Material, live: int, cfl: float) -> MaterialStatus:
        share = None
        if self.scene.solver.method == "compliant":
            z = 4.0 * cfl * cfl * material.area_modulus / material.stiffest_modulus
            share = self._solver.acceleration.stiffness_share(z)
        elif self.scene.solver.method == "explicit":
            share = 1.0
        return MaterialStatus(material.name, live, material.wave_speed, cfl, share)

    def _binding(self, required: int, advective: float, acoustic: float) -> str:
        solver = self.scene.solver
        if required <= solver.min_substeps:
            return "minimum"
        if required > solver.max_substeps:
            return "maximum"
        return "acoustic" if solver.acoustic_binds and acoustic > advective else "advective"

    def view_range(self, view: str) -> tuple[float, float]:
        """Least and greatest value that a view distinguishes, in its unit."""
        if view == "volume":
            return (0.8, 1.2)
        g = max(math.hypot(*self.environment.gravity), 1.0)
        return (0.0, SPEED_COLORS * math.sqrt(2.0 * g * self.scene.domain.size[1]))

    def draw_buffer(self, view: str = "matter") -> np.ndarray:
        """Packed drawing data, float32 of shape (n, 3), one row a slot in use so far.

        Columns: x [m], y [m], and the bits of a uint32: bits 0-7 the record's number (255: nothing
        here), bits 8-23 the view's value over `view_range`, bits 24-31 a fixed random byte.
        """
        from app.sim.drawing import VIEWS

        low, high = self.view_range(view)
        rows = self._solver.integers()["high_water"]
        out = np.empty((rows, 3), np.float32)
        if rows:
            self._solver.drawing.pack(out, self.scene.domain.cell, VIEWS.index(view), low, high)
        return out

    def shape_poses(self) -> list[tuple[tuple[float, float], float]]:
        """Center [m] and angle [rad] of each shape of the scene now."""
        return [geometry.pose(shape, self.time) for shape in self.scene.shapes]


# -- what each event does -------------------------------------------------------------------------


def check_event(event: Event, scene: Scene, materials: dict[str, Material]) -> None:
    """Raise EventError if the event cannot be carried out in a world of that scene."""
    if type(event) not in _APPLY:
        raise EventError(f"event {event.kind!r} does nothing in a simulation")
    if isinstance(event, Paint | SetMaterial) and event.material not in materials:
        names = ", ".join(materials)
        raise EventError(
            f"event {event.kind!r}: found material {event.material!r}, expected one of {names}"
        )
    if isinstance(event, SetMaterial):
        _check_field(event, materials[event.material].model)
    if isinstance(event, SetDamping) and not 0 <= event.damping <= 1e4:
        raise EventError(f"event {event.kind!r}: found {event.damping:g} 1/s, expected 0 to 10000")
    if isinstance(event, Paint | Erase | Grab | Push):
        reach = 2 * math.hypot(*scene.domain.size)
        if not 0 < event.radius <= reach:
            raise EventError(
                f"event {event.kind!r}: found radius {event.radius:g} m, expected more than 0 and "
                f"at most {reach:g} m"
            )


def _check_field(event: SetMaterial, model: str) -> None:
    fields = MATERIAL_FIELDS[model]
    if event.field not in fields:
        raise EventError(
            f"event {event.kind!r}: found field {event.field!r}, "
            f"expected one of {', '.join(fields)}"
        )
    spec = fields[event.field]
    if not spec.minimum <= event.value <= spec.maximum:
        raise EventError(
            f"event {event.kind!r}: found {event.field} = {event.value:g}, expected "
            f"{spec.minimum:g} to {spec.maximum:g} {spec.unit}"
        )


def edited(
    environment: Environment, materials: dict[str, Material], event: Event
) -> tuple[Environment, dict[str, Material]]:
    """Environment and records after one event; the same ones where it edits neither."""
    if isinstance(event, SetGravity | SetDamping):
        key = "gravity" if isinstance(event, SetGravity) else "damping"
        environment = environment.model_copy(update={key: getattr(event, key)})
    if isinstance(event, SetMaterial):
        record = materials[event.material].model_copy(update={event.field: event.value})
        materials = materials | {event.material: record}
    return environment, materials


def _edit(simulation: Simulation, event: SetGravity | SetDamping | SetMaterial) -> None:
    simulation.environment, simulation.materials = edited(
        simulation.environment, simulation.materials, event
    )
    solver = simulation._solver
    if isinstance(event, SetGravity):
        solver.set_gravity(event.gravity)
    elif isinstance(event, SetDamping):
        solver.set_damping(event.damping)
    else:
        solver.set_materials(simulation.materials)


def _restart(simulation: Simulation, _event: Restart) -> None:
    simulation._begin()


_APPLY: dict[type[Event], Callable[[Simulation, Event], None]] = {
    SetGravity: _edit,
    SetDamping: _edit,
    SetMaterial: _edit,
    Paint: lambda sim, e: sim._solver.paint(e.material, e.center, e.radius),
    Erase: lambda sim, e: sim._solver.erase(e.center, e.radius),
    Grab: lambda sim, e: sim._solver.set_grab(e.center, e.velocity, e.radius),
    Push: lambda sim, e: sim._solver.set_push(e.center, e.radius, e.acceleration),
    Restart: _restart,
}
