"""What a run of erasures has done or would do, in any store. Values."""

from __future__ import annotations

from dataclasses import dataclass, field

from journal.erasure.requests import Request
from journal.errors import PalimpsestError
from journal.jobs.contract import JobReport, Volume


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be written anew, the rows that would go, and how many files were looked at."""

    read: Volume = field(default_factory=Volume)
    rows: int = 0
    searched: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Erased:
    """What a run did: requests as they are now, jobs' reports, and what failed by table."""

    requests: list[Request] = field(default_factory=list)
    reports: list[JobReport] = field(default_factory=list)
    failures: dict[str, PalimpsestError] = field(default_factory=dict)
