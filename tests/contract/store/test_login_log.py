"""The login log on every store: written in groups, bounded, and covered by the audit log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check
from journal.erasure.login_chain import write_digest, write_logins
from journal.erasure.seam import SecretJournal
from journal.records import login_rows
from journal.records.login_rows import LoginRow
from journal.records.schema import LOGINS
from journal.records.statements import by, delete, execute, update
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]
_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def con(store: Store) -> Connection:
    return store.connect(user="root")


def _journal(con: Connection) -> SecretJournal:
    return cast("SecretJournal", con.session.journal)


def _add(con: Connection, *attempts: tuple[str, str]) -> None:
    """Write rows of users, and how their attempts ended."""
    rows = [
        LoginRow(
            0, _START, _START + timedelta(seconds=i), user, "10.0.0.1", "hive", end, "x", i + 1
        )
        for i, (user, end) in enumerate(attempts)
    ]
    write_logins(_journal(con), rows)


def _problems(con: Connection) -> tuple[str, ...]:
    return con.client_session.perform(audit_check, None).problems


@pytest.mark.also_on("hive")
def test_rows_are_shown_and_entered_in_the_audit_log(con: Connection) -> None:
    _add(con, ("ann", "login"), ("eve", "refused"))
    shown = con.execute(
        'SELECT l.seq, l."user", l.address, l.front_end, l.outcome, l.detail, l.attempts'
        " FROM system.logins AS l ORDER BY l.seq"
    ).fetchall()
    assert shown == [
        (1, "ann", "10.0.0.1", "hive", "login", "x", 1),
        (2, "eve", "10.0.0.1", "hive", "refused", "x", 2),
    ]
    assert write_digest(_journal(con))
    assert not write_digest(_journal(con)), "nothing is new"
    _add(con, ("ann", "login"))
    assert write_digest(_journal(con))
    found = con.client_session.perform(audit_check, None)
    assert (found.entries, found.problems) == (2, ())
    con.execute("CREATE ROLE bob")
    con.execute("SET ROLE bob")
    with pytest.raises(Exception, match="permission denied"):
        con.execute("SELECT * FROM system.logins")


@pytest.mark.parametrize("what", ["changed", "removed"])
def test_changed_rows_are_noticed(con: Connection, what: str) -> None:
    _add(con, ("ann", "login"), ("eve", "refused"), ("ann", "login"))
    write_digest(_journal(con))
    with _journal(con).exclusive_session() as session:
        if what == "changed":
            execute(session, update(LOGINS, ["user_name"], by("seq")), ["bob", 2])
        else:
            execute(session, delete(LOGINS, by("seq")), [2])
        session.commit()
    (problem,) = _problems(con)
    assert problem.startswith("the login log from 1 to 3 was changed: its rows of outcome refused")


@pytest.mark.also_on("hive")
def test_a_flood_of_refusals_drives_no_login_out(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_rows, "KEPT_ROWS", 20)
    monkeypatch.setattr("journal.erasure.login_chain.KEPT_ROWS", 20)
    monkeypatch.setattr(login_rows, "_SLACK", 5)
    _add(con, ("ann", "login"))
    write_digest(_journal(con))
    for _ in range(3):
        _add(con, *[(f"nobody{i}", "refused") for i in range(15)])
        write_digest(_journal(con))
    (counted,) = con.execute(
        "SELECT l.outcome, count(*), max(l.seq) FROM system.logins AS l"
        " WHERE l.outcome = 'refused' GROUP BY l.outcome"
    ).fetchall()
    assert counted == ("refused", 20, 46)
    kept = "SELECT count(*) FROM system.logins AS l WHERE l.outcome = 'login'"
    assert con.execute(kept).fetchone() == (1,)
    assert _problems(con) == ()
