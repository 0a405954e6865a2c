"""Contract of events on matter: they act at the next tick's edge, on what they reach, and no more.

Paint, erase and restart have tests of their own (emission, free list, repeatability).
"""

import numpy as np
import pytest
from simulations import CELL, array, fill, scene, set_array

from app.events import Erase, EventError, Grab, Paint, Push, SetDamping, SetGravity, SetMaterial
from app.sim.substep import GRAB_TIME


def dust(world, **keys):
    """Particles that stand alone, six cells apart, without gravity."""
    keys = {"cells": (64, 64), "gravity": (0.0, 0.0), "particles_per_cell": 1} | keys
    sim = world(scene(fill((0, 0), (9, 9), "jelly"), **keys))
    x = array(sim, "x")
    lattice = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2)
    x[:81] = 12.3 + 6.0 * lattice
    set_array(sim, "x", x)
    return sim


def test_push_fades_from_the_centre_to_the_rim(world):
    """a (1 - r / R) outward for one tick; nothing beyond the rim, nothing in the next tick."""
    sim = dust(world)
    center, radius, strength = np.array([0.31, 0.33]), 0.2, 3.0
    away = sim.positions() - center
    reach = np.linalg.norm(away, axis=1)
    sim.apply(Push(tuple(center), radius, strength))
    assert not sim.velocities().any()
    sim.step(1)
    expected = strength / 60 * np.maximum(1 - reach / radius, 0.0)[:, None] * away / reach[:, None]
    np.testing.assert_allclose(sim.velocities(), expected, atol=2e-3 * strength / 60)
    outside = reach > radius
    assert outside.sum() > 20 and not sim.velocities()[outside].any()
    before = sim.velocities()
    sim.step(1)
    np.testing.assert_allclose(sim.velocities(), before, atol=1e-6)


def test_a_negative_push_pulls(world):
    sim = dust(world)
    away = sim.positions() - (0.31, 0.33)
    sim.apply(Push((0.31, 0.33), 0.2, -3.0))
    sim.step(1)
    near = np.linalg.norm(away, axis=1) < 0.15
    assert ((sim.velocities()[near] * away[near]).sum(1) < 0).all()


def test_grabbed_matter_takes_on_the_hands_velocity(world):
    """Near the centre 1 - exp(-t / 15 ms) of it after a tick; none beyond the rim."""
    sim = dust(world)
    away = np.linalg.norm(sim.positions() - (0.31, 0.33), axis=1)
    sim.apply(Grab((0.31, 0.33), (0.2, -0.1), 0.2))
    sim.step(1)
    near, beyond = away < 0.1, away > 0.2
    assert near.sum() >= 4
    share = 1.0 - np.exp(-1 / 60 / GRAB_TIME)
    expected = np.broadcast_to(np.multiply((0.2, -0.1), share), (near.sum(), 2))
    np.testing.assert_allclose(sim.velocities()[near], expected, rtol=0.01)
    assert not sim.velocities()[beyond].any()


def test_gravity_and_damping_from_the_next_tick_on(world):
    sim = dust(world)
    sim.step(3)
    sim.apply(SetGravity((1.0, 2.0)))
    assert sim.environment.gravity == (0.0, 0.0)
    sim.step(6)
    assert sim.environment.gravity == (1.0, 2.0)
    np.testing.assert_allclose(sim.velocities().mean(0), (0.1, 0.2), rtol=1e-4)
    sim.apply(SetGravity((0.0, 0.0)))
    sim.apply(SetDamping(6.0))
    sim.step(10)
    np.testing.assert_allclose(
        sim.velocities().mean(0), np.multiply((0.1, 0.2), np.exp(-1)), rtol=1e-3
    )


def test_a_material_is_edited_for_the_matter_that_has_it(world):
    sim = world(scene(fill((10, 10), (20, 20), "jelly"), fill((30, 10), (40, 20), "rubber")))
    speed = {m.name: m.wave_speed for m in sim.status().materials}
    sim.apply(SetMaterial("jelly", "youngs_modulus", 1.0e5))
    sim.step(1)
    after = {m.name: m.wave_speed for m in sim.status().materials}
    assert after["jelly"] == pytest.approx(2.0 * speed["jelly"])
    assert after["rubber"] == speed["rubber"]
    assert sim.scene.materials["jelly"].youngs_modulus == 2.5e4


def test_events_take_effect_in_order(world):
    sim = world(scene(fill((1, 1), (2, 2), "jelly"), gravity=(0.0, 0.0)))
    sim.apply(Paint("jelly", (0.3, 0.3), 0.05))
    sim.apply(Erase((0.3, 0.3), 0.06))
    sim.step(1)
    assert sim.status().live == 4
    sim.apply(Erase((0.3, 0.3), 0.06))
    sim.apply(Paint("jelly", (0.3, 0.3), 0.05))
    sim.step(1)
    assert sim.status().live > 250


def test_an_event_that_cannot_be_carried_out_changes_nothing(world):
    sim = world(scene(fill((10, 10), (20, 20), "jelly")))
    before = sim.digests()
    for event in (
        Paint("watr", (0.1, 0.1), 0.1),
        SetMaterial("jelly", "viscosity", 1.0),
        SetMaterial("jelly", "youngs_modulus", -1.0),
        SetDamping(-1.0),
        Erase((0.1, 0.1), 0.0),
        Push((0.1, 0.1), 1e9, 1.0),
    ):
        with pytest.raises(EventError):
            sim.apply(event)
    assert sim.digests() == before
    sim.step(1)
    assert sim.status().live == 400 and CELL == 0.01
