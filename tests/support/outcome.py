"""What running one statement gave, as a value; never knows which engine ran it.

Outcome = Rows (a result set) | Count (rows changed) | Done (neither) | Failure (an error)
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from tests.support.values import tagged

UNSUPPORTED = "0A000"

# Where the exact state is part of what a client relies on. Everywhere else the class (the first
# two characters) must agree: engines refine `22` and `42` differently.
EXACT_STATES = frozenset(
    {"23505", "23502", "23514", "40001", "25P02", "42601", "42703", "42P01", "21000", "42P07"}
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A result set."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows a statement changed."""

    count: int


@dataclass(frozen=True, slots=True)
class Done:
    """A statement that gives neither rows nor a count."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error: its SQLSTATE and its text, for people."""

    sqlstate: str
    message: str


Outcome: TypeAlias = Rows | Count | Done | Failure


_EITHER = frozenset({"21000", "23505"})
"""A row that an upsert meets twice, and another key that is taken: it fails by the first found."""


def same_state(expected: str, got: str) -> bool:
    """Say whether two SQLSTATEs mean the same to a client."""
    if expected == got or {expected, got} == _EITHER:
        return True
    if expected in EXACT_STATES and got in EXACT_STATES:
        return False
    return expected[:2] == got[:2]


def difference(expected: Outcome, got: Outcome, *, ordered: bool = False) -> str | None:
    """Say in one line how two outcomes differ; None when they are equal."""
    match expected, got:
        case (Done(), Done() | Count()):
            return None
        case (Count(), Count()):
            return None if expected == got else f"count {expected.count} != {got.count}"
        case (Failure(), Failure()):
            if same_state(expected.sqlstate, got.sqlstate):
                return None
            return f"error {expected.sqlstate} != {got.sqlstate}"
        case (Rows(), Rows()):
            return _row_difference(expected, got, ordered=ordered)
    return f"{type(expected).__name__} != {type(got).__name__}"


def comparable(outcome: Outcome) -> Outcome:
    """An outcome without what is an engine's own: which kind of number a sum is, names not given.

    A name that was given is an identifier; the names engines make up have brackets or are bare.
    """
    if not isinstance(outcome, Rows):
        return outcome
    rows = tuple(tuple(_plain(value) for value in row) for row in outcome.rows)
    made_up = ("?column?", "count", "sum", "min", "max", "avg", "coalesce", "case")
    columns = tuple(
        "" if name in made_up or not name.replace(" ", "_").isidentifier() else name
        for name in outcome.columns
    )
    return Rows(columns, rows)


def _plain(value: object) -> object:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    return value


def describe(outcome: Outcome) -> str:
    """Return an outcome as text for a report."""
    match outcome:
        case Rows():
            lines = [" | ".join(outcome.columns)]
            lines += [" | ".join(tagged(value) for value in row) for row in outcome.rows]
            return "\n".join(lines)
        case Count():
            return f"count {outcome.count}"
        case Done():
            return "done"
        case Failure():
            return f"error {outcome.sqlstate}: {outcome.message}"


def _row_difference(expected: Rows, got: Rows, *, ordered: bool) -> str | None:
    if expected.columns != got.columns:
        return f"columns {list(expected.columns)} != {list(got.columns)}"
    expected_rows = [tuple(tagged(value) for value in row) for row in expected.rows]
    got_rows = [tuple(tagged(value) for value in row) for row in got.rows]
    if not ordered:
        expected_rows.sort()
        got_rows.sort()
    if expected_rows == got_rows:
        return None
    return f"rows differ ({len(expected_rows)} expected, {len(got_rows)} got)"
