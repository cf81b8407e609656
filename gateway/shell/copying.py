r"""``\copy``: a file into a table, or a table's or query's rows into a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.shell.copy_streams import copies_in, copies_out, copy_in, copy_out
from gateway.shell.exports import export_rows
from gateway.shell.files import import_file
from gateway.wording import counted
from journal.files.object_storage import local_copy_of, local_file_for
from journal.model.errors import Code, PalimpsestError

_USAGE = r"\copy TABLE FROM 'file.csv' [CREATE [KEY (a, b)]]  or  \copy TABLE|(QUERY) TO 'file.csv'"
_FORM = re.compile(
    r"(?P<source>\(.*\)|\S+)\s+(?P<way>from|to)\s+(?P<file>'(?:[^']|'')*'|\S+)\s*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CREATE = re.compile(r"create(?:\s+key\s*\(?(?P<key>[^)]*)\)?)?", re.IGNORECASE)


def copy_command(
    connection: Connection, text: str, data: Iterable[str] = (), out: TextIO = sys.stdout
) -> str:
    """Run the copy that ``text`` describes; returns what to say about it, if anything.

    ``data`` are the lines of stdin, ``out`` is stdout.
    """
    found = _FORM.fullmatch(text.strip().rstrip(";").strip())
    if found is None:
        raise _copy_error()
    file = found["file"]
    if file.startswith("'"):
        file = file[1:-1].replace("''", "'")
    if file.lower() in {"stdin", "pstdin", "stdout", "pstdout"}:
        stream = f"COPY {found['source']} {found['way']} {file.lower().lstrip('p')} {found['rest']}"
        if copies_in(stream):
            return copy_in(connection, stream, data)
        if copies_out(stream):
            copy_out(connection, stream, out)
            return ""
        raise _copy_error()
    place = file if "://" in file else str(Path(file).expanduser())
    rest = found["rest"].strip()
    if found["way"].lower() == "to":
        if rest:
            raise _copy_error()
        source = found["source"]
        if source.startswith("("):
            source = source[1:-1]
        with mapping(), local_file_for(place) as path:
            rows = export_rows(connection, source, path)
        return f"Wrote {place}: {counted(rows, 'row')}."
    created = _CREATE.fullmatch(rest)
    if rest and created is None:
        raise _copy_error()
    keys = [k.strip() for k in (created["key"] or "").split(",")] if created is not None else []
    with mapping(), local_copy_of(place) as path:
        done = import_file(
            connection,
            str(path),
            found["source"],
            create=created is not None,
            key=[k for k in keys if k],
        )
    return f"{'Made' if done.created else 'Appended to'} {done.table}: {counted(done.rows, 'row')}."


def _copy_error() -> Exception:
    with mapping():
        raise PalimpsestError(Code.SYNTAX, "the copy command is not complete", advice=_USAGE)
