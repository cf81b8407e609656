"""Resolves names inside a query: schema-qualified columns, equal table names, versions.

The relations that stand for tables are known by alias alone, so ``a.t.x`` becomes the column of the
alias of ``a.t``. Works on the query before its tables are replaced. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.cte_scopes import CteScopes
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.name_resolution import INTERNAL, is_database, position_of, table_name
from rewriter.reading.past.version_columns import version_column_names
from rewriter.reading.visible_columns import relations_of

Key = tuple[str, str]
"""How columns begin that the rewriter adds for itself."""
SOURCE_PARTS = frozenset(
    {
        *("this", "db", "catalog", "alias", "joins", "laterals", "pivots", "sample"),
        *("version", "when", "hints", "indexed", "only", "rows_from"),
    }
)
"""What a source in a FROM clause may consist of."""


@dataclass(slots=True)
class Scopes:
    """The sources of each SELECT in a query, by schema and name, and the columns of the query."""

    context: RewriteContext
    tables: list[exp.Table]
    columns: list[exp.Column]
    ctes: frozenset[int]
    _aliases: frozenset[str]
    _sources: dict[int, dict[Key, exp.Table]] = field(default_factory=dict)
    _doubled: dict[int, set[str]] = field(default_factory=dict)
    _shared: set[str] = field(default_factory=set)
    _by_name: dict[str, list[exp.Column]] | None = None

    @staticmethod
    def of(nodes: Nodes, context: RewriteContext) -> Scopes:
        """The scopes of a query, given by its nodes, whose tables are still logical."""
        tables, columns = nodes.all(exp.Table), nodes.all(exp.Column)
        for column in columns:
            if column.name.startswith(INTERNAL):
                _refuse_internal(column)
        scopes = CteScopes()
        ctes = frozenset(id(t) for t in tables if is_named(t) and scopes.holds(t))
        aliases = frozenset(fold(alias.name) for alias in nodes.all(exp.TableAlias))
        return Scopes(context, tables, columns, ctes, aliases)

    def resolve(self) -> None:
        """Give tables of one name aliases of their own, and take schemas off columns."""
        qualified = [c for c in self.columns if c.args.get("db") is not None]
        if not qualified and not self._may_double():
            return
        for table in self.tables:
            select = table.find_ancestor(exp.Select)
            if select is not None and is_named(table) and id(table) not in self.ctes:
                if not table.alias:
                    name = table_name(table, self.context)
                    self._sources.setdefault(id(select), {})[name.key] = table
        self._tell_apart({fold(column.table) for column in qualified})
        for column in self.columns:
            if column.args.get("db") is not None:
                self._unqualify(column)
            elif column.table:
                self._check_doubled(column)
                self._point(column)

    def _may_double(self) -> bool:
        names = [fold(t.name) for t in self.tables if t.args.get("db") is not None and not t.alias]
        if not names:
            return False
        every = [fold(t.name) for t in self.tables if not t.alias]
        return any(every.count(name) > 1 for name in names)

    def _tell_apart(self, qualified: set[str]) -> None:
        """Give those of several schemas an alias, also where a query inside reads the other.

        One of the ``qualified`` names may be another relation's alias as well.
        """
        named = {key for found in self._sources.values() for key in found}
        every = [*(name for _, name in named), *(self._aliases & qualified)]
        for select, found in self._sources.items():
            names = [name for _, name in found]
            for (schema, name), table in found.items():
                if every.count(name) > 1:
                    give_alias(table, schema)
                    self._shared.add(name)
                if names.count(name) > 1:
                    self._doubled.setdefault(select, set()).add(name)

    def _point(self, column: exp.Column) -> None:
        """Name the alias that the nearest table of a column's name was given."""
        wanted = fold(column.table)
        for select in selects_around(column) if wanted in self._shared else ():
            for (_, name), table in self._sources.get(id(select), {}).items():
                if name == wanted:
                    column.set("table", ident(table.alias))
                    return
            if any(fold(source.alias_or_name) == wanted for source in relations_of(select)):
                return

    def _unqualify(self, column: exp.Column) -> None:
        parts = [p for p in ("catalog", "db", "table") if column.args.get(p) is not None]
        if len(parts) == 3 and is_database(column.args["catalog"].name, self.context.catalog):
            column.set("catalog", None)
            parts = parts[1:]
        schema, name = (fold(column.args[p].name) for p in parts[:2])
        for select in selects_around(column):
            table = self._sources.get(id(select), {}).get((schema, name))
            if table is not None:
                alias = exp.to_identifier(table.alias_or_name, quoted=True)
                rest = [alias, *[column.args[p] for p in parts[2:]]]
                for part in ("catalog", "db", "table"):
                    column.set(part, None)
                for part, value in zip(("table", "db")[: len(rest)][::-1], rest, strict=True):
                    column.set(part, value)
                return
        if schema in self.context.catalog.schemas and len(parts) == 2:
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f'"{column.sql()}" names no table of this query',
                advice="use the table's alias, or the schema under which FROM names it",
                position=position_of(column),
            )

    def _check_doubled(self, column: exp.Column) -> None:
        if not self._doubled:
            return
        select = column.find_ancestor(exp.Select)
        if select is not None and fold(column.table) in self._doubled.get(id(select), set()):
            raise ambiguous_table(column)

    def names_version(self, node: exp.Table, table: Table) -> bool:
        """True when the query names a version column of this table reference.

        ``*`` shows business columns only; if so, stars of the same SELECT are told to leave the
        version columns out.
        """
        names = version_names(table)
        mentioned = [column for name in names for column in self._named(name)]
        if not mentioned:
            return False
        select = node.find_ancestor(exp.Select)
        alias = node.alias_or_name
        if select is None or not any(self._refers_to(c, select, fold(alias)) for c in mentioned):
            return False
        _hide_in_stars(select, alias, table)
        return True

    def _named(self, name: str) -> list[exp.Column]:
        """The columns of a folded name in the whole query."""
        if self._by_name is None:
            self._by_name = {}
            for column in self.columns:
                self._by_name.setdefault(fold(column.name), []).append(column)
        return self._by_name.get(name, [])

    def _refers_to(self, column: exp.Column, select: exp.Select, alias: str) -> bool:
        if column.table:
            return fold(column.table) == alias and _is_inside(column, select)
        return column.find_ancestor(exp.Select) is select and self._only_tables(select)

    def _only_tables(self, select: exp.Select) -> bool:
        """False when another source may well have a column of that name itself."""
        sources = [select.args["from_"].this] if select.args.get("from_") else []
        sources += [join.this for join in select.args.get("joins") or []]
        return not select.args.get("laterals") and all(
            isinstance(s, exp.Table) and is_named(s) and id(s) not in self.ctes for s in sources
        )


def selects_around(node: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs that a node stands in, the nearest first."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        yield select
        select = select.find_ancestor(exp.Select)


def ambiguous_table(column: exp.Column) -> PalimpsestError:
    """What a column without a schema raises where tables of several schemas have its name."""
    return PalimpsestError(
        Code.AMBIGUOUS_COLUMN,
        f'"{column.sql()}" may name tables of several schemas',
        advice="put the schema before the table's name, or give the tables aliases",
        position=position_of(column),
    )


def without_schemas(nodes: Nodes, context: RewriteContext) -> Nodes:
    """The nodes with no schemas on columns, for what knows sources by names and aliases alone."""
    if any(column.args.get("db") is not None for column in nodes.all(exp.Column)):
        Scopes.of(nodes, context).resolve()
    return nodes


def give_alias(table: exp.Table, schema: str) -> None:
    """Let a table be known by its schema and name, beside others of that name."""
    table.set("alias", exp.TableAlias(this=ident(f"{schema}.{fold(table.name)}")))


def _refuse_internal(column: exp.Column) -> None:
    position = position_of(column)
    if position is not None:
        # Only what a client wrote has a position.
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'column "{column.name}" does not exist',
            advice=f"names that begin with {INTERNAL} are the gateway's own",
            position=position,
        )


def is_named(table: exp.Table) -> bool:
    """True for a reference by name rather than a table function."""
    return isinstance(table.this, exp.Identifier)


def version_names(table: Table) -> set[str]:
    """The folded names of the version columns."""
    return {fold(name) for name in version_column_names(table)}


def _is_inside(node: exp.Expr, select: exp.Select) -> bool:
    parent: exp.Expr | None = node
    while parent is not None and parent is not select:
        parent = parent.parent
    return parent is select


def _hide_in_stars(select: exp.Select, alias: str, table: Table) -> None:
    names = version_column_names(table)
    for star in list(select.find_all(exp.Star)):
        if isinstance(star.parent, exp.Count) or star.find_ancestor(exp.Select) is not select:
            continue
        owner = star.parent if isinstance(star.parent, exp.Column) else None
        if owner is not None and fold(owner.table) != fold(alias):
            continue
        hidden: Sequence[exp.Expr] = star.args.get("except_") or []
        known = {fold(e.name) for e in hidden if not isinstance(e, exp.Column) or not e.table}
        of = None if owner is not None else ident(alias)
        added = [exp.Column(this=ident(n), table=of) for n in names if fold(n) not in known]
        star.set("except_", [*hidden, *added])
