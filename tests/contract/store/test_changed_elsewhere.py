"""What one process changes, the next statement of another one goes by, however often it ran before.

The other process has run each text three times with literals and with parameters, so that it has
plans, templates and rows in memory; then it runs them once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.away_session import Away, AwaySession
from tests.support.gateway_engine import GatewaySession
from tests.support.outcome import Failure, Outcome, Rows
from tests.support.stores.store import Store

pytestmark = [pytest.mark.also_on("hive", "embedded"), pytest.mark.timeout(300)]
Row = tuple[int, str, str | None]

ROWS: list[Row] = [(1, "a", "x"), (2, "b", "y"), (3, "c", "x")]
MADE = (
    "CREATE TABLE {t} (k INTEGER PRIMARY KEY, tag VARCHAR(9) UNIQUE, v VARCHAR(9))",
    "INSERT INTO {t} VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'x')",
)
ENABLED = "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY"
CHANGES: dict[str, tuple[tuple[str, ...], tuple[str, ...], list[Row] | str]] = {
    "erasure": ((), ("ERASE FROM {t} WHERE k = 1",), ROWS[1:]),
    "purge": (("ERASE FROM {t} WHERE k = 1",), ("CALL system.purge('{t}')",), ROWS[1:]),
    "compaction": (
        ("UPDATE {t} SET v = 'x' WHERE k = 1", "DELETE FROM {t} WHERE k = 2"),
        ("CALL system.compact('{t}')",),
        [ROWS[0], ROWS[2]],
    ),
    "restored version": (
        ("UPDATE {t} SET v = 'z' WHERE k = 1", "CALL system.backup('{t}', name => '{t}')",
         "UPDATE {t} SET v = 'x' WHERE k = 1"),
        ("CALL system.restore('{t}', backup => '{t}')",),
        [(1, "a", "z"), *ROWS[1:]],
    ),
    "truncation": ((), ("TRUNCATE {t}",), []),
    "another table": (
        (),
        ("DROP TABLE {t}", "CREATE TABLE {t} (v VARCHAR(9), tag VARCHAR(9), k INTEGER)",
         "INSERT INTO {t} VALUES ('n', 'a', 1), ('m', 'a', 1)"),
        [(1, "a", "n"), (1, "a", "m")],
    ),
    "a dropped table": ((), ("DROP TABLE {t}",), "42P01"),
    "an undropped table": (("DROP TABLE {t}",), ("UNDROP TABLE {t}",), ROWS),
    "names that change places": (
        (),
        ("ALTER TABLE {t} RENAME COLUMN v TO w", "ALTER TABLE {t} RENAME COLUMN tag TO v",
         "ALTER TABLE {t} RENAME COLUMN w TO tag"),
        [(1, "x", "a"), (2, "y", "b"), (3, "x", "c")],
    ),
    "a policy": (
        ("CREATE POLICY p ON {t} USING (k > 0)", ENABLED),
        ("ALTER POLICY p ON {t} USING (k > 1)",),
        ROWS[1:],
    ),
    "a first policy": ((), ("CREATE POLICY p ON {t} USING (v = 'x')", ENABLED), [ROWS[0], ROWS[2]]),
    "the end of policies": (
        ("CREATE POLICY p ON {t} USING (k > 1)", ENABLED),
        ("ALTER TABLE {t} DISABLE ROW LEVEL SECURITY",),
        ROWS,
    ),
    "a mask": (
        (),
        ("ALTER TABLE {t} ALTER COLUMN v SET MASKING POLICY (upper(v))",),
        [(1, "a", "X"), (2, "b", "Y"), (3, "c", "X")],
    ),
    "a revoked right": ((), ("REVOKE SELECT ON {t} FROM reader",), "42P01"),
}  # fmt: skip
READS = (
    ("SELECT v FROM {t} WHERE k = {}", (1,)),
    ("SELECT k, tag, v FROM {t} WHERE k = {}", (2,)),
    ("SELECT v FROM {t} WHERE (k = {} AND v = {})", (1, "x")),
    ("SELECT k, v FROM {t} WHERE tag = {}", ("a",)),
    ("SELECT k, v FROM {t} WHERE k BETWEEN {} AND {}", (1, 2)),
    ("SELECT count(*) AS n FROM {t}", ()),
    ("SELECT max(v) AS n FROM {t}", ()),
    ("SELECT v FROM {t} ORDER BY k, v LIMIT 1", ()),
)


def _answer(place: int, rows: list[Row]) -> list[tuple[object, ...]]:
    """What a read gives of rows (k, tag, v)."""
    first = min(rows, key=lambda row: (row[0], row[2] or ""), default=None)
    return [
        lambda: [(v,) for k, _, v in rows if k == 1],
        lambda: [row for row in rows if row[0] == 2],
        lambda: [(v,) for k, _, v in rows if (k, v) == (1, "x")],
        lambda: [(k, v) for k, tag, v in rows if tag == "a"],
        lambda: [(k, v) for k, _, v in rows if k in {1, 2}],
        lambda: [(len(rows),)],
        lambda: [(max((v or "" for *_, v in rows), default=None),)],
        lambda: [] if first is None else [(first[2],)],
    ][place]()


def _opened(url: str) -> GatewaySession:
    con = gateway.connect(url, autocommit=True)
    con.execute("SET ROLE reader").close()
    return GatewaySession(con)


@pytest.fixture
def con(store: Store) -> Connection:
    con = store.connect()
    con.execute("CREATE ROLE reader")
    con.execute(f"GRANT USAGE ON SCHEMA {store.home} TO reader")
    return con


@pytest.fixture
def other(store: Store, con: Connection) -> Iterator[AwaySession]:
    """A session of another process."""
    away = Away(partial(_opened, store.url))
    yield AwaySession(away, "other")
    away.end()


def _asked(session: AwaySession, table: str) -> list[Outcome]:
    """What the reads give, with literals and with parameters."""
    found = []
    for sql, values in READS:
        text = sql.replace("{t}", table)
        found.append(session.run(text.format(*map(repr, values))))
        if values:
            found.append(session.run(text.format(*("?" for _ in values)), values))
    return found


def test_what_another_process_changed(con: Connection, other: AwaySession) -> None:
    wrong = []
    for number, (name, (before, changes, rows)) in enumerate(CHANGES.items()):
        table = f"t{number}"
        for sql in (*MADE, "GRANT SELECT ON {t} TO reader", *before):
            con.execute(sql.replace("{t}", table)).close()
        for _ in range(3):
            _asked(other, table)
        for sql in changes:
            con.execute(sql.replace("{t}", table)).close()
        if name == "another table":
            con.execute(f"GRANT SELECT ON {table} TO reader")
        found = _asked(other, table)
        places = [p for p, (_, values) in enumerate(READS) for _ in ("text", *values[:1])]
        for place, outcome in zip(places, found, strict=True):
            if isinstance(rows, str):
                is_right = isinstance(outcome, Failure) and outcome.sqlstate == rows
            else:
                is_right = isinstance(outcome, Rows) and sorted(outcome.rows) == sorted(
                    _answer(place, rows)
                )
            if not is_right:
                wrong.append((name, READS[place], outcome))
    assert wrong == [], wrong
