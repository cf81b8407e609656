"""The contract of every job: plan, stage, verify, swap, retire, report.

    plan     what would be read, written and left alone, and why     (a dry run ends here)
    stage    new segments are written, listed nowhere
    verify   they say what the old ones said
    swap     the manifest lists them instead, if the old ones are all still live; else plan anew
    retire   the old ones are kept until their grace ends
    report   rows, bytes and files; seconds per step

A job may be killed at any step and run again. All values here are frozen and become plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records.report import NO_VOLUME, ReplacedSegment, Skipped, Volume, volume_of

if TYPE_CHECKING:
    # Executors load this module, and have no use for all that a journal needs.
    from journal.model.schema import Table
    from journal.model.store_session import StoreSession
    from journal.stores.embedded.journal import Journal

Json = Any
"""A value that JSON can say: None, bool, int, float, str, list, dict."""

Progress = Callable[[str, int, int], None]
"""Told the step, how many of its units are done, and of how many."""

Watching = Callable[["StoreSession"], AbstractContextManager[None]]
"""Gives a block in which whoever stops the run interrupts a session of the store."""


def silent(_step: str, _done: int, _total: int) -> None:
    """The progress nobody looks at."""


def unwatched(_session: StoreSession) -> AbstractContextManager[None]:
    """For a run that nobody stops."""
    return nullcontext()


GRACE_US = 24 * 3600 * 1_000_000
"""How long what a job replaced stays, in microseconds, where nothing else was said."""


class Workers(Protocol):
    """Who does the work of a job, as the caller's settings say. Each raises JOB_ENGINE.

    A store takes the kind of worker that it has use for.
    """

    def files(self, size: int) -> Engine:
        """What works on so many bytes of files."""

    def jdbc(self) -> Engine | None:
        """What reads and writes rows through a driver; None: the server does it."""

    def application(self) -> Engine | None:
        """What runs statements with the metastore of a server; None: the server runs them."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Which table a job is to work on, for which run, and how long what is replaced stays.

    ``progress`` may raise, until the swap, and so stop the run; ``watching`` lets whoever stops it
    interrupt the store meanwhile. ``workers``: None where the store does the work by itself.
    """

    table: Table
    job_id: str
    dry_run: bool = False
    grace_us: int = GRACE_US
    progress: Progress = silent
    workers: Workers | None = None
    watching: Watching = unwatched


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What a job would do to one table.

    ``taken`` is what it replaces and ``written`` what it lists instead; ``inexact`` says which of
    their numbers are not exact. ``inputs`` are the paths that will be read; they are not removed
    while the job runs.
    ``folders`` are new ones, relative to the warehouse, that the stage writes its files in: the
    runner makes and opens them, and removes whatever in them does not get listed. ``task`` is what
    the stage hands to the engine. A plan that ``is_empty`` ends the job: nothing to do.
    """

    kind: str
    table_id: int
    table: str
    generation: int
    is_empty: bool = False
    why: str = ""
    taken: tuple[ReplacedSegment, ...] = ()
    written: Volume = NO_VOLUME
    inexact: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    task: Mapping[str, Json] = field(default_factory=dict)
    details: Mapping[str, Json] = field(default_factory=dict)

    @property
    def read(self) -> Volume:
        """What is taken, together."""
        return volume_of(self.taken)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Live segments that go, and what is listed instead.

    A segment of which only some files go is removed, and listed again with the files that stay.
    """

    removed: tuple[Segment, ...]
    added: tuple[Segment, ...]

    def removed_segments(self) -> tuple[Segment, ...]:
        """What is removed and not listed again, by segment; only the files that go."""
        kept = {f.path for s in self.added for f in s.files}
        found = []
        for segment in self.removed:
            files = tuple(f for f in segment.files if f.path not in kept)
            if files:
                found.append(replace(segment, files=files))
        return tuple(found)

    def new(self) -> tuple[Segment, ...]:
        """What was not listed before, by segment; only the new files."""
        known = {f.path for s in self.removed for f in s.files}
        found = []
        for segment in self.added:
            files = tuple(f for f in segment.files if f.path not in known)
            if files:
                found.append(replace(segment, files=files))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Staged:
    """What stage has written: nothing to swap is None; ``details`` go into the report.

    ``written`` is what is listed in the place of what was taken; what is archived is no part of it.
    ``archived`` segments are retired with the swap, and kept until told; ``floor`` is the version
    before which the table's past cannot be told any more. ``moved`` says what an erasure has made
    of files, by their paths, so that backups follow; None: nothing is left of it. Where it
    ``removes_rows``, no transaction that began before can commit changes of the table; where it
    ``ends_grace``, what was replaced earlier goes as well, unless a backup lists it.
    """

    replacement: Replacement | None = None
    written: Volume = NO_VOLUME
    details: Mapping[str, Json] = field(default_factory=dict)
    archived: tuple[Segment, ...] = ()
    floor: Version = 0
    moved: Mapping[str, SegmentFile | None] = field(default_factory=dict)
    removes_rows: bool = False
    ends_grace: bool = False


class Engine(Protocol):
    """Runs functions elsewhere, JSON in and JSON out. A function is named ``package.module:name``.

    Both raise JOB_FAILED when the function raises. ``progress`` is told again and again while the
    function works, and may raise: the engine then stops the function and raises that error.
    """

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit, on whatever executors there are; results in order."""

    def run(self, function: str, task: Mapping[str, Json], progress: Progress) -> Json:
        """``function(cluster, task, progress)``, once, beside the Spark session."""


class Cluster(Protocol):
    """What a function that runs beside the Spark session is given."""

    @property
    def spark(self) -> Any:
        """The Spark session."""

    @property
    def refused(self) -> type[Exception]:
        """What Spark raises for a statement that it cannot run."""

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit on the executors; results in order."""


class Job(Protocol):
    """One kind of job on one table at a time; found by its ``kind`` through entry points."""

    @property
    def kind(self) -> str:
        """Its name: compact, purge, retain ..."""

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """What is to be done now; reads, writes nothing.

        Rows up to version ``settled`` are worked on. They all stand in segments, but in a dry run,
        which seals nothing: there ``unsealed`` tells what sealing would make of heads.
        """

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        """Write new segments in ``plan.folders``, units by ``staging.attempt``; list nothing."""

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        """Raise JOB_VERIFICATION unless the new segments say what they should; for the report."""
