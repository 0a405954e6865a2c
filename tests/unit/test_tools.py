"""Contract: a tool turns a held button into events in world units, once a tick.

Fast strokes have no gaps, a tick's events are bounded, a quick click is never lost, and the hand of
Grab moves with the cursor in simulated time, whatever number of ticks a frame brings.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from app.events import Erase, Grab, Paint, Push
from app.ui.tools import TOOLS, Brush
from app.ui.tools.stroke import DISC_SPACING, DISCS_PER_TICK, Hand, walk

HAND = Hand(seconds=1 / 60, reach=12.0)


def brush(radius: float = 0.1) -> Brush:
    return Brush(radius=radius, radius_limits=(0.01, 1.0), material="water")


def test_the_tools_are_those_of_the_keys_in_order():
    assert list(TOOLS) == ["grab", "push", "paint", "erase"]


def test_a_click_paints_one_disc_even_if_it_is_over_before_a_tick():
    stroke = TOOLS["paint"].begin((1.0, 2.0))
    stroke.release()
    assert not stroke.finished
    assert stroke.events(brush(), HAND) == [Paint("water", (1.0, 2.0), 0.1)]
    assert stroke.finished


def test_a_held_button_at_rest_keeps_pouring_one_disc_a_tick():
    stroke = TOOLS["paint"].begin((1.0, 2.0))
    for _ in range(3):
        assert stroke.events(brush(), HAND) == [Paint("water", (1.0, 2.0), 0.1)]


@pytest.mark.parametrize("name, event", [("paint", Paint), ("erase", Erase)])
def test_a_fast_stroke_has_no_gaps(name, event):
    stroke = TOOLS[name].begin((0.0, 0.0))
    stroke.move((0.6, 0.0))
    stroke.move((0.6, 0.5))
    events = stroke.events(brush(), HAND)
    assert all(isinstance(e, event) for e in events)
    centers = [e.center for e in events]
    assert centers[0] == (0.0, 0.0)
    assert centers[-1] == pytest.approx((0.6, 0.5))
    assert max(math.dist(a, b) for a, b in pairwise(centers)) <= 0.1 * DISC_SPACING + 1e-9


def test_a_very_long_stroke_is_spread_over_ticks_and_still_arrives():
    stroke = TOOLS["paint"].begin((0.0, 0.0))
    stroke.move((10.0, 0.0))
    stroke.release()
    centers = []
    for _ in range(100):
        events = stroke.events(brush(), HAND)
        assert len(events) <= DISCS_PER_TICK
        centers += [e.center for e in events]
        if stroke.finished:
            break
    assert stroke.finished
    assert centers[-1] == pytest.approx((10.0, 0.0))
    assert max(math.dist(a, b) for a, b in pairwise(centers)) <= 0.1 * DISC_SPACING + 1e-9


def test_slow_small_moves_do_not_pile_up_discs():
    stroke = TOOLS["paint"].begin((0.0, 0.0))
    stroke.events(brush(), HAND)
    for step in range(1, 101):
        stroke.move((step * 1e-4, 0.0))
    assert len(stroke.events(brush(), HAND)) == 1


def test_while_paused_only_a_new_path_paints():
    resting = Hand(seconds=1 / 60, resting=True)
    stroke = TOOLS["erase"].begin((1.0, 1.0))
    assert stroke.events(brush(), resting) == [Erase((1.0, 1.0), 0.1)]
    assert stroke.events(brush(), resting) == []
    stroke.move((1.05, 1.0))
    assert stroke.events(brush(), resting) == [Erase((1.05, 1.0), 0.1)]
    for name in ("grab", "push"):
        assert TOOLS[name].begin((0.0, 0.0)).events(brush(), resting) == []


def test_paint_without_a_material_does_nothing_and_ends():
    stroke = TOOLS["paint"].begin((0.0, 0.0))
    stroke.release()
    assert stroke.events(Brush(radius=0.1), HAND) == []
    assert stroke.finished


def test_push_pushes_and_shift_pulls():
    stroke = TOOLS["push"].begin((0.5, 0.5))
    assert stroke.events(brush(), HAND) == [Push((0.5, 0.5), 0.1, 80.0)]
    inverted = Hand(seconds=1 / 60, inverted=True)
    assert stroke.events(brush(), inverted) == [Push((0.5, 0.5), 0.1, -80.0)]


def test_push_over_before_a_tick_pushes_once():
    stroke = TOOLS["push"].begin((0.5, 0.5))
    stroke.release()
    assert len(stroke.events(brush(), HAND)) == 1
    assert stroke.events(brush(), HAND) == []
    assert stroke.finished


def test_the_hand_of_grab_arrives_where_the_cursor_is():
    stroke = TOOLS["grab"].begin((1.0, 1.0))
    stroke.move((1.2, 1.1))
    place = [1.0, 1.0]
    for _ in range(20):
        (event,) = stroke.events(brush(), HAND)
        assert isinstance(event, Grab)
        assert event.center == pytest.approx(place)
        place = [p + v / 60 for p, v in zip(place, event.velocity, strict=True)]
    assert place == pytest.approx([1.2, 1.1], abs=1e-4)


def test_grab_moves_the_same_way_for_one_or_two_ticks_a_frame():
    def path(ticks_per_frame):
        stroke = TOOLS["grab"].begin((0.0, 0.0))
        speeds = []
        for frame in range(1, 121 // ticks_per_frame):
            stroke.move((frame * ticks_per_frame * 0.02, 0.0))
            for _ in range(ticks_per_frame):
                speeds.append(stroke.events(brush(), HAND)[0].velocity[0])
        return speeds[60:]

    one, two = path(1), path(2)
    assert max(one) - min(one) < 1e-6
    assert sum(two) / len(two) == pytest.approx(sum(one) / len(one), rel=0.02)
    assert (max(two) - min(two)) / 2 < 0.4 * max(one)  # unsmoothed it would be 1


def test_the_hand_of_grab_is_never_faster_than_matter_can_be():
    stroke = TOOLS["grab"].begin((0.0, 0.0))
    stroke.move((30.0, 40.0))
    (event,) = stroke.events(brush(), HAND)
    assert math.hypot(*event.velocity) == pytest.approx(12.0)
    assert event.velocity[1] / event.velocity[0] == pytest.approx(4 / 3)


def test_walk_keeps_what_it_did_not_reach():
    centers, rest = walk([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], 0.1, 4)
    assert [x for x, _y in centers] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert rest[0] == pytest.approx((0.4, 0.0))
    assert rest[1:] == [(1.0, 0.0), (1.0, 1.0)]
    assert walk([(0.0, 0.0)], 0.1, 4) == ([], [(0.0, 0.0)])


def test_a_brush_fits_its_scene_and_keeps_a_radius_that_still_makes_sense():
    hand = Brush()
    hand.fit((4.0, 2.0), 0.02, ["sand", "water"])
    assert hand.material == "sand"
    assert 0.05 <= hand.radius <= 0.5
    hand.material, hand.radius = "water", 0.3
    hand.fit((3.0, 2.0), 0.02, ["water"])
    assert (hand.material, hand.radius) == ("water", 0.3)
    hand.fit((0.2, 0.2), 0.01, [])
    assert hand.material == ""
    assert hand.radius <= 0.1


def test_the_brush_grows_and_shrinks_by_a_ratio_within_its_limits():
    hand = brush(0.1)
    hand.resize(3)
    hand.resize(-3)
    assert hand.radius == pytest.approx(0.1)
    hand.resize(1000)
    assert hand.radius == 1.0
    hand.resize(-1000)
    assert hand.radius == 0.01


def test_materials_go_round():
    hand = brush()
    hand.next_material(["sand", "water"])
    assert hand.material == "sand"
    hand.next_material(["sand", "water"], -1)
    assert hand.material == "water"
    hand.material = "gone"
    hand.next_material(["sand", "water"])
    assert hand.material == "sand"
