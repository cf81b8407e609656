"""The oracle: ordinary mutable tables in DuckDB, with real keys; never touches the product.

Transactions and savepoints are the oracle's own, because DuckDB has no savepoints and because two
implementations of one idea prove more than one. A *version* is an attached in-memory database:

    BEGIN       the session reads the committed version, which is thereby frozen
    a write     goes to the session's version; a frozen one is copied first
    SAVEPOINT   freezes the session's version and remembers it
    COMMIT      makes the session's version the committed one, or merges it by key when somebody
                else committed meanwhile (see oracle_merge; overlapping keys are 40001)

Known differences from the SQL standard are repaired in oracle_repair, and only there.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from tests.support.control import Control, parse_control
from tests.support.oracle_errors import sqlstate_of
from tests.support.oracle_merge import ConflictFound, merge_into
from tests.support.oracle_repair import repaired
from tests.support.outcome import Count, Done, Failure, Outcome, Rows


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction: what it started from, its savepoints, and whether it has failed."""

    base: str
    savepoints: tuple[tuple[str, str], ...] = ()
    failed: bool = False


class OracleSession:
    """One client of the oracle."""

    def __init__(self, oracle: "Oracle") -> None:
        self._oracle = oracle
        self.transaction: Transaction | None = None
        self.own = ""

    @property
    def in_transaction(self) -> bool:
        """Say whether an explicit transaction is open."""
        return self.transaction is not None

    def versions(self) -> list[str]:
        """Return every version this session still refers to, once per reference."""
        if self.transaction is None:
            return []
        kept = [version for _, version in self.transaction.savepoints]
        return [self.transaction.base, self.own, *kept]

    def run(self, sql: str, values: Sequence[object] | None = None) -> Outcome:
        """Run one statement."""
        control = parse_control(sql)
        if control is not None:
            return self._control(control)
        if self.transaction is not None and self.transaction.failed:
            return _syntax_error(sql) or _FAILED
        outcome = self._oracle.execute(self, sql, values)
        if isinstance(outcome, Failure):
            self.refuse()
        return outcome

    def refuse(self) -> None:
        """Fail the open transaction, if there is one."""
        if self.transaction is not None:
            self.transaction = Transaction(
                self.transaction.base, self.transaction.savepoints, failed=True
            )

    def _control(self, control: Control) -> Outcome:
        if self.transaction is None:
            if control.kind != "begin":
                return Failure("25P01", "no transaction is open")
            self.own = self._oracle.committed
            self.transaction = Transaction(self.own)
            return Done()
        match control.kind:
            case "begin":
                self.refuse()
                return Failure("25001", "a transaction is already open")
            case "commit":
                return self._commit(self.transaction)
            case "rollback":
                self.transaction = None
                self._oracle.collect()
                return Done()
            case _:
                return self._savepoint(self.transaction, control)

    def _commit(self, transaction: Transaction) -> Outcome:
        outcome: Outcome
        self.transaction = None
        outcome = _FAILED if transaction.failed else self._oracle.commit(transaction.base, self.own)
        self._oracle.collect()
        return outcome

    def _savepoint(self, transaction: Transaction, control: Control) -> Outcome:
        points = transaction.savepoints
        if transaction.failed and control.kind != "rollback_to":
            return _FAILED
        if control.kind == "savepoint":
            points = (*points, (control.savepoint, self.own))
            self.transaction = Transaction(transaction.base, points)
            return Done()
        names = [name for name, _ in points]
        if control.savepoint not in names:
            self.refuse()
            return Failure("3B001", f"no savepoint {control.savepoint}")
        index = len(names) - 1 - names[::-1].index(control.savepoint)
        if control.kind == "rollback_to":
            self.own = points[index][1]
            index += 1
        self.transaction = Transaction(transaction.base, points[:index])
        self._oracle.collect()
        return Done()


@dataclass(slots=True)
class Oracle:
    """A plain mutable DuckDB in memory, with versions as attached databases."""

    name: str = "oracle"
    committed: str = ""
    _root: duckdb.DuckDBPyConnection = field(init=False)
    _sessions: dict[str, OracleSession] = field(init=False, default_factory=dict)
    _attached: set[str] = field(init=False, default_factory=set)
    _numbers: "itertools.count[int]" = field(init=False, default_factory=itertools.count)
    _current: str = field(init=False, default="memory")
    _marks: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._root = duckdb.connect(config={"python_enable_replacements": False, "threads": 1})
        self.committed = self._attach()

    def session(self, name: str) -> OracleSession:
        """Return the session of that name, opening it on first use."""
        if name not in self._sessions:
            self._sessions[name] = OracleSession(self)
        return self._sessions[name]

    def end(self, name: str) -> None:
        """Let the session of that name go."""
        self._sessions.pop(name, None)
        self.collect()

    def flush(self) -> None:
        """Do nothing: a plain database has nothing to seal."""

    def adopt(self, journal: str, name: str, key: tuple[str, ...]) -> Outcome:
        """Refuse: the oracle has tables, and no journals."""
        return Failure("0A000", f"{name} is no journal here")

    def mark(self, name: str) -> None:
        """Keep the committed version under a name."""
        self._marks[name] = self.committed

    def marked(self, schema: str, table: str, mark: str) -> str:
        """Return how a table is named in the version of a mark."""
        return f'"{self._marks[mark]}".{schema}.{table}'

    def restart(self) -> None:
        """Lose open transactions, as a closed connection does."""
        self._sessions.clear()
        self.collect()

    def close(self) -> None:
        """Let go of the database."""
        self._root.close()

    def execute(
        self, session: OracleSession, sql: str, values: Sequence[object] | None = None
    ) -> Outcome:
        """Run a statement in the session's version, or in the committed one outside of BEGIN."""
        try:
            statements = duckdb.extract_statements(sql)
            if len(statements) != 1:
                return Failure("42601", "one statement at a time")
            reads_only = _only_reads(statements[0])
            version = self.committed if session.transaction is None else session.own
            if not reads_only and self._references(version) > 1:
                version = self._copy(version)
                if session.transaction is None:
                    self.committed = version
                else:
                    session.own = version
            return self._execute_in(version, statements[0], values)
        except duckdb.Error as error:
            return Failure(sqlstate_of(error), str(error))

    def commit(self, base: str, own: str) -> Outcome:
        """Make `own` the committed version, merging it when somebody committed since `base`."""
        if base == self.committed:
            self.committed = own
            return Done()
        if own == base:
            return Done()
        merged = self._copy(self.committed)
        self._use("memory")
        try:
            merge_into(self._root, base=base, own=own, target=merged)
        except ConflictFound as conflict:
            return Failure("40001", str(conflict))
        except duckdb.Error as error:
            return Failure(sqlstate_of(error), str(error))
        self.committed = merged
        return Done()

    def collect(self) -> None:
        """Detach every version nobody refers to any more."""
        kept = {self.committed, *self._marks.values()}
        for session in self._sessions.values():
            kept.update(session.versions())
        for version in sorted(self._attached - kept):
            if version == self._current:
                self._use("memory")
            self._root.execute(f'DETACH "{version}"')
            self._attached.discard(version)

    def _execute_in(
        self, version: str, statement: duckdb.Statement, values: Sequence[object] | None
    ) -> Outcome:
        self._use(version)
        try:
            return _outcome(self._root.execute(statement, values), statement)
        except duckdb.ConstraintException as error:
            if sqlstate_of(error) in {"23503", "23000"}:
                raise
            copy = self._copy(version)
            try:
                outcome = repaired(self._root, version, copy, statement.query, values)
            finally:
                self._current = ""
                self._use("memory")
                self._root.execute(f'DETACH "{copy}"')
                self._attached.discard(copy)
            if outcome is None:
                raise
            return outcome

    def _references(self, version: str) -> int:
        sessions = self._sessions.values()
        count = sum(session.versions().count(version) for session in sessions)
        return count + (version == self.committed) + (version in self._marks.values())

    def _attach(self) -> str:
        version = f"oracle_{next(self._numbers)}"
        self._root.execute(f"ATTACH ':memory:' AS \"{version}\"")
        self._attached.add(version)
        return version

    def _copy(self, version: str) -> str:
        copy = self._attach()
        self._use("memory")
        self._root.execute(f'COPY FROM DATABASE "{version}" TO "{copy}"')
        return copy

    def _use(self, version: str) -> None:
        if version != self._current:
            self._root.execute(f'USE "{version}"')
            self._current = version


def _syntax_error(sql: str) -> Failure | None:
    try:
        duckdb.extract_statements(sql)
    except duckdb.Error as error:
        return Failure(sqlstate_of(error), str(error))
    return None


def _only_reads(statement: duckdb.Statement) -> bool:
    if statement.type != duckdb.StatementType.SELECT:
        return False
    return _WRITING_WORD.search(statement.query) is None


def _outcome(result: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> Rows | Count | Done:
    rows = result.fetchall()
    columns = tuple(str(column[0]) for column in result.description or ())
    expected = statement.expected_result_type
    # What EXECUTE returns is known by the statement that was prepared.
    executes = statement.type == duckdb.StatementType.EXECUTE
    changes = duckdb.ExpectedResultType.CHANGED_ROWS in expected or executes
    if changes and columns == ("Count",):
        return Count(int(rows[0][0])) if rows else Done()
    if duckdb.ExpectedResultType.QUERY_RESULT in expected and columns != ("Success",):
        return Rows(columns, tuple(rows))
    return Done()


_FAILED = Failure("25P02", "the transaction has failed; end it with ROLLBACK")
# A false alarm, say in a text literal, only costs a copy.
_WRITING_WORD = re.compile(r"\b(insert|update|delete|merge)\b", re.IGNORECASE)
