"""Closed forms for 2x2 matrices: the rotation nearest to F, singular values, and integer noise."""

import taichi as ti
import taichi.math as tm


@ti.func
def rotation_of(a):
    """Rotation R of the polar decomposition a = R S, always with determinant +1.

    In two dimensions R is proportional to a + cof(a); where that vanishes (a = 0, or a pure
    reflection, whose nearest rotation is not unique) the identity is taken.
    """
    c = a[0, 0] + a[1, 1]
    s = a[1, 0] - a[0, 1]
    norm = ti.sqrt(c * c + s * s)
    result = tm.mat2(1.0, 0.0, 0.0, 1.0)
    if norm > 1e-12:
        result = tm.mat2(c, -s, s, c) / norm
    return result


@ti.func
def signed_svd(a):
    """a = U diag(sigma) V^T with U, V rotations, so sigma.y < 0 exactly where det a < 0.

    Closed form (Blinn 1996): the sum and difference of the angles of U and V are those of the
    conformal and the anti-conformal part of a.
    """
    e = 0.5 * (a[0, 0] + a[1, 1])
    f = 0.5 * (a[0, 0] - a[1, 1])
    g = 0.5 * (a[1, 0] + a[0, 1])
    h = 0.5 * (a[1, 0] - a[0, 1])
    conformal = ti.sqrt(e * e + h * h)
    anti = ti.sqrt(f * f + g * g)
    sum_angle = ti.atan2(h, e)
    difference_angle = ti.atan2(g, f)
    u = rotation_by(0.5 * (difference_angle + sum_angle))
    v = rotation_by(0.5 * (difference_angle - sum_angle))
    return u, tm.vec2(conformal + anti, conformal - anti), v


@ti.func
def largest_stretch_squared(a):
    """Larger eigenvalue of a^T a."""
    half_trace = 0.5 * a.norm_sqr()
    det = a.determinant()
    return half_trace + ti.sqrt(ti.max(half_trace * half_trace - det * det, 0.0))


@ti.func
def rotation_by(angle):
    """Rotation matrix of an angle [rad], counter-clockwise."""
    c = ti.cos(angle)
    s = ti.sin(angle)
    return tm.mat2(c, -s, s, c)


@ti.func
def diagonal(values):
    """Diagonal matrix of a 2-vector."""
    return tm.mat2(values.x, 0.0, 0.0, values.y)


@ti.func
def deviator(a):
    """Trace-free part of a 2x2 matrix."""
    half_trace = 0.5 * (a[0, 0] + a[1, 1])
    return a - half_trace * tm.mat2(1.0, 0.0, 0.0, 1.0)


@ti.func
def mixed_bits(value):
    """A well-mixed 32-bit integer of a 32-bit integer (finaliser of MurmurHash3, Appleby)."""
    h = ti.cast(value, ti.u32)
    h ^= h >> ti.u32(16)
    h *= ti.u32(0x85EBCA6B)
    h ^= h >> ti.u32(13)
    h *= ti.u32(0xC2B2AE35)
    h ^= h >> ti.u32(16)
    return h


@ti.func
def noise(a, b, c):
    """A repeatable number in [0, 1) of three integers; replaces any random generator."""
    h = mixed_bits(ti.cast(a, ti.u32) + ti.u32(0x9E3779B9))
    h = mixed_bits(h ^ ti.cast(b, ti.u32))
    h = mixed_bits(h + ti.cast(c, ti.u32) * ti.u32(0x27D4EB2F))
    return ti.cast(h >> ti.u32(8), ti.f32) / 16777216.0
