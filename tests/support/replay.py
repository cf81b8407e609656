"""Runs one program on two engines, statement by statement, and says where they part.

A statement the product refuses as not supported (0A000) is left out on the other side too: such
refusals are counted, not compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.support.engine import Engine
from tests.support.logic.runner import Disturbance
from tests.support.outcome import UNSUPPORTED, Failure, Outcome, describe, difference
from tests.support.programs.step import Step
from tests.support.programs.tables import SCHEMA

FlushTables = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where and how two engines part."""

    place: int
    sql: str
    reason: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"-- {self.reason}\n{self.sql}\n-- expected:\n{self.expected}\n-- got:\n{self.got}"


@dataclass(slots=True)
class Tally:
    """What happened over many programs."""

    programs: int = 0
    statements: int = 0
    failures: int = 0
    refused: dict[str, int] = field(default_factory=dict)


def replay(
    steps: Sequence[Step],
    schema: str,
    expected: Engine,
    tested: Engine,
    disturbance: Disturbance,
    tally: Tally,
) -> Divergence | None:
    """Run steps on both engines with the program's schema named `schema`."""
    for place, step in enumerate(steps):
        sql = step.sql.replace(f"{SCHEMA}.", f"{schema}.").replace(
            f"CREATE SCHEMA {SCHEMA}", f"CREATE SCHEMA {schema}"
        )
        session = tested.session("fuzz")
        got = session.run(sql)
        other = expected.session("fuzz")
        tally.statements += 1
        if isinstance(got, Failure) and got.sqlstate == UNSUPPORTED:
            key = got.message.split("\n")[0][:100]
            tally.refused[key] = tally.refused.get(key, 0) + 1
            other.refuse()
            continue
        wanted = other.run(sql)
        tally.failures += isinstance(wanted, Failure)
        reason = _difference(wanted, got, ordered=step.ordered)
        if reason is None and other.in_transaction != session.in_transaction:
            reason = "one side is in a transaction, the other is not"
        if reason is not None:
            return Divergence(place, sql, reason, describe(wanted), describe(got))
        reason = _disturb(tested, disturbance, idle=not session.in_transaction)
        if reason is not None:
            return Divergence(place, sql, reason, "no error", reason)
    return None


def _disturb(tested: Engine, disturbance: Disturbance, *, idle: bool) -> str | None:
    try:
        if disturbance.flush:
            tested.flush()
        if disturbance.restart and idle:
            tested.restart()
    except Exception as error:  # noqa: BLE001 - whatever maintenance raises is a finding
        return f"maintenance failed: {type(error).__name__}: {error}"
    return None


def _difference(wanted: Outcome, got: Outcome, *, ordered: bool) -> str | None:
    if isinstance(wanted, Failure) and isinstance(got, Failure):
        # Which of several violated constraints is named first is the engine's choice.
        if wanted.sqlstate[:2] == got.sqlstate[:2] == "23":
            return None
    return difference(wanted, got, ordered=ordered)


def shrink(steps: Sequence[Step], diverges: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Leave out statements, many at a time and then one by one, while it still diverges."""
    kept = list(steps)
    size = max(1, len(kept) // 2)
    while size >= 1:
        place = 0
        while place < len(kept):
            shorter = kept[:place] + kept[place + size :]
            if diverges(shorter):
                kept = shorter
            else:
                place += size
        size //= 2
    return kept
