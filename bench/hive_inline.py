"""What small commits cost on a Thrift Server, and reads beside them, against plain PyHive.

    python -m bench.hive_inline [--rows 50000] [--seconds 20] [--commits 1000] [--json FILE]

Starts a server of its own as ``bench.hive`` does, unless ``PALIMPSEST_THRIFT_SERVER=host:port``
names one. A one-row INSERT and UPDATE through the gateway, with and without ``inline_commits``, are
paired with a one-row INSERT that PyHive sends into a plain Parquet table; sums and rows by their
key with the same queries over that table. Prints what was found, and whether the promises hold.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyhive import hive

import gateway
from bench.hive import counted, served
from bench.measure import machine
from bench.paired import Between, Paired, compare
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

COMMITS_BEFORE_READS = 24
COMMIT_TIMES, READ_TIMES = 3.0, 2.0
INLINED_TIMES, INLINED_READ_TIMES, FILES = 0.25, 1.5, 20
_SUM = "SELECT sum(k), count(v) FROM {}"
_KEY = "SELECT v FROM {} WHERE k = {}"
Found = dict[str, Any]


class Plain:
    """A plain Parquet table of the same rows, in a session of PyHive's."""

    def __init__(self, connection: Any, rows: int) -> None:
        self._cursor = connection.cursor(arraysize=10_000)
        self._cursor.execute("DROP TABLE IF EXISTS bench_plain")
        self._cursor.execute("CREATE TABLE bench_plain (k BIGINT, v STRING) USING parquet")
        text = f"INSERT INTO bench_plain SELECT id, concat('v', id) FROM range({rows})"
        self._cursor.execute(text)
        self._keys = itertools.count(rows)

    def insert(self) -> None:
        """One more row."""
        self._cursor.execute(f"INSERT INTO bench_plain VALUES ({next(self._keys)}, 'one')")

    def ask(self, query: str, *values: object) -> list[Any]:
        """The rows of a query over the table."""
        self._cursor.execute(query.format("bench_plain", *values))
        found: list[Any] = self._cursor.fetchall()
        return found


class Journaled:
    """The same rows in a table of the gateway's."""

    def __init__(self, con: Connection, rows: int) -> None:
        self.con = con
        con.execute("CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR)")
        con.execute(f"INSERT INTO t SELECT i, 'v' || i FROM range({rows}) r(i)")
        self._rows = rows
        self._keys, self._changed = itertools.count(rows), itertools.count()

    def insert(self) -> None:
        """One more row."""
        self.con.execute(f"INSERT INTO t VALUES ({next(self._keys)}, 'one')")

    def update(self) -> None:
        """Another row changed."""
        key = next(self._changed) * 7 % self._rows
        self.con.execute(f"UPDATE t SET v = 'changed' WHERE k = {key}")

    def ask(self, query: str, *values: object) -> list[Any]:
        """The rows of a query over the table."""
        return self.con.execute(query.format("t", *values)).fetchall()

    @property
    def segments(self) -> int:
        """How many partitions the table has."""
        (state,) = self.con.session.journal.state.tables.values()
        return len(state.manifest.segments)


def commits(plain: Plain, table: Journaled, seconds: float, name: str) -> dict[str, Paired]:
    """One-row commits beside a plain INSERT."""
    return {
        f"INSERT{name}": compare(f"INSERT{name}", table.insert, plain.insert, seconds=seconds),
        f"UPDATE{name}": compare(f"UPDATE{name}", table.update, plain.insert, seconds=seconds),
    }


def reads(plain: Plain, table: Journaled, seconds: float, name: str) -> dict[str, Paired]:
    """A sum, and rows by a key that nobody has written since."""
    keys = itertools.count(1)

    def by_key(of: Plain | Journaled) -> list[Any]:
        return of.ask(_KEY, next(keys) * 7 + 3)

    pairs = {
        "sum": (lambda: table.ask(_SUM), lambda: plain.ask(_SUM)),
        "row by key": (lambda: by_key(table), lambda: by_key(plain)),
    }
    return {
        f"{case}{name}": compare(f"{case}{name}", ours, theirs, seconds=seconds)
        for case, (ours, theirs) in pairs.items()
    }


@contextlib.contextmanager
def stored(server: ThriftServer, rows: int, **options: str) -> Iterator[Journaled]:
    """A store of its own with the rows."""
    with tempfile.TemporaryDirectory() as folder:
        url = server.new_store(Path(folder), presence="5", views="on", **options)
        with gateway.connect(url, autocommit=True) as con:
            assert isinstance(con.session.journal, HiveJournal)
            yield Journaled(con, rows)


def measure(server: ThriftServer, plain: Plain, options: argparse.Namespace) -> Found:
    """All of it, as ratios to PyHive."""
    rows, seconds = options.rows, options.seconds
    found: dict[str, Paired] = {}
    with stored(server, rows) as table:
        found |= commits(plain, table, seconds, "")
    with stored(server, rows) as table:
        for _ in range(COMMITS_BEFORE_READS // 2):
            table.insert()
            table.update()
        table.con.execute("CALL system.flush()")
        found |= reads(plain, table, seconds, f" after {COMMITS_BEFORE_READS} commits")
    with stored(server, rows, inline_commits="on") as table:
        found |= commits(plain, table, seconds, ", inlined")
    with stored(server, rows, inline_commits="on") as table:
        for _ in range(options.commits):
            table.insert()
        table.con.execute("CALL system.flush()")
        left = table.segments - 1
    with stored(server, rows, inline_commits="on", inline_age="3600") as table:
        for _ in range(options.commits):
            table.insert()
        found |= reads(plain, table, seconds, f" beside {options.commits} inlined")
        calls = asked(table, rows)
    paired = {case: asdict(one) for case, one in found.items()}
    return {"rows": rows, "paired": paired, "files": left, "calls_for_inlined_key": calls}


def asked(table: Journaled, key: int) -> int:
    """How often a SELECT of an inlined key calls the server."""
    from TCLIService import TCLIService

    with counted(TCLIService.Client) as found:
        assert table.ask(_KEY, key) == [("one",)]
    return sum(found.values())


def most(case: str) -> float:
    """What was promised of a case."""
    is_read = case.startswith(("sum", "row"))
    if "inlined" in case:
        return INLINED_READ_TIMES if is_read else INLINED_TIMES
    return READ_TIMES if is_read else COMMIT_TIMES


def shown(found: Found) -> str:
    """What was found, for people."""
    lines = []
    for case, one in found["paired"].items():
        ratio, at_most = Between(**one["ratio"]), most(case)
        lines.append(
            f"{case}: {one['ours_ms']:.1f} ms beside {one['theirs_ms']:.1f} ms, in {one['rounds']}"
            f" rounds {ratio.middle:.3f}x ({ratio.low:.3f} .. {ratio.high:.3f});"
            f" {ratio.verdict(at_most)}: at most {at_most:g}x promised"
        )
    kept = "kept" if found["files"] <= FILES else "BROKEN"
    lines.append(f"files of the inlined commits: {found['files']}; {kept}: a few promised")
    kept = "kept" if not found["calls_for_inlined_key"] else "BROKEN"
    lines.append(
        f"calls for an inlined key: {found['calls_for_inlined_key']}; {kept}: none promised"
    )
    return "\n".join(lines)


def main() -> None:
    """Run all, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path, help="write the result to this file, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        opened = hive.connect(host=server.host, port=server.port, username="tester", auth="NOSASL")
        with contextlib.closing(opened) as connection:
            found = measure(server, Plain(connection, options.rows), options)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine(), **found}, indent=1)
        options.json.write_text(text + "\n")
    print(shown(found))


if __name__ == "__main__":
    main()
