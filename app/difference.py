"""What two states of a world differ in: by field, slot and component, compared bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LISTED = 16  # differing values of a field that a report lists


@dataclass(frozen=True)
class Entry:
    """One value that differs. Values as text: floats in hexadecimal, so that no bit is lost."""

    slot: int
    component: tuple[int, ...]
    first: str
    second: str

    @property
    def place(self) -> str:
        """Slot and component, as "17" or "17[1, 0]"."""
        return f"{self.slot}{list(self.component) or ''}"


@dataclass(frozen=True)
class FieldDifference:
    """A field that differs: in how many of its slots, and the first values that do."""

    field: str
    count: int
    slots: int
    entries: tuple[Entry, ...]


def field_difference(
    field: str, first: np.ndarray, second: np.ndarray, listed: int = LISTED
) -> FieldDifference | None:
    """How two arrays of a field differ, None where all bits are equal.

    Where one has fewer slots, those that it never used count as zeros, as they are in any state.
    """
    if first.shape == second.shape and first.tobytes() == second.tobytes():
        return None
    slots = max(len(first), len(second))
    first, second = (_padded(array, slots) for array in (first, second))
    bits = [array.view(f"u{array.itemsize}").reshape(slots, -1) for array in (first, second)]
    other = bits[0] != bits[1]
    entries = []
    for slot, column in np.argwhere(other)[:listed].tolist():
        component = tuple(int(k) for k in np.unravel_index(column, first.shape[1:]))
        values = (array.reshape(slots, -1)[slot, column].item() for array in (first, second))
        entries.append(Entry(slot, component, *(_exact(value) for value in values)))
    return FieldDifference(field, int(other.any(1).sum()), slots, tuple(entries))


def differences(
    first: dict[str, np.ndarray], second: dict[str, np.ndarray], listed: int = LISTED
) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of `first`; both hold the same fields."""
    found = (field_difference(name, first[name], second[name], listed) for name in first)
    return tuple(difference for difference in found if difference is not None)


def _padded(array: np.ndarray, slots: int) -> np.ndarray:
    whole = np.zeros((slots, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    return whole


def _exact(value: float | int) -> str:
    return value.hex() if isinstance(value, float) else str(value)
