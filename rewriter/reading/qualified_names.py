"""Names of relations with their schemas, for text that is kept. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import Nodes
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.scopes import Scopes, is_named


def qualify(query: exp.Expr, context: RewriteContext) -> None:
    """Put the schema on every name that means something in the catalog."""
    scopes = Scopes.of(Nodes.of(query), context)
    for table in scopes.tables:
        if not is_named(table) or id(table) in scopes.ctes or table.args.get("db") is not None:
            continue
        name = table_name(table, context)
        known = context.catalog.get(name) or context.catalog.by_journal(name)
        if known is not None:
            if not table.alias and not isinstance(table.parent, exp.Describe | exp.Summarize):
                table.set("alias", exp.TableAlias(this=ident(table.name)))
            table.set("db", ident(name.schema))
