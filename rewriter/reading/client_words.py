"""Expands abbreviations in queries before tables become relations. Pure.

Settings, users, schemas and moments get their values, short pivots their sources, results their
names, and long chains of conditions on rows become lists.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import Nodes
from journal.sql.clock import name_moments
from rewriter.context import RewriteContext
from rewriter.reading.listed_rows import list_rows
from rewriter.reading.pivots import move_sources_out
from rewriter.reading.result_names import name_changed
from rewriter.reading.sources import check_shape
from rewriter.users import name_schema, name_settings, name_users


def spell_out(query: exp.Expr, nodes: Nodes, context: RewriteContext) -> Nodes:
    """Spell a query out in place; the nodes that it has then.

    Raises what ``check_shape`` refuses.
    """
    if name_settings(nodes, context):
        nodes = Nodes.of(query)
    if check_shape(nodes):
        move_sources_out(query)
        nodes = Nodes.of(query)
    if list_rows(nodes, context):
        nodes = Nodes.of(query)
    name_changed(nodes)
    name_users(nodes)
    name_moments(nodes)
    name_schema(nodes, context)
    return nodes
