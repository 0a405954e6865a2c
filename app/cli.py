"""The commands. Each imports what it needs when it runs, so `--help` and `check` stay quick.

Exit statuses: 0 done; 1 the doctor found something to mend, or a gate of `validate` does not hold;
2 the user's to mend (one sentence on stderr says what); 3 other bits where they must be the same
(`replay --verify` and `--bisect`, `simulate --heavy`), 4 as `replay` says
(docs/recording.md); 130 ended with Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from app import __version__
from app.errors import (
    DivergenceError,
    MatterboxError,
    RecordingError,
    RenderError,
    SceneImportError,
    SnapshotError,
)

if TYPE_CHECKING:
    from app.desync import Desync
    from app.session import Session
    from app.simulation import Simulation
    from app.snapshot import Snapshot

DEFAULT_SCENE = "playground"
DEFAULT_TICKS = 600
ARCHS = ("auto", "cuda", "vulkan", "metal", "cpu")
MOST_TICKS = 10_000_000
MOST_IMPORT_BYTES = 64 << 20
MOST_CHECKED_SITES = 20_000_000  # `check` counts particles of larger fills on a coarser lattice

EXIT_ERROR = 2
EXIT_DIVERGED = 3


def main() -> NoReturn:
    """Entry point of the command `matterbox` and of `python -m app`."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a terminal that cannot show a letter shows "?"
            stream.reconfigure(errors="replace")
    try:
        code = run_command(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `matterbox ... | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + 13
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line (without the program's name); returns the exit status.

    What the user can mend ends in one sentence on stderr and status 2; a traceback is a bug of
    ours. Raises SystemExit for `--help`, `--version` and arguments that make no sense.
    """
    options = _parser().parse_args(_with_command(arguments))
    try:
        return options.command(options)
    except DivergenceError as error:
        _complain(str(error))
        return EXIT_DIVERGED
    except MatterboxError as error:
        _complain(str(error))
        return EXIT_ERROR
    except KeyboardInterrupt:
        _complain("interrupted")
        return 128 + signal.SIGINT


# -- run -------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> int:
    path = _scene_path(options.scene)
    if not _has_display():
        return _run_without_display(path, options)
    _start_device(options)
    from app.ui.window import run_window

    return run_window(
        path, arch=options.arch, record=options.record, replay=None, seed=options.seed
    )


def _run_without_display(path: Path, options: argparse.Namespace) -> int:
    """What `run` does on a machine that can show no window: play, then leave something to see."""
    picture = Path(f"{path.stem}.png")
    record = options.record or Path(f"{path.stem}.mbr")
    _need_folder(record)
    _say(
        f"no display here ({_no_display()}): playing {path.stem} without a window for "
        f"{DEFAULT_TICKS} ticks"
    )
    played = _play(path, options, ticks=DEFAULT_TICKS, record=record, picture=picture)
    print(played.summary())
    return played.code


# -- simulate --------------------------------------------------------------------------------------


def _simulate(options: argparse.Namespace) -> int:
    resumed = _resumed(options)
    for target in (options.record, options.picture, options.snapshot):
        _need_folder(target)
    played = _play(
        _scene_path(options.scene) if resumed is None else resumed,
        options,
        ticks=options.ticks,
        record=options.record,
        picture=options.picture,
        snapshot=options.snapshot,
        heavy=options.heavy,
    )
    print(played.to_json() if options.json else played.summary(), flush=True)
    return played.code


def _resumed(options: argparse.Namespace) -> Snapshot | None:
    """The snapshot to go on from; what would contradict it is refused."""
    if options.resume is None:
        return None
    given = {"SCENE": options.scene, "--seed": options.seed}
    for name in (name for name, value in given.items() if value is not None):
        raise SnapshotError(f"{name} with --resume: the snapshot brings its own; leave out {name}")
    if options.record is not None:
        raise SnapshotError(
            "--record with --resume: a recording begins with the initial state of a scene, not "
            "with a snapshot; leave out one of them"
        )
    from app.snapshot import Snapshot

    return Snapshot.load(options.resume)


class _Played:
    """What a headless run has come to."""

    def __init__(self, simulation: Simulation, seconds_per_tick: float):
        from app.fingerprint import combined_digest
        from app.recording import aggregates_of

        self.code = 0
        self.written: list[str] = []
        self.scene = simulation.scene.name
        self.arch = simulation.arch
        self.device = simulation.device
        self.ticks = simulation.steps
        self.status = simulation.status()
        began = self.status.tick - self.ticks
        self.since = f" after tick {began}" if began else ""
        self.heavy = simulation.heavy
        self.digests = simulation.digests()
        self.digest = combined_digest(self.digests)
        self.aggregates = aggregates_of(simulation)
        self.ms_per_tick = 1000.0 * seconds_per_tick

    def to_json(self) -> str:
        """The documented object on one line. Numbers that are not finite are null."""
        status = self.status
        return json.dumps(
            {
                "scene": self.scene,
                "arch": self.arch,
                "device": self.device,
                "ticks": self.ticks,
                "substeps": status.substeps,
                "rounds": status.rounds,
                "live": status.live,
                "emitted": status.emitted,
                "drained": status.drained,
                "digest": self.digest,
                "digests": self.digests,
                "counters": status.counters,
                "ms_per_tick": round(self.ms_per_tick, 4),
                "mass": self.aggregates["mass"],
                "momentum": self.aggregates["momentum"],
                "center_of_mass": self.aggregates["center_of_mass"],
                "kinetic_energy": self.aggregates["kinetic_energy"],
            },
            allow_nan=False,
        )

    def summary(self) -> str:
        status = self.status
        lines = [
            f"{self.scene}: {self.ticks} ticks{self.since} on {self.arch} ({self.device}), "
            f"{self.ms_per_tick:.2f} ms a tick",
            f"particles {status.live} of {status.capacity}, emitted {status.emitted}, "
            f"drained {status.drained}",
            f"{status.substeps} substeps in the last tick, {status.rounds} rounds each",
            f"digest {self.digest}",
        ]
        if self.heavy:
            lines.append("heavy: every tick made the same bits when it was run again")
        counted = [f"{name} {count}" for name, count in status.counters.items() if count]
        if counted:
            lines.append(f"counters: {', '.join(counted)}")
        return "\n".join([*lines, *(f"wrote {name}" for name in self.written)])


def _play(
    start: Path | Snapshot,
    options: argparse.Namespace,
    *,
    ticks: int,
    record: Path | None,
    picture: Path | None,
    snapshot: Path | None = None,
    heavy: bool = False,
) -> _Played:
    """Run a scene's file, or on from a snapshot, without a window. Ctrl-C ends it early, and
    everything asked for is written."""
    simulation = _begun(start, options)
    simulation.heavy = heavy
    scene = simulation.scene
    from app.session import Session

    session = Session(simulation)
    if record is not None:
        session.start_recording(record)
        if session.notice:
            _complain(session.notice)
    try:
        with _Interruption() as interruption:
            seconds = _run_ticks(session, ticks, interruption, scene.name)
    finally:
        written = session.close()
    if record is not None and written is None:
        raise RecordingError(session.notice or f"{record} could not be recorded")
    played = _Played(simulation, seconds)
    if written is not None:
        played.written.append(str(written))
    if picture is not None:
        from app.render.picture import frame_of, save_picture

        try:
            played.written.append(str(save_picture(frame_of(simulation), picture)))
        except RenderError as error:
            _complain(str(error))
            played.code = EXIT_ERROR
    if snapshot is not None:
        try:
            played.written.append(str(simulation.snapshot().save(snapshot)))
        except SnapshotError as error:
            _complain(str(error))
            played.code = EXIT_ERROR
    if interruption.signal is not None:
        played.code = 128 + interruption.signal
    simulation.close()
    return played


def _begun(start: Path | Snapshot, options: argparse.Namespace) -> Simulation:
    """A world in the initial state of a scene's file, or in the state of a snapshot."""
    if isinstance(start, Path):
        from app.scene import load

        scene = load(start)
        for warning in scene.warnings:
            _complain(f"warning: {warning}")
        _start_device(options)
        from app.simulation import Simulation

        return Simulation.from_scene(scene, arch=options.arch, seed=options.seed)
    arch = start.made["arch"] if options.arch == "auto" else options.arch
    _start_device(options, arch)
    from app import fingerprint
    from app.simulation import Simulation

    simulation = Simulation.from_snapshot(start, arch=arch)
    elsewhere = start.differences_here(fingerprint.of(simulation))
    if elsewhere:
        _complain(f"made elsewhere, so other bits are no fault: {'; '.join(elsewhere)}")
    return simulation


def _run_ticks(session: Session, ticks: int, interruption: _Interruption, name: str) -> float:
    """Run the ticks; returns seconds a tick, the first one (which compiles) left out."""
    recording = session.recording
    start = time.perf_counter()
    with _progress(name, ticks) as report:
        done = 0
        while done < ticks and interruption.signal is None:
            session.step_once()
            done += 1
            if done == 1 and ticks > 1:
                session.simulation.status()  # waits for the device
                start = time.perf_counter()
            if recording and not session.recording:
                break
            report(done)
        session.simulation.status()
    counted = done - 1 if ticks > 1 else done
    return (time.perf_counter() - start) / counted if counted > 0 else 0.0


class _Interruption:
    """Makes the first Ctrl-C or SIGTERM a request that is met between ticks; the second aborts."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __enter__(self) -> _Interruption:
        self._before = {
            number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = int(number)


@contextmanager
def _progress(name: str, total: int) -> Iterator[Any]:
    """A progress bar on a terminal, nothing elsewhere. Yields a function of ticks done."""
    if not sys.stderr.isatty() or total < 1:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(escape(name)),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} ticks"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(name, total=total, rate="preparing kernels")
        shown, start = 0.0, time.perf_counter()

        def report(done: int) -> None:
            nonlocal shown, start
            now = time.perf_counter()
            if done == 1:
                start = now  # the first tick compiles and tells nothing about the others
            if now - shown > 0.1 or done == total:
                shown = now
                rate = (done - 1) / (now - start) if done > 1 and now > start else 0.0
                text = f"{rate:.0f} ticks/s" if rate else ""
                bar.update(task, completed=done, rate=text)

        yield report


# -- replay ----------------------------------------------------------------------------------------


def _replay(options: argparse.Namespace) -> int:
    from app.recording import Replay, verify

    if options.bisect:
        return _bisect(options)
    if options.verify:
        replay = Replay.read(options.file, to=options.to)
        if replay.notice:
            _complain(replay.notice)
        replay.scene()
        _start_device(options, options.arch or replay.header.arch)
        with _progress(options.file.name, replay.last_step + 1) as report:
            result = verify(replay, arch=options.arch, progress=lambda done, _: report(done))
        print(result.text)
        _keep(result.desync, options.file)
        return result.code
    if not _has_display():
        raise RenderError(
            f"no display to show the replay on ({_no_display()}); "
            f"'matterbox replay {options.file} --verify' replays it without one"
        )
    replay = Replay.read(options.file, to=options.to)
    _start_device(options)
    from app.ui.window import run_window

    return run_window(None, arch=options.arch or "auto", record=None, replay=replay, seed=None)


def _bisect(options: argparse.Namespace) -> int:
    from app.bisection import bisect
    from app.recording import Replay

    replay = Replay.read(options.file, to=options.to)
    if replay.notice:
        _complain(replay.notice)
    _start_device(options, options.arch or replay.header.arch)
    with _progress(options.file.name, replay.last_step + 1) as report:
        result = bisect(replay, arch=options.arch, progress=lambda done, _: report(done))
    print(result.text)
    _keep(result.desync, options.file)
    return result.code


def _keep(desync: Desync | None, recording: Path) -> None:
    """Write what is known of a divergence beside the recording."""
    if desync is None:
        return
    try:
        print(f"states and log: {desync.save(recording.parent)}")
    except MatterboxError as error:
        _complain(f"the states that differ were not kept: {error}")


# -- scenes ----------------------------------------------------------------------------------------


def _check(options: argparse.Namespace) -> int:
    from app.scene import load

    code = 0
    for number, name in enumerate(options.scenes):
        try:
            scene = load(_scene_path(name))
        except MatterboxError as error:
            for line in str(error).splitlines():
                _complain(line)
            code = EXIT_ERROR
            continue
        print("\n" * bool(number) + _scene_text(name, scene))
    return code


def _scene_text(name: str, scene: Any) -> str:
    """What `check` prints of a scene that validates."""
    from app.scene_report import scene_report

    report = scene_report(scene, MOST_CHECKED_SITES)
    solver = scene.solver
    about = "" if report.exact else "about "
    (width, height), (nx, ny) = report.size, report.cells
    lines = [
        f"{name}: valid",
        f"  {scene.name}: {width:g} x {height:g} m, {nx} x {ny} = {report.nodes} cells of "
        f"{report.cell:g} m, particle spacing {report.spacing:.4g} m",
        f"  particles {about}{report.particles} of capacity {report.capacity}, "
        f"mass {report.mass:.4g} kg/m",
        f"  substeps {solver.min_substeps} to {solver.max_substeps} a tick of "
        f"{1000.0 / solver.tick_rate:.4g} ms: dt {1000.0 * report.dt_at_min_substeps:.4g} to "
        f"{1000.0 * report.dt_at_max_substeps:.4g} ms",
        f"  advective: a fall through the domain reaches {report.fall_speed:.3g} m/s and needs "
        f"{report.substeps_for_fall} substeps for CFL 1",
    ]
    head = (
        "  acoustic",
        "model",
        "wave speed [m/s]",
        f"CFL at {solver.min_substeps}",
        f"CFL at {solver.max_substeps}",
        "substeps for CFL 1",
    )
    rows = [
        (
            f"  {material.name}",
            material.model,
            f"{material.wave_speed:.4g}",
            f"{material.cfl_at_min_substeps:.3g}",
            f"{material.cfl_at_max_substeps:.3g}",
            str(material.substeps_for_cfl_1),
        )
        for material in report.materials
    ]
    lines += _table([head, *rows])
    if report.transfer:
        transfer = report.transfer
        lines.append(
            f"  transfer: a particle of {transfer.lightest} is {transfer.quanta} quanta; sums fit "
            f"32 bits with up to {transfer.most_in_cell} particles in every cell, at full speed "
            f"up to {transfer.most_in_cell_fast}; beyond that they hand over less and are counted"
        )
    lines += [f"  warning: {warning}" for warning in report.warnings]
    lines += [f"  note: {note}" for note in report.notes]
    return "\n".join(lines)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as aligned lines: the first two columns to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _import(options: argparse.Namespace) -> int:
    from app.scene_import import import_scene

    source: Path = options.file
    _need_folder(options.output)
    try:
        with source.open("rb") as file:
            data = file.read(MOST_IMPORT_BYTES + 1)
        if len(data) > MOST_IMPORT_BYTES:
            raise SceneImportError(f"{source}: larger than {MOST_IMPORT_BYTES >> 20} MiB")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise SceneImportError(f"{source}: {error.strerror or error}") from None
    except ValueError:
        raise SceneImportError(f"{source}: not UTF-8 text, so no JSON") from None
    toml, notes = import_scene(text, source.stem)
    for note in notes:
        _complain(f"note: {note}")
    if options.output is None:
        print(toml, end="")
        return 0
    _write_whole(options.output, toml)
    print(f"wrote {options.output}; play it with: matterbox {options.output}")
    return 0


def _write_whole(path: Path, text: str) -> None:
    """Write a text file in one piece: an older one stays as it is until the new one is complete."""
    from app.archive import reason, replacing

    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise SceneImportError(f"cannot write {path}: {reason(error)}") from None


def _schema(_options: argparse.Namespace) -> int:
    from app.scene import json_schema

    print(json.dumps(json_schema(), indent=2))
    return 0


def _doctor(_options: argparse.Namespace) -> int:
    from app.doctor import report

    checks = report()
    width = max(len(check.name) for check in checks)
    marks = {True: "ok", False: "!!", None: "--"}
    for check in checks:
        print(f"{marks[check.ok]}  {check.name.ljust(width)}  {check.text}")
        if check.cure:
            print(f"    {' ' * width}  -> {check.cure}")
    return 1 if any(check.ok is False for check in checks) else 0


def _validate(options: argparse.Namespace) -> int:
    from app.validation.report import validate

    _start_device(options)
    return validate(
        options.gates,
        options.arch,
        options.quick,
        options.csv,
        options.document,
        options.figures,
    )


# -- arguments -------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message}; see '{self.prog} --help'")
        sys.exit(EXIT_ERROR)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="matterbox",
        description="A desktop sandbox for playing with matter. Without a command: run.",
        epilog="'matterbox COMMAND --help' says more. Exit status 2: what to mend is on stderr.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"matterbox {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, function: Any, help: str, **options: Any) -> _Parser:
        added = commands.add_parser(
            name, help=help, description=help, allow_abbrev=False, **options
        )
        added.set_defaults(command=function)
        return added

    run = command("run", _run, "open the window on a scene")
    _add_scene(run)
    _add_world(run)
    _add_record(run)

    simulate = command("simulate", _simulate, "play a scene without a window")
    _add_scene(simulate)
    simulate.add_argument(
        "--ticks",
        type=_whole(1, MOST_TICKS),
        default=DEFAULT_TICKS,
        metavar="N",
        help=f"how many ticks ({DEFAULT_TICKS})",
    )
    _add_world(simulate)
    _add_record(simulate)
    simulate.add_argument(
        "--picture", type=Path, metavar="F.png", help="write a picture of the last frame"
    )
    simulate.add_argument(
        "--snapshot", type=Path, metavar="F.mbs", help="write a snapshot of the last state"
    )
    simulate.add_argument(
        "--resume", type=Path, metavar="F.mbs", help="go on from a snapshot, in place of SCENE"
    )
    simulate.add_argument(
        "--heavy",
        action="store_true",
        help="run every tick twice from one state; exit status 3 and the first field that differs",
    )
    simulate.add_argument(
        "--json", action="store_true", help="the last line of stdout is one JSON object"
    )

    replay = command(
        "replay",
        _replay,
        "show a recording, or verify it",
        epilog="With --verify or --bisect the exit status is 0 when every digest matches, 3 when "
        "one differs, 4 when the device or the code is another, so that bits may differ. What is "
        "known of the first tick that differs goes into a folder desync beside the recording.",
    )
    replay.add_argument("file", type=Path, metavar="F.mbr", help="the recording")
    how = replay.add_mutually_exclusive_group()
    how.add_argument(
        "--verify", action="store_true", help="without a window: compare every tick's digest"
    )
    how.add_argument(
        "--bisect",
        action="store_true",
        help="without a window: run each tick twice, stage by stage, up to the first that differs, "
        "and name stage, field, slot and values",
    )
    replay.add_argument("--arch", choices=ARCHS, help="the recording's own unless given")
    replay.add_argument(
        "--to", type=_whole(1, MOST_TICKS), metavar="TICK", help="end before this tick"
    )
    _add_threads(replay)

    check = command("check", _check, "validate scenes: bounds, CFL table, warnings")
    check.add_argument("scenes", nargs="+", metavar="SCENE", help="files or names of shipped ones")

    importing = command("import", _import, "turn a scene of EA's pbmpm demo into a scene")
    importing.add_argument("file", type=Path, metavar="F.json", help="JSON version 1 or 2")
    importing.add_argument(
        "-o", "--output", type=Path, metavar="SCENE", help="the new scene (stdout)"
    )

    command("schema", _schema, "print the JSON Schema of scenes")
    command("doctor", _doctor, "say what works on this machine, and what is missing")

    validate = command(
        "validate",
        _validate,
        "hold the physics against theory",
        epilog="docs/validation.md tells what each gate came to. Exit status 1: one does not hold.",
    )
    validate.add_argument("gates", nargs="*", metavar="GATE", help="which gates (all)")
    validate.add_argument("--arch", choices=ARCHS, default="auto", help="where to compute")
    validate.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    validate.add_argument(
        "--csv", type=Path, metavar="F.csv", help="put the rows of these gates into this file"
    )
    validate.add_argument(
        "--document", type=Path, metavar="F.md", help="write a document of all that --csv holds"
    )
    validate.add_argument(
        "--figures",
        type=Path,
        metavar="FOLDER",
        help="draw a figure of each gate, NAME.svg (with --document: beside it; needs Matplotlib)",
    )
    _add_threads(validate)
    return parser


def _add_scene(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scene",
        nargs="?",
        metavar="SCENE",
        help=f"a scene file, or the name of a shipped scene ({DEFAULT_SCENE})",
    )


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arch",
        choices=ARCHS,
        default="auto",
        help="where to compute (auto: the best that starts)",
    )
    parser.add_argument(
        "--seed", type=_whole(0, 2**32 - 1), metavar="S", help="in place of the scene's seed"
    )
    _add_threads(parser)


def _add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--record", type=Path, metavar="F.mbr", help="record into this file")


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads", type=_whole(1, 1024), metavar="N", help="CPU threads at most (all)"
    )


def _whole(least: int, most: int) -> Any:
    def read(text: str) -> int:
        with suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        raise argparse.ArgumentTypeError(
            f"found {text[:40]!r}, expected a whole number from {least} to {most}"
        )

    return read


COMMANDS = ("run", "simulate", "replay", "check", "import", "schema", "doctor", "validate")


def _with_command(arguments: Sequence[str]) -> list[str]:
    """`matterbox`, `matterbox SCENE` and `matterbox --arch cpu` mean `matterbox run ...`."""
    if arguments and arguments[0] in (*COMMANDS, "-h", "--help", "--version"):
        return list(arguments)
    return ["run", *arguments]


def _scene_path(name: str | None) -> Path:
    """The scene file that is meant by a path, or by the name of a shipped scene."""
    from app.scene import builtin

    if name is None:
        return builtin(DEFAULT_SCENE)
    path = Path(name)
    if path.suffix or path.exists() or path.name != name:
        return path
    try:
        return builtin(name)
    except MatterboxError as error:
        meant = get_close_matches(name, COMMANDS, 1)
        hint = f"; or did you mean the command 'matterbox {meant[0]}'?" if meant else ""
        raise MatterboxError(f"{error}{hint}") from None


def _start_device(options: argparse.Namespace, arch: str | None = None) -> None:
    """Start the device with the number of threads asked for; a simulation then finds it running."""
    if options.threads is not None:
        from app.sim.device import start

        start(arch or options.arch or "auto", threads=options.threads)


def _has_display() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY"))


def _no_display() -> str:
    """Why `_has_display` says no. pyglet's windows need X11, which Wayland's desktops offer too."""
    if os.environ.get("WAYLAND_DISPLAY"):
        return "WAYLAND_DISPLAY is set, but the window needs X11 and DISPLAY is not: start XWayland"
    return "DISPLAY is not set"


def _need_folder(path: Path | None) -> None:
    """A file's folder must be there before minutes are spent on what goes into the file."""
    if path is not None and not path.parent.is_dir():
        raise MatterboxError(f"cannot write {path}: there is no folder {path.parent}")


def _say(text: str) -> None:
    print(text, flush=True)


def _complain(text: str) -> None:
    print(f"matterbox: {text}", file=sys.stderr, flush=True)
