"""Pictures of a simulation: its present as a frame, and a frame as a PNG file."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from app.errors import RenderError
from app.render.camera import Camera
from app.render.frame import Frame, Ring, ShapeView, linear_rgb

if TYPE_CHECKING:
    from app.geometry import Pose
    from app.render.renderer import Renderer
    from app.scene import Scene
    from app.shape import Shape
    from app.simulation import Simulation

DEFAULT_SIZE = (1280, 800)


def frame_of(
    simulation: Simulation,
    camera: Camera | None = None,
    view: str = "matter",
    *,
    ring: Ring | None = None,
    theme: str = "dark",
    pixel_ratio: float = 1.0,
) -> Frame:
    """The simulation as it is now.

    camera: what is seen; without one a picture of 1280x800 shows what the scene's camera shows, or
        the whole domain if the scene has none
    view: "matter", or a quantity that `Simulation.draw_buffer` knows
    ring, theme, pixel_ratio: as in `Frame`
    """
    scene = simulation.scene
    domain = tuple(scene.domain.size)
    edges = scene.domain.edges
    names = list(simulation.materials)
    records = list(simulation.materials.values())
    camera = camera or _first_look(scene)
    return Frame(
        points=simulation.draw_buffer(view),
        palette=np.array([linear_rgb(r.color) for r in records], np.float32).reshape(-1, 3),
        models=tuple(record.model for record in records),
        shapes=tuple(
            _shape_view(shape, pose, names, domain, camera)
            for shape, pose in zip(scene.shapes, simulation.shape_poses(), strict=True)
            if shape.role != "fill"
        ),
        domain=domain,
        edges=(edges.left, edges.right, edges.bottom, edges.top),
        particle_size=scene.domain.cell / scene.solver.particles_per_cell**0.5,
        camera=camera,
        view=view,
        view_range=simulation.view_range(view),
        ring=ring,
        theme=theme,
        pixel_ratio=pixel_ratio,
    )


def _first_look(scene: Scene) -> Camera:
    """What a scene shows before anybody moves the camera."""
    if scene.camera is None:
        return Camera(viewport=DEFAULT_SIZE).fit(scene.domain.size)
    return Camera(scene.camera.center, scene.camera.height, DEFAULT_SIZE)


def _shape_view(
    shape: Shape, pose: Pose, names: list[str], domain: tuple[float, float], camera: Camera
) -> ShapeView:
    """One shape where it is now."""
    from app.geometry import outline

    center, angle = pose
    # Enough pieces that a circle's sides bulge less than a quarter pixel. In powers of two, so that
    # zooming seldom changes the outline, which costs an upload.
    radius = (shape.radius or 0.0) * camera.pixels_per_meter
    pieces = 2 ** math.ceil(math.log2(max(32.0, math.pi * math.sqrt(2.0 * radius))))
    return ShapeView(
        role=shape.role,
        kind=shape.kind,
        outline=outline(shape, center, angle, segments=min(pieces, 512), domain=domain),
        material=names.index(shape.material) if shape.material in names else None,
        direction=shape.direction if shape.role == "emitter" else None,
        label=shape.name or "",
        friction=shape.friction if shape.role == "collider" else "slip",
    )


def save_picture(
    frame: Frame,
    path: str | os.PathLike,
    size: tuple[int, int] | None = None,
    *,
    renderer: Renderer | None = None,
) -> Path:
    """Draw a frame and write it as a PNG file, all of it or nothing; returns the path.

    size: (width, height) [px]; another shape than the camera's shows more, never less
    renderer: draws the picture if given (its target is resized), else one off screen

    Raises RenderError if there is no OpenGL or the file cannot be written.
    """
    if size is not None and tuple(size) != frame.camera.viewport:
        frame = replace(frame, camera=frame.camera.with_viewport(*size))
    path = Path(path)
    _must_be_writable(path)
    if renderer is not None:
        renderer.draw(frame)
        pixels = renderer.read_pixels()
    else:
        from app.render.offscreen import offscreen

        with offscreen(*frame.camera.viewport) as own:
            own.draw(frame)
            pixels = own.read_pixels()
    write_png(pixels, path)
    return path


def write_png(pixels: np.ndarray, path: Path) -> None:
    """Write (h, w, 4) uint8 as an opaque PNG: to a temporary name first, then renamed.

    Raises RenderError if the file cannot be written.
    """
    from PIL import Image

    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        with os.fdopen(descriptor, "wb") as file:
            Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(file, format="PNG")
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise _unwritable(path, error.strerror or str(error)) from error


def _must_be_writable(path: Path) -> None:
    """Fail before anything is drawn."""
    if os.path.isdir(path):  # unlike Path's, these never raise
        raise _unwritable(path, "it is a folder")
    if not os.path.isdir(path.parent):
        raise _unwritable(path, f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise _unwritable(path, f"no permission to write in {path.parent}")


def _unwritable(path: Path, reason: str) -> RenderError:
    return RenderError(f"picture {path} cannot be written: {reason}; choose another place")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
