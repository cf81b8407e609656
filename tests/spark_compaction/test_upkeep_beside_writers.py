"""Every job in random order while threads insert, update and delete: no retained answer changes.

Writers note what each commit did, under the message it was committed with; its version says where
it belongs. Replayed in plain Python in the order of versions, these notes are the oracle for every
state there was. Retention and erasures take their rows out of all of them: what they removed is
compared in the end, everything else also while they run.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import gateway
from journal.erasure.erasure_spec import ErasureSpec
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure
from spark_compaction.erasure.acceptance import accept
from tests.support.client import Client

Row = tuple[date | None, str | None, int]
Rows = dict[int, Row]
START = date(2024, 1, 1)
KEYS, DAYS, WRITERS = 24, 10, 3
PEOPLE = ("ada", "bob", "cyd", "dan")
_ASKED_MAX = 30
_ROW = "k, ds, who, v"
_SERIALIZATION, _ERASED = "40001", "PAL-306"

_step = st.one_of(
    st.sampled_from([("flush",), ("minor",), ("major",), ("vacuum",), ("alter",), ("backup",)]),
    st.sampled_from([("minor",), ("major",)]),
    st.tuples(st.just("retain"), st.integers(0, DAYS // 2)),
    st.tuples(st.just("restore"), st.integers(0, 3)),
    st.tuples(st.just("erase"), st.sampled_from(PEOPLE[2:])),
)
_steps = st.lists(_step, min_size=3, max_size=9)


@dataclass(slots=True)
class _Log:
    """What commits did, by their messages: rows as they are from then on, None for no row.

    ``passed`` are all rows that a transaction wrote, also those that it wrote over itself.
    """

    effects: dict[str, dict[int, Row | None]] = field(default_factory=dict)
    passed: dict[str, list[tuple[int, Row | None]]] = field(default_factory=dict)
    bumped: set[str] = field(default_factory=set)
    seen: list[tuple[int, int, Rows, Rows]] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)


class _Writer:
    """A client that changes rows of all keys, in statements and in transactions."""

    def __init__(self, root: Path, number: int, seed: int, log: _Log) -> None:
        self.run = Client(root)
        self.run("SET memory_rows = 5")
        self.number, self.count, self.log = number, 0, log
        self.random = random.Random(seed * 31 + number)

    def write(self) -> None:
        self.count += 1
        message = f"w{self.number}-{self.count}"
        self.run(f"SET commit_message = '{message}'")
        time.sleep(0.02)
        together = self.random.random() < 0.3
        effects: dict[int, Row | None] = {}
        bumped = False
        try:
            if together:
                self.run("BEGIN")
                for _ in range(self.random.randint(1, 3)):
                    change = self._change()
                    # What the next change replaces is a version, too, and may name somebody.
                    self.log.passed.setdefault(message, []).extend(change.items())
                    effects |= change
                self.run("COMMIT" if self.random.random() < 0.8 else "ROLLBACK")
            elif self.random.random() < 0.3:
                effects, bumped = self._bump(), True
            else:
                effects = self._change()
        except gateway.Error as error:
            if error.sqlstate != _SERIALIZATION and error.code != _ERASED:
                raise
            if together:
                self.run("ROLLBACK")
            return
        self.log.effects[message] = effects
        if bumped:
            self.log.bumped.add(message)

    def _change(self) -> dict[int, Row | None]:
        key, dice = self.random.randrange(KEYS), self.random.random()
        if dice < 0.2:
            low = key - self.random.randrange(3)
            gone = self.run(f"DELETE FROM t WHERE k BETWEEN ? AND ? RETURNING {_ROW}", low, key)
            return {k: None for k, *_ in gone}
        if dice < 0.4:
            person = self.random.choice(PEOPLE)
            return _kept(
                self.run(f"UPDATE t SET who = ? WHERE k = ? RETURNING {_ROW}", person, key)
            )
        day = self.random.choice([None, *range(DAYS)])
        ds = None if day is None else START + timedelta(days=day)
        put = self.run(
            f"INSERT INTO t ({_ROW}) VALUES (?, ?, ?, ?) ON CONFLICT (k) DO UPDATE SET"
            f" ds = excluded.ds, who = excluded.who, v = excluded.v RETURNING {_ROW}",
            *(key, ds, self.random.choice([None, *PEOPLE]), self.random.randrange(100)),
        )
        return _kept(put)

    def _bump(self) -> dict[int, Row | None]:
        key = self.random.randrange(KEYS)
        sql = f"UPDATE t SET v = v + 1 WHERE k BETWEEN ? AND ? RETURNING {_ROW}"
        return _kept(self.run(sql, key, key + 2))


def _kept(rows: list[Any]) -> dict[int, Row | None]:
    return {k: (ds, who, v) for k, ds, who, v in rows}


def _rows(found: list[Any]) -> Rows:
    rows = {k: (ds, who, v) for k, ds, who, v in found}
    assert len(rows) == len(found), "a key occurs twice"
    return rows


class _History:
    """The table, its jobs, and the comparison of all its states."""

    def __init__(self, root: Path, seed: int) -> None:
        self.log = _Log()
        self.run = Client(root)
        self.run(
            "CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, who VARCHAR, v INTEGER)"
            " WITH (erasure = 'who')"
        )
        self.run("ALTER TABLE t SET POLICY (RETENTION = 1 DAY ON COLUMN ds ACTION = DELETE)")
        self.run("SET commit_message = 'first'")
        self.log.effects["first"] = dict(_kept([(k, None, None, k) for k in range(0, KEYS, 2)]))
        self.run("INSERT INTO t SELECT k, NULL, NULL, k FROM range(0, ?, 2) r(k)", KEYS)
        self.run("SET commit_message = 'upkeep'")
        self.writers = [_Writer(root, n, seed, self.log) for n in range(WRITERS)]
        self.reader = Client(root)
        self.cut_off = START
        self.erased: set[str] = set()
        self.backups: dict[str, int] = {}
        self.restores: list[tuple[str, int]] = []
        self.columns = 0

    def follow(self, steps: list[tuple[Any, ...]]) -> None:
        over = threading.Event()
        calls = [w.write for w in self.writers] + [self.read]
        threads = [threading.Thread(target=self._until, args=(over, call)) for call in calls]
        for thread in threads:
            thread.start()
        try:
            for step in steps:
                time.sleep(0.05)
                self.upkeep(step)
        finally:
            over.set()
            for thread in threads:
                thread.join(60)
        assert self.log.errors == []

    def _until(self, over: threading.Event, call: Callable[[], None]) -> None:
        while not over.is_set() and not self.log.errors:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - the test that waits for it tells it.
                self.log.errors.append(error)

    def read(self) -> None:
        """A state as a reader sees it, twice within one transaction."""
        first = self._version(self.reader)
        self.reader("BEGIN READ ONLY")
        rows = _rows(self.reader(f"SELECT {_ROW} FROM t"))
        again = _rows(self.reader(f"SELECT {_ROW} FROM t WHERE k >= 0"))
        self.reader("COMMIT")
        self.log.seen.append((first, self._version(self.reader), rows, again))
        time.sleep(0.05)

    def upkeep(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("flush",):
                self.run("CALL system.flush('t')")
            case ("minor",) | ("major",):
                self.run(f"CALL system.compact('t', mode => '{step[0]}')")
            case ("vacuum",):
                self.run("CALL system.vacuum('t', retain => '1 minute')")
            case ("alter",):
                self.columns += 1
                self.run(f"ALTER TABLE t ADD COLUMN c{self.columns} INTEGER DEFAULT 7")
            case ("retain", day):
                self.cut_off = max(self.cut_off, START + timedelta(days=day))
                self.retain()
            case ("backup",):
                name = f"b{len(self.backups)}"
                self.run(f"CALL system.backup('t', name => '{name}')")
                sql = f"SELECT version FROM system.backups WHERE name = '{name}'"
                self.backups[name] = self.run(sql)[0][0]
            case ("restore", number):
                self.restore(number)
            case ("erase", person) if person not in self.erased:
                journal = self.run.connection.session.journal
                accept(WarehouseErasure(journal), ErasureSpec({"who": [person]}), "test")
                self.erased.add(person)
                self.run("CALL system.purge('t')")

    def retain(self) -> None:
        self.run(f"CALL system.retain('t', now => '{self.cut_off + timedelta(days=1)}')")

    def restore(self, number: int) -> None:
        names = list(self.backups)
        if number >= len(names):
            return
        began = self._version()
        try:
            self.run(f"CALL system.restore('t', backup => '{names[number]}')")
        except gateway.Error as error:
            if error.sqlstate != _SERIALIZATION:
                raise
            return
        self.restores.append((names[number], began))

    def _version(self, client: Client | None = None) -> int:
        found: int = (client or self.run)("SELECT max(version) FROM system.transactions")[0][0]
        return found

    def check(self) -> None:
        self.retain()
        self.run("CALL system.purge('t')")
        states = self.states()
        assert states[-1][1] == _rows(self.run(f"SELECT {_ROW} FROM t"))
        held = {r[1] for _, rows in states for r in rows.values()}
        assert not held & self.erased
        for version, rows in random.Random(1).sample(states, min(len(states), _ASKED_MAX)):
            found = _rows(self.run(f"SELECT {_ROW} FROM t FOR VERSION AS OF {version}"))
            assert found == rows, version
            key = version % KEYS
            one = self.run(f"SELECT {_ROW} FROM t FOR VERSION AS OF {version} WHERE k = ?", key)
            assert _rows(one).get(key) == rows.get(key), (version, key)
        for key in range(KEYS):
            one = self.run(f"SELECT {_ROW} FROM t WHERE k = ?", key)
            assert _rows(one).get(key) == states[-1][1].get(key)
        gone = self._gone(self.replayed())
        for first, last, rows, again in self.log.seen:
            assert gone(rows) == gone(again), (first, last)
            begun = max((v for v, _ in states if v <= first), default=0)
            assert gone(rows) in [r for v, r in states if begun <= v <= last], (first, last)
        journal = self.run.connection.session.journal
        assert verify(journal).problems == []
        assert unlisted_files(journal) == []

    def states(self) -> list[tuple[int, Rows]]:
        """What each state must be now that retention and erasures are done."""
        replayed = self.replayed()
        gone = self._gone(replayed)
        return [(version, gone(rows)) for version, rows in replayed]

    def _gone(self, replayed: list[tuple[int, Rows]]) -> Callable[[Rows], Rows]:
        """States without what was removed: keys that ever named the erased, and dates past.

        Where a retention has removed the rows that named them first, a key need not be erased.
        """
        rows = [pair for _, state in replayed for pair in state.items()]
        rows += self._passed()
        named = [(k, r) for k, r in rows if r[1] in self.erased]
        there = self._keys_there()
        keys = {k for k, row in named if self._stays(row) or k not in there}

        def without(rows: Rows) -> Rows:
            return {k: r for k, r in rows.items() if k not in keys and self._stays(r)}

        return without

    def _passed(self) -> list[tuple[int, Row]]:
        """Rows that transactions have written which were committed."""
        found = self.run("SELECT message FROM system.transactions WHERE message IS NOT NULL")
        written = [self.log.passed.get(message, []) for (message,) in found]
        return [(k, r) for rows in written for k, r in rows if r is not None]

    def _keys_there(self) -> set[int]:
        """Keys of which any version is left: an erased one has none."""
        return {k for (k,) in self.run("SELECT DISTINCT k FROM t FOR SYSTEM_TIME ALL")}

    def _stays(self, row: Row) -> bool:
        """False for a row whose date is past."""
        return row[0] is None or row[0] >= self.cut_off

    def replayed(self) -> list[tuple[int, Rows]]:
        """Every state, from the notes of its commits in the order of their versions."""
        commits = self.run(
            "SELECT version, message FROM system.transactions WHERE message IS NOT NULL"
            " ORDER BY version"
        )
        there = self._keys_there()
        states: list[tuple[int, Rows]] = [(0, {})]
        restores = iter(self.restores)
        for version, message in commits:
            rows = dict(states[-1][1])
            if message.startswith("restore "):
                rows = self._restored(*next(restores), version, states)
            elif message in self.log.effects:
                effects = self.log.effects[message]
                if message in self.log.bumped:
                    kept = {
                        k: r
                        for k, r in effects.items()
                        if k in there and r is not None and self._stays(r)
                    }
                    assert all(r[2] == rows[k][2] + 1 for k, r in kept.items()), "a lost update"
                for key, row in effects.items():
                    rows.pop(key, None)
                    if row is not None:
                        rows[key] = row
            states.append((version, rows))
        return states[1:]

    def _restored(
        self, name: str, began: int, version: int, states: list[tuple[int, Rows]]
    ) -> Rows:
        """The state after a restore: the backup's rows, but for keys that others wrote meanwhile.

        Which of those it wrote over depends on when it read, so it is asked; either is right.
        """
        held = max((s for s in states if s[0] <= self.backups[name]), key=lambda s: s[0])[1]
        before = states[-1][1]
        earlier = max((s for s in states if s[0] <= began), key=lambda s: s[0])[1]
        found = _rows(self.run(f"SELECT {_ROW} FROM t FOR VERSION AS OF {version}"))
        rows = dict(before)
        for key in range(KEYS):
            changed = any(s.get(key) != earlier.get(key) for v, s in states if v > began)
            left = before.get(key)
            left = left if left is None or self._stays(left) else None
            wanted = before if changed and found.get(key) == left else held
            rows.pop(key, None)
            if key in wanted:
                rows[key] = wanted[key]
        return rows

    def close(self) -> None:
        for client in (self.run, self.reader, *(w.run for w in self.writers)):
            client.close()


def _follow(steps: list[tuple[Any, ...]], seed: int) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        history = _History(folder / "warehouse", seed)
        try:
            history.follow(steps)
            history.check()
        finally:
            history.close()
    finally:
        shutil.rmtree(folder)


@pytest.mark.stores
def test_every_job_beside_writers() -> None:
    _follow(
        [
            ("backup",), ("major",), ("retain", 3), ("alter",), ("erase", "cyd"), ("minor",),
            ("backup",), ("restore", 0), ("major",), ("vacuum",), ("restore", 1), ("flush",),
        ],
        1,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=100, phases=[Phase.explicit, Phase.generate])
@given(_steps, st.integers(0, 10_000))
def test_any_jobs_beside_writers(steps: list[tuple[Any, ...]], seed: int) -> None:
    _follow(steps, seed)
