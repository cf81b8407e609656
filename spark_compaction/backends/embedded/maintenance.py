"""An embedded warehouse under maintenance: its segments are Parquet files, written by executors.

The process that owns the warehouse plans and swaps; only units of a stage go to the engine.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from journal.files.staging import close_folder, open_folders, remove_folder
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.version import Version
from journal.records import retired
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import retired_files
from journal.stores.embedded.integrity import damage_named
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.scratch_folders import sweep
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.backend import Alongside, TableAt
from spark_compaction.contract import Engine, Job, JobPlan, Json, Progress, Staged
from spark_compaction.programs.swap import Check, settled_version, swap

__all__ = ["Check", "FileProgram", "WarehouseBackend", "staged_folders"]
_LOG = logging.getLogger("palimpsest.jobs")


@dataclass(slots=True)
class WarehouseBackend:
    """One run on a warehouse; ``grace_us`` None keeps what it retires until told.

    ``check`` is asked in the commit section whether the swap is still right.
    """

    journal: Journal
    job_id: str
    grace_us: int | None
    wait_s: float = 0.0
    check: Check | None = None

    def now(self) -> Version:
        return self.journal.clock.now()

    @contextmanager
    def lock(self, table: Table) -> Iterator[None]:
        with job_turn(self.journal, table.id, self.wait_s):
            sweep(self.journal)
            yield

    @contextmanager
    def preview(self, table: Table) -> Iterator[TableAt]:
        with self.journal.sealing_lock(table.id):
            state = self.journal.state
            yield TableAt(table, state, state.version)

    def rotate_head(self, table: Table) -> TableAt:
        journal, listed = self.journal, self.journal.state.tables[table.id].manifest.segments
        with damage_named(journal.checker, listed):
            settled = settled_version(journal, table.id)
        state = journal.state
        return TableAt(state.tables[table.id].layouts[-1], state, settled)

    @contextmanager
    def staging(self, at: TableAt, plan: JobPlan) -> Iterator[None]:
        with self.journal.pins.hold(plan.inputs), staged_folders(self.journal, plan.folders):
            yield

    def swap(
        self, at: TableAt, plan: JobPlan, staged: Staged, alongside: Alongside | None
    ) -> tuple[str, ...]:
        if staged.replacement is None:
            return ()
        now = self.journal.clock.now()
        until = None if self.grace_us is None else now + self.grace_us
        return swap(
            self.journal,
            plan.table_id,
            staged.replacement,
            retired.Retirement(self.job_id, plan.kind, plan.why, now, until),
            self.check,
            archived=staged.archived,
            floor=staged.floor,
            moved=staged.moved,
        )

    def drop_retired(self, table: Table) -> int:
        found = retired_files.reap(self.journal, self.journal.clock.now(), table.id)
        return len(found.removed)

    def stoppable(self) -> AbstractContextManager[None]:
        """Units are small: the engine stops between two of them."""
        return nullcontext()


@dataclass(frozen=True, slots=True)
class FileProgram:
    """A job over segment files as the loop runs it: nothing is written anew from damaged files."""

    job: Job
    engine: Engine
    plans_ahead: bool = False

    @property
    def kind(self) -> str:
        """The job's."""
        return self.job.kind

    def plan(self, backend: WarehouseBackend, at: TableAt) -> JobPlan:
        """The job's; names the file if one cannot be read."""
        journal = backend.journal
        with damage_named(journal.checker, at.state.manifest.segments):
            return self.job.plan(journal, at.table.id, at.version)

    def stage(
        self, backend: WarehouseBackend, at: TableAt, plan: JobPlan, progress: Progress
    ) -> Staged:
        """Raises SEGMENT_DAMAGED for an altered file: what is written from it would pass for
        whole."""
        journal, inputs = backend.journal, set(plan.inputs)
        segments = journal.state.tables[plan.table_id].manifest.segments
        journal.checker.check_files(f for s in segments for f in s.files if f.path in inputs)
        return self.job.stage(journal, plan, self.engine, progress)

    def verify(
        self, backend: WarehouseBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Mapping[str, Json]:
        """The job's, once every new file is there."""
        root = backend.journal.root
        _check_files(root, staged)
        verified = self.job.verify(backend.journal, plan, staged)
        _merge_filters(root, plan)
        return verified

    def alongside(
        self, backend: WarehouseBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> None:
        """Nothing: the backend has the check of a job over files."""


def _merge_filters(root: Path, plan: JobPlan) -> None:
    """Make one sidecar of what the units have written into each folder."""
    for folder in plan.folders:
        if any((root / folder).glob("filters*.bloom")):
            from journal.files.filters.sidecar import merge_sidecars

            merge_sidecars(root / folder)


def _check_files(root: Path, staged: Staged) -> None:
    """Raise unless every new file is there, in its size; their checksums come from executors."""
    new = staged.replacement.new() if staged.replacement is not None else ()
    for file in (f for s in new for f in s.files):
        path = root / file.path
        size = path.stat().st_size if path.is_file() else None
        if size != file.bytes:
            found = "is missing" if size is None else f"has {size} bytes, not {file.bytes}"
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"the new file {file.path} {found}",
                advice="see that Spark's executors write where this process reads",
            )


@contextmanager
def staged_folders(journal: Journal, folders: Sequence[str]) -> Iterator[None]:
    """Folders that units may write into; in the end, what in them got listed nowhere goes."""
    journal.staged.update(folders)
    try:
        open_folders(journal.root, folders, journal.warehouse.modes)
        yield
    finally:
        for folder in folders:
            close_folder(journal.root, folder)
        listed: set[str] | None = None
        try:
            with journal.reading_session() as session:
                listed = rows_of.listed_paths(session) | retired.paths(session)
        except PalimpsestError as error:
            # Perhaps the store broke down in the swap: what is unlisted goes with the next start.
            _LOG.warning("staged files stay until the next start: %s", error)
        if listed is not None:
            for folder in folders:
                _tidy(journal.root, folder, listed)
        journal.staged.difference_update(folders)


def _tidy(root: Path, folder: str, listed: set[str]) -> None:
    found = root / folder
    if not any(path.startswith(f"{folder}/") for path in listed):
        remove_folder(found)
        return
    stray = [p for p in found.glob("*.parquet*") if f"{folder}/{p.name}" not in listed]
    for path in stray:
        path.unlink(missing_ok=True)
    if stray and any(found.glob("filters*.bloom")):
        from journal.files.filters.sidecar import drop_from_sidecar

        drop_from_sidecar(found, [p.name for p in stray])
