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

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.store_session import Parameters, RecordDialect, ResultColumn
from journal.records.schema import OF_DATABASE, RecordType
from journal.records.statements import BESIDE
from journal.sql.relations import column, ident
from tests.contract.toy_store.text import Find, add_functions, rendered, to_python, to_store

_LOOK = "_look"
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
_RECORDS = {t.name: t for t in OF_DATABASE}


def no_tiers(_name: str) -> None:
    """The tiers of no journal."""


def arrow_type(kind: str) -> pa.DataType:
    """What a column of a type is in Arrow as it lies in SQLite."""
    if "INT" in kind:
        return pa.int64()
    return pa.float64() if kind.startswith("DEC") else _ARROW.get(kind[:4], pa.string())


class SqliteSession:
    """See ``StoreSession``; ``find`` says what the tiers hold that its statement reads."""

    dialect = RecordDialect.CATALOG_SQLITE

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA case_sensitive_like = ON")
        add_functions(self._db)
        self.find: Find = no_tiers
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._columns: list[ResultColumn] = []
        self._shown: dict[str, str] = {}

    def begin(self, mode: str = "DEFERRED") -> None:
        self._db.execute(f"BEGIN {mode}")

    def commit(self) -> None:
        self.hide(*self._shown)
        self.text("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._shown.clear()

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

    def execute(self, query: Query, parameters: Parameters) -> None:
        self._columns = self.describe(query, parameters)
        rows = self.run(query.ast, parameters)
        if rows:
            self._columns = [
                ResultColumn(c.name, c.type or _KINDS.get(type(v), "VARCHAR"))
                for c, v in zip(self._columns, rows[0], strict=True)
            ]
        kinds = [c.type for c in self._columns]
        self._rows = (tuple(map(to_python, row, kinds)) for row in rows)

    stream = execute

    def columns(self) -> list[ResultColumn]:
        return [ResultColumn(c.name, c.type or "VARCHAR") for c in self._columns]

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        return [row for _, row in zip(range(size), self._rows, strict=False)]

    def arrow(self, query: Query, parameters: Parameters) -> pa.Table:
        self.execute(query, parameters)
        return self.rest_as_arrow()

    def arrow_reader(self, query: Query, parameters: Parameters) -> pa.RecordBatchReader:
        return self.arrow(query, parameters).to_reader()

    def rest_as_arrow(self) -> pa.Table:
        names, values = [c.name for c in self._columns], list(zip(*self._rows, strict=True))
        empty = [pa.array([], arrow_type(c.type)) for c in self._columns]
        return pa.Table.from_arrays([pa.array(v) for v in values] or empty, names=names)

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        yield from self.rest_as_arrow().to_batches(rows)

    def arrow_rows(self, table: pa.Table) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in table.to_pylist()]

    def arrow_columns(self, table: pa.Table) -> list[ResultColumn]:
        kinds = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN"}
        return [ResultColumn(f.name, kinds.get(f.type, "VARCHAR")) for f in table.schema]

    def row(self, query: Query, parameters: Parameters) -> tuple[Any, ...]:
        self.execute(query, parameters)
        return next(self._rows)

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        """Types of plain columns are known, others when there is a row."""
        ast = query.ast.copy()
        for node in list(ast.find_all(exp.Placeholder)):
            node.replace(exp.Null())
        self.text(f"CREATE TEMP VIEW {_LOOK} AS {rendered(ast, self._relation)}")
        found = self.text(f"PRAGMA temp.table_info({_LOOK})")
        self.text(f"DROP VIEW temp.{_LOOK}")
        selects = query.ast.selects if isinstance(query.ast, exp.Query) else []
        casts = [item.unalias().args.get("to") for item in selects]
        casts = casts if len(casts) == len(found) else [None] * len(found)
        return [
            ResultColumn(name, kind or (to.sql("duckdb") if to is not None else ""))
            for (_, name, kind, *_), to in zip(found, casts, strict=True)
        ]

    def explain(self, query: Query, parameters: Parameters, *, analyze: bool) -> str:
        text = f"EXPLAIN QUERY PLAN {rendered(query.ast, self._relation)}"
        return "\n".join(str(row[-1]) for row in self.text(text, parameters))

    def use_zone(self, name: str | None) -> None:
        """Moments keep the zones that they were written with."""

    def count(self, name: str) -> int:
        return int(self.text(f"SELECT count(*) FROM {_quoted(name)}")[0][0])

    def make(self, kind: str, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Make a table; ``kind`` says whether it goes with the session."""
        listed = ", ".join(f"{_quoted(c)} {t}" for c, t in columns)
        self.text(f"CREATE {kind} {_quoted(name)} ({listed})")
        if "TEMP" in kind:
            self._shown[name] = "TABLE"

    def fill(self, name: str, rows: pa.Table) -> None:
        """Add rows of Arrow to a table of as many columns."""
        marks = ", ".join("?" * rows.num_columns)
        values = zip(*[map(to_store, c.to_pylist()) for c in rows.columns], strict=True)
        with _mapped():
            self._db.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", values)

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        found = self.describe(query, parameters)
        self.make("TEMP TABLE", name, [(c.name, c.type) for c in found])
        rows = exp.insert(query.ast, exp.Table(this=ident(name)))
        self.run(rows, parameters)

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        self.make("TEMP TABLE", name, [(c.name, c.type) for c in self.arrow_columns(rows)])
        self.fill(name, rows)

    def show_view(self, name: str, query: exp.Query) -> None:
        """Let queries of the transaction read a query as a relation."""
        self.text(f"CREATE TEMP VIEW {_quoted(name)} AS {rendered(query, self._relation)}")
        self._shown[name] = "VIEW"

    def hide(self, *names: str) -> None:
        for name in names:
            self.text(f"DROP {self._shown.pop(name)} temp.{_quoted(name)}")

    def interrupt(self) -> None:
        self._db.interrupt()

    def track_progress(self) -> None:
        """Nobody knows how far a query is."""

    def progress(self) -> None:
        return None


_KINDS = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bytes: "BLOB"}


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
