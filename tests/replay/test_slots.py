"""Contract: 5,000 ticks of emission and draining lose no slot and double none.

Four emitters (one of them faster than its matter gets away, so that capacity is reached), drains
that overlap each other and an open edge. After every 250 ticks each slot is live or free, once.
"""

import numpy as np
from simulations import box, expect_sound_slots, integer, scene, shape


def test_5000_ticks(world):
    pour = {"material": "water", "speed": 1.5, "rate": 0.01}
    sim = world(
        scene(
            shape("emitter", "box", **box((2, 22), (6, 26)), **pour),
            shape("emitter", "circle", center=(0.12, 0.24), radius=0.015, **pour),
            shape(
                "emitter",
                "box",
                **box((16, 20), (20, 24)),
                **pour | {"material": "sand", "stop": 60.0},
            ),
            shape("drain", "box", **box((0, 4), (12, 8))),
            shape("drain", "circle", center=(0.1, 0.06), radius=0.05),
            shape("drain", "half_plane", center=(0.1, 0.02), normal=(0.0, 1.0)),
            cells=(24, 28),
            edges="open",
            rounds=1,
            min_substeps=1,
            max_substeps=3,
            capacity=400,
        )
    )
    seen = set()
    for _ in range(20):
        sim.step(250)
        expect_sound_slots(sim, 400)
        seen.add(sim.status().live)
        assert np.isfinite(sim.positions()).all()
    assert integer(sim, "emitted") > 20_000
    assert len(seen) > 3
