"""Where each key of a TOML document stands. The TOML readers at hand give values without lines."""

from __future__ import annotations

import contextlib
import re
import tomllib

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\r\n]+")
_STRINGS = tuple(
    (mark, re.compile(pattern, re.DOTALL))
    for mark, pattern in (
        ('"""', r'"""(?:\\.|(?!""").)*"{3,5}'),
        ("'''", r"'''(?:(?!''').)*'{3,5}"),
        ('"', r'"(?:\\.|[^"\\\n])*"'),
        ("'", r"'[^'\n]*'"),
    )
)


def key_lines(text: str) -> dict[Path, int]:
    """Line (from 1) of every table, key and array element of `text`, by its path.

    `text` has to be TOML that `tomllib` reads; other text gives the lines up to where it stops
    making sense. A path is a tuple of keys and array indices: ("shapes", 0, "center", 1).
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    with contextlib.suppress(_Lost, RecursionError):
        scanner.document()
    return scanner.lines


class _Lost(Exception):
    """The text is not TOML from here on."""


class _Scanner:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {}
        self.elements: dict[Path, int] = {}  # array of tables -> index of its last element

    def document(self) -> None:
        table: Path = ()
        while True:
            self.blank()
            if self.at >= len(self.text):
                return
            if self.peek("[["):
                table = self.header("[[", "]]")
            elif self.peek("["):
                table = self.header("[", "]")
            else:
                self.pair(table)

    def header(self, opening: str, closing: str) -> Path:
        line = self.line
        self.take(opening)
        keys = self.dotted()
        self.take(closing)
        path: Path = ()
        for depth, key in enumerate(keys):
            path += (key,)
            self.lines.setdefault(path, line)
            if opening == "[[" and depth == len(keys) - 1:
                self.elements[path] = self.elements.get(path, -1) + 1
            if path in self.elements:
                path += (self.elements[path],)
                self.lines.setdefault(path, line)
        return path

    def pair(self, table: Path) -> None:
        line = self.line
        path = table
        for key in self.dotted():
            path += (key,)
            self.lines.setdefault(path, line)
        self.take("=")
        self.value(path)

    def dotted(self) -> list[str]:
        keys = []
        while True:
            self.space()
            keys.append(self.key())
            self.space()
            if not self.peek("."):
                return keys
            self.take(".")

    def key(self) -> str:
        if self.text[self.at : self.at + 1] in ('"', "'"):
            return tomllib.loads(f"value = {self.string()}")["value"]
        return self.match(_BARE)

    def value(self, path: Path) -> None:
        self.space()
        if self.peek("["):
            self.take("[")
            index = 0
            while True:
                self.blank()
                if self.peek("]"):
                    self.take("]")
                    return
                self.lines.setdefault((*path, index), self.line)
                self.value((*path, index))
                index += 1
                self.blank()
                if self.peek(","):
                    self.take(",")
        elif self.peek("{"):
            self.take("{")
            while True:
                self.blank()
                if self.peek("}"):
                    self.take("}")
                    return
                self.pair(path)
                self.blank()
                if self.peek(","):
                    self.take(",")
        elif self.text[self.at : self.at + 1] in ('"', "'"):
            self.string()
        else:
            self.match(_SCALAR)

    def string(self) -> str:
        for mark, pattern in _STRINGS:
            if self.peek(mark):
                return self.match(pattern)
        raise _Lost

    def blank(self) -> None:
        """Skip white space, line ends and comments."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in " \t\r\n":
                self.line += self.text[self.at] == "\n"
                self.at += 1
            else:
                return

    def space(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def peek(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def take(self, mark: str) -> None:
        self.space()
        if not self.peek(mark):
            raise _Lost
        self.at += len(mark)

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise _Lost
        self.line += found.group().count("\n")
        self.at = found.end()
        return found.group()
