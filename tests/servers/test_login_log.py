"""Logins and refusals of real clients enter the login log; floods of them stay small."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

import gateway
from gateway.access.login_log import LoginLog
from gateway.access.login_rate import LoginRate
from gateway.access.logins import Logins
from gateway.servers.pgwire.admission import Admission
from journal.model.errors import Code, PalimpsestError
from journal.records.login_rows import LoginRow
from tests.servers.test_logins import secured_at


class _Records:
    """What a log writes, in memory; ``fails`` as often as it says."""

    def __init__(self, fails: int = 0) -> None:
        self.groups: list[tuple[LoginRow, ...]] = []
        self.digests = 0
        self.fails = fails

    def write(self, rows: Sequence[LoginRow]) -> None:
        if self.fails:
            self.fails -= 1
            raise PalimpsestError(Code.STORE, "the disk is full")
        self.groups.append(tuple(rows))

    def digest(self) -> None:
        self.digests += 1


def test_each_front_end_notes_who_came_in_and_who_did_not(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE USER ann PASSWORD 'one'")
        con.execute("CREATE ROLE locked PASSWORD 'one'")
        catalog = con.client_session.catalog
    records = _Records()
    log = LoginLog(records, every_s=600)
    logins = Logins(lambda: catalog, b"secret", lambda: datetime.now(UTC), log=log)
    admission = Admission(logins=logins)
    for user, password, is_secure in (
        ("ann", "one", True),
        ("ann", "one", True),
        ("ann", "two", True),
        ("ann", "one", False),
        ("locked", "one", True),
        ("no\nbody" * 50, "x", True),
    ):
        with suppress(PalimpsestError):
            admission.admit_password(user, password, "10.0.0.1", "hive", is_secure=is_secure)
    admission.close()
    (group,) = records.groups
    shown = [(r.user_name, r.front_end, r.outcome, r.detail, r.attempts) for r in group]
    assert shown[:4] == [
        ("ann", "hive", "login", "password", 2),
        ("ann", "hive", "refused", "password", 1),
        ("ann", "hive", "refused", "not allowed", 1),
        ("locked", "hive", "refused", "not allowed", 1),
    ]
    ((name, *_),) = shown[4:]
    assert name.isprintable()
    assert len(name) < 140
    assert records.digests == 1


def test_an_address_logs_in_so_often_a_minute_also_in_vain(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE USER ann PASSWORD 'one'")
        catalog = con.client_session.catalog
    records, at_s = _Records(), [0.0]
    log, rate = LoginLog(records, every_s=600), LoginRate(2, lambda: at_s[0])
    now = partial(datetime.now, UTC)
    admission = Admission(logins=Logins(lambda: catalog, b"secret", now, log=log, rate=rate))

    def log_in(moment_s: float, user: str, place: str, front_end: str = "hive") -> str:
        at_s[0] = moment_s
        try:
            admission.admit_password(user, "one", place, front_end, is_secure=True)
        except PalimpsestError as error:
            return error.code.value.code
        return "in"

    assert log_in(0, "ann", "192.0.2.7") == "in"
    assert log_in(20, "nobody", "192.0.2.7") == "PAL-611"
    assert [log_in(30, "ann", "192.0.2.7") for _ in range(2)] == ["PAL-636"] * 2
    assert log_in(30, "ann", "2001:db8::7") == "in"
    assert log_in(60, "ann", "192.0.2.7") == "in"
    assert log_in(61, "ann", "192.0.2.7") == "PAL-636"
    told = [log_in(90, user, "flight", "flight") for user in ("ann", "ann", "ann", "bob")]
    assert told == ["in", "in", "PAL-636", "PAL-611"]
    admission.close()
    (group,) = records.groups
    refused = {(r.user_name, r.address, r.detail) for r in group if r.outcome == "refused"}
    assert refused == {
        ("nobody", "192.0.2.7", "password"),
        ("ann", "192.0.2.7", "rate"),
        ("ann", "flight", "rate"),
        ("bob", "flight", "password"),
    }


def test_a_flood_fills_neither_memory_nor_disk() -> None:
    records = _Records(fails=2)
    log = LoginLog(records, every_s=0.05)
    for i in range(20_000):
        log.note(f"user {i}", f"10.0.{i % 250}.1", "postgresql", "refused", "password")
        if i % 5_000 == 0:
            time.sleep(0.06)
    log.close()
    assert sum(row.attempts for group in records.groups for row in group) == 20_000
    assert all(len(group) <= 201 for group in records.groups)
    assert records.groups[0][-1].user_name == "others"


@pytest.mark.long
def test_a_server_keeps_its_logins(tmp_path: Path) -> None:
    with secured_at(tmp_path) as secured:
        secured.connect().close()
        with pytest.raises(Exception, match="PAL-611"):
            secured.connect("ann", "wrong")
        with pytest.raises(Exception, match="PAL-609"):
            secured.connect("locked")
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        found = con.execute(
            'SELECT l."user", l.address, l.front_end, l.outcome, l.detail FROM system.logins AS l'
            " ORDER BY l.seq"
        ).fetchall()
        assert found == [
            ("ann", "127.0.0.1", "postgresql", "login", "SCRAM-SHA-256-PLUS"),
            ("ann", "127.0.0.1", "postgresql", "refused", "password"),
            ("locked", "127.0.0.1", "postgresql", "refused", "not allowed"),
        ]
