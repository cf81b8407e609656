"""What is known of tables and views: from DDL that was read, and from statements as they pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from rewriter.lineage.queries import ChangeReader, QueryReader
from rewriter.lineage.scope import fold, table_name
from rewriter.lineage.sources import Relation, of_table

_NUMBERED = {"hive": "_c{0}", "trino": "_col{0}", "presto": "_col{0}", "athena": "_col{0}"}


@dataclass(slots=True)
class KnownTables:
    """Columns of tables and queries of views, by whole name in lower case.

    ``schema`` is that of names without one, and USE changes it. ``expands`` has views read as
    their queries, so that sources are tables alone.
    """

    dialect: str = ""
    schema: str = ""
    expands: bool = False
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that partition a table; they are the last of its columns."""
    views: dict[str, Relation] = field(default_factory=dict)

    def copy(self) -> KnownTables:
        """The same knowledge, apart: what one script defines is not there for another."""
        known = dict(self.columns), dict(self.partitions), dict(self.views)
        return KnownTables(self.dialect, self.schema, self.expands, *known)

    def name(self, node: exp.Table) -> str:
        """The whole name of a table."""
        return table_name(node, self.schema)

    def reader(self, changes: ChangeReader | None = None) -> QueryReader:
        """A reader of queries on these tables; ``changes`` reads statements in their WITH."""
        return QueryReader(self.relation, self.name_of_output, changes)

    def relation(self, node: exp.Table) -> Relation:
        """The columns of a table or view, as a query sees them."""
        name = self.name(node)
        if self.expands and name in self.views:
            return self.views[name]
        return of_table(name, self.columns.get(name))

    def name_of_output(self, node: exp.Expr, place: int) -> str:
        """The name of an output without an alias, as the dialect gives it."""
        pattern = _NUMBERED.get(self.dialect)
        if pattern is not None:
            return pattern.format(place)
        if isinstance(node, (exp.Cast, exp.Paren)):
            return fold(node.this.alias_or_name) or self.name_of_output(node.this, place)
        if self.dialect in {"postgres", "redshift"}:
            return node.sql_name().lower() if isinstance(node, exp.Func) else "?column?"
        return node.sql(dialect=self.dialect).lower()

    def declare(self, name: str, columns: Sequence[str], partitions: Sequence[str] = ()) -> None:
        """Know the columns of a table; those that partition it come last."""
        last = [p for p in partitions if p not in columns]
        self.columns[name] = (*columns, *last)
        self.partitions[name] = tuple(partitions)
        self.views.pop(name, None)

    def declare_view(self, name: str, found: Relation) -> None:
        """Know a view by what its query gives."""
        self.columns.pop(name, None)
        if not found.open:
            self.columns[name] = tuple(found.names)
        self.views[name] = found

    def forget(self, name: str) -> None:
        """Know nothing of what was dropped."""
        self.columns.pop(name, None)
        self.partitions.pop(name, None)
        self.views.pop(name, None)

    def rename(self, name: str, new: str) -> None:
        """Know a table under another name."""
        if name in self.columns:
            self.columns[new] = self.columns.pop(name)
        if name in self.partitions:
            self.partitions[new] = self.partitions.pop(name)
        if name in self.views:
            self.views[new] = self.views.pop(name)

    def alter(self, node: exp.Alter) -> None:
        """Follow an ALTER TABLE that adds, drops or renames columns, or renames the table."""
        if not isinstance(node.this, exp.Table):
            return
        name = self.name(node.this)
        for action in node.args.get("actions") or []:
            known = list(self.columns.get(name, ()))
            match action:
                case exp.AlterRename(this=exp.Table() as target):
                    db = target if target.db else exp.table_(target.name, db=node.this.db or None)
                    self.rename(name, self.name(db))
                case exp.ColumnDef() if name in self.columns:
                    self.columns[name] = (*known, fold(action))
                case exp.Schema() if name in self.columns:
                    added = [fold(c) for c in action.expressions]
                    self.columns[name] = (*known, *added)
                case exp.RenameColumn():
                    old, new = fold(action.this), fold(action.args["to"])
                    self.columns[name] = tuple(new if c == old else c for c in known)
                case exp.Drop(kind="COLUMN"):
                    gone = {fold(column) for column in action.args.get("tables") or [action.this]}
                    self.columns[name] = tuple(c for c in known if c not in gone)
