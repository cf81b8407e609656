"""One unit of a compaction: rewrites and sorts the rows of a range of keys.

    major:  base and delta in    -> base (current rows) and history (ended rows, intervals filled)
    minor:  delta in             -> delta (what still matters to rows elsewhere) and history

Closing rows name open rows by key and version. An open row whose closing row is here becomes one
archived row, both leave. What was read and what was written are compared by order-independent
checksums over all row versions with their intervals: every state AS OF any version is made of
those. Rows are never converted: each layout is written in the stored types it was read in. JSON in,
JSON out; it opens no catalog.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlglot import exp

from journal.files.memory import memory_session
from journal.local_engine.hash import row_hash
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_from_json
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, SegmentFile, Tier
from journal.sql.relations import column, ident, union_all
from journal.stores.embedded.warehouse import Warehouse
from spark_compaction.contract import Json

_CLOSINGS = "closings"
_OPENED = "opened"
_END = "end_of_row"
_FILES_ONE_BY_ONE_MAX = 32


@dataclass(frozen=True, slots=True)
class Sums:
    """Rows and checksums: of row versions with their intervals, of current rows, of what is kept.

    Kept are closing rows whose open twin is elsewhere, and tombstones; only a minor one has them.
    """

    versions: int = 0
    versions_sum: int = 0
    current: int = 0
    current_sum: int = 0
    kept: int = 0
    kept_sum: int = 0

    def __add__(self, other: Sums) -> Sums:
        mine, theirs = asdict(self), asdict(other)
        return Sums(**{name: mine[name] + theirs[name] for name in mine})

    def to_json(self) -> dict[str, Json]:
        """Sums as text: they are wider than JSON's numbers are safe."""
        return {name: str(value) for name, value in asdict(self).items()}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Sums:
        """What ``to_json`` wrote."""
        return Sums(**{name: int(value) for name, value in data.items()})


@dataclass(frozen=True, slots=True)
class UnitFiles:
    """The files a unit has written for one tier and layout."""

    tier: Tier
    layout: int
    files: tuple[SegmentFile, ...]
    counts: RowCounts


def compact_unit(unit: Json) -> Json:
    """Write one unit's rows anew; what was written, and the checksums before and after."""
    root = Path(unit["root"])
    folder = next(iter(unit["folders"].values()))
    with memory_session(root, folder, unit.get("settings")) as session:
        work = _Unit(session, root, unit)
        return work.run()


class _Unit:
    def __init__(self, session: DuckDBSession, root: Path, unit: Mapping[str, Any]) -> None:
        self._session = session
        self._root = root
        self._warehouse = Warehouse(root, lambda: uuid.uuid4().hex)
        self._tables = [_table(raw) for raw in unit["tables"]]
        self._key = self._tables[0].key
        self._minor = bool(unit["minor"])
        self._tier = Tier(unit["tier"])
        self._range = (unit.get("low"), unit.get("high"))
        self._rows_per_file = int(unit["rows_per_file"])
        self._folders: Mapping[str, str] = unit["folders"]
        self._sources: list[Mapping[str, Any]] = unit["sources"]
        self._changed = {f for s in self._sources if s["changes"] for f in s["files"]}
        self._open: dict[str, bool] = {}
        form = self._tables[0].format
        self._start, self._end = form.version_column, form.subsequent_column
        self._row = (*self._key, self._start)

    def run(self) -> Json:
        before, after = Sums(), Sums()
        written: list[UnitFiles] = []
        if self._tier is Tier.HISTORY:
            for layout in self._layouts():
                was, found = self._merge_history(layout)
                before += was
                after += self._sums_after(layout, found)
                written += found
            return _result(before, after, written)
        self._stage_closings()
        for layout in range(len(self._tables)):
            was = self._sums_before(layout)
            found = self._write(layout, was)
            before += was
            after += self._sums_after(layout, found)
            written += found
        self._check_closings(before)
        return _result(before, after, written)

    def _merge_history(self, layout: int) -> tuple[Sums, list[UnitFiles]]:
        """Archived rows stay what they are; they only come to lie together."""
        rows = self._in_range(self._read(self._files(layout), self._names(layout)))
        count, total, _ = self._sum_of([rows], layout)
        if not count:
            return Sums(), []
        written = self._copy(layout, Tier.HISTORY, rows, RowCounts(closing=count))
        return Sums(versions=count, versions_sum=total), [written]

    def _stage_closings(self) -> None:
        """Keep what the closing rows name; for a minor one also which open rows are here."""
        closings = [*self._row, self._end]
        rows = [self._changes(i, closings, self._is_closing()) for i in self._layouts()]
        self._session.stage(_CLOSINGS, Query(union_all(rows), ()), {})
        if self._minor:
            opens = [self._changes(i, list(self._row), self._is_open()) for i in self._layouts()]
            self._session.stage(_OPENED, Query(union_all(opens), ()), {})

    def _check_closings(self, before: Sums) -> None:
        """In a major one every closing row must have found its open row."""
        ended = before.versions - before.current
        named = self._session.count(_CLOSINGS)
        if not self._minor and ended != named:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"{named} closing rows name {ended} of the row versions that are there",
                advice="run `palimpsest verify`",
            )

    def _layouts(self) -> range:
        return range(len(self._tables))

    def _write(self, layout: int, was: Sums) -> list[UnitFiles]:
        """Write a layout's rows to the tiers they belong to now."""
        found = []
        ended = was.versions - was.current
        if was.current or was.kept:
            counts = RowCounts(open=was.current)
            rows: exp.Query = self._survivors(layout)
            if self._minor:
                rows = union_all([rows, self._ended_rows(layout)])
                counts = counts + self._count_kept(layout)
            found.append(self._copy(layout, self._tier, rows, counts))
        if ended:
            rows = self._archived(layout)
            found.append(self._copy(layout, Tier.HISTORY, rows, RowCounts(closing=ended)))
        return found

    def _copy(self, layout: int, tier: Tier, rows: exp.Query, counts: RowCounts) -> UnitFiles:
        folder = self._folders[f"{tier.value}:{layout}"]
        order = [column(name) for name in self._row]
        ordered = exp.select("*").from_(rows.subquery("r")).order_by(*order)
        table = self._tables[layout]
        files = self._warehouse.write_into(
            self._session, table, Query.of(ordered), folder, counts.total, self._rows_per_file
        )
        if sum(f.rows for f in files) != counts.total:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"{folder} has {sum(f.rows for f in files)} rows, not {counts.total}",
                advice="nothing was changed; run `palimpsest verify`, then the job again",
            )
        return UnitFiles(tier, layout, files, counts)

    def _survivors(self, layout: int) -> exp.Select:
        """Open rows that no closing row names."""
        rows = exp.select(*self._columns(layout, "o")).from_(self._opens(layout).subquery("o"))
        return rows.join(self._closings(), on=self._same_row("c"), join_type="anti")

    def _archived(self, layout: int) -> exp.Select:
        """Ended rows with their intervals.

        A closing row says of its open twin all that is to be kept, if both have one layout.
        """
        if len(self._tables) == 1:
            rows = self._changes(layout, self._names(layout), self._is_closing())
            if not self._minor:
                return rows
            found = exp.select(*self._columns(layout, "o")).from_(rows.subquery("o"))
            return found.join(self._opened(), on=self._same_row("c"), join_type="semi")
        outputs: list[exp.Expr] = list(self._columns(layout, "o")[:-1])
        outputs.append(exp.alias_(column(_END, "c"), ident(self._end)))
        rows = exp.select(*outputs).from_(self._opens(layout).subquery("o"))
        return rows.join(self._closings(), on=self._same_row("c"), join_type="inner")

    def _ended_rows(self, layout: int) -> exp.Query:
        """Tombstones, and closing rows whose open twin is elsewhere."""
        names = self._names(layout)
        tombstones = self._changes(layout, names, self._is_tombstone())
        closings = self._changes(layout, names, self._is_closing()).subquery("o")
        elsewhere = exp.select(*self._columns(layout, "o")).from_(closings)
        elsewhere = elsewhere.join(self._opened(), on=self._same_row("c"), join_type="anti")
        return union_all([tombstones, elsewhere])

    def _count_kept(self, layout: int) -> RowCounts:
        tombstones = exp.Filter(this=_count(), expression=exp.Where(this=self._is_tombstone()))
        rows = exp.select(_count(), tombstones).from_(self._ended_rows(layout).subquery("k"))
        total, ended = self._session.row(Query(rows, ()), {})
        return RowCounts(closing=total - ended, tombstone=ended)

    def _sums_before(self, layout: int) -> Sums:
        whole = self._hash(layout, "o")
        is_current = exp.Is(this=column(_END, "c"), expression=exp.Null())
        outputs = [
            _count(),
            _checksum([whole, column(_END, "c")]),
            exp.Filter(this=_count(), expression=exp.Where(this=is_current)),
            _where(exp.Sum(this=whole.copy()), is_current),
        ]
        rows = exp.select(*outputs).from_(self._opens(layout).subquery("o"))
        rows = rows.join(self._closings(), on=self._same_row("c"), join_type="left")
        found = self._session.row(Query(rows, ()), {})
        kept = self._sum_of([self._ended_rows(layout)], layout)[:2] if self._minor else (0, 0)
        return Sums(*[int(v or 0) for v in (*found, *kept)])

    def _sums_after(self, layout: int, written: Sequence[UnitFiles]) -> Sums:
        """The sums of what lies in the new files, read from there."""
        paths = {w.tier: [f.path for f in w.files] for w in written}
        names = self._names(layout)
        current, versions, kept = [], [], []
        for tier, files in paths.items():
            rows = self._read(files, names)
            if tier is Tier.HISTORY:
                versions.append(rows)
            else:
                current.append(rows.where(self._is_open()))
                kept.append(self._read(files, names).where(exp.Not(this=self._is_open())))
        opens, opens_sum, current_sum = self._sum_of(current, layout)
        old, old_sum, _ = self._sum_of(versions, layout)
        kept_rows, kept_sum, _ = self._sum_of(kept, layout)
        return Sums(
            versions=opens + old,
            versions_sum=opens_sum + old_sum,
            current=opens,
            current_sum=current_sum,
            kept=kept_rows,
            kept_sum=kept_sum,
        )

    def _sum_of(self, parts: Sequence[exp.Query], layout: int) -> tuple[int, int, int]:
        """How many rows, and the checksums of them with and without their ends."""
        if not parts:
            return 0, 0, 0
        whole = self._hash(layout, "r")
        sums = [_count(), _checksum([whole, column(self._end, "r")]), exp.Sum(this=whole.copy())]
        rows = exp.select(*sums).from_(union_all(parts).subquery("r"))
        count, with_ends, without = self._session.row(Query(rows, ()), {})
        return int(count), int(with_ends or 0), int(without or 0)

    def _hash(self, layout: int, of: str) -> exp.Expr:
        """The hash of a row version, apart from its end."""
        fields = [(c.physical, c.type) for c in self._tables[layout].stored]
        return row_hash(fields, [column(self._start, of)], of)

    def _names(self, layout: int) -> list[str]:
        return [*(c.physical for c in self._tables[layout].stored), self._start, self._end]

    def _columns(self, layout: int, of: str) -> list[exp.Expr]:
        return [column(name, of) for name in self._names(layout)]

    def _opens(self, layout: int) -> exp.Select:
        files, names = self._files(layout), self._names(layout)
        found = [f for f in files if f not in self._changed or self._has_open(f)]
        if not found:
            return self._read(files[:1], names).where(exp.false())
        rows = self._read(found, names)
        # A base holds open rows only; of changes the others are left out.
        has_changes = any(s["changes"] for s in self._sources if s["layout"] == layout)
        return self._in_range(rows.where(self._is_open()) if has_changes else rows)

    def _has_open(self, file: str) -> bool:
        """Whether a file of changes has open rows; an empty part of a union hides what is NULL."""
        if file not in self._open:
            rows = self._read([file], [self._end]).where(self._is_open()).limit(1)
            (count,) = self._session.row(
                Query(exp.select(_count()).from_(rows.subquery("o")), ()), {}
            )
            self._open[file] = bool(count)
        return self._open[file]

    def _files(self, layout: int) -> list[str]:
        return [f for s in self._sources if s["layout"] == layout for f in s["files"]]

    def _changes(self, layout: int, names: Sequence[str], where: exp.Expr) -> exp.Select:
        found = [s for s in self._sources if s["layout"] == layout and s["changes"]]
        files = [f for s in found for f in s["files"]]
        if not files:
            return self._read(self._files(layout)[:1], names).where(exp.false())
        return self._in_range(self._read(files, names).where(where))

    def _read(self, files: Sequence[str], names: Sequence[str]) -> exp.Select:
        """The rows of some files.

        Read one by one: of a list of files DuckDB does not know which columns have no NULL, and
        what it writes from them would be slower to read.
        """
        paths: list[exp.Expr] = [exp.Literal.string(str(self._root / f)) for f in files]
        if len(paths) > _FILES_ONE_BY_ONE_MAX:
            paths = [exp.Array(expressions=paths)]
        found = [exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[p])) for p in paths]
        source: exp.Expr = found[0]
        if len(found) > 1:
            source = union_all([exp.select("*").from_(f) for f in found]).subquery("f")
        return exp.select(*[column(name) for name in names]).from_(source)

    def _in_range(self, rows: exp.Select) -> exp.Select:
        low, high = self._range
        first = self._tables[0].by_physical(self._key[0])
        for text, compare in ((low, exp.GTE), (high, exp.LT)):
            if text is not None:
                value = exp.cast(exp.Literal.string(text), first.type, dialect="duckdb")
                rows = rows.where(compare(this=column(first.physical), expression=value))
        return rows

    def _closings(self) -> exp.Subquery:
        names = [column(n) for n in self._row]
        ends = exp.alias_(column(self._end), ident(_END))
        return exp.select(*names, ends).from_(_CLOSINGS).subquery("c")

    def _opened(self) -> exp.Subquery:
        return exp.select(*[column(n) for n in self._row]).from_(_OPENED).subquery("c")

    def _same_row(self, right: str) -> exp.Expr:
        pairs = [exp.EQ(this=column(n, "o"), expression=column(n, right)) for n in self._row]
        return exp.and_(*pairs)

    def _is_open(self) -> exp.Expr:
        return exp.Is(this=column(self._end), expression=exp.Null())

    def _is_closing(self) -> exp.Expr:
        return exp.GT(this=column(self._end), expression=column(self._start))

    def _is_tombstone(self) -> exp.Expr:
        return exp.EQ(this=column(self._end), expression=column(self._start))


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition.copy()))


def _checksum(values: Sequence[exp.Expr]) -> exp.Expr:
    """The sum of the rows' hashes: the same whatever their order, different if one occurs twice."""
    return exp.Sum(this=exp.Anonymous(this="hash", expressions=list(values)))


def _table(raw: Mapping[str, Json]) -> Table:
    change = change_from_json(dict(raw))
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    return change.relation


def _result(before: Sums, after: Sums, written: Sequence[UnitFiles]) -> Json:
    files = [_written_json(w) for w in written]
    return {"before": before.to_json(), "after": after.to_json(), "written": files}


def _written_json(written: UnitFiles) -> Json:
    return {
        "tier": written.tier.value,
        "layout": written.layout,
        "files": [asdict(f) for f in written.files],
        "counts": asdict(written.counts),
    }
