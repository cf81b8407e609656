"""What one run of a job is given, and what makes a kind of job. Values; no work is done here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.procedures import embedded
from journal.errors import Code, PalimpsestError
from journal.jobs.contract import Engine, JobReport, Progress
from journal.journal import Journal
from journal.policy import Policy, policy_of
from journal.schema import Table
from journal.version import to_datetime

if TYPE_CHECKING:
    from gateway.session import Session


@dataclass(frozen=True, slots=True)
class JobContext:
    """One run on one table. ``now`` is the moment policies are applied at; None: the clock's."""

    session: Session
    table: Table
    options: Mapping[str, Any]
    job_id: str
    dry_run: bool
    engine: Callable[[], Engine]
    progress: Progress
    log: Callable[[str], None]
    now: datetime | None = None

    @property
    def journal(self) -> Journal:
        """The journals of the warehouse."""
        return embedded(self.session, "a job")

    @property
    def moment(self) -> datetime:
        """The moment policies are applied at."""
        return self.now or to_datetime(self.journal.clock.now())

    @property
    def policy(self) -> Policy:
        """The table's policy."""
        return policy_of(self.table)

    def text(self, name: str) -> str | None:
        """An option as text."""
        found = self.options.get(name)
        return None if found is None else str(found)

    def number(self, name: str) -> int | None:
        """An option as a whole number of at least 1; raises SETTING_VALUE for others."""
        found = self.options.get(name)
        if found is None:
            return None
        if not str(found).isdigit() or int(found) < 1:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{name} cannot be {found!r}",
                advice="give a whole number of at least 1",
            )
        return int(found)

    def flag(self, name: str) -> bool:
        """An option that is on or off."""
        return str(self.options.get(name) or "").lower() in {"true", "1", "yes", "on"}


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: found by its name, among ours or under the entry points ``palimpsest.jobs``.

    ``options`` names the arguments it takes besides the table.
    """

    name: str
    about: str
    run: Callable[[JobContext], JobReport]
    options: tuple[str, ...] = ()
