"""A CSV file divided into the rows that its columns can take, as Parquet, and those they cannot.

The file is read once, with the types of the columns and without guessing how it is written. Of a
row with several wrong values the first is named. Knows no store.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from journal.files.rejected_rows import RejectedRow
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.sql.sql import select_star

_ERRORS = (
    "SELECT line, line_byte_position, column_idx, column_name, error_type, csv_line, error_message"
    " FROM reject_errors ORDER BY line, error_type = 'CAST', column_idx"
)
_COUNTS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_REASONS = {
    "UNQUOTED VALUE": "a quote is not closed, or text follows it",
    "LINE SIZE OVER MAXIMUM": "the row is too long",
    "INVALID ENCODING": "the row is not UTF-8",
}
_READ = (
    *exp.DataType.NUMERIC_TYPES,
    *exp.DataType.TEMPORAL_TYPES,
    *exp.DataType.NESTED_TYPES,
    *(exp.DType.BOOLEAN, exp.DType.TIME, exp.DType.UUID, exp.DType.INTERVAL),
    *(exp.DType.ENUM, exp.DType.JSON),
)
"""Types that a value is read as; what is of another type is read as text, and fails later."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file is written; ``has_quoted_nulls``: NULL may stand in quotes."""

    header: bool = False
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""
    skip: int = 0
    has_quoted_nulls: bool = False

    @staticmethod
    def of(options: Mapping[str, exp.Expr]) -> CsvDialect:
        """What options of ``read_csv`` say."""
        names = {"delim": "delimiter", "nullstr": "null"}
        said: dict[str, Any] = {names.get(n, n): v.to_py() for n, v in options.items()}
        return replace(CsvDialect(), **said)

    def options(self) -> dict[str, object]:
        """The options of ``read_csv``."""
        return {
            "auto_detect": False,
            "header": self.header,
            "delim": self.delimiter,
            "quote": self.quote,
            "escape": self.escape,
            "nullstr": self.null,
            "skip": self.skip,
            "allow_quoted_nulls": self.has_quoted_nulls,
        }

    def fields(self, text: str) -> list[str]:
        """The values of a row; none where it cannot be told apart into any."""
        if len(self.delimiter) != 1 or len(self.quote) != 1:
            return []
        how: dict[str, Any] = {"delimiter": self.delimiter, "quotechar": self.quote}
        if self.escape != self.quote:
            how |= {"doublequote": False, "escapechar": self.escape or None}
        try:
            return next(csv.reader(io.StringIO(text, newline=""), **how), [])
        except csv.Error:
            return []


def header_names(path: Path, dialect: CsvDialect) -> list[str]:
    """The names in the first line of a file that is not compressed."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return dialect.fields(file.readline().rstrip("\r\n"))


def divide_csv(
    session: DuckDBSession,
    path: Path,
    dialect: CsvDialect,
    columns: Sequence[tuple[str, str]],
    good: Path,
    *,
    counts_lines: bool = True,
) -> list[RejectedRow]:
    """Write the rows that fit to the Parquet file ``good``; gives the others, in their order.

    ``columns`` are names and types in the order of the file. Without ``counts_lines`` a row within
    which a line ends counts as one. Raises what reading the file raises.
    """
    kinds = {name: _type_read(kind) for name, kind in columns}
    pairs = [
        exp.PropertyEQ(this=exp.Literal.string(n), expression=exp.Literal.string(k))
        for n, k in kinds.items()
    ]
    given: dict[str, exp.Expr] = {n: exp.convert(v) for n, v in dialect.options().items()}
    given |= {"columns": exp.Struct(expressions=pairs), "store_rejects": exp.true()}
    arguments: list[exp.Expr] = [exp.Literal.string(str(path))]
    arguments += [exp.EQ(this=exp.column(n), expression=v) for n, v in given.items()]
    rows = select_star(exp.Table(this=exp.Anonymous(this="read_csv", expressions=arguments)))
    copy = exp.Copy(
        this=exp.Subquery(this=rows),
        kind=False,
        files=[exp.Literal.string(str(good))],
        params=[exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("parquet"))],
    )
    session.execute(Query.of(copy), {})
    found: dict[int, RejectedRow] = {}
    starts: dict[int, int] = {}
    for line, start, place, name, error, text, message in session.text(_ERRORS):
        if line in found:
            continue
        fields = dialect.fields(text)
        value = fields[place - 1] if error == "CAST" and place <= len(fields) else ""
        reason = _reason(error, kinds.get(name, ""), message)
        found[line] = RejectedRow(line, name or "", value, reason, text)
        starts[line] = start
    if not counts_lines or path.suffix in {".gz", ".zst"}:
        return list(found.values())
    lines = _lines_at(path, starts.values())
    return [replace(row, line=lines[starts[line]]) for line, row in found.items()]


def _type_read(kind: str) -> str:
    found = exp.DataType.build(kind, dialect="duckdb", udt=True)
    # A DECIMAL without digits keeps any number, which no type of the reader does.
    return kind if found.is_type(*_READ) and kind != "DECIMAL" else "VARCHAR"


def _reason(error: str, kind: str, message: str) -> str:
    """What is wrong, without the value that is."""
    if error == "CAST":
        return f"not a valid {kind}"
    if counts := _COUNTS.search(message):
        return f"{counts[2]} values for {counts[1]} columns"
    return _REASONS.get(error, error.lower())


def _lines_at(path: Path, starts: Iterable[int]) -> dict[int, int]:
    """The line, from one, in which each byte of a file lies; bytes are counted from one."""
    found: dict[int, int] = {}
    line = at = 1
    with path.open("rb") as file:
        for start in sorted(starts):
            while at < start:
                chunk = file.read(min(1 << 20, start - at))
                if not chunk:
                    break
                line, at = line + chunk.count(b"\n"), at + len(chunk)
            found[start] = line
    return found
