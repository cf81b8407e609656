"""Tables and views as a session finds them, for the lineage of a statement that is to be run."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.schema import Relation, Table, TableName
from journal.model.trees import copy_tree
from rewriter.context import RewriteContext
from rewriter.lineage.tables import KnownTables
from rewriter.name_resolution import table_name
from rewriter.reading.past.time_travel import HISTORY_FUNCTIONS, history_call


class SessionTables(KnownTables):
    """What the catalog knows of the tables and views that a statement names.

    A journal that is read by its own name counts as its table.
    """

    def __init__(self, context: RewriteContext) -> None:
        super().__init__("duckdb")
        self._context = context
        self.found: dict[str, Relation] = {}
        """The tables and views that were named, by their whole names."""

    def name(self, node: exp.Table) -> str:
        """The whole name of a table, as the session finds it."""
        try:
            found = table_name(node, self._context)
        except PalimpsestError:
            return super().name(node)
        known = self._context.catalog.get(found) or self._context.catalog.by_journal(found)
        if known is None and not node.db and ("." in node.name or "/" in node.name):
            return node.name  # A file, read as a table.
        if known is None:
            return full_name(found)
        name = full_name(known.name)
        self.found[name] = known
        shown = [c.name for c in known.columns] if isinstance(known, Table) else known.columns
        self.columns.setdefault(name, tuple(c.lower() for c in shown))
        return name


def full_name(name: TableName) -> str:
    """The whole name of a relation as lineage has it."""
    return str(name).lower()


def without_history_calls(tree: exp.Expr) -> exp.Expr:
    """A tree in which calls of functions over a table's past stand for the table itself.

    It is a copy if there are such calls; else it is the tree.
    """
    if not any(map(_is_history_call, tree.find_all(exp.Table))):
        return tree
    found = exp.Paren(this=copy_tree(tree))
    for node in list(filter(_is_history_call, found.find_all(exp.Table))):
        table = history_call(node.this).table
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.this.name))
        table.set("alias", alias)
        node.replace(table)
    held: exp.Expr = found.this
    held.pop()
    return held


def _is_history_call(node: exp.Table) -> bool:
    return isinstance(node.this, exp.Anonymous) and node.this.name.lower() in HISTORY_FUNCTIONS
