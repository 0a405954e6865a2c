"""Contract: a camera maps metres to framebuffer pixels and back without loss, keeps the point under
the mouse where it is while zooming and panning, and `fit` shows the whole domain undistorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render.camera import Camera

coordinate = st.floats(-50.0, 50.0)
cameras = st.builds(
    Camera,
    center=st.tuples(coordinate, coordinate),
    height=st.floats(0.01, 100.0),
    viewport=st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
)


@given(cameras, st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=5))
def test_pixels_lead_back_to_the_same_metres(camera, points):
    points = np.array(points)
    back = camera.pixel_to_world(camera.world_to_pixel(points))
    np.testing.assert_allclose(back, points, atol=1e-9)
    np.testing.assert_allclose(camera.world_to_pixel(points[0]), camera.world_to_pixel(points)[0])


def test_the_centre_is_the_middle_and_y_points_up():
    camera = Camera(center=(2.0, 1.0), height=2.0, viewport=(400, 200))
    np.testing.assert_allclose(camera.world_to_pixel((2.0, 1.0)), (200, 100))
    np.testing.assert_allclose(camera.world_to_pixel((2.0, 2.0)), (200, 200))
    np.testing.assert_allclose(camera.world_to_pixel((0.0, 0.0)), (0, 0))
    assert camera.pixels_per_meter == 100.0
    assert camera.bounds == (0.0, 0.0, 4.0, 2.0)


@given(cameras, st.tuples(coordinate, coordinate), st.floats(0.1, 10.0))
def test_zooming_holds_the_point_under_the_mouse(camera, pixel, factor):
    before = camera.pixel_to_world(pixel)
    height = camera.height
    camera.zoom_at(pixel, factor)
    np.testing.assert_allclose(camera.pixel_to_world(pixel), before, atol=1e-6)
    assert camera.height == pytest.approx(height / factor)


def test_zoom_stops_at_its_limits_and_ignores_nonsense():
    camera = Camera(center=(1.0, 1.0), height=1.0, viewport=(100, 100))
    before = camera.pixel_to_world((20, 30))
    camera.zoom_at((20, 30), 1e30)
    assert camera.height > 0.0
    np.testing.assert_allclose(camera.pixel_to_world((20, 30)), before)
    closest = camera.height
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        assert camera.zoom_at((20, 30), factor).height == closest


@given(cameras, st.floats(-500, 500), st.floats(-500, 500))
def test_panning_drags_the_world_with_the_mouse(camera, dx, dy):
    grabbed = camera.pixel_to_world((10.0, 10.0))
    camera.pan(dx, dy)
    np.testing.assert_allclose(camera.pixel_to_world((10.0 + dx, 10.0 + dy)), grabbed, atol=1e-6)


@pytest.mark.parametrize("domain", [(4.0, 2.25), (1.0, 5.0), (3.0, 0.1)])
@pytest.mark.parametrize("viewport", [(1280, 800), (300, 900)])
def test_fit_shows_the_whole_domain(domain, viewport):
    camera = Camera(viewport=viewport).fit(domain)
    xmin, ymin, xmax, ymax = camera.bounds
    assert xmin < 0.0 and ymin < 0.0 and xmax > domain[0] and ymax > domain[1]
    # A tight fit, not merely one that is large enough.
    assert min((xmax - xmin) / domain[0], (ymax - ymin) / domain[1]) < 1.15


def test_another_picture_size_hides_nothing():
    camera = Camera(center=(2.0, 1.0), height=2.0, viewport=(400, 200))
    for size in ((800, 400), (200, 200), (900, 100)):
        copy = camera.with_viewport(*size)
        assert copy.viewport == size and copy.center == camera.center
        assert copy.bounds[0] <= camera.bounds[0] and copy.bounds[1] <= camera.bounds[1]
    assert camera.viewport == (400, 200), "the camera itself is left alone"
    assert camera.with_viewport(0, 0).viewport == (1, 1), "a minimised window has no pixels"
