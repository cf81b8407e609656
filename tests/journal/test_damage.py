"""Damaged, moved, locked and foreign warehouses: an error that says what, never fewer rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gateway
from journal.records import backups
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import recover
from journal.stores.embedded.verification import verify
from tests.support.client import Client


def _filled(run: Client) -> Path:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t SELECT i, md5(i::VARCHAR) FROM range(5000) r(i)")
    run("CALL system.flush('t')")
    return run.files()[0]


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [Path.unlink, _truncate, _alter])
@pytest.mark.parametrize("reopen", [False, True])
def test_a_damaged_file_is_named(
    connect: Callable[..., Client], damage: Callable[[Path], None], reopen: bool
) -> None:
    run = connect()
    path = _filled(run)
    run("CREATE TABLE healthy (a INTEGER)")
    run("INSERT INTO healthy VALUES (1)")
    damage(path)
    if reopen:
        run.close()
        run = connect()
    name = str(path.relative_to(run.root))
    for statement in (
        "SELECT count(*), max(v) FROM t",
        "SELECT * FROM t WHERE k = 7",
        "UPDATE t SET v = 'x' WHERE k = 7",
        "UPDATE t SET v = 'x' WHERE k = 7",
        "INSERT INTO t VALUES (7, 'again')",
        "DELETE FROM t",
    ):
        with pytest.raises(gateway.OperationalError, match="PAL-503") as raised:
            run(statement)
        assert name in str(raised.value)
    assert run("SELECT * FROM healthy") == [(1,)]
    run.close()
    journal = Journal(run.root)
    try:
        report = verify(journal)
    finally:
        journal.close()
    assert [p.kind for p in report.problems] == ["file"]
    assert name in report.problems[0].message


@pytest.mark.parametrize("how", ["named", "archived"])
def test_a_damaged_file_of_a_backup_is_named(connect: Callable[..., Client], how: str) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, day DATE)")
    run("INSERT INTO t SELECT i, DATE '2020-01-01' + i::INTEGER FROM range(100) r(i)")
    run("CALL system.flush('t')")
    (kept,) = run.files()
    if how == "named":
        run("CALL system.backup('t', name => 'good')")
        run("DELETE FROM t")
        run("OPTIMIZE t")
    else:
        run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE)")
        run("CALL system.retain('t')")
        for (name,) in run("SELECT name FROM system.backups"):
            run(f"CALL system.backup('t', name => '{name}', drop => true)")
    assert run("CALL system.verify('t')")
    _alter(kept)
    with pytest.raises(gateway.Error, match=f"{kept.name}, which backups list, was altered"):
        run("CALL system.verify('t')")


def test_a_whole_warehouse_is_verified(connect: Callable[..., Client]) -> None:
    run = connect()
    _filled(run)
    run("UPDATE t SET v = 'x' WHERE k < 100")
    run("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 1")
    run("DELETE FROM t WHERE k >= 4990")
    run("CALL system.flush('t')")
    run("INSERT INTO t VALUES (-1, 'new', 5)")
    run("CREATE TABLE gone (a HUGEINT, u VARCHAR UNIQUE)")
    run("INSERT INTO gone VALUES (1, 'a'), (1, 'b')")
    run("CALL system.flush('gone')")
    run("DROP TABLE gone")
    run.close()
    journal = Journal(run.root)
    told: list[float] = []
    try:
        report = verify(journal, told.append)
    finally:
        journal.close()
    assert report.problems == []
    assert report.is_clean
    assert report.rows == 5000 + 200 + 20 + 1 + 2
    assert told[-1] == 1.0
    assert told == sorted(told)
    assert report.to_json()["clean"] is True


def test_contradictions_are_found(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, u INTEGER UNIQUE)")
    run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    run("DELETE FROM t WHERE k = 3")
    run.close()
    journal = Journal(run.root)
    try:
        with journal.exclusive_session() as session:
            head = "_palimpsest.t1_head_1"
            session.text(f"INSERT INTO {head} SELECT * FROM {head} WHERE k = 1")
            session.text(
                f"INSERT INTO {head} SELECT * FROM {head} WHERE k = 3"
                " AND subsequent_version_number > version_number"
            )
            session.text(
                f"INSERT INTO {head} SELECT 9, 2, make_timestamptz(5), make_timestamptz(6)"
            )
            session.text(f"INSERT INTO {head} SELECT 8, 2, '2999-01-01'::TIMESTAMPTZ, NULL")
            session.commit()
        report = verify(journal)
    finally:
        journal.close()
    kinds = {p.kind for p in report.problems}
    expected = {"count", "closed twice", "open twice", "dangling", "current twice", "version"}
    assert expected | {"unique"} == kinds


def test_unlisted_files_are_removed_and_listed_ones_kept(connect: Callable[..., Client]) -> None:
    run = connect()
    listed = _filled(run)
    run.close()
    stray = listed.with_name("stray.parquet")
    shutil.copy(listed, stray)
    orphan = listed.parent.parent / "0123" / "part_0.parquet"
    orphan.parent.mkdir()
    shutil.copy(listed, orphan)
    journal = Journal(run.root)
    try:
        assert len(verify(journal).unlisted) == 2
        assert len(recover(journal).orphans) == 2
        assert verify(journal).unlisted == []
    finally:
        journal.close()
    assert listed.exists()
    assert not orphan.parent.exists()
    run = connect()
    assert run("SELECT count(*) FROM t") == [(5000,)]


def test_a_moved_warehouse_is_read_where_it_is(connect: Callable[..., Client]) -> None:
    run = connect()
    _filled(run)
    run("CREATE SCHEMA hr")
    run("ALTER TABLE t SET SCHEMA hr")
    run("UPDATE hr.t SET v = 'x' WHERE k = 1")
    run.close()
    moved = run.root.with_name("moved")
    run.root.rename(moved)
    run = Client(moved)
    assert run("SELECT count(*), count(*) FILTER (v = 'x') FROM hr.t") == [(5000, 1)]
    run("INSERT INTO hr.t VALUES (-1, 'y')")
    run("CALL system.flush('hr.t')")
    assert run("SELECT count(*) FROM hr.t") == [(5001,)]
    run.close()


def _open_error(root: Path) -> gateway.Error:
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(f"palimpsest:///{root}")
    return raised.value


def test_a_newer_format_is_refused(connect: Callable[..., Client]) -> None:
    run = connect()
    run.close()
    journal = Journal(run.root)
    with journal.exclusive_session() as session:
        session.text("UPDATE _palimpsest.meta SET value = '99' WHERE key = 'format'")
        session.commit()
    journal.close()
    error = _open_error(run.root)
    assert (error.code, error.sqlstate) == ("PAL-502", "58000")
    assert "99" in str(error)


def test_what_is_no_warehouse_is_refused(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.duckdb").write_bytes(b"this is no database at all" * 1000)
    error = _open_error(tmp_path)
    assert (error.code, error.sqlstate) == ("PAL-502", "58000")
    (tmp_path / "file").write_text("a file")
    assert _open_error(tmp_path / "file").code == "PAL-507"


def test_a_corrupt_catalog_is_refused(connect: Callable[..., Client]) -> None:
    run = connect()
    _filled(run)
    run.close()
    for statement in (
        "UPDATE _palimpsest.manifests SET manifest = '{\"generation\": 1}'",
        "UPDATE _palimpsest.catalog_log SET change = 'no json'",
        "DROP TABLE _palimpsest.manifests",
    ):
        copy = run.root.with_name("copy")
        shutil.copytree(run.root, copy)
        journal = Journal(copy)
        with journal.exclusive_session() as session:
            session.text(statement)
            session.commit()
        journal.close()
        assert _open_error(copy).code == "PAL-502", statement
        shutil.rmtree(copy)


def test_a_warehouse_that_another_tool_has_open_names_the_process(tmp_path: Path) -> None:
    run = Client(tmp_path / "locked")
    run("CREATE TABLE t (a INTEGER)")
    run.close()
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "locked" / DATABASE_FILE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    with pytest.raises(gateway.OperationalError, match="PID") as locked:
        gateway.connect(f"palimpsest:///{tmp_path / 'locked'}")
    assert locked.value.code == "PAL-501"
    other.communicate("")


def test_a_read_only_folder(connect: Callable[..., Client], tmp_path: Path) -> None:
    run = connect()
    run.close()
    place = tmp_path / "place"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", str(run.root), str(place)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root can mount a folder read-only")
    try:
        error = _open_error(place)
    finally:
        subprocess.run(["umount", str(place)], check=True, capture_output=True)
    assert error.code in {"PAL-504", "PAL-507"}
    assert "read-only" in str(error).lower() or "permission" in str(error).lower()


def _rot(path: Path) -> None:
    """Alter a file as a disk does: of equal size, and of the same age."""
    before = path.stat()
    _alter(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("damage", [Path.unlink, _truncate, _alter, _rot])
@pytest.mark.parametrize("reopen", [False, True])
def test_a_backup_holds_no_damage(
    connect: Callable[..., Client], tmp_path: Path, damage: Callable[[Path], None], reopen: bool
) -> None:
    run = connect()
    path = _filled(run)
    run("CALL system.backup('t', name => 'whole')")
    damage(path)
    if reopen:
        run.close()
        run = connect()
    elsewhere = tmp_path / "elsewhere"
    calls = [f"CALL system.backup('t', name => 'copied', to => '{elsewhere}')"]
    if reopen or damage is not _rot:
        # What a disk does to a file later is seen when it is read: naming it reads it once.
        calls.append("CALL system.backup('t', name => 'named')")
    for call in calls:
        with pytest.raises(gateway.Error, match="PAL-503") as raised:
            run(call)
        assert str(path.relative_to(run.root)) in str(raised.value)
    with run.connection.session.journal.reading_session() as session:
        assert [b.name for b in backups.load(session, 1)] == ["whole"]
    assert [p for p in elsewhere.rglob("*") if p.is_file()] == []
