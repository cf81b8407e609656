"""Replicas in buckets: brought up to date, whole at each moment, clean of who was erased."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.jobs.runs import run_named
from gateway.session.operations import no_progress
from journal.model.errors import PalimpsestError
from spark_compaction.programs import copies
from tests.elsewhere.clean import TOKEN
from tests.support.client import Client
from tests.support.s3 import Server, objects
from tests.support.tiers import in_tiers


def _replicated(
    client: Client, url: str, *, dry_run: bool = False, **options: object
) -> dict[str, Any]:
    session, given = client.connection.session, {"to": url, **options}
    (run,) = run_named(session, no_progress, "replicate", given, ["people"], dry_run=dry_run)
    if run.error is not None:
        raise run.error
    assert run.report is not None
    (told,) = run.report.details["targets"]
    return dict(told)


def _content(server: Server, bucket: str) -> dict[str, bytes]:
    client = server.client()
    names = objects(server, bucket)
    return {n: client.get_object(Bucket=bucket, Key=n)["Body"].read() for n in names}


def test_f42_a_replica_in_a_bucket_follows_its_table(
    people: Client, server: Server, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{bucket}/r"
    planned = _replicated(people, url, dry_run=True)
    assert (planned["made"], planned["files"], objects(server, bucket)) == (True, 2, [])
    first = _replicated(people, url)
    assert (first["made"], first["files"], first["reused"]) == (True, 2, 0)

    # An unchanged table: no piece is read, no object is written.
    before = _content(server, bucket)
    with monkeypatch.context() as patched:
        patched.delattr("spark_compaction.programs.copies.write_manifest")
        again = _replicated(people, url)
    assert (again["changed"], again["files"], again["reused"]) == (False, 0, 2)
    assert _content(server, bucket) == before

    # A changed one: what is new alone.
    people("INSERT INTO people VALUES (4, 'dan@x.example')")
    third = _replicated(people, url, parallel=2, bandwidth=100)
    assert (third["files"], third["reused"], third["rows"]) == (1, 2, 1)
    kept = {n: b for n, b in _content(server, bucket).items() if n in before and "part_" in n}
    assert len(kept) == 2
    assert kept.items() <= before.items()
    shown = people("SELECT role, state, version > 0, files, rows FROM system.replicas")
    assert shown == [("copy", "FOLLOWING", True, 1, 1)]

    # It is restored elsewhere, with its past; and what is no more at the source goes there.
    other = Client(tmp_path / "other")
    other("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)")
    (name,) = {n.rpartition("/")[0] for n in objects(server, bucket) if n.endswith("backup.json")}
    other(f"CALL system.restore('people', from => 's3://{bucket}/{name}')")
    assert other.sorted("SELECT * FROM people") == people.sorted("SELECT * FROM people")
    other.close()
    people("CALL system.compact('people')")
    _replicated(people, url)
    listed = copies.read(f"s3://{bucket}/{name}")[0]
    there = {n.removeprefix(f"{name}/") for n in objects(server, bucket)}
    assert {n for n in there if "part_" in n} == listed.paths
    people("CALL system.verify('people', copies => true)")


@pytest.mark.long
def test_f42_erasures_reach_replicas_in_buckets(
    people: Client, server: Server, bucket: str
) -> None:
    url = f"s3://{bucket}"
    _replicated(people, url)
    assert any(TOKEN.encode() in body for body in _content(server, bucket).values())
    people("ERASE FROM people WHERE email = 'new@x.example'")
    # Rows that are being erased are not published, and the purge takes them out of the bucket.
    with pytest.raises(PalimpsestError, match="being erased"):
        _replicated(people, url)
    people("CALL system.purge('people')")
    assert not any(TOKEN.encode() in body for body in _content(server, bucket).values())
    assert people("SELECT state FROM system.erasures") == [("COMPLETED",)]
    _replicated(people, url)
    assert _replicated(people, url)["changed"] is False
    assert not any(TOKEN.encode() in body for body in _content(server, bucket).values())
    people("CALL system.verify('people', copies => true)")


@pytest.mark.parametrize(
    "step", in_tiers(["before the list", "after the list"], {"after the list"})
)
def test_f42_who_reads_the_list_never_sees_half(
    people: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    url = f"s3://{bucket}"
    _replicated(people, url)
    (name,) = (n for n in objects(server, bucket) if n.endswith("backup.json"))
    place = f"s3://{bucket}/{name.rpartition('/')[0]}"
    before = copies.read(place)[0].version
    people("INSERT INTO people VALUES (4, 'dan@x.example')")
    write = copies.write_manifest

    def killed(*given: Any) -> None:
        if step == "after the list":
            write(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(copies, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            _replicated(people, url)
    listed = copies.read(place)[0]
    assert (listed.version == before) is (step == "before the list")
    prefix = name.rpartition("/")[0]
    assert {f"{prefix}/{path}" for path in listed.paths} <= set(objects(server, bucket))
    _replicated(people, url)
    listed = copies.read(place)[0]
    assert (
        sum(s.counts.total for s in listed.segments)
        == people("SELECT count(*) FROM people_journal")[0][0]
    )
    assert {n for n in objects(server, bucket) if "part_" in n} == {
        f"{prefix}/{path}" for path in listed.paths
    }


def test_f42_what_is_no_replica_of_ours_is_left_alone(
    people: Client, server: Server, bucket: str, tmp_path: Path
) -> None:
    url = f"s3://{bucket}/r"
    _replicated(people, url)
    other = Client(tmp_path / "other")
    other("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)")
    before = _content(server, bucket)
    with pytest.raises(PalimpsestError, match="no record of"):
        _replicated(other, url)
    other.close()
    assert _content(server, bucket) == before
    people(f"ALTER TABLE people SET POLICY (REPLICATION = (TO '{url}', EVERY 1 HOUR))")
    assert "s3://" in json.dumps(people("SHOW POLICY people"), default=str)
    for target, code in (("ldap://x/y", "PAL-110"), ("s3:/x", "PAL-240"), ("s3:///x", "PAL-240")):
        sql = f"ALTER TABLE people SET POLICY (REPLICATION = (TO '{target}', EVERY 1 HOUR))"
        assert people.error(sql)[0] == code
    for target in ("ldap://x/y", "s3:/x", f"file://{people.root}/in"):
        with pytest.raises(PalimpsestError):
            _replicated(people, target)
    assert people("SELECT count(*) FROM system.replicas") == [(1,)]
