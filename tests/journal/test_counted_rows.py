"""COUNT(*) of a whole table is told by counts; whatever hides or adds rows has them read."""

from __future__ import annotations

import pytest

from tests.support.client import Client

COUNT = "SELECT count(*) FROM t"


def _shape(run: Client, query: str = COUNT) -> str:
    return str(dict(run(f"EXPLAIN {query}"))["palimpsest_shapes"])


@pytest.fixture
def t(run: Client) -> Client:
    """A table of 50 rows, some of them changed, deleted or under a new key."""
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR, day DATE)")
    run(
        "INSERT INTO t SELECT i, 'p' || i || '@x.example', DATE '2020-01-01' + i::INTEGER"
        " FROM range(60) r(i)"
    )
    run("CALL system.flush('t')")
    run("UPDATE t SET email = upper(email) WHERE id % 7 = 1")
    run("UPDATE t SET id = id + 100 WHERE id < 5")
    run("DELETE FROM t WHERE id BETWEEN 10 AND 19")
    return run


@pytest.mark.long
def test_counts_follow_writes_and_jobs(t: Client) -> None:
    assert "counts" in _shape(t)
    for job in ("CALL system.flush('t')", "OPTIMIZE t", "CALL system.backup('t', name => 'b')"):
        assert t(COUNT) == [(50,)] == t(f"{COUNT} WHERE id IS NOT NULL")
        t(job)
    t("DELETE FROM t WHERE id = 100")
    t("INSERT INTO t VALUES (100, 'a', NULL), (10, 'b', NULL)")
    assert t("SELECT count(*), count(id) + 1 AS m FROM t") == [(51, 52)]
    assert t("SELECT (SELECT count(*) FROM t), count(*) FROM t WHERE id > 99") == [(51, 5)]


def test_rows_of_ones_own_are_counted_by_reading(t: Client) -> None:
    t("BEGIN")
    t("DELETE FROM t WHERE id = 20")
    assert "counts" not in _shape(t)
    assert t(COUNT) == [(49,)]
    t("ROLLBACK")
    assert t(COUNT) == [(50,)]


def test_a_transaction_counts_what_it_began_with(t: Client) -> None:
    other = Client(t.root)
    t("BEGIN")
    assert t(COUNT) == [(50,)]
    other("DELETE FROM t WHERE id = 20")
    assert t(COUNT) == [(50,)]
    assert other(COUNT) == [(49,)]
    other.close()
    t("COMMIT")
    assert t(COUNT) == [(49,)]


def test_the_past_is_counted_by_reading(t: Client) -> None:
    past = "SELECT count(*) FROM t FOR SYSTEM_TIME AS OF now()"
    t("DELETE FROM t WHERE id = 30")
    assert "counts" not in _shape(t, past)
    assert t(past) == [(49,)]


@pytest.mark.long
def test_hidden_subjects_are_not_counted(t: Client) -> None:
    t("ERASE FROM t WHERE email = 'p30@x.example'")
    assert "counts" not in _shape(t)
    assert t(COUNT) == [(49,)]
    t("CALL system.purge('t')")
    assert t(COUNT) == [(49,)]


def test_tables_with_a_retention_by_date_are_read(t: Client) -> None:
    t("ALTER TABLE t SET POLICY (RETENTION = 30 YEARS ON day)")
    assert "counts" not in _shape(t)
    assert t(COUNT) == [(50,)]


def test_policies_of_rows_hide_rows_from_counts(t: Client) -> None:
    t("CREATE ROLE ann")
    t("GRANT SELECT ON t TO ann")
    t("ALTER TABLE t SET ROW POLICY (id < 30)")
    assert t(COUNT) == [(50,)]
    t("SET ROLE ann")
    assert t(COUNT) == t(f"{COUNT} WHERE id < 30")
