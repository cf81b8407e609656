"""Rows of the login log: logins and refusals, the newest of each.

Logins and refusals are bounded apart, so that a flood of refusals drives no login out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.schema import LOGINS
from journal.records.statements import by, count, delete, execute, insert, maximum, select

KEPT_ROWS = 10_000
"""How many rows of an outcome stay when older ones are removed."""
_SLACK = 1_000
_NEWEST, _ALL = maximum(LOGINS, "seq"), select(LOGINS, order=["seq"])
_OF_OUTCOME = count(LOGINS, by("outcome"))
_PLACES = select(LOGINS, ["seq"], by("outcome"), ["seq"])
_FORGET = delete(LOGINS, {"outcome": exp.EQ, "seq": exp.LTE})
_FROM = select(LOGINS, (), {"seq": exp.GT}, ["seq"])


@dataclass(frozen=True, slots=True)
class LoginRow:
    """Some attempts of one user from one address within a few seconds, which ended alike.

    ``outcome`` is ``login`` or ``refused``, ``detail`` says by what, or why.
    """

    seq: int
    first_at: datetime
    last_at: datetime
    user_name: str
    address: str
    front_end: str
    outcome: str
    detail: str
    attempts: int


def newest_login(session: RecordSession) -> int:
    """The highest number of a row; 0 if there is none."""
    return int(execute(session, _NEWEST)[0][0] or 0)


def add_logins(session: RecordSession, rows: Sequence[LoginRow]) -> None:
    """Add rows, and remove the oldest of each outcome that has too many."""
    if rows:
        values = [value for row in rows for value in astuple(row)]
        execute(session, insert(LOGINS, len(rows)), values)
    for outcome in sorted({row.outcome for row in rows}):
        (counted,) = execute(session, _OF_OUTCOME, [outcome])
        if counted[0] > KEPT_ROWS + _SLACK:
            places = execute(session, _PLACES, [outcome])
            execute(session, _FORGET, [outcome, places[-KEPT_ROWS - 1][0]])


def load_logins(session: RecordSession, after: int = 0) -> list[LoginRow]:
    """The rows above a number, oldest first."""
    found = execute(session, _FROM, [after]) if after else execute(session, _ALL)
    return [LoginRow(*row) for row in found]
