"""Contract of app/validation/figure.py: a gate's curves become one small SVG file.

- Axes carry their quantities and units, the legend what there is; a name of a curve is in it too.
- The same curves give the same bytes, so that a figure made again differs only where it must.
- What the wrong variant makes of a panel may be infinite, and may leave the frame.
- Without Matplotlib one sentence says what to install, before anything is measured.
- docs/validation.md shows a figure of every gate.
"""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest

from app import errors
from app.validation import NAMES, gates
from app.validation.figure import MEASURED, MOST_POINTS, svg_of
from app.validation.gate import Band, Curve, Measurement, Panel, around, between
from app.validation.report import validate

DOCS = Path(__file__).parents[2] / "docs"
MOST_BYTES = 60_000
GATE = gates(["cantilever"])[0]
TIME = np.linspace(0.0, 1.0, 11)


def panel(factor=1.0, **keys):
    theory = Curve(TIME, 2.0 * TIME)
    measured = Curve(TIME, factor * theory.y)
    keys = {"theory": (theory,), "limits": (around(theory, 0.05),)} | keys
    return Panel("time", "s", "way", "m", (measured,), **keys)


def drawn(true, wrong=None):
    """SVG of one panel, and the same again."""
    found = [Measurement([], (part,)) for part in (true, wrong or panel(1.2))]
    svg = svg_of(GATE, *found, "2026-01-02, commit abc")
    assert svg == svg_of(GATE, *found, "2026-01-02, commit abc")
    xml.fromstring(svg)
    return svg


def markers(svg, colour):
    return len(re.findall(rf"<use [^>]*fill: {colour}", svg))


def test_curves_labels_and_legend():
    svg = drawn(panel())
    for words in (GATE.title, "time [s]", "way [m]", "measured", "theory", "within the limit"):
        assert f">{words}</text>" in svg
    assert ">wrong on purpose</text>" in svg and "2026-01-02, commit abc" in svg
    assert markers(svg, MEASURED) == len(TIME) + 1  # and one in the legend
    assert "<dc:date>" not in svg


def test_ratios_have_no_unit_and_names_are_told():
    curves = tuple(Curve(TIME, TIME + n, f"{n} rounds") for n in (2, 3))
    svg = drawn(Panel("CFL", "1", "period", "1", curves), Panel("CFL", "1", "period", "1", curves))
    for words in ("CFL", "period", "2 rounds", "3 rounds"):
        assert f">{words}</text>" in svg
    assert ">theory</text>" not in svg and ">within the limit</text>" not in svg


def test_the_frame_is_the_true_variants():
    """A wrong variant a million times off left a flat line of the true one."""
    heights = [
        float(y)
        for y in re.findall(rf'y="([0-9.]+)" style="fill: {MEASURED}', drawn(panel(), panel(1e6)))
    ]
    assert max(heights) - min(heights) > 50


@pytest.mark.parametrize("logarithmic", ["", "y", "xy"])
def test_what_is_not_finite_is_left_out(logarithmic):
    wild = Panel("time", "s", "way", "m", (Curve([0, 1, 2, 3], [1.0, np.inf, np.nan, 2.0]),))
    limit = between(-np.inf, 3.0, (0.1, 1.0))
    svg = drawn(panel(logarithmic=logarithmic, limits=(limit,)), wild)
    assert not re.search(r"\b(nan|inf)\b", svg)


def test_a_constant_and_a_long_curve():
    flat = Curve(np.arange(5000.0), np.zeros(5000))
    svg = drawn(Panel("time", "s", "way", "m", (flat,)))
    assert markers(svg, MEASURED) == MOST_POINTS + 1 and len(svg) < MOST_BYTES


def test_curves_are_arrays_of_one_length():
    curve = Curve([1, 2], [3, 4])
    assert curve.x.dtype == float and curve.x.shape == (2,)
    with pytest.raises(ValueError):
        Curve([1, 2], [3])
    band = around(Curve([0.0, 1.0], [-2.0, 2.0]), 0.5)
    assert isinstance(band, Band) and (band.low < band.high).all()


def test_without_matplotlib(tmp_path, monkeypatch):
    """One sentence with the cure, and no device is started for it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("app.validation.report.World", None)
    with pytest.raises(errors.MatterboxError, match="pip install matplotlib") as caught:
        validate(["bar"], figures=tmp_path / "figures")
    assert "\n" not in str(caught.value) and not (tmp_path / "figures").exists()
    with pytest.raises(errors.MatterboxError, match="Matplotlib"):
        validate(["bar"], csv_path=tmp_path / "v.csv", document=tmp_path / "v.md")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(errors.MatterboxError, match="cannot make the folder"):
        validate(["bar"], figures=tmp_path / "figures")
    with pytest.raises(errors.MatterboxError, match="there is no folder"):
        validate(["bar"], figures=tmp_path / "none" / "figures")


@pytest.mark.parametrize("name", NAMES)
def test_the_document_shows_every_gate(name):
    text = (DOCS / "validation.md").read_text(encoding="utf-8")
    assert text.count(f"](validation/{name}.svg)") == 1
    figure = DOCS / "validation" / f"{name}.svg"
    assert figure.stat().st_size < MOST_BYTES
    assert gates([name])[0].title in xml.parse(figure).getroot().itertext()
