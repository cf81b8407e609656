"""The smallest job there is: every segment of a table is copied, and the copies are listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from journal.files.parquet_files import checksum
from journal.model.errors import Code, PalimpsestError
from journal.model.segment import Segment
from journal.model.version import Version
from journal.records.report import ReplacedSegment, Volume
from journal.stores.embedded.journal import Journal
from spark_compaction.contract import Engine, JobPlan, Json, Progress, Replacement, Staged


class CopyJob:
    """Copies; ``between`` is called after the copies are written, to interfere."""

    kind = "copy"

    def __init__(self, between: Callable[[], None] | None = None, spoil: bool = False) -> None:
        self._between = between
        self._spoil = spoil

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        manifest = journal.state.tables[table_id].manifest
        segments = [s for s in manifest.segments if s.max_version <= settled]
        table = journal.state.tables[table_id].layouts[-1]
        folder = f"main/{table.journal_name.name}/{journal.new_segment_id()}"
        files = [f.path for s in segments for f in s.files]
        return JobPlan(
            self.kind,
            table_id,
            str(table.name),
            manifest.generation,
            is_empty=not files,
            why="asked for",
            taken=tuple(
                ReplacedSegment(s.id, len(s.files), s.counts.total, s.bytes, "asked for")
                for s in segments
            ),
            inputs=tuple(files),
            folders=(folder,),
            task={"segments": [s.to_json() for s in segments]},
        )

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        segments = [Segment.from_json(s) for s in plan.task["segments"]]
        names = {p: f"{plan.folders[0]}/copy_{n}.parquet" for n, p in enumerate(plan.inputs)}
        units = [[str(journal.root / old), str(journal.root / new)] for old, new in names.items()]
        engine.map("tests.support.copy_job:copy", units, progress)
        if self._between is not None:
            self._between()
        added = [
            replace(s, id=f"copy{n}", files=tuple(replace(f, path=names[f.path]) for f in s.files))
            for n, s in enumerate(segments)
        ]
        volume = Volume(len(names), sum(s.counts.total for s in added))
        if self._spoil:
            (journal.root / names[plan.inputs[0]]).write_bytes(b"spoiled")
        return Staged(Replacement(tuple(segments), tuple(added)), written=volume)

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        assert staged.replacement is not None
        for file in (f for s in staged.replacement.added for f in s.files):
            if checksum(journal.root / file.path) != file.checksum:
                raise PalimpsestError(Code.JOB_VERIFICATION, f"{file.path} is not its original")
        return {"copied": len(plan.inputs)}


def copy(unit: list[str]) -> int:
    """Copy one file, on an executor."""
    old, new = unit
    shutil.copyfile(old, new)
    return Path(new).stat().st_size
