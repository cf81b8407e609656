"""Where a CSV file has what its columns cannot take, found by reading it once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb
from sqlglot import exp

from journal.local_engine.in_memory import connect_in_memory
from journal.local_engine.scratch import scratch
from journal.model.lazy_dataclass import dataclass
from journal.sql.relations import column

_FOUND = "SELECT line, column_name, error_message FROM reject_errors ORDER BY line LIMIT 1"


@dataclass(frozen=True, slots=True)
class BadValue:
    """The line of a file, counted from one, its column, and what is wrong there."""

    line: int
    column: str
    message: str


def first_bad_value(
    path: str, options: Mapping[str, object], columns: Sequence[tuple[str, str]]
) -> BadValue | None:
    """The first value of a file that is none of its column's type; None where all are.

    ``options`` are those of ``read_csv``, ``columns`` the names and types in the file's order.
    """
    pairs = [
        exp.PropertyEQ(this=exp.Literal.string(n), expression=exp.Literal.string(k))
        for n, k in columns
    ]
    said = {"columns": exp.Struct(expressions=pairs), "store_rejects": exp.true()}
    # Every column is looked at, else none would be converted.
    looked = [exp.Count(this=column(name)) for name, _ in columns]
    query = exp.select(*looked).from_(_source(path, options, said)).sql(dialect="duckdb")
    with _reader() as session:
        try:
            session.execute(query).fetchall()
            found = session.execute(_FOUND).fetchall()
        except duckdb.Error:
            return None
    if not found:
        return None
    line, name, message = found[0]
    return BadValue(int(line), str(name or ""), " ".join(str(message).split()))


@dataclass(frozen=True, slots=True)
class SniffedCsv:
    """How DuckDB reads a file: by which delimiter, and without how many lines at its top."""

    delimiter: str
    skipped_lines: int


def sniffed(path: str, options: Mapping[str, object]) -> SniffedCsv | None:
    """What DuckDB finds out about a file, given options of ``read_csv``; None if it fails."""
    source = _call("sniff_csv", path, options, {})
    query = exp.select("Delimiter", "SkipRows").from_(source).sql(dialect="duckdb")
    with _reader() as session:
        try:
            ((delimiter, skipped),) = session.execute(query).fetchall()
        except duckdb.Error:
            return None
    return SniffedCsv(str(delimiter), int(skipped))


def width_of(path: str, options: Mapping[str, object]) -> int | None:
    """How many columns a file has, read with options of ``read_csv``; None if unreadable."""
    source = _source(path, options, {"all_varchar": exp.true()})
    query = exp.Describe(this=exp.select("*").from_(source)).sql(dialect="duckdb")
    with _reader() as session:
        try:
            return len(session.execute(query).fetchall())
        except duckdb.Error:
            return None


@contextmanager
def _reader() -> Iterator[duckdb.DuckDBPyConnection]:
    """Reads files; it keeps every line that is wrong, which may be more than memory holds."""
    with scratch() as folder, connect_in_memory(folder) as session:
        yield session


def _source(path: str, options: Mapping[str, object], said: Mapping[str, exp.Expr]) -> exp.Table:
    return _call("read_csv", path, options, said)


def _call(
    function: str, path: str, options: Mapping[str, object], said: Mapping[str, exp.Expr]
) -> exp.Table:
    given = {**said, **{name: exp.convert(value) for name, value in options.items()}}
    arguments: list[exp.Expr] = [exp.Literal.string(path)]
    arguments += [exp.EQ(this=exp.column(n), expression=v) for n, v in given.items()]
    return exp.Table(this=exp.Anonymous(this=function, expressions=arguments))
