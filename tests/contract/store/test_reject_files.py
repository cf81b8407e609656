"""Rows of a load that no column takes: left out, kept in a file, and reached by erasures."""

from __future__ import annotations

import csv
import gzip
import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure import audit_check
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import ErasureRequest, Outcome, State
from journal.files.rejected_rows import new_reject_file
from journal.records import reject_files
from tests.support import under_hold
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB = "ada@example.org", "bob@example.org"
LINES = f"id,email,n\n1,cyd@example.org,1\nx,{ADA.upper()},2\n3,{BOB},many\n4,dan@x.example\n5,,5\n"


@pytest.fixture
def people(store: Store, tmp_path: Path) -> Connection:
    """A table of people, and beside it ``people.csv`` with three rows that it does not take."""
    con = store.connect()
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, n INTEGER)"
        " WITH (erasure = 'email LOWER')"
    )
    (tmp_path / "people.csv").write_text(LINES)
    return con


def _load(con: Connection, folder: Path, name: str = "wrong.csv") -> Path:
    path = folder / name
    options = f"HEADER, ON_ERROR ignore, REJECTS '{path}'"
    con.execute(f"COPY people FROM '{folder / 'people.csv'}' ({options})")
    return path


def _read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def _submit(con: Connection, email: str) -> ErasureRequest:
    return erasure_of(con.session).accept(ErasureSpec({"email": [email]}), "tester")


def _change_record(con: Connection, **changes: Any) -> None:
    """Change what is on record of the only file."""
    with con.session.journal.exclusive_session() as session:
        (file,) = reject_files.load(session)
        reject_files.drop(session, file.id)
        reject_files.add(session, replace(file, **changes))
        session.commit()


def test_rows_that_no_column_takes_are_left_out_and_kept(
    people: Connection, tmp_path: Path
) -> None:
    cursor = people.cursor()
    path = tmp_path / "wrong.csv"
    options = f"HEADER, ON_ERROR ignore, REJECT_LIMIT 3, REJECTS '{path}'"
    cursor.execute(f"COPY people FROM '{tmp_path / 'people.csv'}' ({options})")
    assert (cursor.rowcount, cursor.rejected) == (2, 3)
    assert rows(people, "SELECT id, n FROM people ORDER BY id") == [(1, 1), (5, 5)]
    assert _read(path) == [
        ["3", "id", "x", "not a valid INT", f"x,{ADA.upper()},2"],
        ["4", "n", "many", "not a valid INT", f"3,{BOB},many"],
        ["5", "n", "", "2 values for 3 columns", "4,dan@x.example"],
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    listed = "SELECT path, rows, expires_at > made_at FROM system.reject_files"
    assert rows(people, listed) == [(str(path), 3, True)]


@pytest.mark.parametrize(("ending", "header"), [(".csv", True), (".csv.gz", True), (".csv", False)])
def test_enums_and_json_of_any_file(
    store: Store, tmp_path: Path, ending: str, header: bool
) -> None:
    con, path = store.connect(), tmp_path / f"notes{ending}"
    kind = "JSON" if Capability.ALL_TYPES in store.capabilities else "INTEGER"
    text = "1,ok,1\n2,glad,2\n3,sad,{x\n4,,\n"
    data = ("id,felt,doc\n" * header + text).encode()
    path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    con.execute(f"CREATE TABLE notes (id INTEGER PRIMARY KEY, felt mood, doc {kind})")
    rejects = tmp_path / "wrong.csv"
    options = "HEADER, " * header + f"ON_ERROR ignore, REJECTS '{rejects}'"
    assert con.execute(f"COPY notes FROM '{path}' ({options})").rejected == 2
    assert rows(con, "SELECT id, felt FROM notes ORDER BY id") == [(1, "ok"), (4, None)]
    found = [(int(row[0]), *row[1:3]) for row in _read(rejects)]
    assert found == [(2 + header, "felt", "glad"), (3 + header, "doc", "{x")]


def test_a_load_that_fails_leaves_no_file(people: Connection, tmp_path: Path) -> None:
    people.execute("INSERT INTO people VALUES (5, 'eve@example.org', 0)")
    with pytest.raises(gateway.IntegrityError):
        _load(people, tmp_path)
    options = "HEADER, ON_ERROR ignore, REJECT_LIMIT 2"
    with pytest.raises(gateway.DataError, match="3 rows cannot be taken, more than REJECT_LIMIT 2"):
        people.execute(f"COPY people FROM '{tmp_path / 'people.csv'}' ({options})")
    assert not (tmp_path / "wrong.csv").exists()
    assert rows(people, "SELECT count(*) FROM system.reject_files") == [(0,)]
    (tmp_path / "wrong.csv").touch()
    people.execute("DELETE FROM people")
    with pytest.raises(gateway.Error, match="is there already"):
        _load(people, tmp_path)


def test_an_erasure_takes_a_person_out_of_reject_files(people: Connection, tmp_path: Path) -> None:
    path = _load(people, tmp_path)
    request = _submit(people, ADA)
    assert [t.outcome for t in request.targets if t.reject_file] == [Outcome.NOT_SEARCHED]
    (done,) = under_hold.run(people)
    assert done.state is State.COMPLETED
    (receipt,) = [t for t in done.targets if t.reject_file]
    assert (receipt.outcome, receipt.versions_removed) == (Outcome.ERASED, 1)
    assert ADA not in path.read_text().lower()
    assert [row[0] for row in _read(path)] == ["4", "5"]
    assert rows(people, "SELECT rows FROM system.reject_files") == [(2,)]
    assert audit_check.verify(erasure_of(people.session).journal).problems == ()


def test_a_condition_takes_the_whole_file(people: Connection, tmp_path: Path) -> None:
    path = _load(people, tmp_path)
    people.execute("ERASE FROM people WHERE id = 1")
    under_hold.run(people)
    assert not path.exists()
    assert rows(people, "SELECT count(*) FROM system.reject_files") == [(0,)]


def test_who_was_erased_is_in_no_later_file(people: Connection, tmp_path: Path) -> None:
    _submit(people, ADA)
    path = _load(people, tmp_path)
    assert [row[0] for row in _read(path)] == ["3", "4", "5"]
    assert all((row[2], row[4]) == ("", "") for row in _read(path))


def test_a_file_out_of_reach_holds_a_request_back(people: Connection, tmp_path: Path) -> None:
    path = _load(people, tmp_path)
    moved = path.rename(tmp_path / "moved.csv")
    _change_record(people, host="another")
    _submit(people, ADA)
    done = under_hold.purge(people)
    assert [r.state for r in done.requests] == [State.ACCEPTED]
    (error,) = done.failures.values()
    assert "is not on this machine, but on another" in error.message
    moved.rename(path)
    (completed,) = under_hold.run(people)
    assert completed.state is State.COMPLETED
    assert ADA not in path.read_text().lower()


def test_a_file_that_is_being_written_waits(people: Connection, tmp_path: Path) -> None:
    path = _load(people, tmp_path)
    _submit(people, ADA)
    path.unlink()
    with new_reject_file(path) as write:
        assert [r.state for r in under_hold.purge(people).requests] == [State.ACCEPTED]
        write([])
    assert [r.state for r in under_hold.run(people)] == [State.COMPLETED]


def test_files_expire(people: Connection, tmp_path: Path) -> None:
    people.execute("ALTER TABLE people SET POLICY (REJECTS = 7 DAYS)")
    path = _load(people, tmp_path)
    kept = "SELECT expires_at - made_at FROM system.reject_files"
    assert rows(people, kept) == [(timedelta(days=7),)]
    people.execute("CALL system.vacuum('people')")
    assert path.exists()
    _change_record(people, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    people.execute("CALL system.vacuum('people')")
    assert not path.exists()
    assert rows(people, "SELECT count(*) FROM system.reject_files") == [(0,)]


def test_the_command_line(store: Store, people: Connection, tmp_path: Path) -> None:
    people.close()
    path, url = tmp_path / "wrong.csv", ["--url", store.url]
    given = [str(tmp_path / "people.csv"), "people", "--rejects", str(path), *url]
    done = CliRunner().invoke(main, ["import", *given])
    assert done.exit_code == 0, done.output
    assert "2 rows" in done.stdout
    assert f"3 rows rejected: {path}." in done.stderr
    listed = CliRunner().invoke(main, ["rejects", "list", "--json", *url])
    ((file_id, *_),) = [tuple(r.values()) for r in json.loads(listed.stdout)]
    dropped = CliRunner().invoke(main, ["rejects", "drop", file_id, *url])
    assert dropped.exit_code == 0, dropped.output
    assert not path.exists()
    assert CliRunner().invoke(main, ["rejects", "drop", file_id, *url]).exit_code == 1
