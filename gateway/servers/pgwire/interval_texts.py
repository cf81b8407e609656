"""Intervals as PostgreSQL writes them in text, in the style that the session has set. Pure."""

from __future__ import annotations

ISO = "iso_8601"
_Fields = tuple[tuple[int, str], ...]


def interval_text(months: int, days: int, micros: int, style: str) -> str:
    """An interval in PostgreSQL's style ``iso_8601``, or ``postgres`` as in any other.

    >>> interval_text(14, -3, 4_500_000, "postgres"), interval_text(14, -3, 4_500_000, "iso_8601")
    ('1 year 2 mons -3 days +00:00:04.5', 'P1Y2M-3DT4.5S')
    """
    # Both parts of the months have their sign.
    years, months = _parts(months, 12)
    if style == ISO:
        return _iso(((years, "Y"), (months, "M"), (days, "D")), micros)
    return _usual(((years, "year"), (months, "mon"), (days, "day")), micros)


def _usual(fields: _Fields, micros: int) -> str:
    parts: list[str] = []
    for amount, unit in fields:
        if amount:
            sign = "+" if amount > 0 and parts and parts[-1].startswith("-") else ""
            parts.append(f"{sign}{amount} {unit}{'' if amount == 1 else 's'}")
    if micros or not parts:
        sign = "-" if micros < 0 else "+" if parts and parts[-1].startswith("-") else ""
        seconds, micros = divmod(abs(micros), 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
        parts.append(f"{sign}{clock}{_fraction(micros)}")
    return " ".join(parts)


def _iso(fields: _Fields, micros: int) -> str:
    seconds, micros = _parts(micros, 1_000_000)
    minutes, seconds = _parts(seconds, 60)
    hours, minutes = _parts(minutes, 60)
    sign = "-" if seconds < 0 or micros < 0 else ""
    clock = "".join(f"{amount}{unit}" for amount, unit in ((hours, "H"), (minutes, "M")) if amount)
    if seconds or micros:
        clock += f"{sign}{abs(seconds)}{_fraction(abs(micros))}S"
    days = "".join(f"{amount}{unit}" for amount, unit in fields if amount)
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"


def _parts(amount: int, size: int) -> tuple[int, int]:
    """How many times the size, and the rest, both with the sign of the amount."""
    whole, rest = divmod(abs(amount), size)
    return (whole, rest) if amount >= 0 else (-whole, -rest)


def _fraction(micros: int) -> str:
    return f".{micros:06}".rstrip("0") if micros else ""
