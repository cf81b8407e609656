"""Rows of service levels that were missed: once for each mark of an instance."""

from __future__ import annotations

from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import SERVICE_LEVELS
from journal.records.statements import by, delete, execute, insert, select, update

KEPT_FOR = timedelta(days=90)
"""How long what was met late stays."""
_ADD = insert(SERVICE_LEVELS)
_ALL = select(SERVICE_LEVELS, order=["kind", "entity", "nominal_time", "mark"])
_MEET = update(SERVICE_LEVELS, ["met_at"], by("kind", "entity", "nominal_time", "mark"))
_FORGET = delete(SERVICE_LEVELS, {"met_at": exp.LT})


@dataclass(frozen=True, slots=True)
class MissedLevel:
    """A mark of an instance that passed: when it was due, and when it was met after all."""

    kind: str
    entity: str
    nominal_time: datetime
    mark: str
    due_at: datetime
    missed_at: datetime
    met_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, datetime, str]:
        """What no other has."""
        return self.kind, self.entity, self.nominal_time, self.mark


def load_missed(session: RecordSession) -> list[MissedLevel]:
    """Every mark that was missed, also if it was met later."""
    return [MissedLevel(*map(_in_utc, row)) for row in execute(session, _ALL)]


def add_missed(session: RecordSession, row: MissedLevel) -> None:
    """Note that a mark was missed."""
    execute(session, _ADD, list(astuple(row)))


def meet_missed(session: RecordSession, row: MissedLevel, at: datetime) -> None:
    """Note that what was missed is there; what was met long ago is forgotten."""
    execute(session, _MEET, [at, *row.key])
    execute(session, _FORGET, [at - KEPT_FOR])


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
