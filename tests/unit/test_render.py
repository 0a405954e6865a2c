"""Contract: a frame of plain data becomes the picture that it describes.

World points land on the pixels that the camera says, free slots draw nothing, matter has the
colours of its palette with crisp borders, particles smaller than pixels keep their total
brightness, colliders cover exactly their area, and a renderer leaves the context in the state that
it documents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.errors import RenderError
from app.render import Camera, Frame, Ring, ShapeView
from app.render.frame import encoded_rgb, linear_rgb

SIZE = (320, 200)
PARTICLE = 0.01
RED, GREEN, BLUE, SAND, HONEY = "#e03020", "#30c040", "#2060e0", "#e0b25a", "#f09a1a"


@pytest.fixture(scope="module", params=[1.0, 0.5], ids=["full", "half"])
def renderer(request):
    from app.render.offscreen import offscreen

    try:
        context = offscreen(*SIZE, quality=request.param)
        with context as renderer:
            yield renderer
    except RenderError as error:
        pytest.skip(f"no OpenGL 3.3 without a window here: {error}")


def rows(positions, material=0, value=0, grain=128):
    """Rows of a draw buffer."""
    positions = np.asarray(positions, dtype=np.float32).reshape(-1, 2)
    points = np.zeros((len(positions), 3), dtype=np.float32)
    points[:, :2] = positions
    points.view(np.uint32)[:, 2] = (
        np.uint32(material) | np.uint32(value) << np.uint32(8) | np.uint32(grain) << np.uint32(24)
    )
    return points


def block(xmin, ymin, xmax, ymax, material=0, value=0):
    """A box full of particles at rest."""
    xs = np.arange(xmin + PARTICLE / 2, xmax, PARTICLE)
    ys = np.arange(ymin + PARTICLE / 2, ymax, PARTICLE)
    return rows(np.stack(np.meshgrid(xs, ys), axis=-1), material, value)


def frame(points=(), colors=(RED,), models=None, camera=None, **changes):
    """A frame of a 3.2 m x 2 m domain that fills the picture to its edges."""
    points = np.concatenate(points) if len(points) else np.zeros((0, 3), np.float32)
    values = {
        "points": points,
        "palette": np.array([linear_rgb(color) for color in colors], dtype=np.float32),
        "models": tuple(models or ["elastic"] * len(colors)),
        "shapes": (),
        "domain": (3.2, 2.0),
        "edges": ("open", "open", "open", "open"),
        "particle_size": PARTICLE,
        "camera": camera or Camera(center=(1.6, 1.0), height=2.0, viewport=SIZE),
    }
    return Frame(**{**values, **changes})


def picture(renderer, frame):
    """RGB of a frame, float, first row at the bottom, so that pixels index as the camera says."""
    from app.render.opengl import gl

    renderer.draw(frame)
    pixels = renderer.read_pixels()
    assert gl.glGetError() == 0, "OpenGL takes every call"
    assert pixels.dtype == np.uint8
    assert pixels.shape == (frame.camera.viewport[1], frame.camera.viewport[0], 4)
    assert (pixels[..., 3] == 255).all(), "pictures are opaque"
    return pixels[::-1, :, :3].astype(float)


def ink(renderer, drawn):
    """How much of the frame's first colour each pixel holds, 0..1."""
    empty = picture(renderer, replace(drawn, points=drawn.points[:0]))[..., 0]
    full = 255.0 * encoded_rgb(drawn.palette[0])[0]
    return (picture(renderer, drawn)[..., 0] - empty) / (full - empty)


def srgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


# Where things land -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["liquid", "elastic", "sand", "visco"])
@pytest.mark.parametrize(
    "camera",
    [
        Camera(center=(1.6, 1.0), height=2.0, viewport=SIZE),
        Camera(center=(1.3, 0.7), height=0.4, viewport=SIZE),
        Camera(center=(1.21, 0.52), height=0.05, viewport=(301, 173)),
        Camera(center=(0.5, 1.2), height=1.4, viewport=SIZE).zoom_at((200, 20), 1.7).pan(-31, 12),
    ],
    ids=["all", "near", "close", "panned"],
)
def test_a_dot_lands_where_the_camera_says(renderer, camera, model):
    point = camera.pixel_to_world((0.7 * camera.viewport[0], 0.35 * camera.viewport[1]))
    dots = ink(renderer, frame([rows(point)], models=[model], camera=camera))
    assert dots.sum() > 0.2, "the dot is to be seen"
    # Where it is counts here, not how it is lit.
    weight = np.clip(dots / dots.max(), 0.1, 0.5) - 0.1
    ys, xs = np.indices(weight.shape) + 0.5
    center = np.array([(xs * weight).sum(), (ys * weight).sum()]) / weight.sum()
    expected = camera.world_to_pixel(point)
    np.testing.assert_allclose(center, expected, atol=0.75)
    # What a flipped picture would show is far from it.
    assert abs((camera.viewport[1] - center[1]) - expected[1]) > 10


def test_free_slots_draw_nothing(renderer):
    nowhere = rows([(0.4, 0.4), (1.6, 1.0), (2.0, 1.5)], material=255)
    background = picture(renderer, frame())
    np.testing.assert_array_equal(picture(renderer, frame([nowhere])), background)
    live = block(1.0, 1.0, 1.2, 1.2)
    mixed = frame([nowhere, live[:200], nowhere, live[200:], nowhere])
    np.testing.assert_array_equal(picture(renderer, mixed), picture(renderer, frame([live])))
    assert not np.array_equal(picture(renderer, mixed), background)


def test_a_material_without_a_palette_entry_draws_nothing(renderer):
    stray = frame([block(1.0, 1.0, 1.5, 1.5, material=7)])
    difference = picture(renderer, stray) - picture(renderer, frame())
    assert np.abs(difference).max() <= 255 * 0.5, "no colour was given, at most a shadow falls"


def test_positions_that_are_not_numbers_are_survived(renderer):
    broken = rows([(np.nan, 1.0), (np.inf, 1.0), (1e30, -1e30)])
    live = block(1.0, 1.0, 1.2, 1.2)
    with_broken = picture(renderer, frame([broken, live]))
    np.testing.assert_array_equal(with_broken, picture(renderer, frame([live])))


def test_matter_does_not_show_inside_closed_walls(renderer):
    camera = Camera(center=(1.6, 0.1), height=0.5, viewport=SIZE)
    wall = round(float(camera.world_to_pixel((0.0, 0.0))[1]))
    drop = block(1.0, 0.0, 2.2, 0.1)
    for bottom, bleeds in (("stick", False), ("slip", False), ("open", True)):
        edges = ("slip", "slip", bottom, "slip")
        beyond = ink(renderer, frame([drop], camera=camera, edges=edges))[wall - 2 : wall]
        assert (beyond.max() > 0.3) == bleeds, bottom


# Colours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_matter_has_the_colours_of_its_palette(renderer, theme):
    colors = (BLUE, RED, SAND, HONEY)
    models = ("liquid", "elastic", "sand", "visco")
    blocks = [block(0.2 + 0.7 * i, 0.5, 0.8 + 0.7 * i, 1.5, i) for i in range(4)]
    shown = picture(renderer, frame(blocks, colors, models, theme=theme))
    for i, color in enumerate(colors):
        inside = shown[90:110, 40 + 70 * i : 60 + 70 * i].reshape(-1, 3).mean(axis=0)
        distances = [np.abs(inside - srgb(other)).max() for other in colors]
        assert np.argmin(distances) == i
        assert distances[i] < 40, (models[i], inside, srgb(color))


def test_more_materials_than_lanes_all_show(renderer):
    colors = tuple(
        f"#{(i * 53) % 256:02x}{(i * 97 + 60) % 256:02x}{(255 - 24 * i):02x}" for i in range(10)
    )
    blocks = [block(0.1 + 0.3 * i, 0.5, 0.4 + 0.3 * i, 1.5, i) for i in range(10)]
    shown = picture(renderer, frame(blocks, colors))
    for i, color in enumerate(colors):
        inside = shown[90:110, 21 + 30 * i : 29 + 30 * i].reshape(-1, 3).mean(axis=0)
        assert np.abs(inside - srgb(color)).max() < 40, i


@pytest.mark.parametrize("height", [1.0, 0.3])
def test_materials_meet_in_crisp_borders(renderer, height):
    camera = Camera(center=(1.6, 1.0), height=height, viewport=SIZE)
    two = frame(
        [block(0.6, 0.4, 1.6, 1.6, 0), block(1.6, 0.4, 2.6, 1.6, 1)], (RED, GREEN), camera=camera
    )
    middle = picture(renderer, two)[80:120]
    share = (middle[..., 0] - middle[..., 1]) / (srgb(RED)[0] - srgb(RED)[1])
    muddy = (np.abs(share) < 0.55).sum(axis=1)
    assert muddy.max() <= 3, "a border is at most three pixels wide"
    border = np.argmax(share < 0.0, axis=1)
    assert np.abs(border - SIZE[0] / 2).max() <= 2


def test_a_view_colours_by_value(renderer):
    blocks = [block(0.4, 0.5, 1.4, 1.5, 0, value=0), block(1.8, 0.5, 2.8, 1.5, 1, value=65535)]
    shown = picture(renderer, frame(blocks, (RED, RED), view="speed"))
    low = shown[90:110, 80:100].reshape(-1, 3).mean(axis=0)
    high = shown[90:110, 220:240].reshape(-1, 3).mean(axis=0)
    # The ends of viridis: a dark violet and a bright yellow; the palette's red is not used.
    np.testing.assert_allclose(low, (68, 1, 84), atol=30)
    np.testing.assert_allclose(high, (253, 231, 37), atol=40)


def test_sand_has_grain_and_other_matter_has_not(renderer):
    camera = Camera(center=(1.6, 1.0), height=0.4, viewport=SIZE)
    sand = block(0.8, 0.5, 2.4, 1.5)
    bits = sand.view(np.uint32)[:, 2]
    bits[:] = (bits & 0x00FFFFFF) | (np.arange(len(sand), dtype=np.uint32) * 37 % 256) << 24
    spread = {}
    for model in ("sand", "elastic"):
        shown = picture(renderer, frame([sand], (SAND,), [model], camera=camera))
        spread[model] = shown[60:140, 100:220, 0].std()
    assert spread["sand"] > 8.0
    assert spread["elastic"] < 3.0


# Brightness --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["liquid", "elastic", "visco"])
def test_particles_smaller_than_pixels_keep_their_total_brightness(renderer, model):
    rng = np.random.default_rng(3)
    cells = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 2)
    points = rows((cells * 5.0 + rng.uniform(0, 1, cells.shape)) * PARTICLE + (1.4, 0.8))
    areas = []
    for spacing in (0.4, 0.7, 1.0, 1.5, 2.5, 4.0):  # pixels between particles at rest
        camera = Camera(center=(1.6, 1.0), height=SIZE[1] * PARTICLE / spacing, viewport=SIZE)
        total = ink(renderer, frame([points], models=[model], camera=camera)).sum()
        areas.append(total * camera.meters_per_pixel**2 / len(points) / PARTICLE**2)
    # One particle covers about the area that it has at rest, however small it is on the picture.
    # Discs that are only enlarged to a pixel would come out ten times too bright at 0.4.
    assert min(areas) > 0.5 and max(areas) < 1.6, areas


def test_a_body_covers_its_area_at_every_zoom(renderer):
    points = block(1.2, 0.6, 2.0, 1.4)
    for height in (12.0, 6.0, 2.0, 1.0):
        camera = Camera(center=(1.6, 1.0), height=height, viewport=SIZE)
        covered = ink(renderer, frame([points], camera=camera)).sum()
        assert covered * camera.meters_per_pixel**2 == pytest.approx(0.64, rel=0.12), height


# Shapes ------------------------------------------------------------------------------------------

TRIANGLE = np.array([(1.0, 0.5), (2.2, 0.6), (1.5, 1.6), (1.0, 0.5)])


def box(xmin, ymin, xmax, ymax):
    return np.array([(xmin, ymin), (xmax, ymin), (xmax, ymax), (xmin, ymax)])


def signed_distance(outline, camera):
    """Pixels to the outline of every pixel's centre, positive inside; counter-clockwise, convex."""
    corners = camera.world_to_pixel(outline)
    ys, xs = np.indices((camera.viewport[1], camera.viewport[0])) + 0.5
    distance = np.full(xs.shape, np.inf)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = end - start
        length = np.hypot(*side)
        if length > 0:
            distance = np.minimum(
                distance, (side[0] * (ys - start[1]) - side[1] * (xs - start[0])) / length
            )
    return distance


@pytest.mark.parametrize("friction", ["slip", "stick", 0.3])
@pytest.mark.parametrize("height", [2.0, 0.9, 6.0])
@pytest.mark.parametrize("turned", [False, True], ids=["counter-clockwise", "clockwise"])
def test_a_collider_covers_its_area_and_nothing_else(renderer, friction, height, turned):
    camera = Camera(center=(1.55, 0.9), height=height, viewport=SIZE)
    collider = ShapeView(
        "collider", "polygon", TRIANGLE[::-1] if turned else TRIANGLE, friction=friction
    )
    matter = [block(0.0, 0.0, 3.2, 2.0)]
    shown = picture(renderer, frame(matter, (GREEN,), camera=camera, shapes=(collider,)))
    bare = picture(renderer, frame(matter, (GREEN,), camera=camera))
    distance = signed_distance(TRIANGLE, camera)
    greenness = shown[..., 1] - np.maximum(shown[..., 0], shown[..., 2])
    assert (greenness[distance > 1.5] < 40).all(), "no matter shows through"
    np.testing.assert_array_equal(shown[distance < -4.0], bare[distance < -4.0])


def test_rough_and_smooth_colliders_can_be_told_apart(renderer):
    outline = box(1.0, 0.6, 2.2, 1.4)
    looks = {
        friction: picture(
            renderer, frame(shapes=(ShapeView("collider", "box", outline, friction=friction),))
        )[70:130, 110:210]
        for friction in ("slip", "stick")
    }
    assert looks["slip"].std(axis=(0, 1)).max() < 3.0, "smooth is plain"
    assert looks["stick"].std(axis=(0, 1)).max() > 6.0, "rough is hatched"
    apart = np.abs(looks["slip"].mean(axis=(0, 1)) - looks["stick"].mean(axis=(0, 1)))
    assert apart.max() > 20


@pytest.mark.parametrize("role", ["emitter", "drain"])
def test_zones_are_outlined_and_let_matter_through(renderer, role):
    zone = ShapeView(role, "box", box(1.0, 0.6, 2.2, 1.4), 0 if role == "emitter" else None, None)
    matter = [block(0.5, 0.4, 2.7, 1.6)]
    bare = picture(renderer, frame(matter, (GREEN,)))
    shown = picture(renderer, frame(matter, (GREEN,), shapes=(zone,)))
    changed = np.abs(shown - bare).max(axis=-1)
    distance = signed_distance(zone.outline, frame().camera)
    assert changed[(distance > 0) & (distance < 2)].max() > 60, "an outline"
    inside = (distance > 8) & (changed < 60)
    assert inside.sum() > 0.85 * (distance > 8).sum(), "matter shows through"
    assert changed[distance < -2].max() == 0


def test_an_emitter_points_where_it_throws(renderer):
    def marks(direction):
        zone = ShapeView("emitter", "box", box(1.2, 0.6, 2.0, 1.4), 0, direction)
        shown = picture(renderer, frame(colors=(GREEN,), shapes=(zone,)))
        return shown[75:125, 135:185, 1] > 150

    right, left, up = marks((1.0, 0.0)), marks((-1.0, 0.0)), marks((0.0, 1.0))
    assert 10 < right.sum() < 1000
    assert not np.array_equal(right, left)
    assert (right != left[:, ::-1]).sum() <= 0.3 * right.sum(), "left is right mirrored"
    assert (up != right.T).sum() <= 0.3 * right.sum(), "up is right turned"


def test_degenerate_and_half_plane_outlines_are_drawn_without_harm(renderer):
    far = np.array([(-50.0, -50.0), (50.0, -50.0), (50.0, 0.5), (-50.0, 0.5)])
    shapes = (
        ShapeView("collider", "polygon", np.zeros((0, 2))),
        ShapeView("collider", "polygon", np.array([(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)])),
        ShapeView("collider", "polygon", np.array([(0.0, 0.0), (1.0, np.nan), (1.0, 1.0)])),
        ShapeView("collider", "half_plane", far),
        ShapeView("fill", "box", box(2.0, 1.2, 2.6, 1.8)),
    )
    bare, shown = picture(renderer, frame()), picture(renderer, frame(shapes=shapes))
    assert (np.abs(shown - bare)[4:48, 4:-4].max(axis=-1) > 20).all(), "the half-plane"
    np.testing.assert_array_equal(shown[60:], bare[60:])


def test_moving_colliders_are_drawn_where_they_are_now(renderer):
    for x in (0.5, 1.0, 1.7, 0.5):
        shape = ShapeView("collider", "box", box(x, 0.8, x + 0.4, 1.2))
        shown = picture(renderer, frame(shapes=(shape,)))
        changed = np.abs(shown - picture(renderer, frame())).max(axis=-1) > 40
        middle = np.argwhere(changed[:, :]).mean(axis=0)[::-1] + 0.5
        np.testing.assert_allclose(middle, frame().camera.world_to_pixel((x + 0.2, 1.0)), atol=2.0)


def test_open_edges_are_dashed_and_closed_ones_are_not(renderer):
    camera = Camera(center=(1.6, 1.0), height=2.4, viewport=SIZE)
    row = int(camera.world_to_pixel((0.0, 2.0))[1])
    left, right = (int(x) for x in camera.world_to_pixel(np.array([(0.1, 0), (3.1, 0)]))[:, 0])
    brightness = {}
    for edge in ("open", "slip"):
        shown = picture(renderer, frame(camera=camera, edges=("slip", "slip", "slip", edge)))
        brightness[edge] = shown[row - 1 : row + 2, left:right].max(axis=0).max(axis=-1)
    assert brightness["slip"].min() > 80
    assert brightness["open"].min() < 50 and brightness["open"].max() > 80


def test_a_ring_is_drawn_at_its_radius(renderer):
    ring = Ring((1.2, 1.1), 0.5, (1.0, 0.2, 1.0, 1.0))
    camera = frame().camera
    lit = picture(renderer, frame(ring=ring))[..., 0] > 180
    ys, xs = np.indices(lit.shape) + 0.5
    center = camera.world_to_pixel(ring.center)
    away = np.hypot(xs - center[0], ys - center[1])[lit]
    assert lit.sum() > 200
    np.testing.assert_allclose(away, 0.5 * camera.pixels_per_meter, atol=1.5)
    plain = picture(renderer, frame(ring=tuple(ring)))
    np.testing.assert_array_equal(plain[..., 0] > 180, lit)


# The renderer itself -----------------------------------------------------------------------------


def test_pictures_do_not_depend_on_what_was_drawn_before(renderer):
    first = frame([block(1.0, 0.6, 1.5, 1.2)], shapes=(ShapeView("drain", "polygon", TRIANGLE),))
    expected = picture(renderer, first)
    large = Camera(center=(1.6, 1.0), height=2.0, viewport=(900, 700))
    many = frame([block(0.0, 0.0, 3.2, 2.0)] * 3, (BLUE,), ["sand"], camera=large)
    picture(renderer, many)
    picture(renderer, replace(many, view="speed", theme="light"))
    picture(renderer, frame(camera=Camera(viewport=(1, 1))))
    np.testing.assert_array_equal(picture(renderer, first), expected)


def test_lines_keep_their_width_on_hi_dpi(renderer):
    ring = Ring((1.6, 1.0), 0.6, (1.0, 1.0, 1.0, 1.0))
    double = Camera(center=(1.6, 1.0), height=2.0, viewport=(640, 400))
    once = (picture(renderer, frame(ring=ring))[..., 0] > 150).sum()
    twice = (
        picture(renderer, frame(ring=ring, camera=double, pixel_ratio=2.0))[..., 0] > 150
    ).sum()
    assert twice == pytest.approx(4 * once, rel=0.2)


def test_it_copes_with_the_state_others_leave_and_leaves_its_own_documented_one(renderer):
    from app.render.opengl import gl

    drawn = frame([block(1.0, 0.6, 1.5, 1.2)], shapes=(ShapeView("collider", "box", TRIANGLE),))
    expected = picture(renderer, drawn)
    for capability in (gl.GL_SCISSOR_TEST, gl.GL_DEPTH_TEST, gl.GL_CULL_FACE, gl.GL_STENCIL_TEST):
        gl.glEnable(capability)
    gl.glScissor(0, 0, 3, 3)
    gl.glBlendEquation(gl.GL_FUNC_REVERSE_SUBTRACT)
    gl.glBlendFunc(gl.GL_ZERO, gl.GL_ZERO)
    gl.glColorMask(False, False, False, False)
    gl.glViewport(5, 5, 1, 1)
    gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 8)
    np.testing.assert_array_equal(picture(renderer, drawn), expected)

    renderer.draw(drawn)

    def integers(name, count=1):
        values = (gl.GLint * count)()
        gl.glGetIntegerv(name, values)
        return list(values)

    assert integers(gl.GL_VIEWPORT, 4) == [0, 0, *SIZE]
    assert integers(gl.GL_CURRENT_PROGRAM) == [0]
    assert integers(gl.GL_VERTEX_ARRAY_BINDING) == [0]
    assert integers(gl.GL_ACTIVE_TEXTURE) == [gl.GL_TEXTURE0]
    assert integers(gl.GL_BLEND_SRC_RGB) == [gl.GL_SRC_ALPHA]
    assert integers(gl.GL_BLEND_DST_RGB) == [gl.GL_ONE_MINUS_SRC_ALPHA]
    assert gl.glIsEnabled(gl.GL_BLEND)
    assert not gl.glIsEnabled(gl.GL_SCISSOR_TEST)
    assert gl.glGetError() == 0


def test_no_frame_makes_new_buffers(renderer):
    from app.render.opengl import gl

    def buffers():
        return sum(bool(gl.glIsBuffer(name)) for name in range(1, 2000))

    drawn = frame([block(1.0, 0.6, 1.5, 1.2)], shapes=(ShapeView("collider", "box", TRIANGLE),))
    renderer.draw(drawn)
    before = buffers()
    for shift in range(10):
        moved = ShapeView("collider", "box", TRIANGLE + 0.01 * shift)
        renderer.draw(replace(drawn, shapes=(moved,)))
    assert buffers() == before
