"""Finds people: the files that may hold an identifier, and the keys of their rows.

Filters say which files need not be opened; what they cannot say is read (see ``matching``). Files
lie in the warehouse, live or kept, or in a copy elsewhere, of which those are brought that may hold
somebody. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from itertools import groupby
from pathlib import Path as FilePath

from sqlglot import exp

from journal.erasure.erasure_spec import Subjects
from journal.erasure.matching import Matcher
from journal.files.filters.hashing import Hashes
from journal.files.filters.sidecar import FileFilters, identifier_hashes, read_sidecar
from journal.identity.descriptor import DescriptorEntry
from journal.identity.identifiers import normal_in_duckdb
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Segment, SegmentFile
from journal.stores.embedded.integrity import SegmentChecker
from spark_compaction.erasure.search import Search, Tally, unseen

Bring = Callable[[Collection[str]], AbstractContextManager[Mapping[str, FilePath]]]
"""Files of a copy by their paths there, brought here for as long as the block lasts."""


@dataclass(slots=True)
class Locator:
    """Searches the pieces of one journal."""

    session: DuckDBSession
    root: FilePath
    table: Table
    identities: Sequence[DescriptorEntry]
    subjects: Subjects
    search: Search
    _matcher: Matcher = field(init=False)

    def __post_init__(self) -> None:
        self._matcher = Matcher(
            *(self.session, self.table, self.identities, self.subjects),
            keys=self.search.keys,
            form=normal_in_duckdb,
        )

    def sealed(self, segments: Iterable[Segment], tally: Tally, checker: SegmentChecker) -> None:
        """Search segments in files that were not searched yet, and count them.

        Raises SEGMENT_DAMAGED for a file that would be read and is not whole.
        """
        left = [s for s in (unseen(s, self.search.seen) for s in segments) if s is not None]
        for fields, files in by_fields(left):
            present = self._matcher.present(fields)
            candidates = self.candidates(files, fields, present)
            checker.check_files(f for f in files if candidates[f.path])
            self._match(fields, {str(self.root / p): found for p, found in candidates.items()})
            for file in files:
                self.search.seen.add(file.path)
                tally.count(file.bytes, read=bool(candidates[file.path]))

    def heads(self, heads: Iterable[Head]) -> None:
        """Search the open end."""
        for head in heads:
            self._matcher.rows(layout.head_table(self.table.id, head), head.fields)

    def search_copy(
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
                self.search.copies.count(file.bytes, read=bool(candidates[file.path]))

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
        return None if values is None else identifier_hashes(values, identity)


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
