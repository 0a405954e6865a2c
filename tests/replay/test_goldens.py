"""Contract: physics makes the bits that it made when the golden recordings were made.

An edit of the code that changes a bit, meant or not, fails here with the tick and the field. Where
device, driver, system, Taichi or NumPy is another one, bits may differ: the test is skipped and
says why. The version of the code is no reason to skip: it is what is compared.
"""

from __future__ import annotations

import pytest
from make_goldens import ARCH, FOLDER, GOLDENS, TICKS, same_bits
from simulations import simulate

from app import fingerprint
from app.events import REGISTRY
from app.recording import Header, Replay
from app.sim import device
from app.simulation import Simulation

FILES = [FOLDER / f"{name}.mbr" for name in GOLDENS]


def elsewhere(header: Header) -> list[str]:
    """What of the environment is another than that of a recording, the code apart, in phrases."""
    info = next(info for info in device.available() if info.arch == header.arch)
    here = {
        **fingerprint.environment(),
        "arch": info.arch,
        "device": info.name,
        "driver": fingerprint.driver(info.arch),
        "code": header.code,
    }
    return fingerprint.differences(vars(header), here, "recorded")


def cases() -> list:
    """A case a golden, marked to be skipped where its environment is another one."""
    listed = []
    for path in FILES:
        differences = elsewhere(Replay.read(path).header) if path.is_file() else []
        marks = [pytest.mark.skip(reason="; ".join(differences))] if differences else []
        listed.append(pytest.param(path, id=path.stem, marks=marks))
    return listed


def expect_golden(replay: Replay, simulation: Simulation) -> None:
    """Play a golden in a fresh world; fail with one sentence at the first bit that is another."""
    for step in range(replay.last_step + 1):
        for event in replay.events_at(step):
            simulation.apply(event)
        simulation.step()
        if not replay.check(step, simulation):
            pytest.fail(
                f"physics makes other bits than in {replay.path.name}: tick {step}, field "
                f"{replay.divergence.field}; if that is meant, run 'make goldens' and commit what "
                "it writes",
                pytrace=False,
            )


@pytest.mark.parametrize("path", cases())
def test_physics_makes_the_bits_of_the_golden(path):
    replay = Replay.read(path)
    simulation = simulate(replay.scene(), seed=replay.header.seed)
    try:
        expect_golden(replay, simulation)
    finally:
        simulation.close()


def test_every_golden_is_there_and_small():
    assert sorted(FOLDER.glob("*")) == sorted(FILES), "run 'make goldens'"
    for path in FILES:
        replay = Replay.read(path)
        assert replay.ticks == TICKS and replay.header.arch == ARCH
        assert path.stat().st_size < 16_000
        used = {event.kind for step in range(TICKS) for event in replay.events_at(step)}
        assert used == set(REGISTRY)
        assert replay.scene() == GOLDENS[path.stem](), "run 'make goldens'"
        assert same_bits(path, path)


def test_a_change_of_physics_is_seen_and_says_what_to_do(monkeypatch, world):
    """A gravity that is one part in a million stronger."""
    replay = Replay.read(FILES[0])
    sim = world(replay.scene(), seed=replay.header.seed)
    set_gravity = sim._solver.set_gravity
    monkeypatch.setattr(
        sim._solver, "set_gravity", lambda g: set_gravity((g[0], g[1] * (1.0 + 1e-6)))
    )
    sim._solver.set_gravity(sim.environment.gravity)
    with pytest.raises(pytest.fail.Exception, match=r"pour\.mbr: tick 0, .* 'make goldens'"):
        expect_golden(replay, sim)


@pytest.mark.parametrize("name", ["device", "taichi", "numpy", "machine", "system", "driver"])
def test_another_environment_is_told_and_other_code_is_not(name):
    header = vars(Replay.read(FILES[0]).header)
    info = next(info for info in device.available() if info.arch == ARCH)
    here = header | fingerprint.environment() | {"device": info.name, "code": "another"}
    assert elsewhere(Header(**here)) == []
    (phrase,) = elsewhere(Header(**here | {name: "another"}))
    assert "another recorded" in phrase
