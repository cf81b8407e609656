"""What may not be written again after ERASE FROM: the same on every store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.returned_rows import returned_rows_spec
from journal.model.errors import Code, PalimpsestError

Run = Callable[..., Any]
MAIL = "Qz7.Ada@x.example"
HELD = "rows outside the request hold"


def runner(connection: Connection) -> Run:
    """Runs statements of a connection; gives rows, or the row count where there are none."""

    def run(sql: str) -> Any:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else cursor.rowcount

    return run


def refused(run: Run, sql: str) -> None:
    """A write is refused, and the message does not repeat what was erased."""
    with pytest.raises(gateway.Error) as raised:
        run(sql)
    assert raised.value.code == "PAL-306", raised.value
    assert "qz7" not in str(raised.value).lower()


def remarks(rows: list[Any]) -> str:
    """What the receipt of the searched table says besides counts."""
    (found,) = [row[-1] for row in rows if row[3] != "NOT_SEARCHED"]
    return str(found)


def make(run: Run) -> None:
    """Two tables that describe the same people, and a third that nobody of them is in."""
    run("CREATE TABLE p (id INTEGER PRIMARY KEY, email VARCHAR, phone BIGINT, n INTEGER)")
    run("CREATE TABLE q (k INTEGER PRIMARY KEY, mail VARCHAR)")
    run("CREATE TABLE r (k INTEGER PRIMARY KEY, mail VARCHAR)")
    fill(run)


def fill(run: Run) -> None:
    """The same where the tables are there."""
    run("ALTER TABLE p SET TBLPROPERTIES ('erasure' = 'email LOWER, phone')")
    run("ALTER TABLE q SET TBLPROPERTIES ('erasure' = 'mail AS email')")
    run("ALTER TABLE r SET TBLPROPERTIES ('erasure' = 'mail AS email')")
    run(f"INSERT INTO p VALUES (1, '{MAIL}', 11, 0), (2, 'b@x.example', 22, 0)")
    run("INSERT INTO p VALUES (3, 'c@x.example', 33, 0), (4, 'c@x.example', 44, 0)")
    run("INSERT INTO p VALUES (5, 'e@x.example', 55, 0), (6, 'f@x.example', 66, 0)")
    run("INSERT INTO q VALUES (1, 'e@x.example'), (2, 'other')")


def check_named(run: Run) -> None:
    """Identifiers that a condition names do not come back, under no key and in no table."""
    told = remarks(run(f"ERASE FROM p WHERE email = '{MAIL}'"))
    assert "identifiers are suppressed as well: 1 of email" in told
    refused(run, f"INSERT INTO p VALUES (100, '{MAIL}', 0, 0)")
    refused(run, f"INSERT INTO p VALUES (100, ' {MAIL.upper()} ', 0, 0)")
    refused(run, f"UPDATE p SET email = '{MAIL}' WHERE id = 2")
    refused(run, f"INSERT INTO q VALUES (100, '{MAIL}')")
    refused(run, "INSERT INTO p VALUES (1, 'new', 0, 0)")
    run("INSERT INTO p VALUES (100, 'new', 11, 0)")
    told = remarks(run("ERASE FROM p WHERE phone IN (22, 222) AND email IN ('b@x.example')"))
    assert "1 of email, 2 of phone" in told or "2 of phone, 1 of email" in told
    refused(run, "INSERT INTO p VALUES (101, 'new', 222, 0)")
    refused(run, "INSERT INTO p VALUES (101, 'B@x.example', 0, 0)")


def check_keys_alone(run: Run) -> None:
    """Any other condition suppresses keys, and says so; so does SCOPE KEY."""
    for number, condition in enumerate(
        (
            "email = 'd1@x.example' AND n = 0",
            "email = 'd2@x.example' OR email = 'd2@x.example'",
            "email LIKE 'd3@%'",
            "lower(email) = 'd4@x.example'",
            "email IN (SELECT 'd5@x.example')",
            "email = 'd6@x.example' SCOPE KEY",
            "NOT email <> 'd7@x.example'",
        ),
        1,
    ):
        key, mail = 1000 + number, f"d{number}@x.example"
        run(f"INSERT INTO p VALUES ({key}, '{mail}', 0, 0)")
        told = remarks(run(f"ERASE FROM p WHERE {condition}"))
        assert "only keys are suppressed" in told, condition
        refused(run, f"INSERT INTO p VALUES ({key}, 'new', 0, 0)")
        assert run(f"INSERT INTO p VALUES ({key + 1000}, '{mail}', 0, 0)") == 1, condition


def check_shared(run: Run) -> None:
    """What rows outside the request hold is told, and stays free there unless SCOPE ALL says so."""
    told = remarks(run("ERASE FROM p WHERE email = 'c@x.example' AND phone = 33 SCOPE IDENTIFIER"))
    assert HELD in told
    assert "(1 in" in told
    assert "not suppressed there" in told
    assert run("INSERT INTO p VALUES (200, 'c@x.example', 0, 0)") == 1
    refused(run, "INSERT INTO p VALUES (201, 'x', 33, 0)")
    told = remarks(run("ERASE FROM p WHERE email = 'e@x.example'"))
    assert HELD in told
    assert "(1 in" in told
    refused(run, "INSERT INTO p VALUES (201, 'e@x.example', 0, 0)")
    refused(run, "INSERT INTO r VALUES (1, 'e@x.example')")
    assert run("INSERT INTO q VALUES (3, 'e@x.example')") == 1
    run("INSERT INTO p VALUES (300, 'g@x.example', 77, 0), (301, 'g@x.example', 88, 0)")
    told = remarks(run("ERASE FROM p WHERE email = 'g@x.example' AND phone = 77 SCOPE ALL"))
    assert HELD in told
    assert "suppressed all the same" in told
    refused(run, "INSERT INTO p VALUES (302, 'G@x.example', 0, 0)")


def check_left_as_is(run: Run) -> None:
    """Writes that leave an identifier as it is are not refused, though nobody may bring it anew."""
    assert run("UPDATE p SET n = n + 1 WHERE id = 301") == 1
    assert run("UPDATE p SET n = n + 1, email = email") > 0
    assert run("UPDATE p SET email = 'G@X.EXAMPLE' WHERE id = 301") == 1
    assert run("UPDATE p SET id = 303 WHERE id = 301") == 1
    refused(run, "UPDATE p SET email = 'g@x.example' WHERE id = 6")
    run("BEGIN")
    run("UPDATE p SET n = 7 WHERE id = 303")
    run("UPDATE p SET n = 8 WHERE id = 303")
    run("INSERT INTO p VALUES (400, 'h@x.example', 0, 0)")
    run("COMMIT")
    run("BEGIN")
    run("UPDATE p SET n = 9 WHERE id = 303")
    run("INSERT INTO p VALUES (401, 'g@x.example', 0, 0)")
    run("UPDATE p SET n = 1 WHERE id = 401")
    refused(run, "COMMIT")
    assert run("SELECT email, n FROM p WHERE id = 303") == [("G@X.EXAMPLE", 8)]
    assert run("DELETE FROM p WHERE id = 303") == 1
    refused(run, "INSERT INTO p VALUES (303, 'g@x.example', 0, 0)")


def check_bulk(run: Run, cursor: Callable[[str], Any]) -> None:
    """Bulk loads refuse all rows if one was erased, or skip and count those that were."""
    run("CREATE TABLE source (id INTEGER, email VARCHAR, phone BIGINT)")
    run(f"INSERT INTO source VALUES (501, '{MAIL}', 0), (502, NULL, 0), (503, 'new', 11)")
    run("INSERT INTO source VALUES (504, 'fine', 1), (505, 'b@X.example', NULL), (1, 'old key', 0)")
    run(f"ERASE FROM p WHERE email = '{MAIL}' AND phone IN (11)")
    run("ERASE FROM p WHERE email IN ('b@x.example', 'nobody')")
    load = "INSERT INTO p (id, email, phone) SELECT id, email, phone FROM source WHERE id {}"
    refused(run, load.format("> 0"))
    run("SET suppressed_rows = 'skip'")
    done = cursor(load.format("> 0"))
    assert (done.rowcount, done.skipped) == (2, 4)
    assert run("SELECT id FROM p WHERE id > 500 ORDER BY 1") == [(502,), (504,)]
    run("DELETE FROM p WHERE id > 500")
    run("SET suppressed_rows = 'refuse'")


def check_onboarding(
    run: Run, connection: Connection, create: Callable[[], object] | None = None
) -> None:
    """A table with somebody who was erased gets no descriptor until these rows are hidden."""
    if create is None:
        run("CREATE TABLE old (k INTEGER PRIMARY KEY, mail VARCHAR, n INTEGER)")
    else:
        create()
    run(f"INSERT INTO old VALUES (1, '{MAIL.upper()}', 0), (2, 'fine', 0), (3, '{MAIL}', 0)")
    run("UPDATE old SET mail = 'changed' WHERE k = 3")
    run(f"ERASE FROM p WHERE email = '{MAIL}'")
    alter = "ALTER TABLE old SET TBLPROPERTIES ('erasure' = 'mail AS email LOWER')"
    refused(run, alter)
    with pytest.raises(PalimpsestError) as raised:
        returned_rows_spec(connection.session, "old", None, None)
    assert raised.value.code is Code.ERASURE
    wanted = returned_rows_spec(connection.session, "old", "mail AS email LOWER", "found late")
    erasure = erasure_of(connection.session)
    assert [t.keys for t in erasure.dry_run(wanted).targets if t.keys] == [2]
    erasure.accept(wanted, "tester")
    assert run("SELECT k FROM old") == [(2,)]
    run(alter)
    refused(run, f"INSERT INTO old VALUES (4, '{MAIL}', 0)")
    refused(run, "INSERT INTO old VALUES (3, 'other', 0)")
    run("UPDATE old SET n = 1")


def check_undropped(run: Run) -> None:
    """A dropped table in which somebody was not looked for does not bring them back."""
    run("CREATE TABLE gone (k INTEGER PRIMARY KEY, mail VARCHAR) WITH (erasure = 'mail AS email')")
    run("INSERT INTO gone VALUES (1, 'f@x.example'), (2, 'fine')")
    run("DROP TABLE gone")
    run("UNDROP TABLE gone")
    run("DROP TABLE gone")
    run("ERASE FROM p WHERE email = 'f@x.example'")
    refused(run, "UNDROP TABLE gone")
