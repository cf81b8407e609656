"""The report of a job, planned or done: the only definition of its fields.

``palimpsest job --json``, ``CALL system.<kind>``, ``system.jobs`` and Python give these fields, of
every kind and on every store. docs/jobs.md says the same in words. Values; no work is done here.

    read      the pieces of the journal that the run replaces or looks through
    written   what is listed in their place
    removed   what the journal holds less: read less written; for a vacuum, what is deleted
    taken     those pieces one by one, and why; together they are ``read``
    skipped   what is left as it is, and why

Files are those of a warehouse, tables of a database, partitions in Hive; rows are journal rows. A
dry run says the same numbers as the run that follows at once, but those that ``inexact`` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from functools import reduce
from operator import getitem
from typing import Any

from journal.model.lazy_dataclass import dataclass

ESTIMATED = "estimated"
"""Nobody knows it before it is written; what is said is about right."""
UNKNOWN = "unknown"
"""The store does not say it: null in JSON, NULL in SQL."""


@dataclass(frozen=True, slots=True)
class Volume:
    """An amount of data."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Volume) -> Volume:
        return Volume(self.files + other.files, self.rows + other.rows, self.bytes + other.bytes)

    def minus(self, written: Volume) -> Volume:
        """What is gone when ``written`` takes the place of this: all its pieces, and some rows."""
        rows, size = self.rows - written.rows, self.bytes - written.bytes
        return Volume(self.files, rows, max(0, size))


@dataclass(frozen=True, slots=True)
class ReplacedSegment:
    """A segment, or the files of one, that a job replaces, and why."""

    segment: str
    files: int
    rows: int
    bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Part of a segment that a job leaves as it is, and why."""

    segment: str
    files: int
    why: str


NO_VOLUME = Volume()


def volume_of(taken: Iterable[ReplacedSegment]) -> Volume:
    """How much some segments are together."""
    return sum((Volume(t.files, t.rows, t.bytes) for t in taken), NO_VOLUME)


@dataclass(frozen=True, slots=True)
class Work:
    """What a job does to some pieces of a journal: done, or planned as far as it is known."""

    taken: tuple[ReplacedSegment, ...] = ()
    written: Volume = NO_VOLUME
    skipped: tuple[Skipped, ...] = ()
    inexact: Mapping[str, str] = field(default_factory=dict)

    @property
    def read(self) -> Volume:
        """What is taken, together."""
        return volume_of(self.taken)

    def __add__(self, other: Work) -> Work:
        skipped: dict[tuple[str, str], int] = {}
        for some in (*self.skipped, *other.skipped):
            skipped[some.segment, some.why] = skipped.get((some.segment, some.why), 0) + some.files
        return Work(
            (*self.taken, *other.taken),
            self.written + other.written,
            tuple(Skipped(name, files, why) for (name, why), files in skipped.items()),
            {**self.inexact, **other.inexact},
        )


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a job has done, or would do; ``state`` is planned, nothing or done (a failure raises).

    ``inexact`` names numbers that are ESTIMATED or UNKNOWN, as in ``written.bytes``. ``retired``
    is what is kept for a while though no manifest lists it, ``reaped`` how many pieces retired
    earlier were removed. ``details`` are of the kind of job.
    """

    id: str
    kind: str
    table: str
    state: str
    why: str = ""
    read: Volume = NO_VOLUME
    written: Volume = NO_VOLUME
    removed: Volume = NO_VOLUME
    taken: tuple[ReplacedSegment, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    inexact: Mapping[str, str] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    reaped: int = 0
    replans: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        work: Work, job_id: str, kind: str, table: str, state: str, why: str = "", **more: Any
    ) -> JobReport:
        """The report of some work; ``more`` are the other fields."""
        return JobReport(
            *(job_id, kind, table, state, why),
            read=work.read,
            written=work.written,
            removed=work.read.minus(work.written),
            taken=work.taken,
            skipped=work.skipped,
            inexact=work.inexact,
            **more,
        )

    @property
    def work(self) -> Work:
        """What it did to pieces of the journal."""
        return Work(self.taken, self.written, self.skipped, self.inexact)

    def to_json(self) -> dict[str, Any]:
        """A plain structure; unknown numbers are None."""
        plain = asdict(self)
        for name in (n for n, kind in self.inexact.items() if kind == UNKNOWN):
            *path, number = name.split(".")
            reduce(getitem, path, plain)[number] = None
        if self.inexact.get("read.bytes") == UNKNOWN:
            for taken in plain["taken"]:
                taken["bytes"] = None
        return plain

    def numbers(self) -> dict[str, int | None]:
        """``NUMBERS`` by name; None where it is unknown."""
        plain = self.to_json()
        return {name: plain[volume][number] for name, (volume, number) in _NUMBERS.items()}


_NUMBERS = {
    f"{number}_{volume}": (volume, number)
    for number in ("rows", "bytes")
    for volume in ("read", "written", "removed")
}
NUMBERS = tuple(_NUMBERS)
"""The numbers that have columns of their own: in the answer of CALL, and in ``system.jobs``."""
