"""Contract of the free list.

At every tick's edge each slot of the scene is either live or listed free, once, never both; free
slots hold zeros. Slots are freed in slot order and given out from the top, so which slot a particle
gets is the same in every run. A particle in two drains and outside an open edge is freed once.
"""

import numpy as np
from simulations import array, box, expect_sound_slots, fill, integer, scene, shape

from app.events import Erase, Paint


def test_fresh_slots_are_given_out_from_the_first(world):
    sim = world(scene(fill((10, 10), (20, 20), "water"), gravity=(0.0, 0.0)))
    expect_sound_slots(sim)
    assert (np.flatnonzero(array(sim, "status")) == np.arange(400)).all()
    sim.apply(Paint("water", (0.4, 0.4), 0.05))
    sim.step(1)
    expect_sound_slots(sim)
    live = sim.status().live
    assert live > 400
    assert (np.flatnonzero(array(sim, "status")) == np.arange(live)).all()


def test_freed_slots_are_stacked_in_slot_order_and_given_out_from_the_top(world):
    sim = world(scene(fill((10, 10), (20, 20), "jelly"), gravity=(0.0, 0.0)))
    before = integer(sim, "free_count")
    sim.apply(Erase((0.15, 0.15), 0.02))
    sim.step(1)
    expect_sound_slots(sim)
    after = integer(sim, "free_count")
    freed = array(sim, "free_slots")[before:after]
    assert 40 <= len(freed) <= 60
    assert (np.diff(freed) > 0).all()
    holes = np.flatnonzero(array(sim, "status")[:400] == 0)
    assert (freed == holes).all()
    sim.apply(Paint("jelly", (0.4, 0.4), 0.008))
    sim.step(1)
    expect_sound_slots(sim)
    made = integer(sim, "emitted") - 400
    assert 0 < made < len(freed)
    filled = np.flatnonzero(array(sim, "status")[:400] == 1)
    assert (np.setdiff1d(holes, filled) == freed[:-made]).all()


def test_overlapping_drains_and_an_open_edge_free_each_slot_once(world):
    sim = world(
        scene(
            fill((0, 20), (20, 30), "water", velocity=(-1.0, 0.0)),
            fill((30, 20), (40, 30), "sand"),
            shape("drain", "box", **box((28, 18), (42, 32))),
            shape("drain", "circle", center=(0.35, 0.25), radius=0.2),
            shape("drain", "half_plane", center=(0.35, 0.25), normal=(0.0, 1.0)),
            shape("drain", "box", **box((-5, 0), (5, 60))),
            edges="open",
            gravity=(0.0, 0.0),
        )
    )
    sim.step(1)
    expect_sound_slots(sim)
    assert (sim.material_ids() == sim.material_names.index("water")).all()
    for _ in range(20):
        sim.step(1)
        expect_sound_slots(sim)
    assert integer(sim, "drained") > 500


def test_erasing_everything_leaves_a_list_of_all_slots(world):
    sim = world(scene(fill((10, 10), (20, 20), "water"), gravity=(0.0, 0.0)))
    for _ in range(3):
        sim.apply(Erase((0.15, 0.15), 0.5))
        sim.step(1)
        expect_sound_slots(sim)
        assert sim.status().live == 0
        sim.apply(Paint("water", (0.15, 0.15), 0.1))
        sim.step(1)
        expect_sound_slots(sim)
        assert sim.status().live > 1000
