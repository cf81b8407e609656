"""Who set what stands in a table: of each row, or of each column of each row, its transaction.

A row that begins where none was before has been inserted, with all its columns; of one that follows
on another those are updated whose values differ. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.sql.relations import Output, column
from journal.sql.sql import cast, named
from rewriter.name_resolution import INTERNAL
from rewriter.reading.past.history import (
    END,
    START,
    aliased,
    comparable,
    free_name,
    of_writer,
    version_number,
    version_time,
    with_writer,
)
from rewriter.reading.past.seen_past import SeenPast

_SET = f"{INTERNAL}set"
"""Since which version a value stands: of a column, with its place behind."""
_BEGUN = f"{INTERNAL}begun"
"""Since which version there is a row, without a gap."""
_BEFORE = f"{INTERNAL}before"
"""What stood in the version before: the end of its interval, or of a column, with its place."""
_PLACE = f"{INTERNAL}place"
_ROW_ID = "row_id"


def blame_rows(seen: SeenPast) -> exp.Query:
    """Each current row, and the transaction that wrote it."""
    names = [c.name for c in seen.table.columns]
    outputs: list[Output] = [(column(name, "b"), name) for name in names]
    outputs += _writer(seen.table, column(START, "b"), names)
    query = exp.select(*[aliased(value, name) for value, name in outputs])
    query = query.from_(seen.current_rows().subquery("b"))
    query = with_writer(query, version_number(seen.table, column(START, "b")))
    return query.order_by(*[column(key, "b") for key in seen.keys])


def blame_columns(seen: SeenPast) -> exp.Query:
    """Each column of each current row: its value, and the transaction that last changed it."""
    table = seen.table
    cells = _cells(seen)
    shown = [c.name for c in table.columns if c.physical in table.key]
    outputs: list[Output] = [(column(name, "b"), name) for name in shown]
    if table.hidden_key:
        shown = [_ROW_ID]
        outputs = [(column(seen.keys[0], "b"), _ROW_ID)]
    since = column(_SET, "b")
    kind = exp.Case().when(
        exp.EQ(this=since.copy(), expression=column(_BEGUN, "b")), exp.Literal.string("insert")
    )
    told: list[Output] = [
        (column(f"{INTERNAL}name", "b"), "column_name"),
        (column(f"{INTERNAL}value", "b"), "value"),
        (kind.else_(exp.Literal.string("update")), "change"),
    ]
    taken = {fold(name) for name in shown}
    outputs += [(value, free_name(name, taken)) for value, name in told]
    outputs += _writer(table, since, [name for _, name in outputs])
    query = exp.select(*[aliased(value, name) for value, name in outputs])
    query = with_writer(query.from_(cells.subquery("b")), version_number(table, since))
    return query.order_by(*[column(key, "b") for key in seen.keys], column(_PLACE, "b"))


def _cells(seen: SeenPast) -> exp.Select:
    """One row for each column of each current row: its name, its value, since when it stands."""
    columns = seen.table.columns
    place = column(_PLACE, "n")
    name, value, since = (exp.Case(this=place.copy()) for _ in range(3))
    for number, stored in enumerate(columns):
        at = exp.Literal.number(number)
        name = name.when(at, exp.Literal.string(stored.name))
        value = value.when(at.copy(), cast(column(stored.name, "s"), "VARCHAR"))
        since = since.when(at.copy(), column(f"{_SET}{number}", "s"))
    own = [c.name for c in columns if c.physical in seen.table.key]
    keys = dict.fromkeys([*own, *seen.keys])
    outputs: list[exp.Expr] = [*[column(key, "s") for key in keys], column(_BEGUN, "s"), place]
    outputs += [
        named(name, f"{INTERNAL}name"),
        named(value, f"{INTERNAL}value"),
        named(since, _SET),
    ]
    numbers = [exp.Tuple(expressions=[exp.Literal.number(i)]) for i in range(len(columns))]
    alias = exp.TableAlias(this=exp.to_identifier("n"), columns=[exp.to_identifier(_PLACE)])
    query = exp.select(*outputs).from_(_since(seen).subquery("s"))
    query = query.join(exp.Values(expressions=numbers, alias=alias), join_type="cross")
    return query.where(exp.Is(this=column(END, "s"), expression=exp.Null()))


def _since(seen: SeenPast) -> exp.Select:
    """Row versions with, for the last of each key, since when it and each column of it stand."""
    columns = seen.table.columns
    begins = _begins("p")
    marks = [named(_last(seen, "p", begins), _BEGUN)]
    for number, stored in enumerate(columns):
        differs = exp.NullSafeNEQ(
            this=comparable(stored, column(stored.name, "p")),
            expression=comparable(stored, column(f"{_BEFORE}{number}", "p")),
        )
        marks.append(named(_last(seen, "p", exp.or_(_begins("p"), differs)), f"{_SET}{number}"))
    kept = dict.fromkeys([*(c.name for c in columns), END, *seen.keys])
    outputs = [*[column(name, "p") for name in kept], *marks]
    return exp.select(*outputs).from_(_with_predecessors(seen).subquery("p"))


def _with_predecessors(seen: SeenPast) -> exp.Select:
    """Row versions, each beside the end and the values of the one before it of the same key."""
    before = [(END, _BEFORE)]
    before += [(c.name, f"{_BEFORE}{i}") for i, c in enumerate(seen.table.columns)]
    outputs: list[exp.Expr] = [exp.Column(this=exp.Star(), table=exp.to_identifier("v"))]
    outputs += [
        named(_in_order(seen, exp.Lag(this=column(n, "v")), "v"), alias) for n, alias in before
    ]
    return exp.select(*outputs).from_(seen.row_versions().subquery("v"))


def _begins(of: str) -> exp.Expr:
    """Whether nothing that was there before goes on in a row version."""
    return exp.NullSafeNEQ(this=column(_BEFORE, of), expression=column(START, of))


def _last(seen: SeenPast, of: str, condition: exp.Expr) -> exp.Expr:
    """The last version of a key at which a condition held."""
    start = exp.Case().when(condition, column(START, of))
    keys = [column(key, of) for key in seen.keys]
    return exp.Window(this=exp.Max(this=start), partition_by=keys)


def _in_order(seen: SeenPast, call: exp.Expr, of: str) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=column(START, of), nulls_first=False)])
    keys = [column(key, of) for key in seen.keys]
    return exp.Window(this=call, partition_by=keys, order=order)


def _writer(table: Table, version: exp.Expr, taken: Sequence[str]) -> list[Output]:
    """What is known of the transaction of a row version, which ``with_writer`` joins as ``w``.

    Of rows that are older than all transactions on record the version and its time are known.
    """
    number = version_number(table, version)
    used = {fold(name) for name in taken}
    found: list[Output] = []
    for stored, name in (
        ("version", "version"),
        ("committed_at", "committed_at"),
        ("user_name", "user"),
        ("application", "application"),
        ("statement_digest", "statement_digest"),
        ("message", "message"),
    ):
        value = of_writer(stored, number)
        if stored == "version":
            value = value.else_(number.copy())
        elif stored == "committed_at":
            value = value.else_(version_time(table, version.copy()))
        found.append((value, free_name(name, used)))
    return found
