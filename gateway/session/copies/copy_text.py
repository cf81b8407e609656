"""The formats of COPY with a stream: PostgreSQL's text, and CSV. Pure but for reading lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from journal.sql.array_text import text_of_array
from rewriter.writing.copy_options import OF_REJECTS, given_options

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ENDS = ("\\.", "\\.\n")


@dataclass(frozen=True, slots=True)
class CopyFormat:
    r"""What the options of a COPY say; ``rejecting`` are those about rows that no column takes.

    ``as_postgres``: values are written as PostgreSQL writes them: bytes ``\xdead`` and arrays
    ``{a,b}``, not DuckDB's ``\xDE\xAD`` and ``[a, b]``; ``t`` is true. ``matches``: the header has
    the names of the columns. ``quoted``: the columns whose values a COPY TO puts in quotes
    always, and None for all. ``quoted_nulls``: those in which NULL may stand in quotes, likewise.
    """

    is_csv: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    matches: bool = False
    quote: str = '"'
    escape: str = '"'
    suppressed: str | None = None
    as_postgres: bool = False
    quoted: tuple[str, ...] | None = ()
    quoted_nulls: tuple[str, ...] | None = ()
    rejecting: tuple[exp.Expr, ...] = ()

    def options(self, null: str) -> list[exp.Expr]:
        """Options for a COPY of the file: of the CSV given, or of one made of text."""
        said: dict[str, exp.Expr] = {
            "FORMAT": exp.var("csv"),
            "HEADER": exp.Boolean(this=self.header and self.is_csv),
            "DELIMITER": exp.Literal.string(self.delimiter if self.is_csv else ","),
            "NULL": exp.Literal.string(self.null if self.is_csv else null),
            "QUOTE": exp.Literal.string(self.quote),
            "ESCAPE": exp.Literal.string(self.escape),
        }
        if not self.rejecting:
            # What the format says holds, whatever the first lines look like.
            said["AUTO_DETECT"] = exp.false()
        if self.quoted_nulls != ():
            said["ALLOW_QUOTED_NULLS"] = exp.true()
        if self.suppressed is not None:
            said["SUPPRESSED"] = exp.var(self.suppressed)
        if self.as_postgres:
            said["TEXTS"] = exp.var("postgres")
        options = [exp.CopyParameter(this=exp.var(n), expression=v) for n, v in said.items()]
        return [*options, *(option.copy() for option in self.rejecting)]


def read_format(ast: exp.Copy, *, loads: bool, as_postgres: bool = False) -> CopyFormat:
    """The format that a COPY says; text unless it says another."""
    given = given_options(ast)
    kind = "text"
    found = given.pop("format", None)
    if found is not None:
        kind = found.name.lower()
    if kind not in {"text", "csv"}:
        raise _wrong_option(f"FORMAT {kind} of a stream", "use text or csv, or a file")
    form = CopyFormat() if kind == "text" else CopyFormat(True, ",", "")
    said: dict[str, object] = {"as_postgres": as_postgres}
    for name, value in given.items():
        known = {"delim": "delimiter", "sep": "delimiter", "nullstr": "null"}.get(name, name)
        word = "" if value is None else value.name
        if known == "header":
            said[known] = value is None or _is_on(value)
            said["matches"] = word.lower() == "match"
            if said["matches"] and not loads:
                raise _wrong_option("HEADER match in COPY TO", "write HEADER")
        elif (
            (known in {"delimiter", "quote", "escape"} and len(word) == 1)
            or known == "null"
            or (known == "suppressed" and loads)
        ):
            said[known] = word
        elif known == "force_quote" and form.is_csv and not loads:
            said["quoted"] = _names_of(value)
        elif known == "force_null" and form.is_csv and loads:
            said["quoted_nulls"] = _names_of(value)
        elif loads and known in OF_REJECTS:
            continue
        elif loads and (known == "freeze" or (known == "on" and "freeze" in given)):
            # How PostgreSQL keeps new rows; no answer depends on it. The parser takes ON by itself.
            continue
        elif known == "encoding" and word.lower().replace("-", "") == "utf8":
            continue
        else:
            raise _wrong_option(f"the COPY option {name.upper()} with a stream", "leave it out")
    options = ast.args.get("params") or []
    said["rejecting"] = tuple(p for p in options if p.name.lower() in OF_REJECTS and loads)
    return replace(form, **said)  # type: ignore[arg-type]


def rows_of_text(lines: Iterable[bytes], form: CopyFormat) -> Iterator[list[str | None]]:
    """The rows of PostgreSQL's text format, up to its end mark."""
    skips, width = form.header, 0
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise PalimpsestError(
                Code.DATA, f"line {number} is not UTF-8", advice="convert it first"
            ) from error
        if line in _ENDS:
            return
        if skips:
            skips = False
            continue
        fields = _fields(line.removesuffix("\n").removesuffix("\r"), form)
        width = width or len(fields)
        if len(fields) != width:
            raise PalimpsestError(
                Code.COLUMN_COUNT,
                f"STDIN, line {number}: {len(fields)} values, where there were {width} before",
                advice="write one value for each column; a tab in a text is \\t",
            )
        yield fields


def check_forced(names: Sequence[str], form: CopyFormat) -> None:
    """Raise UNKNOWN_COLUMN for FORCE_NULL of another column, NOT_SUPPORTED for some of these."""
    forced = [fold(name) for name in form.quoted_nulls or ()]
    known = [fold(name) for name in names]
    for name in forced:
        if name not in known:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'FORCE_NULL column "{name}" is not in the list of the COPY',
                advice=f"its columns are {', '.join(names)}",
            )
    if forced and set(forced) != set(known):
        raise _wrong_option("FORCE_NULL of some columns alone", "name all columns, or none")


def check_header(file: IO[bytes], names: Sequence[str], form: CopyFormat) -> None:
    """Raise DATA unless the first line of a file has these names."""
    file.seek(0)
    found: Sequence[str | None] | None
    if form.is_csv:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        found = next(csv.reader(text, delimiter=form.delimiter, quotechar=form.quote), None)
        text.detach()
    else:
        found = next(rows_of_text(file, replace(form, header=False)), None)
    if found is not None and list(found) != list(names):
        raise PalimpsestError(
            Code.DATA,
            f"the header says {', '.join(map(str, found))}, and not {', '.join(names)}",
            advice="name the columns in the order of the file behind the table, or leave MATCH out",
        )


def text_of(value: object, form: CopyFormat) -> str | None:
    """A value as a COPY reads it; None is NULL."""
    if isinstance(value, bytes | bytearray | memoryview):
        digits = bytes(value).hex()
        return "\\x" + digits if form.as_postgres else re.sub("..", r"\\x\g<0>", digits)
    if form.as_postgres and isinstance(value, bool):
        return "t" if value else "f"
    if form.as_postgres and isinstance(value, list | tuple):
        return text_of_array(value, lambda item: str(text_of(item, form)))
    return None if value is None else str(value)


def text_line(values: Sequence[str | None], form: CopyFormat) -> str:
    """One line of PostgreSQL's text format."""
    marks = {**_ESCAPED, form.delimiter: "\\" + form.delimiter} if form.delimiter != "\t" else None
    table = str.maketrans(marks or _ESCAPED)
    cells = (form.null if v is None else v.translate(table) for v in values)
    return form.delimiter.join(cells) + "\n"


def csv_line(
    values: Sequence[str | None], form: CopyFormat, quoted: Container[int] = frozenset()
) -> str:
    """One line of CSV; a text that reads as NULL stands in quotes, and so do places ``quoted``."""
    cells = (_csv_cell(v, form, place in quoted) for place, v in enumerate(values))
    return form.delimiter.join(cells) + "\n"


def quoted_places(names: Sequence[str], form: CopyFormat) -> frozenset[int]:
    """The places of the columns whose values always stand in quotes; raises UNKNOWN_COLUMN."""
    if form.quoted is None:
        return frozenset(range(len(names)))
    known = [fold(name) for name in names]
    for name in form.quoted:
        if fold(name) not in known:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'FORCE_QUOTE names "{name}", which the COPY does not write',
                advice="name columns that it writes",
            )
    return frozenset(known.index(fold(name)) for name in form.quoted)


def _csv_cell(value: str | None, form: CopyFormat, is_quoted: bool) -> str:
    if value is None:
        return form.null
    odd = (form.delimiter, form.quote, "\n", "\r")
    is_quoted = is_quoted or value == form.null or value == "\\."
    if is_quoted or any(mark in value for mark in odd):
        doubled = value
        if form.escape != form.quote:
            doubled = doubled.replace(form.escape, form.escape * 2)
        return form.quote + doubled.replace(form.quote, form.escape + form.quote) + form.quote
    return value


def _fields(line: str, form: CopyFormat) -> list[str | None]:
    if "\\" not in line:
        return [None if f == form.null else f for f in line.split(form.delimiter)]
    fields: list[str] = [""]
    place = 0
    while place < len(line):
        letter = line[place]
        if letter == "\\" and place + 1 < len(line):
            fields[-1] += line[place : place + 2]
            place += 2
            continue
        if letter == form.delimiter:
            fields.append("")
        else:
            fields[-1] += letter
        place += 1
    return [None if f == form.null else _unescaped(f) for f in fields]


def _unescaped(field: str) -> str:
    if "\\" not in field:
        return field
    found, place = "", 0
    while place < len(field):
        letter = field[place]
        if letter != "\\" or place + 1 == len(field):
            found += letter
            place += 1
            continue
        code, width = _escape_at(field, place + 1)
        found += code
        place += 1 + width
    return found


def _escape_at(field: str, place: int) -> tuple[str, int]:
    """What stands behind a backslash, and how wide it is."""
    letter = field[place]
    octal = ""
    for digit in field[place : place + 3]:
        if digit not in "01234567":
            break
        octal += digit
    if octal:
        return chr(int(octal, 8) & 0xFF), len(octal)
    if letter == "x":
        digits = ""
        for digit in field[place + 1 : place + 3]:
            if digit not in "0123456789abcdefABCDEF":
                break
            digits += digit
        if digits:
            return chr(int(digits, 16)), 1 + len(digits)
    return _ESCAPES.get(letter, letter), 1


def _names_of(value: exp.Expr | None) -> tuple[str, ...] | None:
    """The columns that an option lists; None for a star."""
    if value is None or value.find(exp.Star) is not None:
        return None
    listed = value.expressions if isinstance(value, exp.Tuple) else [value]
    return tuple(part.unnest().name for part in listed)


def _is_on(value: exp.Expr) -> bool:
    if isinstance(value, exp.Boolean):
        return bool(value.this)
    return value.name.lower() in {"true", "on", "1", "match"}


def _wrong_option(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice)
