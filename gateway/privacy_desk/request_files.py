"""CSV files of many requests: a line is a person, its columns are types of identifiers. Pure.

    external_id,email,customer
    T-1,ada@example.org,17

``external_id`` is optional. A line may name somebody by several identifiers; an empty cell names
nobody. Messages give the line, never what stands in it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable

from gateway.privacy_desk import sealing
from gateway.privacy_desk.submission import Identity, NewRequest, request_error
from journal.model.errors import PalimpsestError
from journal.model.schema import fold

EXTERNAL_ID = "external_id"


def requests_in_csv(lines: Iterable[str]) -> list[NewRequest]:
    """The requests of a file; raises PRIVACY_REQUEST, naming the line."""
    rows = csv.reader(lines, strict=True)
    found = []
    try:
        header = [fold(name.strip()) for name in next(rows, [])]
        if not header or not all(header):
            raise _file_error(1, "it has no header that names the types of identifiers")
        for row in rows:
            if not any(value.strip() for value in row):
                continue
            if len(row) > len(header):
                raise _file_error(rows.line_num, "it has more values than the header names")
            cells = {n: v for n, v in zip(header, row, strict=False) if v.strip()}
            external = cells.pop(EXTERNAL_ID, None)
            if not cells:
                raise _file_error(rows.line_num, "it names nobody")
            found.append(NewRequest(tuple(cells.items()), external))
    except csv.Error as error:
        raise _file_error(rows.line_num, str(error)) from error
    return found


def identities_in_words(subjects: Iterable[str], composites: Iterable[str]) -> tuple[Identity, ...]:
    """Identities from words: ``type=value``, and ``type=value&type=value`` for one of parts."""
    found = [_pair(word) for word in subjects]
    for word in composites:
        parts = [_pair(part) for part in word.split("&")]
        if len({kind for kind, _ in parts}) < len(parts):
            raise request_error("an identity names each type once", "--composite first=..&last=..")
        found.append(sealing.join_parts(parts) if len(parts) > 1 else parts[0])
    return tuple(found)


def _pair(word: str) -> Identity:
    name, equals, value = word.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise request_error("write a subject as type=value", "--subject email=a@b.example")
    return fold(name.strip()), value


def _file_error(line: int, why: str) -> PalimpsestError:
    return request_error(
        f"line {line} of the file of requests cannot be read: {why}",
        "write a header with the types, and below it one person a line",
    )
