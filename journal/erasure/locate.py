"""Finding people: which files may hold an identifier, and the keys of the rows that do.

Every segment is looked at in the columns it was written with, so an identifier is found in any
version, also in a column that was dropped since. Filters say which files need not be opened; what
they cannot say is read. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path as FilePath

import pyarrow as pa
from sqlglot import exp

from journal.bloom import Hashes
from journal.erasure.descriptor import Identity, is_in
from journal.erasure.fence import normal, texts_of
from journal.erasure.paths import leaf_type, values_sql
from journal.filters import asked, read_sidecar
from journal.plan import Query
from journal.relations import column, ident
from journal.schema import Table
from journal.segment import Fields, Head, Segment, SegmentFile
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession

Subjects = Mapping[str, Sequence[str]]
"""Identifiers by their type, as a request names them."""
_SMALL = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_SMALL_UNSIGNED = (exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT)


@dataclass(slots=True)
class Search:
    """What was searched, and what was found."""

    keys: list[pa.Table] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    bytes_read: int = 0
    bytes_skipped: int = 0


@dataclass(slots=True)
class Locator:
    """Searches the pieces of one journal."""

    session: DuckDBSession
    root: FilePath
    table: Table
    identities: Sequence[Identity]
    subjects: Subjects
    search: Search = field(default_factory=Search)
    _shown: int = 0

    def segments(self, segments: Iterable[Segment]) -> None:
        """Search sealed segments."""
        wanted = [i for i in self.identities if self.subjects.get(i.type)]
        ordered = sorted(segments, key=lambda s: s.fields)
        for fields, group in groupby(ordered, key=lambda s: s.fields):
            files = [f for s in group for f in s.files]
            present = [i for i in wanted if is_in(i, dict(fields))]
            candidates = self.candidates(files, fields, present)
            for identity in present:
                paths = [f.path for f in files if identity in candidates[f.path]]
                if paths:
                    self._match(_parquet(self.root, paths), fields, identity, sealed=True)
            for file in files:
                self._count(file, read=bool(candidates[file.path]))

    def heads(self, heads: Iterable[Head]) -> None:
        """Search the open end."""
        for head in heads:
            for identity in self.identities:
                if self.subjects.get(identity.type) and is_in(identity, dict(head.fields)):
                    source = layout.head_table(self.table.id, head)
                    self._match(source, head.fields, identity, sealed=False)

    def _count(self, file: SegmentFile, *, read: bool) -> None:
        if read:
            self.search.read.add(file.path)
            self.search.bytes_read += file.bytes
        else:
            self.search.skipped.add(file.path)
            self.search.bytes_skipped += file.bytes

    def candidates(
        self, files: Sequence[SegmentFile], fields: Fields, identities: Sequence[Identity]
    ) -> dict[str, set[Identity]]:
        """For each file, the identities by which it may hold one of the subjects."""
        found: dict[str, set[Identity]] = {f.path: set() for f in files}
        hashes = {i: self._hashes(i, fields) for i in identities}
        ids = {i.id for i in identities}
        for folder, group in groupby(sorted(f.path for f in files), key=_folder):
            filters = read_sidecar(self.root / folder, ids)
            for path in group:
                of_file = filters.get(FilePath(path).name, {})
                for identity, wanted in hashes.items():
                    bloom = of_file.get(identity.id)
                    if wanted is None or bloom is None or bloom.may_hold_any(wanted):
                        found[path].add(identity)
        return found

    def _hashes(self, identity: Identity, fields: Fields) -> Hashes | None:
        values = self._values(identity, fields)
        return None if values is None else asked(values, identity)

    def _values(self, identity: Identity, fields: Fields) -> pa.Array | None:
        """What is looked for, in the type of the column; None where only text can be compared."""
        kind = exp.DataType.build(dict(fields)[identity.path.root], dialect="duckdb")
        leaf = leaf_type(kind, identity.path)
        texts = texts_of(self.subjects[identity.type], lower=identity.lower)
        if leaf is not None and leaf.is_type(*_SMALL, *_SMALL_UNSIGNED):
            numbers = {int(t) for t in texts if t.lstrip("-").isdecimal() and t.isascii()}
            return pa.array([n for n in numbers if -(2**63) <= n < 2**63], pa.int64())
        if leaf is not None and leaf.is_type(exp.DType.TEXT, exp.DType.VARCHAR):
            return pa.array(texts, pa.string())
        return None

    def _match(self, source: exp.Expr, fields: Fields, identity: Identity, *, sealed: bool) -> None:
        """Collect the keys of the rows in which an identity is one of the subjects."""
        values = self._values(identity, fields)
        number = values is not None and pa.types.is_integer(values.type)
        if values is None:
            values = pa.array(texts_of(self.subjects[identity.type], lower=identity.lower))
        self._shown += 1
        name = f"erase_subjects_{self.table.id}_{self._shown}"
        self.session.show_arrow(name, pa.table({"v": values}))
        value = values_sql(identity.path, "p")
        if identity.path.is_list:
            value = exp.Anonymous(this="unnest", expressions=[value])
        keys = key_outputs(self.table, fields, "p", sealed=sealed)
        rows = exp.select(*keys, exp.alias_(value, ident("_v")))
        rows = rows.from_(exp.alias_(source, "p", table=True))
        held = column("_v", "r")
        compared = held if number else normal(held, lower=identity.lower)
        among = exp.select(exp.column("v")).from_(name)
        found = exp.select(*[column(k, "r") for k in self.table.key]).distinct()
        found = found.from_(rows.subquery("r")).where(
            exp.In(this=compared, query=among.subquery(copy=False))
        )
        table = self.session.arrow(Query(found, ()), {})
        if table.num_rows:
            self.search.keys.append(table)


def key_outputs(table: Table, fields: Fields, of: str, *, sealed: bool) -> list[exp.Expr]:
    """A table's key columns in their present types, out of rows written with ``fields``."""
    written = dict(fields)
    outputs: list[exp.Expr] = []
    for name in table.key:
        value: exp.Expr = column(name, of)
        if sealed and layout.parquet_type(written[name]) != written[name]:
            value = exp.cast(value, written[name], dialect="duckdb")
        present = table.by_physical(name).type
        if written[name] != present:
            value = exp.cast(value, present, dialect="duckdb")
        outputs.append(exp.alias_(value, ident(name)))
    return outputs


def _parquet(root: FilePath, paths: Sequence[str]) -> exp.Table:
    names = exp.Array(expressions=[exp.Literal.string(str(root / p)) for p in paths])
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[names]))


def _folder(path: str) -> str:
    return str(FilePath(path).parent)
