"""An index makes filters beside the files that are written from then on, and reads ask them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from journal.files.filters.bloom import Bloom
from journal.files.filters.hashing import hash_rows
from journal.files.filters.sidecar import read_sidecar
from tests.support.client import Client

MANY = "INSERT INTO t SELECT i, 'name ' || i, i // 10, 'mail ' || i FROM range({}, {}) AS r(i)"


def _filters(run: Client, column: str) -> list[Bloom]:
    """The filters of a column beside the files that the table has now."""
    paths = run("SELECT unnest(paths) FROM system.segments")
    folders = {(run.root / path).parent for (path,) in paths}
    found = [read_sidecar(Path(folder), [column]) for folder in folders]
    return [
        bloom
        for files in found
        for filters in files.values()
        for bloom in filters.values()
        if bloom
    ]


def _holds(filters: list[Bloom], value: object) -> bool:
    return any(bloom.may_hold_any(hash_rows(pa.array([value]))) for bloom in filters)


def _table(run: Client) -> None:
    run("CREATE TABLE t (k BIGINT PRIMARY KEY, name VARCHAR, seat BIGINT, mail VARCHAR)")
    run("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'mail')")
    run(MANY.format(0, 5000))
    run("CALL system.flush('t')")


def test_jobs_write_the_filters_of_an_index(run: Client) -> None:
    _table(run)
    run("CREATE INDEX by_name ON t (name, seat)")
    run("CREATE INDEX lowered ON t (lower(mail))")
    assert _filters(run, "name") == [], "no file is touched"
    assert run("SELECT k FROM t WHERE name = 'name 77'") == [(77,)]
    run(MANY.format(5000, 9000))
    run("CALL system.flush('t')")
    assert len(_filters(run, "name")) == 1, "that of the new file"
    assert run("SELECT k FROM t WHERE name = 'name 77'") == [(77,)]
    run("CALL system.compact('t', mode => 'major')")
    assert _holds(_filters(run, "name"), "name 77")
    assert not _holds(_filters(run, "name"), "nobody")
    assert _filters(run, "seat") == [], "an index begins with one column"
    plan = str(run("EXPLAIN SELECT k FROM t WHERE name = 'name 77'"))
    assert "files whose filters allow it" in plan
    assert run("SELECT k FROM t WHERE name = 'name 77'") == [(77,)]
    run("UPDATE t SET name = 'other' WHERE k = 77")
    run("ALTER TABLE t RENAME COLUMN name TO title")
    assert run("SELECT k FROM t WHERE title = 'name 77'") == []
    assert run("SELECT k FROM t WHERE title = 'other'") == [(77,)]
    run("CALL system.compact('t', mode => 'major')")
    before = run.files()
    run("CALL system.compact('t', mode => 'major')")
    assert run.files() == before, "all have their filters"
    run("DROP INDEX by_name")
    assert run("SELECT k FROM t WHERE title = 'other'") == [(77,)]


def test_an_erasure_leaves_nothing_in_the_filters_of_an_index(run: Client) -> None:
    _table(run)
    run("CREATE INDEX by_name ON t (name)")
    run("CALL system.compact('t', mode => 'major')")
    run("UPDATE t SET seat = 1 WHERE k = 7")
    run("CALL system.flush('t')")
    assert _holds(_filters(run, "name"), "name 7")
    run("ERASE FROM t WHERE mail = 'mail 7'")
    run("CALL system.purge('t')")
    assert _filters(run, "name")
    assert not _holds(_filters(run, "name"), "name 7")
    assert _holds(_filters(run, "name"), "name 8")
