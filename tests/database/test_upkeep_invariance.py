"""Random histories with jobs, backups, restores and erasures in between: a plain model agrees."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap

pytestmark = pytest.mark.stores

KEYS, STEPS = 12, 40
Rows = dict[int, str]


class _Model:
    """What the table holds now, at each version, and in each backup."""

    def __init__(self, con: Connection) -> None:
        self.con = con
        self.now: Rows = {}
        self.then: dict[int, Rows] = {}
        self.backups: dict[str, Rows] = {}
        self.erased: set[int] = set()

    def call(self, words: str) -> dict[str, Any]:
        (row,) = self.con.execute(f"CALL system.{words}").fetchall()
        found: dict[str, Any] = json.loads(row[-1])
        return found

    def write(self, chance: random.Random) -> None:
        key = chance.choice([k for k in range(KEYS) if k not in self.erased])
        value = f"v{chance.randrange(10**6)}"
        if key not in self.now:
            self.con.execute("INSERT INTO t VALUES (?, ?)", [key, value])
            self.now[key] = value
        elif chance.random() < 0.3:
            self.con.execute("DELETE FROM t WHERE a = ?", [key])
            del self.now[key]
        else:
            self.con.execute("UPDATE t SET b = ? WHERE a = ?", [value, key])
            self.now[key] = value
        self.then[self._version()] = dict(self.now)

    def back_up(self, chance: random.Random) -> None:
        name = f"b{chance.randrange(10**9)}"
        if self.now:
            self.call(f"backup('t', name => '{name}')")
            self.backups[name] = dict(self.now)

    def restore(self, chance: random.Random) -> None:
        names = [name for name, rows in self.backups.items() if rows]
        if not names:
            return
        name = chance.choice(names)
        found = self.call(f"restore('t', backup => '{name}')")
        trash = found["details"]["trash"]
        if trash is not None:
            self.backups[trash] = dict(self.now)
        self.now = dict(self.backups[name])
        self.then[self._version()] = dict(self.now)

    def erase(self, chance: random.Random) -> None:
        key = chance.randrange(KEYS)
        if key in self.now and len(self.erased) < KEYS - 3:
            (row,) = self.con.execute(f"ERASE FROM t WHERE a = {key}").fetchall()
            assert row[1] == "COMPLETED"
            self.erased.add(key)
            for rows in (self.now, *self.then.values(), *self.backups.values()):
                rows.pop(key, None)

    def drop_retired(self) -> None:
        journal = self.con.session.journal
        assert isinstance(journal, DatabaseJournal)
        segment_swap.reap(journal, 1, list)

    def _version(self) -> int:
        (row,) = self.con.execute("SELECT max(version) FROM system.transactions").fetchall()
        return int(row[0])

    def check(self) -> None:
        shown = self.con.execute("SELECT a, b FROM t ORDER BY a").fetchall()
        assert shown == sorted(self.now.items())
        for version, rows in self.then.items():
            asked = f"SELECT a, b FROM t VERSION AS OF {version} ORDER BY a"
            assert self.con.execute(asked).fetchall() == sorted(rows.items()), version
        assert self.con.session.executor.upkeep.verify().is_clean


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.timeout(240)
def test_jobs_change_no_answer(con: Connection, seed: int) -> None:
    chance = random.Random(seed)
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    model = _Model(con)
    for _ in range(STEPS):
        step = chance.choices(
            ("write", "compact", "back up", "restore", "drop", "erase"), (10, 2, 2, 2, 2, 0.6)
        )[0]
        match step:
            case "write":
                model.write(chance)
            case "compact":
                con.execute("OPTIMIZE t")
            case "back up":
                model.back_up(chance)
            case "restore":
                model.restore(chance)
            case "drop":
                model.drop_retired()
            case _:
                model.erase(chance)
        model.check()
