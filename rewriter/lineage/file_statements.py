"""Statements between tables and files: COPY, LOAD DATA of Hive, EXPORT DATA of BigQuery."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from rewriter.lineage.named_in_from import file_named, files_read
from rewriter.lineage.scope import fold
from rewriter.lineage.sources import Relation, Untraceable
from rewriter.lineage.targets import ColumnTarget, rows_into

RowsOf = Callable[[exp.Expr], Relation]
"""Gives the rows of a query or table."""
WrittenBy = Callable[[exp.Expr, exp.Expr], tuple[str, list[str] | None]]
"""Gives a table that a statement writes, and its columns in the order of the values."""


def transferred(node: exp.Expr, rows: RowsOf, written: WrittenBy) -> Iterator[ColumnTarget]:
    """What such a statement writes."""
    match node:
        case exp.Copy():
            yield from _copy_targets(node, rows, written)
        case exp.LoadData():
            table, columns = written(node.this, node)
            path = node.args.get("inpath")
            if path is None:
                raise Untraceable("LOAD DATA names no file")
            yield from rows_into(table, columns, Relation(open=(path.name,)))
        case exp.Export():
            if not isinstance(node.this, exp.Expr):
                raise Untraceable("EXPORT DATA has no query")
            options = node.args.get("options")
            for option in options.expressions if options is not None else ():
                if option.this is not None and fold(option.this) == "uri":
                    yield from rows_into(option.args["value"].name, None, rows(node.this))


def _copy_targets(node: exp.Copy, rows: RowsOf, written: WrittenBy) -> Iterator[ColumnTarget]:
    """COPY t FROM a file, COPY a query TO one, COPY INTO a table or file."""
    files = node.args.get("files") or []
    if len(files) != 1:
        return
    of, into = (files[0], node.this) if node.args.get("kind") else (node.this, files[0])
    names = files_read(of)
    found = Relation(open=names) if names else rows(of)
    file = file_named(into)
    if file is not None:
        yield from rows_into(file, None, found)
    else:
        yield from rows_into(*written(into, node), found)
