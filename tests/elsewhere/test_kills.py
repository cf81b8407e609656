"""kill -9 while a job writes to S3: a rerun ends clean, nothing is lost, no orphan is left."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from journal.records import retired
from tests.elsewhere.clean import TOKEN, is_clean
from tests.elsewhere.killed_copier import BACKUP_STEPS, DROP_STEPS, PURGE_STEPS
from tests.support.client import Client
from tests.support.s3 import Server, let_in, objects
from tests.support.warm_python import warm_python

REPOSITORY = Path(__file__).parents[2]
Killed = Callable[[Client, str, str], Client]


pytestmark = pytest.mark.slow


@pytest.fixture
def killed() -> Iterator[Killed]:
    """A function that has another process run a statement and die at a step."""
    opened: list[Client] = []

    def go(run: Client, step: str, statement: str) -> Client:
        run.close()
        command = [warm_python(), "-m", "tests.elsewhere.killed_copier", str(run.root)]
        done = subprocess.run(
            [*command, step, statement], cwd=REPOSITORY, capture_output=True, timeout=120
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        opened.append(Client(run.root))
        return opened[-1]

    yield go
    for client in opened:
        client.close()


@pytest.mark.parametrize("step", BACKUP_STEPS)
def test_a_copy_is_killed(
    people: Client, server: Server, bucket: str, killed: Killed, step: str
) -> None:
    before = people.sorted("SELECT * FROM people")
    backup = f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')"
    run = killed(people, step, backup)
    assert run.sorted("SELECT * FROM people") == before
    if step == "listed":
        assert run.error(backup)[0] == "PAL-705", "it is there as a whole"
    else:
        assert run.error("CALL system.restore('people', backup => 'far')")[0] == "PAL-705"
        run(backup)
    assert is_clean(run, server, bucket)
    run("CALL system.verify('people', copies => true)")
    run("DELETE FROM people")
    run("CALL system.restore('people', backup => 'far')")
    assert run.sorted("SELECT * FROM people") == before
    run("CALL system.backup('people', name => 'far', drop => true)")
    assert objects(server, bucket) == []


@pytest.mark.parametrize("step", [*BACKUP_STEPS, "let go"])
def test_a_copy_of_the_archive_is_killed(
    run: Client, server: Server, bucket: str, killed: Killed, step: str
) -> None:
    run("CREATE TABLE days (day DATE PRIMARY KEY, who VARCHAR) WITH (erasure = 'who AS nick')")
    run("INSERT INTO days SELECT DATE '2024-01-01' + i::INTEGER, 'n' || i FROM range(60) r(i)")
    before = run.sorted("SELECT * FROM days")
    run("ALTER TABLE days SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE)")
    run("CALL system.retain('days', now => '2024-03-01')")
    run("ALTER TABLE days UNSET POLICY")
    copy = f"CALL system.backup('days', name => 'old', to => 's3://{bucket}', archive => true)"
    run = killed(run, step, copy)
    run(copy)
    assert is_clean(run, server, bucket)
    copied = "SELECT sum(rows) FROM system.backups WHERE kind = 'copy'"
    assert run(copied) == [(30,)]
    journal = run.connection.session.journal
    with journal.reading_session() as session:
        left = [r for r in retired.load(session) if r.why.job_kind == retired.ARCHIVE]
        assert not left, "none of it is here as well"
    held = set(objects(server, bucket))
    (row,) = run(copy)
    assert row[3] == "NOTHING"
    assert "complete" in str(row)
    assert set(objects(server, bucket)) == held
    run("CALL system.restore('days', backup => 'archive')")
    assert run.sorted("SELECT * FROM days") == before


@pytest.mark.parametrize("step", ["in a file", "after a file"])
def test_a_vacuum_undoes_it_once_it_can(
    people: Client,
    server: Server,
    bucket: str,
    killed: Killed,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = killed(people, step, f"CALL system.backup('people', to => 's3://{bucket}')")
    with monkeypatch.context() as patched:
        let_in(server, patched, url="http://127.0.0.1:1")
        run("CALL system.vacuum('people')")
    let_in(server, monkeypatch)
    assert run("SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(1,)]
    run("CALL system.vacuum('people')")
    assert run("SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(0,)]
    assert objects(server, bucket) == []
    assert is_clean(run, server, bucket)


@pytest.mark.parametrize("step", PURGE_STEPS)
def test_a_purge_of_a_copy_is_killed(
    people: Client, server: Server, bucket: str, killed: Killed, step: str
) -> None:
    people(f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')")
    people("ERASE FROM people WHERE id = 1")
    run = killed(people, step, "CALL system.purge('people')")
    assert run.sorted("SELECT id FROM people") == [(2,), (3,)]
    run("CALL system.purge('people')")
    assert is_clean(run, server, bucket)
    client = server.client()
    for name in objects(server, bucket):
        assert TOKEN.encode() not in client.get_object(Bucket=bucket, Key=name)["Body"].read()
    run("DELETE FROM people")
    run("CALL system.restore('people', backup => 'far')")
    assert run.sorted("SELECT id FROM people") == [(2,), (3,)]


@pytest.mark.parametrize("step", DROP_STEPS)
def test_the_removal_of_a_copy_is_killed(
    people: Client, server: Server, bucket: str, killed: Killed, step: str
) -> None:
    people(f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')")
    drop = "CALL system.backup('people', name => 'far', drop => true)"
    run = killed(people, step, drop)
    assert run.error("CALL system.restore('people', backup => 'far')")[0] == "PAL-705"
    run(drop)
    assert objects(server, bucket) == []
    assert is_clean(run, server, bucket)
