"""Random histories through every job in random order: each removes what it says, and nothing else.

The oracle is a dictionary in Python for the present and one for every version there was. Retention
takes rows out of all of them by their date, an erasure by their key (out of backups too), a restore
adds a version; flush and compaction change none.
"""

from __future__ import annotations

import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from tests.support.client import Client
from tests.support.positions import always_by_position

Rows = dict[int, tuple[date | None, int]]
Step = tuple[Any, ...]
START = date(2024, 1, 1)
KEYS, DAYS = 8, 10

_key, _day = st.integers(0, KEYS - 1), st.integers(0, DAYS - 1)
_write = st.one_of(
    st.tuples(st.just("put"), _key, st.one_of(st.none(), _day), st.integers(0, 9)),
    st.tuples(st.just("delete"), _key),
    st.tuples(st.just("move"), _key, _day),
)
_upkeep = st.one_of(
    st.sampled_from([("flush",), ("minor",), ("major",), ("restart",), ("vacuum",)]),
    st.tuples(st.just("retain"), _day, st.sampled_from(["DELETE", "ARCHIVE"])),
    st.tuples(st.just("backup")),
    st.tuples(st.just("restore"), st.integers(0, 3)),
    st.tuples(st.just("erase"), _key),
)
_steps = st.lists(st.one_of(_write, _write, _upkeep), min_size=4, max_size=14)


class _History:
    """The table, and what must be true of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = Client(root)
        self.run("CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, v INTEGER)")
        self.rows: Rows = {}
        self.past: list[tuple[int, Rows]] = []
        self.backups: list[tuple[str, Rows]] = []
        self.erased: set[int] = set()

    def note(self) -> None:
        version = self.run("SELECT max(version) FROM system.transactions")[0][0]
        if version is not None:
            self.past.append((version, dict(self.rows)))

    def step(self, step: Step) -> None:
        match step:
            case ("flush",):
                self.run("CALL system.flush('t')")
            case ("minor",) | ("major",):
                self.run(f"CALL system.compact('t', mode => '{step[0]}')")
            case ("vacuum",):
                self.run("CALL system.vacuum('t', retain => '1 minute')")
            case ("restart",):
                self.run.close()
                self.run = Client(self.root)
            case ("retain", day, action):
                self.retain(day, action)
            case ("backup",):
                self.backups.append((f"b{len(self.backups)}", dict(self.rows)))
                self.run(f"CALL system.backup('t', name => '{self.backups[-1][0]}')")
            case ("restore", number):
                self.restore(number)
            case ("erase", key):
                self.erase(key)
            case _:
                self.write(step)
        self.note()
        self.check()

    def write(self, step: Step) -> None:
        if step[1] in self.erased:
            return
        match step:
            case ("put", key, day, value):
                ds = None if day is None else START + timedelta(days=day)
                self.run(
                    "INSERT INTO t VALUES (?, ?, ?) ON CONFLICT (k)"
                    " DO UPDATE SET ds = excluded.ds, v = excluded.v",
                    *(key, ds, value),
                )
                self.rows[key] = (ds, value)
            case ("delete", key):
                self.run("DELETE FROM t WHERE k = ?", key)
                self.rows.pop(key, None)
            case ("move", key, day):
                ds = START + timedelta(days=day)
                self.run("UPDATE t SET ds = ? WHERE k = ?", ds, key)
                if key in self.rows:
                    self.rows[key] = (ds, self.rows[key][1])

    def retain(self, day: int, action: str) -> None:
        self.run(f"ALTER TABLE t SET POLICY (RETENTION = 1 DAY ON COLUMN ds ACTION = {action})")
        cut_off = START + timedelta(days=day)
        self.run(f"CALL system.retain('t', now => '{cut_off + timedelta(days=1)}')")

        def kept(rows: Rows) -> Rows:
            return {k: r for k, r in rows.items() if r[0] is None or r[0] >= cut_off}

        self.rows = kept(self.rows)
        self.past = [(v, kept(rows)) for v, rows in self.past]

    def restore(self, number: int) -> None:
        if number < len(self.backups) and self.backups[number][1]:
            name, rows = self.backups[number]
            self.run(f"CALL system.restore('t', backup => '{name}')")
            self.rows = dict(rows)

    def erase(self, key: int) -> None:
        if key in self.erased or key not in self.rows:
            return
        self.run(f"ERASE FROM t WHERE k = {key} REASON 'asked'")
        self.erased.add(key)

        def without(rows: Rows) -> Rows:
            return {k: r for k, r in rows.items() if k != key}

        self.rows = without(self.rows)
        self.past = [(v, without(rows)) for v, rows in self.past]
        self.backups = [(n, without(rows)) for n, rows in self.backups]
        self.check()
        self.run("CALL system.purge('t')")

    def check(self) -> None:
        assert {k: (d, v) for k, d, v in self.run("SELECT * FROM t")} == self.rows
        sums = (len(self.rows), sum(v for _, v in self.rows.values()) if self.rows else None)
        assert self.run("SELECT count(*), sum(v) FROM t") == [sums]

    def check_past(self) -> None:
        for version, rows in dict(self.past).items():
            found = self.run(f"SELECT * FROM t FOR VERSION AS OF {version}")
            assert {k: (d, v) for k, d, v in found} == rows, version
        journal = self.run.connection.session.journal
        assert verify(journal).problems == []
        assert unlisted_files(journal) == []


def _follow(steps: list[Step]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        history = _History(folder / "warehouse")
        try:
            for step in steps:
                history.step(step)
            history.step(("major",))
            history.check_past()
        finally:
            history.run.close()
    finally:
        shutil.rmtree(folder)


_EACH = [
    ("put", 1, 1, 1), ("put", 2, 5, 2), ("put", 3, None, 3), ("flush",), ("backup",),
    ("move", 1, 7), ("put", 4, 2, 4), ("retain", 4, "ARCHIVE"), ("major",), ("backup",),
    ("delete", 2), ("erase", 3), ("restore", 0), ("retain", 6, "DELETE"), ("vacuum",),
    ("restore", 1), ("restart",), ("minor",),
]  # fmt: skip


@pytest.mark.long
def test_each_job_removes_what_it_says() -> None:
    _follow(_EACH)


@pytest.mark.stores
@settings(max_examples=4)
@given(_steps)
def test_no_other_row_is_touched_for_readers_by_position(steps: list[Step]) -> None:
    with always_by_position():
        _follow([*_EACH, ("put", 5, 9, 5), ("flush",), ("delete", 5), *steps])


@pytest.mark.long
@settings(max_examples=6)
@given(_steps)
def test_no_other_row_is_touched(steps: list[Step]) -> None:
    _follow(steps)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=150)
@given(_steps)
def test_no_other_row_is_touched_in_many_histories(steps: list[Step]) -> None:
    _follow(steps)
