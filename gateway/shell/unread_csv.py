"""CSV files that DuckDB does not divide as they are meant: what is wrong, and in which line.

Where lines have different numbers of values, DuckDB takes each whole line for the value of a
single column, or leaves out the lines before those that agree. Neither is anybody's intention.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import islice

import pyarrow

from journal.files.csv_rejects import CsvDialect
from journal.local_engine.csv_errors import first_bad_value, sniffed
from journal.model.errors import Code, PalimpsestError

_SEPARATORS = (",", ";", "\t", "|")


def check_is_divided(
    columns: Sequence[tuple[str, str]], path: str, delimiter: str | None, shown: str
) -> None:
    """Raise COLUMN_COUNT for a file whose lines are not all divided, as its first ones are.

    ``columns`` are names and types as DuckDB found them, ``delimiter`` what the user says. Lines
    above the header that hold no delimiter, such as a title, may be left out.
    """
    if len(columns) == 1:
        _check_is_one_column(path, delimiter, shown)
        return
    found = sniffed(path, {} if delimiter is None else {"delim": delimiter})
    if found is None or not found.skipped_lines:
        return
    dialect = CsvDialect(delimiter=found.delimiter)
    if any(len(dialect.fields(line)) > 1 for line in _first_lines(path, found.skipped_lines)):
        raise divided_wrongly(path, found.delimiter, shown) or _unequal_lines(
            shown, found.delimiter
        )


def _check_is_one_column(path: str, delimiter: str | None, shown: str) -> None:
    """Raise COLUMN_COUNT if the first line has several values, unless it is a name in quotes."""
    line = next(iter(_first_lines(path, 1)), "")
    count, used = max((line.count(c), c) for c in _SEPARATORS if c != delimiter)
    if count == 0 or len(CsvDialect(delimiter=used).fields(line)) < 2:
        return
    if delimiter is None:
        raise divided_wrongly(path, used, shown) or _unequal_lines(shown, used)
    raise PalimpsestError(
        Code.COLUMN_COUNT,
        f"the first line of {shown} holds {used!r}, not the delimiter {delimiter!r}",
        advice=f"give --delimiter {_shell_word(used)}",
    )


def divided_wrongly(path: str, delimiter: str | None, shown: str) -> PalimpsestError | None:
    """The error of the first line with more or fewer values than the first one has.

    None where there is no such line, or where the file cannot be read this way.
    """
    dialect = CsvDialect(header=True, delimiter=delimiter or ",")
    names = dialect.fields(next(iter(_first_lines(path, 1)), ""))
    if not names:
        return None
    columns = [(f"column{n}", "VARCHAR") for n in range(len(names))]
    found = first_bad_value(path, dialect.options(), columns)
    if found is None:
        return None
    return PalimpsestError(
        Code.COLUMN_COUNT,
        f"{shown}, line {found.line}: {found.message}",
        advice="correct the line; or make the table with CREATE TABLE, and import with --rejects,"
        " which leaves such lines out",
    )


def _unequal_lines(shown: str, delimiter: str) -> PalimpsestError:
    return PalimpsestError(
        Code.COLUMN_COUNT,
        f"the lines of {shown} have different numbers of values",
        advice=f"correct the file, or give --delimiter {_shell_word(delimiter)}",
    )


def _first_lines(path: str, count: int) -> list[str]:
    """The first lines of a file, which may be compressed; none where it is no text."""
    try:
        with pyarrow.input_stream(path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            return [line.rstrip("\r\n") for line in islice(text, count)]
    except (UnicodeDecodeError, OSError):
        return []


def _shell_word(separator: str) -> str:
    return "$'\\t'" if separator == "\t" else f"'{separator}'"
