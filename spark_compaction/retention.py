"""Retention: rows, versions and history past their time go, by the policy of their table.

The dates in the data decide, never those of files. Files of which nothing goes are not read again
and stay listed; of which everything goes are only unlisted; the others are written anew on the
executors without the rows that go. ACTION = ARCHIVE keeps rows past their date as segments of their
own, retired until told. What is planned is exact: the store counts with the very conditions that
the executors filter by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from journal.catalog import change_to_json
from journal.dangling import dangling, told
from journal.dependents import Dependents, refused
from journal.errors import Code, PalimpsestError
from journal.expiry import ENDED, HELD, Expiry
from journal.holds import active, covered, whole_table
from journal.jobs.contract import (
    Engine,
    JobPlan,
    Json,
    Progress,
    Replacement,
    Skipped,
    Staged,
    Volume,
)
from journal.jobs.swap import Replan
from journal.journal import Journal
from journal.plan import PutRelation, Query
from journal.policy import Action, policy_of
from journal.relations import Reader, column
from journal.removals import Removal
from journal.schema import Table
from journal.segment import RowCounts, Segment, SegmentFile, Tier
from journal.state import JournalState
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession
from journal.stores.parquet_files import checksum
from journal.version import Version, from_datetime, to_datetime
from spark_compaction.ended_meanwhile import ended_meanwhile, show_lists
from spark_compaction.expired_files import NONE, FileCounts, by_kind, count_file, rewriting

_PARQUET = exp.Literal.string("parquet")
REWRITE = "spark_compaction.expired_files:rewrite"


@dataclass(slots=True)
class Retention:
    """The job for one table; ``now`` is the moment the policy is applied at, the clock's if None.

    ``found`` keeps what was planned last, for the check before the swap; ``_late`` is the folder of
    what that may have to write.
    """

    now: datetime | None = None
    kind: str = "retain"
    found: Expiry | None = field(default=None, init=False)
    _late: str | None = field(default=None, init=False)

    @property
    def settled(self) -> Version:
        """The version up to which the last plan judged rows."""
        assert self.found is not None
        return self.found.settled

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """Count what goes, file by file."""
        table = journal.state.catalog.by_id(table_id)
        state = journal.state.tables[table_id]
        empty = JobPlan(self.kind, table_id, "", state.manifest.generation, is_empty=True)
        if table is None:
            return replace(empty, why="the table was dropped")
        empty = replace(empty, table=str(table.name))
        policy = policy_of(table)
        if not policy.removes:
            return replace(empty, why="no policy removes anything")
        holds = active(journal, table)
        if (whole := whole_table(holds)) is not None:
            return replace(empty, why=f"under {whole.told()}", details={"held": whole.id})
        now = self.now or to_datetime(journal.clock.now())
        self.found = Expiry(
            table, policy, now, settled, covered(journal, table, holds), journal.oldest_snapshot()
        )
        with journal.reading_session() as session:
            plan = _Planning(journal, session, self.found, state.manifest.segments).plan()
        if not plan.is_empty:
            self._late = journal.warehouse.new_folder(table)
            plan = replace(plan, folders=(*plan.folders, self._late))
        return replace(plan, kind=self.kind, generation=state.manifest.generation)

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        """Have the executors write the files anew of which only some rows go."""
        assert self.found is not None
        work = plan.task["segments"]
        if not work:
            return Staged()
        lists = plan.task["lists"]
        with journal.reading_session() as session:
            show_lists(session, journal, self.found)
            for name, path in lists.items():
                _write_list(session, name, str(journal.root / path))
        units = [u for w in work for u in w["units"]]
        results = iter(engine.map(REWRITE, units, progress))
        removed: list[Segment] = []
        added: list[Segment] = []
        archived: list[Segment] = []
        written = gone = Volume()
        for item in work:
            segment = Segment.from_json(item["segment"])
            removed.append(segment)
            kept = tuple(f for f in segment.files if f.path in set(item["keep"]))
            if kept:
                added.append(replace(segment, files=kept, counts=RowCounts(**item["kept"])))
            for unit in item["units"]:
                files = tuple(SegmentFile(**f) for f in next(results))
                new = replace(
                    segment,
                    id=unit["id"],
                    files=files,
                    counts=RowCounts(**unit["counts"]),
                )
                written += Volume(len(files), new.counts.total, new.bytes)
                (archived if unit["archive"] else added).append(new)
            for path in item["archive"]:
                file = next(f for f in segment.files if f.path == path)
                counts = RowCounts(**item["archive"][path])
                name = f"{segment.id}-{file.path.rpartition('/')[2]}"
                archived.append(replace(segment, id=name, files=(file,), counts=counts))
            gone += Volume(rows=RowCounts(**item["gone"]).total)
        size = sum(s.bytes for s in removed) - sum(s.bytes for s in added)
        return Staged(
            Replacement(tuple(removed), tuple(added)),
            written=written,
            removed=replace(gone, bytes=size, files=len(plan.inputs)),
            archived=tuple(archived),
            floor=plan.details.get("floor", 0),
        )

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        """Every row that was read is in exactly one place, and none that goes is left."""
        assert self.found is not None
        if staged.replacement is None:
            return {}
        new = [*staged.replacement.new()]
        for segment in [*new, *staged.archived]:
            self._check(journal, segment)
        with journal.reading_session() as session:
            show_lists(session, journal, self.found)
            for segment in new:
                if count_file(session, self.found, segment).gone.total:
                    raise _unverified(f"{segment.id} still holds rows that were to go")
        before = sum(s.counts.total for s in staged.replacement.removed)
        after = sum(s.counts.total for s in staged.replacement.added)
        if before != after + staged.removed.rows:
            raise _unverified(f"{before} rows became {after} and {staged.removed.rows}")
        return {"verified_files": sum(len(s.files) for s in new)}

    def _check(self, journal: Journal, segment: Segment) -> None:
        if sum(f.rows for f in segment.files) != segment.counts.total:
            raise _unverified(f"{segment.id} holds another number of rows than planned")
        for file in segment.files:
            if checksum(journal.root / file.path) != file.checksum:
                raise _unverified(f"{file.path} is not what was written")

    def check(self, journal: Journal, state: JournalState, table_id: int) -> tuple[Segment, ...]:
        """In the commit section: what must stay for the sake of rows written after the plan.

        A closing row written meanwhile names an open row that goes. That row is listed again, and
        goes with the next run, together with what ended it. From here on, transactions that began
        earlier and end such a row are in conflict.
        """
        found = self.found
        assert found is not None
        if state.catalog.by_id(table_id) != found.table:
            raise Replan("the table's definition was changed meanwhile")
        condition = found.expired()
        if condition is None:
            return ()
        generation = state.tables[table_id].manifest.generation + 1
        journal.removals.add(Removal(table_id, generation, condition))
        if found.policy.dependents is Dependents.REFUSE:
            with journal.reading_session() as session:
                show_lists(session, journal, found)
                _check_dependents(found, _dangling(journal, session, found))
        assert self._late is not None
        return ended_meanwhile(journal, state.tables[table_id], found, self._late)


def _dangling(journal: Journal, session: DuckDBSession, found: Expiry) -> dict[str, int]:
    """Rows of other tables, or of this one, that refer to current rows past their date."""
    table, policy, state = found.table, found.policy, journal.state
    condition = found.archived("r")
    if condition is None or policy.column is None or table.id not in state.catalog.references:
        return {}
    names = dict.fromkeys([*table.key, policy.column])
    rows = Reader(table, state.tables[table.id].tiers).current([(column(n), n) for n in names])
    keys = exp.select(*[column(k, "r") for k in table.key])
    going = keys.from_(rows.subquery("r")).where(condition)
    return dangling(session, state, {table.id: going}).get(table.id, {})


def _check_dependents(found: Expiry, left: Mapping[str, int]) -> None:
    """Raise FOREIGN_KEY if rows would be left behind that refer to what goes, and none may be."""
    if left and found.policy.dependents is Dependents.REFUSE:
        raise refused(found.table, left, "retention")


def _unverified(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_VERIFICATION,
        f"retention did not verify: {what}",
        advice="nothing was changed; please report it with the run's report",
    )


def _write_list(session: DuckDBSession, name: str, path: str) -> None:
    copy = exp.Copy(
        this=exp.Subquery(this=exp.select("*").from_(name)),
        kind=False,
        files=[exp.Literal.string(path)],
        params=[exp.CopyParameter(this=exp.var("FORMAT"), expression=_PARQUET.copy())],
    )
    session.execute(Query(copy, ()), {})


@dataclass(slots=True)
class _Planning:
    """One look at a table's segments."""

    journal: Journal
    session: DuckDBSession
    found: Expiry
    segments: tuple[Segment, ...]
    skipped: list[Skipped] = field(default_factory=list)
    work: list[dict[str, Any]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    read: Volume = field(default_factory=Volume)
    inputs: list[str] = field(default_factory=list)
    lists: dict[str, str] = field(default_factory=dict)
    gone: RowCounts = NONE

    def plan(self) -> JobPlan:
        show_lists(self.session, self.journal, self.found)
        self._lists()
        settled = [s for s in self.segments if s.max_version <= self.found.settled]
        for segment in settled:
            self._segment(segment)
        table = self.found.table
        heads = self._heads()
        gone = self.gone + heads
        details: dict[str, Json] = {"now": self.found.now.isoformat(), "rows": asdict(gone)}
        if (cut_off := self.found.cut_off) is not None:
            details |= {"cut_off": cut_off.isoformat(), "action": self.found.policy.action.value}
        left = _dangling(self.journal, self.session, self.found) if gone.total else {}
        _check_dependents(self.found, left)
        details |= {"dangling": left} if left else {}
        if heads.total:
            details["head_rows"] = heads.total
        if floor := self._floor():
            details["floor"] = floor
        return JobPlan(
            "retain",
            table.id,
            str(table.name),
            0,
            is_empty=not gone.total,
            why=self._why(gone.total, left),
            read=self.read,
            inputs=tuple(self.inputs),
            folders=tuple(self.folders) if self.work else (),
            skipped=tuple(self.skipped),
            task={"segments": self.work, "lists": self.lists},
            details=details,
        )

    def _why(self, gone: int, left: dict[str, int]) -> str:
        if not gone:
            return "nothing is past its time"
        why = f"{gone} journal rows are past their time"
        return f"{why}; {told(left)}" if left else why

    def _lists(self) -> None:
        """Files for what the executors must look up."""
        wanted = [ENDED] if self.found.looks_at_history else []
        wanted += [HELD] if self.found.holding is not None else []
        if wanted:
            folder = self.journal.warehouse.new_folder(self.found.table)
            self.folders.append(folder)
            self.lists = {name: f"{folder}/{name}.parquet" for name in wanted}

    def _segment(self, segment: Segment) -> None:
        shape = next(
            t
            for t in self.journal.state.tables[self.found.table.id].layouts
            if layout.fields_of(t) == segment.fields
        )
        counts: dict[str, FileCounts] = {}
        for file in segment.files:
            found = count_file(self.session, self.found, replace(segment, files=(file,)))
            if found.gone.total:
                counts[file.path] = found
        if not counts:
            self.skipped.append(Skipped(segment.id, len(segment.files), "nothing past its time"))
            return
        keep = [f.path for f in segment.files if f.path not in counts]
        if keep:
            self.skipped.append(Skipped(segment.id, len(keep), "nothing past its time"))
        touched = sum((c.total for c in counts.values()), RowCounts())
        archive: dict[str, Json] = {}
        rewrite: list[str] = []
        for path, one in counts.items():
            if self._archives and one.dated.total:
                whole = one.dated.total == one.total.total
                if whole:
                    archive[path] = asdict(one.total)
                    continue
                rewrite.append(path)
            elif one.gone.total < one.total.total:
                rewrite.append(path)
        gone = sum((c.gone for c in counts.values()), RowCounts())
        self.work.append(
            {
                "segment": segment.to_json(),
                "keep": keep,
                "kept": asdict(segment.counts + touched.times(-1)),
                "gone": asdict(gone),
                "archive": archive,
                "units": self._units(segment, shape, [(p, counts[p]) for p in rewrite]),
            }
        )
        self.gone = self.gone + gone
        files = [f for f in segment.files if f.path in counts]
        self.inputs += [f.path for f in files]
        self.read += Volume(len(files), touched.total, sum(f.bytes for f in files))

    @property
    def _archives(self) -> bool:
        return self.found.policy.action is Action.ARCHIVE

    def _units(
        self, segment: Segment, shape: Table, files: list[tuple[str, FileCounts]]
    ) -> list[dict[str, Json]]:
        paths = [p for p, _ in files]
        stays = sum((c.total + c.gone.times(-1) for _, c in files), RowCounts())
        dated = sum((c.dated for _, c in files), RowCounts())
        units = []
        if stays.total:
            units.append(self._unit(segment, shape, paths, stays, archive=False))
        if self._archives and dated.total:
            units.append(self._unit(segment, shape, paths, dated, archive=True))
        return units

    def _unit(
        self, segment: Segment, shape: Table, paths: list[str], counts: RowCounts, *, archive: bool
    ) -> dict[str, Json]:
        folder = self.journal.warehouse.new_folder(shape)
        self.folders.append(folder)
        return {
            "id": folder.rpartition("/")[2],
            "folder": folder,
            "archive": archive,
            "counts": asdict(counts),
            "root": str(self.journal.root),
            "table": change_to_json(PutRelation(shape)),
            "sql": rewriting(
                self.found, shape, segment.fields, paths, self.journal.root, archive=archive
            ),
            "lists": {n: str(self.journal.root / p) for n, p in self.lists.items()},
        }

    def _heads(self) -> RowCounts:
        """Rows of heads that would go once they are sealed; a real run has sealed them."""
        state = self.journal.state.tables[self.found.table.id]
        if not state.head_counts.total:
            return NONE
        rows = Reader(self.found.table, frozenset({Tier.HEAD})).journal()
        version = column(self.found.table.format.version_column, "r")
        settled = exp.LTE(this=version, expression=self.found.settled_version())
        return by_kind(self.session, self.found, rows, exp.and_(settled, self.found.goes("r")))

    def _floor(self) -> Version:
        """The end of the latest version that goes, before which the past cannot be told."""
        if not self.found.looks_at_history:
            return 0
        end = self.found.table.format.subsequent_column
        latest: exp.Expr = exp.Max(this=column(end))
        query = exp.select(latest).from_(exp.alias_(exp.to_table(ENDED), "r"))
        query = query.where(self.found.unheld("r"))
        found = self.session.row(Query.of(query), {})[0]
        if found is None:
            return 0
        return found if isinstance(found, int) else from_datetime(found)
