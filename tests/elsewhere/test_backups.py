"""Backups that lie elsewhere: copied, verified, restored, followed by erasures, removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gateway
from gateway.jobs.runs import Request, run_all
from journal.model.errors import Code, PalimpsestError
from journal.records.backups import Backup
from journal.stores.embedded.journal import Journal
from spark_compaction.programs import copies
from tests.elsewhere.clean import TOKEN
from tests.support.client import Client
from tests.support.relay import Relay
from tests.support.s3 import Cutting, Server, let_in, objects


def _backup(client: Client, place: str, more: str = "") -> None:
    client(f"CALL system.backup('people', name => 'far', to => '{place}'{more})")


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["s3", "file", "path"])
def test_a_copy_is_restored(people: Client, bucket: str, tmp_path: Path, kind: str) -> None:
    places = {"s3": f"s3://{bucket}/b", "file": f"file://{tmp_path}/b", "path": f"{tmp_path}/b"}
    before = people.sorted("SELECT * FROM people")
    _backup(people, places[kind])
    (listed,) = people("SELECT kind, rows FROM system.backups")
    assert listed[0] == "copy"
    people("UPDATE people SET email = 'lost' WHERE id = 2")
    people("DELETE FROM people WHERE id = 3")
    people("CALL system.verify('people', copies => true)")
    people("CALL system.restore('people', backup => 'far')")
    assert people.sorted("SELECT * FROM people") == before
    people("DELETE FROM people")
    people("CALL system.restore('people', backup => 'far', where => 'id = 2')")
    assert people("SELECT id FROM people") == [(2,)]
    people("CALL system.backup('people', name => 'far', drop => true)")
    assert people("SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(0,)]


def test_another_warehouse_restores_it(
    people: Client, server: Server, bucket: str, tmp_path: Path
) -> None:
    before = people.sorted("SELECT * FROM people")
    _backup(people, f"s3://{bucket}")
    other = Client(tmp_path / "other")
    other("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)")
    source = f"s3://{bucket}/main.people/far"
    other(f"CALL system.restore('people', from => '{source}')")
    assert other.sorted("SELECT * FROM people") == before
    other("CREATE TABLE unlike (id INTEGER PRIMARY KEY, mail VARCHAR)")
    assert other.error(f"CALL system.restore('unlike', from => '{source}')")[0] == "PAL-705"
    assert other.error(f"CALL system.restore('people', from => '{source}x')")[0] == "PAL-705"
    other.close()
    people("CALL system.backup('people', name => 'far', drop => true)")
    assert objects(server, bucket) == []


@pytest.mark.long
def test_an_erasure_reaches_copies(people: Client, server: Server, bucket: str) -> None:
    _backup(people, f"s3://{bucket}")
    assert any(TOKEN.encode() in held for held in _held(server, bucket))
    people("ERASE FROM people WHERE email = 'new@x.example'")
    people("CALL system.purge('people')")
    assert people("SELECT count(*) FROM system.jobs WHERE state = 'DONE' AND kind = 'purge'")
    assert not any(TOKEN.encode() in held for held in _held(server, bucket))
    people("CALL system.verify('people', copies => true)")
    people("DELETE FROM people")
    people("CALL system.restore('people', backup => 'far')")
    assert people.sorted("SELECT id FROM people") == [(2,), (3,)]


@pytest.mark.long
def test_an_erasure_waits_for_copies_it_cannot_reach(
    people: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _backup(people, f"s3://{bucket}")
    people("ERASE FROM people WHERE id = 1")
    assert people.error(f"CALL system.backup('people', name => 'x', to => 's3://{bucket}')") == (
        "PAL-705",
        "55000",
    )
    relay = Relay(server.port)
    relay.refuses = True
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    with pytest.raises(gateway.Error, match="cannot be reached"):
        people("CALL system.purge('people')")
    assert people.sorted("SELECT id FROM people") == [(2,), (3,)]
    let_in(server, monkeypatch)
    people("CALL system.purge('people')")
    assert not any(TOKEN.encode() in held for held in _held(server, bucket))


@pytest.mark.long
def test_a_purge_finishes_what_was_killed(
    people: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _backup(people, f"s3://{bucket}")
    tidy = copies.tidy

    calls: list[Backup] = []

    def killed(journal: Journal, backup: Backup) -> bool:
        calls.append(backup)
        if len(calls) == 2:
            raise PalimpsestError(Code.JOB_FAILED, "killed")
        return tidy(journal, backup)

    people("ERASE FROM people WHERE id = 1")
    with monkeypatch.context() as patched:
        patched.setattr(copies, "tidy", killed)
        with pytest.raises(gateway.Error):
            people("CALL system.purge('people')")
    assert any(TOKEN.encode() in held for held in _held(server, bucket))
    people("CALL system.purge('people')")
    assert not any(TOKEN.encode() in held for held in _held(server, bucket))
    people("CALL system.verify('people', copies => true)")


def test_a_damaged_copy_is_found(people: Client, server: Server, bucket: str) -> None:
    _backup(people, f"s3://{bucket}")
    name = next(n for n in objects(server, bucket) if n.endswith(".parquet"))
    client = server.client()
    body = client.get_object(Bucket=bucket, Key=name)["Body"].read()
    client.put_object(Bucket=bucket, Key=name, Body=body[:-9] + b"x" + body[-8:])
    assert people.error("CALL system.verify('people', copies => true)")[0] == "PAL-503"
    assert people.error("CALL system.restore('people', backup => 'far')")[0] == "PAL-503"
    client.delete_object(Bucket=bucket, Key=name)
    assert people.error("CALL system.restore('people', backup => 'far')")[0] == "PAL-507"
    assert [p for p in people.root.rglob("part_*") if "people_journal" not in str(p)] == []


@pytest.mark.long
def test_a_copy_that_is_cut_is_none(
    people: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Cutting(server.port)
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    relay.word = b"backup.json"
    # Asked for at first, to see that there is none; written in the end.
    relay.then = b'"format"'
    with pytest.raises(gateway.Error, match="cannot write"):
        _backup(people, f"s3://{bucket}")
    assert not any(n.endswith("backup.json") for n in objects(server, bucket))
    let_in(server, monkeypatch)
    assert objects(server, bucket), "it could not be undone while the server was away"
    assert people.error("CALL system.restore('people', backup => 'far')")[0] == "PAL-705"
    people("CALL system.backup('people', name => 'far', drop => true)")
    assert objects(server, bucket) == []
    _backup(people, f"s3://{bucket}")
    people("CALL system.verify('people', copies => true)")


def test_archived_rows_move_away(run: Client, server: Server, bucket: str) -> None:
    run("CREATE TABLE days (day DATE PRIMARY KEY, n INTEGER)")
    run("INSERT INTO days SELECT DATE '2024-01-01' + i::INTEGER, i FROM range(60) r(i)")
    run("ALTER TABLE days SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE)")
    run("CALL system.retain('days', now => '2024-03-01')")
    left = run("SELECT count(*) FROM days")
    sql = "CALL system.backup('days', name => 'old', archive => true"
    assert run.error(f"{sql})")[0] == "PAL-222"
    run(f"{sql}, to => 's3://{bucket}')")
    assert objects(server, bucket)
    run("CALL system.restore('days', backup => 'archive', key => '2024-01-05')")
    assert run("SELECT n FROM days WHERE day < DATE '2024-01-20'") == [(4,)]
    run("CALL system.restore('days', backup => 'old')")
    assert left != [(60,)]
    assert run("SELECT count(*) FROM days") == [(60,)]


def test_places_inside_the_warehouse_and_backups_past_their_time(
    people: Client, server: Server, bucket: str
) -> None:
    inside = f"CALL system.backup('people', to => '{people.root}/main')"
    assert people.error(inside)[0] == "PAL-222"
    _backup(people, f"s3://{bucket}", ", expires => '1 day'")
    assert (
        people.error(f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')")[0]
        == "PAL-705"
    ), "the name is taken there"
    session = people.connection.session
    (table,) = session.journal.state.catalog.tables()
    later = datetime.now(UTC) + timedelta(days=2)
    (done,) = run_all(session, Request("vacuum", now=later), [table])
    assert done.error is None
    assert objects(server, bucket) == []
    assert people("SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(0,)]


def test_a_password_in_a_url_is_not_recorded(people: Client) -> None:
    with pytest.raises(gateway.Error) as raised:
        _backup(people, "ftp://ada:hunter2@127.0.0.1:9/b")
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in str(people("SELECT * FROM system.jobs"))


def _held(server: Server, bucket: str) -> list[bytes]:
    client = server.client()
    return [
        client.get_object(Bucket=bucket, Key=name)["Body"].read()
        for name in objects(server, bucket)
    ]
