"""Generated columns: expressions over the other columns of a row, computed when the row is written.

The expression stands in the column's definition as canonical text over physical names. Checks it
when it is defined, and says it for rows that begin. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, fold
from journal.sql.relations import ident
from journal.sql.sql import cast, expression
from rewriter.context import Describe
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.column_types import type_text
from rewriter.definitions.definition import TableDraft
from rewriter.definitions.generated_values import columns_read
from rewriter.functions import VOLATILE_FUNCTIONS, check_functions
from rewriter.name_resolution import position_of

_CHANGING = VOLATILE_FUNCTIONS | frozenset(
    (
        "age current_catalog current_connection_id current_database current_date current_query"
        " current_query_id current_role current_schema current_schemas current_setting current_time"
        " current_timestamp current_transaction_id current_user currval error get_current_time"
        " get_current_timestamp getvariable in_search_path localtime localtimestamp"
        " now session_user stats today transaction_timestamp txid_current user version"
    ).split()
)
"""Functions that may give another value the next time; ``age`` with one argument does."""


def check_plain_sources(draft: TableDraft) -> None:
    """Raise GENERATED_FROM_GENERATED if a generated column of a draft reads another one."""
    generated = {fold(c.name) for c in draft.columns if c.generated is not None}
    for column in draft.columns:
        held = exp.Paren(this=expression(column.generated)) if column.generated else exp.Paren()
        for used in held.find_all(exp.Column):
            if fold(used.name) in generated:
                raise PalimpsestError(
                    Code.GENERATED_FROM_GENERATED,
                    f'cannot use generated column "{used.name}" in column generation expression',
                    advice="repeat its expression",
                    position=position_of(used),
                )


def settle_generated(draft: TableDraft, describe: Describe) -> None:
    """Check the generated columns of a draft, name physical columns in them, give them types."""
    waiting = [i for i, c in enumerate(draft.columns) if c.generated is not None]
    if not waiting:
        return
    if len(waiting) == len(draft.columns):
        raise _generated_error(
            f"{draft.name} has no columns but generated ones", "name one that is not"
        )
    physical = {fold(c.name): c.physical for c in draft.columns}
    for index in waiting:
        draft.columns[index] = _check_expression(draft, draft.columns[index], physical)
    known = {c.physical for i, c in enumerate(draft.columns) if i not in waiting}
    while waiting:
        ready = [i for i in waiting if columns_read(draft.columns[i]) <= known]
        if not ready:
            names = ", ".join(draft.columns[i].name for i in waiting)
            raise _generated_error(
                f"the generated columns {names} of {draft.name} are computed from one another",
                "compute one of them from other columns",
            )
        for index in ready:
            if not draft.columns[index].type:
                kind = _type_of(draft, draft.columns[index], known, describe)
                draft.columns[index] = replace(draft.columns[index], type=kind)
            known.add(draft.columns[index].physical)
            waiting.remove(index)


def settle_added(draft: TableDraft) -> None:
    """Check a generated column that a draft has got last, and name physical columns in it.

    Raises INVALID_DEFINITION for one without a type, which only new tables find out.
    """
    if draft.columns[-1].generated is None:
        return
    if not draft.columns[-1].type:
        raise _generated_error(
            f'the generated column "{draft.columns[-1].name}" has no type',
            "write the type of its values behind its name",
        )
    physical = {fold(c.name): c.physical for c in draft.columns[:-1]}
    draft.columns[-1] = _check_expression(draft, draft.columns[-1], physical)


def settle_changed(draft: TableDraft, index: int) -> None:
    """Check a generated column with another expression, and name physical columns in it.

    It may read only columns that are not generated, so that nothing goes in a circle.
    """
    physical = {fold(c.name): c.physical for c in draft.columns if c.generated is None}
    draft.columns[index] = _check_expression(draft, draft.columns[index], physical)


def _check_expression(draft: TableDraft, stored: Column, physical: dict[str, str]) -> Column:
    assert stored.generated is not None
    held = exp.Paren(this=expression(stored.generated))
    what = f'the generated column "{stored.name}" of {draft.name}'
    if stored.default is not None or stored.identity is not None:
        raise _generated_error(f"{what} has a DEFAULT or an identity", "leave that out")
    keys = {*draft.key, *(c for k in draft.wanted for c in k.columns)}
    if stored.physical in keys:
        raise _generated_error(
            f"{what} is in a key", "declare it UNIQUE, and make other columns the key"
        )
    check_same_value(held, what)
    for used in held.find_all(exp.Column):
        found = physical.get(fold(used.name))
        if found is None:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'{what} names "{used.name}", which is not a column',
                advice=f"its columns are {', '.join(c.name for c in draft.columns)}",
                position=position_of(used),
            )
        used.set("table", None)
        used.set("this", ident(found))
    return replace(stored, generated=canonical_text(held.this))


def check_same_value(held: exp.Expr, what: str) -> None:
    """Raise INVALID_DEFINITION for what may have another value for the same row the next time."""
    for part in held.find_all(exp.Query, exp.Placeholder, exp.AggFunc, exp.Window, exp.Star):
        raise _generated_error(
            f"{what} cannot contain {canonical_text(part)}", "use columns of the same row"
        )
    for call in changing_calls(held):
        raise _generated_error(
            f"{what} calls {_called(call)}, whose value may differ at the next call",
            "use functions whose value depends on their arguments only",
        )
    check_functions(held)


def changing_calls(held: exp.Expr) -> Iterator[exp.Func]:
    """Calls that may give another value the next time, or to somebody else."""
    for call in held.find_all(exp.Func):
        name = "" if isinstance(call, exp.Connector) else _called(call)
        if name in _CHANGING and not (name == "age" and len(call.expressions) > 1):
            yield call


def _called(call: exp.Func) -> str:
    return call.sql(dialect="duckdb").partition("(")[0].casefold()


def _type_of(draft: TableDraft, stored: Column, known: set[str], describe: Describe) -> str:
    assert stored.generated is not None
    kinds = {c.physical: c.type for c in draft.columns if c.physical in known}
    nulls = [exp.alias_(cast(exp.Null(), kind), ident(name)) for name, kind in kinds.items()]
    value = exp.alias_(expression(stored.generated), "value")
    query = exp.select(value).from_(exp.select(*nulls).subquery("t"))
    ((_, kind),) = describe(query, frozenset())
    return type_text(exp.DataType.build(kind.replace('"NULL"', "INTEGER"), dialect="duckdb"))


def _generated_error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.INVALID_DEFINITION, message, advice=advice)


def check_free(columns: Iterable[Column], physical: str, what: str) -> None:
    """Raise DEPENDENT_OBJECTS if a generated column is computed from one that shall change."""
    stored = computed_from(columns, physical)
    if stored is not None:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'{what}: generated column "{stored.name}" is computed from it',
            advice=f'drop column "{stored.name}" first; DROP COLUMN .. CASCADE drops both',
        )


def computed_from(columns: Iterable[Column], physical: str) -> Column | None:
    """The first generated column whose expression reads a column; None where none does."""
    return next((c for c in columns if physical in columns_read(c)), None)
