"""Contract: every gate of `matterbox validate` holds, and rejects its variant that is wrong; it
hands out the curves of its figure, finite and with their units.

Here the cheap gates run in their quick form; all of them run whole with `-m soak`.
"""

import csv
import dataclasses

import numpy as np
import pytest

from app import errors
from app import validation as gates_room
from app.validation.figure import svg_of
from app.validation.gate import Curve, Measurement, Panel, at_least, at_most, close
from app.validation.report import COLUMNS, Outcome, document_of, run_gate, validate

GATES = gates_room.gates()
MOST_BYTES = 60_000
"""Size of one figure's file."""
CHEAP = [gate for gate in GATES if gate.cheap]


@pytest.fixture(scope="module")
def world():
    return gates_room.World("cpu")


def told(checks):
    """Checks as lines for a failed assertion."""
    return [f"{c.quantity}: {c.measured:.5g}, {c.relation} {c.limit:g}" for c in checks]


def expect_to_hold(outcome):
    failed = [check for check in outcome.true.checks if not check.passed]
    assert not failed, told(failed)
    assert outcome.rejected, told(outcome.wrong.checks)


def expect_curves(outcome):
    """The true variant's are finite; the wrong one, which may blow up, has the same axes."""
    axes = [
        [(p.x, p.x_unit, p.y, p.y_unit) for p in m.panels] for m in (outcome.true, outcome.wrong)
    ]
    assert axes[0] == axes[1] and all(all(panel) for panel in axes[0])
    for panel in outcome.true.panels:
        assert panel.measured
        for curve in (*panel.measured, *panel.theory):
            assert len(curve.x) and np.isfinite([curve.x, curve.y]).all(), (panel.y, curve)


@pytest.mark.parametrize("gate", CHEAP, ids=lambda gate: gate.name)
def test_cheap_gate(gate, world):
    outcome = run_gate(gate, world, quick=True)
    expect_curves(outcome)
    expect_to_hold(outcome)


@pytest.mark.soak
@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_gate(gate, world):
    outcome = run_gate(gate, world)
    expect_curves(outcome)
    expect_to_hold(outcome)


def test_curves_are_those_of_the_checks(world):
    """In the units that the axes name: metres across the slot, m/s down it, and their deviation."""
    gate = gates_room.gates(["poiseuille"])[0]
    outcome = run_gate(gate, world, quick=True)
    (panel,) = outcome.true.panels
    (measured,), (theory,) = panel.measured, panel.theory
    assert (panel.x_unit, panel.y_unit) == ("m", "m/s")
    width, eta, weight = 0.2, 20.0, 1000.0 * 0.5
    assert theory.y.max() == pytest.approx(weight * width**2 / (8.0 * eta))
    assert np.abs(measured.x).max() < 0.5 * width and len(measured.x) > 15
    off = np.abs(measured.y - np.interp(measured.x, theory.x, theory.y)).max() / theory.y.max()
    assert off == pytest.approx(outcome.true.checks[0].measured, abs=1e-3)
    svg = svg_of(gate, outcome.true, outcome.wrong, "small print")
    assert len(svg) < MOST_BYTES
    for words in (gate.title, "speed [m/s]", "distance from the middle [m]", "small print"):
        assert words in svg


def test_checks():
    assert close("a", "m", 1.04, 1.0, 0.05).passed and not close("a", "m", 1.06, 1.0, 0.05).passed
    assert at_most("a", "m", 1.0, 1.0).passed and not at_most("a", "m", 1.1, 1.0).passed
    assert at_least("a", "m", 1.0, 1.0).passed and not at_least("a", "m", 0.9, 1.0).passed
    for check in (close("a", "m", float("nan"), 1.0, 0.05), at_most("a", "m", float("nan"), 1.0)):
        assert not check.passed


def test_a_variant_that_passes_is_a_failure():
    check = at_most("a", "m", 1.0, 1.0)
    found = Measurement([check], ())
    assert not Outcome(GATES[0], found, found, 0.0, 0.0).passed


def test_unknown_gate():
    with pytest.raises(errors.MatterboxError, match="did you mean cantilever"):
        gates_room.gates(["cantilevr"])


def test_report_and_document(tmp_path, monkeypatch, world):
    """Rows of gates that are not run stay; the document has its numbers, verdicts, figures."""
    right, off = close("way", "m", 1.01, 1.0, 0.05), close("way", "m", 1.2, 1.0, 0.05)

    def fake(verdict):
        def measure(world, wrong, quick):
            check = off if wrong or not verdict else right
            return Measurement([check], (Panel("time", "s", "way", "m", (Curve([0, 1], [0, 1]),)),))

        return dataclasses.replace(GATES[0], measure=measure)

    path, document = tmp_path / "v.csv", tmp_path / "v.md"
    monkeypatch.setattr("app.validation.report.World", lambda arch: world)
    monkeypatch.setattr("app.validation.report.gates", lambda names=(): [fake("bad" not in names)])
    assert validate(["good"], csv_path=path) == 0
    assert validate(["bad"], csv_path=path, document=document) == 1
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS and [row["verdict"] for row in rows] == ["fail", "fail"]
    assert all(row["arch"] == "cpu" and row["date"] and row["taichi"] for row in rows)
    text = document.read_text(encoding="utf-8")
    assert (
        "0 of 1 gates hold" in text and "| way | m | 1.2 | 1 | 20.00 % | 5 % | **fails** |" in text
    )
    figure = tmp_path / "v" / f"{GATES[0].name}.svg"
    assert f"](v/{figure.name})" in text and "way [m]" in figure.read_text(encoding="utf-8")
    assert document_of({GATES[0].name: rows}, path, document, figure.parent) == text
    figure.unlink()
    assert (
        "]("
        not in document_of({GATES[0].name: rows}, path, document, figure.parent).split("## ")[1]
    )
    assert validate(["good"], figures=tmp_path / "elsewhere") == 0
    assert (tmp_path / "elsewhere" / figure.name).is_file()
