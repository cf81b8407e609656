"""Copies and archives of stores whose rows a server reads: PostgreSQL, and Spark behind Hive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import Outcome
from journal.stores.hive.journal import HiveJournal
from tests.elsewhere.copied_texts import spell, texts_in
from tests.elsewhere.server_stores import (
    ARCHIVES,
    LONG_ON_HIVE,
    STORES,
    Connect,
    connect,
    new_store,
    table,
    url,
)
from tests.support import aged
from tests.support.kept import ALL, call, is_whole, rows
from tests.support.relay import Relay
from tests.support.s3 import Server, let_in, objects

__all__ = ["connect", "new_store", "table", "url"]

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]
TOKEN = "qz7-unmistakable-xk9"


@LONG_ON_HIVE
def test_a_copy_comes_back_when_the_store_has_nothing_left(
    table: Connection, tmp_path: Path
) -> None:
    before, place = rows(table, ALL), tmp_path / "vault"
    planned = call(table, f"backup('t', name => 'far', to => '{place}', dry_run => true)")
    assert not place.exists()
    made = call(table, f"backup('t', name => 'far', to => '{place}')")
    assert planned["details"]["holds"]["rows"] == made["details"]["holds"]["rows"] > 60
    assert rows(table, "SELECT name, kind FROM system.backups") == [("far", "copy")]
    table.execute("DELETE FROM t WHERE a > 3")
    table.execute("ALTER TABLE t DROP COLUMN d")
    call(table, "verify('t', copies => true)")
    assert call(table, "restore('t', backup => 'far', where => 'a = 20')")["written"]["rows"] == 1
    table.execute("ALTER TABLE t ADD COLUMN d INTEGER")
    done = call(table, "restore('t', backup => 'far')")
    found = rows(table, "SELECT a, b FROM t ORDER BY a")
    assert found == [(a, b) for a, b, _ in before]
    assert is_whole(table)
    call(table, f"restore('t', backup => '{done['details']['trash']}')")
    assert rows(table, "SELECT count(*) FROM t WHERE a > 3") == [(1,)]
    call(table, "backup('t', name => 'far', drop => true)")
    assert rows(table, "SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(0,)]
    assert [p for p in place.rglob("*") if p.is_file()] == []


@STORES
def test_f42_a_replica_in_a_bucket_follows_its_table(
    table: Connection, bucket: str, server: Server
) -> None:
    place = f"s3://{bucket}/r"

    def replicated() -> dict[str, Any]:
        ((_, _, _, state, *_, report),) = rows(
            table, f"CALL system.replicate('t', \"to\" => '{place}')"
        )
        assert state in {"SUCCEEDED", "NOTHING"}, report
        (told,) = json.loads(report)["details"]["targets"]
        return dict(told)

    assert replicated()["made"] is True
    before = objects(server, bucket)
    assert replicated()["changed"] is False
    assert objects(server, bucket) == before
    table.execute(f"INSERT INTO t (a, b) VALUES (900, '{TOKEN}')")
    third = replicated()
    assert third["changed"] is True
    assert third["reused"] > 0
    wanted = rows(table, ALL)
    table.execute("DELETE FROM t")
    (name,) = rows(table, "SELECT name FROM system.backups WHERE kind = 'copy'")[0]
    call(table, f"restore('t', backup => '{name}')")
    assert rows(table, ALL) == wanted
    call(table, "verify('t', copies => true)")


@STORES
def test_another_store_restores_it_and_damage_is_found(
    table: Connection, connect: Connect, tmp_path: Path, bucket: str, server: Server
) -> None:
    before = rows(table, ALL)
    call(table, f"backup('t', name => 'far', to => 's3://{bucket}/b')")
    (folder,) = {n.rpartition("/")[0] for n in objects(server, bucket) if "backup.json" in n}
    source = f"s3://{bucket}/{folder}"
    table.execute(
        "CREATE TABLE u (a INTEGER PRIMARY KEY, b VARCHAR NOT NULL, UNIQUE (b), x INTEGER)"
    )
    with pytest.raises(gateway.Error, match="other columns"):
        table.execute(f"CALL system.restore('u', \"from\" => '{source}')")
    table.execute("DROP TABLE u")
    table.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b VARCHAR NOT NULL, UNIQUE (b))")
    table.execute("ALTER TABLE u ADD COLUMN d INTEGER DEFAULT 7")
    call(table, f"restore('u', \"from\" => '{source}')")
    assert rows(table, "SELECT * FROM u ORDER BY a") == before
    name = next(n for n in objects(server, bucket) if n.endswith(".parquet"))
    client = server.client()
    body = client.get_object(Bucket=bucket, Key=name)["Body"].read()
    client.put_object(Bucket=bucket, Key=name, Body=body[:-9] + b"x" + body[-8:])
    for words in ("verify('t', copies => true)", "restore('t', backup => 'far')"):
        with pytest.raises(gateway.Error) as raised:
            table.execute(f"CALL system.{words}")
        assert raised.value.code == "PAL-503"
    assert is_whole(table)
    client.close()


@STORES
def test_every_type_comes_back(connect: Connect, tmp_path: Path) -> None:
    con = connect()
    con.execute(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c DECIMAL(20, 4), d DOUBLE, e DATE,"
        " f TIMESTAMP, g TIMESTAMPTZ, h BLOB, i UUID, j VARCHAR[], k JSON, l BOOLEAN, m TIME)"
    )
    con.execute(
        "INSERT INTO t VALUES"
        " (1, ' ü''\"\\\n', 1234567890123456.7891, 0.1, DATE '0099-02-03',"
        " TIMESTAMP '2024-02-29 23:59:59.999999', TIMESTAMPTZ '2024-02-29 23:59:59.999999+05',"
        " '\\x00\\xFF'::BLOB, 'b6f1c1d2-3e1f-4c8a-9d1b-0123456789ab', ['a,\"b', NULL, ''],"
        " '{\"k\": [1, null]}', true, TIME '23:59:59.999999'),"
        " (2, '', -0.0001, 'NaN', DATE '9999-12-31', NULL, NULL, ''::BLOB, NULL, [], NULL, false,"
        " NULL), (3, NULL, NULL, '-Infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    before = rows(con, ALL)
    call(con, f"backup('t', name => 'far', to => '{tmp_path}/vault')")
    con.execute("DELETE FROM t")
    call(con, "restore('t', backup => 'far')")
    assert str(rows(con, ALL)) == str(before)


@STORES
def test_who_is_in_a_copy_only_is_found_there_and_erased(table: Connection, tmp_path: Path) -> None:
    table.execute("INSERT INTO t VALUES (1000, 'kept', 0)")
    place = tmp_path / "vault"
    call(table, f"backup('t', name => 'far', to => '{place}')")
    spell(place, "kept", TOKEN)
    (target,) = _submit(table)
    assert target.keys == 1
    assert target.copies_searched >= 3
    call(table, "purge('t')")
    assert TOKEN.encode() not in texts_in(place)
    assert rows(table, "SELECT count(*) FROM t WHERE a = 1000") == [(0,)]


def _submit(con: Connection) -> list[Any]:
    request = erasure_of(con.session).accept(ErasureSpec({"b": [TOKEN]}), "tester")
    return [t for t in request.targets if t.outcome is Outcome.PENDING]


@LONG_ON_HIVE
def test_an_erasure_reaches_copies(
    table: Connection,
    connect: Connect,
    bucket: str,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    table.execute(f"UPDATE t SET b = '{TOKEN}' WHERE a = 7")
    place = f"s3://{bucket}/vault"
    call(table, f"backup('t', name => 'far', to => '{place}')")
    call(table, f"backup('t', name => 'later', to => '{place}')")
    table.execute("UPDATE t SET b = 'other' WHERE a = 7")
    table.execute("DELETE FROM t WHERE a < 9")
    table.execute("OPTIMIZE t")
    assert TOKEN.encode() in texts_in(_fetched(server, bucket, tmp_path / "before"))
    assert [t.keys for t in _submit(table)] == [1]
    with pytest.raises(gateway.Error, match="being erased"):
        table.execute(f"CALL system.backup('t', name => 'more', to => '{place}')")
    call(table, "restore('t', backup => 'far', where => 'a = 6 OR a = 7')")
    assert rows(table, "SELECT a FROM t WHERE a < 9") == [(6,)]
    relay = Relay(server.port)
    relay.refuses = True
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    with pytest.raises(gateway.Error, match="cannot be reached"):
        table.execute("CALL system.purge('t')")
    let_in(server, monkeypatch)
    report = call(connect(), "purge('t')")
    assert set(report["details"]["requests"].values()) == {"COMPLETED"}
    (request,) = requests(erasure_of(table.session).journal)
    (receipt,) = [t for t in request.targets if t.outcome is Outcome.ERASED]
    assert receipt.copies_rewritten >= 2
    assert receipt.copies_removed >= 2
    assert TOKEN.encode() not in texts_in(_fetched(server, bucket, tmp_path / "after"))
    call(table, "verify('t', copies => true)")
    table.execute("DELETE FROM t")
    call(table, "restore('t', backup => 'far')")
    assert rows(table, "SELECT count(*), count(*) FILTER (WHERE a = 7) FROM t") == [(59, 0)]
    assert is_whole(table)


def _fetched(server: Server, bucket: str, folder: Path) -> Path:
    """Every object of a bucket, as a file."""
    folder.mkdir()
    client = server.client()
    for number, name in enumerate(objects(server, bucket)):
        body = client.get_object(Bucket=bucket, Key=name)["Body"].read()
        (folder / f"{number}-{Path(name).name}").write_bytes(body)
    client.close()
    return folder


@LONG_ON_HIVE
def test_rows_that_meet_a_condition_only_in_backups_are_erased(
    table: Connection, tmp_path: Path
) -> None:
    place = tmp_path / "vault"
    call(table, f"backup('t', name => 'far', to => '{place}')")
    call(table, "backup('t', name => 'near')")
    table.execute("ERASE FROM t WHERE a = 8")
    table.execute("CALL system.purge('t')")
    table.execute("DELETE FROM t WHERE a < 9")
    for name in ("far", "near"):
        call(table, f"restore('t', backup => '{name}', where => 'a IN (7, 8)')")
        assert rows(table, "SELECT a FROM t WHERE a < 9") == [(7,)]
        table.execute("DELETE FROM t WHERE a = 7")


@ARCHIVES
def test_rows_past_their_date_are_archived_and_come_back(
    connect: Connect, kind: str, bucket: str, tmp_path: Path
) -> None:
    con = connect()
    aged.make(con)
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'n AS nick')")
    place = {"here": "", "s3": f"s3://{bucket}/old", "path": f"{tmp_path}/old"}[kind]
    where = f", ARCHIVE = '{place}'" if place else ""
    policy = "RETENTION = {} DAYS ON COLUMN ds ACTION = ARCHIVE{}, BACKUP = 1 MINUTE"
    before = rows(con, "SELECT * FROM t ORDER BY id")
    every = "SELECT * FROM t FOR SYSTEM_TIME ALL WHERE {} ORDER BY id, version_number"
    fresh = rows(con, every.format(aged.FRESH))
    for days in (60, 30):
        aged.set_policy(con, policy.format(days, where))
        assert aged.retain(con)[3] == "SUCCEEDED"
        assert aged.retain(con)[3] == "NOTHING"
    assert rows(con, every.format(aged.FRESH)) == fresh
    assert rows(con, f"SELECT count(*) FROM t_journal WHERE NOT {aged.FRESH}") == [(0,)]
    known = "SELECT kind, count(*) FROM system.backups WHERE kind <> 'auto' GROUP BY kind"
    assert rows(con, known) == [("copy" if place else "archive", 2)]
    assert is_whole(con)
    con.execute("ERASE FROM t WHERE id IN (2, 80)")
    con.execute("CALL system.purge('t')")
    con.execute("OPTIMIZE t")
    con.execute("ALTER TABLE t UNSET POLICY")
    con.execute("INSERT INTO t (id, ds, n) VALUES (4, DATE '2024-03-30', -1)")
    assert call(con, "restore('t', backup => 'archive', key => '5')")["written"]["rows"] == 1
    call(con, "restore('t', backup => 'archive')")
    found = {row[0]: row for row in rows(con, "SELECT * FROM t")}
    assert found.pop(4)[2] == -1, "what is there stays"
    assert found == {row[0]: row for row in before if row[0] not in {2, 4, 80}}
    assert is_whole(con)
    if not place:
        call(con, f"backup('t', name => 'moved', archive => true, to => '{tmp_path}/moved')")
        assert rows(con, "SELECT count(*) FROM system.backups WHERE kind = 'archive'") == [(0,)]
        con.execute("DELETE FROM t")
        call(con, "restore('t', backup => 'moved', where => 'id < 10')")
        assert rows(con, "SELECT count(*) FROM t WHERE id = 2") == [(0,)]
        assert rows(con, "SELECT count(*) FROM t WHERE id < 10")[0][0] > 5


@LONG_ON_HIVE
def test_what_has_lost_rows_is_not_copied(connect: Connect, tmp_path: Path) -> None:
    con, place = connect(), tmp_path / "vault"
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    con.execute("OPTIMIZE t")
    _lose_rows(con)
    with pytest.raises(gateway.Error, match="PAL-503"):
        con.execute(f"CALL system.backup('t', name => 'far', to => '{place}')")
    assert rows(con, "SELECT count(*) FROM system.backups") == [(0,)]
    assert [p for p in place.rglob("*") if p.is_file()] == []


def _lose_rows(con: Connection) -> None:
    """Somebody drops the rows of a piece behind the gateway's back."""
    journal = con.session.journal
    (state,) = journal.state.tables.values()
    segment = state.manifest.segments[0]
    if isinstance(journal, HiveJournal):
        journal.drop_segments([segment.files[0].path])
        return
    with journal.reading_session() as session:
        session.text("SET session_replication_role = replica")
        session.text(f"DELETE FROM _palimpsest.{segment.id}")
        session.text("RESET session_replication_role")
