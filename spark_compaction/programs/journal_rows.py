"""Queries for base, history and readers over pieces of a journal, for all stores.

Base is made of the open rows that no closing row names; history of those that one names, with the
version that ended them. Open and closing rows meet by the key as the table has it now, whatever
columns they were written in. Builds AST; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.plan import physical
from journal.model.schema import ROW_ID, Table
from journal.model.segment import Fields, Tier
from journal.sql.relations import Reader, column, ident, union_all, version_type
from journal.sql.row_layout import fields_of, journal_fields, present_keys
from journal.sql.substitution import in_terms_of
from journal.transactions.state import TableState
from spark_compaction.backend import JoinedRows, Piece, SetBasedBackend


def rows_for(
    backend: SetBasedBackend, table: Table, pieces: Sequence[Piece], fields: Fields, tier: Tier
) -> JoinedRows:
    """What base or history shall hold of the rows that were written as ``fields``."""
    changes = [p for p in pieces if p.tier is not Tier.HISTORY]
    own = [p for p in changes if p.fields == fields]
    archived = [p for p in pieces if p.tier is Tier.HISTORY and p.fields == fields]
    return JoinedRows(
        tier,
        journal_names(table, fields),
        tuple(key_names(table)),
        tuple(_opens(backend, table, p) for p in own),
        tuple(_closings(backend, table, p) for p in changes) if own else (),
        tuple(backend.scan(p) for p in archived) if tier is Tier.HISTORY else (),
    )


def as_written(
    backend: SetBasedBackend, table: Table, pieces: Sequence[Piece], tier: Tier
) -> JoinedRows:
    """All rows of pieces that were written in the same columns."""
    names = journal_names(table, pieces[0].fields)
    return JoinedRows(tier, names, as_written=tuple(backend.scan(p) for p in pieces))


def query_of(table: Table, rows: JoinedRows) -> exp.Query:
    """Those rows as one query, in the order of their names."""
    branches: list[exp.Query] = list(rows.as_written)
    if rows.opens:
        *names, end = rows.names
        last: exp.Expr = column(end, "c")
        if rows.tier is Tier.BASE:
            last = exp.cast(exp.Null(), version_type(table), dialect="duckdb")
        outputs = [*(column(n, "o") for n in names), exp.alias_(last, ident(end))]
        found = exp.select(*outputs).from_(union_all(list(rows.opens)).subquery("o"))
        same = [
            exp.EQ(this=column(n, "o"), expression=column(n, "c"))
            for n in (*rows.keys, table.format.version_column)
        ]
        closings = union_all(list(rows.closings)).subquery("c")
        kind = "ANTI" if rows.tier is Tier.BASE else "INNER"
        found.append("joins", exp.Join(this=closings, kind=kind, on=exp.and_(*same)))
        branches.insert(0, found)
    return union_all(branches)


def what_readers_see(
    backend: SetBasedBackend, table: Table, state: TableState, pieces: Iterable[Piece]
) -> tuple[exp.Query, exp.Query]:
    """The current rows, and all versions with their intervals in every column there ever was.

    What an erasure hides is among them, as it may be shown again.
    """
    by_tier: dict[Tier, list[Piece]] = {}
    for piece in pieces:
        by_tier.setdefault(piece.tier, []).append(piece)
    tiers = frozenset(by_tier)

    def over_pieces(shown: Table, rows: exp.Query) -> exp.Query:
        places = {
            physical(shown.id, tier, shown.layout).name: union_all(
                [backend.scan(p, shown) for p in found]
            )
            for tier, found in by_tier.items()
        }
        placed = in_terms_of(rows, lambda name: places[name].copy() if name in places else None)
        assert isinstance(placed, exp.Query)
        return placed

    names = [c.physical for c in table.stored]
    current = Reader(table, tiers).current([(column(n), n) for n in names])
    whole = _with_all_columns(table, state)
    ends = [whole.format.version_column, whole.format.subsequent_column]
    every = [*(c.physical for c in whole.stored), *ends]
    intervals = Reader(whole, tiers).intervals([(column(n), n) for n in every])
    return over_pieces(table, current), over_pieces(whole, intervals)


def journal_names(table: Table, fields: Fields) -> tuple[str, ...]:
    """The columns of rows that were written as ``fields``, with both versions."""
    ends = (table.format.version_column, table.format.subsequent_column)
    return (*(name for name, _ in fields), *ends)


def no_rows(table: Table) -> exp.Select:
    """No row, in the present columns of a table's journal."""
    nothing = [
        exp.alias_(exp.cast(exp.null(), kind, dialect="duckdb"), ident(name))
        for name, kind in journal_fields(table, fields_of(table))
    ]
    return exp.select(*nothing).where(exp.false())


def key_names(table: Table) -> list[str]:
    """What open and closing rows call the columns of their key."""
    return [f"palimpsest_key_{i}" for i in range(len(table.key))]


def _with_all_columns(table: Table, state: TableState) -> Table:
    """The table with every column it ever had: old versions have them still."""
    columns = {
        c.physical: replace(c, name=c.physical)
        for shown in (*state.layouts, table)
        for c in shown.stored
        # A table without a key adds it to its columns by itself.
        if not (table.hidden_key and c.physical == ROW_ID)
    }
    return replace(table, columns=tuple(columns.values()))


def _opens(backend: SetBasedBackend, table: Table, piece: Piece) -> exp.Select:
    """Open rows in the columns they have, and their keys as the table has them now."""
    end = table.format.subsequent_column
    rows = backend.scan(piece).select(*_keys(table, piece))
    return rows.where(exp.Is(this=column(end, "p"), expression=exp.Null()))


def _closings(backend: SetBasedBackend, table: Table, piece: Piece) -> exp.Select:
    """What closing rows name, and the versions that ended it."""
    start, end = table.format.version_column, table.format.subsequent_column
    outputs = [*_keys(table, piece), column(start, "p"), column(end, "p")]
    rows = backend.scan(piece).select(*outputs, append=False)
    return rows.where(exp.GT(this=column(end, "p"), expression=column(start, "p")))


def _keys(table: Table, piece: Piece) -> list[exp.Expr]:
    values = present_keys(table, piece.fields)
    return [exp.alias_(v, ident(n)) for n, v in zip(key_names(table), values, strict=True)]
