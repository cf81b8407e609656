"""What is known of tables and views: from DDL that was read, and from statements as they pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from sqlglot import ErrorLevel, exp

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.queries import ChangeReader, QueryReader
from rewriter.lineage.scope import fold
from rewriter.lineage.sources import Relation, of_table

_BARE = dict.fromkeys(("hive", "spark", "spark2", "databricks"), "default")
_HIDDEN = {
    "hive": frozenset(
        "input__file__name block__offset__inside__file row__offset__inside__block row__id"
        " row__is__deleted".split()
    ),
    **dict.fromkeys(("spark", "spark2", "databricks"), frozenset(["_metadata"])),
    "postgres": frozenset(["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]),
    "duckdb": frozenset(["rowid"]),
    "oracle": frozenset(["rowid"]),
    "sqlite": frozenset(["rowid", "oid", "_rowid_"]),
    "bigquery": frozenset(["_partitiontime", "_partitiondate", "_table_suffix", "_file_name"]),
    "snowflake": frozenset(["metadata$filename", "metadata$file_row_number"]),
}
"""Columns that each table has without showing them."""
_NUMBERED = {"hive": "_c{0}", "trino": "_col{0}", "presto": "_col{0}", "athena": "_col{0}"}
_NAMES_ELEMENTS = frozenset({"hive", "spark", "spark2", "databricks"})
"""Dialects in which ``explode`` names what it gives, where nobody else does."""
_UNCHAINED = frozenset(
    {"", "athena", "bigquery", "fabric", "hive", "mysql", "oracle", "postgres", "presto", "sqlite"}
    | {"spark2", "trino", "tsql"}
)
"""Dialects in which an output cannot name another one that stands before it."""
_RECURSES = frozenset({"fabric", "oracle", "tsql"})
"""Dialects without the word RECURSIVE."""


@dataclass(slots=True)
class KnownTables:
    """Columns of tables and queries of views, by whole name in lower case.

    ``schema`` is that of names without one, and USE changes it. ``expands`` has views read as
    their queries, so that sources are tables alone.
    """

    dialect: str = ""
    schema: str = ""
    expands: bool = False
    bare: str | None = None
    """The schema whose tables are named without it: that of Hive's names without one."""
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that partition a table; they are the last of its columns."""
    views: dict[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bare is None:
            self.bare = "" if self.schema else _BARE.get(self.dialect, "")

    def copy(self) -> KnownTables:
        """The same knowledge, apart: what one script defines is not there for another."""
        known = dict(self.columns), dict(self.partitions), dict(self.views)
        return KnownTables(self.dialect, self.schema, self.expands, self.bare, *known)

    def name(self, node: exp.Table) -> str:
        """The whole name of a table."""
        return self.whole_name([fold(part) for part in node.parts])

    def whole_name(self, parts: Sequence[str]) -> str:
        """The whole name of a table from the parts of its name in lower case."""
        if len(parts) == 1 and self.schema:
            parts = [self.schema, *parts]
        if len(parts) == 2 and parts[0] == self.bare:
            parts = parts[1:]
        return ".".join(parts)

    def reader(self, changes: ChangeReader | None = None) -> QueryReader:
        """A reader of queries on these tables; ``changes`` reads statements in their WITH."""
        chained = self.dialect not in _UNCHAINED
        recurses = self.dialect in _RECURSES
        given = self.relation, self.name_of_output, changes
        return QueryReader(*given, chained=chained, recurses=recurses)

    def relation(self, node: exp.Table) -> Relation:
        """The columns of a table or view, as a query sees them."""
        name = self.name(node)
        if self.expands and name in self.views:
            return self.views[name]
        return of_table(name, self.columns.get(name), _HIDDEN.get(self.dialect, frozenset()))

    def name_of_output(self, node: exp.Expr, place: int) -> str:
        """The name of an output without an alias, as the dialect gives it."""
        if isinstance(node, exp.Explode) and self.dialect in _NAMES_ELEMENTS:
            return "col"
        pattern = _NUMBERED.get(self.dialect)
        if pattern is not None:
            return pattern.format(place)
        if isinstance(node, (exp.Cast, exp.Paren)):
            return fold(node.this.alias_or_name) or self.name_of_output(node.this, place)
        if self.dialect in {"postgres", "redshift"}:
            return node.sql_name().lower() if isinstance(node, exp.Func) else "?column?"
        return node.sql(dialect=self.dialect, unsupported_level=ErrorLevel.IGNORE).lower()

    def name_of(self, node: exp.Expr, place: int) -> str:
        """The name of an output: its alias, that of its column, or as the dialect gives it."""
        named = isinstance(node, (exp.Alias, exp.Column, exp.Dot))
        return fold(node.alias_or_name) if named else self.name_of_output(node, place)

    def declare(self, name: str, columns: Sequence[str], partitions: Sequence[str] = ()) -> None:
        """Know the columns of a table; those that partition it come last."""
        last = [p for p in partitions if p not in columns]
        self.columns[name] = (*columns, *last)
        self.partitions[name] = tuple(partitions)
        self.views.pop(name, None)

    def declare_view(self, name: str, found: Relation) -> None:
        """Know a view by what its query gives."""
        self.columns.pop(name, None)
        if not found.open and found.other is None:
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

    def swap(self, one: str, other: str) -> None:
        """Know each of two tables under the name of the other."""
        between = f"{one} and {other}"
        self.rename(one, between)
        self.rename(other, one)
        self.rename(between, other)

    def add_columns(self, name: str, added: Sequence[str]) -> None:
        """Know more columns of a table; those that partition it stay the last."""
        if name in self.columns:
            last = self.partitions.get(name, ())
            kept = [column for column in self.columns[name] if column not in last]
            self.declare(name, [*kept, *added], last)

    def drop_columns(self, name: str, dropped: Collection[str]) -> None:
        """Know a table without some columns."""
        if name in self.columns:
            self.columns[name] = tuple(c for c in self.columns[name] if c not in dropped)

    def rename_column(self, name: str, old: str, new: str) -> None:
        """Know a column of a table under another name."""
        for known in (self.columns, self.partitions):
            if name in known:
                known[name] = tuple(new if c == old else c for c in known[name])

    def move_column(self, name: str, column: str, after: str | None) -> None:
        """Know a column of a table behind another one, or as the first."""
        columns = [c for c in self.columns.get(name, ()) if c != column]
        if column not in self.columns.get(name, ()) or (after is not None and after not in columns):
            return
        columns.insert(0 if after is None else columns.index(after) + 1, column)
        self.columns[name] = tuple(columns)
