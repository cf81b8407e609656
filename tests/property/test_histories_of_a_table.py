"""Random histories of one table against plain Python: every answer about the past is equal.

Each example is a list of statements, flushes and restores; afterwards every state, all row
versions, and changes between random versions are compared with the model's.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.embedded.positions import Thresholds
from tests.property.model import Model, State
from tests.support.positions import always_by_position

KEYS = st.integers(0, 5)
VALUES = st.one_of(st.none(), st.integers(-3, 3), st.just(2**62))
STEPS = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=3)),
    st.tuples(st.just("add"), KEYS),
    st.tuples(st.just("move"), KEYS),
    st.tuples(st.just("restore"), st.integers(0, 20)),
    st.tuples(st.just("together"), KEYS),
    st.just(("truncate", None)),
    st.just(("flush", None)),
)
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as made:
        yield made


class History:
    """One table, and the model that must agree with it."""

    def __init__(self, connection: Connection) -> None:
        self.run = connection
        self.table = f"h{next(NUMBERS)}"
        self.model = Model()
        self.rows(f"CREATE TABLE {self.table} (k INTEGER PRIMARY KEY, v BIGINT)")
        self.first = self.version()

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        cursor = self.run.execute(sql, list(parameters) or None)
        return sorted(cursor.fetchall(), key=repr) if cursor.description else []

    def version(self) -> int:
        return int(self.rows("SELECT max(version) FROM system.transactions")[0][0])

    def keep(self, state: State, written: set[int]) -> None:
        if written:
            self.model.put(self.version(), state, frozenset(written))

    def step(self, kind: str, given: Any) -> None:
        getattr(self, f"_{kind}")(given)

    def _put(self, given: list[tuple[int, object]]) -> None:
        rows = dict(given)
        values = ", ".join("(?, ?)" for _ in rows)
        sql = f"INSERT INTO {self.table} VALUES {values}"
        sql += " ON CONFLICT (k) DO UPDATE SET v = excluded.v"
        self.rows(sql, *itertools.chain.from_iterable(rows.items()))
        self.keep({**self.model.now, **rows}, set(rows))

    def _delete(self, given: list[int]) -> None:
        self.rows(f"DELETE FROM {self.table} WHERE k IN ({', '.join('?' for _ in given)})", *given)
        gone = set(given) & self.model.now.keys()
        self.keep({k: v for k, v in self.model.now.items() if k not in gone}, gone)

    def _add(self, given: int) -> None:
        """One statement over many rows, each written over."""
        self.rows(f"UPDATE {self.table} SET v = k * 2 WHERE k >= ?", given)
        written = {k for k in self.model.now if k >= given}
        self.keep({k: k * 2 if k in written else v for k, v in self.model.now.items()}, written)

    def _move(self, given: int) -> None:
        """A changed key is a row that ends and another that begins."""
        self.rows(f"UPDATE {self.table} SET k = k + 10 WHERE k = ?", given)
        state = dict(self.model.now)
        if given not in state or given + 10 in state:
            return
        state[given + 10] = state.pop(given)
        self.keep(state, {given, given + 10})

    def _truncate(self, given: None) -> None:
        self.rows(f"TRUNCATE {self.table}")
        self.keep({}, set(self.model.now))

    def _flush(self, given: None) -> None:
        self.rows("CALL system.flush()")

    def _restore(self, given: int) -> None:
        """Only rows that differ are written again."""
        if not self.model.states:
            return
        version = self.model.states[given % len(self.model.states)][0]
        self.rows(f"RESTORE TABLE {self.table} TO VERSION AS OF {version}")
        now, then = self.model.now, dict(self.model.at(version))
        missing = object()
        differ = {k for k in now | then if now.get(k, missing) != then.get(k, missing)}
        self.keep(then, differ)

    def _together(self, given: int) -> None:
        """Two statements of one transaction are one step to everybody else, seen from its end."""
        other = given + 20
        if other in self.model.now:
            return
        self.rows("BEGIN")
        self.rows(f"INSERT INTO {self.table} VALUES (?, ?)", other, 1)
        self.rows(f"DELETE FROM {self.table} WHERE k = ?", given)
        self.rows("COMMIT")
        state = {**self.model.now, other: 1}
        state.pop(given, None)
        self.keep(state, {other} | ({given} & self.model.now.keys()))


@pytest.mark.long
@given(steps=st.lists(STEPS, max_size=12), picked=st.tuples(st.integers(0, 20), st.integers(0, 20)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_answer_about_the_past(
    connection: Connection, steps: list[tuple[str, Any]], picked: tuple[int, int]
) -> None:
    history = History(connection)
    for kind, given_ in steps:
        if kind == "move" and given_ + 10 in history.model.now and given_ in history.model.now:
            continue
        history.step(kind, given_)
    table, model = history.table, history.model
    assert history.rows(f"SELECT * FROM {table}") == sorted(model.now.items(), key=repr)
    for version, _ in [(history.first, {}), *model.states]:
        past = history.rows(f"SELECT * FROM {table} VERSION AS OF {version}")
        assert past == sorted(model.at(version), key=repr)
    _compare_lives(history)
    _compare_blame(history)
    versions = [history.first, *(version for version, _ in model.states)]
    first, last = sorted(versions[place % len(versions)] for place in picked)
    for low, high in ((first, last), (history.first, versions[-1])):
        found = history.rows(
            f"SELECT k, v, _change_type, _version FROM table_changes('{table}', {low}, {high})"
        )
        assert _of_transactions(history, found, 3) == model.changes(low, high)
        net = f"SELECT k, v, _change_type FROM table_diff('{table}', {low}, {high})"
        assert history.rows(net) == model.difference(low, high)
    history.rows(f"DROP TABLE {table}")


@pytest.mark.long
@given(steps=st.lists(STEPS, max_size=12))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_state_read_by_position(steps: list[tuple[str, Any]]) -> None:
    """The same rows by position and by anti-join, after each step and after a restart."""
    with tempfile.TemporaryDirectory() as folder, always_by_position():
        with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as connection:
            history = History(connection)
            read = f"SELECT * FROM {history.table}"
            first: list[tuple[str, Any]] = [("put", [(1, 1), (2, 2)]), ("flush", None)]
            for kind, given_ in [*first, ("delete", [1]), *steps]:
                if kind == "move" and {given_, given_ + 10} <= history.model.now.keys():
                    continue
                history.step(kind, given_)
                assert history.rows(read) == sorted(history.model.now.items(), key=repr)
        with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as connection:
            history.run = connection
            assert history.rows(read) == sorted(history.model.now.items(), key=repr)
            keeper = connection.session.journal.positions
            keeper.thresholds = Thresholds(rows_max=-1)
            history.rows("CREATE TABLE other (k INTEGER)")
            assert history.rows(read) == sorted(history.model.now.items(), key=repr)


def _compare_lives(history: History) -> None:
    found = history.rows(
        "SELECT k, v, epoch_us(valid_from), epoch_us(valid_to)"
        f" FROM table_history('{history.table}')"
    )
    lives = _of_transactions(history, _of_transactions(history, found, 2), 3)
    assert lives == history.model.lives()


def _compare_blame(history: History) -> None:
    blamed = history.model.blame()
    rows = history.rows(f"SELECT k, v, version FROM table_blame('{history.table}')")
    assert rows == sorted([(k, v, written) for k, v, written, _ in blamed], key=repr)
    cells = history.rows(
        "SELECT k, value, version"
        f" FROM table_blame('{history.table}', columns => true) WHERE column_name = 'v'"
    )
    shown = [(k, None if v is None else str(v), set_at) for k, v, _, set_at in blamed]
    assert cells == sorted(shown, key=repr)


def _of_transactions(
    history: History, rows: list[tuple[Any, ...]], place: int
) -> list[tuple[Any, ...]]:
    """Rows with the version of a statement put as that of its whole transaction."""
    ends = sorted(version for version, _ in history.model.states)

    def whole(version: int | None) -> int | None:
        return None if version is None else next(end for end in ends if end >= version)

    return sorted(((*r[:place], whole(r[place]), *r[place + 1 :]) for r in rows), key=repr)
