"""Runs the records of a logic file against an engine and says what differs; never stops early.

Labels a record can be skipped or chosen by: the engine's name (`gateway`, `oracle`), the store's
where it is not the embedded one (`postgres`, `hive`), `spark` where the server of a Hive store is
asked for all that reads journals, and `flush` and `restart` when that disturbance runs after every
statement.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.engine import Engine, Session
from tests.support.logic.records import Command, Query, Record, Statement
from tests.support.outcome import Count, Failure, Outcome, Rows, describe
from tests.support.values import kind_of, render_row

DEFAULT_CONNECTION = "default"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happens after statements that may write; answers must not change by it.

    With ``memory_rows`` a statement of more rows writes them to sealed files at once, past what a
    head has; then random programs begin with ``seed_rows`` rows a table, so that such statements
    come about, and heads are flushed after each ``flush_every``th statement only.
    """

    flush: bool = False
    restart: bool = False
    memory_rows: int | None = None
    seed_rows: int = 0
    flush_every: int = 1

    @property
    def name(self) -> str:
        """Return the name the tests show."""
        if self.memory_rows is not None:
            return "tiers"
        parts = [name for name in ("flush", "restart") if getattr(self, name)]
        return "_and_".join(parts) or "plain"


CONFIGURATIONS = {
    setting.name: setting
    for setting in (
        Disturbance(),
        Disturbance(flush=True),
        Disturbance(restart=True),
        Disturbance(flush=True, restart=True),
    )
}
TIERS = Disturbance(flush=True, memory_rows=8, seed_rows=24, flush_every=4)
"""Rows of a table lie in the head, in sealed files behind it and in files past it, all at once."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A record that did not give what the file says."""

    line: int
    sql: str
    reason: str
    got: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}\n{self.sql}\n-- got:\n{self.got}"


def run_records(
    records: Sequence[Record], engine: Engine, disturbance: Disturbance = Disturbance()
) -> list[Mismatch]:
    """Run records in order and return every mismatch."""
    run = _Run(engine, disturbance)
    mismatches: list[Mismatch] = []
    for record in records:
        if not record.applies(run.labels):
            continue
        action = record.action
        if isinstance(action, Command):
            if action.verb == "halt":
                break
            run.command(action)
            continue
        outcome = run.statement(action.sql)
        reason = run.judge(action, outcome)
        if reason is not None:
            mismatches.append(Mismatch(record.line, action.sql, reason, describe(outcome)))
    return mismatches


def complete(record: Record, outcome: Outcome) -> list[str]:
    """Return the lines of a record, filled in with what an engine really gave."""
    action = record.action
    if isinstance(action, Command):
        return [f"{action.verb} {action.argument}".strip()]
    sql = action.sql.split("\n")
    match outcome:
        case Rows():
            kinds = _kinds(outcome)
            sort = "nosort" if isinstance(action, Query) and action.ordered else "rowsort"
            label = action.label if isinstance(action, Query) else ""
            head = " ".join(filter(None, ["query", kinds or "?", sort, label]))
            return [head, *sql, "----", *rows_text(outcome, ordered=sort == "nosort")]
        case Count():
            return [f"statement count {outcome.count}", *sql]
        case Failure():
            return [f"statement error {outcome.sqlstate}", *sql]
    return ["statement ok", *sql]


def rows_text(outcome: Rows, *, ordered: bool) -> list[str]:
    """Return result rows as lines of a logic file."""
    lines = [render_row(row) for row in outcome.rows]
    return lines if ordered else sorted(lines)


@dataclass(slots=True)
class _Run:
    engine: Engine
    disturbance: Disturbance
    connection: str = DEFAULT_CONNECTION
    labelled: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    opened: dict[str, Session] = dataclasses.field(default_factory=dict)

    @property
    def labels(self) -> frozenset[str]:
        names = {name for name in ("flush", "restart") if getattr(self.disturbance, name)}
        return frozenset(names | set(self.engine.name.split("+")))

    def command(self, command: Command) -> None:
        match command.verb:
            case "connection":
                self.connection = command.argument
            case "flush":
                self.engine.flush()
            case "restart":
                self.restart()

    def restart(self) -> None:
        self.engine.restart()
        self.opened.clear()

    def statement(self, sql: str) -> Outcome:
        session = self.engine.session(self.connection)
        self.opened[self.connection] = session
        outcome = session.run(sql)
        if _only_reads(sql):
            return outcome
        if self.disturbance.flush:
            self.engine.flush()
        idle = not any(opened.in_transaction for opened in self.opened.values())
        if self.disturbance.restart and idle:
            self.restart()
        return outcome

    def judge(self, action: Statement | Query, outcome: Outcome) -> str | None:
        if isinstance(action, Statement):
            return _judge_statement(action, outcome)
        if not isinstance(outcome, Rows):
            return "expected rows"
        got = rows_text(outcome, ordered=action.ordered)
        expected = list(action.expected) if action.ordered else sorted(action.expected)
        if got != expected:
            return "rows differ; expected:\n" + "\n".join(expected)
        if action.label and self.labelled.setdefault(action.label, got) != got:
            return f"rows differ from an earlier query labelled {action.label}"
        return _judge_kinds(action.types, outcome)


def _only_reads(sql: str) -> bool:
    """True for a query after which a disturbance would find what it found before it."""
    words = sql.lower()
    reads = words.startswith(("select", "from", "values", "show", "describe"))
    return reads and "nextval" not in words and "setval" not in words


def _judge_statement(action: Statement, outcome: Outcome) -> str | None:
    match action.expect, outcome:
        case "error", Failure(sqlstate=state):
            matches = state.startswith(action.argument)
            return None if matches else f"expected error {action.argument}"
        case "error", _:
            return f"expected error {action.argument}"
        case _, Failure():
            return "unexpected error"
        case "count", Count(count=count) if count == int(action.argument):
            return None
        case "count", _:
            return f"expected count {action.argument}"
        case _:
            return None


def _judge_kinds(types: str, outcome: Rows) -> str | None:
    if set(types) == {"?"}:
        return None
    if len(types) != len(outcome.columns):
        return f"expected {len(types)} columns, got {len(outcome.columns)}"
    for expected, got in zip(types, _kinds(outcome), strict=True):
        if expected != got and "?" not in (expected, got):
            return f"expected kinds {types}, got {_kinds(outcome)}"
    return None


def _kinds(outcome: Rows) -> str:
    kinds = []
    for place in range(len(outcome.columns)):
        found = {kind_of(row[place]) for row in outcome.rows} - {"?"}
        kinds.append(found.pop() if len(found) == 1 else "?")
    return "".join(kinds)
