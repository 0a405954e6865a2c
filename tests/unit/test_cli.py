"""Contract of the commands.

- What the user can mend is one sentence on stderr and exit status 2, never a traceback.
- `simulate --json` ends stdout with one JSON object of exactly the documented keys.
- Ctrl-C ends a run properly: the recording is a whole file.
- `--help`, `check`, `schema` and `import` start neither Taichi nor a window.
- `replay --verify` ends with 0, 3 or 4; without a command the default scene is run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from toy_simulation import SCENE, ToySimulation

from app import cli
from app.errors import DeviceError, DivergenceError, RenderError, SnapshotError
from app.recording import Replay
from app.snapshot import Snapshot

JSON_KEYS = [
    "scene",
    "arch",
    "device",
    "ticks",
    "substeps",
    "rounds",
    "live",
    "emitted",
    "drained",
    "digest",
    "digests",
    "counters",
    "ms_per_tick",
    "mass",
    "momentum",
    "center_of_mass",
    "kinetic_energy",
]


class Windows:
    """Stands in for the window: remembers with what it was opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[object, dict]] = []

    def run_window(self, scene_path, **options) -> int:
        self.opened.append((scene_path, options))
        return 0


@pytest.fixture
def windows(monkeypatch) -> Windows:
    """Toy physics, a window that only remembers, pictures that are text, and a display."""
    windows = Windows()
    fakes = {
        "app.simulation": {"Simulation": ToySimulation},
        "app.ui.window": {"run_window": windows.run_window},
        "app.render.picture": {
            "frame_of": lambda simulation: simulation.digest(),
            "save_picture": lambda frame, path: path.write_text(frame) and path,
        },
        "app.sim.device": {"start": lambda arch, threads: None},
    }
    for name, content in fakes.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("DISPLAY", ":99")
    return windows


@pytest.fixture
def scene(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "toy.toml"
    path.write_text(SCENE)
    return path


def run(*arguments: object) -> int:
    try:
        return cli.run_command([str(argument) for argument in arguments])
    except SystemExit as exit:
        return exit.code


def refused(capsys, *arguments: object) -> str:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("matterbox: ")
    return captured.err


# -- arguments -------------------------------------------------------------------------------------


def test_without_a_command_the_default_scene_is_run(windows, monkeypatch, scene):
    monkeypatch.setattr(cli, "DEFAULT_SCENE", "toy")
    monkeypatch.setattr("app.scene.builtin", lambda name: Path(f"shipped/{name}.toml"))
    assert run() == 0
    assert run("run") == 0
    assert run("--arch", "cpu", "--seed", "5") == 0
    shipped = Path("shipped/toy.toml")
    nothing = {"record": None, "replay": None}
    assert windows.opened == [
        (shipped, {"arch": "auto", "seed": None, **nothing}),
        (shipped, {"arch": "auto", "seed": None, **nothing}),
        (shipped, {"arch": "cpu", "seed": 5, **nothing}),
    ]


def test_scene_as_the_first_word_is_run(windows, scene):
    assert run(scene, "--record", "a.mbr") == 0
    ((path, options),) = windows.opened
    assert path == scene
    assert options["record"] == Path("a.mbr")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "--ticks", "many"], ["--ticks", "'many'", "whole number"]),
        (["simulate", "--ticks", "0"], ["--ticks", "'0'"]),
        (["simulate", "--ticks", "1e99"], ["--ticks"]),
        (["simulate", "--seed", "-1"], ["--seed"]),
        (["simulate", "--arch", "cude"], ["--arch", "cude", "cuda"]),
        (["simulate", "--threads", "0"], ["--threads"]),
        (["simulate", "--tick", "5"], ["--tick"]),
        (["simulate", "a", "b"], ["b"]),
        (["replay"], ["F.mbr"]),
        (["replay", "none.mbr"], ["none.mbr", "No such file"]),
        (["replay", "none.mbr", "--verify"], ["none.mbr", "No such file"]),
        (["check"], ["SCENE"]),
        (["check", "none.toml"], ["none.toml", "no such file"]),
        (["check", "folder"], ["folder"]),
        (["import", "none.json", "-o", "x.toml"], ["none.json", "No such file"]),
        (["import", "folder", "-o", "x.toml"], ["folder", "directory"]),
        (["simulate", "none.toml"], ["none.toml"]),
        (["none"], ["none"]),
        (["simulat"], ["simulat", "matterbox simulate"]),
        (["simulate", "toy.toml", "--record", "no/a.mbr"], ["no/a.mbr", "folder"]),
        (["simulate", "toy.toml", "--picture", "no/a.png"], ["no/a.png", "folder"]),
        (["import", "toy.json", "-o", "no/x.toml"], ["no/x.toml", "folder"]),
    ],
)
def test_mistakes_are_one_sentence(windows, scene, capsys, arguments, words):
    Path("folder").mkdir()
    said = refused(capsys, *arguments)
    for word in words:
        assert word in said


def test_device_that_does_not_start_is_one_sentence(windows, scene, capsys, monkeypatch):
    def start(*_, **__):
        raise DeviceError("arch cuda does not start: no driver; available here: cpu")

    monkeypatch.setattr(ToySimulation, "from_scene", start)
    assert "no driver" in refused(capsys, "simulate", scene, "--arch", "cuda")


def test_bugs_are_not_hidden(windows, scene, monkeypatch):
    def broken(self, n=1):
        raise ZeroDivisionError

    monkeypatch.setattr(ToySimulation, "step", broken)
    with pytest.raises(ZeroDivisionError):
        run("simulate", scene)


def test_threads_reach_the_device(windows, scene, monkeypatch):
    started = []
    monkeypatch.setattr(
        sys.modules["app.sim.device"],
        "start",
        lambda arch, threads: started.append((arch, threads)),
    )
    assert run("simulate", scene, "--ticks", "1", "--threads", "2", "--arch", "cpu") == 0
    assert run("simulate", scene, "--ticks", "1") == 0
    assert started == [("cpu", 2)]


# -- simulate --------------------------------------------------------------------------------------


def test_json_is_the_last_line_with_exactly_its_keys(windows, scene, capsys):
    assert run("simulate", scene, "--ticks", "25", "--seed", "3", "--json") == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(data) == JSON_KEYS
    twin = ToySimulation(seed=3)
    twin.step(25)
    assert (data["scene"], data["arch"], data["ticks"]) == ("Toy", "cpu", 25)
    assert (data["digest"], data["digests"]) == (twin.digest(), twin.digests())
    assert data["counters"] == {"capacity_reached": 0, "node_displacement_capped": 3}
    assert len(data["momentum"]) == len(data["center_of_mass"]) == 2
    assert data["ms_per_tick"] > 0


def test_json_has_no_nan(windows, scene, capsys, monkeypatch):
    monkeypatch.setattr(
        ToySimulation,
        "aggregates",
        lambda self: SimpleNamespace(
            mass=0.0,
            momentum=(0.0, 0.0),
            center_of_mass=(float("nan"), float("nan")),
            kinetic_energy=float("inf"),
            live=0,
        ),
    )
    assert run("simulate", scene, "--ticks", "1", "--json") == 0
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert data["center_of_mass"] == [None, None]
    assert data["kinetic_energy"] is None


def test_summary_names_counters_that_counted_and_files(windows, scene, capsys):
    assert run("simulate", scene, "--ticks", "3", "--record", "a.mbr", "--picture", "a.png") == 0
    said = capsys.readouterr().out
    assert "3 ticks" in said
    assert "node_displacement_capped 3" in said
    assert "capacity_reached" not in said
    assert "wrote a.mbr" in said and "wrote a.png" in said
    assert Path("a.png").exists()
    assert Replay.read("a.mbr").ticks == 3


def test_warnings_of_the_scene_are_told(windows, scene, capsys):
    scene.write_text(SCENE.replace("half_size = [0.2, 0.2]", "half_size = [0.0001, 0.0001]"))
    assert run("simulate", scene, "--ticks", "1") == 0
    assert "warning: fill" in capsys.readouterr().err


def test_picture_that_fails_keeps_the_recording(windows, scene, capsys, monkeypatch):
    def fail(frame, path):
        raise RenderError("no OpenGL here; install Mesa")

    monkeypatch.setattr(sys.modules["app.render.picture"], "save_picture", fail)
    assert run("simulate", scene, "--ticks", "3", "--record", "a.mbr", "--picture", "a.png") == 2
    captured = capsys.readouterr()
    assert captured.err == "matterbox: no OpenGL here; install Mesa\n"
    assert Replay.read("a.mbr").ticks == 3


def test_recording_that_fails_is_one_sentence(windows, scene, capsys, monkeypatch):
    monkeypatch.setattr("app.recording.MAX_BYTES", 6000)
    monkeypatch.setattr("app.recording.MAX_LINE", 3000)
    said = refused(capsys, "simulate", scene, "--ticks", "500", "--record", "a.mbr")
    assert "the recording ended after" in said
    assert 0 < Replay.read("a.mbr").ticks < 500


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_run_properly(windows, scene, capsys, monkeypatch, number):
    step = ToySimulation.step

    def stepping(self, n=1):
        step(self, n)
        if self.steps == 40:
            signal.raise_signal(number)

    monkeypatch.setattr(ToySimulation, "step", stepping)
    before = signal.getsignal(number)
    assert run("simulate", scene, "--ticks", "500", "--record", "a.mbr", "--json") == 128 + number
    assert json.loads(capsys.readouterr().out)["ticks"] == 40
    assert signal.getsignal(number) is before
    assert Replay.read("a.mbr").ticks == 40
    assert not Path("a.mbr.part").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_second_interrupt_aborts_and_the_recording_is_whole(windows, scene, capsys, monkeypatch):
    step = ToySimulation.step

    def stepping(self, n=1):
        if self.steps == 40:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        step(self, n)

    monkeypatch.setattr(ToySimulation, "step", stepping)
    assert run("simulate", scene, "--ticks", "500", "--record", "a.mbr") == 130
    assert Replay.read("a.mbr").ticks == 40
    assert capsys.readouterr().err == "matterbox: interrupted\n"


# -- run without a display -------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a display")
@pytest.mark.parametrize("wayland", [False, True])
def test_run_without_a_display_plays_and_leaves_picture_and_recording(
    windows, scene, capsys, monkeypatch, wayland
):
    """The window needs X11: a Wayland desktop without it is told how to have it."""
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    if wayland:
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert run("run", scene) == 0
    said = capsys.readouterr().out
    assert "no display" in said
    assert ("XWayland" in said) == wayland
    assert "600 ticks" in said
    assert "wrote toy.mbr" in said and "wrote toy.png" in said
    assert Replay.read("toy.mbr").ticks == 600
    assert windows.opened == []


# -- replay ----------------------------------------------------------------------------------------


@pytest.fixture
def recorded(windows, scene, capsys) -> Path:
    assert run("simulate", scene, "--ticks", "30", "--record", "a.mbr", "--arch", "cpu") == 0
    capsys.readouterr()
    return Path("a.mbr")


def test_verify_ends_with_0_3_and_4(recorded, capsys, monkeypatch):
    assert run("replay", recorded, "--verify") == 0
    assert "all 30 ticks" in capsys.readouterr().out
    assert run("replay", recorded, "--verify", "--to", "10") == 0
    assert "all 10 ticks" in capsys.readouterr().out
    assert run("replay", recorded, "--verify", "--arch", "vulkan") == 4
    assert "cpu recorded, vulkan here" in capsys.readouterr().out

    step = ToySimulation.step

    def drifting(self, n=1):
        step(self, n)
        if self.steps == 20:
            self.particles[0] ^= 1

    monkeypatch.setattr(ToySimulation, "step", drifting)
    assert run("replay", recorded, "--verify") == 3
    said = capsys.readouterr().out
    assert "step 19" in said and "position" in said


def test_verify_of_a_broken_file_is_one_sentence(recorded, capsys):
    recorded.write_bytes(recorded.read_bytes()[:-50])
    assert "a.mbr" in refused(capsys, "replay", recorded, "--verify")


def test_replay_opens_the_window_with_a_checked_recording(recorded, windows):
    assert run("replay", recorded, "--to", "10") == 0
    ((path, options),) = windows.opened
    assert path is None
    assert options["replay"].last_step == 9
    assert Replay.read(options["replay"]) is options["replay"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a display")
def test_replay_without_a_display_says_what_works(recorded, capsys, monkeypatch):
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "--verify" in refused(capsys, "replay", recorded)


def test_journal_of_a_crash_is_recovered_with_a_sentence(recorded, capsys):
    session_file = Path("b.mbr")
    from app.recording import Recorder
    from app.session import Session

    simulation = ToySimulation(arch="cpu")
    session = Session(simulation, recorder=Recorder(session_file, simulation))
    for _ in range(5):
        session.step_once()
    journal = Path("b.mbr.part").read_bytes()
    session.close()
    session_file.unlink()
    Path("b.mbr.part").write_bytes(journal)
    assert run("replay", session_file, "--verify") == 0
    captured = capsys.readouterr()
    assert "recovered 5 ticks" in captured.err
    assert "all 5 ticks" in captured.out


# -- scenes ----------------------------------------------------------------------------------------


def test_check_prints_bounds_and_cfl_table_of_each_scene(scene, capsys):
    other = scene.with_name("other.toml")
    other.write_text(SCENE.replace('name = "Toy"', 'name = "Other"'))
    assert run("check", scene, other) == 0
    said = capsys.readouterr().out
    assert "8 x 8 = 64 cells" in said
    assert "wave speed [m/s]" in said and "CFL at 16" in said
    assert "Other" in said


def test_check_tells_every_fault_and_goes_on(scene, capsys):
    bad = scene.with_name("bad.toml")
    bad.write_text(SCENE.replace("cell = 0.125", "cell = -1").replace("seed = 7", 'seed = "x"'))
    assert run("check", bad, scene) == 2
    captured = capsys.readouterr()
    assert "cell" in captured.err and "seed" in captured.err
    assert "toy.toml: valid" in captured.out


def test_import_writes_a_scene_that_loads(scene, capsys, monkeypatch):
    module = ModuleType("app.scene_import")
    module.import_scene = lambda text, name: (SCENE.replace("Toy", name), ["no counterpart: x"])
    monkeypatch.setitem(sys.modules, "app.scene_import", module)
    source = scene.with_name("damBreak.json")
    source.write_text("{}")
    assert run("import", source, "-o", "dam.toml") == 0
    captured = capsys.readouterr()
    assert "note: no counterpart: x" in captured.err
    assert run("check", "dam.toml") == 0
    assert run("import", source) == 0
    assert 'name = "damBreak"' in capsys.readouterr().out
    source.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refused(capsys, "import", source)


def test_schema_is_json(capsys):
    assert run("schema") == 0
    assert json.loads(capsys.readouterr().out)["$schema"]


def test_doctor_prints_every_check(capsys, monkeypatch):
    module = ModuleType("app.doctor")
    module.report = lambda: [
        SimpleNamespace(name="Python", ok=True, text="3.11", cure=""),
        SimpleNamespace(name="cuda", ok=None, text="no driver", cure=""),
        SimpleNamespace(name="OpenGL", ok=False, text="missing", cure="install Mesa"),
    ]
    monkeypatch.setitem(sys.modules, "app.doctor", module)
    assert run("doctor") == 1
    said = capsys.readouterr().out
    assert "Python" in said and "install Mesa" in said


# -- the real process ------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def matterbox(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "app", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


def test_version_and_help():
    assert matterbox("--version").stdout.startswith("matterbox 0.")
    shown = matterbox("--help")
    assert shown.returncode == 0
    for command in cli.COMMANDS:
        assert command in shown.stdout
        assert matterbox(command, "--help").returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], ["schema"], ["check", "toy.toml"]])
def test_light_commands_load_neither_taichi_nor_windows(scene, arguments):
    code = (
        "import sys; from app.cli import main\n"
        f"sys.argv = ['matterbox', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit as exit: assert not exit.code, exit.code\n"
        "heavy = {'taichi', 'pyglet', 'OpenGL', 'imgui_bundle', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_reader_that_has_enough_gets_no_traceback():
    code = f"{sys.executable} -m app schema | head -c 10"
    done = subprocess.run(
        ["sh", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""


# -- snapshots -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["toy.toml", "--resume", "a.mbs"], ["SCENE", "leave out"]),
        (["--resume", "a.mbs", "--seed", "3"], ["--seed", "leave out"]),
        (["--resume", "a.mbs", "--record", "a.mbr"], ["--record", "initial state"]),
        (["--resume", "a.mbs"], ["a.mbs", "No such file"]),
        (["toy.toml", "--snapshot", "no/a.mbs"], ["no/a.mbs", "no folder"]),
    ],
)
def test_snapshots_that_make_no_sense_are_refused_before_anything_runs(
    windows, scene, capsys, arguments, words
):
    message = refused(capsys, "simulate", *arguments)
    assert all(word in message for word in words)


def test_snapshot_that_cannot_be_written_is_one_sentence(windows, scene, capsys, monkeypatch):
    def full(self, path):
        raise SnapshotError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr("toy_simulation.ToySnapshot.save", full, raising=False)
    message = refused(capsys, "simulate", scene, "--ticks", 2, "--snapshot", "a.mbs")
    assert "No space left" in message


def test_resuming_says_what_is_another_device_and_runs_on_its_arch(
    windows, scene, capsys, monkeypatch
):
    made = {"arch": "cpu"}
    taken = SimpleNamespace(made=made, differences_here=lambda here: ["code (1 then, 2 here)"])
    asked = []

    def from_snapshot(snapshot, arch):
        asked.append((snapshot, arch))
        simulation = ToySimulation()
        simulation.tick = 40
        return simulation

    monkeypatch.setattr(Snapshot, "load", lambda path: taken)
    monkeypatch.setattr(ToySimulation, "from_snapshot", from_snapshot, raising=False)
    assert run("simulate", "--resume", "a.mbs", "--ticks", 3) == 0
    assert run("simulate", "--resume", "a.mbs", "--ticks", 3, "--arch", "cuda", "--json") == 0
    assert asked == [(taken, "cpu"), (taken, "cuda")]
    captured = capsys.readouterr()
    assert "Toy: 3 ticks after tick 40 on cpu" in captured.out
    assert json.loads(captured.out.splitlines()[-1])["ticks"] == 3
    assert captured.err.count("other bits are no fault: code (1 then, 2 here)") == 2


def test_heavy_mode_ends_with_3_and_the_field(windows, scene, capsys, monkeypatch):
    assert run("simulate", scene, "--ticks", 2, "--heavy") == 0
    assert "heavy: every tick made the same bits" in capsys.readouterr().out
    step = ToySimulation.step

    def diverge(self, n=1):
        if self.heavy and self.tick == 4:
            raise DivergenceError("tick 4 made other bits: field x, entry 7: 0x1p0 against 0x0p0")
        step(self, n)

    monkeypatch.setattr(ToySimulation, "step", diverge)
    assert run("simulate", scene, "--heavy", "--record", "a.mbr") == 3
    captured = capsys.readouterr()
    assert captured.err == (
        "matterbox: tick 4 made other bits: field x, entry 7: 0x1p0 against 0x0p0\n"
    )
    assert Replay.read("a.mbr").ticks == 4
    assert run("simulate", scene, "--ticks", 5) == 0
