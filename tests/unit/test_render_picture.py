"""Contract: `save_picture` writes a whole PNG or nothing, with one sentence when it cannot, and
`frame_of` shows a simulation as it is now."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

from app.errors import RenderError
from app.geometry import pose
from app.render import Camera, Frame, frame_of, save_picture
from app.render.frame import encoded_rgb, linear_rgb
from app.scene import loads

SCENE = """
format = 1
name = "Shapes"
[domain]
size = [2.0, 1.0]
cell = 0.02
edges = { left = "slip", right = 0.5, bottom = "stick", top = "open" }
[materials.water]
base = "water"
color = "#2060e0"
[materials.jelly]
base = "jelly"
[[shapes]]
role = "fill"
kind = "box"
center = [0.5, 0.5]
half_size = [0.2, 0.2]
material = "water"
[[shapes]]
name = "drum"
role = "collider"
kind = "circle"
center = [1.0, 0.5]
radius = 0.2
friction = 0.3
[[shapes]]
role = "collider"
kind = "box"
center = [1.5, 0.5]
half_size = [0.2, 0.05]
friction = "stick"
motion = { keyframes = [{ time = 0.0, center = [1.5, 0.5] }, { time = 1.0, center = [1.5, 0.7] }] }
[[shapes]]
role = "collider"
kind = "half_plane"
center = [1.0, 0.1]
normal = [0.0, 1.0]
[[shapes]]
role = "emitter"
kind = "box"
center = [0.3, 0.9]
half_size = [0.05, 0.05]
material = "jelly"
rate = 0.1
speed = 1.0
direction = [0.0, -1.0]
[[shapes]]
role = "drain"
kind = "capsule"
center = [1.5, 0.2]
half_length = 0.2
radius = 0.05
"""


class Still:
    """What `frame_of` may know of a simulation."""

    def __init__(self, scene, time=0.0):
        self.scene = scene
        self.materials = scene.materials
        self.time = time
        self.asked = None

    def draw_buffer(self, view="matter"):
        self.asked = view
        return np.zeros((4, 3), np.float32)

    def view_range(self, view):
        return (0.0, 5.0)

    def shape_poses(self):
        return [pose(shape, self.time) for shape in self.scene.shapes]


def blank(size=(64, 48)):
    return Frame(
        points=np.zeros((0, 3), np.float32),
        palette=np.zeros((0, 3), np.float32),
        models=(),
        shapes=(),
        domain=(1.0, 1.0),
        edges=("slip", "slip", "stick", "open"),
        particle_size=0.01,
        camera=Camera((0.5, 0.5), 1.0, size),
    )


class Plain:
    """A renderer of plain pictures, so that files are tested without OpenGL."""

    def draw(self, frame):
        self.size = frame.camera.viewport

    def read_pixels(self):
        width, height = self.size
        pixels = np.full((height, width, 4), 200, dtype=np.uint8)
        pixels[0, :, 0] = 7  # the top row
        return pixels


def test_a_frame_shows_the_simulation_as_it_is(tmp_path):
    scene = loads(SCENE)
    simulation = Still(scene, time=0.5)
    frame = frame_of(simulation, view="speed")
    assert simulation.asked == frame.view == "speed"
    assert frame.view_range == (0.0, 5.0)
    assert frame.domain == (2.0, 1.0)
    assert frame.edges == ("slip", 0.5, "stick", "open")
    assert frame.particle_size == pytest.approx(0.01)
    assert frame.points.shape == (4, 3)
    names = list(scene.materials)
    assert frame.models == tuple(scene.materials[name].model for name in names)
    water = frame.palette[names.index("water")]
    np.testing.assert_allclose(encoded_rgb(water) * 255, (0x20, 0x60, 0xE0), atol=0.1)

    drum, press, floor, emitter, drain = frame.shapes  # fills are not drawn
    assert (drum.role, drum.kind, drum.label, drum.friction) == ("collider", "circle", "drum", 0.3)
    np.testing.assert_allclose(np.hypot(*(drum.outline - (1.0, 0.5)).T), 0.2)
    np.testing.assert_allclose(press.outline[:-1].mean(axis=0), (1.5, 0.6), atol=1e-9)
    assert press.friction == "stick"
    assert floor.outline[:, 1].max() == pytest.approx(0.1)
    assert emitter.material == names.index("jelly")
    assert emitter.direction == (0.0, -1.0)
    assert (drain.role, drain.material, drain.direction) == ("drain", None, None)


def test_without_a_camera_the_scene_decides_what_is_seen():
    xmin, ymin, xmax, ymax = frame_of(Still(loads(SCENE))).camera.bounds
    assert xmin < 0 and ymin < 0 and xmax > 2 and ymax > 1
    text = SCENE.replace(
        "[materials.water]", "[camera]\ncenter = [1.0, 0.4]\nheight = 0.5\n[materials.water]"
    )
    camera = frame_of(Still(loads(text))).camera
    assert camera.center == (1.0, 0.4) and camera.height == 0.5
    own = Camera((0.2, 0.2), 0.1, (30, 20))
    assert frame_of(Still(loads(text)), own).camera is own


def test_circles_get_rounder_the_closer_one_looks():
    scene = loads(SCENE)
    corners = [
        len(frame_of(Still(scene), Camera((1.0, 0.5), height, (800, 600))).shapes[0].outline)
        for height in (2.0, 0.1)
    ]
    assert corners[0] < corners[1] <= 513


def test_colours_survive_the_way_to_linear_light_and_back():
    for color in ("#000000", "#ffffff", "#0a7f33", "#e0b25a"):
        wanted = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
        np.testing.assert_allclose(
            encoded_rgb(np.array(linear_rgb(color))) * 255, wanted, atol=1e-3
        )


def test_a_picture_is_a_png_of_the_asked_size(tmp_path):
    path = save_picture(blank(), tmp_path / "a.png", renderer=Plain())
    with Image.open(path) as image:
        assert image.format == "PNG" and image.size == (64, 48) and image.mode == "RGB"
        assert image.getpixel((5, 0))[0] == 7, "the first row is the top one"
    save_picture(blank(), tmp_path / "a.png", (30, 20), renderer=Plain())
    with Image.open(path) as image:
        assert image.size == (30, 20)
    assert os.listdir(tmp_path) == ["a.png"]
    assert os.stat(path).st_mode & 0o777 == 0o666 & ~_umask()


def test_a_picture_off_screen(tmp_path):
    try:
        path = save_picture(blank(), str(tmp_path / "real.png"), (90, 50))
    except RenderError as error:
        pytest.skip(f"no OpenGL 3.3 without a window here: {error}")
    with Image.open(path) as image:
        assert image.size == (90, 50)
        assert len(image.getcolors(maxcolors=10**6)) > 4


def test_what_cannot_be_written_is_said_in_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").write_text("")
    for path in (
        tmp_path / "nowhere" / "a.png",
        tmp_path / "folder.png",
        tmp_path / "file" / "a.png",
        tmp_path / ("x" * 300 + ".png"),
    ):
        with pytest.raises(RenderError, match="cannot be written") as caught:
            save_picture(blank(), path, renderer=Plain())
        assert "\n" not in str(caught.value)
        assert caught.value.__traceback__ is not None
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.png"]


def test_a_failed_write_leaves_the_old_picture(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def full(self, file, **options):
        file.write(b"half a pict")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(RenderError, match="No space left"):
        save_picture(blank(), path, renderer=Plain())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_still_is_as_a_simulation():
    """The stand-in has only what the real simulation has."""
    from app.simulation import Simulation

    for name in ("draw_buffer", "view_range", "shape_poses"):
        assert hasattr(Simulation, name) and hasattr(Still, name)
