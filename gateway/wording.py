"""Words about numbers, as people read them. Scripts read JSON, never these."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``12,345 rows``: a number with its noun, whose plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: int | None) -> str:
    """``12,345 bytes``, or ``unknown bytes`` where a store does not tell them."""
    return "unknown bytes" if size is None else f"{size:,} bytes"
