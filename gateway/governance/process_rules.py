"""How a declared process runs, and when the data of a dataset is there: its fields as values. Pure.

parallel: 2, order: LIFO, timeout: 3 HOURS, catch_up: LAST
retry:      {policy: EXPONENTIAL, delay: 10 MINUTES, attempts: 3, on_timeout: true}
late_data:  {policy: PERIODIC, delay: 1 HOUR, inputs: [{dataset: flights, sql: ..}]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import lru_cache

from gateway.governance.entity import Entity
from gateway.governance.expressions import parse_expression, text_of
from journal.model.duration import NUMBER_MAX, Duration, Unit
from journal.model.lazy_dataclass import dataclass

STEPS = ("sql", "job", "spark")
"""The fields of which a process has one: what it runs."""
PERIODS = 6
"""How many periods an instance may wait, or run, where the process says nothing."""
TIMEOUT_MIN = timedelta(minutes=30)
_PATTERN = re.compile(r"\{([^{}]*)\}")


class CatchUp(StrEnum):
    """What becomes of nominal times that passed while nobody looked, of which there are several."""

    NONE = "NONE"
    LAST = "LAST"
    ALL = "ALL"


class RunOrder(StrEnum):
    """Which of several instances that are ready runs first."""

    FIFO = "FIFO"
    LIFO = "LIFO"
    LAST_ONLY = "LAST_ONLY"


class RepeatPolicy(StrEnum):
    """After which delays something is done again: one each time, doubled each time, or once."""

    PERIODIC = "PERIODIC"
    EXPONENTIAL = "EXPONENTIAL"
    FINAL = "FINAL"


class Availability(StrEnum):
    """What shows that the data of an instance is there."""

    WRITTEN = "WRITTEN"
    PRODUCED = "PRODUCED"
    ROWS = "ROWS"
    FLAG = "FLAG"


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often, and when, an instance that failed is tried again."""

    policy: RepeatPolicy = RepeatPolicy.PERIODIC
    delay: Duration = Duration(10, Unit.MINUTES)
    attempts: int = 0
    on_timeout: bool = False

    def next_try(self, tries: int, ended: datetime) -> datetime | None:
        """When to try again after so many tries, the last of which ended then; None: not any more.

        >>> from datetime import UTC
        >>> rule = RetryRule(RepeatPolicy.EXPONENTIAL, attempts=3)
        >>> ended = datetime(2024, 1, 1, tzinfo=UTC)
        >>> [f"{rule.next_try(n, ended):%H:%M}" for n in (1, 2, 3)], rule.next_try(4, ended)
        (['00:10', '00:20', '00:40'], None)
        """
        most = min(self.attempts, 1) if self.policy is RepeatPolicy.FINAL else self.attempts
        if tries > most:
            return None
        return delayed(ended, self.delay, self.policy, tries - 1)


@dataclass(frozen=True, slots=True)
class LateRule:
    """How often the inputs of an instance that has run are looked at, and what a change runs.

    ``handlers`` has the statements for a dataset, None where the process runs again.
    """

    policy: RepeatPolicy
    delay: Duration
    handlers: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ProcessRules:
    """How the instances of a process run."""

    parallel: int
    order: RunOrder
    timeout: timedelta
    retry: RetryRule
    catch_up: CatchUp
    late: LateRule | None


@lru_cache(maxsize=4096)
def process_rules(process: Entity) -> ProcessRules:
    """The rules that a process declares, with what holds where it says nothing."""
    fields = process.fields
    every, retry = Duration.parse(fields["every"]), fields.get("retry", {})
    timeout = (
        Duration.parse(fields["timeout"]).longest
        if "timeout" in fields
        else max(TIMEOUT_MIN, PERIODS * every.longest)
    )
    return ProcessRules(
        fields.get("parallel", 1),
        RunOrder(fields.get("order", RunOrder.FIFO)),
        timeout,
        RetryRule(
            RepeatPolicy(retry.get("policy", RepeatPolicy.PERIODIC)),
            Duration.parse(retry.get("delay", "10 MINUTES")),
            retry.get("attempts", 3) if retry else 0,
            retry.get("on_timeout", False),
        ),
        CatchUp(fields.get("catch_up", CatchUp.ALL)),
        _late_rule(process),
    )


def store_profile(process: Entity) -> str | None:
    """The profile of the store in which a process runs; None: the one that has its instances.

    That of a Spark application says nothing: what it does is its own affair.
    """
    fields = process.fields
    return None if "spark" in fields else fields.get("profile")


def _late_rule(process: Entity) -> LateRule | None:
    fields = process.fields
    if "late_data" not in fields:
        return None
    late = fields["late_data"]
    inputs = late.get("inputs") or fields.get("inputs", ())
    return LateRule(
        RepeatPolicy(late.get("policy", RepeatPolicy.EXPONENTIAL)),
        Duration.parse(late.get("delay", "3 HOURS")),
        {use["dataset"]: use.get("sql") for use in inputs},
    )


def delayed(moment: datetime, delay: Duration, policy: RepeatPolicy, before: int) -> datetime:
    """The moment after a delay, which is doubled for each time before where the policy says so."""
    times = 2 ** min(before, 20) if policy is RepeatPolicy.EXPONENTIAL else 1
    return Duration(min(delay.number * times, NUMBER_MAX), delay.unit).after(moment)


def check_pattern(text: str) -> None:
    """Raise EXPRESSION for a path whose ``{yyyy-MM-dd}`` is no format."""
    for found in _PATTERN.finditer(text):
        parse_expression(f"formatTime(now(0, 0), '{found[1]}')")


def path_at(pattern: str, moment: datetime, zone: tzinfo) -> str:
    """A path with the date of an instance: each ``{yyyy-MM-dd}`` as its wall clock shows it.

    >>> from datetime import UTC
    >>> path_at("/in/{yyyy}/{MM}-{dd}/_SUCCESS", datetime(2013, 1, 31, tzinfo=UTC), UTC)
    '/in/2013/01-31/_SUCCESS'
    """

    def date_text(found: re.Match[str]) -> str:
        return text_of(parse_expression(f"formatTime(now(0, 0), '{found[1]}')"), moment, zone)

    return _PATTERN.sub(date_text, pattern)
