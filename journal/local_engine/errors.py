"""DuckDB's exceptions as errors of the project: the only place that reads DuckDB's messages.

Positions are not taken from DuckDB, because they point into rewritten SQL; names are, so that the
gateway can find them in the client's own text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from journal.local_engine.file_modes import MODE_SETTING
from journal.local_engine.in_memory import connect_in_memory
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import translates
from journal.model.spelling import spelling_hint

_WRAPPING = re.compile(r"^(?:[A-Z][A-Za-z ]*? Error: )+")
_PACKED = re.compile(r'"exception_message":"((?:[^"\\]|\\.)*)"')
_SIGNALLED = "Query interrupted"
"""What DuckDB's driver says when Python was sent a signal meanwhile."""
_NEGATIVE = "do not support negative intervals"
"""What is said of a Parquet file."""
_EXTENSION = re.compile(r"install the required extension '(\w+)")
_NO_PATTERN = re.compile(r"invalid escape sequence: \\\d|invalid perl operator: \(\?")
"""What is said of back references and lookaround in a pattern, as in ``a(?=b)``."""
_ADVICE = {
    Code.CANCELLED: "none of its changes were kept; run it again if you still want it",
    Code.UNKNOWN_TYPE: "use NOCASE, NOACCENT, or a language of ICU such as de",
    Code.CONVERSION: "check the value, or convert it with TRY_CAST, which gives NULL instead",
    Code.OUT_OF_RANGE: "check the value, or use a wider type",
    Code.OUTPUT_PLACE: "count the outputs from 1, or write the expression",
    Code.MOMENT_RANGE: "check the value; months have 28 to 31 days, and days 24 hours",
    Code.MOMENT_TEXT: "write it as YYYY-MM-DD HH:MM:SS, an interval as '3 days 04:05:06'",
    Code.DIVISION_BY_ZERO: "write NULLIF(divisor, 0), which gives NULL instead",
    Code.OUT_OF_MEMORY: "raise the memory_limit setting, or split the statement",
    Code.STORE_WRITE: "free space or fix permissions, then repeat; nothing was changed",
    Code.FILE_ACCESS: "check that the path is still there, and its permissions; then repeat",
    Code.UNKNOWN_FUNCTION: "check the spelling and the types of the arguments",
    Code.PATTERN: "close its brackets, and write a backslash before signs that mean themselves",
    Code.PATH_VARIABLE: "give it in the third argument, as in '{\"x\": 1}'",
    Code.GROUPING: "add the column to GROUP BY, or aggregate it",
}
_PATTERNS: tuple[tuple[re.Pattern[str], Code], ...] = (
    (re.compile(r"must appear in the GROUP BY|GROUP BY clause", re.I), Code.GROUPING),
    (re.compile(r"^(GROUP BY|ORDER) term out of range"), Code.OUTPUT_PLACE),
    (re.compile(r"More than one row returned by a subquery", re.I), Code.CARDINALITY),
    (re.compile(r"duplicate alias", re.I), Code.DUPLICATE_ALIAS),
    (re.compile(r"operations can only apply .* same number", re.I), Code.COLUMN_COUNT),
    (re.compile(r"Ambiguous reference|ambiguous", re.I), Code.AMBIGUOUS_COLUMN),
    (re.compile(r"Referenced table", re.I), Code.UNKNOWN_TABLE),
    (
        re.compile(r"Referenced column|does not have a column|column .* not found", re.I),
        Code.UNKNOWN_COLUMN,
    ),
    (
        re.compile(r"No function matches|Function with name|does not exist.*function", re.I),
        Code.UNKNOWN_FUNCTION,
    ),
    (re.compile(r"(?:Collation|Type) with name", re.I), Code.UNKNOWN_TYPE),
    (re.compile(r"Table (Function )?with name|table .* does not exist", re.I), Code.UNKNOWN_TABLE),
    (re.compile(r"Schema with name", re.I), Code.UNKNOWN_SCHEMA),
    (
        re.compile(
            r"No space left|could not write|Cannot write|Could not write|failed to sync"
            r"|Read-only file",
            re.I,
        ),
        Code.STORE_WRITE,
    ),
    (re.compile(r"^invalid input syntax for type (inet|cidr)"), Code.CONVERSION),
    (re.compile(r"^invalid mask length|^cannot (AND|OR|merge) "), Code.SETTING_VALUE),
    (re.compile(r"^addresses of the version 6"), Code.NOT_SUPPORTED),
    (re.compile(r"^value for domain \S+ violates check"), Code.CHECK),
    (re.compile(r"^domain \S+ does not allow NULL"), Code.NOT_NULL),
    (re.compile(r"division by zero", re.I), Code.DIVISION_BY_ZERO),
    (re.compile(r"cannot take logarithm of"), Code.LOGARITHM),
    (re.compile(r"cannot take square root of|to a n\S+ power"), Code.POWER),
    (re.compile(r"^(lower (and upper )?bounds? |count must be |operand cannot be)"), Code.BUCKETS),
    (re.compile(r"^negative substring length"), Code.SUBSTRING),
    (
        re.compile(
            r"hex digit|decode string .* as base64|cannot (set|delete) path in scalar|^step size"
            r'|^"vars" argument is not an object|^cannot cast jsonb|^cannot call jsonb?_'
            r"|^cannot (get array length of|extract elements from|deconstruct) an? "
        ),
        Code.SETTING_VALUE,
    ),
    (re.compile(r"^could not find jsonpath variable"), Code.PATH_VARIABLE),
    (
        # What the library of regular expressions says, which names itself nowhere.
        re.compile(
            r"^(missing [\])]|unexpected \)|no argument for repetition operator"
            r"|invalid repetition size|bad repetition operator|invalid character class( range)?"
            r"|invalid escape sequence|invalid named capture group|pattern too large[^:]*): "
            r"|^trailing \\$"
        ),
        Code.PATTERN,
    ),
    (re.compile(r'^time field value out of range: "(?![^"]*\d:\d)'), Code.MOMENT_TEXT),
    (
        re.compile(
            r'^invalid value ".*" for "|^conflicting values for "|^cannot calculate day of year'
            r'|^invalid input string for "Y,YYY"|^hour ".*" is invalid for the 12-hour clock',
            re.S,
        ),
        Code.MOMENT_TEXT,
    ),
    (
        re.compile(
            r"^(date|time|interval)[^:]* out of range|format specifier.* out of range", re.I | re.S
        ),
        Code.MOMENT_RANGE,
    ),
    (re.compile(r"^invalid (date|time)\w* field format|to INTERVAL$"), Code.MOMENT_TEXT),
    (re.compile(r"out of range|overflow|cast value .* to DECIMAL", re.I), Code.OUT_OF_RANGE),
)


_CLASSES: tuple[tuple[type[Exception], Code], ...] = (
    (duckdb.InterruptException, Code.CANCELLED),
    (duckdb.OutOfMemoryException, Code.OUT_OF_MEMORY),
    (duckdb.ConversionException, Code.CONVERSION),
    (duckdb.OutOfRangeException, Code.OUT_OF_RANGE),
    (duckdb.ParserException, Code.SYNTAX),
    (duckdb.SyntaxException, Code.SYNTAX),
    (duckdb.TypeMismatchException, Code.TYPE_MISMATCH),
    (duckdb.InvalidTypeException, Code.TYPE_MISMATCH),
    (duckdb.CatalogException, Code.UNKNOWN_TABLE),
    (duckdb.BinderException, Code.BIND),
    (duckdb.NotImplementedException, Code.NOT_SUPPORTED),
    (duckdb.InvalidInputException, Code.DATA),
    (duckdb.IOException, Code.FILE_ACCESS),
    (duckdb.TransactionException, Code.SERIALIZATION),
)


def translate(error: Exception) -> PalimpsestError:
    """The project's error for an exception raised by DuckDB."""
    text = str(error)
    message = _WRAPPING.sub("", _unpacked(text)).split("\n\nLINE ")[0].strip()
    needed = _EXTENSION.search(message)
    if needed is not None:
        return PalimpsestError(
            Code.NOT_SUPPORTED,
            f"this takes DuckDB's extension {needed[1]}, which is not loaded",
            advice="use VARCHAR in the place of its types, such as INET",
        )
    if _NEGATIVE in message:
        advice = "cast it to VARCHAR, or write CSV or JSON"
        return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice)
    if _NO_PATTERN.search(message):
        return PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a regular expression has a back reference or lookaround here: {message}",
            advice="write out what it stands for, or compare parts that regexp_extract gives",
        )
    code = next((c for kind, c in _CLASSES if isinstance(error, kind)), Code.STORE)
    if code is Code.CANCELLED:
        # DuckDB says no more than that it was interrupted.
        message = "the statement was cancelled"
    if code in {
        Code.BIND,
        Code.UNKNOWN_TABLE,
        Code.DATA,
        Code.FILE_ACCESS,
        Code.STORE,
        Code.CONVERSION,
        Code.OUT_OF_RANGE,
        # Of a commit that had no room: to try it again at once would not help.
        Code.SERIALIZATION,
    }:
        code = next((c for pattern, c in _PATTERNS if pattern.search(message)), code)
    return PalimpsestError(code, message, advice=_ADVICE.get(code, ""))


def _unpacked(text: str) -> str:
    """What failed in a thread of its own comes as JSON within a message."""
    found = _PACKED.search(text)
    return text if found is None else str(json.loads(f'"{found[1]}"'))


translates(duckdb.Error, translate)
_STREAMED: dict[str, type[Exception]] = {
    "INTERRUPT Error: ": duckdb.InterruptException,
    "Conversion Error: ": duckdb.ConversionException,
    "Out of Range Error: ": duckdb.OutOfRangeException,
    "Out of Memory Error: ": duckdb.OutOfMemoryException,
    "Invalid Input Error: ": duckdb.InvalidInputException,
}


def _of_stream(error: OSError) -> Exception | None:
    """DuckDB's exception that Arrow raises as an error of its stream; None for any other.

    >>> _of_stream(OSError("INTERRUPT Error: Interrupted!"))
    InterruptException('INTERRUPT Error: Interrupted!')
    """
    text = str(error)
    return next((kind(text) for head, kind in _STREAMED.items() if text.startswith(head)), None)


@contextmanager
def mapped() -> Iterator[None]:
    """DuckDB's exceptions leave the block as errors of the project.

    A statement that Ctrl-C ends, by an exception of DuckDB's or of Python's, leaves as CANCELLED,
    whose cause is the KeyboardInterrupt that the front door raises again.
    """
    try:
        try:
            yield
        except duckdb.Error as error:
            raise translate(error) from error
        except OSError as error:
            found = _of_stream(error)
            if found is None:
                raise
            raise translate(found) from error
        except RuntimeError as error:
            if str(error) != _SIGNALLED:
                raise
            raise KeyboardInterrupt from error
    except KeyboardInterrupt as interrupt:
        raise PalimpsestError(
            Code.CANCELLED,
            "Ctrl-C stopped the statement",
            advice="run it again if it was stopped by mistake",
        ) from interrupt


@contextmanager
def python_values() -> Iterator[None]:
    """What ``mapped`` does, and OUT_OF_RANGE for values that DuckDB has and Python has not."""
    try:
        with mapped():
            yield
    except OverflowError as error:
        raise PalimpsestError(
            Code.OUT_OF_RANGE,
            "a row has an instant or an interval that is too large or too small for Python",
            advice="cast the column to VARCHAR, or fetch the rows with fetch_arrow()",
        ) from error


_UNKNOWN_OPTION = "The following options were not recognized: "


def _option_names() -> list[str]:
    """What a folder's URL takes: DuckDB's settings, and the mode of files."""
    with connect_in_memory(None) as own:
        rows = own.execute("SELECT name FROM duckdb_settings()").fetchall()
    return [MODE_SETTING, *(name for (name,) in rows)]


def open_error(file: Path, error: Exception) -> PalimpsestError:
    """The error of a database file that could not be opened."""
    text = str(error)
    if "Conflicting lock" in text or "lock on file" in text:
        holder = text.split("Conflicting lock is held in ")[-1].split(". ")[0]
        return PalimpsestError(
            Code.WAREHOUSE_LOCKED,
            f"the warehouse {file.parent} is open in another process: {holder}",
            advice="connect through that process, or close it first",
        )
    if _UNKNOWN_OPTION in text:
        unknown = text.rpartition(_UNKNOWN_OPTION)[2]
        return PalimpsestError(
            Code.URL,
            f"the URL has an unknown option: {unknown}",
            advice=f"{spelling_hint(unknown, _option_names())}a folder's URL takes warehouse_mode"
            " and what DuckDB can be set to, such as memory_limit=2GB; the dialect is an argument"
            " of connect() and of commands",
        )
    if isinstance(error, duckdb.ParserException) or "Failed to cast value" in text:
        return PalimpsestError(
            Code.URL,
            f"an option of the URL has a value that DuckDB does not take: {text}",
            advice="write sizes as memory_limit=2GB and numbers as threads=4",
        )
    found = translate(error)
    if found.code is Code.STORE_WRITE:
        return found
    if isinstance(error, duckdb.IOException) and "Cannot open file" in text:
        return PalimpsestError(
            Code.FILE_ACCESS, f"cannot open {file}: {text}", advice="check path and permissions"
        )
    return PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"{file} cannot be opened as a warehouse: {text}",
        advice="it may be damaged or written by a newer version; restore a copy, or upgrade",
    )
