"""Runs gates and reports: tables on the terminal, a CSV file, figures, a document of them."""

from __future__ import annotations

import csv
import datetime
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app import __version__
from app.errors import MatterboxError
from app.fingerprint import code_hash, commit, version
from app.validation import Check, Gate, Measurement, World, gates
from app.validation.figure import require_matplotlib, svg_of

COLUMNS = (
    "gate",
    "variant",
    "quantity",
    "unit",
    "measured",
    "expected",
    "error",
    "relation",
    "limit",
    "verdict",
    "seconds",
    "quick",
    "date",
    "commit",
    "code",
    "matterbox",
    "taichi",
    "arch",
    "device",
)
"""Columns of the CSV file. `code` is the digest of the physics' sources that recordings carry."""


@dataclass(frozen=True)
class Outcome:
    """What one gate came to: what its two variants found and the time each took [s]."""

    gate: Gate
    true: Measurement
    wrong: Measurement
    seconds: float
    wrong_seconds: float

    @property
    def rejected(self) -> bool:
        """Whether the variant that is wrong on purpose was told from the true one."""
        return not all(check.passed for check in self.wrong.checks)

    @property
    def passed(self) -> bool:
        """Whether every check holds and the wrong variant was rejected."""
        return all(check.passed for check in self.true.checks) and self.rejected


def run_gate(gate: Gate, world: World, quick: bool = False) -> Outcome:
    """Measure a gate, then its wrong variant."""
    start = time.perf_counter()
    true = gate.measure(world, False, quick)
    middle = time.perf_counter()
    wrong = gate.measure(world, True, quick)
    return Outcome(gate, true, wrong, middle - start, time.perf_counter() - middle)


def validate(
    names: Iterable[str],
    arch: str = "auto",
    quick: bool = False,
    csv_path: Path | None = None,
    document: Path | None = None,
    figures: Path | None = None,
    console: Console | None = None,
) -> int:
    """Run gates and report; returns 1 if one failed, else 0.

    The CSV file keeps the rows of gates that are not run this time. Figures go into the folder
    `figures`, which is made if missing; with a document and no such folder, into one beside the
    document and of its name. Raises MatterboxError for an unknown gate, a document without a CSV
    file, a file that cannot be written, or figures without Matplotlib.
    """
    chosen = gates(names)
    if document is not None and csv_path is None:
        raise MatterboxError("--document is made from the CSV file: give --csv as well")
    if document is not None and figures is None:
        figures = document.with_suffix("")
    if figures is not None:
        require_matplotlib()
    for path in (csv_path, document, figures):
        if path is not None and not path.parent.is_dir():
            raise MatterboxError(f"cannot write {path}: there is no folder {path.parent}")
    # Into a file a table may be as wide as it needs to be.
    console = console or Console(width=None if sys.stdout.isatty() else 120)
    _make_folder(figures)
    world = World(arch)
    rows = _read(csv_path)
    source = _provenance(world, quick)
    failed = []
    console.print(f"{len(chosen)} gates on {world.device} ({world.arch})")
    for gate in chosen:
        with console.status(f"{gate.title} ..."):
            outcome = run_gate(gate, world, quick)
        console.print(_table(outcome))
        if not outcome.passed:
            failed.append(gate.name)
        rows[gate.name] = _rows(outcome, source)
        _write_csv(csv_path, rows)
        if figures is not None:
            figure = svg_of(gate, outcome.true, outcome.wrong, _note(source))
            _write(_figure(figures, gate), figure)
    if document is not None:
        _write(document, document_of(rows, csv_path, document, figures))
    passed = len(chosen) - len(failed)
    console.print(f"{passed} of {len(chosen)} gates hold", end="")
    console.print(f"; failed: {', '.join(failed)}" if failed else "")
    return 1 if failed else 0


def _number(value: float) -> str:
    return f"{value:.4g}"


def _limit(check: Check) -> str:
    if check.relation == "within":
        return f"{100 * check.limit:g} %"
    return f"{check.relation} {_number(check.limit)}"


def _table(outcome: Outcome) -> Table:
    table = Table(title=outcome.gate.title, title_justify="left", expand=False)
    for name in ("quantity", "measured", "expected", "error", "limit", "verdict", "wrong", ""):
        table.add_column(name, justify="left" if name in ("quantity", "verdict") else "right")
    wrong = {check.quantity: check for check in outcome.wrong.checks}
    for check in outcome.true.checks:
        other = wrong.get(check.quantity)
        table.add_row(
            f"{check.quantity} [{check.unit}]".replace("[1]", "").strip().replace("[", "\\["),
            _number(check.measured),
            _number(check.expected) if check.relation == "within" else "",
            f"{100 * check.error:.2f} %" if check.relation == "within" else "",
            _limit(check),
            "[green]holds[/]" if check.passed else "[red]FAILS[/]",
            _number(other.measured) if other else "",
            "" if other is None else ("passes" if other.passed else "rejected"),
        )
    verdict = "rejected" if outcome.rejected else "[red]NOT rejected[/]"
    table.caption = f"wrong on purpose, {outcome.gate.wrong}: {verdict}"
    table.caption_justify = "left"
    return table


def _provenance(world: World, quick: bool) -> dict[str, str]:
    """The columns that tell how and on what a run measured; taken once, before it writes files."""
    return {
        "quick": "yes" if quick else "no",
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "code": code_hash(),
        "matterbox": __version__,
        "taichi": version("taichi"),
        "arch": world.arch,
        "device": world.device,
    }


def _note(source: dict[str, str]) -> str:
    """The small print of a figure."""
    short = ", a short run" if source["quick"] == "yes" else ""
    return f"{source['date']}, {source['arch']}, commit {source['commit'] or 'unknown'}{short}"


def _rows(outcome: Outcome, source: dict[str, str]) -> list[dict[str, str]]:
    parts = (
        ("true", outcome.true.checks, outcome.seconds),
        ("wrong", outcome.wrong.checks, outcome.wrong_seconds),
    )
    return [
        source
        | {
            "gate": outcome.gate.name,
            "variant": variant,
            "quantity": check.quantity,
            "unit": check.unit,
            "measured": f"{check.measured:.6g}",
            "expected": f"{check.expected:.6g}",
            "error": f"{check.error:.4g}",
            "relation": check.relation,
            "limit": f"{check.limit:g}",
            "verdict": "pass" if check.passed else "fail",
            "seconds": f"{seconds:.1f}",
        }
        for variant, checks, seconds in parts
        for check in checks
    ]


def _read(path: Path | None) -> dict[str, list[dict[str, str]]]:
    """Rows by gate of an earlier file; nothing where there is none or it has other columns."""
    rows: dict[str, list[dict[str, str]]] = {}
    if path is None or not path.is_file():
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            return rows
        for row in reader:
            rows.setdefault(row["gate"], []).append(row)
    return rows


def _write_csv(path: Path | None, rows: dict[str, list[dict[str, str]]]) -> None:
    if path is None:
        return
    from io import StringIO

    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for gate in gates():
        writer.writerows(rows.get(gate.name, []))
    _write(path, text.getvalue())


def _figure(folder: Path, gate: Gate) -> Path:
    return folder / f"{gate.name}.svg"


def _make_folder(path: Path | None) -> None:
    try:
        if path is not None:
            path.mkdir(exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise MatterboxError(f"cannot make the folder {path} for figures: {reason}") from None


def _write(path: Path, text: str) -> None:
    """Write a file in one piece."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise MatterboxError(f"cannot write {path}: {error.strerror or error}") from None


# -- the document ----------------------------------------------------------------------------------


def document_of(
    rows: dict[str, list[dict[str, str]]], csv_path: Path, document: Path, figures: Path
) -> str:
    """Markdown of the rows of a CSV file: every number in it comes from there.

    It shows the figures that lie in the folder `figures`, by their way from the document.
    """
    source = csv_path.name
    held = [name for name, part in rows.items() if _holds(part)]
    dates = sorted({row["date"] for part in rows.values() for row in part})
    lines = [
        "# Validation",
        "",
        f"Made by `matterbox validate --csv docs/{source} --document docs/validation.md`. All its",
        f"numbers are those of [{source}]({source}), which also says on what they were measured.",
        f"Measured {' to '.join(sorted({dates[0], dates[-1]}))}: {len(held)} of {len(rows)} gates "
        "hold.",
        "",
        "A gate is a scene, a measurement, a theory and a limit. It also runs on a variant that is",
        "wrong on purpose, and holds only if it rejects that one. The head of each gate's file in",
        "`app/validation/` says what is needed to understand it. Figures show what was measured as",
        "points, the wrong variant as crosses, theory as a line, and shaded what the limit allows.",
    ]
    for gate in gates():
        if gate.name in rows:
            lines += _section(gate, rows[gate.name])
            if (figure := _figure(figures, gate)).is_file():
                way = os.path.relpath(figure, document.parent).replace(os.sep, "/")
                lines += ["", f"![{gate.title}: {gate.theory}]({way})"]
    return "\n".join(lines) + "\n"


def _holds(part: list[dict[str, str]]) -> bool:
    true = [row["verdict"] == "pass" for row in part if row["variant"] == "true"]
    wrong = [row["verdict"] == "pass" for row in part if row["variant"] == "wrong"]
    return all(true) and not all(wrong)


def _section(gate: Gate, part: list[dict[str, str]]) -> list[str]:
    first = part[0]
    short = "; a short run" if first["quick"] == "yes" else ""
    verdict = "Holds" if _holds(part) else "**Does not hold**"
    lines = [
        "",
        f"## {gate.title}",
        "",
        f"`{gate.name}`: {gate.theory}. Wrong on purpose: {gate.wrong}.",
        f"{verdict}. {first['date']}, {first['device']} ({first['arch']}), "
        f"Taichi {first['taichi']}, commit {first['commit'] or 'unknown'}{short}.",
        "",
        "| quantity | unit | measured | expected | error | limit | verdict | wrong variant |",
        "|---|---|---|---|---|---|---|---|",
    ]
    wrong = {row["quantity"]: row for row in part if row["variant"] == "wrong"}
    for row in part:
        if row["variant"] != "true":
            continue
        other = wrong.get(row["quantity"])
        within = row["relation"] == "within"
        cells = (
            row["quantity"],
            row["unit"],
            row["measured"],
            row["expected"] if within else "",
            f"{100 * float(row['error']):.2f} %" if within else "",
            f"{100 * float(row['limit']):g} %" if within else f"{row['relation']} {row['limit']}",
            "holds" if row["verdict"] == "pass" else "**fails**",
            _said_of_wrong(other),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _said_of_wrong(row: dict[str, str] | None) -> str:
    if row is None:
        return ""
    return f"{row['measured']}, {'passes' if row['verdict'] == 'pass' else 'rejected'}"
