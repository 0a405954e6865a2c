"""The solver: one tick to the next. SI becomes grid units here and only here."""

import math
from dataclasses import dataclass

import numpy as np

from app import geometry
from app.errors import DeviceError
from app.sim.balance import Balance
from app.sim.digest import Digest
from app.sim.drawing import DrawBuffer
from app.sim.fixed_point import CROWDING_LIMIT
from app.sim.grid import MARGIN, NODES_PER_TILE, Grid, tiles_for
from app.sim.materials import MODELS, pack
from app.sim.policies import METHODS
from app.sim.policies.chebyshev import Acceleration
from app.sim.population import FRESH, MAX_SITES, OLD, Population
from app.sim.shapes import BRUSH, ShapeTable
from app.sim.state import (
    COUNTERS,
    FIELDS,
    FLOATS,
    FREE,
    INTEGERS,
    LIVE,
    MATERIAL_PARAMETERS,
    MAX_MATERIALS,
    NO_SLOT,
    NONFINITE_FIELDS,
    PARTICLES,
    SLOTS,
    State,
    float_index,
    integer_index,
)
from app.sim.substep import HAND_GRAB, HAND_NONE, HAND_PUSH, Substep
from app.sim.timestep import TimeStep

UNLIMITED = (1 << 31) - 1


@dataclass(frozen=True)
class Layout:
    """Room that a solver has: particle slots, grid tiles, groups of bodies."""

    capacity: int
    tiles: int
    groups: int

    @classmethod
    def of(cls, scene):
        """The room that a scene needs, rounded up so that scenes of like size share a solver."""
        across, up = tiles_for(scene.domain.cells)
        return cls(_rounded_up(scene.solver.capacity), _rounded_up(across * up), scene.groups)

    def holds(self, other):
        """Whether a scene that needs `other` fits."""
        return (
            self.capacity >= other.capacity
            and self.tiles >= other.tiles
            and self.groups >= other.groups
        )


def _rounded_up(count):
    """Next of the sizes 2^k and 3/2 * 2^k."""
    power = 1 << max(count - 1, 1).bit_length()
    return power * 3 // 4 if power * 3 // 4 >= count else power


class Solver:
    """Fields and kernels for scenes up to a Layout; `load` overwrites, never allocates."""

    def __init__(self, layout, on_host):
        self.layout = layout
        self.on_host = on_host
        try:
            self.state = State(layout.capacity)
            self.grid = Grid(layout.tiles, layout.groups)
            self.shapes = ShapeTable()
            self.time_step = TimeStep(self.state)
            self.substep = Substep(self.state, self.grid, self.shapes, self.time_step)
            self.balance = Balance(self.substep)
            self.population = Population(self.state, self.shapes)
            self.digest = Digest(self.state)
            self.drawing = DrawBuffer(self.state)
            self.state.integers.fill(0)
        except RuntimeError as error:
            raise DeviceError(
                f"the device has no room for {layout.capacity} particles and "
                f"{layout.tiles * NODES_PER_TILE} grid nodes: lower solver.capacity or the "
                "domain's size, or choose another --arch"
            ) from error

    # -- loading -----------------------------------------------------------------------------------

    def load(self, scene, seed):
        """Put the initial state of a scene in place of whatever was there."""
        self._take_over(scene)
        self.ticks = 0
        self._place_shapes()
        for field in self.state.arrays.values():
            field.fill(0)
        self._load_records(scene.materials)
        floats = np.zeros(len(FLOATS), np.float32)
        dt = 1.0 / (scene.solver.tick_rate * scene.solver.min_substeps)
        floats[float_index("dt")] = dt
        self.state.floats.from_numpy(floats)
        self.set_gravity(scene.environment.gravity)
        self.set_damping(scene.environment.damping)
        self._load_particles(scene, seed, dt)
        self.time_step.count_live()
        self.time_step.choose(1)

    def restore(self, scene, arrays):
        """Put a saved state of a scene (see `save`) in place of whatever was there."""
        self._take_over(scene)
        for name, field in self.state.arrays.items():
            values = arrays[name]
            whole = np.zeros((field.shape[0], *values.shape[1:]), values.dtype)
            whole[: len(values)] = values
            field.from_numpy(whole)
        self.ticks = int(arrays["integers"][integer_index("tick")])
        self._place_shapes()
        self.time_step.count_live()

    def save(self):
        """The state between two ticks: name -> NumPy array, in canonical order, without the slots
        that were never used and the room that the solver has beside its scene."""
        high_water = self.integers()["high_water"]
        rows = {PARTICLES: high_water, SLOTS: self.capacity}
        return {
            field.name: self.state.arrays[field.name]
            .to_numpy()[: rows.get(field.length, field.length)]
            .copy()
            for field in FIELDS
        }

    def _take_over(self, scene):
        """Everything of a scene that is no state: what the kernels read and no tick changes."""
        self.scene = scene
        self.cell = scene.domain.cell
        self.capacity = scene.solver.capacity
        self.material_names = list(scene.materials)
        self.tick_dt = 1.0 / scene.solver.tick_rate
        self.shapes.load(scene)
        self.time_step.load(scene)
        self._load_constants(scene)

    def _load_constants(self, scene):
        nx, ny = scene.domain.cells
        across, _up = tiles_for((nx, ny))
        grid, substep, solver = self.grid, self.substep, scene.solver
        # The next substep clears the tiles that the last one touched, and now nobody knows which.
        for field in (
            grid.mass,
            grid.mass_moment,
            grid.volume,
            grid.liquid_volume,
            grid.liquid_excess,
            grid.momentum,
            grid.occupancy,
            grid.tile_touched,
            grid.active_count,
        ):
            field.fill(0)
        grid.tiles_across[None] = across
        grid.groups[None] = scene.groups
        substep.body_friction[None] = solver.body_friction
        self.acceleration = Acceleration(1 if solver.method == "explicit" else solver.rounds)
        substep.method[None] = METHODS.index(solver.method)
        substep.rounds[None] = self.acceleration.rounds
        substep.chebyshev_reach[None] = self.acceleration.reach
        substep.chebyshev_share[None] = self.acceleration.share
        substep.volume[None] = 1.0 / solver.particles_per_cell
        substep.most_in_cell[None] = math.floor(CROWDING_LIMIT * solver.particles_per_cell)
        substep.cell[None] = self.cell
        tuning = solver.classic
        substep.tuning[None] = [
            tuning.relaxation,
            tuning.liquid_relaxation,
            tuning.elasticity_ratio,
        ]
        substep.lower[None] = [MARGIN, MARGIN]
        substep.upper[None] = [MARGIN + nx, MARGIN + ny]
        substep.hand[None] = HAND_NONE
        self.population.lower[None] = substep.lower[None]
        self.population.upper[None] = substep.upper[None]
        self.population.axis_sites[None] = math.isqrt(solver.particles_per_cell)

    def _load_records(self, materials):
        models = np.zeros(MAX_MATERIALS, np.int32)
        table = np.zeros((MAX_MATERIALS, len(MATERIAL_PARAMETERS)), np.float32)
        volume = 1.0 / self.scene.solver.particles_per_cell
        densest = max(record.density for record in materials.values())
        for row, record in enumerate(materials.values()):
            models[row] = MODELS.index(record.model)
            table[row] = pack(record, densest, volume, self.cell)
        self.state.material_model.from_numpy(models)
        self.state.material_parameters.from_numpy(table)

    def _load_particles(self, scene, seed, dt):
        room = self.layout.capacity
        arrays = {
            "x": np.zeros((room, 2), np.float32),
            "displacement": np.zeros((room, 2), np.float32),
            "displacement_gradient": np.zeros((room, 2, 2), np.float32),
            "deformation_gradient": np.zeros((room, 2, 2), np.float32),
            "volume_ratio": np.zeros(room, np.float32),
            "material": np.zeros(room, np.int32),
            "group": np.zeros(room, np.int32),
            "status": np.full(room, FREE, np.int32),
        }
        spacing = self.cell / math.isqrt(scene.solver.particles_per_cell)
        made = wanted = 0
        for shape, sites in geometry.seed_fills(scene):
            wanted += len(sites)
            sites = sites[: self.capacity - made]
            part = slice(made, made + len(sites))
            made += len(sites)
            elastic = scene.materials[shape.material].model == "elastic"
            jitter = 0.0 if elastic else 0.5 * spacing
            noise = np.random.Generator(np.random.PCG64([seed & 0x7FFFFFFF, shape.index]))
            points = sites + jitter * (noise.random(sites.shape) - 0.5)
            spin = shape.angular_velocity
            away = points - np.asarray(shape.center)
            velocity = np.asarray(shape.velocity) + spin * np.stack([-away[:, 1], away[:, 0]], 1)
            arrays["x"][part] = points / self.cell + MARGIN
            arrays["displacement"][part] = velocity * (dt / self.cell)
            arrays["displacement_gradient"][part] = np.array([[0, -spin], [spin, 0]]) * dt
            arrays["deformation_gradient"][part] = np.eye(2)
            arrays["volume_ratio"][part] = 1.0
            arrays["material"][part] = self.material_names.index(shape.material)
            arrays["group"][part] = shape.group
            arrays["status"][part] = LIVE
        for name, values in arrays.items():
            self.state.arrays[name].from_numpy(values)
        free_slots = np.zeros(room, np.int32)
        free = self.capacity - made
        free_slots[:free] = np.arange(self.capacity - 1, made - 1, -1)
        self.state.free_slots.from_numpy(free_slots)
        integers = np.zeros(len(INTEGERS), np.int32)
        integers[integer_index("seed")] = np.uint32(seed & 0xFFFFFFFF).view(np.int32)
        integers[integer_index("capacity")] = self.capacity
        integers[integer_index("high_water")] = made
        integers[integer_index("free_count")] = free
        integers[integer_index("emitted")] = made
        integers[integer_index("capacity_reached")] = wanted - made
        speed = np.linalg.norm(arrays["displacement"], axis=1)
        speed += 1.5 * np.linalg.norm(arrays["displacement_gradient"], axis=(1, 2))
        peak = np.float32(speed.max(initial=0.0) / dt)
        integers[integer_index("peak_rate_bits")] = peak.view(np.int32)
        self.state.integers.from_numpy(integers)

    # -- edits from outside, at a tick's edge ------------------------------------------------------

    def set_gravity(self, gravity):
        """Gravity of the scene [m/s^2]."""
        self.state.floats[float_index("gravity_x")] = gravity[0]
        self.state.floats[float_index("gravity_y")] = gravity[1]

    def set_damping(self, damping):
        """Damping of the scene [1/s]."""
        self.state.floats[float_index("damping")] = damping

    def set_materials(self, materials):
        """All records anew, in the scene's order."""
        self._load_records(materials)

    def set_grab(self, center, velocity, radius):
        """For the coming tick matter in a disc follows a hand (m, m/s)."""
        self._set_hand(HAND_GRAB, center, radius)
        self.substep.hand_velocity[None] = [v / self.cell for v in velocity]

    def set_push(self, center, radius, acceleration):
        """For the coming tick matter in a disc is pushed outward (m, m/s^2)."""
        self._set_hand(HAND_PUSH, center, radius)
        self.substep.hand_acceleration[None] = acceleration / self.cell

    def _set_hand(self, kind, center, radius):
        self.substep.hand[None] = kind
        self.substep.hand_center[None] = [c / self.cell + MARGIN for c in center]
        self.substep.hand_radius[None] = max(radius / self.cell, 1e-3)

    def erase(self, center, radius):
        """Remove the matter in a disc [m]."""
        self._set_brush(center, radius)
        self.population.erase(BRUSH)
        self.population.release()

    def paint(self, material, center, radius):
        """Fill the free space in a disc [m] with matter at rest."""
        self._set_brush(center, radius)
        reach = (center[0] - radius, center[1] - radius, center[0] + radius, center[1] + radius)
        self.population.budget[None] = UNLIMITED
        self._emit(BRUSH, reach, material, 0, (0.0, 0.0))

    def _set_brush(self, center, radius):
        x, y = (c / self.cell + MARGIN for c in center)
        self.shapes.set_brush(x, y, radius / self.cell)

    def _emit(self, row, reach, material, group, velocity):
        """Emit into the free sites of a shape within `reach` (xmin, ymin, xmax, ymax) [m], with a
        velocity [m/s]."""
        n = math.isqrt(self.scene.solver.particles_per_cell)
        dt = self.state.floats[float_index("dt")]
        step = [v * dt / self.cell for v in velocity]
        travel = [v * self.tick_dt / self.cell for v in velocity]
        offset = [math.fmod(part * self.ticks * n, 1.0) for part in travel]
        left, bottom, right, top = self._cells_around(reach, travel)
        if right <= left or top <= bottom:
            return
        number = self.material_names.index(material)
        width = (right - left) * n
        band = max(MAX_SITES // (width * n), 1)
        bands = list(range(bottom, top, band))
        turn = self.ticks % len(bands)  # what one band uses up the next ones miss: take turns
        for first in bands[turn:] + bands[:turn]:
            height = (min(first + band, top) - first) * n
            sites = ((left + MARGIN) * n, (first + MARGIN) * n, width, height)
            self.population.measure_sites(*sites, *offset)
            self.population.find_candidates(row, *sites, *offset, *travel)
            self.population.admit_sites(width, height)
            for kind in (FRESH, OLD):
                self.population.fill_sites(row, kind, *sites, *offset, number, group, *step)

    def _cells_around(self, reach, travel):
        """Cells (left, bottom, right, top) that hold what lies within `reach` (xmin, ymin, xmax,
        ymax) [m] and a tick's `travel` [cells] beyond; ends excluded. One cell outside the domain
        belongs to it: matter may lie a little beyond an edge."""
        (nx, ny), (tx, ty) = self.scene.domain.cells, travel
        left, bottom, right, top = (bound / self.cell for bound in reach)
        # A moving lattice is off the cells by a part of a site: a cell more on every side.
        return (
            max(math.floor(left + min(tx, 0.0)) - 1, -1),
            max(math.floor(bottom + min(ty, 0.0)) - 1, -1),
            min(math.ceil(right + max(tx, 0.0)) + 1, nx + 1),
            min(math.ceil(top + max(ty, 0.0)) + 1, ny + 1),
        )

    # -- time --------------------------------------------------------------------------------------

    def tick(self, on_stage=lambda stage: None):
        """Run one tick of the scene; `on_stage(name)` is called after each stage of it."""
        self._run_emitters()
        on_stage("emission")
        self.time_step.begin_tick()
        self.substep.set_environment()
        for substep in range(self._launches()):
            self.substep.prepare(substep)
            self.substep.bin_particles()
            on_stage("binning")
            self.substep.push_and_scatter_mass()
            on_stage("mass scatter")
            *others, last = self.acceleration.omegas
            for omega in others:
                self.substep.solve_round(omega, last=0)
                on_stage("round")
            self.substep.solve_round(last, last=1)
            on_stage("round")
            if substep == 0:
                self.balance.weigh()
            self.substep.integrate()
            on_stage("integration")
        self.population.release()
        on_stage("release")
        self.substep.hand[None] = HAND_NONE
        self.time_step.count_live()
        self.time_step.choose(0)
        self.ticks += 1
        self.state.integers[integer_index("tick")] = self.ticks
        self._place_shapes()

    def _place_shapes(self):
        """Poses of the coming tick: a tool that acts at its edge meets shapes where they are then,
        not where the last substep left them, and a restored world need not know of that substep."""
        if self.shapes.moving:
            self.shapes.place(self.ticks * self.tick_dt, (self.ticks + 1) * self.tick_dt)

    def _launches(self):
        """Substeps to launch: the ladder's choice where reading it is free, else the maximum."""
        if self.on_host:
            return self.time_step.substeps[None]
        return self.scene.solver.max_substeps

    def _run_emitters(self):
        """Each emitter's share of this tick: whole particles, and a function of the tick alone."""
        now = self.ticks * self.tick_dt
        spacing = self.scene.spacing
        for row, shape in enumerate(self.scene.shapes):
            if shape.role != "emitter" or not shape.start <= now < shape.stop:
                continue
            rate = shape.rate * self.tick_dt / spacing**2
            share = math.floor(rate * (self.ticks + 1)) - math.floor(rate * self.ticks)
            left, bottom, right, top = reach = geometry.bounds(shape)
            row_of_sites = math.ceil(max(right - left, top - bottom) / spacing)
            velocity = [shape.speed * part for part in shape.direction]
            self.population.begin_emission(row, share)
            self._emit(row, reach, shape.material, shape.group, velocity)
            self.population.end_emission(row, math.ceil(rate) + row_of_sites)

    # -- reading -----------------------------------------------------------------------------------

    def integers(self):
        """All named integers of the state, one readback."""
        return dict(zip(INTEGERS, self.state.integers.to_numpy().tolist(), strict=True))

    def floats(self):
        """All named numbers of the state, one readback."""
        return dict(zip(FLOATS, self.state.floats.to_numpy().tolist(), strict=True))

    def nonfinite(self, integers):
        """Slot and fields of the first particle that was no number since the start, or None."""
        key = integers["nonfinite_slot"]
        if key == 0:
            return None
        bits = integers["nonfinite_fields"]
        fields = (name for k, name in enumerate(NONFINITE_FIELDS) if bits >> k & 1)
        return NO_SLOT - key, tuple(fields)

    def counters(self, integers):
        """The counters among them."""
        return {name: integers[name] for name in COUNTERS}
