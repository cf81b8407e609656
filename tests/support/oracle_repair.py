"""Where the oracle itself is wrong against the SQL standard, and how it is put right.

This is the one place for such cases. None of them is a difference the product may have.

1. Keys are checked while a statement runs, a vector of 2,048 rows at a time, not at its end:
   `UPDATE t SET id = id + 1` over more rows than that reports a duplicate that is not there.
   Repair: the statement runs again on a copy without PRIMARY KEY and UNIQUE; when the result
   loads into the real table, keys and all, the error was false and that result counts.
   INSERT .. ON CONFLICT needs its index and is not repaired.
"""

from collections.abc import Sequence

import duckdb
import sqlglot
from sqlglot import exp

from tests.support.oracle_merge import Table, tables_of
from tests.support.outcome import Count, Outcome, Rows


def repaired(
    root: duckdb.DuckDBPyConnection,
    version: str,
    copy: str,
    sql: str,
    values: Sequence[object] | None = None,
) -> Outcome | None:
    """Run a statement that hit a key error again; None when the error was justified."""
    text = sql if values is None else sql.replace("?", "NULL")
    tree = sqlglot.parse_one(text, dialect="duckdb")
    if not isinstance(tree, exp.Update | exp.Merge):
        return None
    written = tree.this
    if not isinstance(written, exp.Table):
        return None
    table = _find(root, version, written)
    if table is None:
        return None
    _drop_keys(root, version, copy, table)
    root.execute(f'USE "{copy}"')
    result = root.execute(sql, values)
    rows = result.fetchall()
    columns = tuple(str(column[0]) for column in result.description or ())
    target = exp.table_(table.name, db=table.schema, catalog=version, quoted=True)
    if not _load(root, target, exp.table_(table.name, db=table.schema, catalog=copy, quoted=True)):
        return None
    if columns == ("Count",):
        return Count(int(rows[0][0]))
    return Rows(columns, tuple(rows))


def _find(root: duckdb.DuckDBPyConnection, version: str, written: exp.Table) -> Table | None:
    schema = written.db.lower() or "main"
    for table in tables_of(root, version):
        if (table.schema.lower(), table.name.lower()) == (schema, written.name.lower()):
            return table
    return None


def _drop_keys(root: duckdb.DuckDBPyConnection, version: str, copy: str, table: Table) -> None:
    found = root.execute(
        "SELECT sql FROM duckdb_tables() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ?",
        [version, table.schema, table.name],
    ).fetchall()
    definition = sqlglot.parse_one(str(found[0][0]), dialect="duckdb")
    for constraint in list(definition.find_all(exp.PrimaryKey, exp.UniqueColumnConstraint)):
        constraint.pop()
    for column in list(definition.find_all(exp.ColumnConstraint)):
        if column.args.get("kind") is None or isinstance(
            column.kind, exp.PrimaryKeyColumnConstraint
        ):
            column.pop()
    target = exp.table_(table.name, db=table.schema, catalog=copy, quoted=True)
    definition.this.set("this", target.copy())
    definition.set("replace", True)
    root.execute(definition.sql("duckdb"))
    source = exp.table_(table.name, db=table.schema, catalog=version, quoted=True)
    root.execute(exp.insert(exp.select("*").from_(source), target).sql("duckdb"))


def _load(root: duckdb.DuckDBPyConnection, target: exp.Table, source: exp.Table) -> bool:
    root.execute("BEGIN")
    try:
        root.execute(exp.delete(target).sql("duckdb"))
        root.execute(exp.insert(exp.select("*").from_(source), target).sql("duckdb"))
    except duckdb.ConstraintException:
        root.execute("ROLLBACK")
        return False
    root.execute("COMMIT")
    return True
