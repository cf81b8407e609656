"""Names: logical tables in the catalog, positions of identifiers, fresh names.

What is not found is refused, and what is spelt like it is named. The store is not asked. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError, Position
from journal.model.plan import STORE_SCHEMA
from journal.model.replication import replica_refusal, replica_source
from journal.model.schema import (
    DATABASE,
    DEFAULT_SCHEMA,
    OWN_SCHEMA,
    CatalogSnapshot,
    Relation,
    Table,
    TableName,
    View,
    fold,
)
from journal.model.version import Version, to_datetime
from rewriter.context import RewriteContext, TimePoint
from rewriter.dialect_semantics import DIALECTS, semantics_of

INTERNAL = "_palimpsest_"
"""With this begin the names of columns that the gateway adds to a query for its own use."""
VERSION = f"{INTERNAL}version"
"""The column in which a statement that writes sees which version of a row it changes."""
_OF_HIVE, _HOME_OF_HIVE = frozenset({"hive", "spark"}), "default"
_DATABASES = frozenset({DATABASE, "spark_catalog"})
PUBLIC_SCHEMA = "public"
"""What clients of PostgreSQL call the home schema, whatever it is called."""
_HOME_NAMES = {"postgres": PUBLIC_SCHEMA, "duckdb": DEFAULT_SCHEMA}
SYSTEM_SCHEMAS = frozenset({"system", "information_schema"})
OWN_SCHEMAS = frozenset({OWN_SCHEMA, "pg_temp"})
"""Under which names temporary relations may be found."""


def means_home(name: str, dialect: str, catalog: CatalogSnapshot) -> bool:
    """True where the name of a schema stands for the home schema."""
    found = home_name(dialect)
    return found is not None and fold(name) == found and found not in catalog.schemas


def home_name(dialect: str) -> str | None:
    """What clients of a dialect call the home schema, whatever it is called; None: by its name."""
    return _HOME_NAMES.get(DIALECTS.get(dialect) or "")


def shown_home(dialect: str, catalog: CatalogSnapshot) -> str:
    """What clients of a dialect read as the name of the home schema."""
    return PUBLIC_SCHEMA if means_home(PUBLIC_SCHEMA, dialect, catalog) else catalog.home


def shown_schema(name: str, dialect: str, catalog: CatalogSnapshot) -> str:
    """What clients of a dialect read as the name of a schema."""
    return shown_home(dialect, catalog) if fold(name) == fold(catalog.home) else name


def position_of(node: exp.Expr | None) -> Position | None:
    """The position of a node in the client's text; None if the parser did not record it."""
    if node is None:
        return None
    for part in node.find_all(exp.Identifier):
        line, col = part.meta.get("line"), part.meta.get("col")
        if line is not None and col is not None:
            start, end = part.meta.get("start"), part.meta.get("end")
            width = end - start if start is not None and end is not None else len(part.name) - 1
            return Position(line, max(1, col - width))
    return None


def token_position(token: Token) -> Position:
    """Where a token begins, quotes included: tokens know the column of their end."""
    return Position(token.line, max(1, token.col - (token.end - token.start)))


def table_name(table: exp.Expr, context: RewriteContext) -> TableName:
    """Schema and name of a table reference; one without a schema means a temporary table first.

    Raises SYNTAX for what is no table.
    """
    if not isinstance(table, exp.Table):
        raise _no_name(table)
    own = context.catalog.own
    if own is not None:
        name = TableName(own, table.name)
        if is_in_temp_schema(table) or (not table.db and context.catalog.get(name) is not None):
            return name
    check_database(table, context.catalog)
    path = context.path
    if path and semantics_of(context.dialect).searches_home:
        path = (*path, context.catalog.home)
    if not table.db and len(path) > 1:
        names = (TableName(schema, table.name) for schema in path)
        found = next((n for n in names if _exists(n, context.catalog)), None)
        if found is not None:
            return found
    return TableName(schema_of(table, context), table.name)


def schema_of(node: exp.Table, context: RewriteContext) -> str:
    """The schema that a name gives or means; ``default`` of Hive and Spark is the home schema."""
    catalog = context.catalog
    has_own = _HOME_OF_HIVE in catalog.schemas
    if context.dialect in _OF_HIVE and fold(node.db) == _HOME_OF_HIVE and not has_own:
        return catalog.home
    return node.db or context.default_schema


def _exists(name: TableName, catalog: CatalogSnapshot) -> bool:
    return catalog.get(name) is not None or catalog.by_journal(name) is not None


def is_database(name: str, catalog: CatalogSnapshot) -> bool:
    """True for what the database of all schemas is called."""
    return fold(name) in {*_DATABASES, fold(catalog.database)}


def _no_name(node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        "the name of a table or schema was expected",
        advice="write schema.table",
        position=position_of(node),
    )


def check_database(node: exp.Expr, catalog: CatalogSnapshot) -> None:
    """Raise UNKNOWN_TABLE for a name in another database than the one there is.

    Raises SYNTAX for what is no name.
    """
    if not isinstance(node, exp.Table):
        raise _no_name(node)
    if node.catalog and not is_database(node.catalog, catalog):
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"there is no database {node.catalog}",
            advice=f"leave it out: every schema is in {catalog.database}, and none in another one",
            position=position_of(node),
        )


def is_in_temp_schema(table: exp.Table) -> bool:
    """True for names as ``temp.t``, ``pg_temp.t`` and ``temp.main.t``."""
    if table.catalog:
        return fold(table.catalog) == OWN_SCHEMA and fold(table.db) == DEFAULT_SCHEMA
    return fold(table.db) in OWN_SCHEMAS


def find_relation(
    table: exp.Table, context: RewriteContext, point: TimePoint | None = None
) -> Relation:
    """The table or view a reference names, at a point if one is given; raises UNKNOWN_TABLE."""
    name = table_name(table, context)
    if fold(name.schema) == STORE_SCHEMA:
        raise PalimpsestError(
            Code.RESERVED_NAME,
            f"schema {name.schema} belongs to the gateway",
            advice="read the system schema instead: system.tables, system.segments, ...",
            position=position_of(table),
        )
    found = context.catalog.get(name)
    if found is None:
        created = None if point is None else point.created_at(name)
        if point is not None and created is not None:
            raise _not_yet(name, created, point, table)
        raise unknown_table(name, context.catalog, table)
    return found


def _not_yet(
    name: TableName, created: Version, point: TimePoint, node: exp.Expr
) -> PalimpsestError:
    return PalimpsestError(
        Code.UNKNOWN_TABLE,
        f"table {name} did not exist at {to_datetime(point.version).isoformat()}"
        f" (version {point.version})",
        advice=f"it was created at {to_datetime(created).isoformat()} (version {created})",
        position=position_of(node),
    )


def missing_relation(
    name: TableName, known: Iterable[str], node: exp.Expr | None
) -> PalimpsestError:
    """The error for a name that is none of ``known``."""
    shown = {fold(k): k for k in known}
    close = get_close_matches(fold(str(name)), list(shown), n=3)
    return PalimpsestError(
        Code.UNKNOWN_TABLE,
        f"table {name} does not exist",
        advice="the tables are " + ", ".join(shown[c] for c in close or shown),
        position=position_of(node),
    )


def check_no_replica(found: Table, node: exp.Expr | None) -> None:
    """Raise REPLICA for a table that another store's is copied to, which clients do not change."""
    if replica_source(found) is not None:
        raise replica_refusal(found, position_of(node))


def find_table(table: exp.Table, context: RewriteContext) -> Table:
    """The table a statement writes to; refuses journals, views and system relations."""
    name = table_name(table, context)
    found = context.catalog.get(name)
    if isinstance(found, Table) and found.materialized is None:
        check_no_replica(found, table)
        return found
    if isinstance(found, Table):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"cannot change materialized view {name}",
            advice="change the tables it is made of, then REFRESH MATERIALIZED VIEW",
            position=position_of(table),
        )
    if found is not None or fold(name.schema) in SYSTEM_SCHEMAS:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{name} is not a table",
            advice="write to the tables it is made of",
            position=position_of(table),
        )
    if context.catalog.by_journal(name) is not None:
        raise PalimpsestError(
            Code.JOURNAL_WRITE,
            f"{name} is a journal, which only the gateway writes",
            advice="write to the table itself; the journal may be read",
            position=position_of(table),
        )
    raise unknown_table(name, context.catalog, table)


def unknown_table(
    name: TableName, catalog: CatalogSnapshot, node: exp.Expr | None
) -> PalimpsestError:
    """The error for a table that does not exist, with the closest names there are."""
    close = _names_near(name, catalog)
    advice = (
        "create it, `palimpsest adopt` one that is there, or check the spelling;"
        " SHOW TABLES lists the tables"
    )
    if close:
        advice = "did you mean " + " or ".join(close) + "?"
        if name.schema and fold(name.schema) not in catalog.schemas:
            advice = f"there is no schema {name.schema}; {advice}"
    elif fold(name.schema) == "pg_catalog" or fold(name.name).startswith("pg_"):
        advice = "read information_schema or system; ask the server itself for its own catalog"
    return PalimpsestError(
        Code.UNKNOWN_TABLE,
        f"table {name if name.schema else name.name} does not exist",
        advice=advice,
        position=position_of(node),
    )


def _names_near(name: TableName, catalog: CatalogSnapshot) -> list[str]:
    """Relations of the schema that is named with names like it, else of others."""
    # By name alone: with the schema before them, all names of a schema look alike.
    shown: dict[str, list[TableName]] = {}
    for relation in catalog.relations.values():
        shown.setdefault(fold(relation.name.name), []).append(relation.name)
    close = get_close_matches(fold(name.name), list(shown), n=3)
    found = [other for spelling in close for other in shown[spelling]]
    beside = [other for other in found if fold(other.schema) == fold(name.schema)]
    alike = [other for other in found if fold(other.name) == fold(name.name)]
    return sorted(str(other) for other in alike or beside or found)


def unknown_column(name: str, table: Table | View, node: exp.Expr | None) -> PalimpsestError:
    """The error for a column that a table does not have."""
    names = [c.name for c in table.columns] if isinstance(table, Table) else list(table.columns)
    close = get_close_matches(name, names, n=3)
    advice = f"its columns are {', '.join(names)}"
    if close:
        advice = "did you mean " + " or ".join(close) + "?"
    return PalimpsestError(
        Code.UNKNOWN_COLUMN,
        f'column "{name}" of {table.name} does not exist',
        advice=advice,
        position=position_of(node),
    )


def homeless_column(node: exp.Column) -> PalimpsestError:
    """The error for a column where there is no table."""
    return PalimpsestError(
        Code.UNKNOWN_COLUMN,
        f'column "{node.sql()}" does not exist: there is no FROM',
        advice="name a parameter, or write a query",
        position=position_of(node),
    )
