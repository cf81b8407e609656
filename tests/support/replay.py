"""Runs one program on two engines, statement by statement, and says where they part.

A statement the product refuses as not supported (0A000) is left out on the other side too: such
refusals are counted, not compared.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.support.engine import Engine
from tests.support.logic.runner import Disturbance
from tests.support.outcome import (
    UNSUPPORTED,
    Count,
    Failure,
    Outcome,
    Rows,
    comparable,
    describe,
    difference,
)
from tests.support.programs.step import Adoption, Step
from tests.support.programs.tables import SCHEMA

_MARKED = re.compile(r'(\w+)\.("[^"]*"|\w+)/\*@(\w+)\*/')
# The text of a list is a server's own; it is asked for what is the same on both sides.
_LIST_TEXT = re.compile(r'CAST\(((?:\w+\.)?(?:"[^"]*"|\w+)) AS VARCHAR /\* list \*/\)')
# A server has functions of its own: one that it lacks is a refusal.
_MISSING = frozenset({UNSUPPORTED, "42883"})
# Of a table that was refused, or a restore of a backup without rows.
_NO_UPKEEP = frozenset({UNSUPPORTED, "42P01", "55000"})
_NAMES = frozenset({"42703", "42P01", "42702", "42601"})
"""States of what is wrong whatever the values are."""
_FOLDED = "a constant is evaluated where no row would ask for it"


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


@dataclass(slots=True)
class Replay:
    """One program on its way through both engines, its schema named `schema`."""

    steps: Sequence[Step]
    schema: str
    expected: Engine
    tested: Engine
    tally: Tally
    session: str = "fuzz"
    place: int = 0
    busy: set[str] = field(default_factory=set)
    """Sessions that are in a transaction."""
    used: set[str] = field(default_factory=set)
    divergence: Divergence | None = None

    @property
    def in_transaction(self) -> bool:
        """Say whether one of the sessions is in a transaction."""
        return bool(self.busy)

    @property
    def ended(self) -> bool:
        """Say whether nothing is left to run."""
        return self.divergence is not None or self.place >= len(self.steps)

    def advance(self) -> None:
        """Run the next statement on both sides and compare."""
        step = self.steps[self.place]
        if step.mark:
            for engine in (self.tested, self.expected):
                engine.mark(self.schema + step.mark)
            self.place += 1
            return
        sql = self._text(step.sql, self.tested)
        name = self.session + step.session
        self.used.add(step.session)
        session = self.tested.session(name)
        if step.adoption is None:
            got = session.run(sql, step.values)
        else:
            got = self._adopted(step.adoption)
        if step.upkeep:
            self._kept_up(step, got, sql)
            return
        other = self.expected.session(f"fuzz{step.session}")
        self.tally.statements += 1
        of_server = self.tested.name.endswith("postgres") or self.expected.name == "postgres"
        if isinstance(got, Failure) and got.sqlstate in (_MISSING if of_server else {UNSUPPORTED}):
            key = got.message.split("\n")[0][:100]
            self.tally.refused[key] = self.tally.refused.get(key, 0) + 1
            other.refuse()
        elif step.odd and _misfits(got):
            other.refuse()
        else:
            wanted = other.run(self._text(step.sql, self.expected), step.values)
            if step.odd and _misfits(wanted) and not session.in_transaction and _is_idle(got):
                wanted = got
            if step.odd and _misfits(wanted):
                # What is known of both sides ends here.
                self.place = len(self.steps)
                self.busy.clear()
                return
            self.tally.failures += isinstance(wanted, Failure)
            if of_server and _folded(wanted, got):
                self.tally.refused[_FOLDED] = self.tally.refused.get(_FOLDED, 0) + 1
                other.refuse()
                wanted = got
            reason = _difference(wanted, got, ordered=step.ordered, numbers=of_server)
            if reason is None and other.in_transaction != session.in_transaction:
                reason = "one side is in a transaction, the other is not"
            if reason is not None:
                self.diverges(reason, describe(wanted), describe(got), sql)
                return
        (self.busy.add if session.in_transaction else self.busy.discard)(step.session)
        self.place += 1

    def _kept_up(self, step: Step, got: Outcome, sql: str) -> None:
        """Upkeep succeeds, unless there is nothing to keep up; the oracle does what it asked."""
        failed = isinstance(got, Failure) and got.sqlstate not in _NO_UPKEEP
        if failed or (isinstance(got, Rows) and "FAILED" in str(got.rows)):
            told = describe(got)
            self.diverges(f"upkeep fails: {told.splitlines()[0][:80]}", "no error", told, sql)
            return
        for part in () if isinstance(got, Failure) else step.instead:
            done = self.expected.session("fuzz").run(self._text(part, self.expected))
            assert not isinstance(done, Failure), f"the oracle fails at {part}: {done}"
        self.place += 1

    def _adopted(self, adoption: Adoption) -> Outcome:
        journal, name = (self._text(t, self.tested) for t in (adoption.journal, adoption.name))
        return self.tested.adopt(journal, name, adoption.key)

    def _text(self, sql: str, engine: Engine) -> str:
        """A statement in this program's schema, with marks as the engine spells them."""
        named = sql.replace(f"{SCHEMA}.", f"{self.schema}.").replace(
            f"CREATE SCHEMA {SCHEMA}", f"CREATE SCHEMA {self.schema}"
        )
        for of in ("search_path = {}", "SCHEMA {} ", "{}_role"):
            named = named.replace(of.format(SCHEMA), of.format(self.schema))
        if engine.name.endswith("postgres"):
            named = _LIST_TEXT.sub(r"('[' || array_to_string(\1, ', ', 'NULL') || ']')", named)
        return _MARKED.sub(lambda m: engine.marked(m[1], m[2], self.schema + m[3]), named)

    def diverges(self, reason: str, expected: str, got: str, sql: str = "") -> None:
        """End here, with a divergence."""
        place = min(self.place, len(self.steps) - 1)
        self.divergence = Divergence(place, sql or self.steps[place].sql, reason, expected, got)


def replay(replays: Sequence[Replay], tested: Engine, disturbance: Disturbance) -> None:
    """Run programs side by side, each up to where it is outside of a transaction, and so on.

    A flush follows every statement, and a restart every round: so each program sees a restart
    after each of its statements and transactions, and one restart serves them all. A flush reaches
    the tables of all programs, so one that is to be seldom is so over all of their statements.
    """
    often = disturbance.flush_every
    turns = itertools.count(1)

    def flush(program: Replay) -> None:
        if disturbance.flush and (often == 1 or next(turns) % (often * len(replays)) == 0):
            _flush(program, tested)

    while running := [program for program in replays if not program.ended]:
        for program in running:
            program.advance()
            flush(program)
            while program.in_transaction and not program.ended:
                program.advance()
                flush(program)
        if disturbance.restart:
            tested.restart()
            for program in running:
                program.expected.restart()


def _flush(program: Replay, tested: Engine) -> None:
    try:
        tested.flush()
    except Exception as error:  # noqa: BLE001 - whatever maintenance raises is a finding
        reason = f"maintenance failed: {type(error).__name__}: {error}"
        program.diverges(reason, "no error", reason)


def _difference(wanted: Outcome, got: Outcome, *, ordered: bool, numbers: bool) -> str | None:
    if isinstance(wanted, Failure) and isinstance(got, Failure):
        # Which of several violated constraints is named first is the engine's choice.
        if wanted.sqlstate[:2] == got.sqlstate[:2] == "23":
            return None
        # So is which of two unknown names, where a refused statement should have made one of them.
        if numbers and {wanted.sqlstate, got.sqlstate} == {"42703", "42P01"}:
            return None
    if numbers:
        wanted, got = comparable(wanted), comparable(got)
    return difference(wanted, got, ordered=ordered)


def _misfits(outcome: Outcome) -> bool:
    """Say whether a statement failed for the types of its values."""
    if not isinstance(outcome, Failure) or outcome.sqlstate in _NAMES:
        return False
    return outcome.sqlstate[:2] in {"22", "42"}


def _is_idle(outcome: Outcome) -> bool:
    """Say whether a statement found and changed nothing."""
    return outcome == Count(0) or (isinstance(outcome, Rows) and not outcome.rows)


def _folded(wanted: Outcome, got: Outcome) -> bool:
    """Say whether a server failed at a constant while it planned a query that finds no row."""
    failed = isinstance(got, Failure) and got.sqlstate[:2] == "22"
    return failed and isinstance(wanted, Rows) and not wanted.rows


def shrink(steps: Sequence[Step], diverges: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Leave out statements, many at a time and then one by one, while it still diverges."""
    kept = list(steps)
    size = max(1, len(kept) // 2)
    while size >= 1:
        place = 0
        while place < len(kept):
            shorter = _after_their_marks(kept[:place] + kept[place + size :])
            if diverges(shorter):
                kept = shorter
            else:
                place += size
        size //= 2
    return kept


def _after_their_marks(steps: Sequence[Step]) -> list[Step]:
    """The steps without those that read at marks which nothing before them makes."""
    made: set[str] = set()
    kept = []
    for step in steps:
        asked = {found[3] for sql in (step.sql, *step.instead) for found in _MARKED.finditer(sql)}
        if asked <= made:
            kept.append(step)
            made.add(step.mark)
    return kept
