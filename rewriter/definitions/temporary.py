"""Temporary tables and views: which statements mean one, and what they may be named. Pure.

They are logical tables in a schema of the session's own, so every rule takes them as any other.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import TableName
from rewriter.context import RewriteContext
from rewriter.name_resolution import is_in_temp_schema, position_of


def is_temporary(ast: exp.Create, node: exp.Table, context: RewriteContext) -> bool:
    """True for CREATE TEMPORARY; raises NOT_SUPPORTED on stores without temporary tables."""
    properties = ast.args.get("properties")
    found = properties.expressions if properties is not None else []
    if not any(isinstance(option, exp.TemporaryProperty) for option in found):
        return False
    if any(isinstance(option, exp.GlobalProperty) for option in found):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "GLOBAL TEMPORARY relations are not supported",
            advice="create a temporary one, for this connection, or an ordinary one",
            position=position_of(node),
        )
    check_has_temporary(node, context)
    return True


def check_has_temporary(node: exp.Table, context: RewriteContext) -> None:
    """Raise NOT_SUPPORTED on stores without temporary relations."""
    if context.catalog.own is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "temporary tables are not supported by this store",
            advice="create an ordinary table and drop it afterwards",
            position=position_of(node),
        )


def new_temporary_name(node: exp.Table, context: RewriteContext) -> TableName:
    """The name of a temporary table or view to be."""
    assert context.catalog.own is not None
    if node.db and not is_in_temp_schema(node):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"a temporary table cannot be put into schema {node.db}",
            advice="leave the schema out: the connection has one of its own, named temp",
            position=position_of(node),
        )
    return TableName(context.catalog.own, node.name)


def reads_temporary(query: exp.Query, context: RewriteContext) -> bool:
    """True if a query, whose names have schemas, reads temporary relations."""
    return next(_temporary_reads(query, context), None) is not None


def check_lasting(name: TableName, query: exp.Query, context: RewriteContext) -> None:
    """Raise if a permanent view reads temporary relations; names in ``query`` have schemas."""
    for table in _temporary_reads(query, context):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the view {name} would read the temporary table {table.name}",
            advice="leave out the schema, so that the view is temporary, or read an ordinary table",
            position=position_of(table),
        )


def _temporary_reads(query: exp.Query, context: RewriteContext) -> Iterator[exp.Table]:
    for table in query.find_all(exp.Table):
        if table.db and context.catalog.is_own(TableName(table.db, table.name)):
            yield table
