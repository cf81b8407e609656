"""What a session's catalog holds, as tables in the shapes of HiveServer2's metadata calls.

The columns are those of JDBC's ``DatabaseMetaData``. Only what the session's role sees is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.servers.hive import column_types
from gateway.servers.hive.column_types import hive_type
from gateway.session.description import describe
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import Deferral, ForeignKey, ReferenceAction
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot, Table, View
from journal.model.visibility import visible_to

TABLE, VIEW, MATERIALIZED = "TABLE", "VIEW", "MATERIALIZED_VIEW"
_TEXT, _INT, _SMALL, _BOOL = pa.string(), pa.int32(), pa.int16(), pa.bool_()
_TABLES = {
    "TABLE_CAT": _TEXT, "TABLE_SCHEM": _TEXT, "TABLE_NAME": _TEXT, "TABLE_TYPE": _TEXT,
    "REMARKS": _TEXT, "TYPE_CAT": _TEXT, "TYPE_SCHEM": _TEXT, "TYPE_NAME": _TEXT,
    "SELF_REFERENCING_COL_NAME": _TEXT, "REF_GENERATION": _TEXT,
}  # fmt: skip
_COLUMNS = {
    "TABLE_CAT": _TEXT, "TABLE_SCHEM": _TEXT, "TABLE_NAME": _TEXT, "COLUMN_NAME": _TEXT,
    "DATA_TYPE": _INT, "TYPE_NAME": _TEXT, "COLUMN_SIZE": _INT, "BUFFER_LENGTH": _SMALL,
    "DECIMAL_DIGITS": _INT, "NUM_PREC_RADIX": _INT, "NULLABLE": _INT, "REMARKS": _TEXT,
    "COLUMN_DEF": _TEXT, "SQL_DATA_TYPE": _INT, "SQL_DATETIME_SUB": _INT,
    "CHAR_OCTET_LENGTH": _INT, "ORDINAL_POSITION": _INT, "IS_NULLABLE": _TEXT,
    "SCOPE_CATALOG": _TEXT, "SCOPE_SCHEMA": _TEXT, "SCOPE_TABLE": _TEXT,
    "SOURCE_DATA_TYPE": _SMALL, "IS_AUTO_INCREMENT": _TEXT,
}  # fmt: skip
_TYPES = {
    "TYPE_NAME": _TEXT, "DATA_TYPE": _INT, "PRECISION": _INT, "LITERAL_PREFIX": _TEXT,
    "LITERAL_SUFFIX": _TEXT, "CREATE_PARAMS": _TEXT, "NULLABLE": _SMALL, "CASE_SENSITIVE": _BOOL,
    "SEARCHABLE": _SMALL, "UNSIGNED_ATTRIBUTE": _BOOL, "FIXED_PREC_SCALE": _BOOL,
    "AUTO_INCREMENT": _BOOL, "LOCAL_TYPE_NAME": _TEXT, "MINIMUM_SCALE": _SMALL,
    "MAXIMUM_SCALE": _SMALL, "SQL_DATA_TYPE": _INT, "SQL_DATETIME_SUB": _INT,
    "NUM_PREC_RADIX": _INT,
}  # fmt: skip
_KEYS = {
    "TABLE_CAT": _TEXT, "TABLE_SCHEM": _TEXT, "TABLE_NAME": _TEXT, "COLUMN_NAME": _TEXT,
    "KEY_SEQ": _INT, "PK_NAME": _TEXT,
}  # fmt: skip
_REFERENCES = {
    "PKTABLE_CAT": _TEXT, "PKTABLE_SCHEM": _TEXT, "PKTABLE_NAME": _TEXT, "PKCOLUMN_NAME": _TEXT,
    "FKTABLE_CAT": _TEXT, "FKTABLE_SCHEM": _TEXT, "FKTABLE_NAME": _TEXT, "FKCOLUMN_NAME": _TEXT,
    "KEY_SEQ": _INT, "UPDATE_RULE": _INT, "DELETE_RULE": _INT, "FK_NAME": _TEXT, "PK_NAME": _TEXT,
    "DEFERRABILITY": _INT,
}  # fmt: skip
_FUNCTIONS = {
    "FUNCTION_CAT": _TEXT, "FUNCTION_SCHEM": _TEXT, "FUNCTION_NAME": _TEXT, "REMARKS": _TEXT,
    "FUNCTION_TYPE": _SMALL, "SPECIFIC_NAME": _TEXT,
}  # fmt: skip
_ACTIONS = {
    ReferenceAction.CASCADE: 0, ReferenceAction.RESTRICT: 1, ReferenceAction.SET_NULL: 2,
    ReferenceAction.NO_ACTION: 3, ReferenceAction.SET_DEFAULT: 4,
}  # fmt: skip
_DEFERRALS = {Deferral.NEVER: 7}
_DEFERRABLE = 5
_TYPE_NAMES = (
    "NULL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR",
    "BLOB", "DATE", "TIMESTAMP", "DECIMAL(38,18)", "INTEGER[]", "MAP(VARCHAR,VARCHAR)",
    "STRUCT(x VARCHAR)",
)  # fmt: skip
_NUMBERS = frozenset({-6, 5, 4, -5, 6, 8, 3})
Row = dict[str, Any]


class CatalogTables:
    """Answers from the catalog that a session sees now."""

    def __init__(self, session: Session) -> None:
        self._session = session
        if session.transaction is None:
            # Others may have changed it since this session last looked.
            session.journal.begin(at_once=True).rollback()
        catalog = session.catalog
        self._catalog: CatalogSnapshot = visible_to(
            catalog, catalog.rights_of(session.settings.role)
        )

    def catalogs(self) -> pa.Table:
        """None, as in Hive: a name has no part before its schema."""
        return _table({"TABLE_CAT": _TEXT}, [])

    def schemas(self, pattern: str | None) -> pa.Table:
        """The schemas whose names fit."""
        rows = [
            {"TABLE_SCHEM": n, "TABLE_CATALOG": ""} for n in self._schemas() if _fits(pattern, n)
        ]
        return _table({"TABLE_SCHEM": _TEXT, "TABLE_CATALOG": _TEXT}, rows)

    def table_types(self) -> pa.Table:
        """What kinds of relations there are."""
        return _table(
            {"TABLE_TYPE": _TEXT}, [{"TABLE_TYPE": n} for n in (MATERIALIZED, TABLE, VIEW)]
        )

    def tables(self, schema: str | None, name: str | None, kinds: Sequence[str] | None) -> pa.Table:
        """The relations whose names and kinds fit."""
        wanted = {kind.upper() for kind in kinds or ()}
        rows = [
            {
                "TABLE_CAT": "", "TABLE_SCHEM": found.name.schema, "TABLE_NAME": found.name.name,
                "TABLE_TYPE": _kind(found), "REMARKS": found.comment or "",
            }
            for found in self._relations(schema, name)
            if not wanted or _kind(found) in wanted
        ]  # fmt: skip
        rows.sort(key=lambda r: (r["TABLE_TYPE"], r["TABLE_SCHEM"], r["TABLE_NAME"]))
        return _table(_TABLES, rows)

    def columns(self, schema: str | None, table: str | None, column: str | None) -> pa.Table:
        """The columns of the relations whose names fit."""
        rows = [
            row
            for found in self._relations(schema, table)
            for row in self._column_rows(found)
            if _fits(column, row["COLUMN_NAME"])
        ]
        return _table(_COLUMNS, rows)

    def type_info(self) -> pa.Table:
        """The types of columns, and how their literals are written."""
        rows = []
        for name in _TYPE_NAMES:
            kind = hive_type(name)
            quote = "'" if kind in (column_types.STRING, column_types.DATE) else None
            rows.append(
                {
                    "TYPE_NAME": kind.name.partition("(")[0].partition("<")[0].upper(),
                    "DATA_TYPE": kind.jdbc, "PRECISION": kind.size, "LITERAL_PREFIX": quote,
                    "LITERAL_SUFFIX": quote, "NULLABLE": 1,
                    "CASE_SENSITIVE": kind is column_types.STRING,
                    "SEARCHABLE": 0 if kind.id in column_types.NESTED else 3,
                    "UNSIGNED_ATTRIBUTE": kind.jdbc not in _NUMBERS, "FIXED_PREC_SCALE": False,
                    "AUTO_INCREMENT": kind.jdbc in {4, -5}, "MINIMUM_SCALE": 0,
                    "MAXIMUM_SCALE": 18 if kind.jdbc == 3 else 0,
                    "NUM_PREC_RADIX": 10 if kind.jdbc in _NUMBERS else None,
                }
            )  # fmt: skip
        return _table(_TYPES, rows)

    def functions(self, schema: str | None, name: str | None) -> pa.Table:
        """The macros whose names fit."""
        rows = [
            {
                "FUNCTION_SCHEM": found_schema, "FUNCTION_NAME": found_name, "REMARKS": "",
                "FUNCTION_TYPE": 1, "SPECIFIC_NAME": found_name,
            }
            for kind, found_schema, found_name in sorted(self._catalog.definitions)
            if "macro" in kind.lower() and _fits(schema, found_schema) and _fits(name, found_name)
        ]  # fmt: skip
        return _table(_FUNCTIONS, rows)

    def primary_keys(self, schema: str | None, table: str | None) -> pa.Table:
        """The key of a table, column by column."""
        rows = [
            {
                "TABLE_CAT": "", "TABLE_SCHEM": found.name.schema, "TABLE_NAME": found.name.name,
                "COLUMN_NAME": found.by_physical(physical).name, "KEY_SEQ": place,
                "PK_NAME": found.key_name or f"{found.name.name}_pkey",
            }
            for found in self._tables(schema, table)
            if not found.hidden_key
            for place, physical in enumerate(found.key, 1)
        ]  # fmt: skip
        return _table(_KEYS, rows)

    def cross_reference(
        self,
        parent: tuple[str | None, str | None],
        child: tuple[str | None, str | None],
    ) -> pa.Table:
        """The foreign keys from one table, or any, to another, or any."""
        parents = {table.id: table for table in self._tables(*parent)}
        rows = [
            row
            for found in self._tables(*child)
            for key in found.foreign_keys
            if key.parent in parents
            for row in _reference_rows(parents[key.parent], found, key)
        ]
        return _table(_REFERENCES, rows)

    def schema_names(self, like: str | None) -> pa.Table:
        """SHOW DATABASES, as Hive answers it."""
        rows = [{"database_name": name} for name in self._schemas() if _fits(like, name)]
        return _table({"database_name": _TEXT}, rows)

    def table_names(self, schema: str | None, what: str, like: str | None) -> pa.Table:
        """SHOW TABLES or SHOW VIEWS, as Hive answers it; raises UNKNOWN_SCHEMA."""
        wanted = self._schema(schema) if schema else self._session.settings.schema
        rows = [
            {"tab_name": found.name.name}
            for found in self._relations(None, None)
            if found.name.schema == wanted
            and (what == "tables" or isinstance(found, View))
            and _fits(like, found.name.name)
        ]
        return _table({"tab_name": _TEXT}, rows)

    def described(self, names: Sequence[str]) -> pa.Table:
        """DESCRIBE, as Hive answers it; raises UNKNOWN_TABLE."""
        schemas = (
            [self._schema(names[0])] if len(names) > 1 else list(self._session.settings.search_path)
        )
        relations = self._catalog.relations
        keys = [(schema.lower(), names[-1].lower()) for schema in schemas]
        found = next((relations[key] for key in keys if key in relations), None)
        if found is None:
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f"table {'.'.join(names)} does not exist",
                advice="create it, or check the spelling; SHOW TABLES lists the tables",
            )
        comments = {c.name: c.comment for c in found.columns} if isinstance(found, Table) else {}
        rows = [
            {
                "col_name": column.name, "data_type": hive_type(column.type).name,
                "comment": comments.get(column.name) or "",
            }
            for column in self._columns_of(found)
        ]  # fmt: skip
        return _table({"col_name": _TEXT, "data_type": _TEXT, "comment": _TEXT}, rows)

    def _schemas(self) -> list[str]:
        return sorted(dict.fromkeys((*self._catalog.schemas.values(), self._catalog.home)))

    def _schema(self, name: str) -> str:
        """The schema of a name; Hive's default one is the warehouse's."""
        found = self._catalog.schemas.get(name.lower())
        if found is None and name.lower() in {"default", self._catalog.home.lower()}:
            found = self._catalog.home
        if found is None:
            raise PalimpsestError(
                Code.UNKNOWN_SCHEMA,
                f'there is no schema "{name}"',
                advice="SHOW SCHEMAS lists them",
            )
        return found

    def _relations(self, schema: str | None, name: str | None) -> Iterator[Table | View]:
        found = [
            relation
            for relation in self._catalog.relations.values()
            if _fits(schema, relation.name.schema) and _fits(name, relation.name.name)
        ]
        found.sort(key=lambda relation: (relation.name.schema, relation.name.name))
        yield from found

    def _tables(self, schema: str | None, name: str | None) -> Iterator[Table]:
        for found in self._relations(None, None):
            if isinstance(found, Table) and all(
                given is None or given == "" or given.lower() == own.lower()
                for given, own in ((schema, found.name.schema), (name, found.name.name))
            ):
                yield found

    def _columns_of(self, found: Table | View) -> Sequence[ResultColumn]:
        if isinstance(found, Table):
            return [ResultColumn(column.name, column.type) for column in found.columns]
        name = exp.table_(found.name.name, db=found.name.schema, quoted=True)
        text = exp.select("*").from_(name).sql(dialect=self._session.dialect)
        try:
            columns = describe(self._session, self._session.parse(text)[0]).columns
        except PalimpsestError:
            columns = None
        return columns or [ResultColumn(column, "VARCHAR") for column in found.columns]

    def _column_rows(self, found: Table | View) -> Iterator[Row]:
        own = {c.name: c for c in found.columns} if isinstance(found, Table) else {}
        for place, column in enumerate(self._columns_of(found), 1):
            kind = hive_type(column.type)
            known = own.get(column.name)
            not_null = known is not None and known.not_null
            default = None if known is None else known.generated or known.default
            yield {
                "TABLE_CAT": "", "TABLE_SCHEM": found.name.schema, "TABLE_NAME": found.name.name,
                "COLUMN_NAME": column.name, "DATA_TYPE": kind.jdbc, "TYPE_NAME": kind.name.upper()
                if kind.id not in column_types.NESTED else kind.name, "COLUMN_SIZE": kind.size,
                "DECIMAL_DIGITS": kind.scale,
                "NUM_PREC_RADIX": 10 if kind.jdbc in _NUMBERS else None,
                "NULLABLE": int(not not_null), "REMARKS": (known and known.comment) or "",
                "COLUMN_DEF": default, "ORDINAL_POSITION": place,
                "IS_NULLABLE": "NO" if not_null else "YES",
                "IS_AUTO_INCREMENT": "YES" if known is not None and known.identity else "NO",
            }  # fmt: skip


def _reference_rows(parent: Table, child: Table, key: ForeignKey) -> Iterator[Row]:
    for place, (own, other) in enumerate(zip(key.columns, key.parent_columns, strict=True), 1):
        yield {
            "PKTABLE_CAT": "", "PKTABLE_SCHEM": parent.name.schema,
            "PKTABLE_NAME": parent.name.name, "PKCOLUMN_NAME": parent.by_physical(other).name,
            "FKTABLE_CAT": "", "FKTABLE_SCHEM": child.name.schema, "FKTABLE_NAME": child.name.name,
            "FKCOLUMN_NAME": child.by_physical(own).name, "KEY_SEQ": place,
            "UPDATE_RULE": _ACTIONS[key.on_update], "DELETE_RULE": _ACTIONS[key.on_delete],
            "FK_NAME": key.name, "PK_NAME": parent.key_name or f"{parent.name.name}_pkey",
            "DEFERRABILITY": _DEFERRALS.get(key.deferral, _DEFERRABLE),
        }  # fmt: skip


def _kind(found: Table | View) -> str:
    if isinstance(found, View):
        return VIEW
    return TABLE if found.materialized is None else MATERIALIZED


def _table(columns: dict[str, pa.DataType], rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {name: pa.array([row.get(name) for row in rows], kind) for name, kind in columns.items()}
    )


def _fits(pattern: str | None, name: str) -> bool:
    """Whether a name fits a pattern: of LIKE, with ``*``, with ``|``, or impyla's ``.*``."""
    if pattern is None or pattern in {"", "%", "*", ".*"}:
        return True
    return any(_expression(part).fullmatch(name) for part in pattern.split("|"))


def _expression(pattern: str) -> re.Pattern[str]:
    found, place = "", 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\" and place + 1 < len(pattern):
            place += 1
            found += re.escape(pattern[place])
        elif sign in "%*" or pattern.startswith(".*", place):
            place += sign == "."
            found += ".*"
        else:
            found += "." if sign == "_" else re.escape(sign)
        place += 1
    return re.compile(found, re.IGNORECASE | re.DOTALL)
