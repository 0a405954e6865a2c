"""The tables of docs/recording.md, written from the code that they describe.

`python -m app.recording_reference docs/recording.md` writes them anew between their marks.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields
from pathlib import Path

from app import recording
from app.events import REGISTRY, Event
from app.fingerprint import COMPARED

_MARK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_TYPES = {"Vector": "[x, y]", "float": "number", "str": "text"}


def tables() -> dict[str, str]:
    """Name of a table in docs/recording.md -> its Markdown."""
    return {
        "events": _events(),
        "compared": _compared(),
        "tolerances": _tolerances(),
        "limits": _limits(),
    }


def refreshed(text: str) -> str:
    """The document with its tables written anew. Raises KeyError for a mark of no table."""
    made = tables()
    return _MARK.sub(lambda mark: f"{mark[1]}{made[mark[2]]}{mark[4]}", text)


def _events() -> str:
    rows = []
    for kind, event in REGISTRY.items():
        members = ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in fields(event))
        rows.append((f"`{kind}`", members or "none", _meaning(event)))
    return _table(("kind", "fields", "meaning"), rows)


def _meaning(event: type[Event]) -> str:
    return re.sub(r"\s+", " ", inspect.cleandoc(event.__doc__ or "")).strip()


def _compared() -> str:
    return _table(
        ("header", "is"),
        [(f"`{name}`", f"the {label}") for name, label in COMPARED.items()],
    )


def _tolerances() -> str:
    rows = [
        (f"`{name}`", f"{100 * share:g}%", recording.SCALES[name])
        for name, share in recording.TOLERANCES.items()
    ]
    return _table(("aggregate", "tolerance", "of"), rows)


def _limits() -> str:
    mebi = 1 << 20
    return _table(
        ("what", "at most"),
        [
            ("the file, and all of it unpacked", f"{recording.MAX_BYTES // mebi} MiB"),
            ("`header.json`", f"{recording.MAX_HEADER >> 10} KiB"),
            ("`scene.toml`", f"{recording.MAX_SCENE // mebi} MiB"),
            ("a line", f"{recording.MAX_LINE // mebi} MiB"),
            ("steps", f"{recording.MAX_STEPS:,}"),
            ("members", f"{recording.MAX_MEMBERS}"),
            (
                f"unpacked size over packed size, beyond {recording.BOMB_SIZE // mebi} MiB",
                f"{recording.MAX_RATIO}",
            ),
        ],
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(refreshed(document.read_text(encoding="utf-8")), encoding="utf-8")
