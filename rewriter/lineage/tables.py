"""What is known of tables and views: from DDL that was read, and from statements as they pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
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

    def forget_schema(self, schema: str) -> None:
        """Know nothing of the tables and views of a schema that was dropped."""
        for name in [*self.columns, *self.views]:
            if name.rpartition(".")[0] == schema:
                self.forget(name)

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
        options = node.args.get("options") or []
        for action in node.args.get("actions") or []:
            match action:
                case exp.AlterRename(this=exp.Table() as old) if options:
                    # ``RENAME a TO b``: a column, since the table would have one name only.
                    self._rename_column(name, old, options[0].this)
                case exp.AlterRename(this=exp.Table() as target):
                    db = target if target.db else exp.table_(target.name, db=node.this.db or None)
                    self.rename(name, self.name(db))
                case exp.ColumnDef():
                    self._add_columns(name, [fold(action)])
                case exp.Schema():
                    self._add_columns(name, [fold(column) for column in action.expressions])
                case exp.ReplaceColumns():
                    given = [fold(column) for column in action.expressions]
                    self.declare(name, given, self.partitions.get(name, ()))
                case exp.RenameColumn():
                    self._rename_column(name, action.this, action.args["to"])
                case exp.AlterColumn() if action.args.get("rename_to") is not None:
                    self._rename_column(name, action.this, action.args["rename_to"])
                case exp.ModifyColumn() if action.args.get("rename_from") is not None:
                    self._rename_column(name, action.args["rename_from"], action.this)
                case exp.Drop(kind="COLUMN") if name in self.columns:
                    gone = {fold(column) for column in action.args.get("tables") or [action.this]}
                    self.columns[name] = tuple(c for c in self.columns[name] if c not in gone)

    def _add_columns(self, name: str, added: Sequence[str]) -> None:
        """Know more columns of a table; those that partition it stay the last."""
        if name in self.columns:
            last = self.partitions.get(name, ())
            kept = [column for column in self.columns[name] if column not in last]
            self.declare(name, [*kept, *added], last)

    def _rename_column(self, name: str, old: exp.Expr, new: exp.Expr) -> None:
        """Know a column of a table under another name."""
        if name in self.columns:
            known = self.columns[name]
            self.columns[name] = tuple(fold(new) if c == fold(old) else c for c in known)
