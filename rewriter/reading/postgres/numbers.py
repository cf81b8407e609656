"""Numbers as PostgreSQL's dialect means them, for stores that mean others. Pure.

NUMERIC without digits keeps any number in PostgreSQL. A store without such a type would take its
own default, which rounds to three digits or to none; here it has ten digits behind the point and 28
before it. A number that no such type holds is refused. ``7 / 2`` is 3, as both are whole, where
other stores say 3.5 and have ``//`` for that. ``div(7.9, 2)`` is 3 as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import fill
from rewriter.name_resolution import position_of
from rewriter.reading.value_kinds import DIGITS, FRACTION, WHOLE_KINDS
from rewriter.reading.value_types import KIND, ValueTypes

_INTERVAL = exp.DType.INTERVAL
_FLOATS = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE})
_NOT_WHOLE = (exp.Extract, exp.Round, exp.Floor, exp.Ceil, exp.Trunc)
"""Calls that give no whole number in PostgreSQL, and may give one here."""
_QUOTIENT = "CAST(ROUND((a - a % b) / b) AS DECIMAL(38, 0))"
"""What div() gives; as exactly as a DOUBLE where that is what ``/`` gives."""
_WHOLE_QUOTIENT = (
    "CASE WHEN a % 1 = 0 AND b % 1 = 0"
    " THEN CAST(CAST(a AS HUGEINT) // CAST(b AS HUGEINT) AS DECIMAL(38, 0))"
    f" ELSE {_QUOTIENT} END"
)
"""The same where ``/`` gives a DOUBLE: of whole numbers exactly."""
_PLACES_MAX = 28
"""How many of all digits may stand behind the point of a type that asks for more than there are."""
KINDS = (exp.DataType, exp.Div, exp.IntDiv, exp.Literal)


def concerns_numbers(node: exp.Expr) -> bool:
    """True for a type, a division or a constant that is spelled otherwise or refused."""
    if isinstance(node, exp.Literal):
        return not node.is_string and len(node.name) > DIGITS and not _becomes_float(node)
    if isinstance(node, exp.DataType):
        return node.this is exp.DType.DECIMAL and not (node.expressions and _fits(node))
    if isinstance(node, exp.IntDiv):
        return isinstance(node.parent, exp.Cast)
    return bool(node.args.get("typed"))


def spell_number(node: exp.Expr, types: ValueTypes) -> None:
    """Put the words of the store in the place of such a node.

    Raises OUT_OF_RANGE for what has more digits than the store keeps.
    """
    if isinstance(node, exp.Literal):
        _check_digits(node, node.name)
    elif isinstance(node, exp.DataType):
        if node.expressions and not _cut_digits(node):
            raise _too_many_digits(node, f"NUMERIC of {node.expressions[0].name} digits")
        holder = node.parent
        if isinstance(holder, exp.Cast) and isinstance(holder.this, exp.Literal):
            _check_digits(holder, holder.this.name)
        if not node.expressions:
            node.set("expressions", _digits(node))
    elif isinstance(node, exp.IntDiv):
        _spell_quotient(node, types)
    elif not types.context.capabilities.divides_by_type:
        if all(types.of(side).kind in WHOLE_KINDS for side in _operands(node)):
            node.replace(exp.IntDiv(this=node.this, expression=node.expression))
    elif not any(_is_no_number(side, types) for side in _operands(node)):
        left = node.this
        if any(_is_numeric(side, types) for side in _operands(node)):
            left = exp.cast(left, "DOUBLE", dialect="duckdb")
        # Before its operands move to the other node, where nothing says what their columns are.
        kind = types.of(node).kind
        quotient = exp.IntDiv(this=left, expression=node.expression)
        quotient.meta[KIND] = kind
        node.replace(quotient)


def _spell_quotient(node: exp.IntDiv, types: ValueTypes) -> None:
    """Put a whole number in the place of ``div(a, b)``, which is read as a cast of ``a // b``."""
    sides = dict(zip("ab", (exp.paren(side.copy()) for side in _operands(node)), strict=True))
    by_type = types.context.capabilities.divides_by_type
    if isinstance(node.parent, exp.Cast):
        node.parent.replace(fill(_WHOLE_QUOTIENT if by_type else _QUOTIENT, **sides))


def _becomes_float(constant: exp.Expr) -> bool:
    """True for a constant that is cast to a floating-point number at once."""
    cast = constant.parent
    return isinstance(cast, exp.Cast) and cast.to.this in _FLOATS


def _fits(kind: exp.DataType) -> bool:
    """True unless a type asks for more digits than there are."""
    width = kind.expressions[0].name
    return not width.isdigit() or int(width) <= DIGITS


def _check_digits(node: exp.Expr, text: str) -> None:
    """Refuse a constant with more digits before the point, or in all, than are kept."""
    whole, _, behind = text.strip().lstrip("+-").lower().partition(".")
    if not whole.isdigit() or (behind and not behind.isdigit()):
        return
    if len(whole.lstrip("0")) + len(behind) > DIGITS:
        raise _too_many_digits(node, f"the number {text.strip()[:12]}..")


def _cut_digits(kind: exp.DataType) -> bool:
    """Give a cast to more digits than are kept all of them: a value that needs more fails.

    False for the type of a column, and where hardly any would be left before the point.
    """
    places = kind.expressions[1].name if len(kind.expressions) > 1 else "0"
    if not isinstance(kind.parent, exp.Cast) or not places.isdigit() or int(places) > _PLACES_MAX:
        return False
    kind.set(
        "expressions", [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (DIGITS, places)]
    )
    return True


def _too_many_digits(node: exp.Expr, what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.OUT_OF_RANGE,
        f"{what} has more digits than the {DIGITS} that this store keeps",
        advice="round it, keep it as a text, or use a PostgreSQL store, which keeps any number",
        position=position_of(node),
    )


def _digits(kind: exp.DataType) -> list[exp.Expr]:
    """Digits for a type, more or fewer behind the point where a constant is cast that needs so."""
    fraction, holder = FRACTION, kind.parent
    if isinstance(holder, exp.Cast) and isinstance(holder.this, exp.Literal):
        whole, _, behind = holder.this.name.strip().lstrip("+-").partition(".")
        if whole.isdigit() and (behind.isdigit() or not behind):
            fraction = max(0, min(max(FRACTION, len(behind)), DIGITS - len(whole)))
    return [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (DIGITS, fraction)]


def _operands(division: exp.Expr) -> Iterator[exp.Expr]:
    for side in (division.this, division.args["expression"]):
        yield side.unnest() if isinstance(side, exp.Paren) else side


def _is_numeric(side: exp.Expr, types: ValueTypes) -> bool:
    """True for a NUMERIC of PostgreSQL that may be a whole number of the store: a sum of BIGINT."""
    if isinstance(side, exp.Literal | exp.Cast):
        return False
    if isinstance(side, exp.Window | exp.Filter | exp.Paren):
        return _is_numeric(side.this, types)
    return (types.of(side).kind or "").startswith("DECIMAL")


def _is_no_number(side: exp.Expr, types: ValueTypes) -> bool:
    """True for what ``//`` does not take, or takes for a whole number that it is not."""
    if isinstance(side, _NOT_WHOLE) or side.is_type(_INTERVAL):
        return True
    if isinstance(side, exp.Window | exp.Filter):
        return _is_no_number(side.this, types)
    if types.of(side).kind == "INTERVAL":
        return True
    if isinstance(side, exp.Binary | exp.Paren | exp.Neg):
        return any(_is_no_number(part, types) for part in side.iter_expressions())
    return False
