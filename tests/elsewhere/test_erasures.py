"""Erasing people of whom only a copy that lies elsewhere still knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gateway
from gateway.jobs import runs as jobs
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, State
from journal.files.object_storage import Folder
from journal.records import backups
from journal.records.maintenance import put_backup_segments
from tests.support import visits
from tests.support.client import Client
from tests.support.relay import Relay
from tests.support.s3 import Server, let_in, objects
from tests.support.tiers import in_tiers
from tests.support.traces import holders

TOKEN = "Qz7-unmistakable-Xk9"
MAIL = f"{TOKEN}@example.org"
LIST = "b/main.visits/far/backup.json"


@pytest.fixture
def gone(run: Client, bucket: str) -> Client:
    """A table whose rows of January, somebody's among them, are in a copy and nowhere else."""
    visits.fill(run, 4, MAIL)
    run(f"CALL system.backup('visits', name => 'far', to => 's3://{bucket}/b')")
    run("ALTER TABLE visits SET POLICY (RETENTION = 60 DAYS ON COLUMN day, BACKUP = 1 MINUTE)")
    run("CALL system.retain('visits', now => '2024-04-15')")
    run("ALTER TABLE visits UNSET POLICY")
    session = run.connection.session
    later = datetime.now(UTC) + timedelta(days=1)
    vacuum = jobs.Request("vacuum", {"retain": "1 hours"}, now=later)
    (done,) = jobs.run_all(session, vacuum, list(session.journal.state.catalog.tables()))
    assert done.error is None
    assert not any(n.endswith(".parquet") for n in holders(run.root, TOKEN)), "it is elsewhere"
    return run


def _request(run: Client) -> ErasureRequest:
    from gateway.procedures.erasure_program import erasure_of

    return requests(erasure_of(run.connection.session).journal)[-1]


def _there(server: Server, bucket: str, folder: Path) -> list[str]:
    """Objects of a bucket that hold the token."""
    client = server.client()
    for name in objects(server, bucket):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.get_object(Bucket=bucket, Key=name)["Body"].read())
    return holders(folder, TOKEN)


@pytest.mark.long
def test_a_purge_fetches_only_files_that_may_hold_the_keys(
    gone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _submit(gone, "name")
    fetched: list[str] = []
    fetch = Folder.fetch

    def noted(folder: Folder, name: str, target: Path) -> None:
        fetched.append(name)
        fetch(folder, name, target)

    monkeypatch.setattr(Folder, "fetch", noted)
    gone("CALL system.purge('visits')")
    assert len(fetched) == 1
    assert _request(gone).state is State.COMPLETED


@pytest.mark.first(1)
@pytest.mark.parametrize("by", ["name", "condition"])
def test_whoever_is_only_in_a_copy_is_found_there(
    gone: Client, server: Server, bucket: str, tmp_path: Path, by: str
) -> None:
    before = gone.sorted("SELECT * FROM visits")
    assert len(_there(server, bucket, tmp_path / "before")) == 1
    _submit(gone, by)
    (target,) = _request(gone).targets
    assert (target.keys, target.outcome) == (1, "PENDING")
    if by == "name":
        assert (target.copies_searched, target.copies_skipped) == (1, 3), "by its filters"
    gone("CALL system.purge('visits')")
    request = _request(gone)
    assert request.state is State.COMPLETED
    (target,) = request.targets
    assert (target.outcome, target.versions_removed) == ("ERASED", 0)
    assert (target.copies_rewritten, target.copies_removed) == (1, 1)
    assert _there(server, bucket, tmp_path / "after") == []
    assert holders(gone.root, TOKEN) == []
    assert gone.sorted("SELECT * FROM visits") == before
    gone("CALL system.verify('visits', copies => true)")
    gone("CALL system.restore('visits', backup => 'far')")
    assert gone("SELECT count(*), count(*) FILTER (id = 7) FROM visits") == [(200, 0)]


@pytest.mark.slow
def test_filters_follow_an_erasure(gone: Client, server: Server, bucket: str) -> None:
    """Those of files that were written anew answer for nobody who is gone, and for all others."""
    _submit(gone, "name")
    gone("CALL system.purge('visits')")
    names = [n for n in objects(server, bucket) if n.endswith(".bloom")]
    assert len(names) == 1
    _submit(gone, "name", "u13@x.example")
    (target,) = _request(gone).targets
    assert (target.keys, target.copies_searched, target.copies_skipped) == (1, 1, 3)
    _submit(gone, "name", "nobody@x.example")
    (target,) = _request(gone).targets
    assert (target.outcome, target.copies_skipped) == ("SEARCHED_NONE", 4)


@pytest.mark.slow
def test_without_filters_every_file_is_read(gone: Client, server: Server, bucket: str) -> None:
    client = server.client()
    for name in objects(server, bucket):
        if name.endswith(".bloom"):
            client.put_object(Bucket=bucket, Key=name, Body=b"damaged")
    _submit(gone, "name")
    (target,) = _request(gone).targets
    assert (target.keys, target.copies_searched, target.copies_skipped) == (1, 4, 0)


@pytest.mark.slow
def test_what_a_killed_copy_left_goes_when_a_request_is_accepted(
    gone: Client, server: Server, bucket: str, tmp_path: Path
) -> None:
    """Files without a list are no backup: nobody restores them, and nobody else removes them."""
    server.client().delete_object(Bucket=bucket, Key=LIST)
    journal = gone.connection.session.journal
    with journal.exclusive_session() as session:
        (copy,) = [b for b in backups.load(session) if b.place is not None]
        listing = replace(copy, is_whole=False).listing
        put_backup_segments(session, copy.table_id, copy.name, listing)
        session.commit()
    assert len(_there(server, bucket, tmp_path / "before")) == 1
    _submit(gone, "name")
    (target,) = _request(gone).targets
    assert (target.outcome, target.copies_searched) == ("SEARCHED_NONE", 0)
    assert objects(server, bucket) == []
    assert gone("SELECT count(*) FROM system.backups WHERE kind = 'copy'") == [(0,)]
    gone("CALL system.purge('visits')")
    assert _request(gone).state is State.COMPLETED


@pytest.mark.long
def test_a_copy_that_is_not_where_it_was_is_neither_forgotten_nor_passed_over(
    gone: Client, server: Server, bucket: str, tmp_path: Path
) -> None:
    """As behind a disk that is not mounted: it was whole, so it is no half that was killed."""
    client = server.client()
    listed = client.get_object(Bucket=bucket, Key=LIST)["Body"].read()
    client.delete_object(Bucket=bucket, Key=LIST)
    _submit(gone, "name")
    assert [t.outcome for t in _request(gone).targets] == ["SEARCHED_NONE", "NOT_SEARCHED"]
    assert "is not in s3://" in _request(gone).targets[1].why
    with pytest.raises(gateway.Error):
        gone("CALL system.purge('visits')")
    gone("CALL system.vacuum('visits')")
    assert gone("SELECT name FROM system.backups WHERE kind = 'copy'") == [("far",)]
    assert _request(gone).state is State.ACCEPTED
    client.put_object(Bucket=bucket, Key=LIST, Body=listed)
    gone("CALL system.purge('visits')")
    assert _request(gone).state is State.COMPLETED
    assert _there(server, bucket, tmp_path) == []


@pytest.fixture
def out_of_reach(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that cuts the server off; the environment leads to it again when it is undone."""
    relay = Relay(server.port)
    relay.refuses = True

    def cut() -> None:
        let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")

    return cut


def _private(run: Client) -> list[str]:
    return sorted(p.name for p in (run.root / "_palimpsest" / "erasure").glob("*"))


@pytest.mark.long
@pytest.mark.parametrize("by", in_tiers(["name", "condition"], {"name"}))
def test_a_request_is_accepted_while_a_copy_is_out_of_reach(
    gone: Client,
    server: Server,
    bucket: str,
    out_of_reach: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    by: str,
) -> None:
    """Somebody of whom a row is live besides: it is hidden at once, and the copy waits."""
    gone("INSERT INTO visits VALUES (1000, ?, DATE '2024-04-20')", MAIL)
    out_of_reach()
    _submit(gone, by)
    assert gone("SELECT count(*) FROM visits WHERE id = 1000") == [(0,)]
    (live, copy) = _request(gone).targets
    assert (live.outcome, live.keys, live.copy) == ("PENDING", 1, None)
    assert (copy.outcome, copy.copy, copy.mask) == ("NOT_SEARCHED", "far", None)
    assert "cannot be reached" in copy.why
    for _ in range(2):
        with pytest.raises(gateway.Error, match=r"cannot be searched.*drop => true"):
            gone("CALL system.purge('visits')")
        assert _request(gone).state is State.ACCEPTED
    assert not any(n.endswith(".parquet") for n in holders(gone.root, TOKEN)), "gone here"
    gone.close()
    let_in(server, monkeypatch)
    run = Client(gone.root)
    try:
        for backup in ("backup => 'far'", f"from => 's3://{bucket}/b/main.visits/far'"):
            with pytest.raises(gateway.Error, match="has not yet searched"):
                run(f"CALL system.restore('visits', {backup})")
        before = run.sorted("SELECT * FROM visits")
        run("CALL system.purge('visits')")
        request = _request(run)
        assert request.state is State.COMPLETED
        (live, copy) = request.targets
        assert (live.outcome, live.versions_removed, live.copies_removed) == ("ERASED", 1, 0)
        assert (copy.outcome, copy.keys, copy.copies_removed) == ("ERASED", 1, 1)
        if by == "name":
            assert (copy.copies_searched, copy.copies_skipped) == (1, 3), "by its filters"
        assert _there(server, bucket, tmp_path / "after") == []
        assert holders(run.root, TOKEN) == []
        assert _private(run) == []
        assert run.sorted("SELECT * FROM visits") == before
        run("CALL system.restore('visits', backup => 'far')")
        assert run("SELECT count(*) FILTER (id = 7), count(*) FROM visits") == [(0, 200)]
        assert run.error("INSERT INTO visits VALUES (7, 'x', DATE '2024-04-20')")[0] == "PAL-306"
    finally:
        run.close()


@pytest.mark.slow
def test_nobody_in_a_copy_that_was_out_of_reach(
    gone: Client, server: Server, out_of_reach: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out_of_reach()
    _submit(gone, "name", "nobody@x.example")
    assert [t.outcome for t in _request(gone).targets] == ["SEARCHED_NONE", "NOT_SEARCHED"]
    assert gone.error("CALL system.purge('visits')")[0] == "PAL-507"
    assert _request(gone).state is State.ACCEPTED
    let_in(server, monkeypatch)
    gone("CALL system.purge('visits')")
    assert _request(gone).state is State.COMPLETED
    assert [t.outcome for t in _request(gone).targets] == ["SEARCHED_NONE", "SEARCHED_NONE"]
    assert _private(gone) == []


@pytest.mark.slow
def test_a_copy_is_given_up_before_it_was_searched(
    gone: Client, server: Server, out_of_reach: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out_of_reach()
    _submit(gone, "name")
    let_in(server, monkeypatch)
    gone("CALL system.backup('visits', name => 'far', drop => true)")
    gone("CALL system.purge('visits')")
    request = _request(gone)
    assert request.state is State.COMPLETED
    assert [t.outcome for t in request.targets] == ["SEARCHED_NONE", "NOT_SEARCHED"]
    assert "given up" in request.targets[1].why
    assert holders(gone.root, TOKEN) == []


@pytest.mark.long
def test_a_request_that_waits_for_a_copy_is_cancelled(
    gone: Client, server: Server, out_of_reach: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gateway.procedures.erasure_program import erasure_of

    out_of_reach()
    _submit(gone, "name")
    assert [n.rpartition(".")[2] for n in _private(gone)] == ["sought"]
    erasure_of(gone.connection.session).cancel(_request(gone), "tester")
    assert _private(gone) == []
    let_in(server, monkeypatch)
    gone("CALL system.restore('visits', backup => 'far')")
    assert gone("SELECT count(*) FROM visits WHERE id = 7") == [(1,)]


@pytest.mark.long
def test_a_copy_of_the_copy_brings_nobody_back(gone: Client, server: Server, bucket: str) -> None:
    """What lies where no erasure reaches is refused on its way in."""
    client = server.client()
    for name in objects(server, bucket):
        client.copy_object(
            Bucket=bucket, Key=f"hidden/{name}", CopySource={"Bucket": bucket, "Key": name}
        )
    _submit(gone, "name")
    gone("CALL system.purge('visits')")
    source = f"s3://{bucket}/hidden/b/main.visits/far"
    with pytest.raises(gateway.Error) as raised:
        gone(f"CALL system.restore('visits', from => '{source}')")
    assert "PAL-306" in str(raised.value)
    gone(f"CALL system.restore('visits', from => '{source}', where => 'id > 300')")
    assert holders(gone.root, TOKEN) == []


@pytest.mark.long
def test_files_of_two_folders_are_copied_both(run: Client, bucket: str) -> None:
    """After a purge a segment may have some."""
    run("SET job_engine = 'local'")
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    run("INSERT INTO t SELECT i, i FROM range(1100000) r(i)")
    run("ERASE FROM t WHERE id = 1099999")
    run("CALL system.purge('t')")
    assert len({path.parent for path in run.files()}) == 2
    before = run("SELECT count(*), sum(n) FROM t")
    run(f"CALL system.backup('t', name => 'far', to => 's3://{bucket}')")
    run("CALL system.verify('t', copies => true)")
    run("DELETE FROM t WHERE n % 2 = 0")
    run("CALL system.restore('t', backup => 'far')")
    assert run("SELECT count(*), sum(n) FROM t") == before


def _submit(run: Client, by: str, mail: str = MAIL) -> None:
    from gateway.procedures.erasure_program import erasure_of
    from journal.erasure.erasure_spec import ErasureSpec

    if by == "name":
        erasure_of(run.connection.session).accept(ErasureSpec({"email": [mail]}), "tester")
    else:
        run("ERASE FROM visits WHERE email ILIKE ?", f"{TOKEN}%")
