"""Finding people: which files may hold an identifier, and the keys of the rows that do.

Filters say which files need not be opened; what they cannot say is read (see ``matching``).
Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path as FilePath

import pyarrow as pa
from sqlglot import exp

from journal.bloom import Hashes
from journal.erasure.descriptor import Identity
from journal.erasure.matching import Matcher
from journal.erasure.wanted import Aim, Subjects
from journal.filters import asked, read_sidecar
from journal.protocol import OpenStatement
from journal.schema import Table
from journal.segment import Fields, Head, Segment, SegmentFile
from journal.statement import Statement
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession


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
    _matcher: Matcher = field(init=False)

    def __post_init__(self) -> None:
        self.use(self.session)

    def use(self, session: DuckDBSession) -> None:
        """Search on in another session; what was found stays."""
        self.session = session
        self._matcher = Matcher(
            *(session, self.table, self.identities, self.subjects), keys=self.search.keys
        )

    def segments(self, segments: Iterable[Segment]) -> None:
        """Search sealed segments."""
        ordered = sorted(segments, key=lambda s: s.fields)
        for fields, group in groupby(ordered, key=lambda s: s.fields):
            files = [f for s in group for f in s.files]
            present = self._matcher.present(fields)
            candidates = self.candidates(files, fields, present)
            for identity in present:
                paths = [f.path for f in files if identity in candidates[f.path]]
                if paths:
                    self._matcher.match(_parquet(self.root, paths), fields, identity, sealed=True)
            for file in files:
                self._count(file, read=bool(candidates[file.path]))

    def heads(self, heads: Iterable[Head]) -> None:
        """Search the open end."""
        for head in heads:
            self._matcher.rows(layout.head_table(self.table.id, head), head.fields)

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
                of_file = filters.get(path.rpartition("/")[2], {})
                for identity, wanted in hashes.items():
                    bloom = of_file.get(identity.id)
                    if wanted is None or bloom is None or bloom.may_hold_any(wanted):
                        found[path].add(identity)
        return found

    def _hashes(self, identity: Identity, fields: Fields) -> Hashes | None:
        values = self._matcher.values(identity, fields)
        return None if values is None else asked(values, identity)


def keys_of(
    root: FilePath, statement: OpenStatement, aim: Aim, subjects: Subjects
) -> list[pa.Table]:
    """The keys of a table's rows that name somebody, as a statement sees them."""
    assert isinstance(statement, Statement)
    statement.check_segments([aim.table.id])
    locator = Locator(statement.session, root, aim.table, aim.identities, subjects)
    manifest = statement.committed.tables[aim.table.id].manifest
    locator.segments(manifest.segments)
    locator.heads(manifest.heads)
    return locator.search.keys


def _parquet(root: FilePath, paths: Sequence[str]) -> exp.Table:
    names = exp.Array(expressions=[exp.Literal.string(str(root / p)) for p in paths])
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[names]))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
