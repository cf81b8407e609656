"""What a run of erasures has done, in any store. A value."""

from __future__ import annotations

from dataclasses import field

from journal.erasure.requests import ErasureRequest
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records.report import JobReport


@dataclass(slots=True)
class Erased:
    """What a run did: requests as they are now, jobs' reports, and what failed by table."""

    requests: list[ErasureRequest] = field(default_factory=list)
    reports: list[JobReport] = field(default_factory=list)
    failures: dict[str, PalimpsestError] = field(default_factory=dict)
