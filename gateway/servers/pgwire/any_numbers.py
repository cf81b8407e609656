"""NUMERIC without digits, on stores that have no such type and keep it as DECIMAL(38, 10).

Clients of the postgres dialect see it as PostgreSQL shows it: a type without digits, and values
without the zeros that the store puts behind them. How many zeros somebody wrote is not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from gateway.session.session import Session
from rewriter.reading.value_kinds import KEPT_AS

SHORTEST = "DECIMAL SHORTEST"
"""The type by which such values are written; clients read ``numeric``, without a modifier."""
_KEPT_AS = (KEPT_AS, KEPT_AS.replace(" ", ""))
"""As the catalog spells it, and as results do."""


def shown_number(session: Session) -> Callable[[str], str]:
    """By which type values of a type, or of a list's, are written to the clients of a session."""
    has_type = session.journal.capabilities.postgres_functions
    if has_type or session.dialect != "postgres":
        return str
    return _written_as


def without_zeros(value: Decimal) -> str:
    """The number without zeros at the end of its fraction.

    >>> without_zeros(Decimal("12.5000000000")), without_zeros(Decimal("100.0000000000"))
    ('12.5', '100')
    """
    digits = f"{value:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _written_as(name: str) -> str:
    for kept in _KEPT_AS:
        if name.startswith(kept):
            return SHORTEST + name.removeprefix(kept)
    return name
