"""Replicas in other warehouses, by their files; `tests/contract/store` has what all stores do."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import delete_entity, submit_entities
from gateway.jobs.runs import run_named
from gateway.procedures import requests
from gateway.procedures.replicas import promote_replica
from gateway.session.operations import no_progress
from journal.erasure.secret import read_secret
from journal.identity.key_ring import key_id
from journal.model.errors import Code, PalimpsestError
from tests.support.replicated import (
    PEOPLE,
    opened,
    purge_one,
    replicated,
    replication,
    rows,
    submit_erasure,
    with_people,
)

ALL = "SELECT * FROM hr.people ORDER BY id"
HISTORY = "SELECT * EXCLUDE (version_number) FROM hr.people_journal ORDER BY ALL"


@pytest.fixture
def source(tmp_path: Path):  # type: ignore[no-untyped-def]
    with opened(tmp_path / "source") as connection:
        yield connection


@pytest.fixture
def target(tmp_path: Path):  # type: ignore[no-untyped-def]
    with opened(tmp_path / "target") as connection:
        yield connection


def _holds(folder: Path, text: str) -> bool:
    """True if any file of a warehouse has a text, in its rows or in its bytes."""
    files = [p for p in folder.rglob("*") if p.is_file()]
    values = [pq.read_table(p).to_pydict() for p in files if p.suffix == ".parquet"]
    in_rows = any(text in column for rows in values for column in rows.values())
    return in_rows or any(text.encode() in p.read_bytes() for p in files)


def test_the_second_run_of_an_unchanged_table_reads_no_file(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    replicated(source, tmp_path / "target")
    for file in (tmp_path / "source").glob("hr/*/*/*.parquet"):
        file.chmod(0)  # Whoever is not root could not read it now.
        file.write_bytes(b"")  # And its bytes are not those of the manifest.
    told = replicated(source, tmp_path / "target")
    assert (told["changed"], told["files"], told["bytes"]) == (False, 0, 0)
    assert told["reused"] > 0


@pytest.mark.long
def test_a_changed_table_copies_only_new_segments(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source, 5000)
    first = replicated(source, tmp_path / "target")
    source.execute("UPDATE hr.people SET dept = 5 WHERE id = 30")
    told = replicated(source, tmp_path / "target")
    assert (told["rows"], told["reused"]) == (2, first["files"])
    source.execute("ALTER TABLE hr.people ADD COLUMN age INTEGER DEFAULT 3")
    source.execute("UPDATE hr.people SET age = 40 WHERE id = 31")
    replicated(source, tmp_path / "target")
    assert rows(target, ALL) == rows(source, ALL)
    run_named(source.session, no_progress, "compact", {}, [PEOPLE])
    replicated(source, tmp_path / "target")
    assert rows(target, ALL) == rows(source, ALL)


@pytest.mark.long
def test_a_damaged_file_is_not_published(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    replicated(source, tmp_path / "target")
    source.execute("UPDATE hr.people SET dept = 7")
    run_named(source.session, no_progress, "compact", {}, [PEOPLE])
    for file in (tmp_path / "source").glob("hr/*/*/*.parquet"):
        whole = file.read_bytes()
        if len(whole) > 1000:
            file.write_bytes(whole[:-9] + bytes(5) + whole[-4:])
            assert zlib.crc32(file.read_bytes()) != zlib.crc32(whole)
    before = rows(target, ALL)
    run = replication(source, tmp_path / "target")
    assert run.error is not None
    assert run.error.code is Code.SEGMENT_DAMAGED
    assert rows(target, ALL) == before


@pytest.mark.long
def test_rows_of_a_request_that_is_cancelled_come_back(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    request = submit_erasure(source, "p33@x.org")
    replicated(source, tmp_path / "target")
    assert rows(target, "SELECT id FROM hr.people WHERE id = 33") == []
    requests.cancel(source.session, no_progress, request.id)
    replicated(source, tmp_path / "target")
    assert rows(target, ALL) == rows(source, ALL)
    assert rows(target, HISTORY) == rows(source, HISTORY)


@pytest.mark.long
def test_p1_an_older_copy_of_the_source_brings_nobody_back(
    target: Connection, tmp_path: Path
) -> None:
    """The source loses an erasure with its disk; the replica has recorded it, and keeps to it."""
    with opened(tmp_path / "source") as source:
        with_people(source)
    shutil.copytree(tmp_path / "source", tmp_path / "older")
    with opened(tmp_path / "source") as source:
        submit_erasure(source, "p33@x.org")
        purge_one(source)
        replicated(source, tmp_path / "target")
    shutil.copy(  # The key of hashes is kept elsewhere, as docs/erasure.md says.
        tmp_path / "source/_palimpsest/secret.key",
        (tmp_path / "older/_palimpsest").mkdir(exist_ok=True) or tmp_path / "older/_palimpsest",
    )
    before = rows(target, ALL)
    with opened(tmp_path / "older") as older:
        older.execute("UPDATE hr.people SET dept = 4 WHERE id IN (33, 34)")
        refused = replication(older, tmp_path / "target")
    assert refused.error is not None
    assert refused.error.code is Code.DIVERGED
    assert rows(target, ALL) == before
    assert not _holds(tmp_path / "target", "p33@x.org")


def test_a_run_over_all_tables_takes_those_with_a_policy(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    source.execute("CREATE TABLE other (a INTEGER PRIMARY KEY)")
    assert run_named(source.session, no_progress, "replicate", {}, []) == []
    (failed,) = run_named(source.session, no_progress, "replicate", {}, ["other"])
    assert failed.error is not None
    place = f"palimpsest:///{tmp_path}/target"
    source.execute(f"ALTER TABLE hr.people SET POLICY (REPLICATION = (TO '{place}'))")
    (run,) = run_named(source.session, no_progress, "replicate", {}, [])
    assert (run.table, run.state) == (PEOPLE, "SUCCEEDED")
    assert rows(target, ALL) == rows(source, ALL)


def test_f50_a_profile_that_a_policy_names_must_be_there_and_stays(
    source: Connection, target: Connection, tmp_path: Path
) -> None:
    with_people(source)
    stated = "SET POLICY (REPLICATION = (TO 'vault'))"
    for scope in ("TABLE hr.people", "SCHEMA hr", "DATABASE"):
        with pytest.raises(Error, match="profile vault does not exist"):
            source.execute(f"ALTER {scope} {stated}")
    url = f"palimpsest:///{tmp_path}/target"
    profile = Entity.of(EntityKind.PROFILE, "vault", {"url": url})
    submit_entities(source.session, no_progress, [profile])
    for scope in ("TABLE hr.people", "SCHEMA hr", "DATABASE"):
        source.execute(f"ALTER {scope} {stated}")
    with pytest.raises(PalimpsestError) as refused:
        delete_entity(source.session, no_progress, EntityKind.PROFILE, "vault")
    assert refused.value.code is Code.DEPENDENT_OBJECTS
    for scope in ("hr.people", "schema hr", "database"):
        assert f"the policy of {scope}" in refused.value.message
    for scope in ("TABLE hr.people", "SCHEMA hr", "DATABASE"):
        source.execute(f"ALTER {scope} UNSET POLICY (REPLICATION)")
    delete_entity(source.session, no_progress, EntityKind.PROFILE, "vault")


@pytest.mark.long
def test_f40_sources_share_a_target_whoever_of_them_erases(
    source: Connection, tmp_path: Path
) -> None:
    place = tmp_path / "target"
    with_people(source, 5)
    with opened(tmp_path / "other") as other:
        other.execute("CREATE SCHEMA west")
        other.execute("CREATE TABLE west.people (id INTEGER PRIMARY KEY, email VARCHAR)")
        other.execute("INSERT INTO west.people VALUES (1, 'w1@x.org')")
        replicated(source, place)
        replicated(other, place, "west.people")
        source.execute("UPDATE hr.people SET dept = 7 WHERE id = 1")
        other.execute("INSERT INTO west.people VALUES (2, 'w2@x.org')")
        replicated(source, place)
        replicated(other, place, "west.people")
        with opened(place) as target:
            found = "SELECT id, email FROM hr.people UNION ALL SELECT id, email FROM west.people"
            ours = rows(source, "SELECT id, email FROM hr.people")
            theirs = rows(other, "SELECT id, email FROM west.people")
            assert sorted(rows(target, found)) == sorted([*ours, *theirs])
        submit_erasure(source, "p3@x.org")
        replicated(source, place)
        replicated(other, place, "west.people")
        with opened(place) as target:
            assert not rows(target, "SELECT 1 FROM hr.people WHERE email = 'p3@x.org'")
            assert rows(target, "SELECT count(*) FROM west.people") == [(2,)]
        # The second key lies in a file of its own, for the owner alone.
        (kept,) = {*place.glob("_palimpsest/secret-*.key")} - {_key_file(place, place)}
        assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_f40_a_key_that_is_gone_lets_nobody_back(source: Connection, tmp_path: Path) -> None:
    place = tmp_path / "target"
    with_people(source, 5)
    submit_erasure(source, "p3@x.org")
    with opened(place) as target:
        target.execute("CREATE TABLE own (id INTEGER PRIMARY KEY, email VARCHAR)")
        target.execute("PLACE HOLD FOR SUBJECT email = 'own@x.org' REASON 'matter 1'")
        replicated(source, place)
        promote_replica(target.session, no_progress, PEOPLE)
        kept = _key_file(place, tmp_path / "source")
        away = kept.rename(kept.with_suffix(".away"))
        for content in (None, bytes(32)):
            if content is not None:
                kept.write_bytes(content)
            with pytest.raises(Error, match="is missing or damaged") as caught:
                target.execute("INSERT INTO hr.people VALUES (900, 'p3@x.org', 1)")
            assert caught.value.code == "PAL-502"
        away.replace(kept)
        with pytest.raises(Error, match="was erased"):
            target.execute("INSERT INTO hr.people VALUES (900, 'p3@x.org', 1)")


def _key_file(place: Path, of: Path) -> Path:
    """Where a warehouse keeps the key of one."""
    return place / "_palimpsest" / f"secret-{key_id(read_secret(of))}.key"
