"""Rows past their time that go to the place which the policy names."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import gateway
from journal.model.errors import Code, PalimpsestError
from journal.records import retired
from tests.support.client import Client
from tests.support.relay import Relay
from tests.support.s3 import Server, let_in, objects
from tests.support.traces import holders

TOKEN = "Qz7-unmistakable-Xk9"
ARCHIVED = "SELECT sum(rows) FROM system.backups WHERE kind = 'copy'"


@pytest.fixture
def days(run: Client, bucket: str) -> Client:
    """Sixty days, of which those that are older than thirty go to the bucket."""
    run("SET job_engine = 'local'")
    run("CREATE TABLE days (day DATE PRIMARY KEY, who VARCHAR) WITH (erasure = 'who AS nick')")
    run(
        "INSERT INTO days SELECT DATE '2024-01-01' + i::INTEGER,"
        " CASE i WHEN 4 THEN ? ELSE 'n' || i END FROM range(60) r(i)",
        TOKEN,
    )
    run(
        "ALTER TABLE days SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE,"
        f" ARCHIVE = 's3://{bucket}/old', BACKUP = 1 MINUTE)"
    )
    return run


@pytest.mark.long
def test_rows_go_to_the_place_and_come_back(
    days: Client, server: Server, bucket: str, tmp_path: Path
) -> None:
    before = days.sorted("SELECT * FROM days")
    days("CALL system.retain('days', now => '2024-02-20', dry_run => true)")
    assert objects(server, bucket) == []
    days("CALL system.retain('days', now => '2024-02-20')")
    first = days(ARCHIVED)[0][0]
    days("CALL system.retain('days', now => '2024-03-01')")
    assert days(ARCHIVED)[0][0] > first, "a copy for each run that archived something"
    days("CALL system.retain('days', now => '2024-03-01')")
    places = {name.split("/")[2] for name in objects(server, bucket)}
    assert len(places) == 2
    assert days("SELECT min(day) FROM days") == [(date(2024, 1, 31),)]
    days("CREATE TABLE kept (day DATE PRIMARY KEY, who VARCHAR)")
    days(f"CALL system.restore('kept', from => 's3://{bucket}/old/main.days/{min(places)}')")
    assert days("SELECT count(*) FROM kept")[0][0] in {first, 30 - first}
    days("DROP TABLE kept")
    other = Client(tmp_path / "other")
    other("CREATE TABLE days (day DATE PRIMARY KEY, who VARCHAR)")
    for place in sorted(places):
        other(f"CALL system.restore('days', from => 's3://{bucket}/old/main.days/{place}')")
    assert other("SELECT count(*) FROM days") == [(30,)], "an archive can be read anywhere"
    other.close()
    days("ALTER TABLE days UNSET POLICY")
    days("CALL system.restore('days', backup => 'archive')")
    assert days.sorted("SELECT * FROM days") == before


@pytest.mark.long
def test_an_erasure_reaches_them(days: Client, server: Server, bucket: str, tmp_path: Path) -> None:
    days("CALL system.retain('days', now => '2024-03-01')")
    days("ERASE FROM days WHERE who = ?", TOKEN)
    days("CALL system.purge('days')")
    client = server.client()
    for number, name in enumerate(objects(server, bucket)):
        path = tmp_path / "held" / f"{number}-{Path(name).name}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(client.get_object(Bucket=bucket, Key=name)["Body"].read())
    assert holders(tmp_path / "held", TOKEN) == []
    assert holders(days.root, TOKEN) == []
    days("ALTER TABLE days UNSET POLICY")
    days("CALL system.restore('days', backup => 'archive')")
    assert days("SELECT count(*), count(*) FILTER (who LIKE 'Qz7%') FROM days") == [(59, 0)]


@pytest.mark.long
def test_what_cannot_be_moved_stays_until_the_next_run(
    days: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = days.sorted("SELECT * FROM days")
    relay = Relay(server.port)
    relay.refuses = True
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    with pytest.raises(gateway.Error, match="cannot be reached"):
        days("CALL system.retain('days', now => '2024-03-01')")
    assert days("SELECT count(*) FROM days") == [(30,)], "they are archived, here"
    let_in(server, monkeypatch)
    (row,) = days("CALL system.retain('days', now => '2024-03-01')")
    assert row[3] == "SUCCEEDED"
    assert days(ARCHIVED) == [(30,)]
    days("ALTER TABLE days UNSET POLICY")
    days("CALL system.restore('days', backup => 'archive')")
    assert days.sorted("SELECT * FROM days") == before


@pytest.mark.long
def test_killed_after_the_copy_nothing_is_there_twice(
    days: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = days.sorted("SELECT * FROM days")

    def killed(*_given: object) -> None:
        raise PalimpsestError(Code.JOB_FAILED, "killed")

    with monkeypatch.context() as patched:
        patched.setattr(retired, "keep_until", killed)
        with pytest.raises(gateway.Error):
            days("CALL system.retain('days', now => '2024-03-01')")
    days("CALL system.retain('days', now => '2024-03-01')")
    assert days(ARCHIVED) == [(30,)]
    days("ALTER TABLE days UNSET POLICY")
    days("CALL system.restore('days', backup => 'archive')")
    assert days.sorted("SELECT * FROM days") == before


@pytest.mark.long
def test_rows_that_are_being_erased_are_not_moved(
    days: Client, server: Server, bucket: str
) -> None:
    days("ERASE FROM days WHERE who = 'n50'")
    days("CALL system.retain('days', now => '2024-03-01')")
    assert objects(server, bucket) == []
    days("CALL system.purge('days')")
    days("CALL system.retain('days', now => '2024-03-01')")
    assert days(ARCHIVED) == [(30,)]
