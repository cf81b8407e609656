"""Counts the rows of given keys in each file.

Filters and key bounds say which files cannot; the others are asked, key columns alone. The keys
stand in files of keys (masks). Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path as FilePath

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from journal.erasure.column_changes import Changes, hash_key_of
from journal.erasure.secret import read_secret
from journal.files.filters.hashing import Hashes
from journal.files.filters.sidecar import KEY, FileFilters, hash_keys, read_sidecar
from journal.local_engine import layout
from journal.local_engine.hash_key import bound_hash_key
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Fields, Head, RowCounts, Segment, SegmentFile
from journal.sql.counting import count_rows
from journal.sql.relations import column, ident

_FILE = "_of_file"
_KEYS = "held_keys"


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """Rows of the keys in one file of a segment."""

    segment: Segment
    file: SegmentFile
    counts: RowCounts


@dataclass(slots=True)
class Holdings:
    """All rows of the keys, and the files that were not opened."""

    held: list[KeyMatch]
    searched: list[SegmentFile]
    skipped: list[SegmentFile]
    heads: RowCounts
    stays: bool = False
    """True if rows are changed, and none goes."""

    @property
    def counts(self) -> RowCounts:
        """Rows by kind, heads included."""
        return sum((h.counts for h in self.held), self.heads)


def holdings(
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    segments: Iterable[Segment],
    masks: Sequence[str],
    heads: Iterable[Head] = (),
    changes: Changes | None = None,
) -> Holdings:
    """Where the rows of the masks' keys lie; those alone that ``changes`` would change."""
    found = Holdings([], [], [], RowCounts(), changes is not None)
    if not masks:
        return found
    with bound_hash_key(session.text, _key_for(changes, root)):
        _find(found, session, root, table, segments, masks, heads, changes)
    return found


def _key_for(changes: Changes | None, root: FilePath) -> str | None:
    return None if changes is None else hash_key_of(read_secret(root))


def _find(
    found: Holdings,
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    segments: Iterable[Segment],
    masks: Sequence[str],
    heads: Iterable[Head],
    changes: Changes | None,
) -> None:
    ordered = sorted(segments, key=lambda s: s.fields)
    for fields, group in groupby(ordered, key=lambda s: s.fields):
        owners = {f.path: (s, f) for s in group for f in s.files}
        keys = keys_as_written(session, root, table, fields, masks)
        files = [file for _, file in owners.values()]
        wanted = may_hold(root, table, files, keys)
        found.searched += wanted
        found.skipped += [f for f in files if f not in set(wanted)]
        if wanted:
            where = applies(changes, fields, sealed=True)
            for path, counts in _count_matches(session, root, table, wanted, keys, where):
                found.held.append(KeyMatch(*owners[path], counts))
    for head in heads:
        keys = keys_as_written(session, root, table, head.fields, masks, sealed=False)
        session.show_arrow(_KEYS, keys)
        rows = exp.select("*").from_(exp.alias_(layout.head_table(table.id, head), "p", table=True))
        rows = rows.join(
            exp.alias_(exp.to_table(_KEYS), "k", table=True), on=_same_key(table), join_type="semi"
        ).where(applies(changes, head.fields, sealed=False))
        found.heads = found.heads + count_rows(session, table, rows.subquery("h"))


def counts_by_mask(
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    found: Holdings,
    masks: Sequence[str],
    heads: Iterable[Head],
    changes: Changes | None = None,
) -> dict[str, int]:
    """How many rows of each mask's keys there are, in the files that were found and in heads.

    Those alone that ``changes`` would change.
    """
    if len(masks) == 1:
        return {masks[0]: found.counts.total}
    counts = dict.fromkeys(masks, 0)
    pieces: list[tuple[exp.Expr, Fields, bool]] = [
        (layout.head_table(table.id, head), head.fields, False) for head in heads
    ]
    ordered = sorted(found.held, key=lambda h: h.segment.fields)
    for fields, group in groupby(ordered, key=lambda h: h.segment.fields):
        names = [exp.Literal.string(str(root / h.file.path)) for h in group]
        files = exp.Array(expressions=names)
        read = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[files]))
        pieces.append((read, fields, True))
    for source, fields, sealed in pieces:
        for mask in masks:
            keys = keys_as_written(session, root, table, fields, [mask], sealed=sealed)
            session.show_arrow(_KEYS, keys)
            query = exp.select(exp.Count(this=exp.Star()))
            query = (
                query.from_(exp.alias_(source.copy(), "p", table=True))
                .join(
                    exp.alias_(exp.to_table(_KEYS), "k", table=True),
                    on=_same_key(table),
                    join_type="semi",
                )
                .where(applies(changes, fields, sealed=sealed))
            )
            with bound_hash_key(session.text, _key_for(changes, root)):
                counts[mask] += session.row(Query(query, ()), {})[0]
    return counts


def keys_as_written(
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    fields: Fields,
    masks: Sequence[str],
    *,
    sealed: bool = True,
) -> pa.Table:
    """The keys of masks in the types that rows with ``fields`` have in files, or in heads."""
    casts = key_casts(table, fields, sealed=sealed)
    outputs = [exp.alias_(value, ident(name)) for name, value in casts.items()]
    paths = exp.Array(expressions=[exp.Literal.string(str(root / m)) for m in masks])
    source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[paths]))
    found = session.arrow(Query(exp.select(*outputs).distinct().from_(source), ()), {})
    for name in table.key:
        found = found.filter(pc.is_valid(found.column(name)))
    return found


def key_casts(table: Table, fields: Fields, *, sealed: bool = True) -> dict[str, exp.Expr]:
    """For each key column, what turns it from the type of a mask into that of rows as written."""
    written = dict(fields)
    found: dict[str, exp.Expr] = {}
    for name in table.key:
        present, kind = table.by_physical(name).type, written[name]
        value: exp.Expr = exp.cast(column(name), present, dialect="duckdb")
        if kind != present:
            value = exp.TryCast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))
        if sealed and layout.parquet_type(kind) != kind:
            value = exp.cast(value, layout.parquet_type(kind), dialect="duckdb")
        found[name] = value
    return found


def may_hold_any(
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    segments: Iterable[Segment],
    masks: Sequence[str],
    filters: Mapping[str, FileFilters],
) -> list[SegmentFile]:
    """The files, of segments that need not be here, that may hold a key of some masks."""
    found: list[SegmentFile] = []
    ordered = sorted(segments, key=lambda s: s.fields)
    for fields, group in groupby(ordered, key=lambda s: s.fields):
        keys = keys_as_written(session, root, table, fields, masks)
        found += _candidates(table, [f for s in group for f in s.files], keys, filters)
    return found


def may_hold(
    root: FilePath, table: Table, files: Sequence[SegmentFile], keys: pa.Table
) -> list[SegmentFile]:
    """The files that may hold one of the keys."""
    filters: dict[str, FileFilters] = {}
    for folder in {_folder(f) for f in files}:
        found = read_sidecar(root / folder, [KEY])
        filters |= {f"{folder}/{name}": columns for name, columns in found.items()}
    return _candidates(table, files, keys, filters)


def _candidates(
    table: Table,
    files: Sequence[SegmentFile],
    keys: pa.Table,
    filters: Mapping[str, FileFilters],
) -> list[SegmentFile]:
    if not keys.num_rows:
        return []
    hashes = hash_keys([keys.column(k) for k in table.key])
    first = keys.column(table.key[0])
    bounded = first.to_pylist() if pa.types.is_integer(first.type) else None
    if bounded is not None:
        bounded.sort()
    found: list[SegmentFile] = []
    for file in sorted(files, key=lambda f: f.path):
        bloom = filters.get(file.path, {}).get(KEY)
        if not _in_bounds(file, bounded):
            continue
        if bloom is None or hashes is None or _any(bloom.may_hold(hashes)):
            found.append(file)
    return found


def _any(answers: Hashes) -> bool:
    return bool(answers.any())


def _in_bounds(file: SegmentFile, keys: list[int] | None) -> bool:
    """False only if all keys, which are sorted, lie outside the file's bounds."""
    if keys is None or file.key_low is None or file.key_high is None:
        return True
    from bisect import bisect_left

    place = bisect_left(keys, file.key_low)
    return place < len(keys) and keys[place] <= file.key_high


def _count_matches(
    session: DuckDBSession,
    root: FilePath,
    table: Table,
    files: Sequence[SegmentFile],
    keys: pa.Table,
    where: exp.Expr,
) -> list[tuple[str, RowCounts]]:
    session.show_arrow(_KEYS, keys)
    names = exp.Array(expressions=[exp.Literal.string(str(root / f.path)) for f in files])
    option = exp.EQ(this=exp.column("filename"), expression=exp.Literal.string(_FILE))
    source = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[names, option]))
    end, start = (
        column(table.format.subsequent_column, "p"),
        column(table.format.version_column, "p"),
    )
    opened = exp.Is(this=end, expression=exp.Null())
    tombs = exp.EQ(this=end.copy(), expression=start)
    query = exp.select(
        column(_FILE, "p"),
        exp.Count(this=exp.Star()),
        *[
            exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=kind))
            for kind in (opened, tombs)
        ],
    ).from_(exp.alias_(source, "p", table=True))
    query = (
        query.join(
            exp.alias_(exp.to_table(_KEYS), "k", table=True), on=_same_key(table), join_type="semi"
        )
        .where(where)
        .group_by(column(_FILE, "p"))
    )
    session.execute(Query(query, ()), {})
    found = []
    prefix = str(root) + "/"
    for path, total, opens, tombstones in session.fetch_many(len(files) + 1):
        counts = RowCounts(opens, total - opens - tombstones, tombstones)
        found.append((path.removeprefix(prefix), counts))
    return found


def applies(changes: Changes | None, fields: Fields, *, sealed: bool) -> exp.Expr:
    """The condition of rows ``p`` that hold what is to be changed; all rows without changes."""
    if changes is None:
        return exp.true()
    return changes.applies(as_stored(fields, sealed=sealed), "p")


def values(changes: Changes, fields: Fields) -> dict[str, exp.Expr]:
    """By column what is to stand in the place of its values, in rows ``p`` of a file."""
    return changes.values(as_stored(fields, sealed=True), "p")


def as_stored(fields: Fields, *, sealed: bool) -> Fields:
    """Columns with the types that files have, or heads."""
    return tuple((n, layout.parquet_type(kind) if sealed else kind) for n, kind in fields)


def _same_key(table: Table) -> exp.Expr:
    return exp.and_(*[exp.EQ(this=column(k, "p"), expression=column(k, "k")) for k in table.key])


def _folder(file: SegmentFile) -> str:
    return file.path.rpartition("/")[0]
