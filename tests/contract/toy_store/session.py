"""One connection to the file: queries with their types, and relations of a statement."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.arrow_types import arrow_columns
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.segment import Fields
from journal.model.session_defaults import arrow_of, count_of, nothing_known, row_of
from journal.model.store_plan import ExplainOptions, StorePlan
from journal.model.store_session import Parameters, RecordDialect, in_arrow
from journal.records.record_types import RecordType
from journal.records.schema import OF_DATABASE
from journal.records.statements import BESIDE
from journal.sql.relations import column, ident
from tests.contract.toy_store.text import Find, add_functions, rendered, to_python, to_store

_CODES = {
    r"no such table: t\d+_": Code.SEGMENT_DAMAGED,
    "no such table": Code.UNKNOWN_TABLE,
    "no such column": Code.UNKNOWN_COLUMN,
    "no such function": Code.UNKNOWN_FUNCTION,
    "user-defined function": Code.CONVERSION,
    "interrupted": Code.CANCELLED,
    "locked": Code.JOB_BUSY,
}
_ARROW = {"INT": pa.int64(), "BOOL": pa.int64(), "DOUB": pa.float64(), "BLOB": pa.binary()}
_KINDS = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bytes: "BLOB"}
_RECORDS = {t.name: t for t in OF_DATABASE}


def arrow_type(kind: str) -> pa.DataType:
    """What a column of a type is in Arrow as it lies in SQLite."""
    if "INT" in kind:
        return pa.int64()
    return pa.float64() if kind.startswith("DEC") else _ARROW.get(kind[:4], pa.string())


class SqliteSession:
    """See ``StoreSession``; ``find`` says what the tiers hold that its statement reads."""

    dialect = RecordDialect.CATALOG_SQLITE
    arrow, row, count = arrow_of, row_of, count_of
    track_progress = progress = rows_at_hand = server_text = nothing_known

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode = WAL; PRAGMA case_sensitive_like = ON")
        add_functions(self._db)
        self.find: Find = lambda _name: None
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._columns: list[ResultColumn] = []

    def begin(self, mode: str = "DEFERRED") -> None:
        self.text(f"BEGIN {mode}")

    def commit(self) -> None:
        self.text("COMMIT")

    def rollback(self) -> None:
        self._db.rollback()

    def close(self) -> None:
        """Give the connection back; what was not committed is lost."""
        self._db.close()

    def text(self, sql: str, values: Sequence[Any] | Parameters = ()) -> list[tuple[Any, ...]]:
        with _mapped():
            return self._db.execute(sql, values).fetchall()

    def run(self, ast: exp.Expr, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """Run a tree; its rows as they lie in SQLite."""
        bound = {name: to_store(value) for name, value in (parameters or {}).items()}
        return self.text(rendered(ast, self._relation), bound)

    def _relation(self, name: str) -> exp.Query | None:
        record = _RECORDS.get(name)
        if record is None:
            return self.find(name)
        outputs: list[exp.Expr] = []
        for found in record.columns:
            value: exp.Expr = column(found.name)
            if found.type is RecordType.MOMENT:
                value = exp.Anonymous(this="from_us", expressions=[value])
            outputs.append(exp.alias_(value, ident(found.name)))
        return exp.select(*outputs).from_(exp.to_table(BESIDE + name))

    def as_stored(self, query: Query, parameters: Parameters, columns: Fields) -> pa.Table:
        """The rows of a query in Arrow, as they lie in columns of these types."""
        schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns])
        return in_arrow(self.run(query.ast, parameters), schema)

    def execute(self, query: Query, parameters: Parameters) -> None:
        known, rows = self.describe(query, parameters), self.run(query.ast, parameters)
        first = rows[0] if rows else [None] * len(known)
        kinds = [
            c.type or _KINDS.get(type(v), "VARCHAR") for c, v in zip(known, first, strict=True)
        ]
        self._columns = [ResultColumn(c.name, k) for c, k in zip(known, kinds, strict=True)]
        self._rows = (tuple(map(to_python, row, kinds)) for row in rows)

    stream = execute

    def columns(self) -> list[ResultColumn]:
        return self._columns

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        return [row for _, row in zip(range(size), self._rows, strict=False)]

    def rest_as_arrow(self) -> pa.Table:
        names, values = [c.name for c in self._columns], list(zip(*self._rows, strict=True))
        empty = [pa.array([], arrow_type(c.type)) for c in self._columns]
        return pa.Table.from_arrays([pa.array(v) for v in values] or empty, names=names)

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        yield from self.rest_as_arrow().to_batches(rows)

    def arrow_rows(self, table: pa.Table) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in table.to_pylist()]

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        """Types of plain columns are known, others when there is a row."""
        ast = query.ast.transform(lambda n: exp.Null() if isinstance(n, exp.Placeholder) else n)
        self.text(f"CREATE TEMP VIEW looked_at AS {rendered(ast, self._relation)}")
        found = self.text("PRAGMA temp.table_info(looked_at)")
        self.text("DROP VIEW temp.looked_at")
        selects = query.ast.selects if isinstance(query.ast, exp.Query) else []
        casts = [item.unalias().args.get("to") for item in selects]
        casts = casts if len(casts) == len(found) else [None] * len(found)
        return [
            ResultColumn(name, kind or (to.sql("duckdb") if to is not None else ""))
            for (_, name, kind, *_), to in zip(found, casts, strict=True)
        ]

    def explain(self, query: Query, parameters: Parameters, options: ExplainOptions) -> StorePlan:
        text = f"EXPLAIN QUERY PLAN {rendered(query.ast, self._relation)}"
        return StorePlan(tuple(str(row[-1]) for row in self.text(text, parameters)))

    def use_zone(self, name: str | None) -> None:
        """Moments keep the zones that they were written with."""

    def make(self, kind: str, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Make a table; ``kind`` says whether it goes with the session."""
        listed = ", ".join(f"{_quoted(c)} {t}" for c, t in columns)
        self.text(f"CREATE {kind} {_quoted(name)} ({listed})")

    def fill(self, name: str, rows: pa.Table) -> None:
        """Add rows of Arrow to a table of as many columns."""
        marks = ", ".join("?" * rows.num_columns)
        values = zip(*[map(to_store, c.to_pylist()) for c in rows.columns], strict=True)
        with _mapped():
            self._db.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", values)

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        found = self.describe(query, parameters)
        self.make("TEMP TABLE", name, [(c.name, c.type) for c in found])
        self.run(exp.insert(query.ast, exp.Table(this=ident(name))), parameters)

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        self.make("TEMP TABLE", name, [(c.name, c.type) for c in arrow_columns(rows)])
        self.fill(name, rows)

    def hide(self, *names: str) -> None:
        for name in names:
            self.text(f"DROP TABLE temp.{_quoted(name)}")

    def interrupt(self) -> None:
        self._db.interrupt()


def _quoted(name: str) -> str:
    return ident(name).sql(dialect="sqlite")


@contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = next((c for text, c in _CODES.items() if re.search(text, str(error))), Code.STORE)
        said = "a piece of the journal is gone" if code is Code.SEGMENT_DAMAGED else str(error)
        raise PalimpsestError(code, f"SQLite: {said}", advice="mend the file") from error
