"""The renderer: one frame becomes one picture, in five passes.

1 splat: every particle is added as a soft disc into density lanes, one lane a material;
2 relief: the density, blurred broadly, with its slopes (small targets, so it costs little);
3 background;
4 matter: the lanes become edges, borders, light and shadow, in tiles that are not empty; sand gets
  its grains on top;
5 shapes, border and ring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import byref, c_void_p
from dataclasses import dataclass

import numpy as np

from app.render.camera import Camera
from app.render.frame import Frame, Ring, encoded_rgb
from app.render.opengl import gl
from app.render.point_buffer import PointBuffer
from app.render.program import Program
from app.render.shape_mesh import ShapeMesh
from app.render.target import BYTE, HALF, Target
from app.render.theme import THEMES, Theme

LANES = 8  # materials of one splat pass; more materials take another pass

# The disc's radius in particle distances: wide enough to close the gaps of a settled liquid, narrow
# enough that a lone particle (density 0.42 at its middle) still shows above the
# threshold.
SPREAD = 1.7
THRESHOLD = 0.26
MIN_RADIUS = 1.5  # of a disc in its target [px]; smaller ones are drawn this large and fainter
MAX_RADIUS = 14.0  # in its target [px]; a closer view gets a coarser target, the field is smooth
TILE = 8  # relief pixels, as in tiles.frag.glsl
SHADOW_OFFSET = (4.0, -6.0)  # [window points], y up
GRAIN_RADIUS = 0.56  # of a grain of sand, in particle distances

# How wet the surface of a model looks: 0 dull with a dark outline, 1 glossy with a bright rim.
WETNESS = {
    "liquid": 1.0,
    "visco": 0.62,
    "clay": 0.4,
    "neo_hookean": 0.35,
    "elastic": 0.25,
    "snow": 0.1,
    "sand": 0.0,
}
UNITS = 4  # texture units in use
SOFTWARE = ("llvmpipe", "softpipe", "swrast", "swiftshader", "gdi generic")


@dataclass(frozen=True)
class _Splat:
    """Sizes of this frame's density lanes."""

    scale: float  # lane pixels per picture pixel
    margin: int  # lane pixels beyond the picture on each side
    size: tuple[int, int]  # lane pixels in use, margins included
    radius: float  # of a disc [lane px]
    weight: float  # of a disc at its middle
    thin: float  # 0: discs as large as they should be; 1: far too large, so drawn fainter
    threshold: float  # density of the visible edge
    lone: float  # opacity of a disc that stands alone, for the right total brightness

    @classmethod
    def of(cls, camera: Camera, particle_size: float, quality: float) -> _Splat:
        wanted = SPREAD * particle_size * camera.pixels_per_meter  # [picture px]
        scale = min(quality, MAX_RADIUS / max(wanted, 1e-6))
        true_radius = wanted * scale
        radius = max(true_radius, MIN_RADIUS)
        shrunk = true_radius / radius
        # Discs (1 - r^2)^2 with this weight add up to density 1 in matter at rest.
        weight = 3.0 / (math.pi * SPREAD**2) * shrunk**2
        margin = math.ceil(radius) + 2
        size = tuple(math.ceil(side * scale) + 2 * margin for side in camera.viewport)
        thin = min(1.0, max(0.0, (1.0 / shrunk - 1.0) / 0.5))
        thin *= thin * (3.0 - 2.0 * thin)
        # A lone disc's middle may fall between lane pixels and should show even there.
        threshold = THRESHOLD * shrunk**2 * (1.0 - 0.25 / radius**2) ** 2
        # It then looks larger than a particle is, which its opacity makes up for.
        area = math.pi * (1.0 - math.sqrt(threshold / weight)) * (SPREAD / shrunk) ** 2
        return cls(scale, margin, size, radius, weight, thin, threshold, min(1.0, 1.0 / area))


@dataclass(frozen=True)
class _Relief:
    """Sizes of this frame's relief."""

    shrink: float  # picture pixels per relief pixel
    size: tuple[int, int]  # relief pixels in use
    tiles: tuple[int, int]  # tiles that cover them

    @classmethod
    def of(cls, frame: Frame) -> _Relief:
        spacing = frame.particle_size * frame.camera.pixels_per_meter
        ratio = frame.pixel_ratio
        blur = min(max(3.2 * spacing, 8.0 * ratio), 40.0 * ratio)  # standard deviation [px]
        shrink = blur / 1.5  # relief_blur.frag.glsl blurs over 1.5 of its pixels
        size = tuple(math.ceil(side / shrink) + 1 for side in frame.camera.viewport)
        return cls(shrink, size, tuple(math.ceil(side / TILE) for side in size))


class Renderer:
    """Draws frames into the current OpenGL 3.3 context, which must stay the same one.

    quality: density pixels per picture pixel, 0.25 to 1; "auto" is 1 on a graphics card and 0.5
        where the processor draws
    target: a Target to draw into; without one it is the window (framebuffer 0)

    Raises RenderError if the driver refuses a shader.
    """

    def __init__(self, *, quality: float | str = "auto", target: Target | None = None):
        self._software = draws_in_software()
        if quality == "auto":
            quality = 0.5 if self._software else 1.0
        self.quality = min(1.0, max(0.25, float(quality)))
        self._target = target
        self._fine_lanes = Target(HALF, 2)
        self._fast_lanes = Target(BYTE, 2)
        self._lanes = self._fine_lanes
        self._rows = Target(HALF)
        self._relief = Target(HALF)
        self._tiles = Target(HALF)
        self._points = PointBuffer()
        self._mesh = ShapeMesh()
        self._splat = Program("splat")
        self._relief_rows = Program("screen", "relief_rows")
        self._relief_rows_wide = Program("screen", "relief_rows", "WIDE")
        self._relief_columns = Program("screen", "relief_columns")
        self._background = Program("background")
        self._matter = Program("matter")
        self._matter_wide = Program("matter", define="WIDE")
        self._value = Program("matter", define="BY_VALUE")
        self._tile_finder = Program("screen", "tiles")
        self._grain = Program("grain")
        self._shape = Program("shape")
        self._ring = Program("ring")
        self._empty = gl.GLuint()
        gl.glGenVertexArrays(1, byref(self._empty))
        self._viewport = (1, 1)

    def draw(self, frame: Frame) -> None:
        """Draw a whole frame over the target or the window.

        Sets all state that it needs and leaves behind: its target bound, the viewport over the
        whole picture, straight alpha blending on, and no program, array or scissor.
        """
        theme = THEMES[frame.theme]
        self._viewport = frame.camera.viewport
        self._prepare_state()
        self._points.upload(frame.points)
        self._mesh.update(frame, theme)
        splat = _Splat.of(frame.camera, frame.particle_size, self.quality)
        by_value = frame.view != "matter"
        groups = [0] if by_value else list(range(0, max(1, len(frame.models)), LANES))
        for first in groups:
            gl.glDisable(gl.GL_SCISSOR_TEST)
            lanes = LANES if by_value else min(LANES, len(frame.models) - first)
            self._draw_lanes(frame, splat, first, lanes, by_value)
            relief = self._draw_relief(frame, splat, lanes, by_value)
            self._bind_output()
            gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE_MINUS_SRC_ALPHA)
            if first == 0:
                self._draw_background(frame, theme)
                gl.glEnable(gl.GL_BLEND)
                self._draw_shapes(frame, theme, shadows=True)
            gl.glEnable(gl.GL_BLEND)
            # Discs reach beyond their particles, but nothing may show inside a closed wall.
            self._cut(frame, [edge != "open" for edge in frame.edges])
            self._draw_matter(frame, theme, splat, relief, first, lanes, by_value)
            if not by_value and "sand" in frame.models[first : first + lanes]:
                self._draw_grains(frame, splat, first, lanes)
        self._draw_shapes(frame, theme)
        self._mesh.draw_border()
        if frame.ring is not None:
            self._draw_ring(frame, Ring(*frame.ring))
        self._leave_state()

    def read_pixels(self) -> np.ndarray:
        """The last picture drawn: (h, w, 4) uint8 sRGB, first row on top. Waits for the card.

        In a window this must come before the buffers are swapped.
        """
        width, height = self._viewport
        pixels = np.empty((height, width, 4), dtype=np.uint8)
        self._bind_output()
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glReadPixels(
            0, 0, width, height, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, pixels.ctypes.data_as(c_void_p)
        )
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Free everything on the graphics card; the context must be current."""
        parts = (part for part in vars(self).values() if part is not self._target)
        for part in parts:
            if isinstance(part, Target | Program | PointBuffer | ShapeMesh):
                part.close()
        gl.glDeleteVertexArrays(1, byref(self._empty))

    # State -------------------------------------------------------------------------------------

    def _prepare_state(self) -> None:
        """Nothing is assumed of the context: ImGui and others draw with it too."""
        for capability in (
            *(gl.GL_DEPTH_TEST, gl.GL_STENCIL_TEST, gl.GL_CULL_FACE, gl.GL_SCISSOR_TEST),
            *(gl.GL_BLEND, gl.GL_FRAMEBUFFER_SRGB, gl.GL_RASTERIZER_DISCARD),
        ):
            gl.glDisable(capability)
        gl.glEnable(gl.GL_PROGRAM_POINT_SIZE)
        gl.glColorMask(gl.GL_TRUE, gl.GL_TRUE, gl.GL_TRUE, gl.GL_TRUE)
        gl.glPolygonMode(gl.GL_FRONT_AND_BACK, gl.GL_FILL)
        gl.glBlendEquation(gl.GL_FUNC_ADD)
        for unit in range(UNITS):  # a sampler object would override the textures' own filters
            gl.glBindSampler(unit, 0)

    def _bind_output(self) -> None:
        width, height = self._viewport
        if self._target is None:
            gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        else:
            self._target.fix(width, height)
            self._target.bind()
        gl.glViewport(0, 0, width, height)

    def _cut(self, frame: Frame, sides: Sequence[bool]) -> None:
        """Draw only within the domain's (left, right, bottom, top) sides that are set."""
        (xmin, ymin), (xmax, ymax) = np.rint(
            np.clip(
                frame.camera.world_to_pixel(np.array([(0.0, 0.0), frame.domain])),
                0,
                self._viewport,
            )
        ).astype(int)
        left, right, bottom, top = sides
        xmin, xmax = (xmin if left else 0), (xmax if right else self._viewport[0])
        ymin, ymax = (ymin if bottom else 0), (ymax if top else self._viewport[1])
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glScissor(int(xmin), int(ymin), int(xmax - xmin), int(ymax - ymin))

    def _leave_state(self) -> None:
        gl.glBindVertexArray(0)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, 0)
        gl.glUseProgram(0)
        for unit in reversed(range(UNITS)):
            gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
            gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)

    def _fill_screen(self) -> None:
        gl.glBindVertexArray(self._empty)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    # Passes ------------------------------------------------------------------------------------

    def _draw_lanes(
        self, frame: Frame, splat: _Splat, first: int, lanes: int, by_value: bool
    ) -> None:
        # A processor adds bytes faster than halves. They will do for density in matter at rest, not
        # for the faint discs of tiny particles nor for values.
        coarse = self._software and splat.thin < 0.5 and not by_value
        self._lanes = self._fast_lanes if coarse else self._fine_lanes
        self._lanes.resize(*splat.size)
        self._lanes.bind(2 if lanes > 4 and not by_value else 1)
        gl.glViewport(0, 0, *splat.size)
        gl.glClearColor(0.0, 0.0, 0.0, 0.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE)
        # The lanes' middle is the picture's lower left corner plus half of what is in use.
        per_meter = frame.camera.pixels_per_meter * splat.scale
        seen = np.array(splat.size) - 2 * splat.margin
        picture = np.array(frame.camera.viewport) * splat.scale
        center = np.array(frame.camera.center) + 0.5 * (seen - picture) / per_meter
        self._splat.use(
            center=center,
            clip_per_meter=2.0 * per_meter / np.array(splat.size),
            radius=splat.radius,
            weight=splat.weight,
            first_material=first,
            by_value=int(by_value),
        )
        self._points.draw()
        gl.glDisable(gl.GL_BLEND)

    def _draw_relief(self, frame: Frame, splat: _Splat, lanes: int, by_value: bool) -> _Relief:
        """Blur the lanes and find out which tiles of the picture are empty."""
        relief = _Relief.of(frame)
        used = np.array(relief.size)
        lane_size = np.array(self._lanes.size)
        wide = lanes > 4 and not by_value
        ratio = relief.shrink * splat.scale  # lane pixels per relief pixel
        for target in (self._rows, self._relief):
            target.resize(*relief.size)
        texel = 1.0 / np.array(self._rows.size)
        offset = np.array(SHADOW_OFFSET) * frame.pixel_ratio / relief.shrink

        self._rows.bind()
        gl.glViewport(0, 0, *relief.size)
        self._lanes.sample(0)
        rows = self._relief_rows_wide if wide else self._relief_rows
        rows.use(
            lanes_low=0,
            **({"lanes_high": 1} if wide else {}),
            lane_mask_low=(1.0, 0.0, 0.0, 0.0) if by_value else (1.0, 1.0, 1.0, 1.0),
            taps=1 if ratio <= 3.0 else 2,
            lane_scale=ratio / lane_size,
            lane_offset=splat.margin / lane_size,
            lane_limit=(np.array(splat.size) - 0.5) / lane_size,
        )
        self._fill_screen()

        self._relief.bind()
        self._rows.sample(0)
        self._relief_columns.use(
            rows=0, texel=texel, last=(used - 0.5) * texel, shadow_offset=offset
        )
        self._fill_screen()

        self._tiles.resize(*relief.tiles)
        self._tiles.bind()
        gl.glViewport(0, 0, *relief.tiles)
        self._relief.sample(0)
        self._tile_finder.use(relief=0, last=used - 1, texel=1.0 / np.array(self._relief.size))
        self._fill_screen()
        return relief

    def _draw_background(self, frame: Frame, theme: Theme) -> None:
        camera = frame.camera
        minor, strength = grid_step(camera, frame.pixel_ratio)
        gl.glClearColor(*theme.outside, 1.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        self._background.use(
            center=camera.center,
            clip_per_meter=2.0 * camera.pixels_per_meter / np.array(camera.viewport),
            domain=frame.domain,
            zenith=theme.zenith,
            ground=theme.ground,
            minor_step=minor,
            pixels_per_step=minor * camera.pixels_per_meter,
            minor_strength=strength,
            grid_color=theme.grid,
        )
        gl.glBindVertexArray(self._empty)
        gl.glDrawArrays(gl.GL_TRIANGLE_STRIP, 0, 4)

    def _draw_matter(
        self,
        frame: Frame,
        theme: Theme,
        splat: _Splat,
        relief: _Relief,
        first: int,
        lanes: int,
        by_value: bool,
    ) -> None:
        lane_size = np.array(self._lanes.size)
        skins = np.zeros((LANES, 4))
        if by_value:
            program = self._value
        else:
            program = self._matter_wide if lanes > 4 else self._matter
            skins[:lanes, :3] = encoded_rgb(frame.palette[first : first + lanes])
            skins[:lanes, 3] = [WETNESS[model] for model in frame.models[first : first + lanes]]
        reach = splat.radius / splat.scale  # of a disc [px]
        self._lanes.sample(0)
        self._relief.sample(2)
        self._tiles.sample(3)
        program.use(
            tiles=3,
            columns=relief.tiles[0],
            pixels_per_tile=np.full(2, TILE * relief.shrink),
            viewport=frame.camera.viewport,
            lanes_low=0,
            lanes_high=1,
            relief=2,
            lane_scale=splat.scale / lane_size,
            lane_offset=splat.margin / lane_size,
            relief_scale=1.0 / (relief.shrink * np.array(self._relief.size)),
            skin_low=skins[:4],
            skin_high=skins[4:],
            thin=splat.thin,
            threshold=splat.threshold,
            lone=splat.lone,
            # The lanes of two materials cross over within one reach; this keeps it to a pixel.
            sharpness=min(max(1.2 * reach, 3.0), 60.0),
            shadow=theme.shadow,
        )
        gl.glBindVertexArray(self._empty)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 6 * relief.tiles[0] * relief.tiles[1])

    def _draw_grains(self, frame: Frame, splat: _Splat, first: int, lanes: int) -> None:
        camera = frame.camera
        wanted = GRAIN_RADIUS * frame.particle_size * camera.pixels_per_meter
        radius = max(wanted, 0.7)
        palette, granular = np.zeros((LANES, 3)), np.zeros(LANES)
        palette[:lanes] = encoded_rgb(frame.palette[first : first + lanes])
        granular[:lanes] = [model == "sand" for model in frame.models[first : first + lanes]]
        self._grain.use(
            center=camera.center,
            clip_per_meter=2.0 * camera.pixels_per_meter / np.array(camera.viewport),
            radius=radius,
            strength=(wanted / radius) ** 2 * (1.0 - splat.thin),
            first_material=first,
            palette=palette,
            granular=granular,
        )
        self._points.draw()

    def _draw_shapes(self, frame: Frame, theme: Theme, *, shadows: bool = False) -> None:
        """The shapes, or their shadows, as far as they lie in the domain."""
        camera = frame.camera
        self._shape.use(
            center=camera.center,
            half_viewport=np.array(camera.viewport) / 2,
            pixels_per_meter=camera.pixels_per_meter,
            pixel_ratio=frame.pixel_ratio,
            pattern_step=pattern_step(camera, frame.pixel_ratio),
            bevel=theme.bevel,
            shift=np.array(SHADOW_OFFSET if shadows else (0.0, 0.0)) * frame.pixel_ratio,
            shadow=theme.shadow if shadows else (0.0, 0.0, 0.0, 0.0),
        )
        self._cut(frame, (True, True, True, True))
        self._mesh.draw_shapes()
        gl.glDisable(gl.GL_SCISSOR_TEST)

    def _draw_ring(self, frame: Frame, ring: Ring) -> None:
        camera = frame.camera
        self._ring.use(
            center=camera.world_to_pixel(ring.center),
            radius=ring.radius * camera.pixels_per_meter,
            width=1.6 * frame.pixel_ratio,
            half_viewport=np.array(camera.viewport) / 2,
            ring_color=ring.rgba,
        )
        gl.glBindVertexArray(self._empty)
        gl.glDrawArrays(gl.GL_TRIANGLE_STRIP, 0, 4)


def draws_in_software() -> bool:
    """Whether the current context is drawn by the processor."""
    name = gl.current_context.get_info().get_renderer().lower()
    return any(word in name for word in SOFTWARE)


def grid_step(camera: Camera, pixel_ratio: float) -> tuple[float, float]:
    """Step of the minor grid lines [m], a power of ten, and their strength 0..1.

    They fade in between 10 and 100 window points apart, so that zooming never pops.
    """
    finest = 10.0 * pixel_ratio * camera.meters_per_pixel
    minor = 10.0 ** math.ceil(math.log10(finest))
    return minor, 0.8 * (1.0 - math.exp(-0.35 * (minor / finest - 1.0)))


def pattern_step(camera: Camera, pixel_ratio: float) -> float:
    """Step of hatches and dashes [m]: a power of two metres, 8 to 16 window points."""
    return 2.0 ** math.ceil(math.log2(8.0 * pixel_ratio * camera.meters_per_pixel))
