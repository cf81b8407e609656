"""Divides work on many pieces into units of so many bytes, each its own commit. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def units_of(sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Names in their order, as units of at most so many bytes, or of one name that is larger.

    >>> units_of({"a": 3, "b": 3, "c": 9, "d": 1}, 6)
    [['a', 'b'], ['c'], ['d']]
    """
    units: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if not units or size > room:
            units.append([])
            room = most
        units[-1].append(name)
        room = max(0, room - size)
    return units
