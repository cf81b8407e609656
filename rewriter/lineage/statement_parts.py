"""Parts of statements that write: the tables that they name, columns, statements in a WITH."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.lineage.scope import fold


def table_of(node: object) -> exp.Table | None:
    """The table that a statement names, with its columns or without."""
    found = node.this if isinstance(node, exp.Schema) else node
    return found if isinstance(found, exp.Table) else None


def changes_in_with(node: exp.Expr) -> Iterator[exp.DML]:
    """The statements in a WITH that change tables."""
    clause = node.args.get("with_")
    for cte in clause.expressions if clause is not None else ():
        if isinstance(cte.this, exp.DML):
            yield cte.this


def is_column(node: exp.Expr) -> bool:
    """Whether a part of a schema is a column, not a constraint."""
    return isinstance(node, (exp.ColumnDef, exp.Identifier, exp.Column))


def partition_parts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of PARTITION (..) after the table that a statement, or its target, names."""
    table = table_of(node if isinstance(node, exp.Table) else node.this)
    partition = (table.args.get("partition") if table else None) or node.args.get("partition")
    return partition.expressions if isinstance(partition, exp.Partition) else []


def partition_columns(node: exp.Create) -> list[str]:
    """The columns of PARTITIONED BY, in lower case."""
    found = node.find(exp.PartitionedByProperty)
    if found is None:
        return []
    parts = found.this.expressions if isinstance(found.this, exp.Schema) else []
    return [fold(p) for p in parts if is_column(p)]


def table_copied(node: exp.Create) -> exp.Table | None:
    """The table of LIKE or CLONE, which the new one is made as."""
    found = node.find(exp.LikeProperty)
    clone = node.args.get("clone")
    if found is not None and isinstance(found.this, exp.Table):
        return found.this
    if clone is not None and isinstance(clone.this, exp.Table):
        return clone.this
    return None


def inserts_of(node: exp.MultitableInserts) -> Iterator[exp.Insert]:
    """The INSERTs of several tables, each with the source and the WITH that they share."""
    source, clause = node.args["source"], node.args.get("with_")
    for insert in node.expressions:
        condition = insert.expression if isinstance(insert, exp.ConditionalInsert) else None
        whole = (insert if condition is None else insert.this).copy()
        query = whole.expression
        if isinstance(query, exp.Select) and query.args.get("from_") is None:
            query.set("from_", exp.From(this=source.copy()))
        elif not isinstance(query, exp.Query):
            whole = _with_query(whole, source)
            query = whole.expression
        if clause is not None and isinstance(query, exp.Query):
            query.set("with_", clause.copy())
        if condition is not None and isinstance(query, exp.Select):
            query.where(condition.copy(), copy=False)
        yield whole


def _with_query(insert: exp.Insert, source: exp.Expr) -> exp.Insert:
    """INSERT ALL INTO t VALUES (x) SELECT ..: the values are columns of the query."""
    values = insert.expression
    rows = exp.Subquery(this=source.copy(), alias=exp.TableAlias(this=exp.to_identifier("s")))
    if isinstance(values, exp.Values) and values.expressions:
        row = values.expressions[0]
        chosen = [e.copy() for e in (row.expressions or [row])]
        insert.set("expression", exp.select(*chosen).from_(rows))
    else:
        insert.set("expression", exp.select("*").from_(rows))
    return insert
