"""Where a table is replicated to, how often, and which tables are replicas. Pure.

    REPLICATION = (TO 'profile', EVERY 2 HOURS, DELAY 1 HOUR, TO 'palimpsest:////vault')
    REPLICATION = (TO 'profile', PARTITION (region = 'zurich'))

A clause begins with TO. Its instances have the nominal times ``start``, ``start`` + EVERY, ..; one
runs DELAY after its nominal time: with EVERY 2 HOURS and DELAY 1 HOUR, that of 08:00 runs at 09:00.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from journal.model.duration import Duration
from journal.model.errors import Code, PalimpsestError, Position
from journal.model.failures import policy_error
from journal.model.lazy_dataclass import dataclass
from journal.model.replica_parts import Partition
from journal.model.schema import Table

REPLICA_OF = "replica_of"
"""The property of a table that is a replica: the id of the store that it follows."""
TARGETS_MAX = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Replication:
    """One clause of a policy.

    - ``target``: a declared profile, or a URL.
    - ``every``, ``delay``: how often it runs, and how long after an instance's nominal time.
    - ``start``, ``end``: the window of nominal times; open where None.
    - ``partition``: which part of a table of several sources the replica is; None if it is whole.
    - ``parallel``: how many files are copied at once; ``bandwidth``: MB a second, all together.
    """

    target: str
    every: Duration | None = None
    delay: Duration | None = None
    start: datetime | None = None
    end: datetime | None = None
    parallel: int | None = None
    bandwidth: int | None = None
    partition: Partition | None = None

    def __str__(self) -> str:
        parts = [f"TO {quoted_text(self.target)}"]
        parts += [] if self.partition is None else [f"PARTITION {self.partition}"]
        parts += [] if self.every is None else [f"EVERY {self.every}"]
        parts += [] if self.delay is None else [f"DELAY {self.delay}"]
        parts += [] if self.start is None else [f"START {quoted_text(self.start.isoformat())}"]
        parts += [] if self.end is None else [f"END {quoted_text(self.end.isoformat())}"]
        parts += [] if self.parallel is None else [f"PARALLEL {self.parallel}"]
        parts += [] if self.bandwidth is None else [f"BANDWIDTH {self.bandwidth}"]
        return ", ".join(parts)

    @property
    def names_profile(self) -> bool:
        """True where the target is the name of a profile, and no URL or path."""
        return not {"/", ":"} & set(self.target)

    def within(self, start: datetime | None, end: datetime | None) -> Replication:
        """The clause in the window that it has in common with its target: the later start, the
        earlier end."""
        starts = [m for m in (self.start, start) if m is not None]
        ends = [m for m in (self.end, end) if m is not None]
        return replace(self, start=max(starts) if starts else None, end=min(ends) if ends else None)

    def nominal(self, now: datetime) -> datetime | None:
        """The nominal time of the newest instance that is due at ``now``; None if none is yet.

        Nominal times are counted from the window's start, or from midnight of 1970-01-01 in UTC.

        >>> hours = Replication("r", Duration.parse("2 hours"), Duration.parse("1 hour"))
        >>> hours.nominal(datetime(2024, 5, 1, 9, 59, tzinfo=UTC)).isoformat()
        '2024-05-01T08:00:00+00:00'
        """
        if self.every is None:
            return None
        latest = now - self._lag
        origin = self.start or _EPOCH
        if self.end is not None and latest >= self.end:
            latest = self.end - timedelta(microseconds=1)
        if latest < origin:
            return None
        step = self.every.longest
        return origin + step * ((latest - origin) // step)

    def is_due(self, last: datetime | None, now: datetime) -> bool:
        """True if the newest instance that is due has not run; ``last`` is when one began last."""
        nominal = self.nominal(now)
        if nominal is None:
            return False
        return last is None or last < nominal + self._lag

    @property
    def _lag(self) -> timedelta:
        return timedelta() if self.delay is None else self.delay.longest

    def following(self, now: datetime) -> datetime | None:
        """When the next instance after ``now`` runs; None if there is none."""
        if self.every is None:
            return None
        nominal = self.nominal(now)
        following = (self.start or _EPOCH) if nominal is None else nominal + self.every.longest
        return None if self.end is not None and following >= self.end else following + self._lag


def replica_source(table: Table) -> str | None:
    """The id of the store that a replica follows; None for a table of its own."""
    return dict(table.properties).get(REPLICA_OF)


def replica_refusal(table: Table, position: Position | None = None) -> PalimpsestError:
    """The error of a change to a replica."""
    return PalimpsestError(
        Code.REPLICA,
        f"{table.name} is a replica, and only its source changes it",
        advice="write to the source; or `palimpsest replica promote` lets it take writes here",
        position=position,
    )


def read_replications(text: str) -> tuple[Replication, ...]:
    """The clauses of a policy; raises POLICY for what none can mean.

    >>> [str(r) for r in read_replications("TO 'dr', EVERY 2 HOURS, DELAY 1 HOUR")]
    ["TO 'dr', EVERY 2 hours, DELAY 1 hour"]
    """
    found: list[Replication] = []
    for word, value in _items(text):
        if word == "TO":
            found.append(Replication(value))
        elif not found:
            raise policy_error(f"{word} stands before TO", "begin with TO 'profile'")
        else:
            found[-1] = _with(found[-1], word, value)
    if not found or len(found) > TARGETS_MAX:
        raise policy_error(
            "REPLICATION names no target" if not found else f"more than {TARGETS_MAX} targets",
            "write REPLICATION = (TO 'profile', EVERY 2 HOURS, DELAY 1 HOUR)",
        )
    for clause in found:
        _check(clause)
    if len({c.target for c in found}) < len(found):
        raise policy_error("REPLICATION names a target twice", "give each one clause")
    return tuple(found)


def write_replications(found: Iterable[Replication]) -> str:
    """The text of some clauses."""
    return ", ".join(map(str, found))


def _with(clause: Replication, word: str, value: str) -> Replication:
    fields: Mapping[str, str] = {w: w.lower() for w in _WORDS}
    if word not in fields:
        raise policy_error(
            f"REPLICATION does not take {word}", "it takes " + ", ".join(("TO", *_WORDS))
        )
    name = fields[word]
    if getattr(clause, name) is not None:
        raise policy_error(f"{word} stands twice", "give it once behind each TO")
    given: object = value
    if word in {"EVERY", "DELAY"}:
        given = Duration.parse(value)
    elif word in {"START", "END"}:
        given = _moment(word, value)
    elif word in {"PARALLEL", "BANDWIDTH"}:
        given = _number(word, value)
    elif word == "PARTITION":
        given = Partition.parse(value)
    change: dict[str, object] = {name: given}
    return replace(clause, **change)  # type: ignore[arg-type]


_WORDS = ("PARTITION", "EVERY", "DELAY", "START", "END", "PARALLEL", "BANDWIDTH")


def _check(clause: Replication) -> None:
    for word, found in (("EVERY", clause.every), ("DELAY", clause.delay)):
        if found is not None and found.shortest != found.longest:
            raise policy_error(
                f"{word} {found} is not a fixed length of time", "use MINUTES, HOURS, DAYS or WEEKS"
            )
    if clause.start is not None and clause.end is not None and clause.end <= clause.start:
        raise policy_error("END is not after START", "leave it out, or move it")
    if clause.delay is not None and clause.every is None:
        raise policy_error("REPLICATION has DELAY without EVERY", "write EVERY 2 HOURS as well")


def _items(text: str) -> list[tuple[str, str]]:
    """Words and their values, by commas outside of quotes."""
    items: list[str] = [""]
    quoted = False
    for char in text:
        quoted ^= char == "'"
        if char == "," and not quoted:
            items.append("")
        else:
            items[-1] += char
    found = []
    for item in items:
        word, _, value = item.strip().partition(" ")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] == "'":
            value = value[1:-1].replace("''", "'")
        if not word or not value:
            raise policy_error(
                f"{item.strip() or 'nothing'} is not a clause of REPLICATION",
                "write TO 'profile', EVERY 2 HOURS, DELAY 1 HOUR",
            )
        found.append((word.upper(), value))
    return found


def _moment(word: str, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise policy_error(
            f"{word} {text} is not a point in time",
            "write '2024-05-01' or '2024-05-01T12:00:00+00:00'",
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _number(word: str, text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise policy_error(f"{word} cannot be {text}", "give a whole number from 1 to 1,000,000")
    return int(text)


def quoted_text(text: str) -> str:
    """A text as a policy states it."""
    return "'" + text.replace("'", "''") + "'"
