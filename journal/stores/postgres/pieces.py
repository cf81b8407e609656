"""The tables a journal consists of: their names, sizes, rows and hashes. Decides nothing."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.wall_clock import wall_clock_us
from journal.sql.counting import hashed_rows
from journal.sql.relations import column, ident
from journal.stores.postgres.store import PostgresSession

STAGED = "s"
"""What stands between the table's id and the time in the name of a table that a job makes."""


def new_name(table_id: int, number: int) -> str:
    """A name for a table that a job makes."""
    return f"t{table_id}_{STAGED}{wall_clock_us()}_{number}"


def size(session: PostgresSession, table: exp.Table) -> int:
    """Bytes of a table with its partitions and indexes."""
    name = session.rendered(table).sql
    ((found,),) = session.text(
        "SELECT pg_total_relation_size(?::regclass) + coalesce(sum(pg_total_relation_size(relid)),"
        " 0)::bigint FROM pg_partition_tree(?::regclass) WHERE relid <> ?::regclass",
        [name, name, name],
    )
    return int(found)


def all_rows(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """The rows of a table of journal rows, in the columns it has."""
    outputs = [*_values(fields), *(column(name, "p") for name in table.ends)]
    return exp.select(*outputs).from_(exp.alias_(source, "p", table=True))


def _values(fields: Fields) -> list[exp.Expr]:
    """The business columns of rows ``p``; JSON may lie there as jsonb, in an adopted table."""
    return [
        exp.alias_(exp.cast(column(n, "p"), kind), ident(n)) if kind == "JSON" else column(n, "p")
        for n, kind in fields
    ]


def count_and_hash(session: PostgresSession, rows: exp.Query) -> tuple[int, int]:
    """How many rows, and the sum of their hashes, which tells nothing of their order."""
    text = exp.cast(exp.column("r"), "TEXT")
    hashed = exp.Anonymous(this="hashtextextended", expressions=[text, exp.Literal.number(0)])
    return hashed_rows(session, rows, hashed)
