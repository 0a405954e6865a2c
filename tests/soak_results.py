"""Results of long runs: rows in a CSV file with their provenance, and a document made of them.

`pytest -m soak --results docs/soak.csv` (which is `make soak`) keeps what every long run came to; a
run replaces the rows that it had there. docs/soak.md is written from the file, all of it.
"""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import groupby
from pathlib import Path

from app import __version__
from app.archive import replacing
from app.fingerprint import code_hash, commit, environment
from app.scene import list_scenes
from app.sim import device

KEY = ("run", "arch", "subject", "condition")
COLUMNS = (
    *KEY,
    "count",
    "unit",
    "seconds",
    "digest",
    "verdict",
    "note",
    "date",
    "commit",
    "code",
    "matterbox",
    "python",
    "taichi",
    "device",
    "cores",
)
"""`count` of `unit`: how long the run was. `digest`: of its last state. `code`: of the sources that
physics is made of, as in recordings."""

COMMIT = commit()  # before anything is written that would mark the checkout as changed

IN_PROCESS = ("restarted", "resumed", "heavy", "rendered", "scrambled")
COLD, WARM = "one thread, cold cache", "one thread, warm cache"
"""Conditions of the matrix: those that play_scenes.py knows, and those of a whole process."""

RUNS = {
    "matrix": (
        "The same bits under every condition",
        "Every shipped scene with input of every kind is recorded, with a digest of every field "
        "after every tick, and played again in another process under each condition; every digest "
        "of every tick is compared. `restarted`: after a restart out of another life. `resumed`: "
        "twice from a snapshot of a tick of the scene's own. `heavy`: every tick twice from one "
        "state. `rendered`: a picture of every tick is drawn. `scrambled`: every particle is "
        "loaded into another slot; digests count slots, so all that the state holds is compared "
        "with particles as a multiset, and each loaded particle by itself until the first leaves. "
        "`one thread, cold cache`: kernels compiled anew, one CPU thread in place of two, the "
        "scenes in the opposite order. `one thread, warm cache`: the same with those kernels.",
    ),
    "endurance": (
        "A hundred thousand ticks",
        "Emitters and drains at work, while matter is painted and erased and the timeline goes "
        "back and forth again and again. Slots are conserved, memory stays flat, and playing the "
        "same again makes the same digests.",
    ),
    "kills": (
        "Killed at any moment",
        "A process is killed with SIGKILL while it records or saves. At most one second is lost, "
        "and what is there is whole: the recording verifies, the snapshot is the older or the "
        "newer one.",
    ),
    "fuzz": (
        "Files of strangers",
        "Mutated files are read in a process of limited memory; each is taken or refused with one "
        "line, within 10 s of processor time.",
    ),
}


def keep(path: Path, rows: Iterable[dict[str, object]]) -> None:
    """Put rows into the CSV file `path`, in place of those with the same KEY, and write the
    document beside it. Provenance is added; of each row `arch` says on which device it ran."""
    devices = {info.arch: info.name for info in device.available()}
    here = environment()
    source = {
        "date": datetime.date.today().isoformat(),
        "commit": COMMIT,
        "code": code_hash(),
        "matterbox": __version__,
        "python": here["python"],
        "taichi": here["taichi"],
        "cores": str(os.cpu_count()),
    }
    with _alone(path.parent):
        kept = {tuple(row[name] for name in KEY): row for row in read(path)}
        for row in rows:
            full = dict.fromkeys(COLUMNS, "") | source | {"device": devices.get(row["arch"], "")}
            full |= {name: str(value) for name, value in row.items()}
            kept[tuple(full[name] for name in KEY)] = full
        ordered = sorted(kept.values(), key=lambda row: (list(RUNS).index(row["run"]), row["arch"]))
        text = StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
        for target, content in (
            (path, text.getvalue()),
            (path.with_suffix(".md"), document_of(ordered, path.name)),
        ):
            with replacing(target) as file:
                file.write(content.encode())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time: runs in several threads and processes may end at the same moment."""
    try:
        import fcntl
    except ImportError:  # Windows; long runs are made one after the other there
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file; none where there is none or it has other columns."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        return list(reader) if tuple(reader.fieldnames or ()) == COLUMNS else []


def document_of(rows: list[dict[str, str]], source: str) -> str:
    """Markdown of the rows: every number in it comes from there."""
    dates = sorted({row["date"] for row in rows})
    held = sum(row["verdict"] == "holds" for row in rows)
    lines = [
        "# Long runs",
        "",
        f"Made by `make soak`. All numbers are those of [{source}]({source}), which also says on",
        f"what they were measured. Run {' to '.join(sorted({dates[0], dates[-1]}))}: {held} of "
        f"{len(rows)} runs hold.",
    ]
    for (run, arch), part in groupby(rows, key=lambda row: (row["run"], row["arch"])):
        title, text = RUNS[run]
        lines += ["", f"## {title}, on {arch}", "", text, ""]
        lines += (_matrix if run == "matrix" else _list)(list(part))
    return "\n".join(lines) + "\n"


def _provenance(rows: list[dict[str, str]]) -> str:
    names = ("date", "device", "cores", "python", "taichi", "commit", "code")
    said = {tuple(row[name] for name in names) for row in rows}
    return "\n".join(
        f"{date}, {where or 'no device'}, {cores} cores, Python {python}, Taichi {taichi}, commit "
        f"{made or 'unknown'}, code {code[:12]}."
        for date, where, cores, python, taichi, made, code in sorted(said)
    )


def _matrix(rows: list[dict[str, str]]) -> list[str]:
    conditions = (*IN_PROCESS, COLD, WARM)
    cells = {(row["subject"], row["condition"]): row for row in rows}
    lines = [_provenance(rows), "", _row("scene", "ticks", "digest at the end", *conditions)]
    lines.append("|---" * (3 + len(conditions)) + "|")
    for scene in (path.stem for path in list_scenes()):
        own = [cells.get((scene, condition)) for condition in conditions]
        first = next((row for row in own if row is not None), {"count": "", "digest": ""})
        lines.append(_row(scene, first["count"], f"`{first['digest']}`", *map(_verdict, own)))
    hours = sum(float(row["seconds"]) for row in rows) / 3600.0
    return [*lines, "", f"{len(rows)} runs, {hours:.2f} hours of one process in all."]


def _list(rows: list[dict[str, str]]) -> list[str]:
    lines = [_provenance(rows), "", _row("what", "how", "length", "seconds", "verdict", "found")]
    lines.append("|---" * 6 + "|")
    for row in rows:
        length = f"{row['count']} {row['unit']}"
        found = row["note"] + (f"; digest `{row['digest']}`" if row["digest"] else "")
        lines.append(
            _row(row["subject"], row["condition"], length, row["seconds"], _verdict(row), found)
        )
    return lines


def _verdict(row: dict[str, str] | None) -> str:
    if row is None:
        return "not run"
    return "holds" if row["verdict"] == "holds" else f"**fails**: {row['note']}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
