"""Finds sequences by name: in nextval and similar calls, in defaults, of serial columns.

A column that is GENERATED AS IDENTITY, or SERIAL, has a sequence called ``<table>_<column>_seq`` as
in PostgreSQL, which counts where the column counts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.number_source import NumberSource
from journal.model.plan import Change, PutRelation, Query, SetNumber, Step
from journal.model.schema import Column, Sequence, Table, TableName, fold
from journal.sql.relations import ident
from journal.sql.sql import cast, expression
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.functions import SEQUENCE_FUNCTIONS, function_name
from rewriter.name_resolution import is_in_temp_schema, position_of

NEXT, CURRENT, LAST, SET = "nextval", "currval", "lastval", "setval"
POSITION = "sequence_position"
"""Gives the number that a sequence would give out next, without taking it."""
OWN_OF = "pg_get_serial_sequence"


def sequence_calls(tree: exp.Expr) -> list[exp.Anonymous]:
    """The calls of sequence functions in a tree, in the order of its text."""
    found = tree.find_all(exp.Anonymous, bfs=False)
    return [call for call in found if function_name(call) in SEQUENCE_FUNCTIONS]


def whole_call(call: exp.Anonymous) -> exp.Expr:
    """A call with the schema before it, as in ``pg_catalog.nextval('s')``."""
    return call.parent if isinstance(call.parent, exp.Dot) else call


_ARGUMENTS = {"nextval": (1,), "currval": (1,), "setval": (2, 3)}
"""How many arguments each takes."""


def source_of(call: exp.Anonymous, context: RewriteContext) -> NumberSource:
    """Where the numbers of a call come from.

    Raises NOT_SUPPORTED for a name that is no constant, UNKNOWN_TABLE for one that is unknown.
    """
    name = _name_in(call)
    found = find_sequence(name, context)
    if found is not None:
        return found.source
    column = next(_identities(name, context), None)
    if column is not None:
        return identity_source(*column)
    raise unknown_sequence(name, context)


def identity_source(table: Table, stored: Column) -> NumberSource:
    """Where the numbers of an identity column come from."""
    assert stored.identity is not None
    start, increment = stored.identity.first, stored.identity.increment
    counter = stored.identity.counted_as(stored.physical)
    shown = str(identity_sequence(table, stored))
    source = NumberSource(table.id, counter, start, increment, shown=shown)
    return source if increment > 0 else replace(source, minimum=-source.maximum - 1, maximum=-1)


def next_number(table: Table, stored: Column) -> exp.Expr:
    """The call that takes the next number of an identity column."""
    name = _literal(identity_sequence(table, stored))
    return exp.Anonymous(this=NEXT, expressions=[name])


def continued_numbers(
    name: TableName, source: NumberSource, context: RewriteContext
) -> SetNumber | None:
    """Have a new counter go on behind the number that a sequence gave last."""
    node = exp.table_(name.name, db=name.schema, quoted=True)
    relation = sequence_relation(node, context)
    if relation is None:
        return None
    given = [exp.Column(this=ident(column)) for column in ("last_value", "is_called")]
    return SetNumber(source, Query.of(exp.select(*given).from_(relation.subquery("sequence"))))


def identity_continued(table: Table, stored: Column, context: RewriteContext) -> SetNumber | None:
    """The same for an identity column, whose identity has a new counter."""
    source = identity_source(table, stored)
    return continued_numbers(identity_sequence(table, stored), source, context)


def identity_moved(
    old: tuple[Table, Column], new: tuple[Table, Column], context: RewriteContext
) -> SetNumber | None:
    """The same for an identity column of a table that goes on as another one."""
    return continued_numbers(identity_sequence(*old), identity_source(*new), context)


def identity_named(node: exp.Table, context: RewriteContext) -> tuple[Table, Column] | None:
    """The identity column whose own sequence has this name, and its table."""
    return next(_identities(node, context), None)


def sequence_relation(node: exp.Table, context: RewriteContext) -> exp.Query | None:
    """The one row of a sequence that is read like a table, as PostgreSQL shows it."""
    try:
        source = source_of(_call(POSITION, node), context)
    except PalimpsestError:
        return None
    following: exp.Expr = exp.Column(this=ident("following"))
    start = exp.Literal.number(source.start)
    is_called = exp.NEQ(this=following, expression=start)
    last = exp.Sub(this=following.copy(), expression=exp.Literal.number(source.increment))
    shown = exp.Case(ifs=[exp.If(this=is_called, true=last)], default=start.copy())
    position = exp.alias_(_call(POSITION, node), "following")
    return exp.select(
        exp.alias_(cast(shown, "BIGINT"), "last_value"),
        exp.alias_(cast(exp.Literal.number(0), "BIGINT"), "log_cnt"),
        exp.alias_(is_called.copy(), "is_called"),
    ).from_(exp.select(position).subquery("position"))


def _call(function: str, node: exp.Table) -> exp.Anonymous:
    name = exp.table_(node.name, db=node.db or None, quoted=True).sql(dialect="duckdb")
    return exp.Anonymous(this=function, expressions=[exp.Literal.string(name)])


def find_sequence(node: exp.Table, context: RewriteContext) -> Sequence | None:
    """The sequence that a name means; one without a schema means a temporary one first."""
    known = context.catalog.sequences
    return next((known[n.key] for n in _candidates(node, context) if n.key in known), None)


def unknown_sequence(node: exp.Table, context: RewriteContext) -> PalimpsestError:
    """The error for a name that is no sequence."""
    names = [s.name.name for s in context.catalog.sequences.values()]
    close = get_close_matches(node.name, names, n=3)
    advice = f"CREATE SEQUENCE {node.name}"
    if close:
        advice = f"did you mean {' or '.join(close)}?"
    return PalimpsestError(
        Code.UNKNOWN_TABLE,
        f"sequence {_candidates(node, context)[-1]} does not exist",
        advice=advice,
        position=position_of(node),
    )


def owned_by(context: RewriteContext, table_id: int, physical: str | None = None) -> list[Sequence]:
    """The sequences that go with a table, or with one column of it."""
    every = context.catalog.sequences.values()
    return [
        s
        for s in every
        if s.owner is not None and s.owner[0] == table_id and physical in {None, s.owner[1]}
    ]


def with_named_defaults(table: Table, context: RewriteContext) -> Table:
    """A definition whose defaults name their sequences with schemas; raises for unknown ones."""
    columns = tuple(_with_named_default(column, context) for column in table.columns)
    return table if columns == table.columns else replace(table, columns=columns)


def default_names(column: Column) -> frozenset[tuple[str, str]]:
    """The sequences that a column's default takes numbers of, as names compare."""
    if column.default is None or not _may_call(column.default):
        return frozenset()
    calls = sequence_calls(exp.Paren(this=expression(column.default)))
    tables = (exp.to_table(str(call.expressions[0].name), dialect="duckdb") for call in calls)
    return frozenset(TableName(t.db, t.name).key for t in tables)


def renamed_default(column: Column, old: TableName, new: TableName) -> Column:
    """A column whose default takes numbers of a sequence by its new name."""
    if old.key not in default_names(column) or column.default is None:
        return column
    holder = exp.Paren(this=expression(column.default))
    for call in sequence_calls(holder):
        named = exp.to_table(str(call.expressions[0].name), dialect="duckdb")
        if TableName(named.db, named.name).key == old.key:
            call.set("expressions", [_literal(new)])
    return replace(column, default=canonical_text(holder.this))


def users_of(
    names: Iterable[TableName], context: RewriteContext
) -> list[tuple[Table, Column, TableName]]:
    """The columns whose defaults take numbers of sequences."""
    wanted = {name.key: name for name in names}
    return [
        (table, column, wanted[key])
        for table in context.catalog.tables()
        for column in table.columns
        for key in default_names(column) & wanted.keys()
    ]


def without_defaults(names: list[TableName], context: RewriteContext) -> list[Step]:
    """Steps that take away the defaults of columns that take numbers of sequences."""
    tables: dict[int, Table] = {}
    for table, column, _ in users_of(names, context):
        known = tables.get(table.id, table)
        columns = tuple(replace(c, default=None) if c == column else c for c in known.columns)
        tables[table.id] = replace(known, columns=columns)
    return [Change(PutRelation(table, table.name)) for table in tables.values()]


def without_calls(tree: exp.Expr) -> exp.Expr:
    """A tree with a number of the same type in the place of each call, to find what types it has.

    The tree given is changed.
    """
    holder = exp.Paren(this=tree)
    for call in sequence_calls(holder):
        whole_call(call).replace(cast(exp.Literal.number(1), "BIGINT"))
    found: exp.Expr = holder.this.pop()
    return found


def name_owned(tree: exp.Expr, context: RewriteContext) -> None:
    """Put the name in the place of each ``pg_get_serial_sequence('table', 'column')``."""
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() != OWN_OF:
            continue
        given = [node for node in call.expressions if isinstance(node, exp.Literal)]
        if len(given) != 2:
            raise _constant_error(OWN_OF, call)
        table_name = exp.to_table(given[0].name, dialect="duckdb")
        name = next(
            (
                n
                for n in _candidates(table_name, context)
                if isinstance(context.catalog.get(n), Table)
            ),
            None,
        )
        table = None if name is None else context.catalog.get(name)
        column = table.find(given[1].name) if isinstance(table, Table) else None
        shown: exp.Expr = cast(exp.Null(), "VARCHAR")
        if isinstance(table, Table) and column is not None:
            owned = owned_by(context, table.id, column.physical)
            if owned:
                shown = _literal(owned[0].name)
            elif column.identity is not None:
                shown = _literal(identity_sequence(table, column))
        whole_call(call).replace(shown)


def _with_named_default(column: Column, context: RewriteContext) -> Column:
    if column.default is None or not _may_call(column.default):
        return column
    holder = exp.Paren(this=expression(column.default))
    calls = sequence_calls(holder)
    for call in calls:
        source = source_of(call, context)
        found = find_sequence(_name_in(call), context)
        name = found.name if found is not None else None
        call.set(
            "expressions", [exp.Literal.string(source.shown) if name is None else _literal(name)]
        )
        whole_call(call).replace(call)
    return replace(column, default=canonical_text(holder.this)) if calls else column


def _may_call(text: str) -> bool:
    lower = text.lower()
    return any(name in lower for name in SEQUENCE_FUNCTIONS)


def _name_in(call: exp.Anonymous) -> exp.Table:
    name = function_name(call)
    given = call.expressions[0] if call.expressions else None
    if name in _ARGUMENTS and len(call.expressions) not in _ARGUMENTS[name]:
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"{name} takes {' or '.join(map(str, _ARGUMENTS[name]))} arguments,"
            f" not {len(call.expressions)}",
            advice="write nextval('s'), currval('s'), setval('s', 5) or setval('s', 5, false)",
            position=position_of(call),
        )
    if isinstance(given, exp.Cast):
        given = given.this
    if not (isinstance(given, exp.Literal) and given.is_string):
        raise _constant_error(name, call)
    return exp.to_table(given.name, dialect="duckdb")


def _constant_error(name: str, call: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{name} takes names that are constants",
        advice=f"write {NEXT}('schema.name'), for example",
        position=position_of(call),
    )


def _candidates(node: exp.Table, context: RewriteContext) -> list[TableName]:
    """What a name may mean, the first first."""
    own = context.catalog.own
    found: list[TableName] = []
    if own is not None and (not node.db or is_in_temp_schema(node)):
        found.append(TableName(own, node.name))
    schemas = [node.db] if node.db else [*context.path, context.default_schema]
    return found + [TableName(schema, node.name) for schema in schemas]


def _identities(node: exp.Table, context: RewriteContext) -> Iterator[tuple[Table, Column]]:
    """Identity columns whose sequence has a name."""
    wanted = {name.key for name in _candidates(node, context)}
    for table in context.catalog.tables():
        if any(key[0] == table.name.key[0] for key in wanted):
            for column in table.columns:
                if column.identity is not None and identity_sequence(table, column).key in wanted:
                    yield table, column


def identity_sequence(table: Table, column: Column) -> TableName:
    """What the sequence of an identity column is called, as PostgreSQL calls it."""
    return TableName(table.name.schema, f"{table.name.name}_{column.name}_seq")


def _literal(name: TableName) -> exp.Expr:
    quoted = exp.table_(name.name, db=name.schema, quoted=True)
    plain = all(part.isidentifier() and fold(part) == part for part in (name.schema, name.name))
    return exp.Literal.string(str(name) if plain else quoted.sql(dialect="duckdb"))


def check_unused(names: list[TableName], context: RewriteContext, node: exp.Expr) -> None:
    """Raise DEPENDENT_OBJECTS where the default of a column uses one of these sequences."""
    for table, column, name in users_of(names, context):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'the default of column "{column.name}" of {table.name} uses sequence {name}',
            advice="drop that default first, or use CASCADE, which drops it",
            position=position_of(node),
        )
