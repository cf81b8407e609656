"""Writes the files of an export: rows of each table as JSON lines and CSV. Pure.

Rows of many people are read at once, and told apart here by whom they name: in any of its versions,
as an erasure would find them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from journal.identity.descriptor import DescriptorEntry, forms_by_type
from journal.identity.identifiers import numbers_of, texts_of
from journal.identity.normalisers import PLAIN, Normaliser
from journal.identity.paths import EACH, KEYS, VALUES
from journal.model.lazy_dataclass import dataclass
from spark_compaction.erasure.access import NamedRows

_END = "_valid_to"
Row = Mapping[str, Any]
Identity = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PeopleRows:
    """The rows of a table by the identity that they name; keys of a row are its place.

    ``normalisers`` are those of the table's columns, by the type of identifier.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    places: Mapping[Identity, frozenset[int]]
    normalisers: Mapping[str, tuple[Normaliser, ...]]

    @staticmethod
    def of(found: NamedRows) -> PeopleRows:
        """The rows of a search, by whom they name in any version."""
        rows = found.rows.to_pylist()
        names = [name for name in found.rows.column_names if name not in found.keys]
        keys = [tuple(str(row[k]) for k in found.keys) for row in rows]
        by_key: dict[tuple[str, ...], list[int]] = {}
        for place, key in enumerate(keys):
            by_key.setdefault(key, []).append(place)
        named: dict[Identity, set[int]] = {}
        for place, row in enumerate(rows):
            for identity in _identities(row, found.identities, found.roots):
                named.setdefault(identity, set()).update(by_key[keys[place]])
        shown = tuple({n: row[n] for n in names} for row in rows)
        places = {identity: frozenset(some) for identity, some in named.items()}
        normalisers = forms_by_type(found.identities)
        return PeopleRows(found.name, tuple(names), shown, places, normalisers)

    def of_person(self, identities: Iterable[Identity], *, latest: bool) -> list[Row]:
        """The rows that name somebody, in the order in which they were read."""
        places: set[int] = set()
        for kind, value in identities:
            for form in forms(kind, value, self.normalisers.get(kind, PLAIN)):
                places |= self.places.get(form, frozenset())
        chosen = [self.rows[place] for place in sorted(places)]
        return [row for row in chosen if row[_END] is None] if latest else chosen


def forms(kind: str, value: str, normalisers: Iterable[Normaliser]) -> set[Identity]:
    """The forms in which a row may hold an identifier, each with what it is the form of."""
    found = {(kind, number) for number in numbers_of([value])}
    for normaliser in normalisers:
        found |= {(f"{kind}{normaliser.suffix}", t) for t in texts_of([value], normaliser)}
    return found


def _identities(
    row: Row, entries: Sequence[DescriptorEntry], roots: Mapping[str, str]
) -> Iterator[Identity]:
    for entry in entries:
        name = roots.get(entry.path.root)
        for value in _values(row.get(name) if name else None, entry.path.steps):
            (text,) = texts_of([str(value)], entry.normaliser)
            yield f"{entry.type}{entry.normaliser.suffix}", text


def _values(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    """The values at a path in a row as Python has it: maps are lists of pairs."""
    if value is None:
        return
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step == EACH:
        inner = list(value)
    elif step in {VALUES, KEYS}:
        pairs = value.items() if isinstance(value, Mapping) else value
        inner = [pair[step == VALUES] for pair in pairs]
    else:
        inner = [v for k, v in value.items() if k.casefold() == step[1:].casefold()]
    for one in inner:
        yield from _values(one, rest)


def archive(request: str, summary: Mapping[str, Any], tables: Mapping[str, Sequence[Row]]) -> bytes:
    """A zip archive: JSON lines and CSV of each table, and a manifest with their digests."""
    files: dict[str, bytes] = {}
    for name, rows in tables.items():
        if rows:
            files[f"{name}.jsonl"] = _json_lines(rows)
            files[f"{name}.csv"] = _csv(rows)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    counts = {name: len(rows) for name, rows in tables.items()}
    manifest = {"request": request, **summary, "rows": counts, "sha256": digests}
    files["manifest.json"] = json.dumps(manifest, indent=1, sort_keys=True).encode()
    return zip_of(files)


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Files as one zip archive."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as written:
        for name, data in files.items():
            written.writestr(name, data)
    return buffer.getvalue()


def _json_lines(rows: Sequence[Row]) -> bytes:
    lines = [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return value
