"""New values for columns of rows that an erasure keeps: NULL, masks, hashes. Pure.

    null | constant TEXT | mask [N] | hash | hmac | format

Every change leaves alone what it has made before, so a purge that is run again after a kill, or
over rows that were changed already, changes nothing: what it makes is known again by its form.

``mask`` writes x for each character but blanks and ``@.-+/:,()``, and lets the last N stand.
``hash`` is the SHA-256 of a text, ``hmac`` one that only the store's secret gives. ``format`` puts
x for small letters, X for capitals and 0 for digits, and lets the same signs stand.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.sql.relations import column, version_value

_TEXT = (exp.DType.TEXT, exp.DType.VARCHAR)
_KEPT_SIGNS = " @.\\-+/:,()"
_LOWER, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_DIGEST_LETTERS = 64
_KEY_LABEL = "palimpsest column changes"


class ValueChange(StrEnum):
    """What becomes of the values of a column."""

    NULL = "null"
    CONSTANT = "constant"
    MASK = "mask"
    HASH = "hash"
    HMAC = "hmac"
    FORMAT = "format"

    @property
    def is_for_text(self) -> bool:
        """True for a change that makes text of text."""
        return self not in {ValueChange.NULL, ValueChange.CONSTANT}


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column, by its physical name, and what becomes of its values.

    ``value`` is the constant, or how many characters a mask lets stand. ``before`` is a version:
    rows that began then or later stay as they are; None: no row does.
    """

    column: str
    change: ValueChange
    value: str = ""
    before: int | None = None

    @staticmethod
    def of_row(raw: dict[str, Any]) -> ColumnChange:
        """As it was stored."""
        return ColumnChange(**{**raw, "change": ValueChange(raw["change"])})

    def __str__(self) -> str:
        return f"{self.change} {self.value}".rstrip()


def parse_change(column_name: str, text: str) -> ColumnChange:
    """What somebody declares for a column; raises PRIVACY_ACTION for what is none."""
    word, _, value = text.strip().partition(" ")
    value = value.strip()
    if word.lower() in list(ValueChange):
        change = ValueChange(word.lower())
        if change is ValueChange.CONSTANT or not value:
            return ColumnChange(column_name, change, value)
        if change is ValueChange.MASK and re.fullmatch("[0-9]", value):
            return ColumnChange(column_name, change, value)
    raise PalimpsestError(
        Code.PRIVACY_ACTION,
        f"{text.strip() or 'nothing'!r} is not a change of a column",
        advice="use null, constant TEXT, mask, mask N (the last N characters stay, at most 9),"
        " hash, hmac or format",
    )


def is_text(kind: str) -> bool:
    """True for a column type whose values are text."""
    return exp.DataType.build(kind, dialect="duckdb").is_type(*_TEXT)


def hash_key_of(secret: str) -> str:
    """What ``hmac`` is keyed with: derived from the store's secret, which it does not tell."""
    return hashlib.sha256(f"{secret}{_KEY_LABEL}".encode()).hexdigest()


def hash_key_from(secret: exp.Expr) -> exp.Expr:
    """The same, of a secret that the store itself looks up."""
    return _call("sha256", _joined(secret, exp.Literal.string(_KEY_LABEL)))


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a table over rows ``of`` a relation that were written with some columns.

    ``hash_key`` gives what ``hash_key_of`` does: in a way that shows it in no statement, where the
    store has one.
    """

    table: Table
    changes: Sequence[ColumnChange]
    hash_key: exp.Expr

    def values(self, fields: Fields, of: str) -> dict[str, exp.Expr]:
        """By column what is to stand in the place of its values, of those that the rows have."""
        kinds, found = dict(fields), dict[str, exp.Expr]()
        for one in self.changes:
            name = one.column
            if name in kinds:
                found[name] = self._value(one, column(name, of), kinds[name])
        return found

    def applies(self, fields: Fields, of: str) -> exp.Expr:
        """The condition of rows that hold a value which is to be another; never NULL."""
        befores = {one.column: one.before for one in self.changes}
        found: list[exp.Expr] = []
        for name, value in self.values(fields, of).items():
            differs: exp.Expr = exp.NullSafeNEQ(this=column(name, of), expression=value)
            before = befores[name]
            # ``_value`` leaves later rows as they are; the version alone is quicker to compare.
            found.append(
                differs if before is None else exp.and_(differs, self._is_before(before, of))
            )
        return exp.or_(*found) if found else exp.false()

    def _is_before(self, before: int, of: str) -> exp.Expr:
        version = version_value(self.table, exp.Literal.number(before))
        return exp.LT(this=column(self.table.format.version_column, of), expression=version)

    def _value(self, one: ColumnChange, held: exp.Expr, kind: str) -> exp.Expr:
        new = self._changed(one, held, kind)
        if one.before is None:
            return new
        # The column's own relation is where its version stands as well.
        of = held.table if isinstance(held, exp.Column) else ""
        return exp.Case().when(self._is_before(one.before, of), new).else_(held.copy())

    def _changed(self, one: ColumnChange, held: exp.Expr, kind: str) -> exp.Expr:
        target = exp.DataType.build(kind, dialect="duckdb")
        if one.change is ValueChange.NULL:
            return exp.cast(exp.null(), target)
        if one.change is ValueChange.CONSTANT:
            given = exp.cast(exp.Literal.string(one.value), target)
            return _unless_null(held, given)
        if not is_text(kind):
            raise PalimpsestError(
                Code.PRIVACY_ACTION,
                f"older rows have the column as {kind}, and {one.change} changes text only",
                advice="declare null for it: palimpsest privacy policy --set actions..=null",
            )
        match one.change:
            case ValueChange.MASK:
                return _masked(held, int(one.value or 0))
            case ValueChange.HASH:
                return _digested("sha256", held, held)
            case ValueChange.HMAC:
                inner = _call("sha256", _joined(self.hash_key, held))
                return _digested("hmac", held, _joined(self.hash_key, inner))
            case _:
                return _formatted(held)


def _masked(held: exp.Expr, stand: int) -> exp.Expr:
    if not stand:
        return _hidden(held)
    length = _call("length", held.copy())
    count = exp.Sub(this=length, expression=exp.Literal.number(stand))
    head = exp.Case().when(
        exp.GT(this=length.copy(), expression=exp.Literal.number(stand)),
        _call("substr", held.copy(), exp.Literal.number(1), exp.paren(count)),
    )
    first = exp.Add(this=exp.paren(count.copy()), expression=exp.Literal.number(1))
    tail = _call("substr", held.copy(), first)
    whole = _joined(_hidden(head.else_(exp.Literal.string(""))), tail)
    is_long = exp.GT(this=length.copy(), expression=exp.Literal.number(stand))
    return exp.Case().when(is_long, whole).else_(_hidden(held))


def _hidden(held: exp.Expr) -> exp.Expr:
    """A text with ``x`` for each character that does not stand between parts."""
    return _replaced(held.copy(), f"[^{_KEPT_SIGNS}]", "x")


def _replaced(held: exp.Expr, pattern: str, sign: str) -> exp.Expr:
    return exp.RegexpReplace(
        this=held,
        expression=exp.Literal.string(pattern),
        replacement=exp.Literal.string(sign),
        modifiers=exp.Literal.string("g"),
    )


def _digested(word: str, held: exp.Expr, text: exp.Expr) -> exp.Expr:
    """``word:`` and a digest; what looks like one stays."""
    prefix = exp.Literal.string(f"{word}:")
    made = _joined(prefix, _call("sha256", text.copy()))
    width = len(word) + 1
    rest = _call("substr", held.copy(), exp.Literal.number(width + 1))
    hexadecimal = "0123456789abcdef"
    no_others = exp.EQ(
        this=_call("translate", rest, exp.Literal.string(hexadecimal), exp.Literal.string("")),
        expression=exp.Literal.string(""),
    )
    start = _call("substr", held.copy(), exp.Literal.number(1), exp.Literal.number(width))
    whole = exp.EQ(
        this=_call("length", held.copy()),
        expression=exp.Literal.number(width + _DIGEST_LETTERS),
    )
    is_made = exp.and_(whole, exp.EQ(this=start, expression=prefix.copy()), no_others)
    return _unless_null(held, exp.Case().when(is_made, held.copy()).else_(made))


def _formatted(held: exp.Expr) -> exp.Expr:
    """``x`` for small letters, ``X`` for capitals, ``0`` for digits; ``?`` for what is no ASCII."""
    kinds = _call(
        "translate",
        held.copy(),
        exp.Literal.string(_LOWER + _LOWER.upper() + _DIGITS),
        exp.Literal.string("x" * 26 + "X" * 26 + "0" * 10),
    )
    return _replaced(kinds, f"[^xX0{_KEPT_SIGNS}]", "?")


def _unless_null(held: exp.Expr, new: exp.Expr) -> exp.Expr:
    is_null = exp.Is(this=held.copy(), expression=exp.null())
    return exp.Case().when(exp.not_(is_null), new)


def _joined(*parts: exp.Expr) -> exp.Expr:
    return _call("concat", *(part.copy() for part in parts))


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
