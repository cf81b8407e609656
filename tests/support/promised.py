"""Random histories in which every job is planned and run at once: the plan must have said it.

``follow`` takes steps, on any store; ``random_steps`` makes some. A job that refuses its work must
refuse the plan with the same error.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec

Step = tuple[Any, ...]
KEYS, DAYS = 12, 10
POLICIES = (
    "RETENTION = 1 DAY ON COLUMN ds",
    "RETENTION = 1 DAY ON COLUMN ds ACTION = ARCHIVE",
    "VERSIONS = 1",
    "HISTORY = 1 DAY",
    "RETENTION = 1 DAY ON COLUMN ds, VERSIONS = 2, BACKUP = 1 DAY",
)
WRITES = ("put", "delete", "move", "many", "flush", "column")
JOBS = ("compact", "retain", "backup", "restore", "vacuum", "purge")
_LATER = "2100-01-01"
"""A moment at which all history is old."""


def random_steps(seed: int, count: int) -> list[Step]:
    """Steps of all kinds, more writes than jobs."""
    chance = random.Random(seed)
    kinds = chance.choices(WRITES[:4] * 3 + WRITES[4:] + JOBS, k=count)
    return [step(kind, chance.randrange(10**6)) for kind in kinds]


def step(kind: str, number: int) -> Step:
    """A step of a kind, told apart by a number."""
    return (kind, number)


def follow(con: Connection, steps: Iterable[Step], modes: tuple[str, ...]) -> dict[str, int]:
    """Run steps on a new table; how many jobs of each kind did something. ``modes`` compact."""
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, v INTEGER, name VARCHAR)"
        " WITH (erasure = 'name')"
    )
    history = _History(con, modes)
    for kind, number in steps:
        getattr(history, kind)(number)
    return history.did


class _History:
    def __init__(self, con: Connection, modes: tuple[str, ...]) -> None:
        self.con = con
        self.modes = modes
        self.columns = self.backups = 0
        self.erased: set[int] = set()
        self.did: dict[str, int] = {}

    def put(self, number: int) -> None:
        key = number % KEYS
        if key not in self.erased:
            self.con.execute("DELETE FROM t WHERE k = ?", [key])
            self.con.execute(
                "INSERT INTO t (k, ds, v, name) VALUES (?, ?, ?, ?)",
                [key, _day(number // KEYS), number, f"n{key}"],
            )

    def delete(self, number: int) -> None:
        self.con.execute("DELETE FROM t WHERE k = ?", [number % KEYS])

    def move(self, number: int) -> None:
        day = _day(number // KEYS)
        self.con.execute("UPDATE t SET ds = ? WHERE k >= ?", [day, number % KEYS])

    def many(self, number: int) -> None:
        low = 100 + number % 50
        self.con.execute("DELETE FROM t WHERE k >= ? AND k < ?", [low, low + 20])
        self.con.execute(
            "INSERT INTO t (k, ds, v, name)"
            f" SELECT i, CAST(? AS DATE), i, 'm' || i FROM range({low}, {low + 20}) r(i)",
            [_day(number)],
        )

    def flush(self, _number: int) -> None:
        self.con.execute("CALL system.flush('t')")

    def column(self, _number: int) -> None:
        if self.columns < 2:
            self.columns += 1
            self.con.execute(f"ALTER TABLE t ADD COLUMN c{self.columns} INTEGER DEFAULT 7")

    def compact(self, number: int) -> None:
        self.promise("compact", f"mode => '{self.modes[number % len(self.modes)]}'")

    def retain(self, number: int) -> None:
        policy = POLICIES[number % len(POLICIES)]
        self.con.execute("ALTER TABLE t UNSET POLICY")
        self.con.execute(f"ALTER TABLE t SET POLICY ({policy})")
        now = _LATER if "HISTORY" in policy else _day(number // 7)
        self.promise("retain", f"now => '{now}'")

    def backup(self, _number: int) -> None:
        self.backups += 1
        self.promise("backup", f"name => 'b{self.backups}'")

    def restore(self, number: int) -> None:
        more = f"backup => 'b{1 + number % max(1, self.backups)}'"
        self.promise("restore", more if number % 3 else "key => '1'")

    def vacuum(self, number: int) -> None:
        self.promise("vacuum", ("", "versions => 1", "versions => 1, backups => 1")[number % 3])

    def purge(self, number: int) -> None:
        key = number % KEYS
        found = self.rows(f"SELECT k FROM t FOR SYSTEM_TIME ALL WHERE k = {key}")
        if found and len(self.erased) < 4:
            self.erased.add(key)
            wanted = ErasureSpec(subjects={"name": [f"n{key}"]}, reason="asked")
            erasure_of(self.con.session).accept(wanted, "me")
        self.promise("purge", "")

    def promise(self, kind: str, options: str) -> None:
        """Plan a job, run it, and compare."""
        given = f"'t', {options}" if options else "'t'"
        before = self.written()
        planned = self.call(f"CALL system.{kind}({given}, dry_run => true)")
        assert self.written() == before, f"a dry run of {kind} has written"
        done = self.call(f"CALL system.{kind}({given})")
        if isinstance(planned, str) or isinstance(done, str):
            assert planned == done, (kind, options)
            return
        assert broken(planned, done) == [], (kind, options, planned, done)
        self.did[kind] = self.did.get(kind, 0) + (done["state"] == "done")

    def call(self, sql: str) -> Any:
        """The report of a job, or the code of its error."""
        try:
            (row,) = self.rows(sql)
        except gateway.Error as error:
            return error.code
        return json.loads(row[-1])

    def written(self) -> list[Any]:
        """What there is: pieces, rows of journals, backups."""
        asked = ("system.segments", "system.journals", "system.backups", "system.transactions")
        return [sorted(map(str, self.rows(f"SELECT * FROM {name}"))) for name in asked]

    def rows(self, sql: str) -> list[Any]:
        return list(self.con.execute(sql).fetchall())


def _day(number: int) -> str:
    return f"2024-01-{1 + number % DAYS:02d}"


def broken(planned: dict[str, Any], done: dict[str, Any]) -> list[str]:
    """In what a run differs from its plan."""
    states = {"planned": "done", "nothing": "nothing"}
    found = [] if states[planned["state"]] == done["state"] else ["state"]
    if planned["state"] == "nothing":
        return found
    guessed = planned["inexact"]
    for volume in ("read", "written", "removed"):
        for number, value in planned[volume].items():
            name = f"{volume}.{number}"
            if guessed.get(name) != "estimated" and value != done[volume][number]:
                found.append(f"{name}: {value}, and {done[volume][number]}")
    found += _taken(planned, done)
    found += _skipped(planned, done)
    told, telling = _told(planned, guessed), _told(done, guessed)
    return [*found, *(f"details.{n}" for n, value in told.items() if value != telling.get(n))]


def _taken(planned: dict[str, Any], done: dict[str, Any]) -> list[str]:
    """Segments that are not those of the plan; heads are sealed by then, under another name."""
    before, after = planned["taken"], done["taken"]
    if all("head " not in t["segment"] for t in before) and "read.bytes" in planned["inexact"]:
        before, after = ([{**t, "bytes": None} for t in some] for some in (before, after))
    sealed = [t for t in before if not t["segment"].startswith("head ")]
    others = [t for t in after if t not in sealed]
    heads = [t for t in before if t not in sealed]
    missing = [f"taken: {t['segment']}" for t in sealed if t not in after]
    shown = [[(t["files"], t["rows"], t["why"]) for t in some] for some in (heads, others)]
    return missing if sorted(shown[0]) == sorted(shown[1]) else [*missing, "taken: heads"]


def _skipped(planned: dict[str, Any], done: dict[str, Any]) -> list[str]:
    """What is left alone, by reason; of heads that have become files the reason may be another."""
    sealed, heads, after = Counter[str](), Counter[str](), Counter[str]()
    for some in planned["skipped"]:
        (heads if some["segment"].startswith("head ") else sealed)[some["why"]] += some["files"]
    for some in done["skipped"]:
        after[some["why"]] += some["files"]
    same = sealed <= after and (sealed + heads).total() == after.total()
    return [] if same else [f"skipped: {sealed} and {heads}, but {after}"]


_OWN = {"requests", "trash", "version"}
"""What a plan cannot know: the states that follow, and names and versions that are made."""


def _told(report: dict[str, Any], guessed: dict[str, str]) -> dict[str, Any]:
    found = {n: v for n, v in report["details"].items() if n not in _OWN}
    if "details.holds.bytes" in guessed:
        found["holds"] = {**found["holds"], "bytes": None}
    return found
