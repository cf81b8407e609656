"""Legal holds in a Hive store, and the jobs that must mind them; their dry runs are exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from tests.support.kept import call, rows

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def people(connect: Callable[..., Connection]) -> Connection:
    con = connect()
    con.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, ds DATE, mail VARCHAR)"
        " WITH (erasure = 'mail LOWER AS email')"
    )
    con.execute(
        "INSERT INTO t VALUES (1, DATE '2020-01-01', 'Ada@x.example'),"
        " (2, DATE '2020-01-02', 'bob@x.example'), (3, DATE '2999-01-01', NULL)"
    )
    return con


def _report(con: Connection, words: str) -> dict[str, Any]:
    (row,) = rows(con, f"CALL system.{words}")
    found: dict[str, Any] = json.loads(row[-1])
    return found


def test_a_person_is_held_until_the_hold_is_released(
    people: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.execute("PLACE HOLD FOR SUBJECT email = 'ada@x.example' REASON 'm1'")
    people.execute("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    planned, done = (call(people, f"retain('t'{dry})") for dry in (", dry_run => true", ""))
    for report in (planned, done):
        assert (report["read"]["files"], report["read"]["rows"]) == (1, 3)
        assert (report["written"]["rows"], report["removed"]["rows"]) == (2, 1)
        gone, _, kept = report["why"].partition("; ")
        assert gone == "1 journal rows are past their time"
        assert (kept.startswith("1 more stay: hold"), kept.endswith("(m1)")) == (True, True)
    assert rows(people, "SELECT k FROM t ORDER BY k") == [(1,), (3,)]
    ((_, state, *_),) = rows(people, "ERASE FROM t WHERE k = 1")
    assert state == "ON_HOLD"
    assert _report(people, "purge('t', dry_run => true)")["removed"]["rows"] == 0
    ((hold,),) = rows(people, "SELECT id FROM system.holds")
    people.execute(f"RELEASE HOLD '{hold}'")
    assert _report(people, "purge('t', dry_run => true)")["removed"]["rows"] == 2
    assert call(people, "purge('t')")["details"]["requests"].popitem()[1] == "COMPLETED"
    assert call(people, "restore('t', key => '2')")["written"]["rows"] == 1
    (trash,) = rows(people, "SELECT count(*) FROM system.backups WHERE kind = 'trash'")
    assert _report(people, "restore('t', key => '2')")["details"]["trash"] is None
    assert rows(people, "SELECT count(*) FROM system.backups WHERE kind = 'trash'") == [trash]
    monkeypatch.setenv("PALIMPSEST_PASSPHRASE", "correct horse battery")
    (tmp_path / "who.csv").write_text("email\nBOB@x.example\n")
    access = f"access('t', subjects => '{tmp_path}/who.csv', \"to\" => '{tmp_path}')"
    assert Path(call(people, access)["details"]["package"]).exists()
