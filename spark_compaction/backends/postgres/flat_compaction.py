"""Compaction of an adopted journal: what has ended moves out of it, to a segment of our own.

The latest row of each key stays in the journal, so classic readers see the same rows, and every
AS OF answer stays. Rows of the journal are not counted, so mode ``auto`` never finds it due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment, Tier
from journal.records.report import ReplacedSegment, Volume, volume_of
from journal.sql.relations import union_all
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.stores.postgres import flat, layout
from spark_compaction.backend import JoinedRows, Piece, SetBasedBackend, TableAt
from spark_compaction.contract import JobPlan, Json, Progress, Replacement, Staged
from spark_compaction.planner import NOTHING_TO_REWRITE, WITHIN_LIMITS
from spark_compaction.programs.compaction_sql import BYTES
from spark_compaction.programs.journal_rows import journal_names

_WHY = "superseded versions move to history"


@dataclass(slots=True)
class FlatCompaction:
    """The job for one table; ``_anew`` is what takes the journal's place."""

    mode: str
    kind: str = "compact"
    plans_ahead: bool = True
    _anew: Segment | None = field(default=None, init=False)

    def plan(self, backend: SetBasedBackend, at: TableAt) -> JobPlan:
        """How many rows stay, and how many go to history."""
        table, journal = at.table, at.pieces[0].segments[0]
        nothing = JobPlan(
            *("compact", table.id, str(table.name), at.state.manifest.generation), is_empty=True
        )
        if self.mode == "auto":
            return replace(nothing, why=WITHIN_LIMITS)
        ended = flat.rows_of_tiers(table)[Tier.HISTORY]
        (left, _), (moved, _) = backend.fingerprints([flat.latest(table), ended])
        rows = journal.counts.total
        if rows == left:
            return replace(nothing, why=NOTHING_TO_REWRITE)
        taken = (ReplacedSegment(table.journal_name.name, 1, rows, backend.size(journal), _WHY),)
        size = volume_of(taken).bytes * (left + moved) // rows
        return replace(
            nothing,
            is_empty=False,
            taken=taken,
            written=Volume(1 + bool(moved), left + moved, size),
            inexact=dict.fromkeys(BYTES, backend.sizes),
            details={"current_rows": left, "history_rows": moved},
        )

    def stage(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, progress: Progress
    ) -> Staged:
        """Write the latest rows to a table like the journal, and a segment of what has ended."""
        table, journal = _with_all_columns(at), at.pieces[0]
        fields = fields_of(table)
        names = journal_names(table, fields)
        latest = JoinedRows(journal.tier, names, as_written=(flat.latest(table),))
        self._anew = backend.write(at, journal, latest, anew=False)
        assert self._anew is not None
        history = flat.rows_of_tiers(table)[Tier.HISTORY]
        assert isinstance(history, exp.Select)
        ended = backend.write(
            replace(at, table=table),
            Piece(Tier.HISTORY, fields, ()),
            JoinedRows(Tier.HISTORY, names, as_written=(history,)),
            anew=False,
        )
        made = tuple(s for s in (self._anew, ended) if s is not None)
        size = sum(backend.size(s) for s in made)
        written = Volume(len(made), sum(s.counts.total for s in made), size)
        return Staged(Replacement(journal.segments, made), written)

    def verify(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Mapping[str, Json]:
        """Current rows and ended versions say the same through old tables and new ones."""
        assert staged.replacement is not None
        assert self._anew is not None
        table = _with_all_columns(at)
        tiers, target = flat.rows_of_tiers(table), layout.segment_table(self._anew)
        rest = [
            rows_in_layout(table, layout.segment_table(s), s.fields)
            for s in staged.replacement.added
            if s is not self._anew
        ]
        ended = [flat.reading_from(tiers[Tier.HISTORY], table, target), *rest]
        before = [tiers[Tier.BASE], tiers[Tier.HISTORY]]
        after = [flat.reading_from(tiers[Tier.BASE], table, target), union_all(ended)]
        found = backend.fingerprints([*before, *after])
        if found[:2] != found[2:]:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"writing {table.journal_name} anew would change its rows",
                advice="nothing was changed; look for rows of equal key and version in the journal",
            )
        return {}

    def alongside(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> None:
        """Nothing: a swap looks whether others wrote to the journal."""


def _with_all_columns(at: TableAt) -> Table:
    """The table with every column it ever had: the journal has them still."""
    columns = {c.physical: replace(c, name=c.physical) for t in at.state.layouts for c in t.stored}
    return replace(at.table, columns=tuple(columns.values()))
