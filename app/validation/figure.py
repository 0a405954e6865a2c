"""Draws a gate's figure: what was measured as points, theory as lines, limits shaded.

Matplotlib is imported here alone, and only when a figure is drawn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from io import StringIO
from itertools import chain, cycle
from typing import TYPE_CHECKING

import numpy as np

from app.errors import MatterboxError
from app.validation.gate import Curve, Gate, Measurement, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 100
"""Points drawn of one curve; longer ones are thinned, which keeps files small."""
MEASURED, WRONG, THEORY, ALLOWED = "#0b62a4", "#c2571a", "#222222", "#7db38d66"
SERIES = ("#0b62a4", "#b8860b", "#2a7f3f", "#8b3a8b", "#c2571a", "#4a4a4a")
"""Colours of measured curves that have names."""
STYLE = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    # Text stays text and ids do not change, so that a figure made again differs where it must.
    "svg.fonttype": "none",
    "svg.hashsalt": "matterbox",
}


def require_matplotlib() -> None:
    """Raises MatterboxError, which says what to install, where Matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MatterboxError(
            "figures cannot be drawn without Matplotlib: install it with 'pip install matplotlib' "
            "(the extra [validate] brings it too)"
        )


def svg_of(gate: Gate, true: Measurement, wrong: Measurement, note: str) -> str:
    """SVG of a gate's panels side by side; `note` goes below them in small print.

    The same measurements give the same text. Raises MatterboxError without Matplotlib, ValueError
    where the two variants have different numbers of panels.
    """
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        text = StringIO()
        metadata = {"Date": None, "Creator": "matterbox validate"}
        _figure(gate, true, wrong, note).savefig(text, format="svg", metadata=metadata)
    return text.getvalue()


def _figure(gate: Gate, true: Measurement, wrong: Measurement, note: str) -> Figure:
    from matplotlib.figure import Figure

    count = len(true.panels)
    figure = Figure(figsize=(1.2 + 4.3 * count, 3.6), layout="constrained")
    figure.suptitle(gate.title, fontsize=11)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for place, panel, other in zip(axes, true.panels, wrong.panels, strict=True):
        _draw(place, panel, other)
    figure.supxlabel(note, fontsize=6, color="#777777", x=0.99, ha="right")
    return figure


def _draw(axes: Axes, panel: Panel, wrong: Panel) -> None:
    """One pair of axes. The wrong variant may leave the frame, which is the true one's."""
    names = dict.fromkeys(curve.name for curve in panel.measured if curve.name)
    colour = dict(zip(names, cycle(SERIES), strict=False))
    spread = np.geomspace if "x" in panel.logarithmic else np.linspace
    for curve in panel.theory:
        axes.plot(curve.x, curve.y, "-", lw=1.2, color=colour.get(curve.name, THEORY), zorder=3)
    for curve in wrong.measured:
        axes.plot(
            *_points(curve, spread), "x", ms=4, color=colour.get(curve.name, WRONG), zorder=2.5
        )
    for curve in panel.measured:
        axes.plot(
            *_points(curve, spread), "o", ms=3.5, color=colour.get(curve.name, MEASURED), zorder=4
        )
    for axis in "xy":
        if axis in panel.logarithmic:
            getattr(axes, f"set_{axis}scale")("log")
    low, high = _range(panel, wrong, "y" in panel.logarithmic)
    axes.set_ylim(low, high)
    for band in panel.limits:
        edges = np.clip(band.low, low, high), np.clip(band.high, low, high)
        axes.fill_between(band.x, *edges, color=ALLOWED, lw=0, zorder=1)
    axes.margins(x=0.03)
    axes.set_xlabel(_label(panel.x, panel.x_unit))
    axes.set_ylabel(_label(panel.y, panel.y_unit))
    axes.legend(handles=_legend(panel, wrong, colour), loc="best")


def _points(curve: Curve, spread: Callable[..., np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The finite points of a curve, first and last included and at most MOST_POINTS of them.

    spread: linspace, or geomspace for an axis of x that is logarithmic.
    """
    finite = np.isfinite(curve.x) & np.isfinite(curve.y)
    x, y = curve.x[finite], curve.y[finite]
    if len(x) <= MOST_POINTS:
        return x, y
    kept = np.unique(spread(1, len(x), MOST_POINTS).round().astype(int)) - 1
    return x[kept], y[kept]


def _range(panel: Panel, wrong: Panel, logarithmic: bool) -> tuple[float, float]:
    """Ends of the y axis: all of the true variant, and of the wrong one what is near it."""
    scale, back = (np.log10, lambda y: 10.0**y) if logarithmic else (np.asarray, np.asarray)

    def values(parts) -> np.ndarray:
        joined = np.concatenate([*parts, []])
        joined = joined[np.isfinite(joined) & ((joined > 0) | (not logarithmic))]
        return scale(joined)

    curves = (curve.y for curve in (*panel.measured, *panel.theory))
    bands = chain.from_iterable((band.low, band.high) for band in panel.limits)
    shown = values(chain(curves, bands))
    low, high = shown.min(), shown.max()
    span = high - low or 0.1 * abs(high) or 1.0
    other = np.clip(values(c.y for c in wrong.measured), low - 1.5 * span, high + 1.5 * span)
    low, high = min(low, *other, low), max(high, *other, high)
    return float(back(low - 0.06 * span)), float(back(high + 0.06 * span))


def _label(quantity: str, unit: str) -> str:
    return quantity if unit == "1" else f"{quantity} [{unit}]"


def _legend(panel: Panel, wrong: Panel, colour: dict[str, str]) -> list:
    """Handles: one for each role that is there, and one for each name."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def marks(marker: str, own: str, label: str) -> Line2D:
        own = THEORY if colour else own
        return Line2D([], [], ls="", marker=marker, ms=4, color=own, label=label)

    handles: list = [marks("o", MEASURED, "measured")]
    if panel.theory:
        handles.append(Line2D([], [], lw=1.2, color=THEORY, label=panel.source))
    if panel.limits:
        handles.append(Patch(fc=ALLOWED, ec="#7db38d", lw=0.6, label="within the limit"))
    if wrong.measured:
        handles.append(marks("x", WRONG, "wrong on purpose"))
    return handles + [Patch(color=own, lw=0, label=name) for name, own in colour.items()]
