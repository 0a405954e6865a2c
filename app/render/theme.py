"""Colour themes: everything on the picture that is not matter. sRGB, 0..1, straight alpha."""

from __future__ import annotations

from dataclasses import dataclass

RGB = tuple[float, float, float]
RGBA = tuple[float, float, float, float]


def _rgb(text: str) -> RGB:
    return tuple(int(text[i : i + 2], 16) / 255.0 for i in (1, 3, 5))


def _rgba(text: str, alpha: float) -> RGBA:
    return (*_rgb(text), alpha)


@dataclass(frozen=True)
class Theme:
    """The colours of one theme.

    zenith, ground: the background's gradient inside the domain, top and bottom
    outside: the background beyond the domain
    grid: the metre grid; its alpha is the strength of the major lines
    shadow: what matter and colliders cast onto the background
    slip, stick: fill of a frictionless and of a sticking collider; others lie between
    bevel: strength of the light on a collider's edge
    border: the domain's edge
    drain: outline of a drain
    mark: what the colour of an emitter's matter is drawn towards, to stand out from that matter
    """

    zenith: RGB
    ground: RGB
    outside: RGB
    grid: RGBA
    shadow: RGBA
    slip: RGB
    stick: RGB
    bevel: float
    border: RGBA
    drain: RGB
    mark: RGB


THEMES = {
    "dark": Theme(
        zenith=_rgb("#1b2330"),
        ground=_rgb("#0f141c"),
        outside=_rgb("#0b0e14"),
        grid=_rgba("#9fb4d6", 0.10),
        shadow=_rgba("#000000", 0.42),
        slip=_rgb("#5b6b82"),
        stick=_rgb("#80624c"),
        bevel=0.30,
        border=_rgba("#8fa3c2", 0.75),
        drain=_rgb("#ff6b81"),
        mark=_rgb("#ffffff"),
    ),
    "light": Theme(
        zenith=_rgb("#f6f8fb"),
        ground=_rgb("#e4e9f0"),
        outside=_rgb("#d5dbe4"),
        grid=_rgba("#3a4d6b", 0.12),
        shadow=_rgba("#1d2a3f", 0.26),
        slip=_rgb("#9aa7b8"),
        stick=_rgb("#b08f76"),
        bevel=0.24,
        border=_rgba("#4c5d78", 0.8),
        drain=_rgb("#d43a55"),
        mark=_rgb("#101828"),
    ),
}
