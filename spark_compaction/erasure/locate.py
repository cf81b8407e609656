"""Finding people: which files may hold an identifier, and the keys of the rows that do.

Filters say which files need not be opened; what they cannot say is read (see ``matching``). Files
lie in the warehouse, live or kept, or in a copy elsewhere, of which those are brought that may hold
somebody. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path as FilePath

import pyarrow as pa
from sqlglot import exp

from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.matching import Matcher
from journal.files.filters.hashing import Hashes
from journal.files.filters.sidecar import FileFilters, asked, read_sidecar
from journal.identity.descriptor import DescriptorEntry
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Segment, SegmentFile
from journal.stores.embedded.integrity import SegmentChecker
from journal.stores.embedded.statement import Statement
from journal.transactions.protocol import OpenStatement

Bring = Callable[[Collection[str]], AbstractContextManager[Mapping[str, FilePath]]]
"""Files of a copy by their paths there, brought here for as long as the block lasts."""


@dataclass(slots=True)
class Tally:
    """Files of one kind of place, and their bytes, that were read and that were not."""

    read: int = 0
    skipped: int = 0
    bytes_read: int = 0
    bytes_skipped: int = 0

    def count(self, file: SegmentFile, *, read: bool) -> None:
        """Count one file."""
        if read:
            self.read += 1
            self.bytes_read += file.bytes
        else:
            self.skipped += 1
            self.bytes_skipped += file.bytes


@dataclass(slots=True)
class Search:
    """What was searched, and what was found; ``seen`` are the files of the warehouse in question.

    ``kept`` counts those that are not live: retired segments, backups, archives; ``copies`` those
    that lie elsewhere.
    """

    keys: list[pa.Table] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    live: Tally = field(default_factory=Tally)
    kept: Tally = field(default_factory=Tally)
    copies: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class Locator:
    """Searches the pieces of one journal."""

    session: DuckDBSession
    root: FilePath
    table: Table
    identities: Sequence[DescriptorEntry]
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
        """Search sealed segments that are live."""
        self._sealed(segments, self.search.live)

    def kept(self, segments: Iterable[Segment], checker: SegmentChecker) -> None:
        """Search segments that are kept besides, in files that were not searched yet.

        Raises SEGMENT_DAMAGED for a file that would be read and is not whole.
        """
        left = [unseen(s, self.search.seen) for s in segments]
        self._sealed(left, self.search.kept, checker)

    def heads(self, heads: Iterable[Head]) -> None:
        """Search the open end."""
        for head in heads:
            self._matcher.rows(layout.head_table(self.table.id, head), head.fields)

    def copied(
        self, segments: Iterable[Segment], filters: Mapping[str, FileFilters], bring: Bring
    ) -> None:
        """Search the segments of a copy: its filters are here, files it needs are brought."""
        for fields, files in by_fields(segments):
            present = self._matcher.present(fields)
            candidates = self._candidates(files, filters, fields, present)
            wanted = [path for path, identities in candidates.items() if identities]
            if wanted:
                with bring(wanted) as here:
                    self._match(fields, {str(here[p]): candidates[p] for p in wanted})
            for file in files:
                self.search.copies.count(file, read=bool(candidates[file.path]))

    def _sealed(
        self, segments: Iterable[Segment], tally: Tally, checker: SegmentChecker | None = None
    ) -> None:
        for fields, files in by_fields(segments):
            present = self._matcher.present(fields)
            candidates = self.candidates(files, fields, present)
            if checker is not None:
                checker.check_files(f for f in files if candidates[f.path])
            self._match(fields, {str(self.root / p): found for p, found in candidates.items()})
            for file in files:
                self.search.seen.add(file.path)
                tally.count(file, read=bool(candidates[file.path]))

    def _match(self, fields: Fields, candidates: Mapping[str, Collection[DescriptorEntry]]) -> None:
        """Look through files of this machine, each by the identities that it may hold."""
        for identity in self._matcher.present(fields):
            paths = [path for path, identities in candidates.items() if identity in identities]
            if paths:
                self._matcher.match(_parquet(paths), fields, identity, sealed=True)

    def candidates(
        self, files: Sequence[SegmentFile], fields: Fields, identities: Sequence[DescriptorEntry]
    ) -> dict[str, set[DescriptorEntry]]:
        """For each file, the identities by which it may hold one of the subjects."""
        ids = {i.id for i in identities}
        filters: dict[str, FileFilters] = {}
        for folder in {_folder(f.path) for f in files}:
            found = read_sidecar(self.root / folder, ids)
            filters |= {f"{folder}/{name}": columns for name, columns in found.items()}
        return self._candidates(files, filters, fields, identities)

    def _candidates(
        self,
        files: Sequence[SegmentFile],
        filters: Mapping[str, FileFilters],
        fields: Fields,
        identities: Sequence[DescriptorEntry],
    ) -> dict[str, set[DescriptorEntry]]:
        found: dict[str, set[DescriptorEntry]] = {f.path: set() for f in files}
        hashes = {i: self._hashes(i, fields) for i in identities}
        for path, possible in found.items():
            of_file = filters.get(path, {})
            for identity, wanted in hashes.items():
                bloom = of_file.get(identity.id)
                if wanted is None or bloom is None or bloom.may_hold_any(wanted):
                    possible.add(identity)
        return found

    def _hashes(self, identity: DescriptorEntry, fields: Fields) -> Hashes | None:
        values = self._matcher.values(identity, fields)
        return None if values is None else asked(values, identity)


def keys_of(
    root: FilePath, statement: OpenStatement, aim: TargetTable, subjects: Subjects
) -> list[pa.Table]:
    """The keys of a table's rows that name somebody, as a statement sees them."""
    assert isinstance(statement, Statement)
    statement.check_segments([aim.table.id])
    locator = Locator(statement.session, root, aim.table, aim.identities, subjects)
    manifest = statement.committed.tables[aim.table.id].manifest
    locator.segments(manifest.segments)
    locator.heads(manifest.heads)
    return locator.search.keys


def unseen(segment: Segment, seen: Collection[str]) -> Segment:
    """A segment with those of its files that were not searched yet."""
    return replace(segment, files=tuple(f for f in segment.files if f.path not in seen))


def by_fields(segments: Iterable[Segment]) -> list[tuple[Fields, list[SegmentFile]]]:
    """Files by the columns they were written with, each file once."""
    ordered = sorted(segments, key=lambda s: s.fields)
    return [
        (fields, list({f.path: f for s in group for f in s.files}.values()))
        for fields, group in groupby(ordered, key=lambda s: s.fields)
    ]


def _parquet(paths: Sequence[str]) -> exp.Table:
    names = exp.Array(expressions=[exp.Literal.string(p) for p in paths])
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[names]))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
