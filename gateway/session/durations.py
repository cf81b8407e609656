"""Reads and shows how long something may take, as PostgreSQL's settings do. Pure."""

from __future__ import annotations

import re

from journal.model.errors import Code, PalimpsestError

_UNITS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1, "us": 0.001}
"""Units and their milliseconds, the longest first."""
_TEXT = re.compile(r"\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*([a-z]*)\s*")
_MOST = (1 << 31) - 1


def milliseconds(name: str, text: str) -> int:
    """The milliseconds that ``250``, ``5s`` or ``1.5 min`` stands for; raises SETTING_VALUE."""
    found = _TEXT.fullmatch(text)
    if found is None or (found[2] and found[2] not in _UNITS):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{name} needs a duration, not {text!r}",
            advice=f"give milliseconds, or a number and one of {', '.join(reversed(_UNITS))}",
        )
    count = round(float(found[1]) * _UNITS[found[2] or "ms"])
    if not 0 <= count <= _MOST:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{count} ms is outside the valid range of {name}",
            advice=f"give 0 to {_MOST} ms; 0 is no limit",
        )
    return count


def duration_text(count: int) -> str:
    """Milliseconds in the longest unit that has a whole number of them: ``5s``; ``0``."""
    if not count:
        return "0"
    unit, size = next((u, int(s)) for u, s in _UNITS.items() if s >= 1 and count % int(s) == 0)
    return f"{count // size}{unit}"
