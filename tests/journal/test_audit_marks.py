"""What somebody changes by hand around the audit log of a warehouse is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check, audit_entries, change_scope
from journal.erasure.audit_marks import LISTS

_HOLD = "PLACE HOLD ON people WHERE id = 2 REASON 'matter 1'"
_ERASE = "ERASE FROM people WHERE email = 'ada@example.org' SCOPE ALL REASON 'ticket 1'"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed warehouse with an erasure, a hold and a role."""
    root = tmp_path_factory.mktemp("audit") / "w"
    with _opened(root) as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
            " TBLPROPERTIES ('erasure' = 'email')"
        )
        con.execute("INSERT INTO people VALUES (1, 'ada@example.org'), (2, 'bob@example.org')")
        for sql in (_HOLD, _ERASE, "CREATE ROLE ann", "CREATE ROLE bob"):
            con.execute(sql)
        assert _problems(con) == ()
    return root


@pytest.fixture
def root(told: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(told, tmp_path / "w")
    return tmp_path / "w"


def _opened(root: Path, **options: str) -> Connection:
    return gateway.connect(f"palimpsest:///{root}", autocommit=True, **options)


def _problems(con: Connection) -> tuple[str, ...]:
    return con.client_session.perform(audit_check, None).problems


def _change(root: Path, *statements: str) -> None:
    """Change records behind the gateway's back."""
    con = duckdb.connect(str(root / "palimpsest.duckdb"))
    try:
        for sql in statements:
            con.execute(sql)
    finally:
        con.close()


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DELETE FROM _palimpsest.audit WHERE seq = 4"], "lacks entry 4"),
        (["DELETE FROM _palimpsest.audit"], "lacks entry 4"),
        (
            [
                "DELETE FROM _palimpsest.audit WHERE seq > 2",
                "DELETE FROM _palimpsest.meta WHERE key IN ('audit_head', 'secret_check')",
            ],
            "lacks entry 4, which _palimpsest/audit.head has noted",
        ),
        (["DELETE FROM _palimpsest.meta WHERE key = 'audit_head'"], "record of the newest"),
        (
            [
                "DELETE FROM _palimpsest.audit WHERE seq = 4",
                (
                    "UPDATE _palimpsest.meta SET value = '3 ' || (SELECT hash FROM"
                    " _palimpsest.audit WHERE seq = 3) || ' 00' WHERE key = 'audit_head'"
                ),
            ],
            "was altered",
        ),
        (["UPDATE _palimpsest.audit SET actor = 'eve' WHERE seq = 2"], "entry 2 was altered"),
        (["DELETE FROM _palimpsest.holds"], "the holds are not those"),
        (["UPDATE _palimpsest.holds SET predicate = 'id = 1'"], "the holds are not those"),
        (["DELETE FROM _palimpsest.suppressions"], "the suppressions are not those"),
        (["UPDATE _palimpsest.suppressions SET hash = 'x'"], "the suppressions are not those"),
    ],
)
def test_changed_records_are_noticed(root: Path, statements: list[str], said: str) -> None:
    _change(root, *statements)
    for _ in range(2):
        # It is noticed still after the warehouse was opened and closed.
        with _opened(root) as con:
            assert any(said in problem for problem in _problems(con)), _problems(con)


@pytest.mark.parametrize("entries", [False, True], ids=["alone", "entries"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "audit.head is gone or damaged; it had noted entry 4"),
        ("", "audit.head is gone or damaged"),
        ("4 ", "audit.head is gone or damaged"),
        ("older", "audit.head is an older one: it notes entry 3, and had noted entry 4"),
    ],
)
def test_a_changed_file_is_noticed(
    root: Path, content: str | None, said: str, entries: bool
) -> None:
    head = root / "_palimpsest" / "audit.head"
    if content == "older":
        with _opened(root) as con:
            content = f"3 {con.client_session.perform(audit_entries)[2].hash}"
    if content is None:
        head.unlink()
    else:
        head.write_text(content)
    for attempt in range(2):
        # Neither later entries nor closing the warehouse cover it.
        with _opened(root) as con:
            assert any(said in problem for problem in _problems(con)), _problems(con)
            if entries:
                con.execute(f"CREATE ROLE cyd{attempt}")


def test_later_entries_cover_no_lost_mark(root: Path) -> None:
    _change(root, "DELETE FROM _palimpsest.meta WHERE key = 'audit_head'")
    (root / "_palimpsest" / "audit.head").unlink()
    with _opened(root) as con:
        con.execute("CREATE ROLE cyd")
    with _opened(root) as con:
        assert any("record of the newest" in problem for problem in _problems(con))


def test_entries_since_the_last_close_are_no_damage(root: Path) -> None:
    killed = root.with_name("killed")
    with _opened(root) as con:
        con.execute("CREATE ROLE cyd")
        assert _problems(con) == ()
        # What a program leaves that is killed now.
        shutil.copytree(root, killed, ignore=shutil.ignore_patterns("*.sock"))
    for place in (root, killed):
        with _opened(place) as con:
            assert _problems(con) == ()


def test_a_batch_reads_the_lists_once(root: Path) -> None:
    with _opened(root) as con:
        con.execute("CALL system.purge('people')")
        found = con.client_session.perform(audit_entries)
        assert _problems(con) == ()
    told = {e.action: LISTS in json.loads(e.detail) for e in found if e.action[:5] == "erase"}
    assert told == {"erase.accept": True, "erase.purge": False, "erase.complete": False}


def test_another_secret_is_refused_at_open(root: Path) -> None:
    place = root / "_palimpsest" / "secret.key"
    kept = place.read_bytes()
    place.write_bytes(bytes(32))
    with pytest.raises(gateway.Error, match="not the one that the warehouse was hashed with"):
        _opened(root)
    place.write_bytes(kept)
    with _opened(root) as con:
        assert _problems(con) == ()


def test_what_changes_the_past_enters_the_log_with_a_name(root: Path) -> None:
    with _opened(root) as con:
        con.client_session.perform(change_scope, ("*",), ("secret.*",), reset=False)
        (hold,) = con.execute("SELECT id FROM system.holds").fetchall()
        con.execute(f"RELEASE HOLD '{hold[0]}'")
        con.execute("ALTER TABLE people SET POLICY (history = '1 day')")
        con.execute("CALL system.retain('people')")
        con.execute("CALL system.retain('people', dry_run => true)")
        found = con.client_session.perform(audit_entries)
        assert [e.action for e in found[:3]] == ["hold.place", "erase.accept", "role.create"]
        assert [e.action for e in found[4:]] == [
            *("erase.scope", "hold.release", "policy.change", "job.retain"),
        ]
        assert {e.actor for e in found} & {"", "somebody"} == set()
        assert _problems(con) == ()
    with _opened(root, user="ada") as con:
        con.execute("CREATE ROLE cyd")
        assert con.client_session.perform(audit_entries)[-1].actor == "ada"
        assert _problems(con) == ()
