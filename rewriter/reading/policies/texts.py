"""Writes the stored text of row policies and masks.

It is canonical and over physical names, with macros expanded and roles by their numbers, so that
renaming changes nothing, and a role made anew under an old name gets nothing. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, fold
from journal.sql.relations import ident
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.definitions.access import find_role
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.policy_sources import ROW, name_tables, outer_queries
from rewriter.definitions.row_columns import over_physical
from rewriter.definitions.table_policies import IS_ROLE
from rewriter.definitions.type_families import TEXT, type_family
from rewriter.functions import check_functions
from rewriter.name_resolution import unknown_column
from rewriter.reading.policies.queries import keep_queries
from rewriter.reading.read_rewriter import Reads
from rewriter.users import USERS

_OF_ANY_TYPE = frozenset({"NULL", "UNKNOWN"})
"""What NULL is called, and what cannot be told without a store."""
_NOT_OF_A_ROW = (exp.Query, exp.AggFunc, exp.Window, exp.Star)
"""What looks at more than one row; the queries of a row policy may."""
_NEVER = (exp.Placeholder, exp.Rand, exp.Insert, exp.Update, exp.Delete, exp.Merge)


def checked_text(
    value: exp.Expr, table: Table, stored: Column | None, context: RewriteContext
) -> str:
    """The canonical text of a mask of a column, or of a condition on rows.

    Raises INVALID_DEFINITION for what is none, or of another type.
    """
    held = exp.Paren(this=value.copy())
    expand_macros(held, context)
    what = f"a policy on {table.name}"
    for part in held.find_all(*_NEVER):
        raise invalid(f"{what} cannot contain {canonical_text(part)}", "see docs/roles.md")
    for several in held.find_all(*_NOT_OF_A_ROW):
        is_kept = stored is None and (
            isinstance(several, exp.Query) or several.find_ancestor(exp.Query) is not None
        )
        if not is_kept:
            advice = "it looks at one row only; the condition of a row policy may have queries"
            raise invalid(f"{what} cannot contain {canonical_text(several)}", advice)
    check_functions(held)
    keep_queries(held, table, context)
    for call in list(held.find_all(exp.Anonymous)):
        if call.name.lower() == IS_ROLE:
            call.set("expressions", [exp.Literal.number(_role_number(call, context))])

    def physical(name: str, node: exp.Column) -> str:
        column = table.find(name)
        if column is None:
            raise unknown_column(name, table, node)
        return column.physical

    known = {fold(c.name) for c in table.columns}
    queries = _taken_out(held)
    bare = exp.Paren(this=over_physical(held.this, table.name, known, physical))
    for place in list(bare.find_all(exp.Placeholder)):
        place.replace(queries[int(place.name)])
    _check_type(bare.this, table, stored, context)
    return canonical_text(bare.this)


def _taken_out(held: exp.Expr) -> list[exp.Query]:
    """The queries of a condition, in whose places parameters with their numbers stand now."""
    queries = outer_queries(held)
    for number, query in enumerate(queries):
        query.replace(exp.Placeholder(this=str(number)))
    return queries


def _role_number(call: exp.Anonymous, context: RewriteContext) -> int:
    given = call.expressions
    if len(given) != 1 or not (isinstance(given[0], exp.Literal) and given[0].is_string):
        raise invalid(f"{IS_ROLE} takes a role's name as a constant", f"write {IS_ROLE}('hr')")
    return find_role(given[0].name, context).id


def _check_type(
    value: exp.Expr, table: Table, stored: Column | None, context: RewriteContext
) -> None:
    """Raise INVALID_DEFINITION for a value of another kind than the column, or no condition."""
    held = exp.Paren(this=value.copy())
    for call in list(held.find_all(*USERS)):
        call.replace(cast(exp.Literal.string(""), "VARCHAR"))
    for test in list(held.find_all(exp.Anonymous)):
        if test.name.lower() == IS_ROLE:
            test.replace(exp.true())
    nulls = [exp.alias_(cast(exp.Null(), c.type), ident(c.physical)) for c in table.columns]
    # Whether the client may read what the queries read is looked at elsewhere.
    reads = Reads(replace(context, role=None, as_of=None))
    if outer_queries(held):
        name_tables(held, context.catalog)
        reads.rewrite(held)
    rows = exp.select(*nulls).subquery(ROW)
    query = exp.select(exp.alias_(held.this, "value")).from_(rows)
    _, found = context.describe(query, frozenset(reads.tables))[0]
    wanted = "BOOLEAN" if stored is None else stored.type
    if _family(found) not in {_family(wanted), *_OF_ANY_TYPE}:
        place = "the row policy" if stored is None else f'the mask of column "{stored.name}"'
        raise invalid(f"{place} gives {found}, not {wanted}", f"cast it: CAST(.. AS {wanted})")


def _family(text: str) -> str:
    if text.strip('"').upper() in _OF_ANY_TYPE:
        return text.strip('"').upper()
    kind = exp.DataType.build(text, dialect="duckdb")
    return TEXT if kind.is_type(exp.DType.ENUM) else type_family(text)


def invalid(message: str, advice: str) -> PalimpsestError:
    """The error for a policy that says what none can."""
    return PalimpsestError(Code.INVALID_DEFINITION, message, advice=advice)
