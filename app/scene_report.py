"""What a scene asks for, in numbers: particles, time steps against wave speeds, and warnings.

A warning tells of something that will not do what the author wrote. A note tells of something that
is as the author wrote it and still good to know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app import geometry
from app.scene import Material, Motion, Scene, Shape
from app.sim.fixed_point import CROWDING_LIMIT, SCATTER_CROWDING, quanta
from app.sim.policies.chebyshev import Acceleration

FEW_QUANTA = 4096
"""Mass of a particle in quanta below which the fixed point is coarse: a node that gets 2 % of it
misses up to 0.6 % of that."""
QUICK_SITES = 1 << 20  # sites that are counted one by one when a scene is only loaded


@dataclass(frozen=True)
class FillReport:
    """What becomes of the sites of one fill."""

    label: str
    material: str
    sites: int  # in the shape and the domain
    particles: int  # what is left of them
    blocked: tuple[tuple[str, int], ...]  # label of a collider, sites inside it
    clamped: tuple[tuple[str, int], ...]  # label of a stick collider, elastic sites inside it
    shared: int  # taken by earlier fills


@dataclass(frozen=True)
class MaterialReport:
    """How a material's waves compare with the grid: CFL = wave speed * dt / cell."""

    name: str
    model: str
    wave_speed: float  # m/s
    cfl_at_min_substeps: float
    cfl_at_max_substeps: float
    substeps_for_cfl_1: int
    stiffness_at_min_substeps: float | None  # share of its modulus that smooth motion feels
    stiffness_at_max_substeps: float | None  # None where the method has no such measure


@dataclass(frozen=True)
class TransferReport:
    """Range of the grid's fixed point: between its quantum and what 32 bits hold."""

    lightest: str  # the material of the lightest particles
    quanta: int  # mass of one of them
    most_in_cell: int  # particles up to which all hand over all of their mass and volume
    most_in_cell_fast: int  # and up to which they hand over 8 cells a substep


@dataclass(frozen=True)
class SceneReport:
    """A scene in numbers."""

    name: str
    origin: str
    size: tuple[float, float]  # m
    cells: tuple[int, int]
    nodes: int
    cell: float  # m
    spacing: float  # m, between particles
    particles: int  # after all fills
    exact: bool  # False: particles was estimated on a coarser lattice
    capacity: int
    mass: float  # kg per metre of depth
    dt_at_min_substeps: float  # s
    dt_at_max_substeps: float  # s
    fall_speed: float  # m/s, the fastest that falling through the domain makes
    substeps_for_fall: int  # substeps at which that speed crosses a cell a substep
    fills: tuple[FillReport, ...]
    materials: tuple[MaterialReport, ...]
    transfer: TransferReport | None  # None without materials
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def scene_report(scene: Scene, most_sites: int | None = None) -> SceneReport:
    """The numbers of `scene`. Beyond `most_sites` fill sites they are estimated, not counted."""
    total = covered_sites(scene)
    coarser = 1
    if most_sites is not None and total > most_sites:
        coarser = math.ceil(math.sqrt(total / most_sites))
    fills = _survey(scene, coarser)
    materials = tuple(_material_report(scene, material) for material in scene.materials.values())
    particles = sum(fill.particles for fill in fills)
    mass = sum(scene.materials[fill.material].density * fill.particles for fill in fills)
    fall = _fall_speed(scene)
    solver, cell = scene.solver, scene.domain.cell
    findings = _Findings(scene)
    findings.capacity(particles, exact=coarser == 1)
    for fill in fills:
        findings.fill(fill)
    for shape in scene.shapes:
        findings.shape(shape)
    needed = math.ceil(fall / (solver.tick_rate * cell))
    findings.speeds(fall, needed)
    for material in materials:
        findings.material(material)
    transfer = _transfer_report(scene)
    if transfer:
        findings.transfer(transfer)
    findings.unused(fills)
    nx, ny = scene.domain.cells
    return SceneReport(
        name=scene.name,
        origin=scene.origin,
        size=scene.domain.size,
        cells=(nx, ny),
        nodes=nx * ny,
        cell=cell,
        spacing=scene.spacing,
        particles=particles,
        exact=coarser == 1,
        capacity=solver.capacity,
        mass=mass * scene.spacing**2,
        dt_at_min_substeps=1.0 / (solver.tick_rate * solver.min_substeps),
        dt_at_max_substeps=1.0 / (solver.tick_rate * solver.max_substeps),
        fall_speed=fall,
        substeps_for_fall=needed,
        fills=tuple(fills),
        materials=materials,
        transfer=transfer,
        warnings=tuple(findings.warnings),
        notes=tuple(findings.notes),
    )


def covered_sites(scene: Scene) -> int:
    """Sites in the bounding boxes of all fills: what seeding has to look at."""
    total = 0
    for shape in scene.fills():
        x0, y0, x1, y1 = geometry.site_range(scene, shape)
        total += max(x1 - x0, 0) * max(y1 - y0, 0)
    return total


def _survey(scene: Scene, coarser: int) -> list[FillReport]:
    """Count the sites of the fills, each standing for `coarser`^2 of the scene's own."""
    if coarser > 1:
        cell = scene.domain.cell * coarser
        scene = scene.model_copy(update={"domain": scene.domain.model_copy(update={"cell": cell})})
    axis = scene.solver.axis
    nx, ny = scene.domain.cells
    taken = np.zeros((ny * axis, nx * axis), dtype=bool)
    poses = [(collider, geometry.pose(collider, 0.0)) for collider in scene.colliders()]
    reports = []
    for shape in scene.fills():
        elastic = scene.materials[shape.material].model == "elastic"
        sites = particles = shared = 0
        inside = {collider.index: 0 for collider, _ in poses}
        for sub in geometry.site_blocks(scene, shape):
            points = geometry.to_sites(scene, sub)
            free = np.ones(len(sub), dtype=bool)
            for collider, pose in poses:
                within = geometry.strictly_inside(collider, points, *pose)
                inside[collider.index] += int(within.sum())
                if not (elastic and collider.friction == "stick"):
                    free &= ~within
            before = taken[sub[:, 1], sub[:, 0]]
            sites += len(sub)
            shared += int((free & before).sum())
            free &= ~before
            particles += int(free.sum())
            taken[sub[free, 1], sub[free, 0]] = True
        scale = coarser**2
        counts = [
            (collider, inside[collider.index] * scale)
            for collider, _ in poses
            if inside[collider.index]
        ]
        holds = [elastic and collider.friction == "stick" for collider, _ in counts]
        reports.append(
            FillReport(
                label=shape.label,
                material=shape.material,
                sites=sites * scale,
                particles=particles * scale,
                blocked=tuple(
                    (c.label, n) for (c, n), held in zip(counts, holds, strict=True) if not held
                ),
                clamped=tuple(
                    (c.label, n) for (c, n), held in zip(counts, holds, strict=True) if held
                ),
                shared=shared * scale,
            )
        )
    return reports


def _material_report(scene: Scene, material: Material) -> MaterialReport:
    solver = scene.solver
    ticks = material.wave_speed / (solver.tick_rate * scene.domain.cell)  # cells a tick
    stretch = material.area_modulus / material.stiffest_modulus
    shares = [
        stiffness_share(ticks / substeps, solver.rounds, stretch)
        if solver.method == "compliant"
        else None
        for substeps in (solver.min_substeps, solver.max_substeps)
    ]
    return MaterialReport(
        name=material.name,
        model=material.model,
        wave_speed=material.wave_speed,
        cfl_at_min_substeps=ticks / solver.min_substeps,
        cfl_at_max_substeps=ticks / solver.max_substeps,
        substeps_for_cfl_1=max(math.ceil(ticks), 1),
        stiffness_at_min_substeps=shares[0],
        stiffness_at_max_substeps=shares[1],
    )


def _transfer_report(scene: Scene) -> TransferReport | None:
    if not scene.materials:
        return None
    per_cell = scene.solver.particles_per_cell
    lightest = min(scene.materials.values(), key=lambda material: material.density)
    densest = max(material.density for material in scene.materials.values())
    return TransferReport(
        lightest=lightest.name,
        quanta=math.floor(quanta(lightest.density, densest, per_cell)),
        most_in_cell=math.floor(CROWDING_LIMIT * per_cell),
        most_in_cell_fast=math.floor(SCATTER_CROWDING * per_cell),
    )


def stiffness_share(cfl: float, rounds: int, stretch: float = 1.0) -> float:
    """Share of its modulus that smooth motion feels under the compliant method.

    stretch: the material's area modulus over its wave's. 1 while `cfl` (wave speed * dt / cell) is
    at most about 0.42 `rounds` / sqrt(stretch); beyond that the rounds are too few to converge.
    """
    return Acceleration(rounds).stiffness_share(4.0 * cfl * cfl * stretch)


def _fall_speed(scene: Scene) -> float:
    """Speed that matter reaches by falling through the whole domain, on top of what it starts with.

    Damping is left out: it only slows.
    """
    start = 0.0
    for shape in scene.shapes:
        if shape.role == "fill" and shape.velocity is not None:
            reach = _extent(shape, scene)
            start = max(start, math.hypot(*shape.velocity) + abs(shape.angular_velocity) * reach)
        elif shape.role == "emitter":
            start = max(start, shape.speed)
    (gx, gy), (width, height) = scene.environment.gravity, scene.domain.size
    return math.sqrt(start**2 + 2.0 * (abs(gx) * width + abs(gy) * height))


def _extent(shape: Shape, scene: Scene) -> float:
    """How far a shape reaches from its center [m], no farther than across the domain."""
    across = math.hypot(*scene.domain.size)
    if shape.kind == "half_plane":
        return across
    if shape.kind == "polygon":
        reach = max(math.hypot(*point) for point in shape.points)
    elif shape.kind == "box":
        reach = math.hypot(*shape.half_size)
    else:
        reach = (shape.half_length or 0.0) + shape.radius
    return min(reach, across)


def _fastest(motion: Motion, extent: float) -> float:
    """Greatest speed [m/s] of any point of a collider that reaches `extent` [m] from its center."""
    if motion.angular_velocity is not None:
        return abs(motion.angular_velocity) * extent
    times, centers = motion.center_track
    linear = [
        math.dist(a, b) / (after - before)
        for a, b, before, after in zip(centers, centers[1:], times, times[1:], strict=False)
    ]
    times, angles = motion.angle_track
    turning = [
        math.radians(abs(b[0] - a[0])) / (after - before)
        for a, b, before, after in zip(angles, angles[1:], times, times[1:], strict=False)
    ]
    return max(linear, default=0.0) + max(turning, default=0.0) * extent


def _ends(motion: Motion) -> Iterator[tuple[tuple[float, ...], tuple[float, ...], str]]:
    """First and last value of what the keyframes give, with its unit."""
    for (_, values), unit in ((motion.center_track, "m"), (motion.angle_track, "degrees")):
        if values:
            yield values[0], values[-1], unit


class _Findings:
    def __init__(self, scene: Scene):
        self.scene = scene
        self.cell = scene.domain.cell
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def capacity(self, particles: int, *, exact: bool) -> None:
        capacity = self.scene.solver.capacity
        about = "" if exact else "about "
        if particles > capacity:
            self.warnings.append(
                f"the fills need {about}{particles} particles, capacity is {capacity}: "
                f"{about}{particles - capacity} are left out"
            )
            return
        rate = sum(shape.rate for shape in self.scene.shapes if shape.role == "emitter")
        if rate > 0.0:
            full = (capacity - particles) * self.scene.spacing**2 / rate
            self.notes.append(
                f"emitters fill the capacity of {capacity} after about {full:.3g} s "
                "if nothing leaves"
            )

    def fill(self, fill: FillReport) -> None:
        area = self.scene.spacing**2
        if fill.sites == 0:
            self.warnings.append(
                f"fill {fill.label} holds no particle: it lies outside the domain, or is smaller "
                f"than the particle spacing of {self.scene.spacing:.4g} m"
            )
        for collider, count in fill.blocked:
            self.warnings.append(
                f"fill {fill.label} overlaps collider {collider} by {count} particles "
                f"({count * area:.3g} m^2), which are left out"
            )
        for collider, count in fill.clamped:
            self.warnings.append(
                f"fill {fill.label} is elastic and reaches into stick collider {collider} with "
                f"{count} particles ({count * area:.3g} m^2): it is clamped there"
            )
        if fill.shared:
            self.notes.append(
                f"fill {fill.label} leaves {fill.shared} particles ({fill.shared * area:.3g} m^2) "
                "to earlier fills"
            )

    def shape(self, shape: Shape) -> None:
        if shape.role == "collider":
            self.collider(shape)
        if shape.role in ("fill", "collider") and not self.outside(shape):
            return
        if shape.role == "emitter" and self.beyond(shape) > 1e-9:
            part = "lies" if self.outside(shape) else f"reaches {self.beyond(shape):.3g} m"
            self.warnings.append(
                f"emitter {shape.label} {part} outside the domain, where nothing is emitted"
            )
        elif shape.role == "emitter" and not self.any_site(shape):
            self.warnings.append(
                f"emitter {shape.label} holds no site to emit at: it is smaller than the particle "
                f"spacing of {self.scene.spacing:.4g} m"
            )
        elif shape.role in ("drain", "collider") and not shape.moving and self.outside(shape):
            self.warnings.append(f"{shape.role} {shape.label} lies outside the domain")

    def collider(self, shape: Shape) -> None:
        thick = geometry.thickness(shape)
        if thick < 2.0 * self.cell * (1.0 - 1e-9):
            self.warnings.append(
                f"collider {shape.label} is {thick:.4g} m thick, {thick / self.cell:.2g} cells: "
                f"matter can pass walls thinner than two cells ({2.0 * self.cell:.4g} m)"
            )
        motion = shape.motion
        if motion is None:
            return
        solver = self.scene.solver
        speed = _fastest(motion, _extent(shape, self.scene))
        needed = math.ceil(speed / (solver.tick_rate * self.cell) - 1e-9)
        if needed > solver.max_substeps:
            self.warnings.append(
                f"collider {shape.label} moves at up to {speed:.3g} m/s: it crosses more than a "
                f"cell a substep below {needed} substeps, max_substeps is {solver.max_substeps}"
            )
        if motion.repeat == "loop":
            for first, last, unit in _ends(motion):
                jump = math.dist(first, last)
                if unit == "degrees":
                    jump = abs(math.remainder(jump, 360.0))
                if jump > 1e-9:
                    self.warnings.append(
                        f"collider {shape.label} jumps by {jump:.3g} {unit} where its motion "
                        "begins again: its first and last keyframes differ, and it does not sweep "
                        "what lies between"
                    )

    def speeds(self, fall: float, needed: int) -> None:
        most = self.scene.solver.max_substeps
        if needed > most:
            self.warnings.append(
                f"falling through the domain matter reaches {fall:.3g} m/s, which needs {needed} "
                f"substeps; max_substeps is {most}, so it is held to one cell a substep"
            )

    def material(self, report: MaterialReport) -> None:
        solver = self.scene.solver
        waves = f"waves in {report.name} run at {report.wave_speed:.3g} m/s"
        late = report.substeps_for_cfl_1 > solver.max_substeps
        limit = (
            f"the acoustic limit (CFL 1) needs {report.substeps_for_cfl_1} substeps, max_substeps "
            f"is {solver.max_substeps} (CFL {report.cfl_at_max_substeps:.3g})"
        )
        if late and solver.acoustic == "bind":
            self.warnings.append(f"{waves}: {limit}")
        elif late and solver.method == "explicit":
            self.warnings.append(f"{waves}: {limit}; beyond it the explicit method explodes")
        elif late and solver.method == "classic":
            self.notes.append(f"{waves}: {limit}; the classic method only shows it")
        elif solver.method == "compliant":
            self.softening(report, waves)

    def softening(self, report: MaterialReport, waves: str) -> None:
        solver = self.scene.solver
        least, most = report.stiffness_at_min_substeps, report.stiffness_at_max_substeps
        if most < 0.9:
            self.warnings.append(
                f"{waves}: even at max_substeps = {solver.max_substeps} (CFL "
                f"{report.cfl_at_max_substeps:.3g}) {solver.rounds} rounds leave it "
                f"{most:.0%} of its stiffness"
            )
        elif least < 0.99:
            self.notes.append(
                f"{waves}: {solver.rounds} rounds leave it {least:.0%} of its stiffness at "
                f"min_substeps = {solver.min_substeps} (CFL {report.cfl_at_min_substeps:.3g}), "
                f"{most:.0%} at max_substeps = {solver.max_substeps}"
            )

    def transfer(self, report: TransferReport) -> None:
        if report.quanta < FEW_QUANTA:
            self.warnings.append(
                f"{report.lightest} is so much lighter than the densest material that a particle "
                f"of it is {report.quanta} quanta of the grid's fixed point: below {FEW_QUANTA} "
                "its motion is coarse; fewer particles a cell, or densities closer to each other"
            )

    def unused(self, fills: list[FillReport]) -> None:
        used = {shape.material for shape in self.scene.shapes if shape.material}
        for name in self.scene.materials:
            if name not in used:
                self.notes.append(f"material {name} is in no shape: it can only be painted")

    def beyond(self, shape: Shape) -> float:
        """How far a shape reaches out of the domain [m]."""
        left, bottom, right, top = geometry.bounds(shape)
        width, height = self.scene.domain.size
        return max(-left, -bottom, right - width, top - height, 0.0)

    def outside(self, shape: Shape) -> bool:
        left, bottom, right, top = geometry.bounds(shape)
        width, height = self.scene.domain.size
        return right <= 0.0 or top <= 0.0 or left >= width or bottom >= height

    def any_site(self, shape: Shape) -> bool:
        return any(len(sub) for sub in geometry.site_blocks(self.scene, shape))
