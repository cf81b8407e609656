"""The policy of a table as a value: how long it keeps rows, versions and backups.

    RETENTION = 90 DAYS ON COLUMN ds ACTION = DELETE    rows, by the date in the data
    ARCHIVE = 's3://vault/old'                          where rows go that ACTION = ARCHIVE keeps
    HISTORY = 7 YEARS                                   superseded row versions, by their end
    VERSIONS = 5                                        row versions of one key
    BACKUP = 30 DAYS                                    what jobs have replaced
    LATE_ARRIVAL = 2 DAYS                               how late rows may still come
    REJECTS = 7 DAYS                                    rows of bulk loads that were left out
    LINEAGE = 2 YEARS                                   where it was filled from, since last seen
    REPLICATION = (TO 'dr', EVERY 2 HOURS)              where copies of it are kept up to date
    DEPENDENTS = REFUSE                                 no row goes by its date that others refer to
    HISTORY = NONE                                      no limit, whatever wider scopes state

A policy is kept as table properties ``policy_...``; the same properties may be set directly. Pure:
the clock comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from enum import StrEnum

from journal.model.cron import check_cron
from journal.model.dependents import Dependents
from journal.model.duration import Duration
from journal.model.failures import policy_error
from journal.model.lazy_dataclass import dataclass
from journal.model.places import is_elsewhere, local_path, shown_place, why_no_place
from journal.model.replication import Replication, read_replications, write_replications
from journal.model.schema import Column, Table, fold

PREFIX = "policy_"
RETENTION_COLUMN = f"{PREFIX}retention_column"
NONE = "none"
"""The value of a rule that is not to be taken from a wider scope."""
SCHEDULE = "schedule_"
DAY = timedelta(days=1)
DATED = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME")
TEXT = ("TEXT", "VARCHAR", "CHAR", "STRING", "BPCHAR", "NVARCHAR")
NUMBERS_MAX = 1_000_000


class RetentionAction(StrEnum):
    """What becomes of rows past their time."""

    DELETE = "DELETE"
    ARCHIVE = "ARCHIVE"


@dataclass(frozen=True, slots=True)
class Policy:
    """A table's policy; what is None is not limited. ``column`` is a physical name.

    ``archive`` is a URL or a folder; None keeps archived rows in the warehouse. ``schedules`` holds
    a cron line per kind of job; the rest limits its runs.
    """

    retention: Duration | None = None
    column: str | None = None
    action: RetentionAction = RetentionAction.DELETE
    archive: str | None = None
    history: Duration | None = None
    versions: int | None = None
    backup: Duration | None = None
    late_arrival: Duration | None = None
    rejects: Duration | None = None
    lineage: Duration | None = None
    dependents: Dependents | None = None
    attempts: int | None = None
    concurrency: int | None = None
    replication: tuple[Replication, ...] = ()
    schedules: tuple[tuple[str, str], ...] = ()

    @property
    def removes(self) -> bool:
        """True if a retention run may have rows to remove."""
        return not (self.retention is None and self.history is None and self.versions is None)

    def expired_before(self, now: datetime) -> datetime | None:
        """Rows dated before this are past their time; one dated exactly then is kept."""
        return None if self.retention is None else self.retention.before(now)

    def history_before(self, now: datetime) -> datetime | None:
        """Row versions that ended at or before this no longer answer any question that is kept."""
        return None if self.history is None else self.history.before(now)

    def every(self) -> timedelta:
        """How often retention runs: every 6 hours for less than a day, else every 24."""
        limits = [d.longest for d in (self.retention, self.history) if d is not None]
        return timedelta(hours=6) if limits and min(limits) < DAY else DAY


NAMES = {
    "retention": "retention",
    "retention_column": "column",
    "retention_action": "action",
    "archive": "archive",
    "history": "history",
    "versions": "versions",
    "backup": "backup",
    "late_arrival": "late_arrival",
    "rejects": "rejects",
    "lineage": "lineage",
    "dependents": "dependents",
    "max_attempts": "attempts",
    "max_concurrency": "concurrency",
    "replication": "replication",
}
"""Properties without their prefix, and the fields they set."""
_DURATIONS = frozenset({"retention", "history", "backup", "late_arrival", "rejects", "lineage"})
_NUMBERS = frozenset({"versions", "attempts", "concurrency"})


def is_policy(name: str) -> bool:
    """True for the properties that make up a policy."""
    return fold(name).startswith(PREFIX)


def policy_of(table: Table) -> Policy:
    """The policy that a table's properties state."""
    return read_policy(dict(table.properties))


def read_policy(properties: Mapping[str, str]) -> Policy:
    """The policy of some properties; raises POLICY for what none can mean."""
    policy = Policy()
    schedules: dict[str, str] = {}
    for name, value in properties.items():
        if not is_policy(name):
            continue
        key, is_none = fold(name).removeprefix(PREFIX), fold(value.strip()) == NONE
        if is_none and (key in NAMES or key.startswith(SCHEDULE)):
            continue
        if key.startswith(SCHEDULE):
            schedules[key.removeprefix(SCHEDULE)] = value
        elif key in NAMES:
            policy = _with(policy, NAMES[key], value)
        else:
            raise policy_error(
                f'there is no policy "{key.upper()}"', "use one of " + _shown_names()
            )
    return replace(policy, schedules=tuple(sorted(schedules.items())))


def _with(policy: Policy, field: str, value: str) -> Policy:
    found: object = value
    if field in _DURATIONS:
        found = Duration.parse(value)
    elif field in _NUMBERS:
        found = _number(field, value)
    elif field == "action":
        try:
            found = RetentionAction(value.upper())
        except ValueError:
            raise policy_error(f'"{value}" is no action', "use DELETE or ARCHIVE") from None
    elif field == "replication":
        found = read_replications(value)
    elif field == "dependents":
        found = _dependents(value)
    change: dict[str, object] = {field: found}
    return replace(policy, **change)  # type: ignore[arg-type]


def _dependents(value: str) -> Dependents:
    try:
        found = Dependents(value.strip().upper())
    except ValueError:
        raise policy_error(f"DEPENDENTS cannot be {value}", "use REPORT or REFUSE") from None
    if found is Dependents.CASCADE:
        raise policy_error(
            "DEPENDENTS cannot be CASCADE: retention removes rows by their own dates only",
            "give these tables a RETENTION of their own; use REPORT or REFUSE",
        )
    return found


def _number(field: str, value: str) -> int:
    if not value.strip().isdigit() or not 1 <= int(value) <= NUMBERS_MAX:
        name = next(n for n, f in NAMES.items() if f == field)
        raise policy_error(
            f"{name.upper()} cannot be {value}", f"give a whole number from 1 to {NUMBERS_MAX:,}"
        )
    return int(value)


def _shown_names() -> str:
    return ", ".join([*(n.upper() for n in NAMES), "SCHEDULE_<kind of job>"])


def check_own_policy(table: Table) -> None:
    """Raise POLICY if what a table itself states is nonsense; how rules agree is not looked at."""
    policy = policy_of(table)
    if policy.retention is not None:
        _check_column(table, policy)
    check_stated(policy)


def check_stated(policy: Policy) -> None:
    """Raise POLICY for what no scope may state, whatever its tables look like."""
    if policy.retention is None and policy.column is not None:
        raise policy_error(
            "a retention column without a retention",
            "write RETENTION = 90 DAYS ON COLUMN ds, or leave both out",
        )
    if policy.retention is not None and policy.column is None:
        raise policy_error(_UNDATED, "write RETENTION = 90 DAYS ON COLUMN ds")
    if policy.archive is not None:
        _check_archive(policy.archive)
    for clause in policy.replication:
        if shown_place(clause.target) != clause.target:
            raise policy_error(
                "the gateway records the target of a replication, and must not record a login",
                "leave it out of the URL: ~/.pgpass or the environment has it; or name a profile,"
                " which may have options",
            )
    for _, line in policy.schedules:
        check_cron(line)


_UNDATED = "a retention needs the column that dates the rows"


def _check_column(table: Table, policy: Policy) -> None:
    if policy.column is None:
        raise policy_error(_UNDATED, "write RETENTION = 90 DAYS ON COLUMN ds")
    found = next((c for c in table.columns if c.physical == policy.column), None)
    if found is None:
        raise policy_error(
            f'the retention of {table.name} needs the column "{policy.column}", which it lacks',
            "name a column of the table; UNSET POLICY (RETENTION) before the column is dropped",
        )
    if not is_dated(found):
        raise policy_error(
            f'column "{found.name}" is {found.type}, which cannot date rows',
            "use a DATE or TIMESTAMP column, or text that begins YYYY-MM-DD",
        )


def check_archived(policy: Policy, place: str | None) -> None:
    """Raise POLICY for a place of archived rows where a policy archives none."""
    if place is None:
        return
    if policy.retention is None or policy.action is not RetentionAction.ARCHIVE:
        raise policy_error(
            "ARCHIVE names a place, but the policy archives no rows",
            "write RETENTION = 90 DAYS ON COLUMN ds ACTION = ARCHIVE as well, or leave it out",
        )


def _check_archive(place: str) -> None:
    if shown_place(place) != place:
        raise policy_error(
            "the gateway records the place of an archive, and must not record a login",
            "leave it out of the URL; the environment or fsspec's configuration has it",
        )
    why = why_no_place(place)
    if why is None and not is_elsewhere(place) and not local_path(place).is_absolute():
        why = "it is a relative path"
    if why is not None:
        raise policy_error(
            f"the gateway cannot archive rows in {place}: {why}",
            "name a URL such as s3://bucket/folder, or an absolute folder",
        )


def check_late(policy: Policy) -> None:
    """Raise POLICY where rows or versions go while they may still arrive."""
    late = policy.late_arrival
    if late is None:
        return
    for name, limit in (("RETENTION", policy.retention), ("HISTORY", policy.history)):
        if limit is not None and limit.shortest <= late.longest:
            raise policy_error(
                f"{name} = {limit} is not longer than LATE_ARRIVAL = {late}",
                "keep rows for longer than they may arrive late",
            )


def is_dated(column: Column) -> bool:
    """True for a column whose values can date a row."""
    kind = column.type.upper()
    return kind.startswith(DATED) or kind.startswith(TEXT)


def with_physical_column(
    properties: Mapping[str, str], columns: Iterable[Column]
) -> dict[str, str]:
    """Properties in which the retention column goes by its physical name, which never changes."""
    result = dict(properties)
    key = next((n for n in result if fold(n) == RETENTION_COLUMN), None)
    if key is not None:
        named = {fold(c.name): c.physical for c in columns}
        result[key] = named.get(fold(result[key]), result[key])
    return result


def rule_of(name: str) -> str:
    """The rule that a property belongs to: RETENTION has a column and an action besides."""
    key = fold(name).removeprefix(PREFIX)
    return ("retention" if key.startswith("retention_") else key).upper()


def policy_rows(table: Table) -> list[tuple[str, str]]:
    """Name and value of everything a table itself states, as people write it."""
    return stated_rules(table.properties, {c.physical: c.name for c in table.columns})


def stated_rules(
    properties: Sequence[tuple[str, str]], columns: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Name and value of each rule that properties state, as people write it.

    ``columns`` are the names of a table's columns by their physical ones; None: they go by name.
    """
    policy = read_policy(dict(properties))
    none = [rule_of(n) for n, v in properties if is_policy(n) and fold(v.strip()) == NONE]
    rows: list[tuple[str, str]] = []
    names = {field: name for name, field in NAMES.items()}
    for entry in fields(policy):
        value = getattr(policy, entry.name)
        name = names.get(entry.name, "").upper()
        if name in none:
            rows.append((name, NONE.upper()))
        if entry.name in {"schedules", "column", "action"} or value is None or value == ():
            continue
        text = write_replications(value) if entry.name == "replication" else str(value)
        if entry.name == "retention":
            known = {} if columns is None else columns
            column = known.get(policy.column or "", "?" if columns is not None else policy.column)
            text += f" ON COLUMN {column} ACTION = {policy.action}"
        rows.append((name, text))
    rows += [(f"{SCHEDULE}{kind}".upper(), line) for kind, line in policy.schedules]
    return rows + [(n, NONE.upper()) for n in none if n.startswith(SCHEDULE.upper())]
