"""Retention of files: removes expired rows, versions and history.

The dates in the data decide, never those of files. Files of which nothing goes are not read again
and stay listed; of which everything goes are only unlisted; the others are written anew on the
executors without the rows that go. ACTION = ARCHIVE keeps rows past their date as segments of their
own, retired until told. What is planned is exact: the store counts with the very conditions that
the executors filter by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime

from sqlglot import exp

from journal.erasure.holds import are_as_judged
from journal.files.parquet_files import checksum
from journal.local_engine.session import DuckDBSession
from journal.model.dependents import Dependents
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.model.version import Version, to_datetime
from journal.records.report import Volume
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.removals import Removal
from journal.transactions.expiry import Expiry
from journal.transactions.orphaned_rows import left_by_date
from journal.transactions.state import JournalState
from spark_compaction.backend import Replan
from spark_compaction.contract import Engine, JobPlan, Json, Progress, Replacement, Staged
from spark_compaction.programs.concurrent_updates import ended_meanwhile, show_lists
from spark_compaction.programs.expired_files import count_file
from spark_compaction.programs.retention_plan import Planning
from spark_compaction.programs.retention_rules import expiry
from spark_compaction.programs.unsealed import unsealed

_PARQUET = exp.Literal.string("parquet")
REWRITE = "spark_compaction.programs.expired_files:rewrite"


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
    def judged_version(self) -> Version:
        """The version up to which the last plan judged rows."""
        assert self.found is not None
        return self.found.settled

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """Count what goes, file by file."""
        table = journal.state.catalog.by_id(table_id)
        state = journal.state.tables[table_id]
        nothing = JobPlan(self.kind, table_id, "", state.manifest.generation, is_empty=True)
        if table is None:
            return replace(nothing, why="the table was dropped")
        nothing = replace(nothing, table=str(table.name))
        now = self.now or to_datetime(journal.clock.time_of_day())
        judged = expiry(journal, table, now, nothing)
        if isinstance(judged, JobPlan):
            return judged
        self.found = replace(judged, settled=settled, oldest=journal.oldest_snapshot())
        with journal.reading_session() as session:
            heads = unsealed(session, state, settled)
            segments = state.manifest.segments
            plan = Planning(journal, session, self.found, segments, heads).plan()
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
        written = Volume()
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
                if unit["archive"]:
                    archived.append(new)
                    continue
                added.append(new)
                written += Volume(len(files), new.counts.total, new.bytes)
            for path in item["archive"]:
                file = next(f for f in segment.files if f.path == path)
                counts = RowCounts(**item["archive"][path])
                name = f"{segment.id}-{file.path.rpartition('/')[2]}"
                archived.append(replace(segment, id=name, files=(file,), counts=counts))
        return Staged(
            Replacement(tuple(removed), tuple(added)),
            written=written,
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
        gone = RowCounts(**plan.details["rows"]).total
        if before != after + gone:
            raise _unverified(f"{before} rows became {after} and {gone}")
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
        with journal.reading_session() as session:
            if not are_as_judged(journal, session, found.table, found.holding):
                raise Replan("a legal hold was placed or released meanwhile")
        condition = found.expired()
        if condition is None:
            return ()
        generation = state.tables[table_id].manifest.generation + 1
        journal.removals.add(Removal(table_id, generation, condition))
        if found.policy.dependents is Dependents.REFUSE:
            with journal.reading_session() as session:
                show_lists(session, journal, found)
                left_by_date(session, journal.state, found)
        assert self._late is not None
        return ended_meanwhile(journal, state.tables[table_id], found, self._late)


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
