"""Numbers as people read them: three digits, a unit with an SI prefix, a true minus sign."""

from __future__ import annotations

import math
import re

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_PREFIXABLE = ("Pa", "Pa s", "s", "Hz", "J", "N")
# Units for which only small prefixes are usual: nobody writes kiloseconds.
_SMALL_ONLY = ("s",)


def unit_text(unit: str) -> str:
    """A unit as it is printed: "kg/m^3" -> "kg/m³", "Pa s" -> "Pa·s", "degrees" -> "°"."""
    if unit in ("degrees", "degree", "deg"):
        return "°"
    if unit in ("", "1", "-"):
        return ""
    return unit.replace("^2", "²").replace("^3", "³").replace(" ", "·")


def digits(value: float, count: int = 3) -> str:
    """`count` significant digits without an exponent where that stays readable."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "not a number"
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if -4 <= magnitude < 6:
        places = max(0, count - 1 - magnitude)
        text = f"{value:.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, exponent = f"{value:.{count - 1}e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−") if text.startswith("-") else text


def quantity(value: float, unit: str = "", count: int = 3) -> str:
    """A value with its unit: (120000, "Pa") -> "120 kPa"."""
    if unit in _PREFIXABLE and value != 0 and math.isfinite(value):
        usual = [pair for pair in _PREFIXES if pair[0] <= 1 or unit not in _SMALL_ONLY]
        fitting = (pair for pair in usual if abs(value) >= pair[0] * (1 - 0.5 * 10**-count))
        factor, prefix = next(fitting, usual[-1])
        return f"{digits(value / factor, count)} {prefix}{unit_text(unit)}"
    text = unit_text(unit)
    gap = "" if text in ("", "°") else " "
    return f"{digits(value, count)}{gap}{text}"


def grouped(value: int) -> str:
    """An integer in groups of three: 40960 -> "40 960" (thin spaces)."""
    return f"{value:,}".replace(",", " ")


def clock(seconds: float) -> str:
    """A length of time: 75.34 -> "1:15.3"."""
    tenths = round(max(seconds, 0.0) * 10)
    minutes, rest = divmod(tenths, 600)
    return f"{minutes}:{rest // 10:02d}.{rest % 10}"


def rounded(value: float, count: int = 3) -> float:
    """`value` to `count` significant digits, as a slider hands it on: what is read is what is."""
    return float(f"{value:.{count - 1}e}") if math.isfinite(value) else value


_FACTORS = {"G": 1e9, "M": 1e6, "k": 1e3, "m": 1e-3, "µ": 1e-6, "u": 1e-6}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(.*)$")


def parse(text: str, unit: str = "") -> float | None:
    """A typed value in `unit`: "120k", "1.2e5", "0,5 MPa"; None for anything else."""
    match = _NUMBER.match(text.replace("−", "-"))
    if match is None:
        return None
    value = float(match[1].replace(",", "."))
    written = match[2].replace("·", " ").strip()
    if written in ("", unit, unit_text(unit), unit_text(unit).replace("·", " ")):
        return value
    if unit in _PREFIXABLE and written[0] in _FACTORS and written[1:] in ("", unit):
        return value * _FACTORS[written[0]]
    return None
