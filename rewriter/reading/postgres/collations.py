"""PostgreSQL's names of collations of ICU, in the words of stores that have DuckDB's. Pure.

COLLATE "de-x-icu"       COLLATE de
COLLATE "en-US-x-icu"    COLLATE en_us
COLLATE "und-x-icu"      COLLATE en, which changes nothing of the order that languages begin with
COLLATE "ucs_basic"      COLLATE "C", the order of bytes; so is "default" here
a < 'x' COLLATE "C"      both sides have it, as the one that is named counts
greatest(a, b)           of texts with a collation: the last in its order, not that of bytes
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import fill
from journal.sql.relations import ident
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
KINDS = (exp.Collate, exp.CollateColumnConstraint, exp.AlterColumn)
_ICU = re.compile(r"([a-z]{2,3})((?:-[A-Za-z0-9]+)*)-x-icu")
_REGIONS = frozenset(
    "ar_sa de_at en_us fa_af fr_ca he_il id_id nb_no pa_in sr_ba sr_me sr_rs zh_cn zh_hk zh_mo"
    " zh_sg zh_tw".split()
)
"""The countries that have collations of their own there."""
_BYTES = frozenset({"default", "ucs_basic", "c.utf8", "c.utf-8", "pg_c_utf8"})
_ROOT = "und-x-icu"
_OWN_CASES = frozenset({"tr", "az", "lt"})
"""Languages whose capital letters are others: of ``i`` in Turkish a capital with a dot."""
_CASES = (exp.Upper, exp.Lower, exp.Initcap)


def concerns_collations(node: exp.Expr) -> bool:
    """True for a COLLATE that has another name here, or counts for both sides of a comparison."""
    order = _order_of(node)
    return order is not None and (_name_here(order) is not None or _counts_beside(node))


def spell_collation(node: exp.Expr) -> None:
    """Put the name of the store in its place, and on both sides of a comparison.

    Raises UNKNOWN_TYPE for a collation that the store lacks.
    """
    order = _order_of(node)
    if order is None:
        return
    name = _name_here(order)
    if name is not None:
        _name(node, order, name)
    if _counts_beside(node):
        other = _side_beside(node)
        order = _order_of(node)
        assert order is not None
        other.replace(exp.Collate(this=exp.paren(other.copy()), expression=order.copy()))


def is_of_own_case(node: exp.Expr, types: ValueTypes) -> bool:
    """True for what has the letters of a language whose capitals are others."""
    return any(
        (types.of(column).collation or "").partition("_")[0] in _OWN_CASES
        for column in node.find_all(exp.Column)
    )


def spell_case(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """Refuse ``lower``, ``upper`` and ILIKE of a column whose language has rules of its own."""
    if is_of_own_case(node, types):
        what = f"{node.key}() of a column with this collation"
        raise not_here(node, what, 'write COLLATE "C" at the column, or use a PostgreSQL store')
    return None


_UPPER = "replace(upper(replace(s, 'ß', e)), e, 'ß')"
_PRIVATE = "\ue0df"
"""Of no language: no text has it, and it has no capital."""


def spell_upper(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``upper`` of a text, whose ß stays as it is; other stores make it ẞ or SS."""
    spell_case(node, types)
    value = node.this
    if isinstance(value, exp.Replace) and _PRIVATE in {
        part.name for part in value.iter_expressions()
    }:
        return None
    if value.is_string and "ß" not in value.name:
        return None
    return fill(_UPPER, s=value, e=exp.Literal.string(_PRIVATE))


def spell_extreme(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``greatest`` and ``least`` of texts of which one has a collation; None for others."""
    values = list(node.iter_expressions())
    if not any(value.find(exp.Collate) or types.of(value).collation for value in values):
        return None
    compare = ">=" if isinstance(node, exp.Greatest) else "<="
    made = values[0].copy()
    for value in values[1:]:
        made = fill(
            f"CASE WHEN a IS NULL OR b {compare} a THEN COALESCE(b, a) ELSE a END",
            a=exp.paren(made),
            b=exp.paren(value.copy()),
        )
    return exp.paren(made)


def _counts_beside(node: exp.Expr) -> bool:
    """True for one side of a comparison whose other side says nothing of its collation."""
    if not isinstance(node, exp.Collate) or not isinstance(node.parent, _COMPARED):
        return False
    other = _side_beside(node)
    return not isinstance(other, exp.Collate) and other.find(exp.Column) is not None


def _side_beside(node: exp.Expr) -> exp.Expr:
    holder = node.parent
    assert holder is not None
    found: exp.Expr = holder.expression if node.arg_key == "this" else holder.this
    return found


def _name(node: exp.Expr, order: exp.Expr, name: str) -> None:
    if not name:
        raise PalimpsestError(
            Code.UNKNOWN_TYPE,
            f'collation "{order.name}" does not exist on this store',
            advice="name the language alone, as in de-x-icu, or use a PostgreSQL store",
            position=position_of(order),
        )
    if isinstance(node.parent, _CASES) and name in _OWN_CASES:
        raise not_here(node, f"{node.parent.key}() by the rules of {name}", "leave COLLATE out")
    order.replace(ident(name))


def _order_of(node: exp.Expr) -> exp.Expr | None:
    """What names the collation."""
    if isinstance(node, exp.Collate):
        found = node.expression
    elif isinstance(node, exp.CollateColumnConstraint):
        found = node.this
    else:
        found = node.args.get("collate")
    return found if isinstance(found, exp.Expr) else None


def _name_here(order: exp.Expr) -> str | None:
    """What the store calls a collation: empty if it has none, None if it has no other name."""
    name = order.name
    is_qualified = isinstance(order, exp.Column) and bool(order.table)
    if name.lower() in _BYTES or (is_qualified and name in {"C", "POSIX"}):
        return "C"
    if name == _ROOT:
        return "en"
    found = _ICU.fullmatch(name)
    if found is None:
        return None
    language, rest = found[1], found[2].lower().strip("-").replace("-", "_")
    whole = f"{language}_{rest}" if rest else language
    if not rest or whole in _REGIONS:
        return whole
    return language if len(rest) in {2, 3} else ""
