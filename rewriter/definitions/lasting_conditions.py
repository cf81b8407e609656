"""Conditions that are asked again later, by whoever runs a job then: what they may not contain.

They must find the same rows for every session, at every moment: a part whose value depends on who
asks, on a setting, on the time zone or on the clock makes them mean something else. Pure.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.generated_checks import changing_calls
from rewriter.definitions.key_types import has_zone

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In),
)
_WITH_OFFSET = re.compile(r".*\d:\d\d(:\d\d(\.\d+)?)?\s*(z|[+-]\d\d(:?\d\d)?)", re.IGNORECASE)
_WORDS_OF_THE_CLOCK = frozenset("now today tomorrow yesterday".split())


def check_lasts(condition: exp.Expr, table: Table, what: str) -> None:
    """Raise NOT_SUPPORTED if a condition over a table's rows may mean something else later."""
    held = exp.Paren(this=condition.copy())
    changing = changing_part(held)
    if changing is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{what} cannot contain {changing}, which depends on when and by whom it is asked",
            advice="write the value itself",
        )
    zoned = _zoned_part(held, table)
    if zoned is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{what} cannot contain {zoned}, which depends on the session's time zone",
            advice="compare with moments that have an offset, such as '2024-01-01 00:00:00+01', or"
            " write AT TIME ZONE 'Europe/Berlin'",
        )


def changing_part(held: exp.Expr) -> str | None:
    """A part of a condition that differs between moments or sessions, as text; None: no part."""
    for call in changing_calls(held):
        return canonical_text(call)
    for made in held.find_all(exp.Cast):
        text = made.this
        is_text = isinstance(text, exp.Literal) and text.is_string
        if is_text and text.name.strip().casefold() in _WORDS_OF_THE_CLOCK:
            return canonical_text(made)
    return None


def _zoned_part(held: exp.Expr, table: Table) -> str | None:
    """A part that a time zone decides, as text: one that takes an instant for another value."""
    for node in held.walk():
        if _is_instant(node, table) and not _keeps_instants(node, table):
            return canonical_text(_around(node))
    return None


def _is_instant(node: exp.Expr, table: Table) -> bool:
    if isinstance(node, exp.Cast):
        return has_zone(node.to)
    if not isinstance(node, exp.Column):
        return False
    found = table.find(node.name)
    return found is not None and has_zone(exp.DataType.build(found.type, dialect="duckdb"))


def _keeps_instants(node: exp.Expr, table: Table) -> bool:
    """Whether an instant stands where every session takes it for the same."""
    if isinstance(node, exp.Cast) and not _is_certain(node.this, table):
        return False
    around = _around(node)
    if isinstance(around, exp.Is):
        return True
    if isinstance(around, exp.AtTimeZone):
        return around.this.unnest() is node and isinstance(around.args.get("zone"), exp.Literal)
    if isinstance(around, exp.Cast):
        return has_zone(around.to)
    if not isinstance(around, _COMPARISONS):
        return False
    sides = [part for value in around.args.values() for part in _parts(value)]
    return all(_is_certain(side.unnest(), table) for side in sides)


def _is_certain(value: exp.Expr, table: Table) -> bool:
    """Whether a value beside an instant is one itself, however it is spelled."""
    if isinstance(value, exp.Literal):
        return bool(value.is_string) and _WITH_OFFSET.fullmatch(value.name) is not None
    return isinstance(value, exp.Null) or _is_instant(value, table)


def _around(node: exp.Expr) -> exp.Expr:
    """What a value is an operand of, whatever brackets are around it."""
    around = node.parent
    while isinstance(around, exp.Paren) and around.parent is not None:
        around = around.parent
    assert around is not None
    return around


def _parts(value: object) -> list[exp.Expr]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, exp.Expr)]
