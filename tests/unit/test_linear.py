"""Contract of app.sim.linear, against NumPy in double precision.

`rotation_of` is the rotation nearest to any matrix, determinant +1 even where the matrix is
inverted; where that is not unique it is the identity. `signed_svd` has rotations on both sides, so
a negative determinant shows in the second singular value. An inverted deformation gradient comes
back thin: every principal stretch in range, and counted.
"""

import numpy as np
import pytest
import taichi as ti
import taichi.math as tm
from simulations import array, fill, integer, scene, set_array

from app.sim.linear import (
    deviator,
    diagonal,
    largest_stretch_squared,
    mixed_bits,
    noise,
    rotation_by,
    rotation_of,
    signed_svd,
)
from app.sim.substep import STRETCH_MAX, STRETCH_MIN

MATRICES = ti.types.ndarray(dtype=ti.f32, ndim=3)
VECTORS = ti.types.ndarray(dtype=ti.f32, ndim=2)


@ti.func
def matrix(a: ti.template(), k):
    return tm.mat2(a[k, 0, 0], a[k, 0, 1], a[k, 1, 0], a[k, 1, 1])


@ti.func
def store(out: ti.template(), k, m):
    for i, j in ti.static(ti.ndrange(2, 2)):
        out[k, i, j] = m[i, j]


@ti.kernel
def rotations(a: MATRICES, out: MATRICES):
    for k in range(a.shape[0]):
        store(out, k, rotation_of(matrix(a, k)))


@ti.kernel
def decompositions(a: MATRICES, us: MATRICES, sigmas: VECTORS, vs: MATRICES, back: MATRICES):
    for k in range(a.shape[0]):
        u, sigma, v = signed_svd(matrix(a, k))
        store(us, k, u)
        store(vs, k, v)
        sigmas[k, 0] = sigma.x
        sigmas[k, 1] = sigma.y
        store(back, k, u @ diagonal(sigma) @ v.transpose())


@ti.kernel
def deviators(a: MATRICES, out: MATRICES):
    for k in range(a.shape[0]):
        store(out, k, deviator(matrix(a, k)))


@ti.kernel
def stretches_of(a: MATRICES, out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for k in range(a.shape[0]):
        out[k] = largest_stretch_squared(matrix(a, k))


@ti.kernel
def turns(angles: ti.types.ndarray(dtype=ti.f32, ndim=1), out: MATRICES):
    for k in range(angles.shape[0]):
        store(out, k, rotation_by(angles[k]))


@ti.kernel
def bits(
    values: ti.types.ndarray(dtype=ti.u32, ndim=1), out: ti.types.ndarray(dtype=ti.u32, ndim=1)
):
    for k in range(values.shape[0]):
        out[k] = mixed_bits(values[k])


@ti.kernel
def noises(seed: ti.i32, tick: ti.i32, out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for k in range(out.shape[0]):
        out[k] = noise(seed, tick, k)


def random_matrices(count=4000):
    """Matrices of every size and sign of the determinant; a quarter of them close to singular."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=(count, 2, 2)) * 10.0 ** rng.uniform(-3, 3, (count, 1, 1))
    quarter = count // 4
    a[:quarter, 1] = a[:quarter, 0] * rng.normal(size=(quarter, 1)) * (1 + 1e-5)
    return a.astype(np.float32)


def nearest_rotation(a):
    """Rotation that maximises tr(R^T a) (Kabsch's), in double precision."""
    u, _s, vt = np.linalg.svd(a.astype(np.float64))
    flip = np.sign(np.linalg.det(u @ vt))
    u[..., 1] *= flip[..., None]
    return u @ vt


def test_rotation_is_the_nearest_one_also_of_inverted_matrices(cpu):
    a = random_matrices()
    got = np.zeros_like(a)
    rotations(a, got)
    np.testing.assert_allclose(np.linalg.det(got), 1.0, atol=1e-5)
    np.testing.assert_allclose(
        got @ got.transpose(0, 2, 1), np.broadcast_to(np.eye(2), a.shape), atol=1e-5
    )
    # Where the two singular values of an inverted matrix meet, its nearest rotation is not unique.
    s = np.linalg.svd(a.astype(np.float64))[1]
    unique = s[:, 0] + np.sign(np.linalg.det(a.astype(np.float64))) * s[:, 1] > 1e-3 * s[:, 0]
    assert unique.mean() > 0.99
    np.testing.assert_allclose(got[unique], nearest_rotation(a)[unique], atol=2e-3)
    assert (np.linalg.det(a) < 0).sum() > 1000


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((2, 2)),
        np.diag([1.0, -1.0]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.array([[0.6, 0.8], [0.8, -0.6]]),
    ],
    ids=["zero", "reflection of y", "swap of axes", "oblique reflection"],
)
def test_rotation_that_is_not_unique_is_the_identity(cpu, a):
    a = a[None].astype(np.float32)
    got = np.zeros_like(a)
    rotations(a, got)
    assert (got == np.eye(2)).all()


def test_signed_svd(cpu):
    a = random_matrices()
    us, vs, back = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    sigmas = np.zeros((len(a), 2), np.float32)
    decompositions(a, us, sigmas, vs, back)
    size = np.linalg.norm(a, axis=(1, 2))
    np.testing.assert_allclose(np.linalg.det(us), 1.0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(vs), 1.0, atol=1e-5)
    assert (np.abs(back - a).max((1, 2)) < 3e-6 * size).all()
    expected = np.linalg.svd(a.astype(np.float64))[1]
    expected[:, 1] *= np.sign(np.linalg.det(a.astype(np.float64)))
    assert (np.abs(sigmas - expected).max(1) < 2e-6 * size).all()
    assert (sigmas[:, 0] >= np.abs(sigmas[:, 1])).all()


@pytest.mark.parametrize(
    ("a", "sigma"),
    [
        (np.zeros((2, 2)), (0.0, 0.0)),
        (np.diag([1.0, -1.0]), (1.0, -1.0)),
        (-np.eye(2), (1.0, 1.0)),
        (np.array([[1.0, 1.0], [1.0, 1.0]]), (2.0, 0.0)),
        (np.diag([0.0, 3.0]), (3.0, 0.0)),
    ],
    ids=["zero", "reflection", "half turn", "rank one", "collapsed axis"],
)
def test_signed_svd_of_degenerate_matrices(cpu, a, sigma):
    a = a[None].astype(np.float32)
    us, vs, back = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    sigmas = np.zeros((1, 2), np.float32)
    decompositions(a, us, sigmas, vs, back)
    np.testing.assert_allclose(sigmas[0], sigma, atol=1e-6)
    np.testing.assert_allclose(back, a, atol=1e-6)
    np.testing.assert_allclose([np.linalg.det(us[0]), np.linalg.det(vs[0])], 1.0, atol=1e-6)


def test_small_pieces(cpu):
    a = random_matrices(100)
    got = np.zeros_like(a)
    deviators(a, got)
    trace = np.trace(a, axis1=1, axis2=2)
    np.testing.assert_allclose(
        got, a - 0.5 * trace[:, None, None] * np.eye(2), rtol=1e-5, atol=1e-4
    )
    angles = np.linspace(-7, 7, 50).astype(np.float32)
    got = np.zeros((50, 2, 2), np.float32)
    turns(angles, got)
    c, s = np.cos(angles), np.sin(angles)
    np.testing.assert_allclose(got, np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0), atol=1e-6)


def test_mixed_bits_is_the_published_finaliser(cpu):
    """fmix32 of MurmurHash3, written out here with wrapping NumPy integers."""
    values = np.random.default_rng(5).integers(0, 2**32, 5000, dtype=np.uint32)
    values[:3] = 0, 1, 2**32 - 1
    got = np.zeros_like(values)
    bits(values, got)
    h = values.astype(np.uint64)
    h ^= h >> np.uint64(16)
    h = h * np.uint64(0x85EBCA6B) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(13)
    h = h * np.uint64(0xC2B2AE35) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(16)
    assert (got == h).all()


def test_largest_stretch(cpu):
    a = random_matrices()
    found = np.zeros(len(a), np.float32)
    stretches_of(a, found)
    largest = np.linalg.svd(a.astype(np.float64))[1][:, 0]
    assert np.abs(found / largest**2 - 1.0).max() < 1e-3


def test_noise_is_uniform_and_depends_on_each_number(cpu):
    count = 100_000
    one, other_seed, other_tick = (np.zeros(count, np.float32) for _ in range(3))
    noises(1, 1, one)
    noises(2, 1, other_seed)
    noises(1, 2, other_tick)
    assert one.min() >= 0.0 and one.max() < 1.0
    histogram = np.histogram(one, bins=20, range=(0, 1))[0]
    assert np.abs(histogram / (count / 20) - 1.0).max() < 0.06  # 4 standard deviations
    for other in (other_seed, other_tick, np.roll(one, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.015


def test_an_inverted_particle_comes_back_thin_and_is_counted(world):
    """F of three particles is overwritten: inverted, collapsed, and stretched beyond the range."""
    sim = world(scene(fill((20, 20), (30, 30), "jelly"), gravity=(0.0, 0.0), edges="open"))
    deformation = array(sim, "deformation_gradient")
    deformation[0] = [[0.0, 1.2], [0.8, 0.0]]
    deformation[1] = 0.0
    deformation[2] = [[50.0, 0.0], [0.0, 1.0]]
    set_array(sim, "deformation_gradient", deformation)
    sim.step(1)
    assert sim.status().live == 400
    stretches = np.linalg.svd(sim.deformation_gradients())[1]
    assert (np.linalg.det(sim.deformation_gradients()) > 0.0).all()
    assert stretches.min() > 0.99 * STRETCH_MIN and stretches.max() < 1.01 * STRETCH_MAX
    assert integer(sim, "deformation_clamped") >= 3
    sim.step(30)
    assert np.isfinite(sim.positions()).all() and integer(sim, "nonfinite_removed") == 0
